//! Counts of swap traffic.

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;
use flashgc_ftl::Duplicates;

/// The traffic between memory and flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Swapping {
    /// The number of pages touched by the host.
    pub references: u64,
    /// The number of touches that were writes.
    pub writes: u64,
    /// The number of references to pages in the cache.
    pub hits: u64,
    /// The number of pages read from flash.
    #[counts(words = "pages in")]
    pub swap_ins: u64,
    /// The number of pages that came into the cache and were not on flash.
    pub first_touches: u64,
    /// The number of dirty pages that left the cache and were written to flash.
    #[counts(words = "pages out")]
    pub swap_outs: u64,
    /// The number of clean pages that left the cache.
    #[counts(words = "left clean")]
    pub clean_evictions: u64,
    /// The actions of collections on pages in the cache.
    #[counts(flat)]
    pub duplicates: Duplicates,
}
