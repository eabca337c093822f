//! The contract of every registered victim policy. A new policy is tested here without a new line.

use flashgc_base::rng::Stream;
use flashgc_base::spec::{Documented, Params, Spec};
use flashgc_ftl::{
    Allocation, BlockTable, External, Fill, Frontier, FtlErrorKind, Geometry, Layer, Layout,
    Levelling, PageMap, PlacementSpec, Translation, VictimSpec, allocation_policies, couples,
    victim_policies,
};

const FRONTIERS: [Frontier; 5] = [
    Frontier::Single,
    Frontier::Double,
    Frontier::Compact,
    Frontier::Pool { low: 2 },
    Frontier::Mixed { low: 2 },
];

fn layer(policy: &str, frontier: Frontier, fill: Fill) -> Box<dyn Translation> {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    let layout = Layout { frontier, fill, seed: 3, ..Layout::new(geometry) };
    VictimSpec::parse(policy).unwrap().build(layout).unwrap()
}

/// Nine writes in ten go to a tenth of the pages.
fn skewed(count: usize, pages: u32) -> Vec<u32> {
    let mut stream = Stream::new(11, "skewed");
    (0..count)
        .map(|_| {
            let page = stream.below(pages);
            if stream.below(10) < 9 { page / 10 } else { page }
        })
        .collect()
}

fn for_each_policy(check: impl Fn(&str, Frontier)) {
    for info in victim_policies() {
        for frontier in FRONTIERS {
            check(info.name, frontier);
        }
    }
}

#[test]
fn the_audit_holds_after_many_collections() {
    for_each_policy(|policy, frontier| {
        for fill in [Fill::Sequential, Fill::Random, Fill::Steady, Fill::Empty] {
            let mut layer = layer(policy, frontier, fill);
            layer.audit().unwrap_or_else(|why| panic!("{policy} {frontier} {fill}: {why}"));
            let pages = layer.geometry().logical_pages();
            let trims: Vec<u32> = (0..pages).step_by(7).collect();
            for chunk in skewed(60_000, pages).chunks(20_000) {
                layer.write(chunk).unwrap();
                layer.trim(&trims).unwrap();
                layer.audit().unwrap_or_else(|why| panic!("{policy} {frontier} {fill}: {why}"));
            }
            assert!(layer.counters().collections > 500, "{policy} {frontier} {fill}");
        }
    });
}

#[test]
fn decisions_do_not_depend_on_the_batch_size() {
    for_each_policy(|policy, frontier| {
        let run = |batch: usize| {
            let mut layer = layer(policy, frontier, Fill::Random);
            for pages in skewed(30_000, layer.geometry().logical_pages()).chunks(batch) {
                layer.write(pages).unwrap();
            }
            (layer.decisions(), layer.counters())
        };
        let whole = run(30_000);
        for batch in [1, 7, 4096] {
            assert_eq!(run(batch), whole, "{policy} {frontier} in batches of {batch}");
        }
    });
}

#[test]
fn levelling_wear_suits_every_policy_and_allocation() {
    for info in victim_policies() {
        for allocation in allocation_policies() {
            let layout = Layout {
                slc: None,
                buffer: flashgc_ftl::PageBuffer::default(),
                blocks_together: 1,
                shrinking: None,
                die_by_die: None,
                geometry: Geometry::with_spare(200, 16, 0.15).unwrap(),
                frontier: Frontier::Pool { low: 2 },
                placement: PlacementSpec::default(),
                streams: false,
                allocation: Allocation::parse(allocation.name).unwrap(),
                levelling: Some(Levelling { threshold: 2, interval: 3 }),
                lifespan: None,
                fill: Fill::Random,
                seed: 3,
            };
            let names = format!("{} {}", info.name, allocation.name);
            let run = |batch: usize| {
                let mut layer =
                    VictimSpec::parse(info.name).unwrap().build(layout.clone()).unwrap();
                // A tenth of the pages is written again and again. The others keep their first
                // contents.
                let pages = layer.geometry().logical_pages();
                let writes: Vec<u32> = skewed(30_000, pages / 10);
                for pages in writes.chunks(batch) {
                    layer.write(pages).unwrap();
                }
                layer.audit().unwrap_or_else(|why| panic!("{names}: {why}"));
                (layer.decisions(), layer.counters(), layer.counts().levelled.unwrap())
            };
            let whole = run(30_000);
            assert_eq!(run(7), whole, "{names} in batches of 7");
            let (_, counters, levelled) = whole;
            // FIFO collects blocks in turn, also those with cold data. So it wears evenly without
            // levelling.
            assert!(levelled.collections > 0 || info.name == "fifo", "{names}");
            // Levelling collects at most once in three erases of other victims.
            let others = counters.erases - levelled.collections;
            assert!(3 * levelled.collections <= others, "{names}: {levelled:?} {counters:?}");
            assert!(levelled.copied_pages <= counters.copied_pages, "{names}");
        }
    }
}

#[test]
fn hammered_pages_make_progress() {
    for_each_policy(|policy, frontier| {
        let mut layer = layer(policy, frontier, Fill::Sequential);
        layer.write(&vec![5; 20_000]).unwrap_or_else(|why| panic!("{policy} {frontier}: {why}"));
        layer.audit().unwrap_or_else(|why| panic!("{policy} {frontier}: {why}"));
        assert_eq!(layer.counters().host_pages, 20_000);
    });
}

#[test]
fn a_new_drive_writes_without_copying() {
    for_each_policy(|policy, frontier| {
        let mut layer = layer(policy, frontier, Fill::Empty);
        let pages: Vec<u32> = (0..layer.geometry().logical_pages()).collect();
        layer.write(&pages).unwrap();
        // Random picks may hit full blocks while others are still erased. The other policies do not
        // copy.
        let may_copy = matches!(policy, "random" | "d-choices");
        assert!(may_copy || layer.counters().copied_pages == 0, "{policy} {frontier}");
        layer.audit().unwrap_or_else(|why| panic!("{policy} {frontier}: {why}"));
    });
}

#[test]
fn memory_keeps_the_next_best_and_reads_counts_anew() {
    // With d=1 and c=1, each pick draws one block, and one block is stored from the pick before.
    let spec = Spec::parse("d-choices:d=1,c=1").unwrap();
    let info = victim_policies().iter().find(|info| info.name == "d-choices").unwrap();
    let params = Params::resolve(&spec, info.params).unwrap();
    let counts = [Some(9), Some(8), Some(7), Some(6)];
    let blocks = BlockTable::from_counts(16, &counts);
    // The stream gives the stored block first, then the draw: the lower count of the two wins.
    let mut stream = Stream::new(4, "victim");
    let (stored, drawn) = (stream.below(4), stream.below(4));
    let pick = info.pick_from(&params, &blocks, &[0, 1, 2, 3], 4).unwrap().unwrap();
    assert_eq!(pick, stored.max(drawn), "higher numbers have lower counts in this table");
}

#[test]
fn no_candidate_is_no_pick() {
    let blocks = BlockTable::from_counts(16, &[None, None, None]);
    for info in victim_policies() {
        let params = Params::resolve(&Spec::parse(info.name).unwrap(), info.params).unwrap();
        assert_eq!(info.pick_from(&params, &blocks, &[], 1).unwrap(), None, "{}", info.name);
    }
}

#[test]
fn every_policy_documents_itself() {
    for info in victim_policies() {
        let doc = info.doc();
        let lines = doc.lines().count();
        assert!(lines >= 6 && info.summary().ends_with('.'), "{}: {doc}", info.name);
        for part in ["Formula: ", "# Cost", "# Source"] {
            assert!(doc.contains(part), "{} says nothing of '{part}'", info.name);
        }
    }
}

fn external(pick: flashgc_ftl::ExternalPick) -> PageMap<External> {
    let mut pick = Some(pick);
    let geometry = Geometry::with_spare(20, 4, 0.25).unwrap();
    let layout = Layout { seed: 1, ..Layout::new(geometry) };
    PageMap::with_policy(layout, |_, _| Ok(External::from_pick(pick.take().expect("one plane"))))
        .unwrap()
}

#[test]
fn a_bad_pick_is_an_error_and_loses_nothing() {
    let mut layer = external(Box::new(|_, _| Some(99)));
    let error = layer.write(&[1, 2, 3]).unwrap_err();
    assert_eq!(error.to_string(), "the victim policy picked block 99, which does not exist");
    layer.audit().unwrap();

    // The policy always picks block 0, which is open from the second pick on.
    let mut layer = external(Box::new(|_, _| Some(0)));
    let pages: Vec<u32> = (0..60).collect();
    let error = layer.write(&pages).unwrap_err();
    assert!(
        matches!(error.kind(), FtlErrorKind::NoSpace(_) | FtlErrorKind::BadPick { .. }),
        "{error}"
    );
    layer.audit().unwrap();

    let mut layer = external(Box::new(|_, _| None));
    let error = layer.write(&[1]).unwrap_err();
    assert_eq!(error.to_string(), "no reclaimable space: no block may be collected");
}

#[test]
fn a_policy_that_frees_nothing_is_stopped() {
    // The policy picks two full blocks in turn, for ever.
    let mut next = 0;
    let mut layer = external(Box::new(move |_, _| {
        next = 1 - next;
        Some(next)
    }));
    let error = layer.write(&[59, 58, 57]).unwrap_err();
    assert!(error.to_string().contains("the victim policy picks none of"), "{error}");
    layer.audit().unwrap();
}

#[test]
fn shapes_and_pages_out_of_range_are_refused() {
    let mut fine = layer("greedy", Frontier::Single, Fill::Sequential);
    let pages = fine.geometry().logical_pages();
    assert!(matches!(fine.write(&[0, pages]).unwrap_err().kind(), FtlErrorKind::OutOfRange { .. }));
    assert!(matches!(fine.trim(&[pages]).unwrap_err().kind(), FtlErrorKind::OutOfRange { .. }));
    assert_eq!(fine.counters().host_pages, 0);

    let geometry = Geometry::with_spare(20, 16, 0.06).unwrap(); // 19 spare pages
    let kept =
        [(Frontier::Double, 2), (Frontier::Pool { low: 2 }, 4), (Frontier::Mixed { low: 2 }, 3)];
    for (frontier, blocks) in kept {
        let layout = Layout { frontier, seed: 1, ..Layout::new(geometry) };
        let error = VictimSpec::parse("greedy").unwrap().build(layout).err().unwrap().to_string();
        assert!(error.contains(&format!("keeps {blocks} blocks of 16 pages; hint:")), "{error}");
    }
}

#[test]
fn couples_are_what_the_registries_know() {
    for couple in couples() {
        VictimSpec::parse(couple.victim).unwrap();
        assert!(!PlacementSpec::parse(couple.placement).unwrap().is_none());
    }
}
