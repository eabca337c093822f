//! The engine and the naive reference do the same, operation by operation: the same victims, the
//! same place for every page, the same number of programs.

mod reference;

use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, Levelled, Levelling, Translation, VictimSpec,
    allocation_policies, victim_policies,
};
use proptest::prelude::*;
use reference::{Frontier as Naive, Reference, naive_pick};

/// Every policy with defaults, and with parameters that matter on small drives.
fn specs() -> Vec<String> {
    let mut specs: Vec<String> =
        victim_policies().iter().map(|info| info.name.to_string()).collect();
    for more in [
        "greedy:ties=oldest",
        "greedy:ties=lowest",
        "windowed:w=1",
        "windowed:w=3",
        "d-choices:d=1",
        "d-choices:d=3,c=1",
        "d-choices:d=2,c=4",
        "cost-benefit:form=lfs",
        "cost-benefit:form=sqrt",
        "cost-benefit:age=last_invalidate",
        "cost-benefit:form=lfs,age=last_invalidate",
        "cat:age=last_invalidate",
        "sagc:weight=ratio",
        "eigc:ratio=average",
        "bsgc:reading=literal",
        "bsgc:first=sample",
        "bsgc:ratio=live",
        "wear-aware:lambda=0.7",
    ] {
        specs.push(more.to_string());
    }
    specs
}

#[derive(Clone, Debug)]
struct Case {
    blocks: u32,
    pages_per_block: u32,
    logical_pages: u32,
    frontier: usize,
    allocation: usize,
    /// Threshold and interval; with the pool frontier only.
    levelling: Option<(u32, u32)>,
    spec: usize,
    seed: u64,
    batch: usize,
    /// (page as a share of the logical space, whether it is a TRIM)
    operations: Vec<(f64, bool)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (6u32..20, prop::sample::select(vec![2u32, 4, 6, 8, 16, 48]), 0.05..1.0f64);
    let operation = (0.0..1.0f64, prop::bool::weighted(0.1));
    (
        shape,
        (0usize..3, 0..allocation_policies().len(), prop::option::of((1u32..6, 1u32..5))),
        0..specs().len(),
        any::<u64>(),
        1usize..40,
        prop::collection::vec(operation, 1..600),
    )
        .prop_map(
            |(
                (blocks, pages_per_block, used),
                (frontier, allocation, levelling),
                spec,
                seed,
                batch,
                operations,
            )| {
                // Leave the five blocks that the most demanding frontier here keeps.
                let most = (blocks - 5) * pages_per_block;
                let logical_pages = ((f64::from(most) * used) as u32).max(1);
                Case {
                    blocks,
                    pages_per_block,
                    logical_pages,
                    frontier,
                    allocation,
                    levelling,
                    spec,
                    seed,
                    batch,
                    operations,
                }
            },
        )
}

fn engine(
    case: &Case,
    spec: &str,
    frontier: Frontier,
    allocation: Allocation,
    levelling: Option<Levelling>,
) -> Box<dyn Translation> {
    let geometry =
        Geometry::new(case.blocks, case.pages_per_block, case.logical_pages.into()).unwrap();
    let layout = Layout {
        geometry,
        frontier,
        allocation,
        levelling,
        lifespan: None,
        fill: Fill::Sequential,
        seed: case.seed,
    };
    VictimSpec::parse(spec).unwrap().build(layout).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn engine_equals_reference(case in cases()) {
        let spec = &specs()[case.spec];
        let (frontier, naive) = [
            (Frontier::Single, Naive::Single),
            (Frontier::Double, Naive::Double),
            (Frontier::Pool { low: 2 }, Naive::Pool(2)),
        ][case.frontier];
        // Without a pool there is nothing to allocate.
        let allocation = match frontier {
            Frontier::Pool { .. } => allocation_policies()[case.allocation].name,
            Frontier::Single | Frontier::Double => "fifo",
        };
        let levelling = case.levelling.filter(|_| matches!(frontier, Frontier::Pool { .. }));
        let levelling = levelling.map(|(threshold, interval)| Levelling { threshold, interval });
        let allocation_of = Allocation::parse(allocation).unwrap();
        let mut fast = engine(&case, spec, frontier, allocation_of, levelling);
        let mut slow = Reference::sequential(
            case.blocks as usize, case.pages_per_block as usize, case.logical_pages, naive, case.seed,
        );
        slow.allocation = reference::naive_allocation(allocation, case.seed);
        slow.levelling = levelling.map(|Levelling { threshold, interval }| {
            reference::Levelling { threshold, interval, ..Default::default() }
        });
        let filled = slow.programs;
        let mut pick = naive_pick(spec);
        // Skewed so that some pages are hammered and others never touched.
        let page = |share: f64| ((share * share * f64::from(case.logical_pages)) as u32)
            .min(case.logical_pages - 1);

        let mut waiting: Vec<u32> = Vec::new();
        for (index, &(share, is_trim)) in case.operations.iter().enumerate() {
            let page = page(share);
            if is_trim {
                fast.write(&waiting).unwrap();
                waiting.clear();
                fast.trim(&[page]).unwrap();
                slow.trim(page);
            } else {
                waiting.push(page);
                slow.write(page, &mut pick);
            }
            if waiting.len() == case.batch || index + 1 == case.operations.len() {
                fast.write(&waiting).unwrap();
                waiting.clear();
            }
        }
        fast.audit().map_err(TestCaseError::fail)?;
        let counters = fast.counters();
        prop_assert_eq!(counters.programs(), slow.programs - filled);
        prop_assert_eq!(counters.collections, slow.victims.len() as u64);
        let levelled = slow.levelling.as_ref().map(|levelling| Levelled {
            collections: levelling.collections,
            copied_pages: levelling.copies,
        });
        prop_assert_eq!(fast.levelled(), levelled);
        prop_assert_eq!(fast.blocks().erase_counts(), &slow.erases[..]);
        for page in 0..case.logical_pages {
            let place = slow.map.get(&page).map(|&(block, offset)| (block as u32, offset as u32));
            prop_assert_eq!(fast.locate(page), place, "page {}", page);
        }
        for (block, valid) in slow.counts().into_iter().enumerate() {
            prop_assert_eq!(usize::from(fast.blocks().valid(block as u32)), valid);
        }
    }
}
