//! Superblocks that go on without their bad blocks, against the naive reference: every page at the same
//! place, with and without a clock's steps.

use crate::reference::picks::naive_pick;
use crate::reference::rules::{Setting, naive_rule};
use crate::reference::{
    Frontier as Naive, Placed, Reference, Shrinking as Naively, naive_allocation,
};
use crate::two_forms::TwoForms;
use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Frontier, Geometry, Layout, Lifespan, Members, PageBuffer,
    PlacementSpec, Shrinking, allocation_policies, victim_policies,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Placements on the pool frontier, with all parameters written out.
const PLACEMENTS: [&str; 9] = [
    "none",
    "dac:regions=3,threshold=0,zombie-block=no",
    "sepbit:classes=4",
    "fdp:handles=3,persistent=1",
    "multilog:levels=3",
    "sfs:classes=3,refresh=0.3",
    "gdt:classes=4",
    "fadac:classes=4",
    "warcip:classes=4,window=1",
];

/// The dies of a superblock, the parts of its parity, the planes of a die, the units of a page of a plane, the
/// pages of a program, and its rows.
const SHAPES: [(u32, Option<u32>, u32, u32, u32, u32); 7] = [
    (1, None, 4, 1, 1, 3),
    (1, None, 4, 2, 2, 1),
    (4, None, 1, 1, 1, 4),
    (3, None, 2, 2, 1, 2),
    (4, Some(4), 1, 1, 1, 3),
    (4, Some(4), 2, 1, 2, 1),
    (8, Some(4), 1, 2, 1, 2),
];

#[derive(Clone, Debug)]
struct Case {
    shape: usize,
    blocks: u32,
    used: f64,
    least: u32,
    victim: usize,
    allocation: usize,
    placement: usize,
    mean: u32,
    seed: u64,
    /// The commands: a page as a share of the logical space, and `true` for a TRIM.
    commands: Vec<(f64, bool)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let names = (0..victim_policies().len(), 0..allocation_policies().len(), 0..PLACEMENTS.len());
    let shape = (0..SHAPES.len(), 12u32..24, 0.3..0.95f64, 50u32..90);
    let command = (0.0..1.0f64, prop::bool::weighted(0.06));
    (shape, names, 2u32..12, any::<u64>(), prop::collection::vec(command, 500..4000)).prop_map(
        |(shape, names, mean, seed, commands)| {
            let (shape, blocks, used, least) = shape;
            let (victim, allocation, placement) = names;
            let least = if least < 60 { 50 } else { least };
            Case { shape, blocks, used, least, victim, allocation, placement, mean, seed, commands }
        },
    )
}

/// The outcome of a case.
#[derive(Debug, Default)]
struct Reached {
    smaller: u32,
    retired: u32,
    ended: u32,
    /// The reference did not know how a drive that is nearly worn out goes on.
    uncertain: u32,
}

/// Writes and trims on the engine, in both forms, and on the reference, and compares them.
fn compare(case: &Case) -> Result<Reached, TestCaseError> {
    let (dies, parts, planes, units, pages, rows) = SHAPES[case.shape];
    let members = Members::new(dies, parts);
    let data = members.stripe.map_or(dies, |stripe| dies / stripe * (stripe - 1));
    let b = rows * data * planes * units * pages;
    let victim = victim_policies()[case.victim].name;
    let allocation = allocation_policies()[case.allocation].name;
    let placement = PLACEMENTS[case.placement];
    let setting = |logical_pages| Setting {
        blocks: 0,
        pages_per_block: b as usize,
        logical_pages,
        events: Vec::new(),
    };
    let rule = naive_rule(placement, setting(1));
    let kept = 2 + rule.as_ref().map_or(2, |rule| Placed::kept(&**rule) as u32);
    let blocks = case.blocks.max(kept + 4);
    let promised = ((f64::from((blocks - kept) * b) * case.used) as u32).max(1);
    let geometry = Geometry::new(blocks, b, promised.into()).unwrap();
    let endurance = format!("normal:mean={},cv=0.5", case.mean);
    let buffer = PageBuffer {
        units_per_page: planes * units,
        planes,
        pages_per_program: pages,
        ..PageBuffer::default()
    };
    let layout = || Layout {
        frontier: Frontier::Pool { low: 2 },
        allocation: Allocation::parse(allocation).unwrap(),
        placement: PlacementSpec::parse(placement).unwrap(),
        streams: true,
        buffer,
        blocks_together: dies * planes,
        shrinking: Some(Shrinking { members, least: f64::from(case.least) / 100.0 }),
        lifespan: Some(Lifespan {
            endurance: Endurance::parse(&endurance).unwrap(),
            ends_at: EndOfLife::SystemFailure,
        }),
        seed: case.seed,
        ..Layout::new(geometry)
    };
    let mut both = TwoForms::new(victim, &layout, placement);

    let mut slow =
        Reference::sequential(blocks as usize, b as usize, promised, Naive::Pool(2), case.seed);
    slow.allocation = naive_allocation(allocation, case.seed);
    let all = Endurance::parse(&endurance).unwrap();
    let limits = all.limits(blocks * dies * planes, &mut Stream::new(case.seed, "endurance"));
    slow.shrinking = Some(Naively {
        limits: limits.chunks((dies * planes) as usize).map(<[u32]>::to_vec).collect(),
        planes: planes as usize,
        stripe: members.stripe.map(|stripe| stripe as usize),
        pages: (rows * units * pages) as usize,
        least: case.least as usize,
        reserve: ((blocks - kept) * b - promised) as usize,
        retired: Vec::new(),
    });
    naive_rule(placement, setting(promised)).into_iter().for_each(|rule| slow.place(rule));
    let filled = slow.programs;
    let mut pick = naive_pick(victim);

    for (index, &(share, is_trim)) in case.commands.iter().enumerate() {
        let page = ((share * share * f64::from(promised)) as u32).min(promised - 1);
        if is_trim {
            both.trim(page);
            slow.trim(page);
            continue;
        }
        let stream = (index % 4) as u8;
        let named = (stream < 3).then_some(stream);
        slow.write_in(page, named, &mut pick);
        if slow.life.is_uncertain {
            break;
        }
        let lives = !slow.life.over;
        prop_assert_eq!(both.write(page, named), (lives, lives));
        if !lives {
            prop_assert!(both.batches.has_ended() && both.steps.has_ended());
            break;
        }
    }
    if slow.life.is_uncertain {
        return Ok(Reached { uncertain: 1, ..Reached::default() });
    }
    let lost: Vec<usize> = (0..blocks as usize).map(|block| slow.lost(block)).collect();
    let place = |page| slow.map.get(&page).copied();
    let moved = |(block, at): (usize, usize)| (block as u32, (lost[block] + at) as u32);
    both.check((0..promised).map(|page| place(page).map(moved)))?;
    let (fast, steps) = (&both.batches, &both.steps);
    prop_assert_eq!(fast.counters().programs(), slow.programs - filled);
    prop_assert_eq!(fast.blocks(0).erase_counts(), &slow.erases[..]);
    let naive = slow.shrinking.as_ref().unwrap();
    let wear = fast.wear().unwrap();
    let shrunk = wear.shrunk().unwrap();
    prop_assert_eq!(shrunk.superblocks as usize, lost.iter().filter(|&&lost| lost > 0).count());
    prop_assert_eq!(shrunk.lost_pages as usize, lost.iter().sum::<usize>());
    prop_assert_eq!(wear.bad_blocks() as usize, naive.retired.len());
    prop_assert_eq!(fast.counts().packing, steps.counts().packing);
    prop_assert_eq!(fast.counts().skipped, steps.counts().skipped);
    Ok(Reached {
        smaller: shrunk.superblocks,
        retired: wear.bad_blocks(),
        ended: u32::from(slow.life.over),
        uncertain: 0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn smaller_superblocks_have_every_page_where_the_reference_has_it(case in cases()) {
        compare(&case)?;
    }
}

#[test]
fn the_cases_reach_smaller_superblocks_and_ends_of_life_under_every_policy() {
    let mut runner = TestRunner::deterministic();
    for victim in 0..victim_policies().len() {
        let mut reached = Reached::default();
        for _ in 0..25 {
            let case = cases().new_tree(&mut runner).unwrap().current();
            let one = compare(&Case { victim, ..case }).unwrap();
            reached.smaller += one.smaller;
            reached.retired += one.retired;
            reached.ended += one.ended;
            reached.uncertain += one.uncertain;
        }
        let name = victim_policies()[victim].name;
        assert!(reached.smaller > 40 && reached.retired > 20, "{name}: {reached:?}");
        assert!(reached.ended > 3 && reached.uncertain < 8, "{name}: {reached:?}");
    }
}
