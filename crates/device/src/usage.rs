//! The hosts' use of a drive since it was made. The file keeps it, like the SMART log of a real
//! drive.
//!
//! The counts are written with the superblock, so a crash loses those since the last superblock.

use flashgc_base::counts::{Counts, Listed};

use crate::codec::{Get, Put};

/// The commands of hosts and their bytes, in the sizes that the hosts gave. No decision depends on
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct Usage {
    /// The number of read commands.
    #[counts(stat = "host_read_commands")]
    pub reads: u64,
    /// The bytes that read commands asked for.
    #[counts(unit = "bytes", stat = "host_bytes_read")]
    pub read_bytes: u64,
    /// The number of write commands, those of zeros among them.
    #[counts(stat = "host_write_commands")]
    pub writes: u64,
    /// The bytes that write commands wrote.
    #[counts(unit = "bytes", stat = "host_bytes_written")]
    pub written_bytes: u64,
    /// The number of discards.
    #[counts(stat = "trim_commands")]
    pub trims: u64,
    /// The bytes that discards named.
    #[counts(unit = "bytes")]
    pub trimmed_bytes: u64,
    /// The number of flush commands.
    pub flushes: u64,
    /// The number of write commands that began within a page.
    #[counts(stat = "unaligned_writes")]
    pub unaligned: u64,
    /// The number of hints and of hints taken back.
    pub hints: u64,
    /// The time in which commands were executed.
    #[counts(unit = "ns", stat = "busy_seconds")]
    pub busy_ns: u64,
    /// The time in which the drive was open.
    #[counts(unit = "ns", stat = "open_seconds")]
    pub open_ns: u64,
}

impl Usage {
    pub(crate) fn put(&self, to: &mut Put<'_>) {
        for number in self.numbers() {
            to.u64(number);
        }
    }

    pub(crate) fn take(from: &mut Get<'_>) -> Self {
        Self::of(&mut std::iter::repeat_with(|| from.u64())).unwrap_or_default()
    }
}
