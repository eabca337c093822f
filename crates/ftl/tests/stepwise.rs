//! The page map that collects step by step: with one plane it decides as the counting drive's, its
//! planes are drives of their own, and whatever comes between two steps, no page is lost.

use std::collections::HashMap;

use flashgc_ftl::rng::Stream;
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PlacementSpec, PlaneLayout, Stepwise,
    Translation, VictimSpec, allocation_policies, victim_policies,
};

const LOW: u32 = 3;
const FILLS: [Fill; 3] = [Fill::Sequential, Fill::Random, Fill::Empty];

fn counting(
    policy: &str,
    geometry: Geometry,
    allocation: &str,
    fill: Fill,
) -> Box<dyn Translation> {
    let layout = Layout {
        geometry,
        frontier: Frontier::Pool { low: LOW },
        placement: PlacementSpec::default(),
        allocation: Allocation::parse(allocation).unwrap(),
        levelling: None,
        lifespan: None,
        fill,
        seed: 3,
    };
    VictimSpec::parse(policy).unwrap().build(layout).unwrap()
}

fn stepwise(
    policy: &str,
    geometry: Geometry,
    planes: u32,
    allocation: &str,
    fill: Fill,
) -> Box<dyn Stepwise> {
    let layout = PlaneLayout {
        geometry,
        planes,
        blocks_kept: LOW,
        allocation: Allocation::parse(allocation).unwrap(),
        fill,
        home: &|page| page % planes,
        seed: 3,
    };
    VictimSpec::parse(policy).unwrap().build_stepwise(layout).unwrap()
}

/// Nine writes in ten go to a tenth of the pages; one command in ten is a TRIM.
fn commands(count: usize, pages: u32) -> Vec<(u32, bool)> {
    let mut stream = Stream::new(11, "skewed");
    (0..count)
        .map(|_| {
            let page = stream.below(pages);
            let page = if stream.below(10) < 9 { page / 10 } else { page };
            (page, stream.below(10) == 0)
        })
        .collect()
}

/// Every policy with defaults, and with parameters that keep more.
fn policies() -> Vec<&'static str> {
    let mut specs: Vec<&str> = victim_policies().iter().map(|info| info.name).collect();
    specs.extend(["greedy:ties=oldest", "windowed:w=3", "d-choices:d=2,c=4"]);
    specs.extend(["cost-benefit:age=last_invalidate", "wear-aware:lambda=0.7"]);
    specs
}

#[test]
fn one_plane_decides_as_the_counting_drive_for_every_policy() {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    for policy in policies() {
        for (fill, allocation) in FILLS.into_iter().zip(allocation_policies()) {
            let what = format!("{policy} {fill} {}", allocation.name);
            let mut whole = counting(policy, geometry, allocation.name, fill);
            let mut steps = stepwise(policy, geometry, 1, allocation.name, fill);
            for (page, is_trim) in commands(30_000, geometry.logical_pages()) {
                if is_trim {
                    whole.trim(&[page]).unwrap();
                    steps.trim(page).unwrap();
                } else {
                    whole.write(&[page]).unwrap();
                    steps.write_at_once(page, 0, LOW, LOW).unwrap();
                }
            }
            steps.audit().unwrap_or_else(|why| panic!("{what}: {why}"));
            assert!(steps.counters().collections > 500, "{what}");
            assert_eq!(steps.counters(), whole.counters(), "{what}");
            assert_eq!(steps.decisions(), whole.decisions(), "{what}");
            for page in 0..geometry.logical_pages() {
                let place = steps.locate(page).map(|ppn| (ppn >> 4, ppn & 15));
                assert_eq!(place, whole.locate(page), "{what}: page {page}");
            }
        }
    }
}

#[test]
fn each_plane_is_a_drive_of_its_own() {
    // Policies and allocations without random numbers: those of planes differ.
    let (blocks, b, planes) = (60, 16, 4);
    let pages = 700; // a plane
    let all = Geometry::new(blocks * planes, b, u64::from(pages * planes)).unwrap();
    let one = Geometry::new(blocks, b, pages.into()).unwrap();
    for policy in ["greedy", "fifo", "cost-benefit", "windowed:w=9"] {
        let mut together = stepwise(policy, all, planes, "lowest-erase", Fill::Sequential);
        let mut apart: Vec<_> =
            (0..planes).map(|_| counting(policy, one, "lowest-erase", Fill::Sequential)).collect();
        for (page, is_trim) in commands(40_000, pages * planes) {
            let (plane, local) = (page % planes, page / planes);
            if is_trim {
                together.trim(page).unwrap();
                apart[plane as usize].trim(&[local]).unwrap();
            } else {
                together.write_at_once(page, plane, LOW, LOW).unwrap();
                apart[plane as usize].write(&[local]).unwrap();
            }
        }
        together.audit().unwrap();
        for (plane, alone) in (0..planes).zip(&apart) {
            assert_eq!(together.plane_counters(plane), alone.counters(), "{policy} {plane}");
            assert!(alone.counters().collections > 200, "{policy} {plane}");
            let table = together.blocks(plane);
            assert_eq!(table.masked_counts(), alone.blocks().masked_counts(), "{policy} {plane}");
            assert_eq!(table.erase_counts(), alone.blocks().erase_counts(), "{policy} {plane}");
        }
    }
}

/// What lies where, kept beside the map: the naive reference of a drive that holds data.
#[derive(Default)]
struct Data {
    /// What was programmed last at each ppn: the page and its version.
    flash: HashMap<u32, (u32, u64)>,
    /// The version that the host wrote last.
    current: HashMap<u32, u64>,
    versions: u64,
}

impl Data {
    fn written(&mut self, page: u32, ppn: u32) {
        self.versions += 1;
        self.flash.insert(ppn, (page, self.versions));
        self.current.insert(page, self.versions);
    }

    fn check(&self, map: &dyn Stepwise, page: u32) {
        let found = map.locate(page).map(|ppn| self.flash[&ppn]);
        let expected = self.current.get(&page).map(|&version| (page, version));
        assert_eq!(found, expected, "page {page}");
    }
}

/// One step of the collection of `plane`, if one may be taken; begins one while few blocks are
/// erased.
fn step(map: &mut dyn Stepwise, data: &mut Data, plane: u32, stream: &mut Stream) {
    if map.victim(plane).is_none() {
        if map.free_blocks(plane) <= LOW + 2 {
            map.begin_collection(plane).unwrap();
        }
        return;
    }
    let Some(next) = map.next_move(plane) else {
        map.erase(plane);
        return;
    };
    match stream.below(8) {
        0 => {
            let ppn = map.merge(plane).unwrap();
            data.written(next.page, ppn);
        }
        1 => {} // preempted between read and program
        2 => {
            // The host discards it at point A: nothing is programmed.
            map.trim(next.page).unwrap();
            data.current.remove(&next.page);
            assert_eq!(map.copy(plane).unwrap(), None);
        }
        _ => {
            if let Some(ppn) = map.copy(plane).unwrap() {
                let moved = data.flash[&next.from];
                assert_eq!(moved.0, next.page);
                data.flash.insert(ppn, moved);
            }
        }
    }
}

#[test]
fn no_page_is_lost_whatever_comes_between_two_steps() {
    let geometry = Geometry::with_spare(160, 24, 0.25).unwrap();
    let planes = 4;
    for policy in policies() {
        let mut map = stepwise(policy, geometry, planes, "fifo", Fill::Empty);
        let mut data = Data::default();
        let mut stream = Stream::new(5, policy);
        let mut refused = 0;
        for (index, (page, is_trim)) in
            commands(25_000, geometry.logical_pages()).into_iter().enumerate()
        {
            // Pages wander from plane to plane, where there is room for them to stay.
            let plane = stream.below(planes);
            let limit = u64::from((160 / planes - LOW - 2) * 24);
            if is_trim {
                let had = map.trim(page).unwrap();
                assert_eq!(had.is_some(), data.current.remove(&page).is_some());
            } else if map.valid_pages(plane) < limit {
                match map.write(page, plane).unwrap() {
                    Some(ppn) => data.written(page, ppn),
                    None => refused += 1,
                }
            }
            data.check(&*map, page);
            if let Some(victim) = map.victim(plane).filter(|_| stream.below(4) == 0) {
                let wanted = stream.below(geometry.logical_pages());
                let is_there = map.locate(wanted).is_some_and(|ppn| ppn >> 5 == victim);
                assert_eq!(map.prefer(plane, wanted), is_there);
                if is_there {
                    assert_eq!(map.next_move(plane).unwrap().page, wanted);
                }
            }
            // In every other thousand the collector falls behind, until writes find no room.
            let most = if index / 1000 % 2 == 0 { 5 } else { u32::from(stream.below(8) == 0) + 1 };
            for _ in 0..stream.below(most) {
                let plane = stream.below(planes);
                step(&mut *map, &mut data, plane, &mut stream);
            }
            if index % 1000 == 0 {
                map.audit().unwrap_or_else(|why| panic!("{policy}: {why}"));
            }
        }
        (0..geometry.logical_pages()).for_each(|page| data.check(&*map, page));
        map.audit().unwrap_or_else(|why| panic!("{policy}: {why}"));
        assert!(map.counters().collections > 300 && refused > 0, "{policy} {refused}");
    }
}

#[test]
fn shapes_that_do_not_work_are_refused_with_a_reason() {
    let geometry = Geometry::with_spare(100, 16, 0.2).unwrap();
    let error = |planes: u32, kept: u32| {
        let layout = PlaneLayout {
            geometry,
            planes,
            blocks_kept: kept,
            allocation: Allocation::default(),
            fill: Fill::Sequential,
            home: &|page| page % planes,
            seed: 1,
        };
        VictimSpec::parse("greedy").unwrap().build_stepwise(layout).err().unwrap().to_string()
    };
    assert!(error(3, 1).contains("try 99 blocks"), "{}", error(3, 1));
    assert!(error(200, 1).contains("do not divide among 200 planes"));
    // 25 blocks a plane, 1280 pages on 4 planes: 320 each are 20 blocks, 4 kept and two frontiers.
    assert!(error(4, 4).contains("expected 6 blocks more"), "{}", error(4, 4));
    let mut fine = stepwise("greedy", geometry, 4, "fifo", Fill::Sequential);
    let pages = geometry.logical_pages();
    assert!(fine.write(pages, 0).is_err() && fine.trim(pages).is_err());
}
