//! The parts of the flash: a die, with a job of its cells and a job of its interface to the bus;
//! the times of the cells; and the bus of a channel, which serves one transfer at a time, first
//! come, first served.

use std::collections::VecDeque;

use flashgc_base::snapshot::Value;

use crate::clock::NEVER;
use crate::config::{Hardware, ReadRetry, Settings, Slc};
use crate::page_times::PageTimes;

/// The job of the cells or the bus of a die. The job of a host operation has the place of the page
/// operation; if several operations are served together, the place of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Job {
    Idle,
    Read(u32),
    Write(u32),
    /// The read before a partial write.
    ModifyRead(u32),
    ModifyWrite(u32),
    /// A read whose data are in a buffer of the die, so that only the bus works.
    Buffer(u32),
    CopyRead,
    CopyWrite,
    Erase,
    /// The time that a check of the queue takes at a preemption point.
    Poll,
    /// The time that the suspension of a job of the cells takes.
    Suspend,
    /// All copies of a collection that nothing can interrupt, one after another.
    CopyAll,
    /// The read of a page of a stripe, to rebuild the read of another die that failed.
    Rebuild(u32),
    /// A program that no operation waits for: of parity, or of data of the host that do not fill it.
    Program,
}

impl Job {
    /// Returns the host's page operation, if the job has one.
    pub fn op(self) -> Option<u32> {
        match self {
            Self::Read(op)
            | Self::Write(op)
            | Self::ModifyRead(op)
            | Self::ModifyWrite(op)
            | Self::Buffer(op) => Some(op),
            _ => None,
        }
    }

    /// Returns `true` if the job is a collection's.
    pub fn is_collections(self) -> bool {
        matches!(self, Self::CopyRead | Self::CopyWrite | Self::CopyAll | Self::Erase | Self::Poll)
    }

    /// Returns `true` if the job programs a page: the bus works before the cells.
    pub fn programs(self) -> bool {
        matches!(self, Self::Write(_) | Self::ModifyWrite(_) | Self::CopyWrite | Self::Program)
    }
}

/// The work of one half of a die: of its cells, or of its interface to the bus.
#[derive(Clone, Copy, Debug, Value)]
pub struct Stage {
    pub job: Job,
    /// The time at which the work began, in nanoseconds; [`NEVER`] while it waits for power.
    pub begin: u64,
    /// The duration of the work, in nanoseconds.
    pub length: u64,
    /// `true` if this half has done its work and the job waits for the other half.
    pub held: bool,
    /// `true` if the bus transfers only the command of a job, before the cells work.
    pub command: bool,
}

impl Stage {
    pub const IDLE: Self =
        Self { job: Job::Idle, begin: 0, length: 0, held: false, command: false };

    pub fn is_idle(&self) -> bool {
        self.job == Job::Idle
    }

    /// Returns `true` if the work waits for power.
    pub fn waits_for_power(&self) -> bool {
        self.begin == NEVER
    }

    /// Returns the nanoseconds of work that are left at `now`.
    pub fn left(&self, now: u64) -> u64 {
        match self.waits_for_power() {
            true => self.length,
            false => (self.begin + self.length).saturating_sub(now),
        }
    }
}

/// An operation of the cells that has been suspended.
#[derive(Clone, Copy, Debug, Value)]
pub struct Suspended {
    pub job: Job,
    /// The time that the rest of the job takes, in nanoseconds.
    pub left: u64,
    /// The number of times that the job has been suspended.
    pub times: u32,
    /// The time at which it was suspended last, in nanoseconds.
    pub since: u64,
    /// The nanoseconds for which it had been suspended before.
    pub before_ns: u64,
    /// The page operations whose order is below this number are served before the job goes on.
    pub mark: u64,
}

impl Suspended {
    /// Returns the nanoseconds for which the job has been suspended in all until `now`.
    pub fn until(&self, now: u64) -> u64 {
        self.before_ns + (now - self.since)
    }
}

/// The sum of the time for which a condition is true.
#[derive(Clone, Copy, Debug, Value)]
struct Stopwatch {
    /// The time since which the condition is true, in nanoseconds; [`NEVER`] if it is false.
    since: u64,
    /// The nanoseconds for which it was true before.
    total: u64,
}

impl Stopwatch {
    const STOPPED: Self = Self { since: NEVER, total: 0 };

    /// Notes that the condition is true from `now` on if `runs`, and false otherwise.
    #[inline]
    fn note(&mut self, runs: bool, now: u64) {
        debug_assert!(self.since <= now || self.since == NEVER);
        // There is no branch, as the processor could not predict it. [`NEVER`] is later than any
        // time.
        self.total += if runs { 0 } else { now.saturating_sub(self.since) };
        self.since = if runs { self.since.min(now) } else { NEVER };
    }

    #[inline]
    fn until(&self, now: u64) -> u64 {
        self.total + now.saturating_sub(self.since)
    }
}

/// A die. Its queue belongs to the scheduler, its collection to the collector.
#[derive(Clone, Debug, Value)]
pub struct Die {
    pub channel: u32,
    pub cells: Stage,
    pub bus: Stage,
    pub suspended: Option<Suspended>,
    /// The number of times that the job of the cells has been suspended.
    pub suspends: u32,
    /// The nanoseconds for which the job of the cells has been suspended.
    pub suspended_ns: u64,
    /// `true` if an operation waits for the end of the job because the job cannot be suspended
    /// again.
    pub is_awaited: bool,
    /// The nanoseconds that the cells will work on the job that is on the bus now.
    pub after_bus_ns: u64,
    /// The units that a collection's read moves over the bus.
    pub copy_units: u32,
    in_use: Stopwatch,
    held: Stopwatch,
}

impl Die {
    /// Returns an idle die, whose pages have `units_per_page` units.
    pub fn new(channel: u32, units_per_page: u32) -> Self {
        Self {
            channel,
            cells: Stage::IDLE,
            bus: Stage::IDLE,
            suspended: None,
            suspends: 0,
            suspended_ns: 0,
            is_awaited: false,
            after_bus_ns: 0,
            copy_units: units_per_page,
            in_use: Stopwatch::STOPPED,
            held: Stopwatch::STOPPED,
        }
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.cells.is_idle() & self.bus.is_idle()
    }

    /// Returns `true` if one half of the die is idle and the other half has a job with which a
    /// further job may overlap: data of a read on the bus, or a program of the host in the cells.
    #[inline]
    pub fn may_overlap(&self) -> bool {
        matches!(
            (self.cells.job, self.bus.job),
            (Job::Idle, Job::Read(_)) | (Job::Write(_), Job::Idle)
        )
    }

    /// Returns `true` if the cells work on their job, and have done so before `now`.
    pub fn has_begun(&self, now: u64) -> bool {
        now > self.cells.begin || self.suspends > 0 && !self.cells.waits_for_power()
    }

    /// Returns `true` if the job of the cells or of the bus is a program.
    pub fn programs(&self) -> bool {
        self.bus.job.programs() || self.cells.job.programs()
    }

    /// Returns the nanoseconds for which collections have held the die until `now`.
    #[inline]
    pub fn held_until(&self, now: u64) -> u64 {
        self.held.until(now)
    }

    /// Returns the nanoseconds for which the die has been in use until `now`.
    pub fn busy_until(&self, now: u64) -> u64 {
        self.in_use.until(now)
    }

    /// Notes the state of the die from `now` on. `held` is `true` if a collection on another die
    /// holds this one. The suspension of a job of a collection counts as time of the collection.
    #[inline]
    pub fn note(&mut self, now: u64, held: bool) {
        let lets_go_of_collection = self.cells.job == Job::Suspend
            && self.suspended.is_some_and(|suspended| suspended.job.is_collections());
        let held = held
            | self.cells.job.is_collections()
            | self.bus.job.is_collections()
            | lets_go_of_collection;
        self.in_use.note(!self.is_idle(), now);
        self.held.note(held, now);
    }
}

/// A channel's bus. The begin and the end of a transfer are known when it is booked, as all earlier
/// transfers are booked already.
#[derive(Clone, Debug, Value)]
pub struct Bus {
    /// The dies whose transfers end with an event of the channel, with the time of the event.
    ends: VecDeque<(u32, u64)>,
    pub(super) turns: Turns,
}

/// The transfers that have been booked on a bus, as sums.
#[derive(Clone, Debug, Value)]
pub struct Turns {
    /// The time at which the last booked transfer ends, in nanoseconds.
    pub(super) free_at: u64,
    /// The length of all booked transfers, in nanoseconds.
    asked_ns: u64,
}

impl Turns {
    /// Books the next turn for a transfer of `length` nanoseconds that is ready at `now`. Returns
    /// the time at which it begins.
    #[inline]
    pub fn take(&mut self, now: u64, length: u64) -> u64 {
        let begin = self.free_at.max(now);
        self.free_at = begin + length;
        self.asked_ns += length;
        begin
    }
}

impl Bus {
    /// Returns the free bus of a channel with `dies` dies.
    pub fn new(dies: u32) -> Self {
        Self {
            ends: VecDeque::with_capacity(dies as usize),
            turns: Turns { free_at: 0, asked_ns: 0 },
        }
    }

    /// Notes that the transfer of `die` ends with an event at `end`. Returns `end` if no other
    /// transfer ends before.
    pub fn end_by_event(&mut self, die: u32, end: u64) -> Option<u64> {
        debug_assert!(self.ends.back().is_none_or(|&(_, last)| last <= end), "turns are in order");
        self.ends.push_back((die, end));
        (self.ends.len() == 1).then_some(end)
    }

    /// Ends the transfer whose event has come. Returns its die, and the time of the channel's next
    /// event.
    pub fn end(&mut self) -> (u32, Option<u64>) {
        let (die, _) = self.ends.pop_front().expect("a transfer is under way");
        (die, self.ends.front().map(|&(_, end)| end))
    }

    /// Returns the nanoseconds for which the bus has been in use until `now`. Booked transfers
    /// after `now` do not count.
    pub fn busy_until(&self, now: u64) -> u64 {
        self.turns.asked_ns - self.turns.free_at.saturating_sub(now)
    }
}

/// The properties of a flash page that the time of a job can depend on.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The number of the page in its block.
    pub page: u32,
    /// The number of erases of its block.
    pub erases: u32,
    /// The age of the block's data, in nanoseconds.
    pub age_ns: u64,
}

/// The times of the cells, and the rules by which they differ from page to page.
pub struct CellTimes {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    pages: Option<(PageTimes, PageTimes)>,
    retry: Option<ReadRetry>,
    /// The times of SLC blocks: equal for all pages, and without retries. `None` if the drive has
    /// no SLC blocks.
    slc: Option<Slc>,
    /// `true` if collections copy pages within a die. The controller then does not see bit errors
    /// of these pages, and does not retry their reads.
    copies_back: bool,
}

impl CellTimes {
    pub fn new(settings: &Settings) -> Self {
        let Hardware { read_ns, program_ns, erase_ns, .. } = settings.hardware;
        let (details, slc) = (&settings.details, settings.slc);
        Self {
            read_ns,
            program_ns,
            erase_ns,
            pages: details.pages,
            retry: details.retry,
            slc,
            copies_back: settings.collecting.copy_back,
        }
    }

    /// Returns the nanoseconds that the cells work on a job, if all pages take the same time.
    #[inline]
    pub fn of(&self, job: Job) -> u64 {
        match job {
            Job::Erase => self.erase_ns,
            job if job.programs() => self.program_ns,
            _ => self.read_ns,
        }
    }

    /// Returns the nanoseconds that the cells work on a job in an SLC block; `None` if the drive
    /// has no SLC blocks.
    pub fn of_slc(&self, job: Job) -> Option<u64> {
        self.slc.map(|slc| match job {
            Job::Erase => slc.erase_ns,
            job if job.programs() => slc.program_ns,
            _ => slc.read_ns,
        })
    }

    /// Returns the nanoseconds that the cells work on a job on the page `site`, with the retries of
    /// a read.
    pub fn of_page(&self, job: Job, site: &Site) -> u64 {
        let CellTimes { pages, retry, copies_back, .. } = self;
        let once = match (job, pages) {
            (Job::Erase, _) | (_, None) => self.of(job),
            (job, Some((_, programs))) if job.programs() => programs.of(site.page),
            (_, Some((reads, _))) => reads.of(site.page),
        };
        let is_corrected = match job {
            Job::Read(_) | Job::ModifyRead(_) | Job::Rebuild(_) => true,
            Job::CopyRead => !copies_back,
            _ => false,
        };
        let retries =
            retry.filter(|_| is_corrected).map_or(0, |it| it.retries(site.erases, site.age_ns));
        once * (1 + retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time for which collections hold a die that works on `job` for 10 ns, while the
    /// job `suspended` is suspended.
    fn held_by(job: Job, suspended: Option<Job>) -> u64 {
        let mut die = Die::new(0, 1);
        die.cells = Stage { job, length: 10, ..Stage::IDLE };
        die.suspended = suspended.map(|job| Suspended {
            job,
            left: 5,
            times: 1,
            since: 0,
            before_ns: 0,
            mark: 0,
        });
        die.note(100, false);
        die.cells = Stage::IDLE;
        die.note(110, false);
        assert_eq!((die.busy_until(105), die.busy_until(200)), (10, 10));
        die.held_until(200)
    }

    #[test]
    fn a_collection_holds_a_die_also_while_it_lets_go_of_its_operation() {
        assert_eq!(held_by(Job::Suspend, Some(Job::Erase)), 10);
        assert_eq!(held_by(Job::Suspend, Some(Job::CopyWrite)), 10);
        assert_eq!(held_by(Job::Suspend, Some(Job::Write(3))), 0);
        // A request that is served while the erase is suspended is not the collection's.
        assert_eq!(held_by(Job::Read(3), Some(Job::Erase)), 0);
        assert_eq!(held_by(Job::CopyRead, None), 10);
    }

    #[test]
    fn a_bus_has_been_in_use_for_what_is_over_of_its_transfers() {
        let mut bus = Bus::new(2);
        // Transfers from 10 to 30, from 30 to 50 (ready at 15) and, after a pause, from 70 to 90.
        assert_eq!(bus.turns.take(10, 20), 10);
        assert_eq!(bus.turns.take(15, 20), 30);
        assert_eq!([15, 30, 40, 50, 60].map(|now| bus.busy_until(now)), [5, 20, 30, 40, 40]);
        assert_eq!(bus.turns.take(70, 20), 70);
        assert_eq!([70, 75, 90, 95].map(|now| bus.busy_until(now)), [40, 45, 60, 60]);
    }

    #[test]
    fn transfers_end_in_the_order_of_their_turns() {
        let mut bus = Bus::new(2);
        assert_eq!(bus.end_by_event(3, 10), Some(10));
        assert_eq!(bus.end_by_event(1, 20), None);
        assert_eq!(bus.end(), (3, Some(20)));
        assert_eq!(bus.end(), (1, None));
    }
}
