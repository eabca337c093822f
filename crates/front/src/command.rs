//! The commands of front ends for a drive, and its answers.

use flashgc_base::stream::StreamId;
use flashgc_device::Hinted;
use flashgc_device::bytes::Extent;

/// A command for a drive. Ranges are in bytes.
#[derive(Debug)]
pub enum Command {
    /// Reads the range. The answer holds the data.
    Read {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: usize,
    },
    /// Reads the range without its holes. The answer holds the extents and the data.
    ReadSparse {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: usize,
    },
    /// Writes `data`.
    Write {
        /// The first byte.
        at: u64,
        /// The bytes to write.
        data: Vec<u8>,
        /// The streams of the pages of which it has a byte: none, one for all of them, or one for each. A
        /// drive takes them if [`Queue::takes_streams`](crate::queue::Queue::takes_streams) says so.
        streams: Vec<StreamId>,
        /// `true` if the write must be durable when it is answered.
        fua: bool,
    },
    /// Copies ranges, one behind the other.
    Copy {
        /// The first byte and the number of bytes of each range.
        from: Vec<(u64, usize)>,
        /// The first byte of the copy.
        to: u64,
        /// The streams of its pages, as those of a write.
        streams: Vec<StreamId>,
        /// `true` if the copy must be durable when it is answered.
        fua: bool,
    },
    /// Discards the pages that lie whole in the range.
    Trim {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
        /// `true` if the discard must be durable when it is answered.
        fua: bool,
    },
    /// Makes the range read as zeros.
    Zero {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
        /// `true` if whole pages are written as zeros, and not discarded.
        keep: bool,
        /// `true` if the zeros must be durable when they are answered.
        fua: bool,
    },
    /// Makes every command completed before durable.
    Flush,
    /// Asks for the number of pages that the host has written.
    Moment,
    /// Notes that the host will write the pages of the range soon. The answer holds the pages on which it
    /// holds.
    Hint {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
        /// The moment from which the hint holds; `None` is now.
        moment: Option<u64>,
    },
    /// Takes hints on the pages of the range back.
    Cancel {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// Asks which parts of a range have data.
    Extents {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
        /// The most extents in the answer.
        most: usize,
    },
}

impl Command {
    /// Returns the range that a command writes with the streams that it names: its first byte, its bytes and
    /// the streams.
    pub(crate) fn placed(&mut self) -> Option<(u64, u64, &mut Vec<StreamId>)> {
        match self {
            Self::Write { at, data, streams, .. } => Some((*at, data.len() as u64, streams)),
            Self::Copy { from, to, streams, .. } => Some((*to, copied(from), streams)),
            _ => None,
        }
    }

    /// Returns `true` if the command changes data.
    pub(crate) fn changes(&self) -> bool {
        matches!(
            self,
            Self::Write { .. } | Self::Copy { .. } | Self::Trim { .. } | Self::Zero { .. }
        )
    }

    /// Returns `true` if all that the command did must be durable when it is answered.
    pub(crate) fn durable(&self) -> bool {
        match self {
            Self::Flush => true,
            Self::Write { fua, .. }
            | Self::Copy { fua, .. }
            | Self::Trim { fua, .. }
            | Self::Zero { fua, .. } => *fua,
            Self::Read { .. } | Self::ReadSparse { .. } | Self::Extents { .. } => false,
            Self::Moment | Self::Hint { .. } | Self::Cancel { .. } => false,
        }
    }
}

/// Returns the bytes of the ranges of a copy.
pub(crate) fn copied(from: &[(u64, usize)]) -> u64 {
    from.iter().fold(0, |sum, range| sum.saturating_add(range.1 as u64))
}

/// The answer of a drive to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The command is done.
    Done,
    /// The data of a read.
    Data(Vec<u8>),
    /// The extents of a range.
    Extents(Vec<Extent>),
    /// The extents of a range, and the data of those that have some, one behind the other.
    Sparse(Vec<Extent>, Vec<u8>),
    /// The number of pages that the host has written.
    Pages(u64),
    /// The pages on which a hint holds, and the number of those for which it came too late.
    Hinted(Hinted),
}

impl Answer {
    /// Returns the number of pages that the host is told: those written, or those for which a hint came too
    /// late. Other answers have none.
    pub fn pages(&self) -> u64 {
        match self {
            Self::Pages(pages) => *pages,
            Self::Hinted(hinted) => hinted.late,
            _ => 0,
        }
    }
}
