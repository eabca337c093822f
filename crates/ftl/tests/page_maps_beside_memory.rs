//! Page maps under a page cache do what the naive reference does, page by page, under every scheme
//! that they can use, and with a part of the map on flash; and no page is ever lost or stale.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::dftl_reference::NaiveDftl;
use crate::page_cache::{Cache, Fate};
use crate::reference;
use crate::reference::picks::{NaivePick, naive_pick};
use crate::reference::{Frontier as Naive, Reference};
use flashgc_ftl::{
    Allocation, Costs, Duplicates, Fill, Frontier, Geometry, Layout, Levelling, Mapping,
    PlacementSpec, Scheme, Translation, VictimSpec,
};
use proptest::prelude::*;

/// The schemes that choose no log blocks by their cost.
const SCHEMES: [&str; 5] = ["du-gc", "da-gc", "ba-gc", "lda-gc2", "lda-gc4"];
const VICTIMS: [&str; 7] =
    ["greedy", "fifo", "d-choices:d=3,c=1", "windowed:w=3", "cost-benefit", "cat", "bsgc"];
const FRONTIERS: [(Frontier, Naive); 5] = [
    (Frontier::Single, Naive::Single),
    (Frontier::Double, Naive::Double),
    (Frontier::Compact, Naive::Compact),
    (Frontier::Pool { low: 2 }, Naive::Pool(2)),
    (Frontier::Mixed { low: 2 }, Naive::Mixed(2)),
];

#[derive(Clone, Debug)]
struct Case {
    blocks: u32,
    b: u32,
    logical_pages: u32,
    frontier: usize,
    /// Threshold and interval of wear levelling, with a pool only.
    levelling: Option<(u32, u32)>,
    victim: usize,
    scheme: usize,
    cache: usize,
    chances: [u8; 3],
    seed: u64,
    /// The page, as a share of all pages, and the operation: 0 is a TRIM, 1 to 39 a read, others
    /// are writes.
    operations: Vec<(f64, u8)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (8u32..20, prop::sample::select(vec![2u32, 4, 8, 16]), 0.1..1.0f64);
    let kinds = (0..FRONTIERS.len(), 0..VICTIMS.len(), 0..SCHEMES.len(), any::<u64>());
    let levelling = prop::option::of((1u32..6, 1u32..5));
    let memory = (1usize..24, prop::array::uniform3(0u8..5));
    let operations = prop::collection::vec((0.0..1.0f64, 0u8..100), 1..500);
    (shape, kinds, levelling, memory, operations).prop_map(
        |(shape, kinds, levelling, memory, operations)| {
            let ((blocks, b, used), (frontier, victim, scheme, seed)) = (shape, kinds);
            let (cache, chances) = memory;
            // Every frontier leaves the host all blocks but five.
            let most = f64::from((blocks - 5) * b);
            let logical_pages = ((most * used) as u32).max(2);
            let levelling = levelling.filter(|_| FRONTIERS[frontier].0.has_pool());
            Case {
                blocks,
                b,
                logical_pages,
                frontier,
                levelling,
                victim,
                scheme,
                cache,
                chances,
                seed,
                operations,
            }
        },
    )
}

impl Case {
    /// A drive of `blocks` blocks with `mapping`: a page map in memory or on flash.
    fn engine(&self, blocks: u32, mapping: &str) -> Box<dyn Translation> {
        let layout = Layout {
            slc: None,
            geometry: Geometry::new(blocks, self.b, self.logical_pages.into()).unwrap(),
            frontier: FRONTIERS[self.frontier].0,
            placement: PlacementSpec::default(),
            streams: false,
            buffer: flashgc_ftl::PageBuffer::default(),
            blocks_together: 1,
            shrinking: None,
            die_by_die: None,
            allocation: Allocation::default(),
            levelling: self
                .levelling
                .map(|(threshold, interval)| Levelling { threshold, interval }),
            lifespan: None,
            fill: Fill::Sequential,
            seed: self.seed,
        };
        let victim = VictimSpec::parse(VICTIMS[self.victim]).unwrap();
        let mapping = Mapping::parse(mapping).unwrap();
        mapping.build(layout, &|layout| victim.build(layout)).unwrap()
    }

    fn naive(&self, blocks: u32, pages: u32) -> (Reference, NaivePick) {
        let (n, b, kind) = (blocks as usize, self.b as usize, FRONTIERS[self.frontier].1);
        let mut naive = Reference::sequential(n, b, pages, kind, self.seed);
        naive.levelling = self.levelling.map(|(threshold, interval)| reference::Levelling {
            threshold,
            interval,
            ..Default::default()
        });
        (naive, naive_pick(VICTIMS[self.victim]))
    }

    fn cache(&self) -> Cache {
        Cache::new(self.cache, self.chances.map(|quarters| f64::from(quarters) / 4.0))
    }

    fn page(&self, share: f64) -> u32 {
        (share * share * f64::from(self.logical_pages)) as u32
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_page_map_beside_memory_agrees_with_the_reference_write_by_write(case in cases()) {
        let scheme = SCHEMES[case.scheme];
        let mut cache = case.cache();
        let mut layer = case.engine(case.blocks, "page");
        layer.memory().unwrap().share(Scheme::parse(scheme).unwrap(), Costs::PAPER, &mut cache).unwrap();
        let (mut naive, mut pick) = case.naive(case.blocks, case.logical_pages);
        let filled = naive.programs;
        let naive_cache = Rc::new(RefCell::new(case.cache()));
        // The version of each page's data that the host wrote last. `on_flash` has the version on
        // flash.
        let mut latest: BTreeMap<u32, u64> = BTreeMap::new();
        let flushed: Rc<RefCell<Vec<u32>>> = Rc::default();
        let mut on_flash = BTreeMap::new();
        naive.copied = Some(Box::new({
            let (cache, flushed, b) = (naive_cache.clone(), flushed.clone(), case.b);
            move |page| match cache.borrow_mut().collect(page, scheme, b) {
                Fate::Copied => true,
                Fate::LeftOut => false,
                Fate::Flushed => {
                    flushed.borrow_mut().push(page);
                    true
                }
            }
        }));
        for (time, &(share, what)) in (1..).zip(&case.operations) {
            let page = case.page(share);
            if what == 0 && !cache.holds(page) {
                layer.trim(&[page]).unwrap();
                naive.trim(page);
                latest.remove(&page);
            } else {
                // A page that is not on flash has no data there: it is dirty from the first.
                let write = what >= 40 || !(naive.map.contains_key(&page) || cache.holds(page));
                if write {
                    latest.insert(page, time);
                }
                let fell = cache.touch(page, write);
                prop_assert_eq!(fell, naive_cache.borrow_mut().touch(page, write));
                if let Some((page, true)) = fell {
                    layer.memory().unwrap().swap_out(page, &mut cache).unwrap();
                    naive.write(page, &mut pick);
                    for page in flushed.borrow_mut().drain(..).chain([page]) {
                        on_flash.insert(page, latest.get(&page).copied());
                    }
                }
            }
            prop_assert_eq!(&cache.pages, &naive_cache.borrow().pages);
            for page in 0..case.logical_pages {
                let place = naive.map.get(&page).map(|&(block, at)| (block as u32, at as u32));
                prop_assert_eq!(layer.locate(page), place, "page {}", page);
            }
            for &(page, dirty) in &cache.pages {
                prop_assert!(dirty || layer.locate(page).is_some(), "clean page {} lost", page);
            }
            for (&page, &version) in &latest {
                let current = naive.map.contains_key(&page)
                    && on_flash.get(&page).copied().flatten() == Some(version);
                let dirty = cache.pages.contains(&(page, true));
                prop_assert!(dirty || current, "page {} is stale", page);
            }
        }
        let Duplicates { made_dirty, left_dirty, flushed } = layer.counts().duplicates.unwrap_or_default();
        prop_assert_eq!([made_dirty, left_dirty, flushed], naive_cache.borrow().duplicates);
        prop_assert_eq!(layer.counters().programs(), naive.programs - filled);
        layer.memory().unwrap().audit_beside(&mut cache).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_map_on_flash_beside_memory_agrees_with_the_reference_page_by_page(
        case in cases(),
        entries in 1usize..40,
        per_page in 2u32..20,
        // Blocks beyond those that are needed.
        more in 0u32..8,
    ) {
        let frontier = if FRONTIERS[case.frontier].0.has_pool() { 2 } else { 1 };
        let case = Case { frontier, levelling: None, ..case };
        let map_pages = case.logical_pages.div_ceil(per_page);
        let blocks = case.blocks + more + map_pages.div_ceil(case.b) + 2;
        let spec = format!("dftl:entries={entries},per_page={per_page}");
        let (mut cache, mut layer) = (case.cache(), case.engine(blocks, &spec));
        let (flash, mut pick) = case.naive(blocks, case.logical_pages + map_pages);
        let filled = flash.programs;
        let mut naive = NaiveDftl::new(flash, case.logical_pages, (per_page, 1), entries);
        for &(share, what) in &case.operations {
            let page = case.page(share);
            if what == 0 && !cache.holds(page) {
                layer.trim(&[page]).unwrap();
                naive.trim(page, &mut pick);
            } else {
                let on_flash = naive.found(page).is_some();
                let read = on_flash && !cache.holds(page);
                let write = what >= 40 || !(on_flash || cache.holds(page));
                if let Some((page, true)) = cache.touch(page, write) {
                    layer.write(&[page]).unwrap(); // its collections know nothing of memory
                    naive.write(page, &mut pick);
                }
                if read {
                    layer.reads().unwrap().read(&[page]).unwrap();
                    naive.read(page, &mut pick);
                }
            }
            for page in 0..case.logical_pages {
                let place = naive.found(page);
                prop_assert_eq!(place, naive.flash.map.get(&page).copied(), "page {}", page);
                let place = place.map(|(block, at)| (block as u32, at as u32));
                prop_assert_eq!(layer.locate(page), place, "page {}", page);
            }
            for &(page, dirty) in &cache.pages {
                prop_assert!(dirty || layer.locate(page).is_some(), "clean page {} lost", page);
            }
        }
        let traffic = layer.counts().map_traffic.unwrap();
        let traffic = [traffic.hits, traffic.misses, traffic.reads, traffic.writes];
        prop_assert_eq!(traffic, naive.traffic);
        prop_assert_eq!(layer.counters().programs(), naive.flash.programs - filled);
        prop_assert!(layer.memory().is_none());
        layer.audit().map_err(TestCaseError::fail)?;
    }
}
