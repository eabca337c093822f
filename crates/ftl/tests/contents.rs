//! A store made again from what a drive holds: it is whole, has the same pages in the same places,
//! goes on, and refuses contents that contradict themselves.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Allocation, Contents, Counters, EndOfLife, Endurance, Fill, Frontier, Geometry, Layout,
    Levelling, OpenBlock, PlacementSpec, PlaneLayout, Stepwise, UNMAPPED, VictimSpec,
    allocation_policies, endurance::Lifespan, placement_policies, victim_policies,
};

const LOW: u32 = 2;

fn made(victim: &str, layout: Layout) -> Box<dyn Stepwise> {
    let layout = Layout { frontier: Frontier::Pool { low: LOW }, fill: Fill::Empty, ..layout };
    VictimSpec::parse(victim).unwrap().build(PlaneLayout::one(layout)).unwrap()
}

fn layout(placement: &str, allocation: &str) -> Layout {
    Layout {
        placement: PlacementSpec::parse(placement).unwrap(),
        allocation: Allocation::parse(allocation).unwrap(),
        seed: 4,
        ..Layout::new(Geometry::with_spare(60, 12, 0.25).unwrap())
    }
}

/// Writes and discards pages; returns the number of collections so far.
fn work(map: &mut dyn Stepwise, count: usize, seed: u64) -> u64 {
    let mut rng = Stream::new(seed, "work");
    let low = LOW + map.reserved_blocks() - 1;
    for _ in 0..count {
        let page = rng.below(map.geometry().logical_pages());
        let page = if rng.below(2) == 0 { page / 8 } else { page };
        if rng.below(12) == 0 {
            map.trim(page).unwrap();
        } else {
            map.write_at_once(page, 0, low, low).unwrap();
        }
    }
    map.counters().collections
}

/// The contents of a store, found without the store's own code for contents.
struct Held {
    map: Vec<u32>,
    erases: Vec<u32>,
    classes: Vec<u8>,
    open: Vec<OpenBlock>,
    closed: Vec<u32>,
    erased: Vec<u32>,
    counters: Counters,
}

impl Held {
    fn of(map: &dyn Stepwise) -> Self {
        let blocks = map.blocks(0);
        let pages = 0..map.geometry().logical_pages();
        let open: Vec<OpenBlock> =
            (0..map.open_blocks() as u8).filter_map(|class| map.open_block(0, class)).collect();
        let mut classes = vec![0; blocks.len() as usize];
        open.iter().for_each(|open| classes[open.block as usize] = open.class);
        let is_open = |block: &u32| open.iter().any(|open| open.block == *block);
        // A full block that is no candidate is kept by the placement.
        let is_full = |block: &u32| {
            !is_open(block) && (blocks.is_candidate(*block) || blocks.live(*block) > 0)
        };
        let closed: Vec<u32> = (0..blocks.len()).filter(is_full).collect();
        let erased = (0..blocks.len()).filter(|block| !is_open(block) && !is_full(block)).collect();
        Self {
            map: pages.map(|page| map.locate(page).unwrap_or(UNMAPPED)).collect(),
            erases: blocks.erase_counts().to_vec(),
            classes,
            closed,
            erased,
            counters: map.counters(),
            open,
        }
    }

    fn contents(&self) -> Contents<'_> {
        Contents {
            map: Some(&self.map),
            erases: &self.erases,
            classes: &self.classes,
            open: &self.open,
            closed: &self.closed,
            erased: &self.erased,
            counters: self.counters,
        }
    }
}

#[test]
fn every_policy_goes_on_from_contents_of_a_store_that_has_worked() {
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    let registered = known.map(|info| info.name);
    let placements: Vec<&str> = registered.chain(["dac:regions=2,threshold=900"]).collect();
    for (index, policy) in victim_policies().iter().enumerate() {
        for (placement, allocation) in
            placements.iter().zip(allocation_policies().iter().cycle().skip(index))
        {
            let what = format!("{} {placement} {}", policy.name, allocation.name);
            let layout = layout(placement, allocation.name);
            let mut old = made(policy.name, layout.clone());
            assert!(work(old.as_mut(), 6000, 1) > 100, "{what}");
            let held = Held::of(old.as_ref());
            let mut new = made(policy.name, layout);
            new.hold(&held.contents()).unwrap_or_else(|fault| panic!("{what}: {fault}"));
            new.audit().unwrap_or_else(|why| panic!("{what}: {why}"));
            for page in 0..new.geometry().logical_pages() {
                assert_eq!(new.locate(page), old.locate(page), "{what}");
            }
            assert_eq!(new.counters(), old.counters(), "{what}");
            assert_eq!(new.free_blocks(0), old.free_blocks(0), "{what}");
            assert_eq!(new.blocks(0).clock(), old.counters().programs(), "{what}");
            let before = new.counters().collections;
            assert!(work(new.as_mut(), 6000, 2) > before + 100, "{what}");
            new.audit().unwrap_or_else(|why| panic!("{what} later: {why}"));
        }
    }
}

/// Greedy with ties by block number, and allocation by erase count, decide from nothing but the
/// contents.
#[test]
fn greedy_by_block_number_decides_from_contents_as_if_nothing_had_happened() {
    let layout = layout("none", "lowest-erase");
    let mut old = made("greedy:ties=lowest", layout.clone());
    work(old.as_mut(), 6000, 1);
    let held = Held::of(old.as_ref());
    let mut new = made("greedy:ties=lowest", layout);
    new.entries().copy_from_slice(&held.map);
    new.hold(&Contents { map: None, ..held.contents() }).unwrap();
    let before = old.counters();
    work(old.as_mut(), 3000, 2);
    work(new.as_mut(), 3000, 2);
    assert_eq!(new.counters(), old.counters());
    assert!(old.counters().collections > before.collections + 100);
    for page in 0..new.geometry().logical_pages() {
        assert_eq!(new.locate(page), old.locate(page));
    }
}

#[test]
fn worn_out_blocks_and_levelling_are_found_again() {
    let lifespan = Lifespan {
        endurance: Endurance::parse("fixed:limit=40").unwrap(),
        ends_at: EndOfLife::SystemFailure,
    };
    let layout = Layout {
        lifespan: Some(lifespan),
        levelling: Levelling::parse("static:threshold=3,interval=2").unwrap(),
        ..layout("none", "fifo")
    };
    let mut old = made("greedy", layout.clone());
    let mut rng = Stream::new(9, "wear");
    let pages = old.geometry().logical_pages();
    while old.wear().unwrap().bad_blocks() < 3 {
        old.write_at_once(rng.below(pages), 0, LOW, LOW).unwrap().expect("the drive lives");
    }
    let held = Held::of(old.as_ref());
    let mut new = made("greedy", layout);
    new.hold(&held.contents()).unwrap();
    new.audit().unwrap();
    let bad = |map: &dyn Stepwise| {
        let wear = map.wear().unwrap();
        (0..map.geometry().blocks()).filter(|&block| wear.is_bad(block)).collect::<Vec<_>>()
    };
    assert_eq!(bad(new.as_ref()), bad(old.as_ref()));
    assert_eq!(new.free_blocks(0), old.free_blocks(0));
    assert_eq!(new.wear().unwrap().reserve(), old.wear().unwrap().reserve());
}

#[test]
fn contents_that_contradict_themselves_are_refused() {
    let mut old = made("greedy", layout("none", "fifo"));
    work(old.as_mut(), 3000, 1);
    let fault = |change: &dyn Fn(&mut Held)| {
        let mut held = Held::of(old.as_ref());
        change(&mut held);
        made("greedy", layout("none", "fifo")).hold(&held.contents()).unwrap_err().to_string()
    };
    let mapped = (0..).find(|&page| old.locate(page).is_some()).unwrap() as usize;
    let other = (mapped + 1..).find(|&page| old.locate(page as u32).is_some()).unwrap();
    assert!(fault(&|held| held.map[mapped] = held.map[other]).contains("holds another page"));
    assert!(fault(&|held| held.map[mapped] = held.erased[0] << 4).contains("not programmed"));
    assert!(fault(&|held| held.map[mapped] = u32::MAX - 1).contains("not programmed"));
    assert!(fault(&|held| held.map[mapped] |= 15).contains("not programmed"));
    assert!(fault(&|held| _ = held.map.pop()).contains("another shape"));
    assert!(fault(&|held| held.closed.push(held.erased[0])).contains("named twice"));
    assert!(fault(&|held| held.closed.push(60)).contains("does not exist"));
    assert!(fault(&|held| _ = held.erased.pop()).contains("neither open"));
    assert!(fault(&|held| held.erases[0] += 1).contains("counted"));
    assert!(fault(&|held| held.classes[0] = 9).contains("no class 9"));
    assert!(fault(&|held| held.open[0].class = 7).contains("no such place"));
    assert!(fault(&|held| held.open[0].next = 13).contains("no such place"));
    let held = Held::of(old.as_ref());
    let text = old.hold(&held.contents()).unwrap_err().to_string();
    assert!(text.contains("only a new store"), "{text}");
}

/// A placement sorts a page by the class of the block that it lies on.
#[test]
fn the_classes_of_blocks_are_those_given() {
    let layout = layout("dac", "fifo");
    let mut old = made("greedy", layout.clone());
    work(old.as_mut(), 6000, 1);
    let decisions = |class: u8| {
        let mut held = Held::of(old.as_ref());
        held.closed.iter().for_each(|&block| held.classes[block as usize] = class);
        let mut new = made("greedy", layout.clone());
        new.hold(&held.contents()).unwrap();
        work(new.as_mut(), 2000, 2);
        new.audit().unwrap();
        new.decisions()
    };
    assert_eq!(decisions(0), decisions(0));
    assert_ne!(decisions(0), decisions(1));
}
