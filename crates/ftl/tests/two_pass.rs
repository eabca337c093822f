//! Word lines that are programmed in two passes, compared with lists of what each die has programmed.

use std::collections::{HashMap, HashSet};

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Fill, Frontier, Geometry, Layout, Members, PageBuffer, PlaneLayout, SecondPass, Stepwise,
    VictimSpec,
};

const UNITS: u32 = 6;
const ROWS: u32 = 4;
const BLOCKS: u32 = 24;

/// The programs of a superblock that each die has made, in rows.
#[derive(Default)]
struct Dies {
    /// The units in the order in which they were placed, with padding.
    placed: u32,
    /// For each die, its first passes: the units of data, or `None` for parity.
    first: HashMap<u32, Vec<Option<Vec<u32>>>>,
    /// The units whose second pass is made.
    fine: HashSet<u32>,
}

impl Dies {
    /// Puts the unit at `offset` into its program. A program that is full gets its first pass, and the
    /// program below it on the die its second.
    fn place(&mut self, members: Members, offset: u32) {
        assert_eq!(offset, self.placed, "units follow each other");
        self.placed += 1;
        if !self.placed.is_multiple_of(UNITS) {
            return;
        }
        let index = self.placed / UNITS - 1;
        let place = members.place(index);
        let units = (index * UNITS..self.placed).collect();
        self.pass(place.member, Some(units));
        if let Some(parity) = place.parity.filter(|_| place.is_last) {
            self.pass(parity, None);
        }
        let is_full =
            (0..members.dies).all(|die| self.first.get(&die).map_or(0, Vec::len) == ROWS as usize);
        if is_full {
            for programs in self.first.values() {
                self.fine.extend(programs.last().into_iter().flatten().flatten());
            }
        }
    }

    fn pass(&mut self, die: u32, units: Option<Vec<u32>>) {
        let programs = self.first.entry(die).or_default();
        if let Some(Some(below)) = programs.last() {
            self.fine.extend(below);
        }
        programs.push(units);
    }
}

/// Writes and collects on a drive of superblocks over these dies, and compares what waits in the
/// buffer after each step. Returns the padding.
fn compare(members: Members, is_protected: bool) -> u64 {
    let of_row = members.stripe.map_or(members.dies, |parts| members.dies - members.dies / parts);
    let b = ROWS * of_row * UNITS;
    let buffer = PageBuffer {
        units_per_page: 3,
        pages_per_program: 2,
        second_pass: Some(SecondPass::of(members)),
        is_protected,
        ..PageBuffer::default()
    };
    let pages = if is_protected { BLOCKS - 8 } else { 8 } * b;
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        buffer,
        fill: Fill::Empty,
        ..Layout::new(Geometry::new(BLOCKS, b, pages.into()).unwrap())
    };
    let mut map = VictimSpec::parse("greedy").unwrap().build(PlaneLayout::one(layout)).unwrap();
    let mut blocks: HashMap<u32, Dies> = HashMap::new();
    let mut stream = Stream::new(u64::from(members.dies), "two-pass");
    let (mut padding, mut waited, mut programmed) = (0, 0, 0);
    let place = |blocks: &mut HashMap<u32, Dies>, map: &dyn Stepwise, ppn: u32| {
        let (block, offset) = map.geometry().place_of(ppn);
        blocks.entry(block).or_default().place(members, offset);
    };
    // Pads the program that `first` begins.
    let pad = |blocks: &mut HashMap<u32, Dies>, map: &dyn Stepwise, first: u32| {
        let (block, offset) = map.geometry().place_of(first);
        let dies = blocks.get_mut(&block).unwrap();
        let from = dies.placed;
        assert!(offset <= from && from < offset + UNITS);
        (from..offset + UNITS).for_each(|offset| dies.place(members, offset));
        u64::from(offset + UNITS - from)
    };
    for step in 0..20_000 {
        let page = stream.below(pages);
        while map.host_room(page, 0).pages == 0 && map.free_blocks(0) <= 2 {
            map.begin_collection(0).unwrap().unwrap();
            while map.next_move(0).is_some() {
                let ppn = map.copy(0).unwrap().unwrap();
                place(&mut blocks, &*map, ppn);
            }
            while !is_protected && let Some(first) = map.program_copies(0) {
                padding += pad(&mut blocks, &*map, first);
            }
            blocks.remove(&map.erase(0));
        }
        let ppn = map.write(page, 0).unwrap().unwrap();
        place(&mut blocks, &*map, ppn);
        if !is_protected && stream.below(40) == 0 {
            while let Some(first) = map.program_host_data(0) {
                padding += pad(&mut blocks, &*map, first);
            }
            assert!(!map.is_buffered(ppn), "a flush programs the data of the host");
        }
        if step % 7 > 0 {
            continue;
        }
        for page in 0..pages {
            let Some(ppn) = map.locate(page) else { continue };
            let (block, offset) = map.geometry().place_of(ppn);
            let is_fine = blocks[&block].fine.contains(&offset);
            match members.stripe {
                None => assert_eq!(map.is_buffered(ppn), !is_fine, "{members:?} {step} {ppn}"),
                // Data stay for the parity of the stripe below at most.
                Some(_) => assert!(map.is_buffered(ppn) || is_fine, "{members:?} {step} {ppn}"),
            }
            waited += u64::from(map.is_buffered(ppn));
            programmed += u64::from(!map.is_buffered(ppn));
        }
    }
    map.audit().unwrap();
    assert!(map.counters().collections > 20 && waited > 1000 && programmed > waited);
    assert_eq!(map.counts().packing.unwrap().padding, padding);
    padding
}

#[test]
fn units_wait_until_their_die_has_made_their_second_pass() {
    for (dies, stripe) in [(1, None), (3, None), (2, Some(2)), (4, Some(2)), (6, Some(3))] {
        assert_eq!(compare(Members { dies, stripe, planes: 1 }, true), 0);
    }
    for (dies, stripe) in [(1, None), (2, None), (4, Some(4))] {
        assert!(compare(Members { dies, stripe, planes: 1 }, false) > 1000);
    }
}
