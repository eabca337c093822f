//! The memory of victim policies and placements, as far as a steady state must wait for it.

/// The past that decisions of a policy depend on. A drive is in no steady state before it is all of the measured
/// workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembers {
    /// Pages that the host writes: windows, samples, times after which counts are halved.
    pub writes: u64,
    /// Writes of one page: counts and levels, times of its last writes.
    pub rewrites: u64,
}

impl Remembers {
    /// Returns the memory of the last `rewrites` writes of each page.
    pub const fn rewrites(rewrites: u64) -> Self {
        Self { writes: 0, rewrites }
    }

    /// Returns the memory of both.
    pub fn and(self, other: Self) -> Self {
        Self { writes: self.writes.max(other.writes), rewrites: self.rewrites.max(other.rewrites) }
    }
}
