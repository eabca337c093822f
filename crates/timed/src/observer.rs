//! The interface by which a timed drive reports its events. By default, each method of an observer
//! does nothing. An unused method costs nothing, as the drive is compiled for its observer.

use flashgc_base::snapshot::Value;
use flashgc_base::stream::StreamId;
use flashgc_workload::Op;

/// A completed request, with its response time by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Completion {
    /// The number in the order of arrival, from 0.
    pub number: u64,
    /// The kind of the request.
    pub op: Op,
    /// The address of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u32,
    /// `true` if the request was marked as urgent.
    pub urgent: bool,
    /// The stream, if the request has one.
    pub stream: Option<StreamId>,
    /// The time at which the request arrived.
    pub arrived_ns: u64,
    /// The time at which the request got its place in the queue of the drive.
    pub dispatched_ns: u64,
    /// The time at which the request's last page was done.
    pub completed_ns: u64,
    /// The time for which the request waited for other requests, in front of the drive and in it,
    /// and for the entry of a map on flash.
    pub queue_ns: u64,
    /// The time for which a collection held the request's die. The times `queue_ns`, `blocked_ns`,
    /// `bus_ns` and `cell_ns` are those of the page that was done last. Their sum is the response
    /// time.
    pub blocked_ns: u64,
    /// The time of transfers over the bus and of waiting for the bus.
    pub bus_ns: u64,
    /// The time for which the cells worked.
    pub cell_ns: u64,
    /// The plane of the page that was done last, by its number in the drive. `None` if no die
    /// served that page: it was in the write cache or in the host's cache, or the request touches
    /// no page.
    pub plane: Option<u32>,
    /// `true` if a page of the request met a collection: a collection was under way on the page's
    /// die when the page's operation arrived there or was done, or it held the die in between.
    pub met_collection: bool,
}

impl Completion {
    /// Returns the time from arrival to completion.
    pub fn response_ns(&self) -> u64 {
        self.completed_ns - self.arrived_ns
    }

    /// Returns the word for the kind of the request.
    pub(crate) fn kind(&self) -> &'static str {
        match self.op {
            Op::Read => "read",
            Op::Write => "write",
            _ => "trim",
        }
    }
}

/// A collection on the die of a request, between the request's arrival and its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Held {
    /// The number of collections of the drive that began before this one.
    pub number: u64,
    /// The time at which the collection began.
    pub began_ns: u64,
    /// The time at which its victim was erased; `None` while it is under way.
    pub ended_ns: Option<u64>,
    /// The number of flash pages that the collection has programmed.
    pub programmed: u64,
}

impl Held {
    /// Returns the nanoseconds for which the collection was under way between two times.
    pub(crate) fn overlap_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        self.ended_ns.unwrap_or(u64::MAX).min(to_ns).saturating_sub(self.began_ns.max(from_ns))
    }
}

/// The place at which work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Place {
    /// The bus of the die's channel.
    Bus,
    /// The cells of the die.
    Cells,
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Work {
    /// A read: the cells read a page, or a page leaves the die over the bus.
    Read,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A check of the queue at a preemption point.
    Poll,
    /// The suspension of an operation, which takes time.
    Suspend,
}

impl Work {
    /// Returns the word for the work.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Erase => "erase",
            Self::Poll => "poll",
            Self::Suspend => "suspend",
        }
    }
}

/// The request or the collection that needs some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Cause {
    /// The request of this number; for a multi-plane operation, the request of its first page. The
    /// number [`u64::MAX`] stands for operations that no request waits for: programs of the write
    /// cache, and operations on translation pages of a map on flash.
    Request(u64),
    /// The collection of this number.
    Collection(u64),
    /// The drive itself, for data of the host: parity, and pages that are not full.
    Drive,
}

/// Work of a bus or of the cells of a die, from its begin to its end. A suspended operation has
/// several spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Span {
    /// The time at which the work began.
    pub begin_ns: u64,
    /// The time at which the work ended.
    pub end_ns: u64,
    /// The part of the drive that worked: the bus or the cells.
    pub place: Place,
    /// The channel.
    pub channel: u32,
    /// The number of the die in the drive.
    pub die: u32,
    /// The number of the plane in the drive; for a multi-plane operation, of its first plane.
    pub plane: u32,
    /// The kind of work.
    pub work: Work,
    /// The logical page; `None` for an erase, a poll or a suspend.
    pub page: Option<u32>,
    /// The request or the collection that needs the work.
    pub cause: Cause,
}

/// Work of a bus or of the cells of a die, with fewer details than a [`Span`]. Pieces of work
/// without a pause between them may be one stint. A stint is reported when it ends. Stints of a
/// chain of copies may be reported later, at the latest when the collection ends or the drive
/// stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stint {
    /// The time at which the work began.
    pub begin_ns: u64,
    /// The time at which the work ended.
    pub end_ns: u64,
    /// The part of the drive that worked: the bus or the cells.
    pub place: Place,
    /// The number of the die in the drive.
    pub die: u32,
}

/// The detail that an observer needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// All steps, each reported when it ends.
    Steps,
    /// Requests, and the times in which buses and dies are busy ([`Observer::was_busy`]), but not
    /// each copy of a page.
    #[default]
    Work,
    /// Only requests.
    Nothing,
}

/// The origin of the data of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The page operation of this number: of the host or, for a translation page, of the map on
    /// flash.
    Host(u64),
    /// The physical page of this number, which a collection copied.
    Copy(u32),
}

/// An observer of a drive. Page operations are numbered in the order of dispatch, including those
/// on translation pages. Translation pages have numbers after the host's pages.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Observer {
    /// Returns the detail that the observer needs. The simulation is faster with less detail.
    fn follows(&self) -> Follows {
        Follows::Steps
    }

    /// Notes that a bus or a die has worked. With the detail [`Follows::Work`], this is called
    /// instead of [`Observer::worked`] for requests and for chains of copies.
    fn was_busy(&mut self, stint: &Stint) {}

    /// Notes that a page of the host was transferred over the bus from `begin_ns` to `sent_ns`, and
    /// that its die programmed it from `sent_ns` to `end_ns`.
    #[inline(always)]
    fn was_programmed(&mut self, die: u32, [begin_ns, sent_ns, end_ns]: [u64; 3]) {
        self.was_busy(&Stint { begin_ns, end_ns: sent_ns, place: Place::Bus, die });
        self.was_busy(&Stint { begin_ns: sent_ns, end_ns, place: Place::Cells, die });
    }

    /// Returns the begin and the end of a period, in nanoseconds. Work of chains of copies within
    /// this period may be reported as two sums: of buses and of dies. If begin and end are equal,
    /// no work is reported as a sum.
    fn adds_up(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Notes two sums of nanoseconds: for which buses and for which dies have worked on chains of
    /// copies. `between` is the period that [`Observer::adds_up`] returned before.
    fn was_busy_in_all(&mut self, between: (u64, u64), busy_ns: [u64; 2]) {}

    /// Notes that a chain of copies has programmed `pages` pages on a die. The work of these copies
    /// was reported already.
    fn copied(&mut self, die: u32, pages: u64) {}

    /// Notes that a die now begins all jobs that it can begin.
    fn looked_at(&mut self, die: u32) {}

    /// Notes that request `number` arrived at `now`. A flush command has the number of the request
    /// before it.
    fn arrived(&mut self, number: u64, op: Op, now: u64) {}

    /// Notes that page operation `number` on `page` was dispatched. All later operations on this
    /// page must see its effect.
    fn dispatched(&mut self, number: u64, op: Op, page: u32) {}

    /// Notes that page operation `number` read its page from the physical page `from`, or from a
    /// buffer with the same data. `None` if the page has no data.
    fn read(&mut self, number: u64, page: u32, from: Option<u32>) {}

    /// Notes that `page` was programmed at the physical page `ppn`.
    fn programmed(&mut self, page: u32, ppn: u32, source: Source) {}

    /// Notes that page operation `number`, a write, entered the write cache.
    fn cached(&mut self, number: u64, page: u32) {}

    /// Notes that page operation `number` read its page from the write cache.
    fn read_cached(&mut self, number: u64, page: u32) {}

    /// Notes that `page` was discarded.
    fn trimmed(&mut self, page: u32) {}

    /// Notes that a block was erased.
    fn erased(&mut self, block: u32) {}

    /// Notes that a request was completed.
    fn completed(&mut self, request: &Completion) {}

    /// Notes that an operation waits for the end of an erase (`erases`) or of a program, in
    /// `left_ns` nanoseconds. The erase or program was already suspended as often as the settings
    /// allow. Each such erase or program is reported once.
    fn not_suspended(&mut self, erases: bool, left_ns: u64) {}

    /// Notes that a bus or a die has worked.
    fn worked(&mut self, span: &Span) {}

    /// Notes that collection `number` began (`begins`) or ended on a die, at `now`.
    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {}

    /// Notes that a plane has `count` erased blocks at `now`. Called when a collection begins or
    /// ends there.
    fn erased_blocks(&mut self, now: u64, plane: u32, count: u32) {}
}

/// An observer that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn follows(&self) -> Follows {
        Follows::Nothing
    }
}
