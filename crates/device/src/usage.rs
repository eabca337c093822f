//! The hosts' use of a drive since it was made. The file keeps it, like the SMART log of a real drive.
//!
//! It is written with the superblock, so a crash loses the counts since the last one.

use flashgc_base::counts::{Counts, Listed};

use crate::codec::{Get, Put};

/// The commands of hosts and their bytes, in the sizes that the hosts gave. No decision depends on
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct Usage {
    /// The number of read commands.
    pub reads: u64,
    /// The bytes that read commands asked for.
    pub read_bytes: u64,
    /// The number of write commands, those of zeros among them.
    pub writes: u64,
    /// The bytes that write commands wrote.
    pub written_bytes: u64,
    /// The number of discards.
    pub trims: u64,
    /// The bytes that discards named.
    pub trimmed_bytes: u64,
    /// The number of flush commands.
    pub flushes: u64,
    /// The number of commands that began or ended within a page.
    pub unaligned: u64,
    /// The number of hints and of hints taken back.
    pub hints: u64,
    /// The nanoseconds in which commands were executed.
    pub busy_ns: u64,
    /// The nanoseconds in which the drive was open.
    pub open_ns: u64,
}

impl Usage {
    pub(crate) fn put(&self, to: &mut Put<'_>) {
        for number in self.numbers() {
            to.u64(number);
        }
    }

    pub(crate) fn take(from: &mut Get<'_>) -> Self {
        Self::of(std::iter::repeat_with(|| from.u64())).unwrap_or_default()
    }
}
