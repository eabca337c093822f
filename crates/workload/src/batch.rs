//! What a workload hands to a drive: page commands, in batches.

use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_base::{value, words};

/// What a command does to its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// The host writes the page.
    Write = 0,
    /// The host reads the page.
    Read = 1,
    /// The host discards the page (TRIM): its data are dead.
    Trim = 2,
    /// The host has changed the page in its cache and will write it: no request. Only traces have this;
    /// a batch has it among its hints.
    Dirty = 3,
    /// The host wants all that it has written to survive a loss of power: it names no page. A batch has
    /// such commands among its flushes.
    Flush = 4,
    /// The host will not write the page after all: it takes [`Dirty`](Self::Dirty) back. No request; a
    /// batch has it among its hints.
    Clean = 5,
}

impl Op {
    /// How many there are.
    pub const COUNT: usize = 6;

    /// Whether it is no request, but says what becomes of a page in the host's cache.
    #[inline]
    pub fn is_hint(self) -> bool {
        matches!(self, Self::Dirty | Self::Clean)
    }
}

impl Value for Op {
    words!(Write, Read, Trim, Dirty, Flush, Clean);
}

/// What the host tells the drive of a page in its cache. It is no command: it rides on one, or has cost
/// the host one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The number of the command before which the host says so.
    pub before: u32,
    /// The page.
    pub page: u32,
    /// The host takes back what it said of the page; else it will write the page soon.
    pub is_taken_back: bool,
}

impl Hint {
    /// The host will write `page` soon.
    pub fn new(before: u32, page: u32) -> Self {
        Self { before, page, is_taken_back: false }
    }
}

impl Value for Hint {
    value!(before, page, is_taken_back);
}

/// Page commands in the order in which the host issues them.
///
/// `pages[i]` is a logical page number; `ops[i]` says what happens to it. An empty `ops` means
/// that every page is written, which spares generators of pure writes a byte a command. Most
/// workloads hint nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Logical page numbers (page, not byte, units).
    pub pages: Vec<u32>,
    /// One operation a page, or empty: all are writes.
    pub ops: Vec<Op>,
    /// Hints and those taken back, in the order in which the host says so.
    pub hints: Vec<Hint>,
    /// Writes of less than a page, in order: the number of the command, and how many bytes of its page
    /// it leaves as they are. All other writes are of whole pages.
    pub short: Vec<(u32, u32)>,
    /// Flush commands, in order: each is the number of the command before which it comes. The empty
    /// batch at the end of a workload has those behind its last command.
    pub flushes: Vec<u32>,
    /// The stream of each command, [`NO_STREAM`] where it has none, or empty: no command has one. It says
    /// who asks; a drive places writes by it.
    pub streams: Vec<StreamId>,
}

impl Value for Batch {
    value!(pages, ops, hints, short, flushes, streams);
}

impl Batch {
    /// Commands a drive asks for at a time: large enough to look ahead in, small enough for cache.
    pub const DEFAULT_LEN: usize = 4096;

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.ops.clear();
        self.hints.clear();
        self.short.clear();
        self.flushes.clear();
        self.streams.clear();
    }

    /// What command number `command` does.
    #[inline]
    pub fn op(&self, command: usize) -> Op {
        self.ops.get(command).copied().unwrap_or(Op::Write)
    }

    /// The stream of command number `command`, [`NO_STREAM`] if it has none.
    #[inline]
    pub fn stream(&self, command: usize) -> StreamId {
        self.streams.get(command).copied().unwrap_or(NO_STREAM)
    }
}

/// A stream of page commands.
pub trait Workload: State + Send {
    /// Replaces the content of `batch` by the next commands, at most `limit` of them; leaves it
    /// without commands when the workload has ended. The commands are the same for every sequence of limits.
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError>;
}

/// Why a workload could not go on (a trace file that turns out to be damaged, for example).
/// The text is one line, with the place and what to try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub String);
