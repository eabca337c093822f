//! Plain LRU, whose oldest pages count as the LRU region.
//!
//! The least recently used page is evicted. For collections that ask for regions, the last
//! `C / parts` pages of the list (rounded down, at least one) are the LRU region and the others are
//! the MRU region. There is no initial region. Regions do not affect evictions. Update probabilities
//! are learnt as in `3-region`.
//!
//! Formula: evict the page of least `t_last`; `P_upd(L) = P(L)`,
//! `P_upd(M) = P(M) + (1 - P(M)) P(L)`.
//!
//! # Cost
//!
//! A reference: constant, some stores to one node of 12 bytes and its neighbours, twice where the
//! page comes from the LRU region. 12 bytes a page of the swap space.
//!
//! # Source
//!
//! LRU: Denning, "The working set model for program behavior", CACM 1968. The split is the simplest
//! stand-in for the regions of Ji and Shin 2010, to compare with.

use flashgc_base::residency::Region;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params};

use super::Policy;
use super::regions::{Hit, Regions};

/// Weight of the last epoch in the update probabilities, the default of `3-region`.
const GAIN: f64 = 0.25;

/// The policy `lru`. See the module's text.
#[derive(State)]
pub(super) struct Lru {
    /// The largest number of pages in the MRU region.
    #[snapshot(skip)]
    recent: u32,
}

impl Policy for Lru {
    const NAME: &'static str = "lru";
    const PARAMS: &'static [Param] = &[Param::integer("parts", (1, 1 << 20), Some("3"))
        .help("number of equal parts of the cache; the LRU region is one of them")];
    const FEWEST: u32 = 1;
    const FIRST: Region = Region::Mru;

    fn new(params: &Params, capacity: u32) -> Self {
        let lru = (capacity / params.integer("parts") as u32).max(1);
        Self { recent: capacity - lru }
    }

    fn gain(_: &Params) -> f64 {
        GAIN
    }

    #[inline]
    fn touched(&mut self, hit: Hit, regions: &mut Regions) {
        if hit.region != Region::Mru {
            self.settle(regions);
        }
    }

    #[inline]
    fn settle(&mut self, regions: &mut Regions) {
        while regions.lengths[Region::Mru as usize] > self.recent {
            regions.age(Region::Mru);
        }
    }
}
