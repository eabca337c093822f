//! Zombies: the worked example of the paper's Figures 2 and 3, the property behind its Eq. 2, and
//! what hints can and cannot do.

use crate::hinting::Hinting;
use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_ftl::victim::z_greedy::ZGreedy;
use flashgc_ftl::{
    BlockId, BlockTable, Fill, Frontier, FtlErrorKind, Geometry, Layer, Layout, PageMap,
    PlacementSpec, Translation, VictimPolicy, VictimSpec,
};

fn layout(geometry: Geometry, frontier: Frontier, placement: &str) -> Layout {
    Layout {
        frontier,
        placement: PlacementSpec::parse(placement).unwrap(),
        fill: Fill::Empty,
        seed: 1,
        ..Layout::new(geometry)
    }
}

fn build(victim: &str, layout: Layout) -> Box<dyn Translation> {
    VictimSpec::parse(victim).unwrap().build(layout).unwrap()
}

/// The drive of Figures 2(a) and 3(a), and the pages whose new version is in the host's cache: 3 on
/// the figures' block 2, then 4 on block 3. Blocks 1 to 4 of the figures are blocks 0 to 3 here.
fn figure(victim: &str) -> (Box<dyn Translation>, Vec<u32>) {
    // One class: host writes and copies share the update block. One erased block is kept.
    let geometry = Geometry::new(4, 10, 19).unwrap();
    let layout = layout(geometry, Frontier::Pool { low: 1 }, "dac:regions=1");
    let mut layer = build(victim, layout);
    let block1: Vec<u32> = (0..10).collect();
    // Overwrites five pages of block 1 (0 to 4), and writes five new ones (10 to 14).
    let block2: Vec<u32> = (0..5).chain(10..15).collect();
    // Overwrites six pages of block 2 (0 to 4 and 10), so that 11 to 14 stay, and writes four new
    // ones.
    let block3: Vec<u32> = (0..5).chain(10..11).chain(15..19).collect();
    for pages in [block1, block2, block3] {
        layer.write(&pages).unwrap();
    }
    (layer, vec![11, 12, 13, 0, 1, 2, 3])
}

/// (live, zombie, dead) of each block, as the figures print them: erased pages are clean.
fn states(layer: &dyn Translation, dirty: &[u32], clean: [u32; 4]) -> [(u32, u32, u32); 4] {
    std::array::from_fn(|block| {
        let valid = layer.blocks(0).valid(block as u32);
        let zombies = dirty.iter().filter(|&&page| layer.locate(page).unwrap().0 == block as u32);
        let zombies = zombies.count() as u32;
        (valid - zombies, zombies, 10 - valid - clean[block])
    })
}

/// Flushes the first `count` dirty pages; returns how many pages were copied on the way.
fn flush(layer: &mut dyn Translation, dirty: &mut Vec<u32>, count: usize) -> u64 {
    let before = layer.counters().copied_pages;
    let pages: Vec<u32> = dirty.drain(..count).collect();
    layer.write(&pages).unwrap();
    layer.audit().unwrap();
    layer.counters().copied_pages - before
}

#[test]
fn figure_2_greedy_copies_four_pages_then_five() {
    let (mut layer, mut dirty) = figure("greedy");
    layer.hints().hint(&dirty).unwrap();
    assert_eq!(layer.counts().zombies, None, "greedy does not ask");
    // (a) Block 4 is erased. There are 19 live pages, 7 of them zombies.
    let a = states(&*layer, &dirty, [0, 0, 0, 10]);
    assert_eq!(a, [(5, 0, 5), (1, 3, 6), (6, 4, 0), (0, 0, 0)]);
    // (b) and (c): the first write makes room. Block 2 goes to block 4, whose other six pages take
    // the dirty ones: the three of block 4 and three of block 3.
    assert_eq!(flush(&mut *layer, &mut dirty, 6), 4);
    let c = states(&*layer, &dirty, [0, 10, 0, 0]);
    assert_eq!(c, [(5, 0, 5), (0, 0, 0), (6, 1, 3), (7, 0, 3)]);
    // (d) and (e): block 1 goes to block 2, which takes the last dirty page.
    assert_eq!(flush(&mut *layer, &mut dirty, 1), 5);
    let e = states(&*layer, &dirty, [10, 4, 0, 0]);
    assert_eq!(e, [(0, 0, 0), (6, 0, 0), (6, 0, 4), (7, 0, 3)]);
}

#[test]
fn figure_3_z_greedy_copies_five_pages_then_one() {
    let (mut layer, mut dirty) = figure("z-greedy");
    layer.hints().hint(&dirty).unwrap();
    assert_eq!(layer.counts().zombies.unwrap().known, 7);
    let a = states(&*layer, &dirty, [0, 0, 0, 10]);
    assert_eq!(a, [(5, 0, 5), (1, 3, 6), (6, 4, 0), (0, 0, 0)]);
    // (b) and (c): blocks 1 to 3 score 5, 6 - min(3, 3) = 3 and 0. Block 1 goes to block 4, whose
    // other five pages take the three zombies of block 2 and two of block 3.
    assert_eq!(flush(&mut *layer, &mut dirty, 5), 5);
    let c = states(&*layer, &dirty, [10, 0, 0, 0]);
    assert_eq!(c, [(0, 0, 0), (1, 0, 9), (6, 2, 2), (10, 0, 0)]);
    // (d) and (e): block 2, with one live page, goes to block 1, which takes the last two.
    assert_eq!(flush(&mut *layer, &mut dirty, 2), 1);
    let e = states(&*layer, &dirty, [7, 10, 0, 0]);
    assert_eq!(e, [(3, 0, 0), (0, 0, 0), (6, 0, 4), (10, 0, 0)]);
    // Three more clean pages than with greedy: 17 against 14.
    assert_eq!(layer.counters().copied_pages, 6);
    let zombies = layer.counts().zombies.unwrap();
    assert_eq!((zombies.marked, zombies.overwritten, zombies.known), (7, 7, 0));
}

/// z-greedy, with every pick compared with a scan of all blocks.
#[derive(State)]
struct Looked(#[snapshot(state)] ZGreedy);

impl VictimPolicy for Looked {
    type Tracker = <ZGreedy as VictimPolicy>::Tracker;
    const NAME: &'static str = "looked";
    const PARAMS: &'static [Param] = ZGreedy::PARAMS;
    const DRAWS: bool = false;

    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError> {
        ZGreedy::new(params, blocks, rng).map(Self)
    }

    fn bytes(&self, shape: &Geometry) -> u64 {
        self.0.bytes(shape)
    }

    fn tracker(&self, blocks: &BlockTable) -> Self::Tracker {
        self.0.tracker(blocks)
    }

    fn pick(
        &mut self,
        blocks: &BlockTable,
        tracker: &Self::Tracker,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        let pick = self.0.pick(blocks, tracker, rng)?;
        let invalid = |block| blocks.pages_per_block() - blocks.valid(block);
        let score = |block| {
            let (i, z) = (f64::from(invalid(block)), f64::from(blocks.zombies(block)));
            i - z.min(i / 2.0)
        };
        let candidates = || (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        let best = candidates().map(score).fold(0.0, f64::max);
        assert_eq!(score(pick), best, "Eq. 2");
        let most = candidates().filter(|&block| score(block) == best).map(invalid).max();
        assert_eq!(Some(invalid(pick)), most, "of equals the one with the most invalid pages");
        // Eq. 2 ensures this (section 3.2.1). The block with the most invalid pages scores at least
        // half of their number, and no block scores more than its own invalid pages.
        let most = candidates().map(invalid).max().unwrap();
        assert!(2 * invalid(pick) >= most, "{} of {most}", invalid(pick));
        Some(pick)
    }
}

#[test]
fn the_victim_has_at_least_half_as_many_invalid_pages_as_any_block() {
    for (ties, b) in [("latest", 16), ("oldest", 47), ("lowest", 8)] {
        let geometry = Geometry::with_spare(300, b, 0.15).unwrap();
        let spec = VictimSpec::parse(&format!("z-greedy:ties={ties}")).unwrap();
        let layout = layout(geometry, Frontier::Pool { low: 2 }, "none");
        let mut layer = PageMap::with_policy(layout, |blocks, rng| {
            Ok(Looked::new(spec.params(), blocks, rng)?)
        })
        .unwrap();
        let pages = geometry.logical_pages();
        let mut stream = Stream::new(4, ties);
        for _ in 0..60 * pages / b {
            // There are hints of every kind: true, never true, for many pages at once, and taken
            // back.
            let hinted: Vec<u32> = (0..b).map(|_| stream.below(pages)).collect();
            layer.hints().hint(&hinted).unwrap();
            match stream.below(8) {
                0 => {
                    let first = stream.below(pages - 40);
                    layer.hints().hint(&(first..first + 40).collect::<Vec<_>>()).unwrap();
                }
                1 => layer.hints().cancel(&hinted).unwrap(),
                2 => layer.trim(&hinted[..3]).unwrap(),
                3 if stream.below(20) == 0 => layer.hints().power_loss(),
                _ => {}
            }
            let coming = hinted
                .iter()
                .map(|&page| if stream.below(2) == 0 { page } else { stream.below(pages / 8) });
            let coming: Vec<u32> = coming.collect();
            layer.write(&coming).unwrap();
        }
        layer.audit().unwrap();
        assert!(
            layer.counters().collections > 10_000 / b as u64,
            "{}",
            layer.counters().collections
        );
    }
}

/// Write amplification over eight drive writes, after four that are not measured. 8 of 10 writes go
/// to 2 of 10 pages. With each write a random page is hinted with probability `lies`.
fn amplification(victim: &str, placement: &str, lies: f64) -> f64 {
    let geometry = Geometry::with_spare(400, 32, 0.12).unwrap();
    let mut layer = build(victim, layout(geometry, Frontier::Pool { low: 2 }, placement));
    let pages = geometry.logical_pages();
    let (mut coming, mut liar) = (Stream::new(1, "writes"), Stream::new(2, "lies"));
    let mut start = layer.counters();
    for step in 0..12 * pages {
        if step == 4 * pages {
            start = layer.counters();
        }
        if liar.unit() < lies {
            layer.hints().hint(&[liar.below(pages)]).unwrap();
        }
        let hot = coming.below(5) < 4;
        let page = if hot { coming.below(pages / 5) } else { coming.below(pages) };
        layer.write(&[page]).unwrap();
    }
    let counted = layer.counters().since(&start);
    counted.programs() as f64 / counted.host_pages as f64
}

#[test]
fn without_hints_the_zombie_aware_policies_are_their_parents() {
    assert_eq!(amplification("z-greedy", "none", 0.0), amplification("greedy", "none", 0.0));
    // Only the order among equal scores differs: z-cost-benefit takes the block with more invalid
    // pages, cost-benefit the less worn one.
    let (child, parent) =
        (amplification("z-cost-benefit", "none", 0.0), amplification("cost-benefit", "none", 0.0));
    assert!((child / parent - 1.0).abs() < 0.005, "{child} {parent}");
}

#[test]
fn rare_lies_cost_a_few_percent_and_many_more() {
    // With each write a page drawn at random is hinted, and no hint is taken back: a cold page, one
    // that the host writes once in four drive writes, stays a zombie for as long. One lie in a
    // hundred writes makes 4% of the cold pages zombies that never die; three in ten all of them.
    for (child, parent, placement, of_many) in [
        ("z-greedy", "greedy", "none", 1.2),
        ("z-greedy", "greedy", "dac", 1.2),
        ("z-cost-benefit", "cost-benefit", "none", 1.02),
        ("z-cost-benefit", "cost-benefit", "dac", 1.05),
    ] {
        let honest = amplification(parent, placement, 0.0);
        let block = if placement == "dac" { "dac:zombie-block=yes" } else { placement };
        let (rare, many) = (amplification(child, block, 0.01), amplification(child, block, 0.3));
        let text = format!("{child} {block}: {rare:.4}, {many:.4}; {parent} {honest:.4}");
        assert!(rare / honest < 1.03, "{text}");
        // A finding, measured here and in docs/zombies.md: lies that are never taken back are not
        // harmless. This test notices if that changes.
        assert!(many / honest > of_many && many / honest < of_many + 0.12, "{text}");
    }
}

#[test]
fn hints_beyond_the_drive_are_refused_and_hints_of_nothing_ignored() {
    let geometry = Geometry::with_spare(40, 16, 0.3).unwrap();
    let mut layer = build("z-greedy", layout(geometry, Frontier::Pool { low: 2 }, "none"));
    let pages = geometry.logical_pages();
    assert!(matches!(
        layer.hints().hint(&[0, pages]).unwrap_err().kind(),
        FtlErrorKind::OutOfRange { .. }
    ));
    assert!(matches!(
        layer.hints().cancel(&[pages]).unwrap_err().kind(),
        FtlErrorKind::OutOfRange { .. }
    ));
    layer.hints().hint(&[0, 1]).unwrap(); // no data yet
    assert_eq!(layer.counts().zombies.unwrap().known, 0);
    layer.write(&[0, 1]).unwrap();
    layer.hints().hint(&[0, 0, 1]).unwrap();
    assert_eq!(layer.counts().zombies.unwrap().known, 2, "a page is a zombie once");
    layer.trim(&[0]).unwrap();
    layer.hints().power_loss();
    let zombies = layer.counts().zombies.unwrap();
    assert_eq!((zombies.marked, zombies.trimmed, zombies.revived, zombies.known), (2, 1, 1, 0));
    layer.audit().unwrap();
}

#[test]
fn a_drive_whose_page_numbers_leave_no_bit_for_a_hint_is_refused() {
    // 2^25 blocks of 64 pages: page numbers up to 2^31 - 1, which with the mark would mean no data.
    let refusal = |victim: &str, blocks, placement| {
        let geometry = Geometry::new(blocks, 64, 1000).unwrap();
        let layout = layout(geometry, Frontier::Pool { low: 2 }, placement);
        VictimSpec::parse(victim).unwrap().build(layout).err().map(|error| error.to_string())
    };
    let text = "blocks is 33554432, expected at most 33554431 with 64 pages per block where hints \
                are kept: page numbers have 31 bits beside the hint; hint: a smaller drive, or hints=\"none\"";
    assert_eq!(refusal("z-greedy", 1 << 25, "none").unwrap(), text);
    assert_eq!(refusal("greedy", 1 << 25, "dac:zombie-block=yes").unwrap(), text);
    // A much smaller drive is accepted.
    assert_eq!(refusal("z-greedy", 1 << 10, "none"), None);
}
