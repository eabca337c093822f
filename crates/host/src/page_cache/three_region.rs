//! 3-region LRU: pages touched once, touched again, and near eviction; the sizes adapt.
//!
//! A new page enters the initial region I. When it is touched again, in any region, it moves to the
//! head of the MRU region M. Pages that overflow from I or M move to the head of the LRU region L,
//! and the tail of L is evicted (while L is empty, the tail of I, then of M). Of the C pages, I and
//! M may hold `sI` and `sM`; L holds the rest.
//!
//! Each region has an update probability P: the share of stays in the region during which the host
//! writes the page. The write that brings the page in does not count. P starts at 0.5 and is
//! updated with weight `g` once an epoch of C insertions. A page that leaves I or M unwritten still
//! passes through L:
//!
//! Formula: `P_upd(L) = P(L)`, `P_upd(R) = P(R) + (1 - P(R)) P(L)` for I and M.
//!
//! With `resize=yes` the sizes follow the transition rates once an epoch, in steps of
//! `d = max(1, C/32)` pages. Each region keeps at least C/16. I grows by d at the cost of M if pages that came
//! to L from I are hit there more often, for each page that came, than those from M; it shrinks by
//! d if they are hit less often. Then M grows by d at the cost of L if L has more hits a page than
//! M: (hits in L) / (pages of L) > (hits in M) / (pages of M).
//!
//! # Cost
//!
//! A reference: constant, some stores to one node of 12 bytes and its neighbours. 12 bytes a page
//! of the swap space.
//!
//! # Source
//!
//! Ji and Shin, "An Efficient Garbage Collection for Flash Memory-Based Virtual Memory Systems",
//! IEEE Trans. Consumer Electronics 2010, section IV, who take it from Lee, Shin and Kim, IWSSPS
//! 2008. Neither gives the rules; those above are ours, based on the description in the former.

use flashgc_base::residency::Region;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

use super::Policy;
use super::regions::{Hit, Regions};

/// The least share of the cache that a region keeps.
const FLOOR: f64 = 1.0 / 16.0;

/// The policy `3-region`. See the module's text.
#[derive(State)]
pub(super) struct ThreeRegion {
    /// The largest numbers of pages in the initial and in the MRU region.
    sizes: [u32; 2],
    #[snapshot(skip)]
    floor: u32,
    #[snapshot(skip)]
    step: u32,
    #[snapshot(skip)]
    resize: bool,
    /// The number of hits in the MRU region in this epoch.
    mru_hits: u64,
    /// The number of hits in the LRU region in this epoch, by the region that the page came from:
    /// initial (index 0) or MRU (index 1).
    lru_hits: [u64; 2],
    /// The number of pages that entered the LRU region in this epoch, indexed as `lru_hits`.
    came: [u64; 2],
}

impl Policy for ThreeRegion {
    const NAME: &'static str = "3-region";
    const PARAMS: &'static [Param] = &[
        Param::real("initial", (FLOOR, 1.0 - 2.0 * FLOOR), Some("0.25"))
            .help("share of the cache for pages touched once, at the start"),
        Param::real("lru", (FLOOR, 1.0 - 2.0 * FLOOR), Some("0.25"))
            .help("share of the cache for the pages that are evicted next, at the start"),
        Param::word("resize", &["yes", "no"], Some("yes"))
            .help("yes: the sizes follow the transition rates"),
        Param::share("g", Some("0.25"))
            .help("weight of the last epoch in the update probabilities"),
    ];
    const FEWEST: u32 = 4;
    const FIRST: Region = Region::Initial;

    fn check(params: &Params) -> Result<(), SpecError> {
        let (initial, lru) = (params.real("initial"), params.real("lru"));
        let rest = 1.0 - initial - lru;
        if rest >= FLOOR {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "3-region: initial={initial} and lru={lru} leave {rest} for the pages touched \
                 again, expected at least {FLOOR}"
            ),
            "make one of them smaller",
        ))
    }

    fn new(params: &Params, capacity: u32) -> Self {
        let share = |name| ((params.real(name) * f64::from(capacity)) as u32).max(1);
        let (initial, lru) = (share("initial"), share("lru"));
        Self {
            sizes: [initial, capacity - initial - lru],
            floor: (capacity / 16).max(1),
            step: (capacity / 32).max(1),
            resize: params.text("resize") == "yes",
            mru_hits: 0,
            lru_hits: [0; 2],
            came: [0; 2],
        }
    }

    fn gain(params: &Params) -> f64 {
        params.real("g")
    }

    #[inline]
    fn touched(&mut self, hit: Hit, regions: &mut Regions) {
        match hit.region {
            Region::Mru => {
                self.mru_hits += 1;
                return;
            }
            Region::Lru => self.lru_hits[usize::from(!hit.from_initial)] += 1,
            Region::Initial => {}
        }
        self.settle(regions);
    }

    /// Moves the oldest pages of the initial and of the MRU region to the LRU region, as long as
    /// one of those two is larger than its size.
    #[inline]
    fn settle(&mut self, regions: &mut Regions) {
        for (origin, region) in [Region::Initial, Region::Mru].into_iter().enumerate() {
            while regions.lengths[region as usize] > self.sizes[origin] {
                regions.age(region);
                self.came[origin] += 1;
            }
        }
    }

    /// Ends the epoch: updates the update probabilities and sizes, and resets the counters.
    fn close_epoch(&mut self, regions: &mut Regions) {
        regions.close_epoch();
        if self.resize {
            let lru = regions.capacity - self.sizes[0] - self.sizes[1];
            self.sizes = resized(
                self.sizes,
                lru,
                self.floor,
                self.step,
                &Epoch {
                    lengths: regions.lengths,
                    mru_hits: self.mru_hits,
                    lru_hits: self.lru_hits,
                    came: self.came,
                },
            );
        }
        (self.mru_hits, self.lru_hits, self.came) = (0, [0; 2], [0; 2]);
    }
}

/// The counters of one epoch, with the lengths of the regions at its end.
struct Epoch {
    lengths: [u32; 3],
    mru_hits: u64,
    lru_hits: [u64; 2],
    came: [u64; 2],
}

/// Compares `a / b` with `c / d` exactly. A denominator of 0 counts as 1.
fn compare(a: u64, b: u64, c: u64, d: u64) -> std::cmp::Ordering {
    let product = |x: u64, y: u64| u128::from(x) * u128::from(y.max(1));
    product(a, d).cmp(&product(c, b))
}

/// Returns the sizes of the initial and the MRU region after an epoch.
fn resized(
    [mut initial, mut mru]: [u32; 2],
    mut lru: u32,
    floor: u32,
    step: u32,
    epoch: &Epoch,
) -> [u32; 2] {
    let Epoch { lengths, mru_hits, lru_hits, came } = epoch;
    let give = |to: &mut u32, from: &mut u32| {
        if *from >= floor + step {
            *to += step;
            *from -= step;
        }
    };
    match compare(lru_hits[0], came[0], lru_hits[1], came[1]) {
        std::cmp::Ordering::Greater => give(&mut initial, &mut mru),
        std::cmp::Ordering::Less => give(&mut mru, &mut initial),
        std::cmp::Ordering::Equal => {}
    }
    let pages = |region: Region| u64::from(lengths[region as usize]);
    let hits = lru_hits[0] + lru_hits[1];
    if compare(hits, pages(Region::Lru), *mru_hits, pages(Region::Mru)).is_gt() {
        give(&mut mru, &mut lru);
    }
    [initial, mru]
}
