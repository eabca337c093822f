//! Log-block mappings do what the naive reference does, write by write: the same place for every
//! page, the same merges and counts, under every scheme; and no page is ever lost or stale.

use std::collections::BTreeMap;

use crate::log_reference::Naive;
use crate::page_cache::Cache;
use flashgc_ftl::{
    Allocation, Costs, Counters, Duplicates, Fill, FtlError, Geometry, Layout, Mapping, Scheme,
    Translation, schemes,
};
use proptest::prelude::*;

fn made(case: &Case) -> Box<dyn Translation> {
    let no_page_map = |_| Err(FtlError::no_space("a log map needs no page map"));
    let allocation = Allocation::parse(if case.by_wear { "sfl" } else { "fifo" }).unwrap();
    let layout = Layout { allocation, fill: fill(case), seed: 1, ..Layout::new(case.geometry()) };
    Mapping::parse(&case.mapping()).unwrap().build(layout, &no_page_map).unwrap()
}

#[derive(Clone, Debug)]
struct Case {
    b: u32,
    logical_pages: u32,
    fast: bool,
    sequential: bool,
    log_blocks: u32,
    spare: u32,
    by_cost: bool,
    by_use: bool,
    log_only: bool,
    strict: bool,
    by_wear: bool,
    filled: bool,
    window: usize,
    scheme: usize,
    cache: usize,
    chances: [u8; 3],
    /// The page, as a share of all pages, and the operation: 0 is a TRIM, 1 to 39 a read, others
    /// are writes.
    operations: Vec<(f64, u8)>,
}

impl Case {
    fn mapping(&self) -> String {
        let word = |yes| if yes { "yes" } else { "no" };
        let victim = match (self.by_cost, self.fast, self.by_use) {
            (true, ..) => "cost",
            (_, false, true) => "lru",
            _ => "rr",
        };
        let first = if self.fast {
            format!("fast:sequential={}", u8::from(self.sequential))
        } else {
            "bast:".to_string()
        };
        format!(
            "{first},log_blocks={},victim={victim},window={},strict_order={},log_only={}",
            self.log_blocks,
            self.window,
            word(self.strict),
            word(self.log_only)
        )
    }

    fn geometry(&self) -> Geometry {
        let blocks = self.logical_pages.div_ceil(self.b) + self.log_blocks + self.spare;
        Geometry::new(blocks, self.b, self.logical_pages.into()).unwrap()
    }

    fn naive(&self) -> Naive {
        let blocks = self.geometry().blocks() as usize;
        let log_blocks = self.log_blocks as usize;
        let mut naive = Naive::new(blocks, self.b, self.logical_pages, log_blocks, self.filled);
        naive.fast = self.fast;
        naive.sequential = self.sequential;
        naive.by_cost = self.by_cost;
        naive.by_use = self.by_use || self.by_cost;
        naive.log_only = self.log_only;
        naive.strict = self.strict;
        naive.by_wear = self.by_wear;
        naive.scheme = schemes()[self.scheme].name.to_string();
        naive.window = self.window;
        naive
    }
}

fn cases() -> impl Strategy<Value = Case> {
    // For these b, 2 ms divided by b is a whole number of quarters of a microsecond, so sums of
    // costs are exact.
    let shape = (prop::sample::select(vec![2u32, 3, 4, 7, 8, 10, 16]), 5u32..60, 2u32..7, 1u32..4);
    let flags = prop::array::uniform8(any::<bool>());
    let rest = (1usize..8, 0..schemes().len(), 1usize..24, prop::array::uniform3(0u8..5));
    let operations = prop::collection::vec((0.0..1.0f64, 0u8..100), 1..400);
    (shape, flags, rest, operations).prop_map(|(shape, flags, rest, operations)| {
        let (b, logical_pages, log_blocks, spare) = shape;
        let [fast, sequential, by_cost, by_use, log_only, strict, by_wear, filled] = flags;
        let (window, scheme, cache, chances) = rest;
        Case {
            b,
            logical_pages,
            fast,
            sequential,
            log_blocks,
            spare,
            by_cost,
            by_use,
            log_only,
            strict,
            by_wear,
            filled,
            window,
            scheme,
            cache,
            chances,
            operations,
        }
    })
}

fn fill(case: &Case) -> Fill {
    if case.filled { Fill::Sequential } else { Fill::Empty }
}

/// Both drives have the same pages in the same places and have counted the same.
fn same(layer: &dyn Translation, naive: &Naive, pages: u32) -> Result<(), TestCaseError> {
    for page in 0..pages {
        let place = naive.places.get(&page).map(|&(block, offset)| (block as u32, offset as u32));
        prop_assert_eq!(layer.locate(page), place, "page {}", page);
    }
    let Counters { copied_pages, erases, .. } = layer.counters();
    prop_assert_eq!((copied_pages, erases), (naive.copies, naive.erases));
    let merges = layer.counts().merges.unwrap();
    prop_assert_eq!([merges.switch, merges.partial, merges.full, merges.dead], naive.merges);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_log_map_beside_memory_agrees_with_the_reference_write_by_write(case in cases()) {
        let scheme = schemes()[case.scheme].name;
        // Chances are quarters, so sums of costs are exact in any order.
        let chances = case.chances.map(|quarters| f64::from(quarters) / 4.0);
        let mut cache = Cache::new(case.cache, chances);
        let mut naive_cache = cache.clone();
        let mut layer = made(&case);
        layer.memory().unwrap().share(Scheme::parse(scheme).unwrap(), Costs::PAPER, &mut cache).unwrap();
        let mut naive = case.naive();
        let mut latest: BTreeMap<u32, u64> = BTreeMap::new();
        for (time, &(share, what)) in (1..).zip(&case.operations) {
            let page = (share * f64::from(case.logical_pages)) as u32;
            if what == 0 && !cache.holds(page) {
                layer.trim(&[page]).unwrap();
                naive.trim(page);
                latest.remove(&page);
            } else {
                // A page that was never written has no data on flash: it is dirty from the first.
                let write = what >= 40 || !(naive.places.contains_key(&page)
                    || cache.holds(page));
                if write {
                    latest.insert(page, time);
                }
                let fell = cache.touch(page, write);
                prop_assert_eq!(fell, naive_cache.touch(page, write));
                if let Some((page, true)) = fell {
                    layer.memory().unwrap().swap_out(page, &mut cache).unwrap();
                    naive.write(page, latest.get(&page).copied().unwrap_or(0), &mut naive_cache);
                    naive.settle(&latest);
                }
            }
            prop_assert_eq!(&cache.pages, &naive_cache.pages);
            same(&*layer, &naive, case.logical_pages)?;
            let Duplicates { made_dirty, left_dirty, flushed } = layer.counts().duplicates.unwrap_or_default();
            prop_assert_eq!([made_dirty, left_dirty, flushed], naive_cache.duplicates);
            for &(page, dirty) in &cache.pages {
                prop_assert!(dirty || layer.locate(page).is_some(), "clean page {} lost", page);
            }
            for (&page, &version) in &latest {
                let dirty = cache.pages.contains(&(page, true));
                prop_assert!(dirty || naive.read(page) == Some(version), "page {} is stale", page);
            }
        }
        layer.memory().unwrap().audit_beside(&mut cache).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn batches_do_not_matter_and_neither_do_stops_between_collections(
        case in cases(),
        batch in 1usize..40,
        stop in 1u64..20,
    ) {
        let mut once = made(&case);
        let mut split = made(&case);
        let page = |&(share, _): &(f64, u8)| (share * f64::from(case.logical_pages)) as u32;
        let pages: Vec<u32> = case.operations.iter().map(page).collect();
        once.write(&pages).unwrap();
        for mut part in pages.chunks(batch) {
            let mut collections = split.counters().collections;
            while !part.is_empty() {
                let before = split.counters().collections;
                let written = split.write_until(part, collections).unwrap();
                // A write may need two merges: it stops before the first, never between them.
                prop_assert!(split.counters().collections <= before.max(collections + 1));
                part = &part[written..];
                collections = split.counters().collections.max(collections) + stop;
            }
        }
        prop_assert_eq!(once.counters(), split.counters());
        prop_assert_eq!(once.decisions(), split.decisions());
        once.audit().map_err(TestCaseError::fail)?;
    }
}
