//! Page caches. A cache decides which pages of the swap space are in memory, which of them are
//! dirty, and which page is evicted next. Each policy is one file; this file has the interface and
//! the registry.
//!
//! A virtual memory system calls a cache for every reference in this order. While the evicted page
//! is written, a collection may run. It sees the cache without that page and without the new page:
//!
//! ```
//! use flashgc_host::PageCacheSpec;
//!
//! let mut cache = PageCacheSpec::parse("3-region")?.build(1 << 20, 1000)?;
//! let (page, write) = (7, true);
//! if !cache.touch(page, write) {
//!     if let Some(out) = cache.make_room() {
//!         if out.dirty { /* write page `out.page` to the drive */ }
//!     }
//!     // read `page` from the drive if it has it
//!     cache.insert(page, write);
//! }
//! assert!(cache.touch(page, false));
//! # Ok::<(), flashgc_base::spec::SpecError>(())
//! ```

mod lru;
mod regions;
mod three_region;

use std::fmt;

use flashgc_base::refuse_if;
use flashgc_base::residency::{Cached, Region, Residency};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError, count};

use lru::Lru;
use regions::{Hit, Regions};
use three_region::ThreeRegion;

/// A page that left the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The page of the swap space.
    pub page: u32,
    /// `true` if memory had data that flash lacks, so that they must be written.
    pub dirty: bool,
}

/// The pages of a virtual memory system that are in memory. Every operation takes constant time.
///
/// Pages are numbered from 0. A number at or beyond the swap space that the cache was built for is
/// a bug of the caller and panics.
pub trait PageCache: Residency + State + Send {
    /// Returns the number of pages that fit.
    fn capacity(&self) -> u32;

    /// Returns the number of pages in the cache.
    fn len(&self) -> u32;

    /// Returns `true` if no page is cached.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads or writes `page` for the host. Returns `true` if it is cached, and then a write makes
    /// it dirty. Otherwise the cache stays as it is until [`PageCache::insert`].
    fn touch(&mut self, page: u32, write: bool) -> bool;

    /// Evicts the next page and returns it. If the cache is not full, does nothing.
    fn make_room(&mut self) -> Option<Evicted>;

    /// Puts `page` into the cache, dirty if `write`. It must not be cached yet, and the cache must
    /// not be full.
    fn insert(&mut self, page: u32, write: bool);

    /// Returns the number of pages now in each region, in the order of [`Region::ALL`].
    fn region_lengths(&self) -> [u32; 3];

    /// Returns the pages of a region, most recently used first. It walks the whole list, so only
    /// tests and displays use it.
    fn region_pages(&self, region: Region) -> Vec<u32>;
}

/// A page cache policy, which sets the sizes of the regions. [`page_caches`] lists all policies.
trait Policy: State + Send + Sized + 'static {
    const NAME: &'static str;
    const PARAMS: &'static [Param];
    /// The smallest capacity that the policy can manage, in pages.
    const FEWEST: u32;
    /// The region that a new page enters.
    const FIRST: Region;

    fn new(params: &Params, capacity: u32) -> Self;

    /// Returns the weight of the last epoch in the update probabilities.
    fn gain(params: &Params) -> f64;

    /// Checks the rules that concern several parameters at once.
    fn check(_: &Params) -> Result<(), SpecError> {
        Ok(())
    }

    /// Notes that a page was touched. `hit` is its place before that.
    fn touched(&mut self, hit: Hit, regions: &mut Regions);

    /// Moves the oldest pages of each region that is too long to the LRU region.
    fn settle(&mut self, regions: &mut Regions);

    /// Ends the epoch.
    fn close_epoch(&mut self, regions: &mut Regions) {
        regions.close_epoch();
    }
}

/// The cache with policy `P`.
#[derive(State)]
#[snapshot(named = "page cache")]
struct Cache<P: Policy> {
    #[snapshot(state)]
    policy: P,
    #[snapshot(state)]
    regions: Regions,
}

impl<P: Policy> Residency for Cache<P> {
    #[inline]
    fn lookup(&self, page: u32) -> Option<Cached> {
        self.regions.lookup(page)
    }

    #[inline]
    fn set_dirty(&mut self, page: u32, dirty: bool) {
        self.regions.set_dirty(page, dirty);
    }

    #[inline]
    fn update_probability(&self, region: Region) -> f64 {
        self.regions.update_probability(region)
    }

    fn follow_changes(&mut self) {
        self.regions.follow_changes();
    }

    fn drain_changes(&mut self, pages: &mut Vec<u32>) {
        self.regions.drain_changes(pages);
    }
}

impl<P: Policy> PageCache for Cache<P> {
    fn capacity(&self) -> u32 {
        self.regions.capacity
    }

    fn len(&self) -> u32 {
        self.regions.len()
    }

    #[inline]
    fn touch(&mut self, page: u32, write: bool) -> bool {
        let hit = self.regions.touch(page, write);
        hit.map(|hit| self.policy.touched(hit, &mut self.regions)).is_some()
    }

    fn make_room(&mut self) -> Option<Evicted> {
        if self.regions.len() < self.regions.capacity {
            return None;
        }
        self.regions.evict().map(|(page, dirty)| Evicted { page, dirty })
    }

    fn insert(&mut self, page: u32, write: bool) {
        if self.regions.insert(P::FIRST, page, write) {
            self.policy.close_epoch(&mut self.regions);
        }
        self.policy.settle(&mut self.regions);
    }

    fn region_lengths(&self) -> [u32; 3] {
        self.regions.lengths
    }

    fn region_pages(&self, region: Region) -> Vec<u32> {
        self.regions.pages_of(region)
    }
}

/// The entry of one policy in listings, help texts and constructors.
pub struct PageCacheInfo {
    /// The name that people type.
    pub name: &'static str,
    /// The parameters that the policy takes.
    pub params: &'static [Param],
    /// The text of its file, whose header documents it.
    source: &'static str,
    fewest: u32,
    check: fn(&Params) -> Result<(), SpecError>,
    build: fn(&Params, u32, u32) -> Box<dyn PageCache>,
}

impl PageCacheInfo {
    /// Returns the entry of policy `P`, whose source file is `source`.
    const fn of<P: Policy>(source: &'static str) -> Self {
        Self {
            name: P::NAME,
            params: P::PARAMS,
            source,
            fewest: P::FEWEST,
            check: P::check,
            build: |params, pages, capacity| {
                let regions = Regions::new(pages, capacity, P::gain(params));
                Box::new(Cache { policy: P::new(params, capacity), regions })
            },
        }
    }
}

impl Documented for PageCacheInfo {
    fn source(&self) -> &'static str {
        self.source
    }
}

// The list of policies: a new one is one file and one line here.
static POLICIES: &[PageCacheInfo] = &[
    PageCacheInfo::of::<ThreeRegion>(include_str!("three_region.rs")),
    PageCacheInfo::of::<Lru>(include_str!("lru.rs")),
];

/// Returns every registered page cache policy, the default first.
pub fn page_caches() -> &'static [PageCacheInfo] {
    POLICIES
}

/// A registered policy with its parameters checked.
#[derive(Clone)]
pub struct PageCacheSpec {
    info: &'static PageCacheInfo,
    params: Params,
}

impl PageCacheSpec {
    /// Reads `text`, for example `3-region:resize=no`.
    ///
    /// # Errors
    /// The name or a parameter is unknown, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("page cache policy", POLICIES, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        (info.check)(&params)?;
        Ok(Self { info, params })
    }

    /// Returns the policy's registry entry.
    pub fn info(&self) -> &'static PageCacheInfo {
        self.info
    }

    /// Builds an empty cache of `capacity` pages for a swap space of `pages` pages.
    ///
    /// # Errors
    /// The capacity is smaller than the policy can manage, or the swap space has no page or more
    /// than 2^31.
    pub fn build(&self, pages: u32, capacity: u32) -> Result<Box<dyn PageCache>, SpecError> {
        let fewest = self.info.fewest;
        refuse_if!(
            capacity < fewest,
            "a page cache of 4MiB has 2048 pages of 2KiB",
            "page cache: found a capacity of {}, expected at least {fewest}",
            count(capacity.into(), "page")
        );
        const MOST: u32 = 1 << 31;
        refuse_if!(
            pages == 0 || pages > MOST,
            "",
            "page cache: found a swap space of {}, expected 1 to {MOST}",
            count(pages.into(), "page")
        );
        Ok((self.info.build)(&self.params, pages, capacity))
    }
}

/// Writes the spec in full with every parameter, as a result records it.
impl fmt::Display for PageCacheSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.params.fmt(f)
    }
}

impl fmt::Debug for PageCacheSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageCacheSpec({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_documented() {
        for info in page_caches() {
            let doc = info.doc();
            assert!(info.summary().ends_with('.'), "{}: {}", info.name, info.summary());
            for part in ["Formula:", "\n# Cost\n", "\n# Source\n"] {
                assert!(doc.contains(part), "{}: no {part:?} in\n{doc}", info.name);
            }
        }
    }

    #[test]
    fn faults_name_what_to_try() {
        let parse = |text: &str| PageCacheSpec::parse(text).unwrap_err().to_string();
        let build = |text: &str, pages, capacity| {
            PageCacheSpec::parse(text).unwrap().build(pages, capacity).err().unwrap().to_string()
        };
        assert_eq!(
            parse("3-regions"),
            "unknown page cache policy '3-regions'; hint: did you mean '3-region'?"
        );
        assert_eq!(parse("lru:part=2"), "lru has no parameter 'part'; hint: did you mean 'parts'?");
        assert_eq!(
            parse("3-region:initial=0.5,lru=0.5"),
            "3-region: initial=0.5 and lru=0.5 leave 0 for the pages touched again, expected at \
             least 0.0625; hint: make one of them smaller"
        );
        assert_eq!(
            build("3-region", 100, 0),
            "page cache: found a capacity of 0 pages, expected at least 4; hint: a page cache of \
             4MiB has 2048 pages of 2KiB"
        );
        assert_eq!(
            build("lru", 0, 8),
            "page cache: found a swap space of 0 pages, expected 1 to 2147483648"
        );
    }
}
