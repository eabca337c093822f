//! A die: the jobs of its cells and of its side of the bus.

use flashgc_base::snapshot::{Fault, Reader, Value, Writer};

use crate::clock::NEVER;

/// The job of the cells or the bus of a die. A host operation has the number of the first of the
/// page operations that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// All copies of a collection that nothing disturbs, one after another.
    CopyAll,
    Erase,
    /// A look into the queue at a preemption point.
    Poll,
    /// The suspension of an operation of the cells.
    Suspend,
}

impl Value for Job {
    fn put(&self, to: &mut Writer<'_>) {
        match *self {
            Self::Idle => (0u8, 0u32),
            Self::Read(op) => (1u8, op),
            Self::Write(op) => (2u8, op),
            Self::ModifyRead(op) => (3u8, op),
            Self::ModifyWrite(op) => (4u8, op),
            Self::Buffer(op) => (5u8, op),
            Self::CopyRead => (6u8, 0u32),
            Self::CopyWrite => (7u8, 0u32),
            Self::Erase => (8u8, 0u32),
            Self::Poll => (9u8, 0u32),
            Self::Suspend => (10u8, 0u32),
            Self::CopyAll => (11u8, 0u32),
        }
        .put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(match <(u8, u32)>::take(from)? {
            (0, _) => Self::Idle,
            (1, op) => Self::Read(op),
            (2, op) => Self::Write(op),
            (3, op) => Self::ModifyRead(op),
            (4, op) => Self::ModifyWrite(op),
            (5, op) => Self::Buffer(op),
            (6, _) => Self::CopyRead,
            (7, _) => Self::CopyWrite,
            (8, _) => Self::Erase,
            (9, _) => Self::Poll,
            (10, _) => Self::Suspend,
            (11, _) => Self::CopyAll,
            (other, _) => return Err(Fault::new(format!("{other} is no Job"))),
        })
    }
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
}
