//! The engine and the naive reference do the same, operation by operation: the same victims, the
//! same place for every page, the same number of programs.

use crate::hinting::Hinting;
use crate::reference;
use crate::reference::picks::{CLOSED, MORE_BY_HAND, TABLE, by_hand, naive_pick};
use crate::reference::rules::{Setting, naive_rule};
use crate::reference::{Frontier as Naive, Placed, Reference};
use crate::told::Told;
use flashgc_base::rng::Stream;
use flashgc_base::stream::{NO_STREAM, StreamId, named};
use flashgc_ftl::{
    Allocation, BlockTable, Event, Frontier, Geometry, Layout, Levelled, Levelling, PlacementSpec,
    Translation, VictimSpec, allocation_policies, placement_policies, victim_policies,
};
use proptest::prelude::*;

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
        "cost-benefit:age=last_collection",
        "cat:age=last_collection",
        "sagc:weight=ratio",
        "eigc:ratio=average",
        "bsgc:reading=literal",
        "bsgc:first=sample",
        "bsgc:ratio=live",
        "bsgc:reading=since_erase,ratio=live,wear=absolute",
        "cost-benefit:weigh=log",
        "cost-benefit:form=sqrt,age=last_invalidate,weigh=log",
        "cat:weigh=log",
        "cat:age=last_collection,weigh=log",
        "wear-aware:lambda=0.7",
        "z-greedy:ties=oldest",
        "z-greedy:ties=lowest",
        "z-cost-benefit:age=last_invalidate",
        "z-cost-benefit:age=last_collection",
    ] {
        specs.push(more.to_string());
    }
    specs
}

/// Placements on the pool frontier, with all parameters written out.
const PLACEMENTS: &[&str] = &[
    "none",
    "dac:regions=3,threshold=0,zombie-block=no",
    "dac:regions=3,threshold=0,zombie-block=yes",
    "dac:regions=1,threshold=0,zombie-block=no",
    "dac:regions=1,threshold=0,zombie-block=yes",
    "dac:regions=2,threshold=20,zombie-block=yes",
    "dac:regions=4,threshold=60,zombie-block=no",
    "sepbit:classes=6",
    "sepbit:classes=4",
    "multilog:levels=6",
    "multilog:levels=2",
    "fadac:classes=6",
    "fadac:classes=2",
    "sfr:classes=6,chunk=512,halving=16384",
    "sfr:classes=4,chunk=3,halving=40",
    "warcip:classes=6,window=256",
    "warcip:classes=4,window=1",
    "warcip:classes=5,window=6",
    "intervals:classes=12,sample=1000,refresh=10",
    "intervals:classes=4,sample=1000,refresh=2",
    "intervals:classes=3,sample=20,refresh=1",
    "gdt:classes=6",
    "gdt:classes=4",
    "sfs:classes=6,refresh=0.01",
    "sfs:classes=4,refresh=0.3",
    "sfs:classes=3,refresh=1",
    "midas:groups=10,share=0,hot=on,epoch=100,sample=100,bins=4",
    "midas:groups=4,share=0,hot=off,epoch=100,sample=100,bins=4",
    "midas:groups=3,share=0.05,hot=on,epoch=4,sample=100,bins=4",
    "midas:groups=4,share=0.12,hot=on,epoch=4,sample=100,bins=4",
    "midas:groups=6,share=0.3,hot=off,epoch=4,sample=100,bins=4",
    "eti:extents=1024,halving=4096",
    "eti:extents=12,halving=30",
    "eti:extents=4,halving=60",
    "fdp:handles=4,persistent=0",
    "fdp:handles=3,persistent=2",
    "fdp:handles=2,persistent=2",
    "oracle:classes=4,horizon=1.5,sigma=0,errors=write",
    "oracle:classes=3,horizon=0.2,sigma=0,errors=write",
    "oracle:classes=4,horizon=4,sigma=0.7,errors=write",
    "oracle:classes=4,horizon=2,sigma=1.5,errors=request",
];

/// An action of the host or of its power.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Write,
    /// A write of the page behind the page of the operation before.
    WriteNext,
    Trim,
    Hint,
    Cancel,
    PowerLoss,
}

#[derive(Clone, Debug)]
struct Case {
    blocks: u32,
    pages_per_block: u32,
    /// The number of logical pages, as a share of the pages that the frontier leaves for them.
    used: f64,
    frontier: usize,
    allocation: usize,
    /// Threshold and interval of wear levelling, with the pool frontier only.
    levelling: Option<(u32, u32)>,
    placement: usize,
    spec: usize,
    seed: u64,
    batch: usize,
    /// The number of streams that writes name; 0 for no streams. One write in `streams` + 1 names
    /// none.
    streams: u8,
    /// The operations, each on a page as a share of the logical space.
    operations: Vec<(f64, Operation)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape =
        (6u32..20, prop::sample::select(vec![2u32, 3, 4, 6, 7, 8, 16, 31, 48]), 0.05..1.0f64);
    let operation = prop_oneof![
        50 => Just(Operation::Write),
        30 => Just(Operation::WriteNext),
        8 => Just(Operation::Trim),
        20 => Just(Operation::Hint),
        2 => Just(Operation::Cancel),
        1 => Just(Operation::PowerLoss),
    ];
    (
        shape,
        (
            0usize..5,
            0..allocation_policies().len(),
            prop::option::of((1u32..6, 1u32..5)),
            0..PLACEMENTS.len(),
        ),
        0..specs().len(),
        any::<u64>(),
        (1usize..40, 0u8..6),
        prop::collection::vec((0.0..1.0f64, operation), 1..700),
    )
        .prop_map(
            |(
                (blocks, pages_per_block, used),
                (frontier, allocation, levelling, placement),
                spec,
                seed,
                (batch, streams),
                operations,
            )| {
                Case {
                    blocks,
                    pages_per_block,
                    used,
                    frontier,
                    allocation,
                    levelling,
                    placement,
                    spec,
                    seed,
                    batch,
                    streams,
                    operations,
                }
            },
        )
}

/// The stream of a write: mostly the same for a page, but not always.
fn stream_of(index: usize, page: u32, streams: u8) -> Option<StreamId> {
    let drawn = page as usize + usize::from(index.is_multiple_of(5));
    let stream = (drawn % (usize::from(streams) + 1)) as StreamId;
    (stream < streams).then_some(stream)
}

/// Writes all pages that wait, and names their streams if the layer takes them.
fn write_all(layer: &mut dyn Translation, pages: &mut Vec<u32>, streams: &mut Vec<StreamId>) {
    let mut done = 0;
    while done < pages.len() {
        let rest = &pages[done..];
        let count = match layer.streams() {
            Some(taker) => taker.name(rest, &streams[done..]).unwrap(),
            None => rest.len(),
        };
        layer.write(&rest[..count]).unwrap();
        done += count;
    }
    pages.clear();
    streams.clear();
}

/// Runs both drives, and compares them.
fn compare(case: &Case) -> Result<(), TestCaseError> {
    let spec = &specs()[case.spec];
    let (frontier, naive) = [
        (Frontier::Single, Naive::Single),
        (Frontier::Double, Naive::Double),
        (Frontier::Compact, Naive::Compact),
        (Frontier::Pool { low: 2 }, Naive::Pool(2)),
        (Frontier::Mixed { low: 2 }, Naive::Mixed(2)),
    ][case.frontier];
    // Without a pool there is no allocation to choose. A placement works on the pool frontier
    // only.
    let allocation = match frontier.has_pool() {
        true => allocation_policies()[case.allocation].name,
        false => "fifo",
    };
    let placement = match frontier {
        Frontier::Pool { .. } => PLACEMENTS[case.placement],
        _ => "none",
    };
    // The pages are skewed: some are written often, and others never.
    let on = |logical_pages: u32| {
        case.operations.iter().scan(0, move |page, &(share, operation)| {
            let one = (share * share * f64::from(logical_pages)) as u32;
            let (next, operation) = match operation {
                Operation::WriteNext => (*page + 1, Operation::Write),
                _ => (one, operation),
            };
            *page = next.min(logical_pages - 1);
            Some((*page, operation))
        })
    };
    let pages_per_block = case.pages_per_block as usize;
    let setting = |logical_pages: u32| {
        let events = on(logical_pages).filter_map(|(page, operation)| match operation {
            Operation::Write => Some((page, false)),
            Operation::Trim => Some((page, true)),
            _ => None,
        });
        Setting { blocks: 0, pages_per_block, logical_pages, events: events.collect() }
    };
    let rule = naive_rule(placement, setting(1));
    let isolates = placement.contains("persistent=2");
    let levelling = case.levelling.filter(|_| frontier.has_pool() && !isolates);
    let levelling = levelling.map(|(threshold, interval)| Levelling { threshold, interval });
    // The drive has at least the blocks that this placement keeps or, without a placement,
    // those of the frontier that keeps most.
    let kept = rule.as_ref().map_or(5, |rule| Placed::kept(&**rule) as u32 + 2);
    let kept = kept + u32::from(levelling.is_some());
    let blocks = case.blocks.max(kept + 2);
    let most = (blocks - kept) * case.pages_per_block;
    let logical_pages = ((f64::from(most) * case.used) as u32).max(1);
    let geometry = Geometry::new(blocks, case.pages_per_block, logical_pages.into()).unwrap();
    let setting = Setting { blocks: blocks as usize, ..setting(logical_pages) };
    let told = setting.events.iter().map(|&(page, is_trim)| Event { page, is_trim });
    let mut parsed = PlacementSpec::parse(placement).unwrap();
    if parsed.needs_future() {
        parsed = parsed.with_future(Told::new(told.collect()));
    }
    let layout = Layout {
        frontier,
        placement: parsed,
        allocation: Allocation::parse(allocation).unwrap(),
        levelling,
        streams: case.streams > 0,
        seed: case.seed,
        ..Layout::new(geometry)
    };
    let mut fast = VictimSpec::parse(spec).unwrap().build(layout).unwrap();
    let keeps_zombies = fast.counts().zombies.is_some();
    let asked = spec.starts_with("z-") || rule.as_ref().is_some_and(|rule| rule.asks_for_zombies());
    prop_assert_eq!(keeps_zombies, asked);
    let mut slow = Reference::sequential(
        blocks as usize,
        case.pages_per_block as usize,
        logical_pages,
        naive,
        case.seed,
    );
    slow.allocation = reference::naive_allocation(allocation, case.seed);
    slow.levelling = levelling.map(|Levelling { threshold, interval }| reference::Levelling {
        threshold,
        interval,
        ..Default::default()
    });
    naive_rule(placement, setting).into_iter().for_each(|rule| slow.place(rule));
    let filled = slow.programs;
    let mut pick = naive_pick(spec);
    let mut waiting: Vec<u32> = Vec::new();
    let mut streams: Vec<StreamId> = Vec::new();
    for (index, (page, operation)) in on(logical_pages).enumerate() {
        if operation != Operation::Write {
            write_all(&mut *fast, &mut waiting, &mut streams);
        }
        match operation {
            Operation::Write | Operation::WriteNext => {
                let stream = stream_of(index, page, case.streams);
                waiting.push(page);
                streams.push(stream.unwrap_or(NO_STREAM));
                slow.write_in(page, stream, &mut pick);
            }
            Operation::Trim => {
                fast.trim(&[page]).unwrap();
                slow.trim(page);
            }
            Operation::Hint => {
                // The hint names the page and its neighbour: an extent.
                let extent = [page, (page + 1).min(logical_pages - 1)];
                fast.hints().hint(&extent).unwrap();
                extent.into_iter().for_each(|page| slow.hint(page));
            }
            Operation::Cancel => {
                fast.hints().cancel(&[page]).unwrap();
                slow.zombies.remove(&page);
            }
            Operation::PowerLoss => {
                fast.hints().power_loss();
                slow.zombies.clear();
            }
        }
        if waiting.len() == case.batch || index + 1 == case.operations.len() {
            write_all(&mut *fast, &mut waiting, &mut streams);
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
    prop_assert_eq!(fast.counts().levelled, levelled);
    if let Some(totals) = fast.counts().streams {
        let moved = slow.victims.iter().filter(|&&(_, valid)| valid > 0).count();
        prop_assert_eq!(totals.moved_blocks, moved as u64);
        for (entry, counts) in (0..).zip(&totals.streams) {
            let expected = slow.streams.get(&named(entry)).copied().unwrap_or_default();
            prop_assert_eq!((counts.host_pages, counts.copied_pages), expected, "{}", entry);
        }
    }
    prop_assert_eq!(fast.counts().streams.is_some(), case.streams > 0);
    prop_assert_eq!(fast.blocks(0).erase_counts(), &slow.erases[..]);
    for page in 0..logical_pages {
        let place = slow.map.get(&page).map(|&(block, offset)| (block as u32, offset as u32));
        prop_assert_eq!(fast.locate(page), place, "page {}", page);
    }
    for (block, valid) in slow.counts().into_iter().enumerate() {
        prop_assert_eq!(fast.blocks(0).valid(block as u32) as usize, valid);
    }
    for (block, zombies) in slow.zombie_counts().into_iter().enumerate() {
        let expected = if keeps_zombies { zombies } else { 0 };
        prop_assert_eq!(fast.blocks(0).zombies(block as u32) as usize, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2400, ..ProptestConfig::default() })]

    #[test]
    fn engine_equals_reference(case in cases()) {
        compare(&case)?;
    }
}

#[test]
fn every_placement_has_a_naive_form() {
    let tested = |name: &str| PLACEMENTS.iter().any(|spec| spec.split(':').next() == Some(name));
    for info in placement_policies() {
        assert!(tested(info.name), "{} is not among the placements above", info.name);
    }
}

#[test]
fn policies_pick_what_was_worked_out_by_hand() {
    let blocks = BlockTable::from_counts(64, &TABLE);
    // The first draws below 8 from seed 9, which the random policies see.
    let mut stream = Stream::new(9, "victim");
    let draws: Vec<u32> = std::iter::repeat_with(|| stream.below(8))
        .filter(|&block| TABLE[block as usize].is_some())
        .take(12)
        .collect();
    for text in victim_policies().iter().map(|info| info.name).chain(MORE_BY_HAND) {
        let spec = VictimSpec::parse(text).unwrap();
        let pick = spec.info().pick_from(spec.params(), &blocks, &CLOSED, 9).unwrap();
        assert_eq!(pick, Some(by_hand(text, &draws)), "{text}");
    }
}

#[test]
fn centres_of_sfs_that_begin_as_equals_stay_in_order() {
    // Pages that are written once, among them runs of pages, and then page 0 again and again.
    let mut operations = vec![(0.0, Operation::Write); 167];
    for (index, share) in [(0, 0.7725), (2, 0.7514), (8, 0.5733), (9, 0.6693), (11, 0.7201)] {
        operations[index].0 = share;
    }
    for index in [1, 3, 5, 6, 7, 13] {
        operations[index].1 = Operation::WriteNext;
    }
    let case = Case {
        blocks: 18,
        pages_per_block: 2,
        used: 0.56158,
        frontier: 3,
        allocation: 0,
        levelling: None,
        placement: PLACEMENTS.iter().position(|&it| it == "sfs:classes=4,refresh=0.3").unwrap(),
        spec: specs().iter().position(|it| it == "windowed:w=3").unwrap(),
        seed: 0,
        batch: 1,
        streams: 0,
        operations,
    };
    compare(&case).unwrap();
}
