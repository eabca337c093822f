//! The parts of the flash: a die with the jobs of its cells and of its side of the bus, the times of the cells,
//! and the bus of a channel, which serves one transfer at a time, first come, first served.

use std::collections::VecDeque;

use flashgc_base::snapshot::Value;

use crate::clock::NEVER;
use crate::config::{Hardware, ReadRetry, Settings, Slc};
use crate::page_times::PageTimes;

/// The job of the cells or the bus of a die. A host operation has the number of the first of the
/// page operations that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Job {
    Idle,
    Read(u32),
    Write(u32),
    /// The read before a partial write.
    ModifyRead(u32),
    ModifyWrite(u32),
    /// A read that is served from the page register: the bus alone.
    Buffer(u32),
    CopyRead,
    CopyWrite,
    Erase,
    /// A look into the queue at a preemption point.
    Poll,
    /// The suspension of an operation of the cells.
    Suspend,
    /// All copies of a collection that nothing disturbs, one after another.
    CopyAll,
}

impl Job {
    /// Returns the host's page operation.
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

    /// Returns `true` if the bus comes before the cells.
    pub fn programs(self) -> bool {
        matches!(self, Self::Write(_) | Self::ModifyWrite(_) | Self::CopyWrite)
    }
}

/// Half of a die: its cells, or its side of the bus.
#[derive(Clone, Copy, Debug, Value)]
pub struct Stage {
    pub job: Job,
    /// The time at which its turn came.
    pub begin: u64,
    /// The duration of the job.
    pub length: u64,
    /// `true` if the job is done in this half and waits for the other.
    pub held: bool,
    /// `true` on the bus if it is the command alone, before the cells work.
    pub command: bool,
}

impl Stage {
    pub const IDLE: Self =
        Self { job: Job::Idle, begin: 0, length: 0, held: false, command: false };

    pub fn is_idle(&self) -> bool {
        self.job == Job::Idle
    }
}

/// An operation of the cells that has been suspended.
#[derive(Clone, Copy, Debug, Value)]
pub struct Suspended {
    pub job: Job,
    /// The time that it takes when it goes on.
    pub left: u64,
    /// The number of times that it has been suspended.
    pub times: u32,
    /// The order of page operations before which they are served before it goes on.
    pub mark: u64,
}

/// A sum of the time for which something is true.
#[derive(Clone, Copy, Debug, Value)]
struct Stopwatch {
    /// The time since when it is true, or [`NEVER`].
    since: u64,
    /// The time for which it was true before.
    total: u64,
}

impl Stopwatch {
    const STOPPED: Self = Self { since: NEVER, total: 0 };

    /// Starts or stops at `now`, unless it runs or stands already.
    #[inline]
    fn note(&mut self, runs: bool, now: u64) {
        debug_assert!(self.since <= now || self.since == NEVER);
        // Without a branch, because it could not be predicted; [`NEVER`] is later than any time.
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
    /// `true` if an operation waits for the end of this job, which was suspended as often as it may be.
    pub is_awaited: bool,
    /// The time that the cells work on the job of the bus once it has its command or its data.
    pub after_bus_ns: u64,
    in_use: Stopwatch,
    held: Stopwatch,
}

impl Die {
    pub fn new(channel: u32) -> Self {
        Self {
            channel,
            cells: Stage::IDLE,
            bus: Stage::IDLE,
            suspended: None,
            suspends: 0,
            is_awaited: false,
            after_bus_ns: 0,
            in_use: Stopwatch::STOPPED,
            held: Stopwatch::STOPPED,
        }
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.cells.is_idle() & self.bus.is_idle()
    }

    /// Returns `true` if the job of the cells has begun at `now`: it has worked, or had been
    /// suspended.
    pub fn has_begun(&self, now: u64) -> bool {
        now > self.cells.begin || self.suspends > 0
    }

    /// Returns `true` if its cells or its side of the bus are at a program.
    pub fn programs(&self) -> bool {
        self.bus.job.programs() || self.cells.job.programs()
    }

    /// Returns the time for which it has been held by collections until `now`.
    #[inline]
    pub fn held_until(&self, now: u64) -> u64 {
        self.held.until(now)
    }

    /// Returns the time for which it has been in use until `now`.
    pub fn busy_until(&self, now: u64) -> u64 {
        self.in_use.until(now)
    }

    /// Notes the job of the die at `now`; `held` if a collection elsewhere holds it. The suspension
    /// of an operation of a collection counts as the collection's.
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

/// A channel's bus. A job knows at once when its turn comes, since the transfers before it are
/// known.
#[derive(Clone, Debug, Value)]
pub struct Bus {
    /// The dies whose transfers end by events of the channel, with the times of these.
    ends: VecDeque<(u32, u64)>,
    pub(super) turns: Turns,
}

/// The turns on a bus that have been asked for.
#[derive(Clone, Debug, Value)]
pub struct Turns {
    /// The time at which the last transfer asked for ends.
    pub(super) free_at: u64,
    /// The length of all transfers asked for.
    asked_ns: u64,
}

impl Turns {
    /// Takes the next turn for a transfer of this length, asked for `now`. Returns its beginning.
    #[inline]
    pub fn take(&mut self, now: u64, length: u64) -> u64 {
        let begin = self.free_at.max(now);
        self.free_at = begin + length;
        self.asked_ns += length;
        begin
    }
}

impl Bus {
    /// Returns the bus of `dies` dies, free.
    pub fn new(dies: u32) -> Self {
        Self {
            ends: VecDeque::with_capacity(dies as usize),
            turns: Turns { free_at: 0, asked_ns: 0 },
        }
    }

    /// Lets an event of the channel end the transfer of `die` at `end`. Returns the time of the
    /// first of those events, if this one is the first.
    pub fn end_by_event(&mut self, die: u32, end: u64) -> Option<u64> {
        debug_assert!(self.ends.back().is_none_or(|&(_, last)| last <= end), "turns are in order");
        self.ends.push_back((die, end));
        (self.ends.len() == 1).then_some(end)
    }

    /// Ends a transfer, as the event of the channel has come. Returns the die whose transfer is
    /// over, and the time of the next of those events.
    pub fn end(&mut self) -> (u32, Option<u64>) {
        let (die, _) = self.ends.pop_front().expect("a transfer is under way");
        (die, self.ends.front().map(|&(_, end)| end))
    }

    /// Returns the time for which the bus has been in use until `now`, without transfers that are
    /// still to come.
    pub fn busy_until(&self, now: u64) -> u64 {
        self.turns.asked_ns - self.turns.free_at.saturating_sub(now)
    }
}

/// The flash page that a job works on, as far as the job's time depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The number of the page in its block.
    pub page: u32,
    /// The number of erases of its block.
    pub erases: u32,
    /// The age of its data.
    pub age_ns: u64,
}

/// The times of the cells: those of the hardware, and how they differ from page to page.
pub struct CellTimes {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    pages: Option<(PageTimes, PageTimes)>,
    retry: Option<ReadRetry>,
    /// The times of SLC cells, which are alike and need no retries; `None` where there are none.
    slc: Option<Slc>,
    /// `true` if copies stay in their die: no controller sees their errors.
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

    /// Returns the time that the cells work on a job, on pages that are all alike.
    #[inline]
    pub fn of(&self, job: Job) -> u64 {
        match job {
            Job::Erase => self.erase_ns,
            job if job.programs() => self.program_ns,
            _ => self.read_ns,
        }
    }

    /// Returns the time that the cells work on a job in an SLC block.
    pub fn of_slc(&self, job: Job) -> Option<u64> {
        self.slc.map(|slc| match job {
            Job::Erase => slc.erase_ns,
            job if job.programs() => slc.program_ns,
            _ => slc.read_ns,
        })
    }

    /// Returns the time that the cells work on a job on this page. A read is repeated as often as
    /// its block and its data need.
    pub fn of_page(&self, job: Job, site: &Site) -> u64 {
        let CellTimes { pages, retry, copies_back, .. } = self;
        let once = match (job, pages) {
            (Job::Erase, _) | (_, None) => self.of(job),
            (job, Some((_, programs))) if job.programs() => programs.of(site.page),
            (_, Some((reads, _))) => reads.of(site.page),
        };
        let is_corrected = match job {
            Job::Read(_) | Job::ModifyRead(_) => true,
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

    /// Returns the time for which a die is held, with `job` for 10 ns and `suspended` suspended.
    fn held_by(job: Job, suspended: Option<Job>) -> u64 {
        let mut die = Die::new(0);
        die.cells = Stage { job, length: 10, ..Stage::IDLE };
        die.suspended = suspended.map(|job| Suspended { job, left: 5, times: 1, mark: 0 });
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
        // From 10 to 30; then from 30 to 50, asked for at 15; then, after a pause, from 70 to 90.
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
