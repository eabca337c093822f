//! Copies die by die, against the naive reference: every page at the same place, with and without a clock's steps.

use crate::reference::picks::naive_pick;
use crate::reference::rules::{Setting, naive_rule};
use crate::reference::{Frontier as Naive, Reference};
use crate::two_forms::TwoForms;
use flashgc_ftl::{Frontier, Geometry, Layout, Members, PageBuffer, PlacementSpec};
use proptest::prelude::*;

const PLACEMENTS: [&str; 3] = ["none", "fdp:handles=3,persistent=1,groups=1", "sepbit:classes=4"];

/// The dies of a superblock, the dies of a stripe of its parity, the units of a program, and its rows.
const SHAPES: [(u32, Option<u32>, u32, u32); 5] =
    [(2, None, 1, 5), (4, None, 2, 3), (8, None, 1, 2), (4, Some(4), 1, 4), (6, Some(3), 2, 3)];

/// The members of the programs of a superblock, in order, by hand: the dies in turn, without the one that has the
/// parity of its stripe in this row.
fn members_in_turn(dies: u32, stripe: Option<u32>, rows: u32) -> Vec<u32> {
    let has_data = |row: u32, die: u32| stripe.is_none_or(|parts| die % parts != row % parts);
    (0..rows).flat_map(|row| (0..dies).filter(move |&die| has_data(row, die))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn copies_die_by_die_are_those_of_the_reference(
        shape in 0..SHAPES.len(),
        placement in 0..PLACEMENTS.len(),
        greedy in any::<bool>(),
        blocks in 12u32..20,
        used in 0.4..0.9f64,
        seed in any::<u64>(),
        commands in prop::collection::vec((0.0..1.0f64, prop::bool::weighted(0.05)), 500..2500),
    ) {
        let (dies, stripe, units, rows) = SHAPES[shape];
        let (placement, victim) = (PLACEMENTS[placement], if greedy { "greedy" } else { "fifo" });
        let turns = members_in_turn(dies, stripe, rows);
        let b = turns.len() as u32 * units;
        let kept = 8;
        let blocks = blocks + kept;
        let setting = |logical_pages| Setting {
            blocks: blocks as usize,
            pages_per_block: b as usize,
            logical_pages,
            events: Vec::new(),
        };
        let promised = (f64::from((blocks - kept) * b) * used) as u32;
        let layout = || Layout {
            frontier: Frontier::Pool { low: 2 },
            placement: PlacementSpec::parse(placement).unwrap(),
            streams: true,
            buffer: PageBuffer { pages_per_program: units, ..PageBuffer::default() },
            blocks_together: dies,
            die_by_die: Some(Members::new(dies, stripe)),
            seed,
            ..Layout::new(Geometry::new(blocks, b, promised.into()).unwrap())
        };
        let mut both = TwoForms::new(victim, &layout, placement);
        let mut slow =
            Reference::sequential(blocks as usize, b as usize, promised, Naive::Pool(2), seed);
        slow.dies = Some(turns.iter().flat_map(|&die| (0..units).map(move |_| die)).collect());
        naive_rule(placement, setting(promised)).into_iter().for_each(|rule| slow.place(rule));
        let mut pick = naive_pick(victim);
        for (index, &(share, is_trim)) in commands.iter().enumerate() {
            let page = ((share * share * f64::from(promised)) as u32).min(promised - 1);
            if is_trim {
                both.trim(page);
                slow.trim(page);
                continue;
            }
            let stream = (index % 4) as u8;
            let named = (stream < 3).then_some(stream);
            slow.write_in(page, named, &mut pick);
            prop_assert_eq!(both.write(page, named), (true, true));
        }
        let place = |page| slow.map.get(&page).map(|&(block, at)| (block as u32, at as u32));
        both.check((0..promised).map(place))?;
    }
}
