//! Counts of the host's commands that the counts of the translation layer do not show.

use std::fmt;

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;

/// Counts of the host's commands so far, beside the pages that it wrote.
#[derive(Clone, Copy, Default, PartialEq, Eq, Counts, Value)]
pub struct HostCommands {
    /// The number of pages read.
    pub reads: u64,
    /// The number of writes of less than a page. Each reads the page that it changes.
    pub short_writes: u64,
    /// The bytes of written pages that the host did not write.
    pub missing_bytes: u64,
    /// The bytes that the host wrote and overwrote while they waited in the drive's write cache.
    pub merged_bytes: u64,
}

/// Prints only the reads if all writes are of whole pages, because results have a digest of this
/// text.
impl fmt::Debug for HostCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { reads, short_writes: 0, .. } => reads.fmt(f),
            Self { reads, short_writes, missing_bytes, .. } => {
                write!(f, "{reads} and {short_writes} short by {missing_bytes}")
            }
        }
    }
}

impl HostCommands {
    /// Returns the bytes that the host wrote in `pages` pages of `unit` bytes.
    pub fn host_bytes(&self, pages: u64, unit: u32) -> u64 {
        pages * u64::from(unit) + self.merged_bytes - self.missing_bytes
    }
}
