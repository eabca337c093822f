//! The page map that collects step by step: with one plane it decides as the counting drive's, its
//! planes are drives of their own, and whatever comes between two steps, no page is lost.

use std::collections::{HashMap, HashSet};

use crate::hinting::Hinting;
use flashgc_base::rng::Stream;
use flashgc_ftl::stepwise::Homes;
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PlacementSpec, PlaneLayout, Stepwise,
    Translation, VictimSpec, allocation_policies, placement_policies, victim_policies,
};

const LOW: u32 = 3;
const FILLS: [Fill; 3] = [Fill::Sequential, Fill::Random, Fill::Empty];

fn counting(
    policy: &str,
    placement: &str,
    geometry: Geometry,
    allocation: &str,
    fill: Fill,
) -> Box<dyn Translation> {
    let layout = Layout {
        frontier: Frontier::Pool { low: LOW },
        placement: PlacementSpec::parse(placement).unwrap(),
        allocation: Allocation::parse(allocation).unwrap(),
        fill,
        seed: 3,
        ..Layout::new(geometry)
    };
    VictimSpec::parse(policy).unwrap().build(layout).unwrap()
}

fn stepwise(
    policy: &str,
    placement: &str,
    geometry: Geometry,
    planes: u32,
    allocation: &str,
    fill: Fill,
) -> Box<dyn Stepwise> {
    let layout = PlaneLayout {
        layout: Layout {
            frontier: Frontier::Pool { low: LOW },
            placement: PlacementSpec::parse(placement).unwrap(),
            allocation: Allocation::parse(allocation).unwrap(),
            fill,
            seed: 3,
            ..Layout::new(geometry)
        },
        planes,
        first: 0,
        home: &|page| page % planes,
    };
    VictimSpec::parse(policy).unwrap().build(layout).unwrap()
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
            let mut whole = counting(policy, "none", geometry, allocation.name, fill);
            let mut steps = stepwise(policy, "none", geometry, 1, allocation.name, fill);
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
fn writes_ahead_are_those_of_single_writes_for_every_policy() {
    let geometry = Geometry::with_spare(200, 16, 0.3).unwrap();
    let homes = Homes::new([0, 1].into());
    let sorted = ["sepbit", "dac"].map(|placement| ("greedy", placement));
    let plain = policies().into_iter().map(|policy| (policy, "none"));
    for ((policy, placement), fill) in plain.chain(sorted).zip(FILLS.into_iter().cycle()) {
        let what = format!("{policy} {placement} {fill}");
        let [mut one_by_one, mut ahead] =
            [(); 2].map(|()| stepwise(policy, placement, geometry, 2, "fifo", fill));
        let commands = commands(20_000, geometry.logical_pages());
        let pages: Vec<u32> = commands.into_iter().map(|(page, _)| page).collect();
        let low = low(placement);
        for &page in &pages {
            one_by_one.write_at_once(page, homes.of(page), low, low).unwrap();
        }
        let (mut done, mut most) = (0, 0);
        while done < pages.len() {
            done += ahead.write_ahead(&pages[done..], most, &homes).unwrap();
            most = (most + 7) % 300;
            if let Some(&page) = pages.get(done) {
                ahead.write_at_once(page, homes.of(page), low, low).unwrap();
                done += 1;
            }
        }
        ahead.audit().unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(ahead.counters().collections > 500, "{what}");
        assert_eq!(ahead.counters(), one_by_one.counters(), "{what}");
        assert_eq!(ahead.decisions(), one_by_one.decisions(), "{what}");
        for page in 0..geometry.logical_pages() {
            assert_eq!(ahead.locate(page), one_by_one.locate(page), "{what}: page {page}");
        }
        // A page that the drive does not have ends the writes.
        assert_eq!(ahead.write_ahead(&[geometry.logical_pages()], 1, &homes).unwrap(), 0);
    }
}

/// Handles that leave their blocks before these are full, on every plane: no policy miscounts, and
/// no page is lost.
#[test]
fn blocks_that_handles_leave_are_collected() {
    let geometry = Geometry::with_spare(200, 16, 0.3).unwrap();
    for policy in policies() {
        let layout = PlaneLayout {
            layout: Layout {
                frontier: Frontier::Pool { low: LOW },
                placement: PlacementSpec::parse("fdp:handles=3,persistent=1").unwrap(),
                streams: true,
                fill: Fill::Empty,
                seed: 3,
                ..Layout::new(geometry)
            },
            planes: 2,
            first: 0,
            home: &|page| page % 2,
        };
        let mut steps = VictimSpec::parse(policy).unwrap().build(layout).unwrap();
        let (mut rng, mut left) = (Stream::new(5, "left"), 0);
        let mut held = HashSet::new();
        for (page, is_trim) in commands(20_000, geometry.logical_pages()) {
            if is_trim {
                steps.trim(page).unwrap();
                held.remove(&page);
                continue;
            }
            let handle = rng.below(3) as u8;
            steps.streams().unwrap().name(&[page], &[handle]).unwrap();
            steps.write_at_once(page, page % 2, LOW + 1, LOW + 1).unwrap().unwrap();
            held.insert(page);
            if rng.below(8) == 0 {
                left += steps.close_unit(handle, page % 2).unwrap();
                assert_eq!(steps.open_block(page % 2, handle), None);
                assert_eq!(steps.close_unit(handle, page % 2), Some(0));
            }
        }
        steps.audit().unwrap_or_else(|why| panic!("{policy}: {why}"));
        assert!(left > 10_000 && steps.counters().collections > 500, "{policy}: {left}");
        for page in 0..geometry.logical_pages() {
            assert_eq!(steps.locate(page).is_some(), held.contains(&page), "{policy}: {page}");
        }
        // Number 3 is the unit for copies, and no handle.
        assert_eq!(steps.close_unit(3, 0), None);
    }
    let mut without = stepwise("greedy", "dac", geometry, 1, "fifo", Fill::Empty);
    without.write_at_once(0, 0, LOW, LOW).unwrap();
    assert_eq!(without.close_unit(0, 0), None);
}

/// Collectors that sort pages into classes or ask for hints.
fn sorted() -> impl Iterator<Item = (&'static str, &'static str)> {
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    let registered = known.map(|info| ("cost-benefit", info.name));
    CHOSEN.into_iter().chain(registered)
}

const CHOSEN: [(&str, &str); 7] = [
    ("greedy", "dac"),
    ("cost-benefit", "dac:regions=2,threshold=900"),
    ("fifo", "dac:regions=1,zombie-block=yes"),
    ("greedy", "dac:zombie-block=yes"),
    ("z-greedy", "none"),
    ("z-greedy", "dac:zombie-block=yes"),
    ("z-cost-benefit", "dac:regions=4,zombie-block=yes"),
];

/// The number of erased blocks at which a plane with this placement collects.
fn low(placement: &str) -> u32 {
    LOW + PlacementSpec::parse(placement).unwrap().kept_for_copies()
}

#[test]
fn one_plane_sorts_and_chases_as_the_counting_drive() {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    for ((policy, placement), fill) in sorted().zip(FILLS.into_iter().cycle()) {
        let what = format!("{policy} {placement} {fill}");
        let mut whole = counting(policy, placement, geometry, "fifo", fill);
        let mut steps = stepwise(policy, placement, geometry, 1, "fifo", fill);
        let commands = commands(30_000, geometry.logical_pages());
        for (index, &(page, is_trim)) in commands.iter().enumerate() {
            if is_trim {
                whole.trim(&[page]).unwrap();
                steps.trim(page).unwrap();
            } else {
                whole.write(&[page]).unwrap();
                steps.write_at_once(page, 0, low(placement), low(placement)).unwrap();
            }
            // Hints name the page of the command 40 ahead. Some of them never come true.
            let ahead = commands.get(index + 40).map_or(page, |&(page, _)| page);
            whole.hints().hint(&[ahead]).unwrap();
            steps.hints().hint(&[ahead]).unwrap();
            if index % 7 == 0 {
                whole.hints().cancel(&[ahead, page]).unwrap();
                steps.hints().cancel(&[ahead, page]).unwrap();
            }
            if index % 5000 == 0 {
                whole.hints().power_loss();
                steps.hints().power_loss();
            }
        }
        steps.audit().unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(steps.counters().collections > 500, "{what}");
        assert_eq!(steps.counters(), whole.counters(), "{what}");
        assert_eq!(steps.decisions(), whole.decisions(), "{what}");
        assert_eq!(steps.counts().zombies, whole.counts().zombies, "{what}");
        if let Some(zombies) = steps.counts().zombies {
            assert!(zombies.copied > 0 && zombies.overwritten > 10_000, "{what}: {zombies:?}");
        }
        for page in 0..geometry.logical_pages() {
            let place = steps.locate(page).map(|ppn| (ppn >> 4, ppn & 15));
            assert_eq!(place, whole.locate(page), "{what}: page {page}");
        }
    }
}

#[test]
fn each_plane_is_a_drive_of_its_own() {
    // Policies and allocations without random numbers, because each plane has its own.
    let (blocks, b, planes) = (60, 16, 4);
    let pages = 700; // a plane
    let all = Geometry::new(blocks * planes, b, u64::from(pages * planes)).unwrap();
    let one = Geometry::new(blocks, b, pages.into()).unwrap();
    for (policy, placement) in [
        ("greedy", "none"),
        ("fifo", "none"),
        ("cost-benefit", "none"),
        ("windowed:w=9", "none"),
        ("greedy", "dac"),
        ("z-greedy", "dac:zombie-block=yes"),
    ] {
        let (allocation, fill) = ("lowest-erase", Fill::Sequential);
        let mut together = stepwise(policy, placement, all, planes, allocation, fill);
        let alone = || counting(policy, placement, one, allocation, fill);
        let mut apart: Vec<_> = (0..planes).map(|_| alone()).collect();
        for (index, (page, is_trim)) in commands(40_000, pages * planes).into_iter().enumerate() {
            let (plane, local) = (page % planes, page / planes);
            if is_trim {
                together.trim(page).unwrap();
                apart[plane as usize].trim(&[local]).unwrap();
            } else {
                together.write_at_once(page, plane, low(placement), low(placement)).unwrap();
                apart[plane as usize].write(&[local]).unwrap();
            }
            if index % 3 == 0 {
                together.hints().hint(&[page]).unwrap();
                apart[plane as usize].hints().hint(&[local]).unwrap();
            }
        }
        together.audit().unwrap();
        for (plane, alone) in (0..planes).zip(&apart) {
            assert_eq!(together.plane_counters(plane), alone.counters(), "{policy} {plane}");
            assert!(alone.counters().collections > 200, "{policy} {plane}");
            let table = together.blocks(plane);
            assert_eq!(table.masked_counts(), alone.blocks(0).masked_counts(), "{policy} {plane}");
            assert_eq!(table.erase_counts(), alone.blocks(0).erase_counts(), "{policy} {plane}");
        }
    }
}

/// The naive reference of a drive with data: it knows where all data are, without the map.
#[derive(Default)]
struct Data {
    /// The last program at each ppn: the page and its version.
    flash: HashMap<u32, (u32, u64)>,
    /// The version that the host wrote last.
    current: HashMap<u32, u64>,
    versions: u64,
    copies: u64,
    /// Pages that have data and were hinted since they were written.
    zombies: HashSet<u32>,
}

impl Data {
    fn written(&mut self, page: u32, ppn: u32) {
        self.versions += 1;
        self.flash.insert(ppn, (page, self.versions));
        self.current.insert(page, self.versions);
        self.zombies.remove(&page);
    }

    fn trimmed(&mut self, page: u32) -> bool {
        self.zombies.remove(&page);
        self.current.remove(&page).is_some()
    }

    /// One command in three hints, one in nine takes a hint back; now and then the power fails.
    fn hint(&mut self, map: &mut dyn Stepwise, page: u32, stream: &mut Stream) {
        match stream.below(9) {
            0..3 => {
                map.hints().hint(&[page]).unwrap();
                if self.current.contains_key(&page) {
                    self.zombies.insert(page);
                }
            }
            3 => {
                map.hints().cancel(&[page]).unwrap();
                self.zombies.remove(&page);
            }
            4 if stream.below(500) == 0 => {
                map.hints().power_loss();
                self.zombies.clear();
            }
            _ => {}
        }
    }

    /// Checks that the zombies of the map are those of the reference.
    fn check_zombies(&self, map: &dyn Stepwise, blocks_per_plane: u32, offset_bits: u32) {
        let Some(counts) = map.counts().zombies else { return };
        assert_eq!(counts.known, self.zombies.len() as u64);
        let mut expected = HashMap::new();
        for &page in &self.zombies {
            *expected.entry(map.locate(page).unwrap() >> offset_bits).or_insert(0) += 1;
        }
        for (block, count) in expected {
            let table = map.blocks(block / blocks_per_plane);
            assert_eq!(table.zombies(block % blocks_per_plane), count, "block {block}");
        }
    }

    fn check(&self, map: &dyn Stepwise, page: u32) {
        let found = map.locate(page).map(|ppn| self.flash[&ppn]);
        let expected = self.current.get(&page).map(|&version| (page, version));
        assert_eq!(found, expected, "page {page}");
    }
}

/// Takes one step of the collection of `plane`, if one may be taken; begins one while few blocks
/// are erased.
fn step(map: &mut dyn Stepwise, data: &mut Data, plane: u32, low: u32, stream: &mut Stream) {
    if map.victim(plane).is_none() {
        if map.free_blocks(plane) <= low + 2 {
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
            // The host discards the page before it is copied: nothing is programmed.
            map.trim(next.page).unwrap();
            data.trimmed(next.page);
            assert_eq!(map.copy(plane).unwrap(), None);
        }
        _ => {
            if let Some(ppn) = map.copy(plane).unwrap() {
                let moved = data.flash[&next.from];
                assert_eq!(moved.0, next.page);
                data.flash.insert(ppn, moved);
                data.copies += 1;
            }
        }
    }
}

#[test]
fn no_page_is_lost_whatever_comes_between_two_steps() {
    let geometry = Geometry::with_spare(160, 23, 0.35).unwrap();
    let planes = 4;
    let plain = policies().into_iter().map(|policy| (policy, "none"));
    for (policy, placement) in plain.chain(sorted()) {
        let low = low(placement);
        let kept = LOW + PlacementSpec::parse(placement).unwrap().blocks_kept().unwrap_or(2);
        let mut map = stepwise(policy, placement, geometry, planes, "fifo", Fill::Empty);
        let mut data = Data::default();
        let mut stream = Stream::new(5, policy);
        let mut refused = 0;
        for (index, (page, is_trim)) in
            commands(25_000, geometry.logical_pages()).into_iter().enumerate()
        {
            // Pages are written to any plane that has room for them.
            let plane = stream.below(planes);
            let limit = u64::from((160 / planes - kept) * 24);
            if is_trim {
                let had = map.trim(page).unwrap();
                assert_eq!(had.is_some(), data.trimmed(page));
            } else if map.valid_pages(plane) < limit {
                let can_write = map.can_write(page, plane);
                let written = map.write(page, plane).unwrap();
                assert_eq!(can_write, written.is_some());
                match written {
                    Some(ppn) => data.written(page, ppn),
                    None => refused += 1,
                }
            }
            data.check(&*map, page);
            data.hint(&mut *map, stream.below(geometry.logical_pages()), &mut stream);
            if let Some(victim) = map.victim(plane).filter(|_| stream.below(4) == 0) {
                let wanted = stream.below(geometry.logical_pages());
                let is_there = map.locate(wanted).is_some_and(|ppn| ppn >> 5 == victim);
                assert_eq!(map.prefer(plane, wanted), is_there);
                if is_there {
                    assert_eq!(map.next_move(plane).unwrap().page, wanted);
                }
            }
            // In every other thousand commands the collector falls behind, until writes find no
            // room.
            let most = if index / 1000 % 2 == 0 { 5 } else { u32::from(stream.below(8) == 0) + 1 };
            for _ in 0..stream.below(most) {
                let plane = stream.below(planes);
                step(&mut *map, &mut data, plane, low, &mut stream);
            }
            if index % 1000 == 0 {
                map.audit().unwrap_or_else(|why| panic!("{policy} {placement}: {why}"));
                data.check_zombies(&*map, 160 / planes, 5);
            }
        }
        (0..geometry.logical_pages()).for_each(|page| data.check(&*map, page));
        // Data that the host writes while their page is moved count as a host write.
        assert_eq!(map.counters().host_pages, data.versions, "{policy} {placement}");
        assert_eq!(map.counters().copied_pages, data.copies, "{policy} {placement}");
        map.audit().unwrap_or_else(|why| panic!("{policy}: {why}"));
        assert!(map.counters().collections > 300 && refused > 0, "{policy} {refused}");
    }
}

#[test]
fn shapes_that_do_not_work_are_refused_with_a_reason() {
    let geometry = Geometry::with_spare(100, 16, 0.2).unwrap();
    let error = |planes: u32, kept: u32| {
        let layout = PlaneLayout {
            layout: Layout {
                frontier: Frontier::Pool { low: kept },
                seed: 1,
                ..Layout::new(geometry)
            },
            planes,
            first: 0,
            home: &|page| page % planes,
        };
        VictimSpec::parse("greedy").unwrap().build(layout).err().unwrap().to_string()
    };
    assert!(error(3, 1).contains("blocks=99"), "{}", error(3, 1));
    assert!(error(200, 1).contains("for 200 planes, expected a multiple of 200"));
    // A plane has 25 blocks. 1280 pages on 4 planes are 320 each, or 20 blocks. With 4 blocks kept
    // and two frontiers, a plane needs 26.
    assert!(error(4, 4).contains("expected 6 more blocks"), "{}", error(4, 4));
    let mut fine = stepwise("greedy", "none", geometry, 4, "fifo", Fill::Sequential);
    let pages = geometry.logical_pages();
    assert!(fine.write(pages, 0).is_err() && fine.trim(pages).is_err());
}

/// A drive gives up after 1000 collections a block that free nothing. Each host write begins the
/// count anew. Without that, a long run would end.
#[test]
fn collections_that_make_room_are_never_too_many() {
    let geometry = Geometry::new(8, 4, 12).unwrap();
    let mut whole = counting("greedy", "none", geometry, "fifo", Fill::Sequential);
    let mut steps = stepwise("greedy", "none", geometry, 1, "fifo", Fill::Sequential);
    let mut stream = Stream::new(4, "pages");
    while whole.counters().collections < 20_000 {
        let page = stream.below(12);
        whole.write(&[page]).unwrap();
        steps.write_at_once(page, 0, LOW, LOW).unwrap();
    }
    assert_eq!(steps.counters(), whole.counters());
}
