//! Counts of swap traffic.

use flashgc_base::snapshot::Value;
use flashgc_ftl::Duplicates;

/// The traffic between memory and flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Swapping {
    /// The number of pages touched by the host.
    pub references: u64,
    /// The number of touches that were writes.
    pub writes: u64,
    /// The number of references to pages in the cache.
    pub hits: u64,
    /// The number of pages read from flash.
    pub swap_ins: u64,
    /// The number of pages that came into the cache and were not on flash.
    pub first_touches: u64,
    /// The number of dirty pages that left the cache and were written to flash.
    pub swap_outs: u64,
    /// The number of clean pages that left the cache.
    pub clean_evictions: u64,
    /// The actions of collections on pages in the cache.
    pub duplicates: Duplicates,
}

impl Swapping {
    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            references: self.references - earlier.references,
            writes: self.writes - earlier.writes,
            hits: self.hits - earlier.hits,
            swap_ins: self.swap_ins - earlier.swap_ins,
            first_touches: self.first_touches - earlier.first_touches,
            swap_outs: self.swap_outs - earlier.swap_outs,
            clean_evictions: self.clean_evictions - earlier.clean_evictions,
            duplicates: self.duplicates.since(&earlier.duplicates),
        }
    }
}
