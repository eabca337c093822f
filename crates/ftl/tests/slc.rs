//! The SLC region of a page map over planes: worn, levelled and sorted blocks, units, and the words that policies
//! and placements get, each worked out by hand.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Cause, EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Levelling, Lifespan,
    PlaneLayout, SlcBlocks, SlcRegion, Stepwise, VictimSpec,
};

/// A map of one plane with this region, which the host uses. Of the layout the pool keeps two erased blocks.
fn with_region(region: SlcRegion, policy: &str, layout: Layout) -> Box<dyn Stepwise> {
    let layout = Layout { frontier: Frontier::Pool { low: 2 }, slc: Some(region), ..layout };
    let victim = VictimSpec::parse(policy).unwrap();
    let mut map = victim.build_stepwise(PlaneLayout::one(layout)).unwrap();
    map.use_slc();
    map
}

/// Folds the oldest SLC block.
fn fold(map: &mut dyn Stepwise) {
    assert!(map.can_fold(0, 2));
    map.begin_fold(0);
    while map.next_move(0).is_some() {
        map.copy(0).unwrap();
    }
    map.erase(0);
}

/// The host writes `pages` into the region.
fn write_slc(map: &mut dyn Stepwise, pages: std::ops::Range<u32>) {
    for page in pages {
        let ppn = map.write(page, 0).unwrap().expect("there is room");
        assert!(map.is_slc(ppn), "page {page}");
    }
}

fn bears(limit: u32, ends_at: EndOfLife) -> Option<Lifespan> {
    Some(Lifespan { endurance: Endurance::Fixed { limit }, ends_at })
}

/// Two blocks of two pages that bear two erases each take 8 pages, and no more. The drive goes on without
/// them: 20 blocks, of which 4 are promised and 7 kept, the region among them, have a reserve of 9.
#[test]
fn a_worn_slc_block_leaves_the_region_and_costs_the_reserve_nothing() {
    let geometry = Geometry::new(20, 6, 24).unwrap();
    for (waits, ends_at) in [
        (false, EndOfLife::SystemFailure),
        (true, EndOfLife::SystemFailure),
        (true, EndOfLife::FirstFailure),
    ] {
        let region = SlcRegion { blocks: SlcBlocks::Static(2), bits_per_cell: 3, waits };
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
            (map.wear().unwrap().bad_blocks(), map.waits_for_fold(0)),
            (1, waits && !map.has_ended())
        );
        if ends_at == EndOfLife::FirstFailure {
            assert!(map.has_ended() && !map.can_write(8, 0));
            assert_eq!(map.write(8, 0).unwrap(), None);
            continue;
        }
        fold(&mut *map);
        assert_eq!(map.wear().unwrap().failures(), [8, 8]);
        assert!(!map.has_ended() && !map.has_full_slc(0) && !map.waits_for_fold(0));
        let mut stream = Stream::new(2, "pages");
        while let Some(ppn) = map.write_at_once(stream.below(24), 0, 2, 2).unwrap() {
            assert!(!map.is_slc(ppn));
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
    let blocks = SlcBlocks::Dynamic { keep: 2, most: 3 };
    let region = SlcRegion { blocks, bits_per_cell: 3, waits: false };
    let geometry = Geometry::new(20, 6, 24).unwrap();
    let lifespan = bears(1, EndOfLife::SystemFailure);
    let layout = Layout { lifespan, fill: Fill::Empty, seed: 1, ..Layout::new(geometry) };
    let mut map = with_region(region, "greedy", layout);
    // 4 promised, and 2 + 2 + 2 kept.
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
    // The lent blocks are bad, and others are lent.
    write_slc(&mut *map, 6..8);
    assert_eq!(map.free_blocks(0), 15);
}

/// Each SLC block is erased many times, its pages dead, and the normal blocks with cold data never. Blocks
/// set aside are not compared with those, and lent ones are, since they are normal again.
#[test]
fn lent_blocks_are_levelled_and_blocks_set_aside_are_not() {
    for (blocks, is_levelled) in
        [(SlcBlocks::Static(2), false), (SlcBlocks::Dynamic { keep: 2, most: 2 }, true)]
    {
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
        let levelled = map.levelled().unwrap();
        assert_eq!(
            (levelled.collections > 0, levelled.copied_pages > 0),
            (is_levelled, is_levelled)
        );
    }
}

/// A drive of 12 blocks ends after 1000 x 12 collections without a host write. Here each of more than
/// 12000 collections makes room for folds, and the host writes into the region alone.
#[test]
fn writes_into_the_slc_region_show_that_collections_get_somewhere() {
    let region = SlcRegion { blocks: SlcBlocks::Static(2), bits_per_cell: 3, waits: true };
    let geometry = Geometry::new(12, 6, 24).unwrap();
    let mut map = with_region(region, "greedy", Layout::new(geometry));
    let (mut folds, mut written) = (0, 0);
    while map.counters().collections - folds <= 13_000 {
        while map.waits_for_fold(0) {
            if map.can_fold(0, 2) {
                fold(&mut *map);
                folds += 1;
            } else {
                map.collect_at_once(0).unwrap();
            }
        }
        let ppn = map.write(written % 24, 0).unwrap().expect("the region has room");
        assert!(map.is_slc(ppn));
        written += 1;
        assert!(written < 1_000_000, "{} collections", map.counters().collections);
    }
    map.audit().unwrap();
}
