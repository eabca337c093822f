//! Facts of log-block mappings: the paper's worked example to the page, merges worked out by hand,
//! and which mapping suits which writes.

use crate::page_cache::Cache;
use flashgc_base::rng::Stream;
use flashgc_base::{Cached, Region, Residency};
use flashgc_ftl::{
    Allocation, Costs, Counters, Duplicates, Fill, Frontier, FtlError, Geometry, Layout, Mapping,
    Merges, PlacementSpec, Scheme, Translation, VictimSpec, schemes,
};

fn layout(geometry: Geometry, fill: Fill) -> Layout {
    let allocation = Allocation::default();
    let frontier = Frontier::Pool { low: 2 };
    let placement = PlacementSpec::default();
    let (levelling, lifespan) = (None, None);
    Layout {
        slc: None,
        buffer: flashgc_ftl::PageBuffer::default(),
        blocks_together: 1,
        shrinking: None,
        die_by_die: None,
        geometry,
        frontier,
        placement,
        streams: false,
        allocation,
        levelling,
        lifespan,
        fill,
        seed: 1,
    }
}

fn build(mapping: &str, geometry: Geometry, fill: Fill) -> Result<Box<dyn Translation>, FtlError> {
    let greedy = VictimSpec::parse("greedy")?;
    Mapping::parse(mapping)?.build(layout(geometry, fill), &|layout| greedy.build(layout))
}

fn made(mapping: &str, blocks: u32, b: u32, pages: u64) -> Box<dyn Translation> {
    build(mapping, Geometry::new(blocks, b, pages).unwrap(), Fill::Sequential).unwrap()
}

/// The page cache of Figures 1 to 3, from P9, used last, to P2, used longest ago. The paper names
/// P9, P11, P1 and P2 and says that the other two are no duplicates of PBN 3's data blocks.
struct Figure(Vec<(u32, bool, Region)>);

impl Figure {
    fn new() -> Self {
        use Region::{Lru, Mru};
        Self(vec![
            (9, false, Mru),
            (11, true, Mru),
            (5, false, Mru),
            (7, false, Lru),
            (1, false, Lru),
            (2, true, Lru),
        ])
    }

    fn dirty(&self) -> Vec<u32> {
        let mut pages: Vec<u32> = self.0.iter().filter(|page| page.1).map(|page| page.0).collect();
        pages.sort();
        pages
    }
}

impl Residency for Figure {
    fn lookup(&self, page: u32) -> Option<Cached> {
        let found = self.0.iter().find(|(other, ..)| *other == page);
        found.map(|&(_, dirty, region)| Cached { dirty, region })
    }

    fn set_dirty(&mut self, page: u32, dirty: bool) {
        self.0.iter_mut().find(|(other, ..)| *other == page).unwrap().1 = dirty;
    }

    /// The host writes pages used lately again, and no others.
    fn update_probability(&self, region: Region) -> f64 {
        if region == Region::Lru { 0.0 } else { 1.0 }
    }

    fn follow_changes(&mut self) {}

    fn drain_changes(&mut self, _: &mut Vec<u32>) {}
}

/// The effect of the collection of the figures' PBN 3.
struct Collected {
    copies: u64,
    erases: u64,
    duplicates: Duplicates,
    dirty: Vec<u32>,
    /// C_GC in milliseconds.
    cost: f64,
    layer: Box<dyn Translation>,
}

/// The drive of Figure 1: three data blocks of four pages, two log blocks with P1, P3, P8, P10 and
/// P4, P5, P4, P4, and two erased blocks. Then the host writes one more page, which is not cached.
fn figure(scheme: &str) -> Collected {
    let mut layer = made("fast:log_blocks=2,sequential=0,victim=rr,log_only=yes", 7, 4, 12);
    layer.write(&[1, 3, 8, 10, 4, 5, 4, 4]).unwrap();
    // PBN 3 holds P1, P3, P8 and P10, as drawn.
    let log = [1, 3, 8, 10].map(|page| layer.locate(page).unwrap());
    assert_eq!(log, [(3, 0), (3, 1), (3, 2), (3, 3)]);
    assert_eq!([layer.locate(5), layer.locate(4)], [Some((4, 1)), Some((4, 3))]);
    let mut memory = Figure::new();
    layer
        .memory()
        .unwrap()
        .share(Scheme::parse(scheme).unwrap(), Costs::PAPER, &mut memory)
        .unwrap();
    layer.memory().unwrap().swap_out(6, &mut memory).unwrap();
    layer.audit().unwrap();
    let Counters { copied_pages, erases, collections, .. } = layer.counters();
    assert_eq!(collections, 1);
    Collected {
        copies: copied_pages,
        erases,
        duplicates: layer.counts().duplicates.unwrap_or_default(),
        dirty: memory.dirty(),
        cost: Costs::PAPER
            .collections(&layer.counters(), &layer.counts().duplicates.unwrap_or_default())
            as f64
            / 1e6,
        layer,
    }
}

#[test]
fn figure_1_du_gc_moves_all_eight_pages() {
    let done = figure("du-gc");
    // A = 2 data blocks and the log block are erased, and 8 pages are copied: 3 * 2 ms + 8 * 0.225
    // ms.
    assert_eq!((done.copies, done.erases, done.cost), (8, 3, 7.8));
    assert_eq!(done.dirty, [2, 11]);
    for page in 0..4 {
        assert_eq!(done.layer.locate(page), Some((5, page)));
        assert_eq!(done.layer.locate(8 + page), Some((6, page)));
    }
}

#[test]
fn figure_2_da_gc_moves_four_and_p1_and_p9_become_dirty() {
    let done = figure("da-gc");
    // Three erases, and copies of the delta = 4 pages on flash alone: 3 * 2 ms + 4 * 0.225 ms.
    assert_eq!((done.copies, done.erases, done.cost), (4, 3, 6.9));
    assert_eq!(done.dirty, [1, 2, 9, 11]);
    assert_eq!(done.duplicates, Duplicates { made_dirty: 2, left_dirty: 2, flushed: 0 });
    let on_flash = (0..12).filter(|&page| done.layer.locate(page).is_some());
    assert_eq!(on_flash.collect::<Vec<_>>(), [0, 3, 4, 5, 6, 7, 8, 10]);
}

#[test]
fn figure_3_lda_bm_copies_p1_and_keeps_it_clean() {
    let done = figure("lda-gc2");
    assert_eq!((done.copies, done.erases), (5, 3));
    assert_eq!(done.dirty, [2, 9, 11]);
    assert_eq!(done.layer.locate(1), Some((5, 1)));
    assert_eq!(done.layer.locate(9), None);
}

#[test]
fn lde_writes_p2_back_and_cleans_it() {
    let done = figure("lda-gc4");
    assert_eq!((done.copies, done.erases, done.duplicates.flushed), (5, 3, 1));
    assert_eq!(done.dirty, [9, 11]);
    assert_eq!(done.layer.locate(2), Some((5, 2)));
    // Three erases, five copies, and one page read from memory (C_b = 0.05 ms) and programmed (0.2
    // ms): 3 * 2 ms + 5 * 0.225 ms + 0.25 ms.
    assert_eq!(done.cost, 7.375);
}

#[test]
fn table_i_says_what_each_scheme_makes_of_a_duplicate() {
    // Which of four pages are dirty after a collection: P11 (dirty before) and P9 (clean) of the
    // MRU region, P2 (dirty) and P1 (clean) of the LRU region.
    let dirty = |scheme| {
        let done = figure(scheme);
        [11, 9, 2, 1].map(|page| done.dirty.contains(&page))
    };
    for da in ["da-gc", "lda-gc1"] {
        assert_eq!(dirty(da), [true, true, true, true], "{da}");
    }
    for bm in ["lda-gc2", "lda-gc3"] {
        assert_eq!(dirty(bm), [true, true, true, false], "{bm}");
    }
    for lde in ["lda-gc4", "lda-gc5"] {
        assert_eq!(dirty(lde), [true, true, false, false], "{lde}");
    }
    assert_eq!(dirty("du-gc"), [true, false, true, false]);
    // Dirty pages are written back wherever they are in the cache.
    assert_eq!(dirty("ba-gc"), [false, false, false, false]);
}

#[test]
fn the_cheaper_of_two_log_blocks_is_taken_by_cost() {
    // PBN 4 has one data block, PBN 3 has two: A = 1, 4 pages against A = 2, 8 pages.
    let mut layer = made("fast:log_blocks=2,sequential=0,victim=cost,log_only=yes", 7, 4, 12);
    layer.write(&[1, 3, 8, 10, 4, 5, 4, 4, 6]).unwrap();
    assert_eq!((layer.counters().erases, layer.counters().copied_pages), (2, 4));
    assert_eq!(layer.locate(1), Some((3, 0)), "PBN 3 is still a log block");
    assert_eq!(layer.counts().merges.map(|merges| (merges.picks, merges.weighed)), Some((1, 2)));
    // A window of one log block looks only at the oldest one.
    let mut layer =
        made("fast:log_blocks=2,sequential=0,victim=cost,window=1,log_only=yes", 7, 4, 12);
    layer.write(&[1, 3, 8, 10, 4, 5, 4, 4, 6]).unwrap();
    assert_eq!((layer.counters().erases, layer.counters().copied_pages), (3, 8));
}

fn kinds(layer: &dyn Translation) -> [u64; 4] {
    let Merges { switch, partial, full, dead, .. } = layer.counts().merges.unwrap();
    [switch, partial, full, dead]
}

#[test]
fn merge_kinds_of_fast_are_those_worked_out_by_hand() {
    // Blocks of 4 pages, one sequential and one random log block.
    let fast = || made("fast:log_blocks=2", 6, 4, 12);
    let copies = |layer: &dyn Translation| layer.counters().copied_pages;
    // A whole logical block in order: a switch, one erase, no copy.
    let mut layer = fast();
    layer.write(&[0, 1, 2, 3]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([1, 0, 0, 0], 0, 1));
    // The first two pages of a logical block, then another block begins: the other two are copied
    // behind them.
    let mut layer = fast();
    layer.write(&[0, 1, 4]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([0, 1, 0, 0], 2, 1));
    // The first two, and the second once more, out of order. That write breaks the run: the logical
    // block is completed, and the page goes to the random log block.
    let mut layer = fast();
    layer.write(&[0, 1, 1]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer)), ([0, 1, 0, 0], 2));
    // Five random writes into a log block of four, of two logical blocks: a full merge, 8 copies,
    // 3 erases.
    let mut layer = fast();
    layer.write(&[1, 5, 2, 6, 9]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([0, 0, 1, 0], 8, 3));
    // A log block whose pages were all discarded holds nothing: it is only erased.
    let mut layer = fast();
    layer.write(&[1, 5, 2, 6]).unwrap();
    layer.trim(&[1, 2, 5, 6]).unwrap();
    layer.write(&[9]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([0, 0, 0, 1], 0, 1));
}

#[test]
fn the_first_page_of_a_random_log_block_is_merged_too() {
    // The newest P1 is at offset 0 of the log block. A scan that leaves out offset 0 would bring
    // back the old P1.
    let mut layer = made("fast:log_blocks=2", 6, 4, 12);
    layer.write(&[1, 5, 2, 6, 9]).unwrap();
    let data = |page: u32| layer.locate(page).unwrap();
    assert_eq!(data(1).1, 1);
    assert_eq!(data(1).0, data(2).0);
    layer.audit().unwrap();
}

#[test]
fn a_sequential_merge_takes_newer_copies_from_random_log_blocks() {
    // P3 is newer in a random log block when the run of P0, P1 is completed: P3 comes from there,
    // which leaves that log block without a page.
    let mut layer = made("fast:log_blocks=2", 6, 4, 12);
    layer.write(&[3]).unwrap();
    let (log, _) = layer.locate(3).unwrap();
    layer.write(&[0, 1, 4]).unwrap();
    assert_eq!(kinds(&*layer), [0, 1, 0, 0]);
    assert_eq!(layer.locate(3).map(|(_, offset)| offset), Some(3));
    assert_eq!(layer.blocks(0).valid(log), 0);
}

#[test]
fn merge_kinds_of_bast_are_those_worked_out_by_hand() {
    // Blocks of 4 pages, two log blocks.
    let bast = || made("bast:log_blocks=2", 6, 4, 12);
    let copies = |layer: &dyn Translation| layer.counters().copied_pages;
    // The pages in order, then the first once more: a switch when the log block is full and needed
    // again.
    let mut layer = bast();
    layer.write(&[0, 1, 2, 3, 0]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([1, 0, 0, 0], 0, 1));
    // The first page of three logical blocks: the log block written longest ago is completed.
    let mut layer = bast();
    layer.write(&[0, 4, 8]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([0, 1, 0, 0], 3, 1));
    // Log blocks that do not begin with the first page: a full merge, which erases the log block
    // and the data block.
    let mut layer = bast();
    layer.write(&[1, 5, 9]).unwrap();
    assert_eq!((kinds(&*layer), copies(&*layer), layer.counters().erases), ([0, 0, 1, 0], 4, 2));
    assert_eq!(layer.locate(5).map(|(_, offset)| offset), Some(0), "P5 stays in its log block");
    // The log block written longest ago is not the one opened longest ago: the second write of P1
    // saves its log block.
    let mut layer = bast();
    layer.write(&[1, 5, 1, 9]).unwrap();
    assert_eq!(layer.locate(1).map(|(_, offset)| offset), Some(1));
    let mut layer = made("bast:log_blocks=2,victim=rr", 6, 4, 12);
    layer.write(&[1, 5, 2, 9]).unwrap();
    assert_eq!(layer.locate(5).map(|(_, offset)| offset), Some(0), "opened second, still there");
    assert_eq!(layer.locate(2).map(|(_, offset)| offset), Some(2), "merged with the first");
}

#[test]
fn first_writes_go_to_their_data_blocks_unless_all_go_to_the_log() {
    let geometry = Geometry::new(6, 4, 12).unwrap();
    let offset_of_5 = |mapping: &str| {
        let mut layer = build(mapping, geometry, Fill::Empty).unwrap();
        layer.write(&[6, 5]).unwrap();
        layer.locate(5).unwrap().1
    };
    assert_eq!(offset_of_5("fast:log_blocks=2"), 1);
    // P6 was programmed before P5, so P5 would be out of order in the data block.
    assert_eq!(offset_of_5("fast:log_blocks=2,strict_order=yes"), 0);
    assert_eq!(offset_of_5("fast:log_blocks=2,log_only=yes"), 1, "behind P6 in the log block");
    assert_eq!(offset_of_5("bast:log_blocks=2,log_only=yes"), 1);
}

/// Write amplification of `writes` pages on a drive of 64 blocks of 32 pages, 12 of them spare.
fn amplification(mapping: &str, writes: impl Iterator<Item = u32>) -> (f64, Box<dyn Translation>) {
    let mut layer = made(mapping, 64, 32, 52 * 32);
    let pages: Vec<u32> = writes.collect();
    layer.write(&pages).unwrap();
    layer.audit().unwrap();
    let counters = layer.counters();
    (counters.programs() as f64 / counters.host_pages as f64, layer)
}

#[test]
fn sequential_writes_give_only_switch_merges() {
    for mapping in ["fast", "bast", "fast:sequential=0", "fast:log_only=yes"] {
        let (wa, layer) = amplification(mapping, (0..5).flat_map(|_| 0..52 * 32));
        let [switches, partials, fulls, dead] = kinds(&*layer);
        assert_eq!((wa, partials, fulls, dead), (1.0, 0, 0, 0), "{mapping}");
        assert!(switches > 200, "{mapping}: {switches}");
    }
    // A drive whose last logical block is not whole: its pages in order are a switch as well.
    let mut layer = made("fast:log_blocks=2", 6, 4, 10);
    (0..3).for_each(|_| layer.write(&(0..10).collect::<Vec<_>>()).unwrap());
    assert_eq!(kinds(&*layer), [9, 0, 0, 0]);
}

#[test]
fn bast_thrashes_on_random_writes_where_fast_does_not_and_a_page_map_beats_both() {
    let mut rng = Stream::new(1, "writes");
    let pages: Vec<u32> = (0..60_000).map(|_| rng.below(52 * 32)).collect();
    let wa = |mapping| amplification(mapping, pages.iter().copied());
    let ((bast, layer), (fast, _), (page, _)) = (wa("bast"), wa("fast"), wa("page"));
    // 11 log blocks for 52 logical blocks: four of five writes find no log block of their logical
    // block. Each of them merges one, which copies up to 32 pages.
    assert!(bast > 20.0, "{bast}");
    // The random log blocks have 320 pages of 52 logical blocks, 6.2 pages of each. The merge of a
    // logical block frees these 6.2 pages for 32 copies, which makes 5.2 copies a write.
    assert!((fast - 6.2).abs() < 0.5, "{fast}");
    assert!(page < 0.6 * fast, "{page}, {fast}");
    let merges = layer.counters().collections as f64 / pages.len() as f64;
    assert!((merges - 0.8).abs() < 0.05, "{merges}");
}

#[test]
fn log_maps_need_a_fraction_of_a_page_maps_memory() {
    // A page map takes 4 bytes a page. A log-block mapping takes 4 a data block, and 4 a page of
    // its 11 log blocks.
    let bytes = |mapping| amplification(mapping, 0..1).1.map_bytes();
    assert_eq!(bytes("page"), 4 * 52 * 32);
    assert_eq!([bytes("fast"), bytes("bast")], [4 * (52 + 11 * 32); 2]);
}

#[test]
fn hammered_pages_do_not_stop_a_log_map() {
    for mapping in ["fast", "bast", "fast:log_blocks=2", "bast:log_blocks=1", "fast:victim=cost"] {
        for pages in [&[0][..], &[5], &[0, 33, 66], &[1, 0, 31]] {
            let writes = pages.iter().copied().cycle().take(20_000);
            let (_, layer) = amplification(mapping, writes);
            assert_eq!(layer.counters().host_pages, 20_000, "{mapping}");
        }
    }
}

#[test]
fn clean_pages_have_flash_copies_after_a_long_run_under_every_scheme() {
    for scheme in schemes() {
        for mapping in ["fast:victim=scheme", "bast", "page"] {
            let mut layer = made(mapping, 64, 32, 52 * 32);
            let mut cache = Cache::new(300, [0.4, 0.6, 0.2]);
            let chosen = Scheme::parse(scheme.name).unwrap();
            if layer.memory().unwrap().share(chosen, Costs::PAPER, &mut cache).is_err() {
                assert_eq!((mapping, chosen.is_by_cost()), ("page", true), "{}", scheme.name);
                continue;
            }
            let mut rng = Stream::new(2, scheme.name);
            for _ in 0..12_000 {
                let page = rng.below(52 * 32) / (1 + rng.below(4));
                if let Some((page, true)) = cache.touch(page, rng.below(3) == 0) {
                    layer.memory().unwrap().swap_out(page, &mut cache).unwrap();
                }
            }
            let lost = |page| layer.locate(page).is_none() && !cache.pages.contains(&(page, true));
            let lost: Vec<u32> = (0..52 * 32).filter(|&page| lost(page)).collect();
            assert_eq!(lost, [0; 0], "{mapping} {}", scheme.name);
            layer.memory().unwrap().audit_beside(&mut cache).unwrap();
            let done = layer.counts().duplicates.unwrap_or_default();
            assert_eq!(done.excluded() > 0, scheme.name != "du-gc", "{mapping} {}", scheme.name);
        }
    }
}

#[test]
fn what_cannot_be_mapped_so_is_refused_with_a_hint() {
    let geometry = Geometry::new(64, 32, 52 * 32).unwrap();
    let error = |mapping: &str, fill| match build(mapping, geometry, fill) {
        Ok(_) => panic!("{mapping} was made"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error("fast:log_blocks=20", Fill::Sequential),
        "mapping fast: 20 log blocks and 1 for merges need 21 spare blocks, found 12 beyond the 52 blocks \
         of data; hint: spare=\"32.82%\", or a smaller log_blocks"
    );
    // The hint above is 21/64 = 0.328125, rounded up.
    assert_eq!(
        error("fast:log_blocks=1", Fill::Sequential),
        "mapping fast: log_blocks=1, expected at least 2: one for random and one for sequential writes; \
         hint: log_blocks=2, or sequential=0"
    );
    assert!(error("bast", Fill::Random).contains("fill random does not go with"));
    let tight = Geometry::new(53, 32, 52 * 32).unwrap();
    assert!(build("bast", tight, Fill::Sequential).is_err());
}
