//! A limit on the dies that program or erase at a time: timelines that were worked out by hand.

use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{Loop, Preemption, Settings, Stop, Suspend, Unit, Until, Work, are_apart};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// Returns `dies` dies on one bus, of which `limit` may program or erase at a time. A transfer takes 10 us,
/// a read 25 us and a program 200 us. Page 0 is on die 0, page 1 on die 1, and so on.
fn limited(dies: u32, limit: u32) -> Settings {
    let mut settings = settings(paper_hardware());
    settings.hardware.dies = dies;
    settings.hardware.transfer_ns = 10 * US;
    settings.power_limit = Some(limit);
    settings.host = Loop::Open;
    settings
}

/// Returns the same drive, on which reads suspend programs and erases in 20 us.
fn suspending(dies: u32, limit: u32) -> Settings {
    let mut settings = limited(dies, limit);
    settings.collecting.preemption = Preemption::Semi { merge: false, pipeline: false };
    settings.suspend =
        Suspend { erase: true, program: true, suspend_ns: 20 * US, ..Suspend::NEVER };
    settings
}

fn at(us: u64, op: Op, page: u32) -> TimedRequest {
    request(us * US, op, page)
}

/// Runs a drive of 12 blocks a die until all requests are done.
fn run(settings: &Settings, requests: Vec<TimedRequest>) -> flashgc_timed::TimedDrive<Recorder> {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(12 * planes, 8, u64::from(planes * 8 * 6)).unwrap();
    let map = layer(settings, geometry, "greedy", Fill::Sequential, 2);
    let mut drive = recorded(settings, map, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.layer().audit().unwrap();
    drive
}

fn completed(settings: &Settings, requests: Vec<TimedRequest>) -> Vec<u64> {
    run(settings, requests).observer().completed_us()
}

/// Returns the writes of `pages`, which arrive at the start.
fn writes(pages: &[u32]) -> Vec<TimedRequest> {
    pages.iter().map(|&page| at(0, Op::Write, page)).collect()
}

#[test]
fn a_program_waits_with_its_data_until_another_die_is_done() {
    // The transfers end at 10, 20, 30 and 40. Dies 0 and 1 program from 10 and 20 on, dies 2 and 3 when
    // these are done, at 210 and 220.
    let mut drive = run(&limited(4, 2), writes(&[0, 1, 2, 3]));
    assert_eq!(drive.observer().completed_us(), [210, 220, 410, 420]);
    // Dies 2 and 3 wait for 180 each. Two dies have power from 20 to 410.
    let power = drive.totals().power;
    assert_eq!((power.waits, power.wait_ns, power.full_ns), (2, 360 * US, 390 * US));
    // A die that waits is in use, and its wait is time of the queue, not of its cells.
    assert_eq!(drive.totals().die_busy_ns, [210, 220, 410, 420].map(|us| us * US));
    let third = drive.observer().requests[2];
    assert_eq!((third.queue_ns, third.bus_ns, third.cell_ns), (180 * US, 30 * US, 200 * US));
    let spans = &drive.observer().spans;
    let programs = spans.iter().filter(|span| span.work == Work::Program && span.end_ns > 40 * US);
    let begins: Vec<u64> = programs.map(|span| span.begin_ns / US).collect();
    assert_eq!(begins, [10, 20, 210, 220]);
}

#[test]
fn dies_wait_in_order_of_arrival() {
    // The second write of die 0 is transferred from 210 to 220. Dies 2 and 3 wait longer: it begins
    // when die 2 is done, at 410, and the second write of die 1 (transferred from 220 to 230) at 420.
    let times = completed(&limited(4, 2), writes(&[0, 1, 2, 3, 4, 5]));
    assert_eq!(times, [210, 220, 410, 420, 610, 620]);
    // With power for one die, the programs follow each other.
    let times = completed(&limited(4, 1), writes(&[3, 1, 0, 2]));
    assert_eq!(times, [210, 410, 610, 810]);
    // The next program of a die that loads it meanwhile waits as long as others that came before.
    let mut cached = limited(2, 1);
    cached.cache_commands = true;
    assert_eq!(completed(&cached, writes(&[0, 2, 1])), [210, 610, 410]);
}

#[test]
fn an_erase_needs_power_as_a_program_does() {
    // Die 0 has 48 pages in 6 blocks, and 6 blocks are erased. Its overwrites fill 4 of these, and the 33rd
    // begins a collection of a victim without valid pages, which is erased at once.
    let begin_on = |settings: Settings, others: Vec<TimedRequest>| {
        let mut requests: Vec<TimedRequest> =
            (0..33).map(|index| at(0, Op::Write, 2 * (index % 8))).collect();
        requests.extend(others);
        let drive = run(&settings, requests);
        let spans = drive.observer().spans.iter();
        let erase = spans.clone().find(|span| span.work == Work::Erase).copied().unwrap();
        let completed = drive.observer().completed_us().split_off(32);
        (completed, erase.begin_ns / US, erase.end_ns / US)
    };
    let begin = |limit: u32, others: Vec<TimedRequest>| {
        let (_, begin, end) = begin_on(limited(2, limit), others);
        (begin, end)
    };
    // The 32 writes before it take 210 each.
    assert_eq!(begin(2, Vec::new()), (6720, 8220));
    assert_eq!(begin(1, Vec::new()), (6720, 8220));
    // Die 1 programs from 6710 to 6910: the erase waits, and die 0 with it.
    let other = || vec![at(6600, Op::Write, 1)];
    assert_eq!(begin(2, other()), (6720, 8220));
    // With power for one die the write of 6600 waits for the program of die 0 until 6720, and programs
    // until 6920.
    assert_eq!(begin(1, other()), (6920, 8420));
    // Writes that may suspend an erase go before one that waits. The 33rd is transferred until 6730, and gets
    // the power of die 1 in place of the erase. The one of 6750 follows it, and then the erase.
    let writes = [other(), vec![at(6750, Op::Write, 2)]].concat();
    let first = begin_on(suspending(2, 1), writes);
    assert_eq!(first, (vec![7120, 6920, 7120 + 10 + 200], 7330, 8830));
}

#[test]
fn channels_share_the_power() {
    let mut settings = limited(2, 3);
    settings.hardware.channels = 2;
    settings.collecting.unit = Unit::Plane;
    assert!(!are_apart(&settings));
    settings.power_limit = Some(4);
    assert!(are_apart(&settings));
    settings.power_limit = Some(2);
    // Each channel has two dies. The transfers of both channels end at 10 and 20; the two dies that are
    // first have power.
    assert_eq!(completed(&settings, writes(&[0, 1, 2, 3])), [210, 210, 410, 410]);
}

#[test]
fn reads_that_may_suspend_a_program_go_before_one_that_waits() {
    // Die 1 has its data at 20, and would program from 210 on. The read takes 25 and 10.
    let requests = || [writes(&[0, 1]), vec![at(50, Op::Read, 3)]].concat();
    assert_eq!(completed(&suspending(2, 1), requests()), [210, 410, 85]);
    let mut drive = run(&suspending(2, 1), requests());
    let totals = drive.totals();
    // Nothing was suspended. The program kept its place, so it waited once, from 20 to 210.
    assert_eq!((totals.suspended_programs, totals.power.waits), (0, 1));
    assert_eq!(totals.power.wait_ns, 190 * US);
    // On a die whose programs are not suspended, the read waits for the program.
    assert_eq!(completed(&limited(2, 1), requests()), [210, 410, 445]);
}

#[test]
fn a_program_that_gives_way_keeps_its_place() {
    // Dies 1 and 2 have their data at 20 and 30. The read on die 1 ends at 205: die 1 is next.
    let with = |us: u64| [writes(&[0, 1, 2]), vec![at(us, Op::Read, 4)]].concat();
    assert_eq!(completed(&suspending(3, 1), with(170)), [210, 410, 610, 205]);
    // If the read ends at 235, die 2 takes the power at 210, and die 1 is next.
    assert_eq!(completed(&suspending(3, 1), with(200)), [210, 610, 410, 235]);
    // If no other die waits, die 1 has power from 235 on, and nothing waits from then on.
    let requests = [writes(&[0, 1]), vec![at(200, Op::Read, 3)]].concat();
    let mut drive = run(&suspending(2, 1), requests);
    assert_eq!(drive.observer().completed_us(), [210, 435, 235]);
    assert_eq!(drive.totals().power.wait_ns, 215 * US);
    assert_eq!(drive.totals().power.full_ns, 400 * US);
}

#[test]
fn a_suspended_program_frees_its_power_and_waits_for_it_again() {
    // The read on die 0 suspends the program at 50. From 70 on die 1 programs, until 270. The read is done at
    // 105; the program of die 0 has 160 left, and goes on at 270.
    let requests = || [writes(&[0, 1]), vec![at(50, Op::Read, 2)]].concat();
    let mut drive = run(&suspending(2, 1), requests());
    assert_eq!(drive.observer().completed_us(), [430, 270, 105]);
    let totals = drive.totals();
    assert_eq!((totals.suspended_programs, totals.power.waits), (1, 2));
    // Die 1 waited from 20 to 70, die 0 from 105 to 270. All power was in use from 10 to 430.
    assert_eq!(totals.power.wait_ns, (50 + 165) * US);
    assert_eq!(totals.power.full_ns, 420 * US);
    // If a suspension takes no time, the power is free at once.
    let mut settings = suspending(2, 1);
    settings.suspend.suspend_ns = 0;
    assert_eq!(completed(&settings, requests()), [250 + 160, 250, 85]);
}

#[test]
fn the_write_rate_is_the_limit_times_the_units_of_a_program_over_its_time() {
    // A program has 1 or 3 pages of 4 units. A page crosses the bus in 1 us.
    for (limit, pages) in [(1, 1), (3, 1), (3, 3), (5, 3), (7, 3)] {
        let mut settings = limited(8, limit);
        let mut hardware = settings.hardware;
        (hardware.units_per_page, hardware.pages_per_program) = (4, pages);
        (hardware.page_bytes, hardware.transfer_ns) = (4 * PAGE, US);
        settings.hardware = hardware;
        let units = u64::from(hardware.units_per_program());
        let geometry = Geometry::new(8 * 20, 48, 8 * 48 * 10).unwrap();
        let map = layer(&settings, geometry, "greedy", Fill::Empty, 2);
        let programs = u64::from(limit) * 24;
        let pages = (0..programs * units).map(|page| page as u32);
        let mut drive =
            recorded(&settings, map, pages.map(|page| at(0, Op::Write, page)).collect());
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        // Programs follow each other without a gap in `limit` places, 24 in each. The first of place k begins
        // after k transfers, so the last of all ends after that of the last place.
        let transfer = u64::from(hardware.pages_per_program);
        let last = drive.observer().requests.iter().map(|request| request.completed_ns).max();
        assert_eq!(last, Some((u64::from(limit) * transfer + 24 * 200) * US), "{limit}");
    }
}
