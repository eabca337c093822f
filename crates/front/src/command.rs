//! The commands that front ends give to a drive, and the drive's answers.

use flashgc_base::stream::StreamId;
use flashgc_device::bytes::Extent;
use flashgc_device::{Hinted, PAGE};

/// The most pages of a command without data that is executed as a whole. A longer command is
/// executed in slices (`Command::is_long`), so that other commands do not wait for all of it.
pub const SHORT: u64 = 256;
/// The number of pages in a slice of a command that writes no pages, but only changes their state.
const LOOKED_AT: u64 = 16 << 10;

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
    /// Reads the range and compares it with `data`. The answer says if they differ.
    Compare {
        /// The first byte.
        at: u64,
        /// The bytes to compare with.
        data: Vec<u8>,
    },
    /// Reads the range, and checks that nothing is damaged. The answer holds no data.
    Verify {
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
        /// The streams of the pages that the write touches: none, one for all of them, or one for
        /// each. The drive uses them only if
        /// [`Queue::takes_streams`](crate::queue::Queue::takes_streams) is true.
        streams: Vec<StreamId>,
        /// `true` if the write must be durable when it is answered.
        fua: bool,
    },
    /// Copies ranges to one place, where they follow one another.
    Copy {
        /// The first byte and the number of bytes of each range.
        from: Vec<(u64, usize)>,
        /// The first byte of the copy.
        to: u64,
        /// The streams of the pages of the copy, as for a write.
        streams: Vec<StreamId>,
        /// `true` if the copy must be durable when it is answered.
        fua: bool,
    },
    /// Discards the pages that lie completely in the range.
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
        /// `true` if whole pages are written as zeros instead of discarded.
        keep: bool,
        /// `true` if the zeros must be durable when the command is answered.
        fua: bool,
    },
    /// Makes all earlier completed commands durable.
    Flush,
    /// Asks for the number of pages that the host has written.
    Moment,
    /// Notes that the host will write the pages of the range soon. The answer names the pages on
    /// which the hint holds.
    Hint {
        /// The first byte.
        at: u64,
        /// The number of bytes.
        bytes: u64,
        /// The moment at which the host gave the hint, as the number of pages that the host had
        /// written; `None` stands for now.
        moment: Option<u64>,
    },
    /// Takes back the hints on the pages of the range.
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
    /// Returns, for a command that writes data, the first byte that it writes, the number of bytes,
    /// and its streams.
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

    /// Returns the cost of the command. A front end reserves this cost before it admits the
    /// command.
    pub fn cost(&self) -> Cost {
        let read = |at: u64, bytes: usize| whole_pages(at, bytes as u64) as usize * PAGE;
        let (memory, at, bytes) = match *self {
            Self::Read { at, bytes } | Self::Verify { at, bytes } => {
                (read(at, bytes), at, bytes as u64)
            }
            Self::ReadSparse { at, bytes } => {
                let extents = whole_pages(at, bytes as u64) as usize * size_of::<Extent>();
                // A list that grows takes up to three times its final size.
                (read(at, bytes) + 2 * PAGE + 3 * extents, at, bytes as u64)
            }
            Self::Compare { at, ref data } => {
                (data.len() + read(at, data.len()), at, data.len() as u64)
            }
            Self::Write { at, ref data, ref streams, .. } => {
                (data.len() + streams.len(), at, data.len() as u64)
            }
            Self::Copy { ref from, to, ref streams, .. } => {
                let list = size_of_val(from.as_slice()) + streams.len();
                let data = from.iter().map(|&(at, bytes)| read(at, bytes)).sum::<usize>();
                (list + 2 * data, to, 2 * copied(from))
            }
            Self::Trim { at, bytes, .. } | Self::Zero { at, bytes, .. } => (PAGE, at, bytes),
            Self::Flush | Self::Moment => (0, 0, 0),
            Self::Hint { at, bytes, .. } | Self::Cancel { at, bytes } => {
                (whole_pages(at, bytes).min(LOOKED_AT) as usize * 2 * size_of::<u64>(), at, bytes)
            }
            Self::Extents { at, bytes, most } => (3 * most * size_of::<Extent>(), at, bytes),
        };
        Cost { memory, pages: whole_pages(at, bytes) }
    }

    /// Returns the first byte and the number of bytes of a command that can be executed in slices;
    /// `None` for other commands.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        match *self {
            Self::Trim { at, bytes, .. }
            | Self::Zero { at, bytes, .. }
            | Self::Hint { at, bytes, .. }
            | Self::Cancel { at, bytes } => Some((at, bytes)),
            _ => None,
        }
    }

    /// Returns `true` if the command must be executed in slices, as it touches more than [`SHORT`]
    /// pages.
    pub(crate) fn is_long(&self) -> bool {
        self.range().is_some() && self.cost().pages > SHORT
    }

    /// Cuts the first slice off a long command and returns it; `None` if the command is not longer
    /// than a slice.
    pub(crate) fn next_slice(&mut self) -> Option<Self> {
        let (slice, at, bytes) = match self {
            Self::Zero { at, bytes, keep: true, .. } => (SHORT, at, bytes),
            Self::Trim { at, bytes, .. }
            | Self::Zero { at, bytes, .. }
            | Self::Hint { at, bytes, .. }
            | Self::Cancel { at, bytes } => (LOOKED_AT, at, bytes),
            _ => return None,
        };
        let (page, begin) = (PAGE as u64, *at);
        let end = (begin / page + slice).saturating_mul(page);
        if end >= begin.saturating_add(*bytes) {
            return None;
        }
        let taken = end - begin;
        (*at, *bytes) = (end, *bytes - taken);
        Some(match *self {
            Self::Trim { .. } => Self::Trim { at: begin, bytes: taken, fua: false },
            Self::Zero { keep, .. } => Self::Zero { at: begin, bytes: taken, keep, fua: false },
            Self::Hint { moment, .. } => Self::Hint { at: begin, bytes: taken, moment },
            _ => Self::Cancel { at: begin, bytes: taken },
        })
    }

    /// Returns `true` if the effects of the command must be durable when it is answered.
    pub(crate) fn durable(&self) -> bool {
        match self {
            Self::Flush => true,
            Self::Write { fua, .. }
            | Self::Copy { fua, .. }
            | Self::Trim { fua, .. }
            | Self::Zero { fua, .. } => *fua,
            Self::Read { .. } | Self::ReadSparse { .. } | Self::Extents { .. } => false,
            Self::Compare { .. } | Self::Verify { .. } => false,
            Self::Moment | Self::Hint { .. } | Self::Cancel { .. } => false,
        }
    }
}

/// The cost of a command. It is known before the command is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The most bytes of memory that the command and its answer take until the answer is sent.
    pub memory: usize,
    /// The number of pages that the command touches.
    pub pages: u64,
}

/// Returns the number of pages that a range touches.
fn whole_pages(at: u64, bytes: u64) -> u64 {
    let page = PAGE as u64;
    if bytes == 0 { 0 } else { at.saturating_add(bytes).div_ceil(page) - at / page }
}

/// Returns the number of bytes in the ranges of a copy.
pub(crate) fn copied(from: &[(u64, usize)]) -> u64 {
    from.iter().fold(0, |sum, range| sum.saturating_add(range.1 as u64))
}

/// The answer of a drive to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The command is done.
    Done,
    /// The data of the drive differ from those of a comparison.
    Differs,
    /// The data of a read.
    Data(Vec<u8>),
    /// The extents of a range.
    Extents(Vec<Extent>),
    /// The extents of a range, and the data of all extents that are not holes, one after the other.
    Sparse(Vec<Extent>, Vec<u8>),
    /// The number of pages that the host has written.
    Pages(u64),
    /// The pages on which a hint holds, and the number of pages for which it came too late.
    Hinted(Hinted),
}

impl Answer {
    /// Returns the number in the answer to the host: the pages written, or the pages for which a
    /// hint came too late. It is 0 for other answers.
    pub fn pages(&self) -> u64 {
        match self {
            Self::Pages(pages) => *pages,
            Self::Hinted(hinted) => hinted.late,
            _ => 0,
        }
    }
}
