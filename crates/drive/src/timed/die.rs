//! The state of a die: what its cells and its side of the bus do, and what waits.

use flashgc_ftl::stepwise::Move;

use super::events::NEVER;
use super::ops::{NONE, Queue};

/// What the cells or the bus of a die are at. A host operation is named by the first of the page
/// operations that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
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
    /// Letting go of what is being suspended.
    Suspend,
}

impl Job {
    /// The host's page operation.
    pub(super) fn op(self) -> Option<u32> {
        match self {
            Self::Read(op)
            | Self::Write(op)
            | Self::ModifyRead(op)
            | Self::ModifyWrite(op)
            | Self::Buffer(op) => Some(op),
            _ => None,
        }
    }

    /// Whether it is a collection's.
    pub(super) fn is_collections(self) -> bool {
        matches!(self, Self::CopyRead | Self::CopyWrite | Self::Erase | Self::Poll)
    }

    /// Whether the bus comes before the cells.
    pub(super) fn programs(self) -> bool {
        matches!(self, Self::Write(_) | Self::ModifyWrite(_) | Self::CopyWrite)
    }
}

/// Half of a die: its cells, or its side of the bus.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) job: Job,
    /// When its turn came.
    pub(super) begin: u64,
    /// How long it takes.
    pub(super) length: u64,
    /// It is done here and waits for the other half.
    pub(super) held: bool,
    /// On the bus: only the command, before the cells work.
    pub(super) command: bool,
}

impl Stage {
    pub(super) const IDLE: Self =
        Self { job: Job::Idle, begin: 0, length: 0, held: false, command: false };

    pub(super) fn is_idle(&self) -> bool {
        self.job == Job::Idle
    }
}

/// Where a collection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Before a page move or the erase: preemption point B.
    B,
    Reading,
    /// Between read and program of a page: preemption point A.
    A,
    Writing,
    Erasing,
}

/// A collection under way.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    pub(super) number: u64,
    pub(super) plane: u32,
    pub(super) point: Point,
    pub(super) moving: Option<Move>,
    /// Reads that the moving page's buffer serves.
    pub(super) merged_reads: Queue,
    /// A write whose data take the moving page's place, or [`NONE`].
    pub(super) merged_write: u32,
    /// The queue has been looked into at this point.
    pub(super) polled: bool,
    /// The search of its victim has taken its time.
    pub(super) searched: bool,
    /// It has been preempted.
    pub(super) gave_way: bool,
    /// Page operations that had come to their dies when this point was reached.
    pub(super) mark: u64,
    /// An idle die began it.
    pub(super) idle: bool,
    /// No preemption until the erase: an urgent write waits (state S3).
    pub(super) urgent: bool,
}

impl Collection {
    pub(super) fn new(number: u64, plane: u32, mark: u64) -> Self {
        Self {
            number,
            plane,
            point: Point::B,
            moving: None,
            merged_reads: Queue::EMPTY,
            merged_write: NONE,
            polled: false,
            searched: false,
            gave_way: false,
            mark,
            idle: false,
            urgent: false,
        }
    }

    /// Comes to a preemption point.
    pub(super) fn reach(&mut self, point: Point, mark: u64) {
        self.point = point;
        self.polled = false;
        self.mark = mark;
    }
}

/// An operation of the cells that has been suspended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub(super) job: Job,
    /// What it takes when it goes on.
    pub(super) left: u64,
    /// Times that it has been suspended.
    pub(super) times: u32,
    /// Page operations that came before this order are served before it goes on.
    pub(super) mark: u64,
}

/// A die.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    pub(super) reads: Queue,
    /// Writes and TRIMs.
    pub(super) writes: Queue,
    pub(super) cells: Stage,
    pub(super) bus: Stage,
    pub(super) collection: Option<Collection>,
    pub(super) suspended: Option<Suspended>,
    /// Times that the job of the cells has been suspended.
    pub(super) suspends: u32,
    /// Since when it has been in use, or [`NEVER`]; and for how long before.
    busy_since: u64,
    busy_ns: u64,
    /// Since when a collection has held it, or [`NEVER`]; and for how long before.
    held_since: u64,
    held_ns: u64,
    /// It is in the list of those to look at.
    pub(super) is_ready: bool,
}

impl Die {
    pub(super) fn new(channel: u32) -> Self {
        Self {
            channel,
            reads: Queue::EMPTY,
            writes: Queue::EMPTY,
            cells: Stage::IDLE,
            bus: Stage::IDLE,
            collection: None,
            suspended: None,
            suspends: 0,
            busy_since: NEVER,
            busy_ns: 0,
            held_since: NEVER,
            held_ns: 0,
            is_ready: false,
        }
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.cells.is_idle() && self.bus.is_idle()
    }

    /// How long it has been held by collections until `now`.
    #[inline]
    pub(super) fn held_until(&self, now: u64) -> u64 {
        self.held_ns + now.saturating_sub(self.held_since)
    }

    /// How long it has been in use until `now`.
    pub(super) fn busy_until(&self, now: u64) -> u64 {
        self.busy_ns + now.saturating_sub(self.busy_since)
    }

    /// Notes at `now` what the die is at; `held` if a collection elsewhere holds it.
    #[inline]
    pub(super) fn note(&mut self, now: u64, held: bool) {
        let busy = !self.is_idle();
        let suspends_collection = self.cells.job == Job::Suspend
            && self.suspended.is_some_and(|s| s.job.is_collections());
        let held = held
            || self.cells.job.is_collections()
            || self.bus.job.is_collections()
            || suspends_collection;
        clock(&mut self.busy_since, &mut self.busy_ns, busy, now);
        clock(&mut self.held_since, &mut self.held_ns, held, now);
    }
}

/// Starts or stops a clock.
#[inline]
fn clock(since: &mut u64, total: &mut u64, runs: bool, now: u64) {
    if runs && *since == NEVER {
        *since = now;
    } else if !runs && *since != NEVER {
        *total += now - *since;
        *since = NEVER;
    }
}
