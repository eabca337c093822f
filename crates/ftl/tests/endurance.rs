//! Wear to the end of life: the engine against the naive reference, and what must hold at the end.

use crate::reference;
use crate::reference::picks::naive_pick;
use crate::reference::{Frontier as Naive, Reference, naive_allocation};
use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Frontier, FtlError, FtlErrorKind, Geometry, Layout,
    Levelling, Lifespan, PlacementSpec, PlaneLayout, Translation, VictimSpec, allocation_policies,
    victim_policies,
};
use proptest::prelude::*;

fn layer(
    victim: &str,
    allocation: &str,
    geometry: Geometry,
    low: u32,
    levelling: Option<Levelling>,
    lifespan: Lifespan,
    seed: u64,
) -> Box<dyn Translation> {
    layer_of(victim, allocation, geometry, Frontier::Pool { low }, levelling, lifespan, seed)
}

fn layer_of(
    victim: &str,
    allocation: &str,
    geometry: Geometry,
    frontier: Frontier,
    levelling: Option<Levelling>,
    lifespan: Lifespan,
    seed: u64,
) -> Box<dyn Translation> {
    let layout = Layout {
        frontier,
        allocation: Allocation::parse(allocation).unwrap(),
        levelling,
        lifespan: Some(lifespan),
        seed,
        ..Layout::new(geometry)
    };
    VictimSpec::parse(victim).unwrap().build(layout).unwrap()
}

fn lifespan(endurance: &str, ends_at: EndOfLife) -> Lifespan {
    Lifespan { endurance: Endurance::parse(endurance).unwrap(), ends_at }
}

/// Checks all that must hold for a read-only drive of which every page was written.
fn check_end(layer: &mut dyn Translation) -> Result<(), String> {
    layer.audit()?;
    let places: Vec<_> = (0..layer.geometry().logical_pages()).map(|p| layer.locate(p)).collect();
    if let Some(lost) = places.iter().position(Option::is_none) {
        return Err(format!("page {lost} is lost"));
    }
    let counters = layer.counters();
    let refused = |result: Result<(), FtlError>| {
        result.is_err_and(|error| matches!(error.kind(), FtlErrorKind::ReadOnly { .. }))
    };
    if !refused(layer.write(&[0])) || !refused(layer.trim(&[0])) {
        return Err("a worn-out drive took a command".to_string());
    }
    if layer.write_until(&[0], u64::MAX) != Ok(0) || layer.counters() != counters {
        return Err("a worn-out drive went on".to_string());
    }
    let after: Vec<_> = (0..layer.geometry().logical_pages()).map(|p| layer.locate(p)).collect();
    (places == after).then_some(()).ok_or("a worn-out drive moved its data".to_string())
}

#[derive(Clone, Debug)]
struct Case {
    blocks: u32,
    pages_per_block: u32,
    used: f64,
    low: u32,
    mixed: bool,
    /// Threshold and interval of wear levelling.
    levelling: Option<(u32, u32)>,
    victim: usize,
    allocation: usize,
    endurance: String,
    ends_with_first: bool,
    seed: u64,
    batch: usize,
    shares: Vec<f64>,
}

fn cases() -> impl Strategy<Value = Case> {
    let frontier = (1u32..4, any::<bool>());
    let shape = (8u32..24, prop::sample::select(vec![2u32, 3, 4, 8]), 0.2..1.0f64, frontier);
    let levelling = prop::option::of((1u32..4, 1u32..5));
    let policies = (0..victim_policies().len(), 0..allocation_policies().len(), levelling);
    let endurance = prop_oneof![
        (1u32..9).prop_map(|limit| limit.to_string()),
        (2u32..9).prop_map(|mean| format!("normal:mean={mean},cv=0.3")),
        (2u32..9).prop_map(|scale| format!("weibull:scale={scale},shape=3")),
    ];
    let writes = prop::collection::vec(0.0..1.0f64, 1..2500);
    (shape, policies, endurance, any::<bool>(), any::<u64>(), 1usize..50, writes).prop_map(
        |(shape, policies, endurance, ends_with_first, seed, batch, shares)| {
            let (blocks, pages_per_block, used, (low, mixed)) = shape;
            let (victim, allocation, levelling) = policies;
            Case {
                blocks,
                pages_per_block,
                used,
                low,
                mixed,
                levelling,
                victim,
                allocation,
                endurance,
                ends_with_first,
                seed,
                batch,
                shares,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn engine_equals_reference_to_the_end_of_life(case in cases()) {
        let victim = victim_policies()[case.victim].name;
        let allocation = allocation_policies()[case.allocation].name;
        let b = case.pages_per_block;
        let low = case.low as usize;
        // The pool frontier has an open block for copies, so one block more is kept.
        let (frontier, naive, kept) = match case.mixed {
            true => (Frontier::Mixed { low: case.low }, Naive::Mixed(low), case.low + 1),
            false => (Frontier::Pool { low: case.low }, Naive::Pool(low), case.low + 2),
        };
        let kept = kept + u32::from(case.levelling.is_some());
        let most = (case.blocks - kept) * b;
        let pages = ((f64::from(most) * case.used) as u32).max(1);
        let geometry = Geometry::new(case.blocks, b, pages.into()).unwrap();
        let ends_at = match case.ends_with_first {
            true => EndOfLife::FirstFailure,
            false => EndOfLife::SystemFailure,
        };
        let span = lifespan(&case.endurance, ends_at);
        let levelling =
            case.levelling.map(|(threshold, interval)| Levelling { threshold, interval });
        let mut fast = layer_of(
            victim, allocation, geometry, frontier, levelling, span, case.seed,
        );

        let mut slow =
            Reference::sequential(case.blocks as usize, b as usize, pages, naive, case.seed);
        slow.allocation = naive_allocation(allocation, case.seed);
        slow.life.limits = fast.wear().unwrap().limits().to_vec();
        slow.life.reserve = (case.blocks - pages.div_ceil(b) - kept) as usize;
        slow.levelling = case.levelling.map(|(threshold, interval)| {
            reference::Levelling { threshold, interval, ..Default::default() }
        });
        slow.life.ends_with_first = case.ends_with_first;
        let filled = slow.programs;
        let mut pick = naive_pick(victim);

        let page = |share: &f64| ((share * share * f64::from(pages)) as u32).min(pages - 1);
        let writes: Vec<u32> = case.shares.iter().map(page).collect();
        let mut written = 0;
        for batch in writes.chunks(case.batch) {
            written += fast.write_until(batch, u64::MAX).unwrap();
        }
        let naive_written = writes.iter().take_while(|&&page| {
            slow.write(page, &mut pick);
            !slow.life.over
        });
        let naive_written = naive_written.count();
        prop_assert_eq!(written, naive_written);
        prop_assert_eq!(fast.has_ended(), slow.life.over);
        prop_assert_eq!(fast.counters().programs(), slow.programs - filled);
        prop_assert_eq!(fast.blocks(0).erase_counts(), &slow.erases[..]);
        prop_assert_eq!(fast.counters().erases, slow.erases.iter().map(|&n| u64::from(n)).sum::<u64>());
        for block in 0..case.blocks {
            let bad = slow.life.bad.contains(&(block as usize));
            prop_assert_eq!(fast.wear().unwrap().is_bad(block), bad, "block {}", block);
        }
        for page in 0..pages {
            let place = slow.map.get(&page).map(|&(block, offset)| (block as u32, offset as u32));
            prop_assert_eq!(fast.locate(page), place, "page {}", page);
        }
        fast.audit().map_err(TestCaseError::fail)?;
        if fast.has_ended() {
            check_end(&mut *fast).map_err(TestCaseError::fail)?;
        }
    }
}

/// Writes to pages in a fixed order until the drive refuses.
fn wear_out(layer: &mut dyn Translation) {
    let pages = layer.geometry().logical_pages();
    let batch: Vec<u32> = (0..pages).map(|index| index * 7 % pages).collect();
    while layer.write_until(&batch, u64::MAX).unwrap() == batch.len() {
        layer.audit().unwrap();
    }
}

#[test]
fn every_policy_and_allocation_dies_with_its_data() {
    // 400 pages: prime to 7, so that every page is written in turn.
    let geometry = Geometry::new(64, 8, 400).unwrap();
    for info in victim_policies() {
        for allocation in allocation_policies() {
            let laws = ["20", "20", "normal:mean=20,cv=0.2", "weibull:scale=20,shape=5"];
            for (index, law) in laws.into_iter().enumerate() {
                let levelling = (index > 0).then_some(Levelling { threshold: 2, interval: 1 });
                let span = lifespan(law, EndOfLife::SystemFailure);
                let names = (info.name, allocation.name);
                let mut layer = layer(names.0, names.1, geometry, 3, levelling, span, 1);
                wear_out(&mut *layer);
                check_end(&mut *layer).unwrap_or_else(|why| panic!("{names:?} {law}: {why}"));
                let wear = layer.wear().unwrap();
                let (first, system) =
                    (wear.first_failure().unwrap(), wear.system_failure().unwrap().0);
                assert_eq!(first.bad_blocks, 1);
                assert!(first.counters.host_pages <= system.counters.host_pages);
                // The drive has no more erases than its limits allow.
                let most: u64 = wear.limits().iter().map(|&limit| u64::from(limit)).sum();
                assert!(layer.counters().erases <= most);
            }
        }
    }
}

#[test]
fn the_first_failure_is_the_same_moment_whether_the_drive_goes_on_or_not() {
    let geometry = Geometry::new(64, 8, 400).unwrap();
    let first = |ends_at| {
        let span = lifespan("normal:mean=20,cv=0.2", ends_at);
        let mut layer = layer("d-choices", "sfl", geometry, 3, None, span, 1);
        wear_out(&mut *layer);
        (layer.wear().unwrap().first_failure().unwrap(), layer.counters())
    };
    let (stopped, counters) = first(EndOfLife::FirstFailure);
    let (went_on, later) = first(EndOfLife::SystemFailure);
    assert_eq!(stopped, went_on);
    assert_eq!(stopped.counters, counters);
    assert!(later.host_pages > counters.host_pages);
}

#[test]
fn a_new_drive_written_in_order_lives_as_long_as_was_worked_out_by_hand() {
    // 10 blocks of 4 pages, 16 promised (4 blocks), a pool that keeps 1: blocks 0 to 3 are full,
    // 4 to 9 wait. Writing the pages in order empties whole blocks, so nothing is copied, no block
    // becomes the copy frontier, and block 0 is the first that is erased.
    let geometry = Geometry::new(10, 4, 16).unwrap();
    let span = lifespan("1", EndOfLife::SystemFailure);
    let mut layer = layer("fifo", "fifo", geometry, 1, None, span, 1);
    let batch: Vec<u32> = (0..16).collect();
    let mut written = 0;
    while !layer.has_ended() {
        written += layer.write_until(&batch, u64::MAX).unwrap();
    }
    // The sixth block wanted would leave the pool at 0: blocks 4 to 8 take 20 pages, and the pool
    // is at its mark of 1. The oldest block, 0, is empty; its erase is its last. The collector goes
    // on, since the pool is still low: 1, 2 and 3 wear out, too, and 4 is next. The reserve is 10 -
    // 4 - 3 = 3 blocks, so the fourth bad block ends the drive.
    assert_eq!(written, 20);
    let wear = layer.wear().unwrap();
    assert_eq!((wear.reserve(), wear.bad_blocks()), (3, 4));
    assert_eq!(wear.first_failure().unwrap().counters.erases, 1);
    assert_eq!(layer.counters().copied_pages, 0);
    check_end(&mut *layer).unwrap();
}

#[test]
fn endurance_without_a_pool_and_a_reserve_too_small_are_refused() {
    let build = |frontier, geometry| {
        let layout = Layout {
            frontier,
            lifespan: Some(lifespan("1000", EndOfLife::SystemFailure)),
            seed: 1,
            ..Layout::new(geometry)
        };
        VictimSpec::parse("greedy").unwrap().build(layout).err().unwrap().to_string()
    };
    let geometry = Geometry::new(20, 16, 200).unwrap();
    for frontier in [Frontier::Single, Frontier::Double] {
        let error = build(frontier, geometry);
        assert!(error.starts_with("endurance needs the pool or mixed frontier, found"), "{error}");
    }
    let tight = Geometry::new(20, 16, 19 * 16).unwrap();
    let error = build(Frontier::Pool { low: 2 }, tight);
    assert!(error.contains("keeps 4 blocks of 16 pages"), "{error}");
}

/// Placements that may change the class of a page while its block is being collected.
#[test]
fn a_drive_whose_placement_goes_by_age_ends_its_life_with_its_data() {
    // 24 blocks of 8 pages that bear 10 erases. Near the end fewer blocks are erased than the worst
    // victim needs, and the pages of a victim grow old while they are copied.
    let placements = [
        "dac:regions=2,threshold=300",
        "dac:regions=3,threshold=900",
        "gdt:classes=4",
        "sfs:classes=4",
        "fadac:classes=4",
    ];
    let geometry = Geometry::new(24, 8, 96).unwrap();
    for placement in placements {
        for seed in 0..200 {
            let placement = PlacementSpec::parse(placement).unwrap();
            let low = 1 + placement.kept_for_copies();
            let layout = || Layout {
                frontier: Frontier::Pool { low: 1 },
                allocation: Allocation::parse("lowest-erase").unwrap(),
                placement: placement.clone(),
                lifespan: Some(lifespan("10", EndOfLife::SystemFailure)),
                seed,
                ..Layout::new(geometry)
            };
            let victim = VictimSpec::parse("random").unwrap();
            let mut counting = victim.build(layout()).unwrap();
            let planes = PlaneLayout { layout: layout(), planes: 1, first: 0, home: &|_| 0 };
            let mut steps = victim.build(planes).unwrap();
            let mut stream = Stream::new(seed, "pages");
            while !counting.has_ended() {
                let page = stream.below(96) * stream.below(96) / 96;
                let name = format!("{placement} {seed} {page}");
                let written = counting.write_until(&[page], u64::MAX);
                let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
                let placed = steps.write_at_once(page, 0, low, low);
                let placed = placed.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(placed.is_some(), written == 1, "{name}");
                assert_eq!(steps.decisions(), counting.decisions(), "{name}");
            }
            steps.audit().unwrap();
            check_end(&mut *counting).unwrap_or_else(|why| panic!("{placement} {seed}: {why}"));
        }
    }
}
