//! A placement that knows the blocks of its pages, looks at their table and picks the victims: the
//! messages that it gets are true, it decides alike on both drives, and a saved drive goes on with
//! it.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Reader, State, Writer};
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{
    Class, Collected, Now, PicksVictims, Place, Placement, Remembers, SeesBlocks,
};
use flashgc_ftl::{
    BlockId, BlockTable, ExternalPlacement, Frontier, FtlError, Geometry, Layout, PlacementSpec,
    PlaneLayout, Stepwise, Translation, Victim, VictimSpec,
};

const NOWHERE: u32 = u32::MAX;
const PLANES: u32 = 2;

/// Sorts pages by the number of their writes. Picks victims by the age of blocks and by their
/// class.
#[derive(State)]
struct Joint {
    #[snapshot(skip)]
    picks: bool,
    #[snapshot(table)]
    writes: Vec<u32>,
    /// The block of each page, as the drive reported it.
    #[snapshot(table)]
    block: Vec<u32>,
    /// The pages that have their data on each block.
    #[snapshot(table)]
    valid: Vec<u32>,
    #[snapshot(table)]
    class: Vec<u8>,
    /// The number of the first block of each plane whose blocks the scheme was shown.
    #[snapshot(skip)]
    planes: Vec<BlockId>,
    looks: u64,
}

impl Joint {
    fn new(pages: u32, picks: bool) -> Self {
        Self {
            picks,
            writes: vec![0; pages as usize],
            block: vec![NOWHERE; pages as usize],
            valid: vec![0; 200],
            class: vec![0; 200],
            planes: Vec::new(),
            looks: 0,
        }
    }

    fn leaves(&mut self, page: u32, from: Option<Place>) {
        let known = std::mem::replace(&mut self.block[page as usize], NOWHERE);
        assert_eq!(from.map_or(NOWHERE, |from| from.block), known, "page {page}");
        if let Some(from) = from {
            self.valid[from.block as usize] -= 1;
            assert_eq!(from.class, self.class[from.block as usize]);
        }
    }

    fn comes(&mut self, page: u32, to: Place) {
        self.block[page as usize] = to.block;
        self.valid[to.block as usize] += 1;
        assert_eq!(to.class, self.class[to.block as usize]);
    }

    fn sees(&self, blocks: &BlockTable) {
        for block in 0..blocks.len() {
            let known = self.valid[(blocks.first() + block) as usize];
            assert_eq!(blocks.valid(block), known, "block {block}");
        }
    }
}

impl Placement for Joint {
    fn classes(&self) -> usize {
        3
    }

    fn takes_copies(&self, class: Class) -> bool {
        class > 0
    }

    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, _: Now) -> Class {
        assert_eq!(old.map_or(NOWHERE, |old| old.block), self.block[page as usize]);
        Class::from(self.writes[page as usize] < 5)
    }

    fn copy(&self, page: u32, from: Place, _: bool, _: Now) -> Class {
        assert_eq!(from.block, self.block[page as usize]);
        1 + Class::from(self.writes[page as usize] < 3)
    }

    fn holds(&mut self, page: u32, place: Place, _: Now) {
        self.comes(page, place);
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, _: Now) {
        self.leaves(page, from);
        self.comes(page, to);
        self.writes[page as usize] += 1;
    }

    fn trimmed(&mut self, page: u32, from: Place, _: Now) {
        self.leaves(page, Some(from));
        self.writes[page as usize] = 0;
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, _: Now) {
        self.leaves(page, Some(from));
        self.comes(page, to);
    }

    fn opened(&mut self, place: Place, _: Now) {
        assert_eq!(self.valid[place.block as usize], 0);
        self.class[place.block as usize] = place.class;
    }

    fn collected(&mut self, block: Collected, _: Now) {
        assert_eq!(self.valid[block.block as usize], block.valid);
        assert_eq!(self.class[block.block as usize], block.class);
    }

    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        Some(self)
    }

    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        if self.picks { Some(self) } else { None }
    }
}

impl SeesBlocks for Joint {
    fn begin(&mut self, blocks: &mut BlockTable) -> Result<(), FtlError> {
        assert_eq!(blocks.candidates(), 0);
        self.planes.push(blocks.first());
        Ok(())
    }

    fn look(&mut self, blocks: &BlockTable) {
        assert!(self.planes.contains(&blocks.first()));
        self.sees(blocks);
        self.looks += 1;
    }
}

impl PicksVictims for Joint {
    fn pick(&mut self, blocks: &BlockTable, _: &mut Stream) -> Option<BlockId> {
        self.sees(blocks);
        let age = |block: u32| {
            let age = blocks.host_clock() - blocks.closed_at_host()[block as usize];
            (age + 1) * (1 + u64::from(self.class[(blocks.first() + block) as usize]))
        };
        let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        let dead = |block| blocks.pages_per_block() - blocks.valid(block);
        candidates.max_by_key(|&block| (u64::from(dead(block)) * age(block), block))
    }
}

fn layout(picks: bool) -> Layout {
    let make = move |pages, _| Ok(Box::new(Joint::new(pages, picks)) as Box<dyn Placement>);
    let placement = PlacementSpec::from_outside(ExternalPlacement {
        name: "joint".to_string(),
        takes_copies: vec![false, true, true],
        asks_for_zombies: false,
        sees_blocks: true,
        remembers: Remembers::default(),
        make: Arc::new(make),
    });
    Layout {
        frontier: Frontier::Pool { low: 3 },
        placement,
        seed: 3,
        ..Layout::new(Geometry::with_spare(200, 16, 0.25).unwrap())
    }
}

fn commands(pages: u32) -> Vec<(u32, bool)> {
    let mut stream = Stream::new(11, "skewed");
    let mut command = || {
        let page = stream.below(pages);
        (if stream.below(10) < 8 { page / 10 } else { page }, stream.below(12) == 0)
    };
    (0..20_000).map(|_| command()).collect()
}

/// Writes runs of pages at once.
fn in_batches(layer: &mut dyn Translation, commands: &[(u32, bool)]) {
    for run in commands.chunk_by(|(_, was_trim), (_, is_trim)| was_trim == is_trim) {
        let pages: Vec<u32> = run.iter().map(|&(page, _)| page).collect();
        match run[0].1 {
            true => layer.trim(&pages).unwrap(),
            false => layer.write(&pages).unwrap(),
        }
    }
}

fn in_steps(map: &mut dyn Stepwise, commands: &[(u32, bool)]) {
    let (low, planes) = (3 + map.reserved_blocks() - 1, map.planes());
    for &(page, is_trim) in commands {
        match is_trim {
            true => _ = map.trim(page).unwrap(),
            false => _ = map.write_at_once(page, page % planes, low, low).unwrap(),
        }
    }
}

#[test]
fn what_a_placement_sees_is_true_and_both_drives_show_the_same() {
    let greedy = Victim::Registered(VictimSpec::parse("greedy").unwrap());
    for (victim, picks) in [(greedy, false), (Victim::Placement("joint".to_string()), true)] {
        let mut whole = victim.build(layout(picks)).unwrap();
        let mut steps = victim.build(PlaneLayout::one(layout(picks))).unwrap();
        let commands = commands(whole.geometry().logical_pages());
        in_batches(&mut *whole, &commands);
        in_steps(&mut *steps, &commands);
        whole.audit().unwrap();
        steps.audit().unwrap();
        assert!(whole.counters().collections > 500, "{victim}");
        assert_eq!(steps.counters(), whole.counters(), "{victim}");
        assert_eq!(steps.decisions(), whole.decisions(), "{victim}");
        assert_eq!(victim.bytes(&layout(picks)).unwrap(), whole.memory_bytes(), "{victim}");
    }
}

#[test]
fn a_saved_drive_goes_on_with_what_its_scheme_knows() {
    let victim = Victim::Placement("joint".to_string());
    let make = || victim.build(layout(true)).unwrap();
    let (mut one, mut other) = (make(), make());
    let commands = commands(one.geometry().logical_pages());
    let (first, rest) = commands.split_at(9000);
    in_batches(&mut *one, first);
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    one.save(&mut to);
    to.finish().unwrap();
    let mut source = &bytes[..];
    other.restore(&mut Reader::new(&mut source, bytes.len() as u64)).unwrap();
    in_batches(&mut *one, rest);
    in_batches(&mut *other, rest);
    other.audit().unwrap();
    assert_eq!(other.decisions(), one.decisions());
}

#[test]
fn one_scheme_picks_on_all_planes() {
    let victim = Victim::Placement("joint".to_string());
    let home = |page| page % PLANES;
    let planes = PlaneLayout { layout: layout(true), planes: PLANES, first: 0, home: &home };
    let mut map = victim.build(planes).unwrap();
    let commands = commands(map.geometry().logical_pages());
    in_steps(&mut *map, &commands);
    map.audit().unwrap();
    assert!((0..PLANES).all(|plane| map.plane_counters(plane).collections > 200));
}

#[test]
fn victims_are_not_left_to_a_placement_that_picks_none() {
    let victim = Victim::Placement("joint".to_string());
    for layout in [layout(false), Layout { placement: PlacementSpec::default(), ..layout(true) }] {
        let error = victim.build(layout).err().unwrap().to_string();
        assert!(error.contains("leaves the victims to placement, which has no method"), "{error}");
    }
}
