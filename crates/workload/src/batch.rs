//! Batches of page commands, which a workload hands to a drive.

use std::ops::Range;

use flashgc_base::naming::{self, Keywords, Names};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::{NO_STREAM, StreamId};

/// The effect of a command on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Value)]
#[repr(u8)]
pub enum Op {
    /// The host writes the page.
    Write = 0,
    /// The host reads the page.
    Read = 1,
    /// The host discards the page (TRIM): its data are dead.
    Trim = 2,
    /// The host has changed the page in its cache and will write it. This is a hint and no request. Only
    /// traces have it as an operation; a batch has it among its hints.
    Dirty = 3,
    /// The host wants all that it has written to survive a loss of power. The command names no page. A
    /// batch has such commands among its flushes.
    Flush = 4,
    /// The host will not write the page after all, and takes [`Dirty`](Self::Dirty) back. This is a hint
    /// and no request; a batch has it among its hints.
    Clean = 5,
}

impl Op {
    /// The number of operations.
    pub const COUNT: usize = 6;

    /// Returns `true` if it is no request but a hint on a page in the host's cache.
    #[inline]
    pub fn is_hint(self) -> bool {
        matches!(self, Self::Dirty | Self::Clean)
    }
}

/// A hint of the host on a page in its cache. It is no command: it rides on one, or has cost the host
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Hint {
    /// The number of the command before which the host gives the hint.
    pub before: u32,
    /// The page that the hint is on.
    pub page: u32,
    /// `true` if the host takes its hint on the page back; else it will write the page soon.
    pub is_taken_back: bool,
}

impl Hint {
    /// Makes a hint that the host will write `page` soon.
    pub fn new(before: u32, page: u32) -> Self {
        Self { before, page, is_taken_back: false }
    }
}

/// Page commands in the order in which the host issues them.
///
/// `pages[i]` is a logical page number and `ops[i]` its operation. An empty `ops` means that every page
/// is written, which saves generators of pure writes a byte a command. Most workloads give no hints.
#[derive(Clone, Debug, Default, Value)]
pub struct Batch {
    /// Logical page numbers, in pages and not bytes.
    pub pages: Vec<u32>,
    /// One operation a page, or empty if all are writes.
    pub ops: Vec<Op>,
    /// Hints and hints taken back, in the order in which the host gives them.
    pub hints: Vec<Hint>,
    /// Writes of less than a page, in order: the number of the command, and the number of bytes of its
    /// page that it leaves unchanged. All other writes are of whole pages.
    pub short: Vec<(u32, u32)>,
    /// Flush commands, in order. Each is the number of the command before which it comes. The empty
    /// batch at the end of a workload has the flushes behind its last command.
    pub flushes: Vec<u32>,
    /// The stream of each command, [`NO_STREAM`] if it has none, or empty if no command has one. It
    /// names the origin of the command; a drive places writes by it.
    pub streams: Vec<StreamId>,
    /// The requests of one page that an application has made of the cache whose commands these are: each
    /// entry is the number of a command, and how many requests ended between the command before it and
    /// this one. Only caches fill it.
    pub served: Vec<(u32, u64)>,
    /// The commands that belong to the same request of the host as the command before them, in order. The
    /// first command of a batch may be one. Filled only where `wants_joints` says so.
    pub joints: Vec<u32>,
    /// `true` if whoever fills the batch is to say where requests end. Emptying the batch keeps it.
    pub wants_joints: bool,
}

impl Batch {
    /// The number of commands that a drive asks for at a time: large enough to look ahead in, small
    /// enough for cache.
    pub const DEFAULT_LEN: usize = 4096;

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.ops.clear();
        self.hints.clear();
        self.short.clear();
        self.flushes.clear();
        self.streams.clear();
        self.served.clear();
        self.joints.clear();
    }

    /// Appends a command on each of `pages`. The lists that may be empty stay so while they can.
    pub fn extend(&mut self, op: Op, stream: StreamId, pages: Range<u32>) {
        if pages.is_empty() {
            return;
        }
        let (done, all) = (self.pages.len(), self.pages.len() + pages.len());
        if op != Op::Write || !self.ops.is_empty() {
            self.ops.resize(done, Op::Write);
            self.ops.resize(all, op);
        }
        if stream != NO_STREAM || !self.streams.is_empty() {
            self.streams.resize(done, NO_STREAM);
            self.streams.resize(all, stream);
        }
        self.pages.extend(pages);
    }

    /// Returns the operation of command number `command`.
    #[inline]
    pub fn op(&self, command: usize) -> Op {
        self.ops.get(command).copied().unwrap_or(Op::Write)
    }

    /// Returns the stream of command number `command`, or [`NO_STREAM`] if it has none.
    #[inline]
    pub fn stream(&self, command: usize) -> StreamId {
        self.streams.get(command).copied().unwrap_or(NO_STREAM)
    }
}

/// A stream of page commands.
pub trait Workload: State + Send {
    /// Replaces the content of `batch` by the next commands, at most `limit` of them. At the end of the
    /// workload the batch has no commands. The commands are the same for every sequence of limits.
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError>;
}

/// The reason why a workload could not go on, for example a trace file that turns out to be damaged. The
/// text is one line, with the place and what to try. It may have options as [`naming`] marks them; the error
/// prints itself with those of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said(&Keywords))]
pub struct WorkloadError(pub String);

impl WorkloadError {
    /// Returns the error in one line, with options as `names` has them.
    pub fn said(&self, names: &dyn Names) -> String {
        naming::said(&self.0, names)
    }
}
