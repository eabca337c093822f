//! The past that victim policies and placements remember. A steady state must wait until this past
//! belongs to the workload that is measured.

/// The past on which the decisions of a policy depend. A drive is not steady before all of this
/// past belongs to the measured workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembers {
    /// Length of the past in pages that the host writes, for windows, samples, and intervals after
    /// which counts are halved.
    pub writes: u64,
    /// Length of the past in writes of each page, for counts, levels, and times of the last writes.
    pub rewrites: u64,
}

impl Remembers {
    /// Returns the memory of the last `rewrites` writes of each page.
    pub const fn rewrites(rewrites: u64) -> Self {
        Self { writes: 0, rewrites }
    }

    /// Returns the longer memory of the two, for each of the two lengths.
    pub fn and(self, other: Self) -> Self {
        Self { writes: self.writes.max(other.writes), rewrites: self.rewrites.max(other.rewrites) }
    }
}
