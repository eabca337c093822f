//! Reclaim groups against naive drives: one naive drive for each group. A page that the host writes
//! to another group is written there and trimmed where it was.

use flashgc_base::rng::Stream;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_ftl::{
    EndOfLife, Endurance, Frontier, Geometry, Layout, Lifespan, Members, PageBuffer, PlacementSpec,
    PlaneLayout, Shrinking, Translation, VictimSpec,
};
use proptest::prelude::*;

use crate::reference::picks::naive_pick;
use crate::reference::rules::{Setting, naive_rule};
use crate::reference::{Frontier as Naive, Pick, Placed, Reference};

const VICTIMS: [&str; 4] = ["greedy", "fifo", "d-choices:d=3", "cost-benefit"];

/// Erased blocks below which a group collects.
const LOW: u32 = 2;

#[derive(Clone, Debug)]
struct Case {
    groups: u8,
    handles: u8,
    persistent: u8,
    victim: usize,
    pages_per_block: u32,
    blocks: u32,
    used: f64,
    seed: u64,
    batch: usize,
    /// The page of each operation as a share of the drive, its stream as a share of all, and `true`
    /// for a write or `false` for a TRIM.
    operations: Vec<(f64, f64, bool)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (1u8..5, 1u8..4, 0u8..4, 0..VICTIMS.len(), 2u32..9, 0u32..8, 0.3..1.0f64);
    let operation = (0.0..1.0f64, 0.0..1.0f64, prop::bool::weighted(0.93));
    let operations = prop::collection::vec(operation, 1..900);
    (shape, any::<u64>(), 1usize..400, operations).prop_map(|(shape, seed, batch, operations)| {
        let (groups, handles, persistent, victim, pages_per_block, blocks, used) = shape;
        let persistent = persistent.min(handles);
        Case {
            groups,
            handles,
            persistent,
            victim,
            pages_per_block,
            blocks,
            used,
            seed,
            batch,
            operations,
        }
    })
}

/// The naive drive: a drive for each group.
struct Groups {
    handles: u8,
    drives: Vec<Reference>,
    /// The valid pages that each group holds at most.
    limit: usize,
    /// The group of each page that has data.
    group_of: Vec<Option<usize>>,
    /// Writes that went to another group than they named.
    outside: u64,
}

impl Groups {
    /// The number of `page` in the drive of `group`. First contents have the numbers from 0 on.
    fn number(&self, page: u32, group: usize) -> u32 {
        let groups = self.drives.len() as u32;
        if page % groups == group as u32 { page / groups } else { 1_000_000 + page }
    }

    fn write(&mut self, page: u32, stream: Option<u8>, pick: Pick) {
        let (count, home) = (self.drives.len(), page as usize % self.drives.len());
        let group = stream.map(|stream| usize::from(stream / self.handles));
        let named = group.filter(|&group| group < count);
        let first = named.unwrap_or(home);
        let now = self.group_of[page as usize];
        let has_room =
            |&group: &usize| now == Some(group) || self.drives[group].map.len() < self.limit;
        let group =
            (first..count).chain(0..first).find(has_room).expect("the groups hold all pages");
        self.outside += u64::from(named.is_some_and(|named| named != group));
        let handle = named.map(|_| stream.unwrap() % self.handles);
        let number = self.number(page, group);
        self.drives[group].write_in(number, handle, pick);
        if let Some(old) = now.filter(|&old| old != group) {
            let number = self.number(page, old);
            self.drives[old].trim(number);
        }
        self.group_of[page as usize] = Some(group);
    }

    fn trim(&mut self, page: u32) {
        if let Some(group) = self.group_of[page as usize].take() {
            let number = self.number(page, group);
            self.drives[group].trim(number);
        }
    }
}

fn placement(groups: u8, handles: u8, persistent: u8) -> PlacementSpec {
    let text = format!("fdp:handles={handles},persistent={persistent},groups={groups}");
    PlacementSpec::parse(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn groups_are_drives_of_their_own(case in cases()) {
        let Case { groups, handles, persistent, pages_per_block, .. } = case;
        let count = u32::from(groups);
        let rule = || {
            let text = format!("fdp:handles={handles},persistent={persistent}");
            let setting = Setting { blocks: 0, pages_per_block: 1, logical_pages: 1, events: Vec::new() };
            naive_rule(&text, setting).unwrap()
        };
        let kept = Placed::kept(&*rule()) as u32 + LOW;
        let blocks = kept + 2 + case.blocks;
        let most = (blocks - kept) * pages_per_block * count;
        let pages = ((f64::from(most) * case.used) as u32).max(count);
        let pages = pages - pages % count;
        let layout = Layout {
            frontier: Frontier::Pool { low: LOW },
            placement: placement(groups, handles, persistent),
            streams: true,
            seed: case.seed,
            ..Layout::new(Geometry::new(blocks * count, pages_per_block, pages.into()).unwrap())
        };
        let spec = VictimSpec::parse(VICTIMS[case.victim]).unwrap();
        let mut fast = spec.build(layout.clone()).unwrap();
        let (b, share) = (pages_per_block as usize, pages / count);
        let drives = (0..count).map(|group| {
            let low = Naive::Pool(LOW as usize);
            let mut drive = Reference::sequential(blocks as usize, b, share, low, case.seed);
            let name = if group == 0 { "victim".into() } else { format!("victim/{group}") };
            drive.rng = Stream::new(case.seed, &name);
            drive.place(rule());
            drive
        });
        let mut slow = Groups {
            handles,
            drives: drives.collect(),
            // The share of the logical pages, and half of the spare.
            limit: (share + ((blocks - kept) * pages_per_block - share) / 2) as usize,
            group_of: (0..pages).map(|page| Some((page % count) as usize)).collect(),
            outside: 0,
        };
        let filled = u64::from(pages);
        let mut pick = naive_pick(VICTIMS[case.victim]);
        let (mut waiting, mut streams) = (Vec::new(), Vec::new());
        for (index, &(share, stream, is_write)) in case.operations.iter().enumerate() {
            let page = (share * share * f64::from(pages)) as u32;
            // One stream more than there are identifiers, and none.
            let stream = (stream * f64::from(groups * handles + 2)) as u8;
            let stream = Some(stream).filter(|&stream| stream <= groups * handles);
            if is_write {
                waiting.push(page);
                streams.push(stream.unwrap_or(NO_STREAM));
                slow.write(page, stream, &mut pick);
            }
            if !is_write || waiting.len() == case.batch || index + 1 == case.operations.len() {
                write_all(&mut *fast, &mut waiting, &mut streams);
            }
            if !is_write {
                fast.trim(&[page]).unwrap();
                slow.trim(page);
            }
        }
        fast.audit().map_err(TestCaseError::fail)?;
        let programs: u64 = slow.drives.iter().map(|drive| drive.programs).sum();
        prop_assert_eq!(fast.counters().programs(), programs - filled);
        prop_assert_eq!(fast.counts().streams.unwrap().outside_group, slow.outside);
        for page in 0..pages {
            let place = slow.group_of[page as usize].map(|group| {
                let number = slow.number(page, group);
                let (block, offset) = slow.drives[group].map[&number];
                ((group as u32) * blocks + block as u32, offset as u32)
            });
            prop_assert_eq!(fast.locate(page), place, "page {}", page);
        }
        for (plane, drive) in (0..count).zip(&slow.drives) {
            prop_assert_eq!(fast.blocks(plane).erase_counts(), &drive.erases[..]);
        }
        // A map over planes that is driven step by step decides alike.
        if count > 1 {
            in_steps(&case, layout, &*fast)?;
        }
    }
}

/// Drives a map over planes, one a group, with the operations of `case`: it ends as `batches` did.
fn in_steps(case: &Case, layout: Layout, batches: &dyn Translation) -> Result<(), TestCaseError> {
    let planes = u32::from(case.groups);
    let layout = PlaneLayout { layout, planes, first: 0, home: &|page| page % planes };
    let spec = VictimSpec::parse(VICTIMS[case.victim]).unwrap();
    let mut map = spec.build(layout).unwrap();
    let pages = map.geometry().logical_pages();
    let low = LOW + map.reserved_blocks() - 1;
    for &(share, stream, is_write) in &case.operations {
        let page = (share * share * f64::from(pages)) as u32;
        if !is_write {
            map.trim(page).unwrap();
            continue;
        }
        let identifiers = case.groups * case.handles;
        let stream = (stream * f64::from(identifiers + 2)) as u8;
        let stream = Some(stream).filter(|&stream| stream <= identifiers).unwrap_or(NO_STREAM);
        map.streams().unwrap().name(&[page], &[stream]).unwrap();
        let plane = map.plane_of_write(page, page % planes, &[]);
        map.write_at_once(page, plane, low, low).unwrap().unwrap();
    }
    map.audit().map_err(TestCaseError::fail)?;
    prop_assert_eq!(map.counters(), batches.counters());
    prop_assert_eq!(map.decisions(), batches.decisions());
    prop_assert_eq!(map.counts().streams, batches.counts().streams);
    Ok(())
}

fn write_all(layer: &mut dyn Translation, pages: &mut Vec<u32>, streams: &mut Vec<StreamId>) {
    let mut done = 0;
    while done < pages.len() {
        let taker = layer.streams().unwrap();
        let count = taker.name(&pages[done..], &streams[done..]).unwrap();
        layer.write(&pages[done..][..count]).unwrap();
        done += count;
    }
    pages.clear();
    streams.clear();
}

#[test]
fn the_worked_example_fills_one_group() {
    // Two groups of 9 blocks of 4 pages; 24 logical pages, 12 a group. Each keeps 2 erased blocks, and
    // has one open for writes and one for copies, so 5 blocks of 20 pages are left: 8 pages of spare.
    // A group holds 12 + 4 pages. All writes name group 1. After 6 of its 12 pages are trimmed, it takes
    // the first 10 of the even pages.
    let layout = Layout {
        frontier: Frontier::Pool { low: LOW },
        placement: placement(2, 1, 0),
        streams: true,
        buffer: PageBuffer::default(),
        ..Layout::new(Geometry::new(18, 4, 24).unwrap())
    };
    let mut layer = VictimSpec::parse("greedy").unwrap().build(layout).unwrap();
    let group = |layer: &dyn Translation, page| layer.locate(page).map(|(block, _)| block / 9);
    assert_eq!((group(&*layer, 4), group(&*layer, 5)), (Some(0), Some(1)));
    let odd: Vec<u32> = (0..12).map(|index| 2 * index + 1).collect();
    layer.trim(&odd[..6]).unwrap();
    let even: Vec<u32> = (0..12).map(|index| 2 * index).collect();
    for &page in &even {
        layer.streams().unwrap().name(&[page], &[1]).unwrap();
        layer.write(&[page]).unwrap();
    }
    let of_even: Vec<_> = even.iter().map(|&page| group(&*layer, page)).collect();
    assert_eq!(of_even, [&[Some(1); 10][..], &[Some(0); 2]].concat());
    assert_eq!(layer.counts().streams.unwrap().outside_group, 2);
    layer.audit().unwrap();
}

/// A group that holds more than its share wears out earlier than the drive's reserve says. The life then
/// ends; no write fails in another way.
#[test]
fn a_drive_ends_its_life_when_an_overfull_group_wears_out() {
    for seed in 0..12 {
        let shrinking = Shrinking { members: Members::new(4, None), least: 0.5 };
        let layout = Layout {
            frontier: Frontier::Pool { low: LOW },
            placement: placement(2, 1, 0),
            streams: true,
            blocks_together: 4,
            shrinking: (seed % 3 > 0).then_some(shrinking),
            lifespan: Some(Lifespan {
                endurance: Endurance::parse("normal:mean=60,cv=0.2").unwrap(),
                ends_at: EndOfLife::SystemFailure,
            }),
            seed,
            ..Layout::new(Geometry::new(100, 128, 10_240).unwrap())
        };
        let mut layer = VictimSpec::parse("greedy").unwrap().build(layout).unwrap();
        let mut rng = Stream::new(seed, "pages");
        while !layer.has_ended() {
            // Four fifths of the pages name group 0, and get half of the writes.
            let page = if rng.below(2) == 0 { rng.below(8192) } else { 8192 + rng.below(2048) };
            let stream = StreamId::from(page >= 8192);
            layer.streams().unwrap().name(&[page], &[stream]).unwrap();
            layer.write_until(&[page], u64::MAX).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
        layer.audit().unwrap();
        assert!(
            (0..10_240).all(|page| layer.locate(page).is_some()),
            "seed {seed}: a page is lost"
        );
        assert!(layer.counts().streams.unwrap().outside_group > 0);
    }
}
