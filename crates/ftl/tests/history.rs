//! The history of blocks: it is kept if a policy asks for it, it is true, and a saved drive goes on
//! with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Reader, State, Writer};
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_ftl::{
    BlockId, BlockTable, Contents, Counters, External, Fill, Frontier, FtlError, Geometry, Layer,
    Layout, NO_CLASS, PageMap, PlacementSpec, PlaneLayout, PlaneMap, Stepwise, Translation,
    UNMAPPED, VictimPolicy,
};

/// Picks by all columns of the history, and checks that each column follows from its values at the
/// pick before.
#[derive(State)]
struct ByHistory {
    /// The columns at the last pick, and the candidates after it.
    #[snapshot(skip)]
    before: Option<Seen>,
}

#[derive(Clone)]
struct Seen {
    clock: u64,
    host_clock: u64,
    candidates: Vec<bool>,
    rows: Vec<(u8, u64, u64)>,
}

impl Seen {
    fn of(blocks: &BlockTable) -> Self {
        let row = |block: u32| {
            let at = block as usize;
            (blocks.classes()[at], blocks.closed_at()[at], blocks.closed_at_host()[at])
        };
        Self {
            clock: blocks.clock(),
            host_clock: blocks.host_clock(),
            candidates: (0..blocks.len()).map(|block| blocks.is_candidate(block)).collect(),
            rows: (0..blocks.len()).map(row).collect(),
        }
    }

    fn follows(&self, before: &Self) {
        assert!(before.clock <= self.clock && before.host_clock <= self.host_clock);
        for block in (0..self.rows.len()).filter(|&block| self.candidates[block]) {
            let (row, old) = (self.rows[block], before.rows[block]);
            if before.candidates[block] {
                assert_eq!(row, old, "block {block} was a candidate before");
            } else {
                assert!((before.clock..=self.clock).contains(&row.1), "block {block}: {row:?}");
                let host = before.host_clock..=self.host_clock;
                assert!(host.contains(&row.2), "block {block}: {row:?}");
            }
        }
    }
}

impl VictimPolicy for ByHistory {
    type Tracker = ();
    const NAME: &'static str = "by-history";
    const PARAMS: &'static [Param] = &[];
    const DRAWS: bool = false;
    const ASKS_FOR_HISTORY: bool = true;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { before: None })
    }

    fn bytes(&self, _: &Geometry) -> u64 {
        0
    }

    fn tracker(&self, _: &BlockTable) {}

    fn pick(&mut self, blocks: &BlockTable, (): &(), _: &mut Stream) -> Option<BlockId> {
        let mut now = Seen::of(blocks);
        if let Some(before) = &self.before {
            now.follows(before);
        }
        let b = u64::from(blocks.pages_per_block());
        let key = |&block: &BlockId| {
            let (class, at, at_host) = now.rows[block as usize];
            let age = now.clock - at + 3 * (now.host_clock - at_host);
            let copies = u64::from(blocks.valid(block)) * u64::from(class.wrapping_add(2));
            (copies == u64::from(class.wrapping_add(2)) * b, copies * 1000 / (age + 1), block)
        };
        let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        let picked = candidates.min_by_key(key)?;
        now.candidates[picked as usize] = false;
        self.before = Some(now);
        Some(picked)
    }
}

fn layout(placement: &str) -> Layout {
    Layout {
        frontier: Frontier::Pool { low: 3 },
        placement: PlacementSpec::parse(placement).unwrap(),
        seed: 3,
        ..Layout::new(Geometry::with_spare(96, 16, 0.3).unwrap())
    }
}

fn by_history(_: &mut BlockTable, _: &mut Stream) -> Result<ByHistory, FtlError> {
    Ok(ByHistory { before: None })
}

fn counting(placement: &str) -> PageMap<ByHistory> {
    PageMap::with_policy(layout(placement), by_history).unwrap()
}

fn stepwise(placement: &str, planes: u32) -> PlaneMap<ByHistory> {
    let home = |page| page % planes;
    let layout = PlaneLayout { layout: layout(placement), planes, first: 0, home: &home };
    PlaneMap::with_policy(layout, by_history).unwrap()
}

/// Writes, most of them to a tenth of the pages, with discards between them.
fn commands(pages: u32) -> Vec<(u32, bool)> {
    let mut stream = Stream::new(11, "skewed");
    let mut page = || {
        let page = stream.below(pages);
        (if stream.below(10) < 8 { page / 10 } else { page }, stream.below(12) == 0)
    };
    (0..12_000).map(|_| page()).collect()
}

fn write(layer: &mut dyn Translation, commands: &[(u32, bool)]) {
    for &(page, is_trim) in commands {
        match is_trim {
            true => layer.trim(&[page]).unwrap(),
            false => layer.write(&[page]).unwrap(),
        }
    }
}

fn saved(state: &impl State) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    state.save(&mut to);
    to.finish().unwrap();
    bytes
}

#[test]
fn a_policy_by_history_decides_alike_on_both_drives_and_after_a_checkpoint() {
    for placement in ["none", "dac", "sepbit", "dac:zombie-block=yes"] {
        let (mut whole, mut steps) = (counting(placement), stepwise(placement, 1));
        let commands = commands(whole.geometry().logical_pages());
        let (first, rest) = commands.split_at(commands.len() / 2);
        write(&mut whole, first);
        whole.audit().unwrap();
        let (bytes, mut again) = (saved(&whole), counting(placement));
        let mut source = &bytes[..];
        again.restore(&mut Reader::new(&mut source, bytes.len() as u64)).unwrap();
        again.audit().unwrap();
        assert_eq!(again.blocks(0).closed_at(), whole.blocks(0).closed_at());
        assert_eq!(again.blocks(0).host_clock(), whole.blocks(0).host_clock());
        write(&mut whole, rest);
        write(&mut again, rest);
        let low = 3 + steps.reserved_blocks() - 1;
        for &(page, is_trim) in &commands {
            match is_trim {
                true => _ = steps.trim(page).unwrap(),
                false => _ = steps.write_at_once(page, 0, low, low).unwrap(),
            }
        }
        steps.audit().unwrap();
        assert!(whole.counters().collections > 500, "{placement}");
        assert_eq!(steps.decisions(), whole.decisions(), "{placement}");
        assert_eq!(again.decisions(), whole.decisions(), "{placement}");
        for blocks in [steps.blocks(0), again.blocks(0)] {
            let expected = whole.blocks(0);
            assert_eq!(blocks.classes(), expected.classes(), "{placement}");
            assert_eq!(blocks.closed_at(), expected.closed_at(), "{placement}");
            assert_eq!(blocks.closed_at_host(), expected.closed_at_host(), "{placement}");
            assert_eq!(blocks.host_clock(), expected.host_clock(), "{placement}");
        }
        let most = whole.blocks(0).classes().iter().max();
        assert_eq!(most == Some(&NO_CLASS), placement == "none");
    }
}

#[test]
fn each_plane_has_a_history_of_its_own() {
    let mut map = stepwise("dac", 2);
    let low = 3 + map.reserved_blocks() - 1;
    for (page, is_trim) in commands(map.geometry().logical_pages()) {
        match is_trim {
            true => _ = map.trim(page).unwrap(),
            false => _ = map.write_at_once(page, page % 2, low, low).unwrap(),
        }
    }
    map.audit().unwrap();
    for plane in 0..2 {
        let (blocks, counters) = (map.blocks(plane), map.plane_counters(plane));
        assert!(counters.collections > 200);
        assert!(blocks.host_clock() > counters.host_pages * 9 / 10);
        assert!(blocks.host_clock() <= counters.host_pages);
    }
}

#[test]
fn the_host_may_have_written_since_a_block_was_closed() {
    let mut map = stepwise("dac", 1);
    for page in 0..37 {
        map.write_at_once(page, 0, 1, 1).unwrap();
    }
    let last = *map.blocks(0).closed_at_host().iter().max().unwrap();
    assert!((20..37).contains(&last));
    map.begin_collection(0).unwrap().unwrap();
    assert_eq!(map.blocks(0).host_clock(), 37);
}

#[test]
fn clocks_count_what_was_written_and_a_block_is_closed_as_it_fills() {
    let written = Arc::new(AtomicU64::new(0));
    let (told, picks) = (Arc::clone(&written), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&picks);
    let pick: flashgc_ftl::ExternalPick = Box::new(move |blocks, _| {
        count.fetch_add(1, Ordering::Relaxed);
        assert_eq!(blocks.host_clock(), told.load(Ordering::Relaxed));
        let candidates = || (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        // With one frontier the block that is full becomes a candidate, and a pick follows.
        let last = candidates().max_by_key(|&block| blocks.closed_at()[block as usize])? as usize;
        if count.load(Ordering::Relaxed) > 1 {
            assert_eq!(blocks.closed_at()[last], blocks.clock());
            assert_eq!(blocks.closed_at_host()[last], blocks.host_clock());
        }
        assert!(blocks.classes().iter().all(|&class| class == NO_CLASS));
        candidates().min_by_key(|&block| blocks.valid(block))
    });
    let mut pick = Some(pick);
    let plain = Layout { seed: 1, ..Layout::new(Geometry::with_spare(40, 8, 0.25).unwrap()) };
    let mut layer =
        PageMap::with_policy(plain, |_, _| Ok(External::from_pick(pick.take().unwrap()))).unwrap();
    let mut stream = Stream::new(2, "pages");
    let pages = layer.geometry().logical_pages();
    for host in 0..2000 {
        written.store(host, Ordering::Relaxed);
        layer.write(&[stream.below(pages)]).unwrap();
    }
    assert!(picks.load(Ordering::Relaxed) > 200);
    layer.audit().unwrap();
}

#[test]
fn a_drive_that_is_found_again_has_closed_its_blocks_a_block_apart() {
    let layout = PlaneLayout::one(Layout { fill: Fill::Empty, ..layout("dac") });
    let mut map = PlaneMap::with_policy(layout, by_history).unwrap();
    let mut classes = [0; 96];
    classes[9] = 1;
    let counters = Counters { host_pages: 80, copied_pages: 20, ..Counters::default() };
    let erased: Vec<u32> = (0..96).filter(|block| ![5, 9].contains(block)).collect();
    map.entries().fill(UNMAPPED);
    map.hold(&Contents {
        map: None,
        erases: &[0; 96],
        classes: &classes,
        open: &[],
        closed: &[9, 5],
        erased: &erased,
        counters,
    })
    .unwrap();
    map.audit().unwrap();
    let blocks = map.blocks(0);
    assert_eq!((blocks.classes()[9], blocks.classes()[5]), (1, 0));
    assert_eq!((blocks.closed_at()[9], blocks.closed_at()[5]), (84, 100));
    assert_eq!((blocks.closed_at_host()[9], blocks.closed_at_host()[5]), (64, 80));
}

#[test]
fn a_drive_whose_policy_does_not_ask_keeps_no_history() {
    let greedy = flashgc_ftl::VictimSpec::parse("greedy").unwrap();
    let mut layer = greedy.build(layout("dac")).unwrap();
    let pages = layer.geometry().logical_pages();
    write(&mut *layer, &commands(pages));
    assert!(layer.blocks(0).closed_at().is_empty() && layer.blocks(0).classes().is_empty());
    let asks = counting("dac").memory_bytes() as i64;
    // A history takes 17 bytes a block: a class and two times.
    let without = flashgc_ftl::VictimSpec::parse("random").unwrap().bytes(&layout("dac")).unwrap();
    assert_eq!(asks - without as i64, 17 * 96);
}
