//! Batches of page commands, which a drive reads from a workload.

use std::ops::Range;

use flashgc_base::naming::{self, Keywords, Names};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::{NO_STREAM, StreamId};

/// The operation of a command on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Value)]
#[repr(u8)]
pub enum Op {
    /// The host writes the page.
    Write = 0,
    /// The host reads the page.
    Read = 1,
    /// The host discards the page (TRIM): its data are no longer needed.
    Trim = 2,
    /// The host has changed the page in its cache and will write it later. This is a hint, not a
    /// request. It is an operation only in traces; a batch has it among its hints.
    Dirty = 3,
    /// The host wants all its earlier writes to survive a loss of power. The command has no page. A
    /// batch has it among its flushes.
    Flush = 4,
    /// The host cancels [`Dirty`](Self::Dirty): it will not write the page after all. This is a
    /// hint, not a request. A batch has it among its hints.
    Clean = 5,
}

impl Op {
    /// The number of operations.
    pub const COUNT: usize = 6;

    /// Returns `true` if the operation is a hint on a page in the host's cache, and not a request.
    #[inline]
    pub fn is_hint(self) -> bool {
        matches!(self, Self::Dirty | Self::Clean)
    }
}

/// A hint of the host on a page in its cache. A hint is not a command of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Hint {
    /// The number of the command that follows the hint.
    pub before: u32,
    /// The page that the hint is about.
    pub page: u32,
    /// `true` if the host cancels its hint on the page; `false` if it will write the page soon.
    pub is_taken_back: bool,
}

impl Hint {
    /// Makes a hint that the host will write `page` soon, given before command number `before`.
    pub fn new(before: u32, page: u32) -> Self {
        Self { before, page, is_taken_back: false }
    }
}

/// Page commands in the order in which the host issues them.
///
/// `pages[i]` is a logical page number, and `ops[i]` is its operation. If `ops` is empty, every
/// command is a write. That saves generators of pure writes a byte a command. Most workloads give
/// no hints.
#[derive(Clone, Debug, Default, Value)]
pub struct Batch {
    /// Logical page numbers, in pages and not bytes.
    pub pages: Vec<u32>,
    /// One operation a page, or empty if all are writes.
    pub ops: Vec<Op>,
    /// Hints and cancelled hints, in the order in which the host gives them.
    pub hints: Vec<Hint>,
    /// Writes of less than a page, in order: the number of the command, and the number of bytes of
    /// its page that the write leaves unchanged. All other writes are whole pages.
    pub short: Vec<(u32, u32)>,
    /// Flush commands, in order. Each entry is the number of the command that follows the flush.
    /// Flushes after the last command of a workload are in the empty batch at its end.
    pub flushes: Vec<u32>,
    /// The stream of each command, [`NO_STREAM`] if it has none. The list is empty if no command
    /// has a stream. The stream is the origin of the command; a drive places writes by their
    /// streams.
    pub streams: Vec<StreamId>,
    /// For the commands of a cache: the number of one-page requests that the application made to
    /// it. Each entry has the number of a command, and the number of requests that ended between
    /// the previous command and this one.
    pub served: Vec<(u32, u64)>,
    /// The numbers of the commands that belong to the same host request as the command before them,
    /// in order. The first command of a batch can be one. The list is filled only if `wants_joints`
    /// is set.
    pub joints: Vec<u32>,
    /// `true` if `joints` must be filled. Emptying the batch does not change it.
    pub wants_joints: bool,
}

impl Batch {
    /// The number of commands that a drive reads at once: large enough to look ahead, small enough
    /// for the cache.
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

    /// Appends a command for each of `pages`. Lists that are empty by default stay empty if
    /// possible.
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
    /// Replaces the content of `batch` with the next commands, at most `limit` of them. At the end
    /// of the workload, `batch` has no commands. The commands do not depend on the limits.
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError>;
}

/// The reason why a workload cannot continue, for example a damaged trace file. The text is one
/// line, with the place and some advice. Names of options in it may be marked in the way of
/// [`naming`]. When the error is printed, the marks are replaced by the options' names in Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said(&Keywords))]
pub struct WorkloadError(pub String);

impl WorkloadError {
    /// Returns the error in one line, with the names of options in `names`.
    pub fn said(&self, names: &dyn Names) -> String {
        naming::said(&self.0, names)
    }
}
