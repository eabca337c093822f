//! Block allocation: what every registered policy must do, and what each picks.

use flashgc_base::spec::Documented;
use flashgc_ftl::allocation::Pool;
use flashgc_ftl::{
    Allocation, BlockId, Frontier, Geometry, Layout, Translation, VictimSpec, allocation_policies,
};
use proptest::prelude::*;

fn pool(name: &str) -> Box<dyn Pool> {
    Allocation::parse(name).unwrap().pool(0, 5)
}

fn drain(pool: &mut dyn Pool) -> Vec<BlockId> {
    std::iter::from_fn(|| pool.take()).collect()
}

#[test]
fn allocations_take_what_was_worked_out_by_hand() {
    // Blocks in order of arrival, with their erase counts.
    let arrivals = [(7, 3), (2, 1), (9, 1), (4, 0), (1, 3), (5, 1)];
    let expected: [(&str, [BlockId; 6]); 3] = [
        ("fifo", [7, 2, 9, 4, 1, 5]),         // as they came
        ("sfl", [4, 2, 9, 5, 7, 1]),          // 0; then 1, 1, 1 and 3, 3 as they came
        ("lowest-erase", [4, 2, 5, 9, 1, 7]), // 0; then 1, 1, 1 and 3, 3 by number
    ];
    for (name, order) in expected {
        let mut pool = pool(name);
        arrivals.iter().for_each(|&(block, erases)| pool.put(block, erases));
        assert_eq!(drain(&mut *pool), order, "{name}");
    }
}

#[test]
fn every_allocation_gives_each_block_once_and_then_none() {
    for info in allocation_policies() {
        let mut pool = pool(info.name);
        (0..100).for_each(|block| pool.put(block, 100 - block / 3));
        assert_eq!(pool.len(), 100, "{}", info.name);
        let mut waiting = pool.blocks();
        waiting.sort_unstable();
        let mut taken = drain(&mut *pool);
        taken.sort_unstable();
        assert_eq!((&waiting, &taken), (&(0..100).collect(), &(0..100).collect()), "{}", info.name);
        assert!(pool.is_empty() && pool.take().is_none(), "{}", info.name);
    }
}

#[test]
fn random_takes_every_block_equally_often() {
    let mut first = [0u32; 4];
    for seed in 0..4000 {
        let mut pool = Allocation::parse("random").unwrap().pool(0, seed);
        (0..4).for_each(|block| pool.put(block, block));
        first[pool.take().unwrap() as usize] += 1;
    }
    // Chi-square with 3 degrees of freedom; 16.3 is the 0.1% point.
    let chi: f64 = first.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
    assert!(chi < 16.3, "{first:?}");
}

/// SFL as the paper draws it: a list sorted by erase count; a block goes behind its equals, and
/// the head is used next.
#[derive(Default)]
struct SortedList(Vec<(u32, BlockId)>);

impl SortedList {
    fn put(&mut self, block: BlockId, erases: u32) {
        let behind = self.0.iter().take_while(|&&(other, _)| other <= erases).count();
        self.0.insert(behind, (erases, block));
    }

    fn take(&mut self) -> Option<BlockId> {
        (!self.0.is_empty()).then(|| self.0.remove(0).1)
    }
}

proptest! {
    #[test]
    fn sfl_equals_the_sorted_list(
        // `Some(erases)` puts a block into the pool, `None` takes one out.
        operations in prop::collection::vec(prop::option::weighted(0.6, 0u32..12), 0..400)
    ) {
        let (mut sfl, mut list) = (pool("sfl"), SortedList::default());
        for (block, operation) in (0..).zip(operations) {
            match operation {
                Some(erases) => {
                    sfl.put(block, erases);
                    list.put(block, erases);
                }
                None => prop_assert_eq!(sfl.take(), list.take()),
            }
            prop_assert_eq!(sfl.len(), list.0.len());
        }
        prop_assert_eq!(drain(&mut *sfl), list.0.iter().map(|&(_, block)| block).collect::<Vec<_>>());
    }
}

#[test]
fn every_allocation_documents_itself() {
    for info in allocation_policies() {
        let doc = info.doc();
        assert!(info.summary().ends_with('.'), "{}: {doc}", info.name);
        for part in ["Rule: ", "# Cost", "# Source"] {
            assert!(doc.contains(part), "{} says nothing of '{part}'", info.name);
        }
    }
}

fn layer(allocation: &str, frontier: Frontier) -> Result<Box<dyn Translation>, String> {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    let allocation = Allocation::parse(allocation).map_err(|error| error.to_string())?;
    let layout = Layout { frontier, allocation, seed: 3, ..Layout::new(geometry) };
    let made = VictimSpec::parse("greedy").unwrap().build(layout);
    made.map_err(|error| error.to_string())
}

/// Variance of the erase counts after a million writes to a tenth of the pages.
fn variance_of_wear(allocation: &str) -> f64 {
    let mut layer = layer(allocation, Frontier::Pool { low: 10 }).unwrap();
    let pages: Vec<u32> = (0..270).cycle().step_by(7).take(1_000_000).collect();
    layer.write(&pages).unwrap();
    layer.audit().unwrap();
    let counts: Vec<f64> = layer.blocks(0).erase_counts().iter().map(|&n| f64::from(n)).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64
}

#[test]
fn the_least_worn_block_first_wears_no_less_evenly() {
    let fifo = variance_of_wear("fifo");
    for name in ["sfl", "lowest-erase"] {
        assert!(variance_of_wear(name) <= fifo, "{name}: {} > {fifo}", variance_of_wear(name));
    }
}

#[test]
fn allocation_without_a_pool_and_unknown_names_are_refused() {
    let error = |name, frontier| layer(name, frontier).err().unwrap();
    for frontier in [Frontier::Single, Frontier::Double] {
        let error = error("sfl", frontier);
        assert!(
            error.starts_with("allocation sfl needs the pool or mixed frontier, found"),
            "{error}"
        );
        assert!(layer("fifo", frontier).is_ok());
    }
    let pool = Frontier::Pool { low: 2 };
    assert_eq!(error("slf", pool), "unknown block allocation 'slf'; hint: did you mean 'sfl'?");
    assert_eq!(
        error("sfl:ties=lowest", pool),
        "sfl has no parameter 'ties'; hint: sfl takes no parameters"
    );
}
