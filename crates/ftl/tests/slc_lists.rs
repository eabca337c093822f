//! The SLC region of a page map over planes beside lists that say where each page is written, which block
//! a fold takes, and which block is worn out.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    EndOfLife, Endurance, FoldOf, Geometry, Layout, Lending, Lifespan, SlcBlocks, SlcRegion,
    Stepwise,
};

use crate::slc::{fold, with_region};

/// The region of a plane as lists: what it writes where, and which block a fold takes.
struct Naive {
    region: SlcBlocks,
    /// Blocks of the plane, the first of those set aside among them.
    first_set_aside: u32,
    pages: usize,
    erased: Vec<u32>,
    open: Option<(u32, Vec<u32>)>,
    full: Vec<(u32, Vec<u32>)>,
}

impl Naive {
    fn lent(&self) -> impl Iterator<Item = &(u32, Vec<u32>)> {
        self.full.iter().filter(|(block, _)| *block < self.first_set_aside)
    }

    /// Says if a write goes to the region of a pool that has `free` erased blocks, and to which of
    /// its parts: `true` for a block that is set aside.
    fn takes(&self, free: u32) -> Option<bool> {
        if let Some((block, _)) = self.open {
            return Some(block >= self.first_set_aside);
        }
        let lends = self.region.lending.is_some_and(|Lending { keep, most }| {
            free > keep && (self.lent().count() as u32) < most
        });
        if self.erased.is_empty() { lends.then_some(false) } else { Some(true) }
    }

    fn write(&mut self, page: u32, block: u32) {
        let (opened, held) = self.open.get_or_insert_with(|| (block, Vec::new()));
        assert_eq!(*opened, block);
        if held.is_empty() && block >= self.first_set_aside {
            assert_eq!(self.erased.remove(0), block);
        }
        held.push(page);
        if held.len() == self.pages {
            self.full.extend(self.open.take());
        }
    }

    /// The pages that the next fold copies, except those that are written anew.
    fn fold(&mut self) -> Option<(u32, Vec<u32>)> {
        let lent = self.full.iter().position(|(block, _)| *block < self.first_set_aside);
        let place = lent.or((!self.full.is_empty()).then_some(0))?;
        let folded = self.full.remove(place);
        self.erased.extend((folded.0 >= self.first_set_aside).then_some(folded.0));
        Some(folded)
    }
}

/// Writes fill blocks that are set aside, then blocks that the pool lends, then normal ones; folds take
/// lent blocks, then blocks set aside, the oldest first.
#[test]
fn regions_of_both_kinds_of_blocks_do_what_lists_do() {
    for (blocks, least) in [
        (SlcBlocks::lent(8, 5).beside(3), [300, 9_000, 9_000]),
        (SlcBlocks::lent(8, 5), [0, 9_000, 9_000]),
        (SlcBlocks::fixed(3), [9_000, 0, 9_000]),
    ] {
        let region = SlcRegion { blocks, bits_per_cell: 3, waits: false };
        let geometry = Geometry::new(60, 12, 360).unwrap();
        let mut map = with_region(region, "greedy", Layout::new(geometry));
        let first_set_aside = 60 - blocks.set_aside;
        let erased = (first_set_aside..60).collect();
        let mut naive = Naive {
            region: blocks,
            first_set_aside,
            pages: 4,
            erased,
            open: None,
            full: Vec::new(),
        };
        let mut stream = Stream::new(5, "lists");
        let mut counts = [0, 0, 0];
        for _ in 0..30_000 {
            let page = stream.below(360);
            // The region begins with an erased block only if the pool has more than it keeps.
            while map.free_blocks(0) <= 2 + stream.below(9) {
                map.collect_at_once(0).unwrap();
            }
            if stream.below(8) == 0 && map.slc().unwrap().can_fold(0, FoldOf::Any, 2) {
                let (block, pages) = naive.fold().expect("a full block");
                let at_block = |map: &dyn Stepwise, page| map.locate(page).unwrap() >> 4 == block;
                let moved: Vec<u32> =
                    pages.into_iter().filter(|&page| at_block(&*map, page)).collect();
                let before = map.counters().copied_pages;
                let valid: Vec<u32> = (0..360).filter(|&page| at_block(&*map, page)).collect();
                fold(&mut *map);
                assert!(valid.iter().all(|page| moved.contains(page)));
                assert_eq!(map.counters().copied_pages - before, valid.len() as u64);
                assert!(!(0..360).any(|page| at_block(&*map, page)), "block {block} is folded");
                continue;
            }
            let expected = naive.takes(map.free_blocks(0));
            let Some(ppn) = map.write(page, 0).unwrap() else { panic!("there is room") };
            let block = ppn >> 4;
            let found = map.slc().unwrap().holds(ppn).then_some(block >= first_set_aside);
            assert_eq!(found, expected);
            counts[expected.map_or(2, |set_aside| usize::from(!set_aside))] += 1;
            if expected.is_some() {
                naive.write(page, block);
            }
        }
        map.audit().unwrap();
        assert!(counts.iter().zip(least).all(|(count, least)| *count >= least), "{counts:?}");
    }
}

/// Blocks bear 4 erases, or 12 with one bit a cell: an erase of a block in SLC mode is a third of a
/// cycle. A list of thirds says when each block is worn out.
#[test]
fn an_erase_with_one_bit_a_cell_costs_its_share_of_a_cycle() {
    for blocks in [SlcBlocks::lent(4, 6).beside(3), SlcBlocks::lent(4, 6), SlcBlocks::fixed(3)] {
        let region = SlcRegion { blocks, bits_per_cell: 3, waits: false };
        let endurance = Endurance { slc: Some(12), ..Endurance::fixed(4) };
        let lifespan = Some(Lifespan { endurance, ends_at: EndOfLife::SystemFailure });
        let layout = Layout { lifespan, ..Layout::new(Geometry::new(60, 12, 360).unwrap()) };
        let mut map = with_region(region, "greedy", layout);
        let mut thirds = [0; 60];
        let mut stream = Stream::new(4, "thirds");
        let (mut last, mut mixed) = ([0; 2], 0);
        while !map.has_ended() {
            let page = stream.below(360);
            let free = map.free_blocks(0);
            let folds = stream.below(4) == 0 && map.slc().unwrap().can_fold(0, FoldOf::Any, 2);
            if !folds && free > 3 && map.can_write(page, 0) {
                map.write(page, 0).unwrap().expect("there is room");
                continue;
            }
            let victim = match folds {
                true => map.slc_mut().unwrap().begin_fold(0, FoldOf::Any),
                false => match map.begin_collection(0).unwrap() {
                    Some(victim) => victim,
                    None => break,
                },
            };
            while map.next_move(0).is_some() {
                map.copy(0).unwrap();
            }
            map.erase(0);
            let worn = &mut thirds[victim.block as usize];
            let before = *worn;
            *worn += if folds { 1 } else { 3 };
            mixed += u32::from(before % 3 > 0 && !folds);
            let is_bad = map.wear().unwrap().is_bad(victim.block);
            assert_eq!(
                (before < 12, is_bad),
                (true, *worn >= 12),
                "{blocks:?}, block {worn} of 12"
            );
            last[usize::from(folds)] += u32::from(is_bad);
            map.audit().unwrap();
        }
        let lends = blocks.lending.is_some();
        assert!(last[0] > 5 && (mixed > 20) == lends, "{last:?} {mixed}");
        // The blocks of a region that lends none are worn out by 12 folds each.
        assert!(lends || (thirds[57..] == [12; 3] && last[1] == 3), "{last:?}");
    }
}
