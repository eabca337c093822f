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

use super::regions::Regions;
use super::{Evicted, PageCache, Policy, by_regions};

/// Weight of the last epoch in the update probabilities, the default of `3-region`.
const GAIN: f64 = 0.25;

/// The policy `lru`. See the module's text.
#[derive(State)]
#[snapshot(named = "page cache")]
pub struct Lru {
    #[snapshot(state)]
    regions: Regions,
    /// The largest number of pages in the MRU region.
    #[snapshot(skip)]
    recent: u32,
}

impl Policy for Lru {
    const NAME: &'static str = "lru";
    const PARAMS: &'static [Param] = &[Param::integer("parts", (1, 1 << 20), Some("3"))
        .help("number of equal parts of the cache; the LRU region is one of them")];
    const FEWEST: u32 = 1;

    fn new(params: &Params, pages: u32, capacity: u32) -> Self {
        let lru = (capacity / params.integer("parts") as u32).max(1);
        Self { regions: Regions::new(pages, capacity, GAIN), recent: capacity - lru }
    }
}

impl Lru {
    #[inline]
    fn settle(&mut self) {
        while self.regions.lengths[Region::Mru as usize] > self.recent {
            self.regions.age(Region::Mru);
        }
    }
}

by_regions!(Lru);

impl PageCache for Lru {
    fn capacity(&self) -> u32 {
        self.regions.capacity
    }

    fn len(&self) -> u32 {
        self.regions.len()
    }

    #[inline]
    fn touch(&mut self, page: u32, write: bool) -> bool {
        match self.regions.touch(page, write) {
            None => false,
            Some(hit) => {
                if hit.region != Region::Mru {
                    self.settle();
                }
                true
            }
        }
    }

    fn make_room(&mut self) -> Option<Evicted> {
        if self.regions.len() < self.regions.capacity {
            return None;
        }
        self.regions.evict().map(|(page, dirty)| Evicted { page, dirty })
    }

    fn insert(&mut self, page: u32, write: bool) {
        if self.regions.insert(Region::Mru, page, write) {
            self.regions.close_epoch();
        }
        self.settle();
    }

    fn region_lengths(&self) -> [u32; 3] {
        self.regions.lengths
    }

    fn region_pages(&self, region: Region) -> Vec<u32> {
        self.regions.pages_of(region)
    }
}
