//! The observable events of a timed drive. Every method does nothing by default and costs nothing
//! where it is not used: the drive is compiled for its observer.

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
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u32,
    /// `true` if it was marked urgent.
    pub urgent: bool,
    /// The stream, if the request has one.
    pub stream: Option<StreamId>,
    /// The time at which it arrived.
    pub arrived_ns: u64,
    /// The time at which the drive took it up: its place in the queue depth.
    pub dispatched_ns: u64,
    /// The time at which its last page was done.
    pub completed_ns: u64,
    /// The time spent waiting for other requests, before and in the drive, and for the entry of a map on
    /// flash.
    pub queue_ns: u64,
    /// The time in which its die was held by a collection. These four times are those of the page that was
    /// done last and sum to the response time.
    pub blocked_ns: u64,
    /// The time on the bus and waiting for it.
    pub bus_ns: u64,
    /// The time of the cells.
    pub cell_ns: u64,
    /// The plane that served the page that was done last, counted through the drive. `None` if no die did:
    /// the page was in the write cache or in the host's, or the request has nothing to do.
    pub plane: Option<u32>,
    /// `true` if a collection was under way on the die of one of its pages when the page came there or was
    /// done, or held that die between.
    pub met_collection: bool,
}

impl Completion {
    /// Returns the time from arrival to completion.
    pub fn response_ns(&self) -> u64 {
        self.completed_ns - self.arrived_ns
    }

    /// Returns the kind of the request, in a word.
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
    /// The number of collections that were started before it in the drive.
    pub number: u64,
    /// The time at which it began.
    pub began_ns: u64,
    /// The time at which its victim was erased; `None` while it is under way.
    pub ended_ns: Option<u64>,
    /// The number of flash pages that it has programmed.
    pub programmed: u64,
}

impl Held {
    /// Returns the time for which it was under way between the two.
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
    /// A read: of the cells, or of the page over the bus.
    Read,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A look into the queue at a preemption point.
    Poll,
    /// The time to let go of a suspended operation.
    Suspend,
}

impl Work {
    /// Returns the work in a word.
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

/// The request or the collection that work is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Cause {
    /// The request of that number; several pages of one multi-plane operation count as the first. The
    /// largest number stands for operations that no request waits for: programs of the write cache,
    /// translation pages of a map on flash.
    Request(u64),
    /// The collection of that number.
    Collection(u64),
}

/// A bus or the cells of a die at work, from beginning to end. A suspended operation is several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Span {
    /// The time at which it began.
    pub begin_ns: u64,
    /// The time at which it ended.
    pub end_ns: u64,
    /// The bus or the cells.
    pub place: Place,
    /// The channel.
    pub channel: u32,
    /// The die, counted through the drive.
    pub die: u32,
    /// The plane, counted through the drive; for a multi-plane operation the first.
    pub plane: u32,
    /// The kind of work.
    pub work: Work,
    /// The logical page; `None` for an erase, a poll or a suspend.
    pub page: Option<u32>,
    /// The request or the collection that it is for.
    pub cause: Cause,
}

/// A bus or the cells of a die at work, as far as it is measured: work that follows on other work without a
/// pause may be one with it. It is reported when it ends, or later for copies of a collection that nothing
/// disturbs: at the latest when that collection ends or the drive stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stint {
    /// The time at which it began.
    pub begin_ns: u64,
    /// The time at which it ended.
    pub end_ns: u64,
    /// The bus or the cells.
    pub place: Place,
    /// The die, counted through the drive.
    pub die: u32,
}

/// The detail that an observer follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// Everything, each at its time.
    Steps,
    /// Requests, and the times at which buses and dies are busy ([`Observer::was_busy`]); not each copy of a
    /// page.
    #[default]
    Work,
    /// Requests alone.
    Nothing,
}

/// The origin of the data of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The host or, for a page behind the host's, the map on flash, by the page operation of that number.
    Host(u64),
    /// Another physical page, by a collection.
    Copy(u32),
}

/// An observer of a drive. Page operations are numbered in the order of dispatch. Those of a map on flash are
/// among them: their pages are behind the host's.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Observer {
    /// Returns the detail that it follows. A drive is faster if nobody follows each step.
    fn follows(&self) -> Follows {
        Follows::Steps
    }

    /// Notes that a bus or a die has done some work. If the observer follows [work](Follows::Work), this
    /// takes the place of [`Observer::worked`] for requests, and for copies of collections that nothing
    /// disturbs.
    fn was_busy(&mut self, stint: &Stint) {}

    /// Notes that a page of the host came over the bus from the first of these times to the second, and that
    /// its die then programmed it until the third.
    #[inline(always)]
    fn was_programmed(&mut self, die: u32, [begin_ns, sent_ns, end_ns]: [u64; 3]) {
        self.was_busy(&Stint { begin_ns, end_ns: sent_ns, place: Place::Bus, die });
        self.was_busy(&Stint { begin_ns: sent_ns, end_ns, place: Place::Cells, die });
    }

    /// Returns the times between which the work of collections that nothing disturbs may be reported as a
    /// sum, for buses and for dies. No work is if they are equal.
    fn adds_up(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Notes the time for which buses and dies have worked in all, between the times that
    /// [`Observer::adds_up`] returned before.
    fn was_busy_in_all(&mut self, between: (u64, u64), busy_ns: [u64; 2]) {}

    /// Notes that a collection that nothing disturbs has programmed `pages` pages on a die, whose work was
    /// reported.
    fn copied(&mut self, die: u32, pages: u64) {}

    /// Notes that a die has its turn: it begins everything that it can begin now.
    fn looked_at(&mut self, die: u32) {}

    /// Notes that request `number` arrived at `now`; a flush command has the number of the request before it.
    fn arrived(&mut self, number: u64, op: Op, now: u64) {}

    /// Notes that page operation number `number` on `page` was dispatched. All later ones on this page must
    /// find its effect.
    fn dispatched(&mut self, number: u64, op: Op, page: u32) {}

    /// Notes that page operation `number` read its page from ppn `from`, or from the buffer with the same
    /// data; `None` if the page has no data.
    fn read(&mut self, number: u64, page: u32, from: Option<u32>) {}

    /// Notes that `page` was programmed at `ppn`.
    fn programmed(&mut self, page: u32, ppn: u32, source: Source) {}

    /// Notes that page operation `number`, a write, went into the write cache.
    fn cached(&mut self, number: u64, page: u32) {}

    /// Notes that page operation `number` read its page from the write cache.
    fn read_cached(&mut self, number: u64, page: u32) {}

    /// Notes that `page` was discarded.
    fn trimmed(&mut self, page: u32) {}

    /// Notes that a block was erased.
    fn erased(&mut self, block: u32) {}

    /// Notes that a request was completed.
    fn completed(&mut self, request: &Completion) {}

    /// Notes that an operation waits for the end of an erase (`true`) or a program with `left_ns` left: it would
    /// be suspended, had it not been suspended as often as it may be. Each such erase or program is told once.
    fn not_suspended(&mut self, erases: bool, left_ns: u64) {}

    /// Notes that a bus or a die has done some work.
    fn worked(&mut self, span: &Span) {}

    /// Notes that collection `number` began (`true`) or ended on a die, at `now`.
    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {}

    /// Notes that `count` blocks of a plane are erased, when a collection begins and ends there, at `now`.
    fn erased_blocks(&mut self, now: u64, plane: u32, count: u32) {}
}

/// An observer that watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn follows(&self) -> Follows {
        Follows::Nothing
    }
}
