//! The SLC region of a page map over planes: worn, levelled and sorted blocks, units, and the
//! messages to policies and placements, each worked out by hand.

use std::sync::{Arc, Mutex};

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Now, Place, Placement, Remembers};
use flashgc_ftl::track::{Origin, Tracker};
use flashgc_ftl::{
    BlockTable, Cause, EndOfLife, Endurance, ExternalPlacement, Fill, FoldOf, Frontier, Geometry,
    Layer, Layout, Levelling, Lifespan, PageBuffer, PlacementSpec, PlaneLayout, PlaneMap,
    SlcBlocks, SlcRegion, Stepwise, UNMAPPED, VictimPolicy, VictimSpec,
};

/// A map of one plane with this region, into which the host writes. Its pool keeps two erased
/// blocks.
pub(crate) fn with_region(region: SlcRegion, policy: &str, layout: Layout) -> Box<dyn Stepwise> {
    let layout = Layout { frontier: Frontier::Pool { low: 2 }, slc: Some(region), ..layout };
    let victim = VictimSpec::parse(policy).unwrap();
    let mut map = victim.build(PlaneLayout::one(layout)).unwrap();
    map.slc_mut().unwrap().start(u32::MAX);
    map
}

/// Folds the oldest SLC block.
pub(crate) fn fold(map: &mut dyn Stepwise) {
    assert!(map.slc().unwrap().can_fold(0, FoldOf::Any, 2));
    map.slc_mut().unwrap().begin_fold(0, FoldOf::Any);
    while map.next_move(0).is_some() {
        map.copy(0).unwrap();
    }
    while !map.buffer().is_protected && map.program_copies(0).is_some() {}
    map.erase(0);
}

/// The host writes `pages` into the region.
fn write_slc(map: &mut dyn Stepwise, pages: std::ops::Range<u32>) {
    for page in pages {
        let ppn = map.write(page, 0).unwrap().expect("there is room");
        assert!(map.slc().unwrap().holds(ppn), "page {page}");
    }
}

fn bears(limit: u32, ends_at: EndOfLife) -> Option<Lifespan> {
    Some(Lifespan { endurance: Endurance::fixed(limit), ends_at })
}

/// Two blocks of two pages that bear two erases each take 8 pages, and no more. The drive goes on
/// without them: 20 blocks, of which 4 are promised and 7 kept, the region among them, have a
/// reserve of 9.
#[test]
fn a_worn_slc_block_leaves_the_region_and_costs_the_reserve_nothing() {
    let geometry = Geometry::new(20, 6, 24).unwrap();
    for (waits, ends_at) in [
        (false, EndOfLife::SystemFailure),
        (true, EndOfLife::SystemFailure),
        (true, EndOfLife::FirstFailure),
    ] {
        let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 3, waits };
        let lifespan = bears(2, ends_at);
        let layout = Layout { lifespan, fill: Fill::Empty, seed: 1, ..Layout::new(geometry) };
        let mut map = with_region(region, "greedy", layout);
        assert_eq!(map.wear().unwrap().reserve(), 9);
        write_slc(&mut *map, 0..4);
        (0..2).for_each(|_| fold(&mut *map));
        write_slc(&mut *map, 4..8);
        fold(&mut *map);
        map.audit().unwrap();
        assert_eq!(
            (map.wear().unwrap().bad_blocks(), map.slc().unwrap().waits_for_fold(0)),
            (1, waits && !map.has_ended())
        );
        if ends_at == EndOfLife::FirstFailure {
            assert!(map.has_ended() && !map.can_write(8, 0));
            assert_eq!(map.write(8, 0).unwrap(), None);
            continue;
        }
        fold(&mut *map);
        assert_eq!(map.wear().unwrap().failures(), [8, 8]);
        assert!(
            !map.has_ended()
                && !map.slc().unwrap().has_full(0)
                && !map.slc().unwrap().waits_for_fold(0)
        );
        let mut stream = Stream::new(2, "pages");
        while let Some(ppn) = map.write_at_once(stream.below(24), 0, 2, 2).unwrap() {
            assert!(!map.slc().unwrap().holds(ppn));
        }
        map.audit().unwrap();
        let wear = map.wear().unwrap();
        assert_eq!((wear.bad_blocks(), wear.system_failure().unwrap().1), (2 + 10, Cause::Reserve));
        assert!((0..8).all(|page| map.locate(page).is_some()));
    }
}

/// Each lent block bears one erase: its fold takes a block from the pool and gives none back.
#[test]
fn a_worn_lent_block_leaves_the_pool() {
    let blocks = SlcBlocks::lent(2, 3);
    let region = SlcRegion { blocks, bits_per_cell: 3, waits: false };
    let geometry = Geometry::new(20, 6, 24).unwrap();
    let lifespan = bears(1, EndOfLife::SystemFailure);
    let layout = Layout { lifespan, fill: Fill::Empty, seed: 1, ..Layout::new(geometry) };
    let mut map = with_region(region, "greedy", layout);
    // The reserve of 20 blocks: 4 are promised, and 2 + 2 + 2 are kept.
    assert_eq!((map.free_blocks(0), map.wear().unwrap().reserve()), (20, 10));
    write_slc(&mut *map, 0..6);
    assert_eq!(map.free_blocks(0), 17);
    // The first fold opens a block for six pages.
    for (folds, free) in [(1, 16), (2, 16), (3, 16)] {
        fold(&mut *map);
        map.audit().unwrap();
        let bad = map.wear().unwrap().bad_blocks();
        assert_eq!((map.free_blocks(0), bad), (free, folds));
    }
    // The blocks lent before are bad, so others are lent now.
    write_slc(&mut *map, 6..8);
    assert_eq!(map.free_blocks(0), 15);
}

/// The first worn block ends this drive: its other SLC block is erased, but takes no more pages.
#[test]
fn a_drive_that_has_ended_takes_no_page_into_its_region() {
    let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 3, waits: true };
    let lifespan = bears(1, EndOfLife::FirstFailure);
    let layout = Layout { lifespan, ..Layout::new(Geometry::new(20, 6, 24).unwrap()) };
    let mut map = with_region(region, "greedy", layout);
    write_slc(&mut *map, 0..2);
    assert!(map.can_write(2, 0));
    fold(&mut *map);
    assert!(map.has_ended() && !map.can_write(2, 0) && !map.slc().unwrap().waits_for_fold(0));
    assert_eq!(map.write(2, 0).unwrap(), None);
    map.audit().unwrap();
}

/// Blocks bear few erases, so many victims in a row wear out. A fold begins only if its pages find
/// room: no drive fails before its life is over, and it ends with its data.
#[test]
fn worn_drives_with_a_lent_region_end_with_their_data() {
    for seed in 0..400 {
        let mut stream = Stream::new(seed, "worn");
        let placements = ["fdp:handles=2", "sepbit", "dac:regions=2", "none"];
        let placement = placements[stream.below(4) as usize];
        let placement = PlacementSpec::parse(placement).unwrap();
        let blocks = SlcBlocks::lent(8, 1 + stream.below(6));
        let region = SlcRegion { blocks, bits_per_cell: 2, waits: stream.below(2) == 0 };
        let endurance = Endurance::normal(2, 0.5);
        let layout = Layout {
            lifespan: Some(Lifespan { endurance, ends_at: EndOfLife::SystemFailure }),
            streams: true,
            placement,
            seed,
            ..Layout::new(Geometry::new(40, 4, 60).unwrap())
        };
        let mut map = with_region(region, "greedy", layout);
        let low = 1 + map.reserved_blocks();
        while !map.has_ended() {
            let page = stream.below(60);
            map.streams().unwrap().name(&[page], &[stream.below(2) as _]).unwrap();
            while !map.has_ended()
                && (!map.can_write(page, 0)
                    || map.free_blocks(0) <= low
                    || map.slc().unwrap().has_full(0) && stream.below(9) == 0)
            {
                map.close_full(page, 0);
                match map.slc().unwrap().can_fold(0, FoldOf::Any, low) {
                    true => fold(&mut *map),
                    false => map.collect_at_once(0).unwrap_or_else(|why| panic!("{seed}: {why}")),
                }
                map.open_closed(0);
            }
            let written = map.write(page, 0).unwrap();
            assert_eq!(written.is_some(), !map.has_ended());
        }
        map.audit().unwrap_or_else(|why| panic!("{seed}: {why}"));
        assert!((0..60).all(|page| map.locate(page).is_some()), "{seed}: a page is lost");
    }
}

/// Lent blocks bear one erase. A fold begins even if it needs the last erased block, because it
/// usually gives one back. Here its block is worn out.
#[test]
fn a_lent_block_is_folded_into_the_last_erased_block() {
    for (placement, folds, cause) in
        [("none", 9, Cause::Pool), ("fdp:handles=2", 8, Cause::Reserve)]
    {
        let blocks = SlcBlocks::lent(2, u32::MAX);
        let region = SlcRegion { blocks, bits_per_cell: 3, waits: false };
        let layout = Layout {
            placement: PlacementSpec::parse(placement).unwrap(),
            lifespan: bears(1, EndOfLife::SystemFailure),
            fill: Fill::Empty,
            ..Layout::new(Geometry::new(20, 6, 30).unwrap())
        };
        let mut map = with_region(region, "greedy", layout);
        // The host fills 18 SLC blocks of two pages. The pages of the first three are dead, and
        // three blocks fill a normal one.
        write_slc(&mut *map, 0..30);
        write_slc(&mut *map, 0..6);
        (0..6).for_each(|_| fold(&mut *map));
        assert_eq!((map.free_blocks(0), map.wear().unwrap().bad_blocks()), (1, 6));
        fold(&mut *map);
        assert_eq!((map.free_blocks(0), map.has_ended()), (0, false));
        (7..folds).for_each(|_| fold(&mut *map));
        if !map.has_ended() {
            // There is no room for the pages of another fold, nor for those of a normal block that
            // would be collected: neither can begin.
            assert!(!map.slc().unwrap().can_fold(0, FoldOf::Any, 2));
            assert_eq!(map.begin_collection(0).unwrap(), None);
        }
        assert_eq!(map.wear().unwrap().system_failure().unwrap().1, cause, "{placement}");
        assert!((0..30).all(|page| map.locate(page).is_some()));
        map.audit().unwrap();
    }
}

/// An empty drive with two placement handles.
fn two_handles() -> Layout {
    Layout {
        placement: PlacementSpec::parse("fdp:handles=2").unwrap(),
        streams: true,
        fill: Fill::Empty,
        ..Layout::new(Geometry::new(30, 12, 48).unwrap())
    }
}

/// A write that waits for the region needs no block: the full block of its class stays open.
#[test]
fn a_write_that_waits_for_a_fold_closes_no_block() {
    let region = SlcRegion { blocks: SlcBlocks::fixed(1), bits_per_cell: 3, waits: true };
    let mut map = with_region(region, "greedy", two_handles());
    for first in [0, 4, 8] {
        write_slc(&mut *map, first..first + 4);
        fold(&mut *map);
    }
    write_slc(&mut *map, 12..16);
    assert!(map.slc().unwrap().waits_for_fold(0));
    map.close_full(16, 0);
    assert_eq!(map.open_block(0, 0).map(|open| open.next), Some(12));
    assert_eq!(map.blocks_for_host(0), map.free_blocks(0));
}

/// The region has only one SLC block, and that block is being folded. So no full block is left to
/// fold, and no SLC block can take a write. If the region makes writes wait, a write waits for the
/// end of the fold.
#[test]
fn a_write_waits_for_the_fold_under_way() {
    for blocks in [SlcBlocks::fixed(1), SlcBlocks::lent(2, 1)] {
        for waits in [true, false] {
            let region = SlcRegion { blocks, bits_per_cell: 3, waits };
            let layout =
                Layout { fill: Fill::Empty, ..Layout::new(Geometry::new(20, 12, 24).unwrap()) };
            let mut map = with_region(region, "greedy", layout);
            write_slc(&mut *map, 0..4);
            assert!(map.slc().unwrap().has_full(0));
            map.slc_mut().unwrap().begin_fold(0, FoldOf::Any);
            for _ in 0..4 {
                assert!(!map.slc().unwrap().has_full(0));
                assert_eq!(map.slc().unwrap().waits_for_fold(0), waits, "{blocks:?}");
                map.next_move(0).expect("a page to move");
                map.copy(0).unwrap();
            }
            assert_eq!(map.slc().unwrap().waits_for_fold(0), waits, "{blocks:?}");
            map.erase(0);
            assert!(!map.slc().unwrap().waits_for_fold(0));
            write_slc(&mut *map, 4..5);
            map.audit().unwrap();
        }
    }
}

/// The SLC blocks are erased many times, when all their pages are dead. The normal blocks with cold
/// data are never erased. Levelling compares them with lent blocks, which become normal again, but
/// not with blocks that are set aside.
#[test]
fn lent_blocks_are_levelled_and_blocks_set_aside_are_not() {
    for (blocks, is_levelled) in [(SlcBlocks::fixed(2), false), (SlcBlocks::lent(2, 2), true)] {
        let region = SlcRegion { blocks, bits_per_cell: 3, waits: true };
        let layout = Layout {
            levelling: Some(Levelling { threshold: 2, interval: 1 }),
            ..Layout::new(Geometry::new(20, 6, 24).unwrap())
        };
        let mut map = with_region(region, "greedy", layout);
        write_slc(&mut *map, 0..1);
        write_slc(&mut *map, 0..1);
        for _ in 0..90 {
            write_slc(&mut *map, 0..1);
            write_slc(&mut *map, 0..1);
            fold(&mut *map);
            map.audit().unwrap();
        }
        let most = *map.blocks(0).erase_counts().iter().max().unwrap();
        assert!(most > 4 && map.counters().copied_pages == 0, "{most} erases");
        for _ in 0..4 {
            map.collect_at_once(0).unwrap();
            map.audit().unwrap();
        }
        let levelled = map.counts().levelled.unwrap();
        assert_eq!(
            (levelled.collections > 0, levelled.copied_pages > 0),
            (is_levelled, is_levelled)
        );
    }
}

/// The pages of the next victim find room in the pool and in the open blocks: as much as one block
/// for each class. This holds after all that the host writes between two steps of a fold or a
/// collection.
#[test]
fn the_next_victim_finds_room_whatever_comes_between_the_steps_of_a_fold() {
    for placement in ["fdp:handles=3", "sepbit", "dac:regions=3,threshold=100"] {
        let placement = PlacementSpec::parse(placement).unwrap();
        let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 2, waits: false };
        let geometry = Geometry::new(60, 24, 480).unwrap();
        let layout = Layout { streams: true, placement, ..Layout::new(geometry) };
        let mut map = with_region(region, "greedy", layout);
        let classes = map.open_blocks() - 1;
        let low = map.reserved_blocks();
        assert_eq!(low, classes);
        let mut stream = Stream::new(6, "pages");
        let (mut folds, mut between) = (0, 0);
        for _ in 0..60_000 {
            let page = stream.below(480);
            map.streams().unwrap().name(&[page], &[stream.below(3) as _]).unwrap();
            let is_under_way = map.victim(0).is_some();
            let was_open = stream.below(4) > 0 && map.can_write(page, 0);
            if was_open {
                let ppn = map.write(page, 0).unwrap().expect("there is room");
                between += u32::from(is_under_way && !map.slc().unwrap().holds(ppn));
            } else if !is_under_way {
                map.close_full(page, 0);
                if map.slc().unwrap().can_fold(0, FoldOf::Any, low) {
                    map.slc_mut().unwrap().begin_fold(0, FoldOf::Any);
                    folds += 1;
                } else if map.free_blocks(0) <= low + 1 {
                    map.begin_collection(0).unwrap().unwrap();
                }
            } else if map.next_move(0).is_some() {
                map.copy(0).unwrap();
            } else {
                map.erase(0);
                map.open_closed(0);
                let room = |class| map.open_block(0, class).map_or(0, |open| 24 - open.next);
                let open: u32 = (0..classes as Class).map(room).sum();
                let all = map.free_blocks(0) * 24 + open;
                assert!(all >= classes * 24, "room for {all} pages");
            }
        }
        map.audit().unwrap();
        assert!(folds > 300 && between > 1000, "{folds} folds, {between} pages between steps");
    }
}

/// Pages of two handles lie side by side in the region. A fold sorts them by the streams of their
/// writes, although the next write of each page has another stream by then.
#[test]
fn folded_pages_go_to_the_class_of_their_write() {
    let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 3, waits: false };
    let mut map = with_region(region, "greedy", two_handles());
    let name = |map: &mut dyn Stepwise, page: u32, stream| {
        map.streams().unwrap().name(&[page], &[stream]).unwrap();
    };
    for page in 0..8 {
        name(&mut *map, page, (page % 2) as _);
        write_slc(&mut *map, page..page + 1);
        name(&mut *map, page, ((page + 1) % 2) as _);
    }
    map.trim(4).unwrap();
    (0..2).for_each(|_| fold(&mut *map));
    map.audit().unwrap();
    let block = |map: &dyn Stepwise, page| map.locate(page).unwrap() >> 4;
    let open = |map: &dyn Stepwise, class| map.open_block(0, class).unwrap();
    assert_eq!([0, 2, 6].map(|page| block(&*map, page)), [open(&*map, 0).block; 3]);
    assert_eq!([1, 3, 5, 7].map(|page| block(&*map, page)), [open(&*map, 1).block; 4]);
    assert_eq!([0, 1].map(|class| open(&*map, class).next), [3, 4]);
    let totals = map.counts().streams.unwrap();
    let counts = [0, 1].map(|stream| totals.streams[stream]);
    assert_eq!(counts.map(|it| (it.host_pages, it.copied_pages)), [(4, 3), (4, 4)]);
    assert_eq!(totals.moved_blocks, 0);
    // A fold may open a block for each of three classes: two handles and the copies. The region has
    // one more open block.
    assert_eq!((map.reserved_blocks(), map.open_blocks()), (3, 4));
}

/// A placement that writes down each message, and alternates between two classes.
#[derive(Debug, Default, State)]
#[snapshot(refused = "a test does not save it")]
struct Told(Arc<Mutex<Vec<String>>>);

impl Placement for Told {
    fn classes(&self) -> usize {
        3
    }

    fn takes_copies(&self, class: Class) -> bool {
        class == 2
    }

    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let old = old.map_or(0, |old| old.class);
        ((u64::from(page) + now.host + u64::from(old)) % 2) as Class
    }

    fn copy(&self, _: u32, _: Place, _: bool, _: Now) -> Class {
        2
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        let (from, to) = (from.map(|from| from.class), to.class);
        self.0.lock().unwrap().push(format!("{page} {from:?} {to} {}", now.host));
    }

    fn trimmed(&mut self, page: u32, from: Place, now: Now) {
        let from = from.class;
        self.0.lock().unwrap().push(format!("{page} {from} trimmed {}", now.host));
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, _: Now) {
        let (from, to) = (from.class, to.class);
        self.0.lock().unwrap().push(format!("{page} copied {from} {to}"));
    }
}

/// As long as nothing is collected, a placement gets the messages that it gets on a drive without a
/// region.
#[test]
fn a_placement_hears_nothing_of_the_region() {
    let told = [false, true].map(|has_region| {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = notes.clone();
        let placement = PlacementSpec::from_outside(ExternalPlacement {
            name: "told".into(),
            takes_copies: vec![false, false, true],
            asks_for_zombies: false,
            sees_blocks: false,
            remembers: Remembers::default(),
            make: Arc::new(move |_, _| Ok(Box::new(Told(kept.clone())))),
        });
        let region = SlcRegion { blocks: SlcBlocks::fixed(3), bits_per_cell: 3, waits: true };
        let layout = Layout {
            frontier: Frontier::Pool { low: 2 },
            placement,
            slc: has_region.then_some(region),
            ..Layout::new(Geometry::new(200, 24, 240).unwrap())
        };
        let victim = VictimSpec::parse("greedy").unwrap();
        let mut map = victim.build(PlaneLayout::one(layout)).unwrap();
        if let Some(slc) = map.slc_mut() {
            slc.start(u32::MAX);
        }
        let mut stream = Stream::new(8, "told");
        for _ in 0..1500 {
            let page = stream.below(240);
            if stream.below(9) == 0 {
                map.trim(page).unwrap();
                continue;
            }
            while map.slc().is_some_and(|slc| slc.waits_for_fold(0)) {
                fold(&mut *map);
            }
            map.write(page, 0).unwrap().expect("there is room");
        }
        map.audit().unwrap();
        assert_eq!(map.counters().copied_pages > 500, has_region);
        drop(map);
        notes.lock().unwrap().clone()
    });
    assert!(told[0].len() > 1400);
    assert_eq!(told[0], told[1]);
}

/// A block of five flash pages with four units has one flash page in SLC mode, and so four units.
#[test]
fn an_slc_block_has_whole_flash_pages() {
    let geometry = Geometry::new(30, 20, 120).unwrap();
    for is_protected in [true, false] {
        let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 3, waits: false };
        let layout = Layout {
            buffer: PageBuffer { units_per_page: 4, is_protected, ..PageBuffer::default() },
            fill: Fill::Empty,
            ..Layout::new(geometry)
        };
        let mut map = with_region(region, "greedy", layout);
        write_slc(&mut *map, 0..3);
        let first = map.locate(0).unwrap();
        assert!((0..3).all(|page| map.is_buffered(map.locate(page).unwrap())));
        assert_eq!(map.host_room(3, 0).pages, 1);
        write_slc(&mut *map, 3..4);
        assert!(map.slc().unwrap().has_full(0) && !map.is_buffered(first));
        // The second block gets one unit. It is full when that unit is flushed.
        write_slc(&mut *map, 4..5);
        let fifth = map.locate(4).unwrap();
        assert_eq!((map.program_host_data(0), map.program_host_data(0)), (Some(fifth), None));
        assert_eq!(map.counts().packing.unwrap().padding, 3);
        map.audit().unwrap();
        let direct = map.write(5, 0).unwrap().unwrap();
        assert!(!map.slc().unwrap().holds(direct), "the region is full");
        (0..2).for_each(|_| fold(&mut *map));
        map.audit().unwrap();
        // The folds read two flash pages. Four units fill a page, and the fifth waits or is padded.
        let packing = map.counts().packing.unwrap();
        assert_eq!((packing.pages_read, packing.padding), (2, if is_protected { 3 } else { 6 }));
        let folded = map.locate(4).unwrap();
        assert_eq!((map.is_buffered(folded), map.unit_in_page(folded)), (is_protected, 0));
        assert_eq!(map.counters().copied_pages, 5);
        write_slc(&mut *map, 6..14);
        let direct = map.write(14, 0).unwrap().unwrap();
        assert!(!map.slc().unwrap().holds(direct));
    }
}

/// A message to a tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Programmed(u32),
    Died(u32),
    /// The ppn of the page, the ppn that its data had before, and its origin.
    Inherited(u32, Option<u64>, Origin),
    Folded(u32),
    Closed(u32),
}

/// A policy that picks the lowest candidate, and notes the messages to its tracker. The heritage of
/// a page is its ppn.
#[derive(Clone, Default, State)]
#[snapshot(refused = "a test does not save it")]
struct Noting(Arc<Mutex<Vec<Note>>>);

impl Tracker for Noting {
    const FOLLOWS_DEATHS: bool = true;
    const FOLLOWS_PROGRAMS: bool = true;
    const FOLLOWS_ORIGINS: bool = true;

    fn bytes(_: &Geometry) -> u64 {
        0
    }

    fn pages_died(&mut self, _: &BlockTable, old: &[u32], _: u64) {
        let dead = old.iter().filter(|&&ppn| ppn != UNMAPPED);
        self.0.lock().unwrap().extend(dead.map(|&ppn| Note::Died(ppn)));
    }

    fn pages_programmed(&mut self, _: &BlockTable, first: u32, count: u32) {
        self.0.lock().unwrap().extend((first..first + count).map(Note::Programmed));
    }

    fn heritage(&self, ppn: u32, _: bool, _: u64) -> u64 {
        ppn.into()
    }

    fn inherited(&mut self, ppn: u32, heritage: Option<u64>, origin: Origin, _: u64) {
        self.0.lock().unwrap().push(Note::Inherited(ppn, heritage, origin));
    }

    fn folded(&mut self, block: u32) {
        self.0.lock().unwrap().push(Note::Folded(block));
    }

    fn closed(&mut self, _: &BlockTable, block: u32) {
        self.0.lock().unwrap().push(Note::Closed(block));
    }
}

impl VictimPolicy for Noting {
    type Tracker = Self;
    const NAME: &'static str = "noting";
    const PARAMS: &'static [Param] = &[];
    const DRAWS: bool = false;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self::default())
    }

    fn tracker(&self, _: &BlockTable) -> Self {
        self.clone()
    }

    fn pick(&mut self, blocks: &BlockTable, _: &Self, _: &mut Stream) -> Option<u32> {
        (0..blocks.len()).find(|&block| blocks.is_candidate(block))
    }
}

/// A tracker learns of SLC blocks only what pages inherit, and which block is folded.
#[test]
fn a_tracker_hears_of_slc_blocks_only_what_pages_inherit() {
    for (blocks, slc) in [(SlcBlocks::fixed(2), [10, 11]), (SlcBlocks::lent(3, 2), [0, 1])] {
        let layout = Layout {
            frontier: Frontier::Pool { low: 2 },
            slc: Some(SlcRegion { blocks, bits_per_cell: 3, waits: false }),
            fill: Fill::Empty,
            ..Layout::new(Geometry::new(12, 6, 12).unwrap())
        };
        let policy = Noting::default();
        let notes = policy.0.clone();
        let take = || std::mem::take(&mut *notes.lock().unwrap());
        let mut map =
            PlaneMap::with_policy(PlaneLayout::one(layout), |_, _| Ok(policy.clone())).unwrap();
        map.slc_mut().unwrap().start(u32::MAX);
        let at = |block: usize, offset| slc[block] << 3 | offset;
        write_slc(&mut map, 0..2);
        write_slc(&mut map, 0..2);
        let host = |to, from: Option<u32>| Note::Inherited(to, from.map(u64::from), Origin::Host);
        let [first, second] = [0, 1].map(|block| at(block, 0));
        assert_eq!(
            take(),
            [
                host(first, None),
                host(first + 1, None),
                host(second, Some(first)),
                host(second + 1, Some(first + 1)),
            ]
        );
        // The next write finds the region full, and goes to a normal block.
        let direct = map.write(1, 0).unwrap().unwrap();
        assert_eq!(take(), [Note::Programmed(direct), host(direct, Some(second + 1))]);
        fold(&mut map);
        assert_eq!(take(), [Note::Folded(slc[0])]);
        fold(&mut map);
        let folded = map.locate(0).unwrap();
        let by_fold = Note::Inherited(folded, Some(second.into()), Origin::Fold);
        assert_eq!(take(), [Note::Folded(slc[1]), Note::Programmed(folded), by_fold]);
        // The death of a page in a normal block is reported again.
        map.trim(0).unwrap();
        assert_eq!(take(), [Note::Died(folded)]);
        map.audit().unwrap();
    }
}

/// A drive of 12 blocks ends after 1000 x 12 collections without a host write. Here each of more
/// than 12000 collections makes room for folds, and the host writes into the region alone.
#[test]
fn writes_into_the_slc_region_show_that_collections_get_somewhere() {
    let region = SlcRegion { blocks: SlcBlocks::fixed(2), bits_per_cell: 3, waits: true };
    let geometry = Geometry::new(12, 6, 24).unwrap();
    let mut map = with_region(region, "greedy", Layout::new(geometry));
    let (mut folds, mut written) = (0, 0);
    while map.counters().collections - folds <= 13_000 {
        while map.slc().unwrap().waits_for_fold(0) {
            if map.slc().unwrap().can_fold(0, FoldOf::Any, 2) {
                fold(&mut *map);
                folds += 1;
            } else {
                map.collect_at_once(0).unwrap();
            }
        }
        let ppn = map.write(written % 24, 0).unwrap().expect("the region has room");
        assert!(map.slc().unwrap().holds(ppn));
        written += 1;
        assert!(written < 1_000_000, "{} collections", map.counters().collections);
    }
    map.audit().unwrap();
}
