//! What hosts asked of a drive, since it was made: the file keeps it, as the SMART log of a real drive.
//!
//! It is written with the superblock, so a crash loses the counts since the last one.

use crate::codec::{Get, Put};

/// Commands of hosts and their bytes, as they were asked for. Nothing here decides anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read commands.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Write commands, those of zeros among them.
    pub writes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Discards.
    pub trims: u64,
    /// Bytes that they named.
    pub trimmed_bytes: u64,
    /// Flush commands.
    pub flushes: u64,
    /// Commands that began or ended within a page.
    pub unaligned: u64,
    /// Hints and hints taken back.
    pub hints: u64,
    /// Nanoseconds in which commands were executed.
    pub busy_ns: u64,
    /// Nanoseconds in which the drive was open.
    pub open_ns: u64,
}

/// Numbers of a [`Usage`].
const NUMBERS: usize = 11;

impl Usage {
    /// All numbers of both.
    pub fn plus(&self, other: &Self) -> Self {
        let (mine, others) = (self.numbers(), other.numbers());
        Self::of(std::array::from_fn(|index| mine[index].saturating_add(others[index])))
    }

    fn numbers(&self) -> [u64; NUMBERS] {
        let &Self {
            reads,
            read_bytes,
            writes,
            written_bytes,
            trims,
            trimmed_bytes,
            flushes,
            unaligned,
            hints,
            busy_ns,
            open_ns,
        } = self;
        [
            reads,
            read_bytes,
            writes,
            written_bytes,
            trims,
            trimmed_bytes,
            flushes,
            unaligned,
            hints,
            busy_ns,
            open_ns,
        ]
    }

    fn of(numbers: [u64; NUMBERS]) -> Self {
        let [
            reads,
            read_bytes,
            writes,
            written_bytes,
            trims,
            trimmed_bytes,
            flushes,
            unaligned,
            hints,
            busy_ns,
            open_ns,
        ] = numbers;
        Self {
            reads,
            read_bytes,
            writes,
            written_bytes,
            trims,
            trimmed_bytes,
            flushes,
            unaligned,
            hints,
            busy_ns,
            open_ns,
        }
    }

    pub(crate) fn put(&self, to: &mut Put<'_>) {
        for number in self.numbers() {
            to.u64(number);
        }
    }

    pub(crate) fn take(from: &mut Get<'_>) -> Self {
        Self::of(std::array::from_fn(|_| from.u64()))
    }
}
