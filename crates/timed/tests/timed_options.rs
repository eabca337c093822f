//! Tests of options of hardware and firmware, with times worked out by hand: multi-plane and cache
//! commands, dynamic placement, a write cache, and collections of idle dies and of whole channels.

use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{
    Hardware, Idle, Loop, Placement, Scheduling, Settings, TimedDrive, Totals, Unit, Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// Returns the flash of [`paper_hardware`] with transfers of 10 us.
fn hardware() -> Hardware {
    Hardware { transfer_ns: 10 * US, ..paper_hardware() }
}

fn open(hardware: Hardware) -> Settings {
    Settings { host: Loop::Open, ..settings(hardware) }
}

fn drive(settings: &Settings, requests: Vec<TimedRequest>) -> TimedDrive<Recorder> {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(16 * planes, 8, u64::from(80 * planes)).unwrap();
    let layer = layer(settings, geometry, "greedy", Fill::Sequential, 2);
    let mut drive = recorded(settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    drive
}

/// Returns the times at which requests on these pages, which all arrive at time 0, are completed,
/// in microseconds.
fn completed(settings: &Settings, requests: &[(Op, u32)]) -> Vec<u64> {
    let requests = requests.iter().map(|&(op, page)| request(0, op, page)).collect();
    drive(settings, requests).observer().completed_us()
}

#[test]
fn operations_on_several_planes_of_a_die_go_together() {
    let plain = open(Hardware { planes: 2, ..hardware() });
    let together = Settings { multi_plane: true, ..plain.clone() };
    // The first write is served alone, as no other one is there when it arrives. The next two, on
    // planes 0 and 1, wait and are served together: two transfers and one program.
    let writes = [(Op::Write, 1), (Op::Write, 0), (Op::Write, 1)];
    assert_eq!(completed(&plain, &writes), [210, 420, 630]);
    assert_eq!(completed(&together, &writes), [210, 430, 430]);
    let reads = [(Op::Read, 1), (Op::Read, 0), (Op::Read, 1)];
    assert_eq!(completed(&plain, &reads), [35, 70, 105]);
    assert_eq!(completed(&together, &reads), [35, 80, 80]);
    // Pages 0 and 2 are on one plane.
    let same = [(Op::Write, 1), (Op::Write, 0), (Op::Write, 2)];
    assert_eq!(completed(&together, &same), [210, 420, 630]);
    // Three writes wait. Two on different planes are served together, and the third alone.
    let three = [(Op::Write, 1), (Op::Write, 0), (Op::Write, 2), (Op::Write, 3)];
    assert_eq!(completed(&together, &three), [210, 430, 640, 430]);
    let joined = |settings: &Settings, requests: &[(Op, u32)]| {
        let requests = requests.iter().map(|&(op, page)| request(0, op, page)).collect();
        drive(settings, requests).totals().joined.units
    };
    let counts = [&writes[..], &reads, &same, &three].map(|requests| joined(&together, requests));
    assert_eq!((counts, joined(&plain, &writes)), ([2, 0, 0, 2], 0));
}

#[test]
fn collections_of_the_planes_of_a_die_go_together() {
    let apart = Settings {
        host: Loop::Closed { threads: 2, think_ns: 0 },
        ..open(Hardware { planes: 2, ..hardware() })
    };
    let together = Settings { multi_plane: true, ..apart.clone() };
    // Each plane has 10 full blocks of 8 rows, and 6 erased ones.
    let write = |row: u32, plane: u32| request(0, Op::Write, 2 * row + plane);
    let first_us = |drive: &TimedDrive<Recorder>| {
        let times = &drive.observer().collections;
        assert!(times[0].2 && !times[1].2, "a die has one collection at a time");
        (times[1].0 - times[0].0) / US
    };
    // Every second row is overwritten, so both victims have 4 valid pages. Together, each step moves two
    // pages: a read, four transfers and a program. The erases take the time of one.
    let halves: Vec<_> =
        (0..40).flat_map(|row| [0, 1].map(|plane| write(2 * row, plane))).collect();
    let mut both = drive(&together, halves.clone());
    assert_eq!(first_us(&both), 4 * (25 + 4 * 10 + 200) + 1500);
    assert_eq!(first_us(&drive(&apart, halves)), 4 * (25 + 2 * 10 + 200) + 1500);
    let copies = both.layer().counters().copied_pages;
    let &Totals { joined, collections, .. } = both.totals();
    assert_eq!((joined.erases, joined.reads), (collections.ended, copies));
    assert!(collections.ended >= 2 && copies == 4 * collections.ended);
    // The other plane overwrites four rows again and again: its victim has no valid page, and waits for
    // the copies of the first.
    let uneven: Vec<_> =
        (0..40).flat_map(|row| [write(2 * row, 0), write(2 * (row % 4), 1)]).collect();
    assert_eq!(first_us(&drive(&together, uneven)), 4 * (25 + 2 * 10 + 200) + 1500);
}

#[test]
fn cache_commands_overlap_transfers_with_the_next_operation_of_the_same_kind() {
    let plain = open(hardware());
    let cached = Settings { cache_commands: true, ..plain.clone() };
    // n reads take t_R + (n - 1) max(t_R, t_B) + t_B; n writes take t_B + (n - 1) max(t_B, t_W) +
    // t_W.
    let reads = [(Op::Read, 0), (Op::Read, 1), (Op::Read, 2)];
    assert_eq!(completed(&plain, &reads), [35, 70, 105]);
    assert_eq!(completed(&cached, &reads), [35, 60, 85]);
    let writes = [(Op::Write, 0), (Op::Write, 1), (Op::Write, 2)];
    assert_eq!(completed(&plain, &writes), [210, 420, 630]);
    assert_eq!(completed(&cached, &writes), [210, 410, 610]);
    // With a slow bus the transfers decide: the reads end at 25 + 40, 25 + 2 * 40 and 25 + 3 * 40.
    let slow =
        Settings { hardware: Hardware { transfer_ns: 40 * US, ..hardware() }, ..cached.clone() };
    assert_eq!(completed(&slow, &reads), [65, 105, 145]);
    // Operations of another kind wait.
    let mixed = [(Op::Write, 0), (Op::Read, 1), (Op::Write, 2)];
    assert_eq!(completed(&cached, &mixed), [210, 245, 455]);
}

#[test]
fn reads_first_lets_reads_pass_writes_of_other_pages() {
    let reads_first = Settings { scheduling: Scheduling::ReadsFirst, ..open(hardware()) };
    let requests = [(Op::Write, 0), (Op::Write, 1), (Op::Read, 2), (Op::Read, 1)];
    assert_eq!(completed(&open(hardware()), &requests), [210, 420, 455, 490]);
    // The read of page 1 waits for its write.
    assert_eq!(completed(&reads_first, &requests), [210, 455, 245, 490]);
}

#[test]
fn dynamic_placement_writes_where_there_is_least_to_do() {
    // There are four dies. In a static placement pages 0, 4, 8 and 12 are on die 0.
    let spread = open(Hardware { dies: 4, transfer_ns: 0, ..hardware() });
    let dynamic = Settings { placement: Placement::Dynamic, ..spread.clone() };
    let writes = [(Op::Write, 0), (Op::Write, 4), (Op::Write, 8), (Op::Write, 12)];
    assert_eq!(completed(&spread, &writes), [200, 400, 600, 800]);
    assert_eq!(completed(&dynamic, &writes), [200, 200, 200, 200]);
    // Writes of one page stay in order, on one die; a read of it waits there.
    let same = [(Op::Write, 0), (Op::Write, 0), (Op::Write, 4), (Op::Read, 0)];
    assert_eq!(completed(&dynamic, &same), [200, 400, 200, 425]);
    // A page is read from the die that it was written to: page 4 was written to die 1, where page 1
    // is, too.
    let requests = vec![
        request(0, Op::Write, 0),
        request(0, Op::Write, 4),
        request(500 * US, Op::Read, 4),
        request(500 * US, Op::Read, 1),
    ];
    let drive = drive(&dynamic, requests);
    assert_eq!(drive.observer().completed_us()[2..], [525, 550]);
}

#[test]
fn dynamic_placement_fills_no_plane_beyond_its_room() {
    // There are two dies. Whenever a write arrives, the second is busy with reads. Without a limit
    // all pages would end up on the first.
    let hardware = Hardware { dies: 2, transfer_ns: 0, ..hardware() };
    let settings = Settings { placement: Placement::Dynamic, ..open(hardware) };
    let mut requests = Vec::new();
    for index in 0..1000 {
        let time = index * 20_000 * US; // die 0 is idle again
        requests.extend((0..16).map(|_| request(time, Op::Read, 1)));
        requests.push(request(time, Op::Write, (index * 2 % 159) as u32));
    }
    let geometry = Geometry::new(32, 8, 160).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
    let mut drive = recorded(&settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    // Of 16 blocks of 8 pages, 2 stay erased and 2 are open: a plane has at most 96 valid pages.
    assert!(drive.layer().valid_pages(0) <= 96, "{}", drive.layer().valid_pages(0));
    assert_eq!(drive.layer().valid_pages(0) + drive.layer().valid_pages(1), 160);
    let (first, second) = (drive.layer().valid_pages(0), drive.layer().valid_pages(1));
    assert!(first > 80, "{first} {second}");
}

#[test]
fn writes_are_done_when_they_are_in_the_cache() {
    let cached = Settings { flush_after_ns: u64::MAX, write_cache: 2, ..open(hardware()) };
    // The cache has two places: the third write waits for the first program, the fourth for the
    // second.
    let writes = [(Op::Write, 0), (Op::Write, 1), (Op::Write, 2), (Op::Write, 3)];
    assert_eq!(completed(&cached, &writes), [0, 0, 210, 420]);
    let requests = writes.iter().map(|&(op, page)| request(0, op, page)).collect();
    let mut all = drive(&cached, requests);
    assert_eq!((all.totals().cache_waits, all.totals().cached_pages), (2, 0));
    // Page 1 is written again before its program begins, so it is programmed once. The cache serves
    // the read of page 1. The read of page 5 waits at the die for the earlier programs.
    let again = [(Op::Write, 0), (Op::Write, 1), (Op::Write, 1), (Op::Read, 1), (Op::Read, 5)];
    let requests = again.iter().map(|&(op, page)| request(0, op, page)).collect();
    let mut drive = drive(&cached, requests);
    assert_eq!(drive.observer().completed_us(), [0, 0, 0, 0, 455]);
    assert_eq!(drive.layer().counters().host_pages, 2);
    assert_eq!((drive.totals().cache_hits, drive.totals().pages_written), (2, 3));
    // Page 0 is written again during its program, at 100 us, so it is programmed twice.
    let requests = vec![request(0, Op::Write, 0), request(100 * US, Op::Write, 0)];
    let mut drive = self::drive(&cached, requests);
    assert_eq!(drive.observer().completed_us(), [0, 100]);
    assert_eq!(drive.layer().counters().host_pages, 2);
    assert_eq!(drive.totals().die_busy_ns, [420 * US]);
    // A discarded page is not programmed.
    let requests = [(Op::Write, 0), (Op::Write, 1), (Op::Trim, 1)];
    let requests = requests.iter().map(|&(op, page)| request(0, op, page)).collect();
    let drive = self::drive(&cached, requests);
    assert_eq!(drive.layer().counters().host_pages, 1);
    assert_eq!(drive.layer().locate(1), None);
}

/// Runs eight writes at time 0, and then `more`, on a drive of eight blocks of 4 pages with 16
/// logical pages, as in `timed.rs`. After the eight writes two blocks are erased, and each of
/// blocks 0 to 3 has two valid pages.
fn eight_writes(settings: &Settings, more: Vec<TimedRequest>) -> TimedDrive<Recorder> {
    let pages = [0, 1, 4, 5, 8, 9, 12, 13];
    let requests = pages.into_iter().map(|page| request(0, Op::Write, page)).chain(more).collect();
    let geometry = Geometry::new(8, 4, 16).unwrap();
    let layer = layer(settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
    let mut drive = recorded(settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    drive
}

#[test]
fn an_idle_die_collects_until_it_gains_no_block() {
    let mut settings = open(paper_hardware());
    settings.collecting.idle = Some(Idle { below: 3, after_ns: 100 * US });
    // The writes end at 1600. Collections of 1950 us each begin at 1700. There are three: after the
    // third only two pages are invalid, in block 3, so another collection would gain no block.
    let mut drive = eight_writes(&settings, Vec::new());
    let times: Vec<u64> = drive.observer().collections.iter().map(|&(t, ..)| t / US).collect();
    assert_eq!(times, [1700, 3650, 3650, 5600, 5600, 7550]);
    assert_eq!(drive.totals().collections.idle, 3);
    assert_eq!(drive.layer().free_blocks(0), 3);
    // A request stops the collections after the present victim. They go on after another 100 us of
    // idle time.
    let drive = eight_writes(&settings, vec![request(2000 * US, Op::Read, 2)]);
    let times: Vec<u64> = drive.observer().collections.iter().map(|&(t, ..)| t / US).collect();
    assert_eq!(times[..3], [1700, 3650, 3775]);
    assert_eq!(drive.observer().completed_us()[8], 3675);
    // A request before the end of the idle time starts that time again.
    let drive = eight_writes(&settings, vec![request(1650 * US, Op::Read, 2)]);
    assert_eq!(drive.observer().collections[0].0, 1775 * US);
}

#[test]
fn a_collection_may_hold_the_whole_channel() {
    // Two dies are on a channel. Pages with even numbers are on die 0, whose blocks are as in
    // `eight_writes`. When the ninth write arrives, the channel has 2 + 4 erased blocks, its low
    // threshold, so two victims are collected.
    let run = |unit: Unit, holds_unit: bool| {
        let mut settings = open(Hardware { dies: 2, ..paper_hardware() });
        let mark = if unit == Unit::Plane { 2 } else { 6 };
        settings.collecting.unit = unit;
        settings.collecting.holds_unit = holds_unit;
        (settings.collecting.low, settings.collecting.high) = (mark, mark);
        let pages = [0, 1, 4, 5, 8, 9, 12, 13, 2].map(|page| 2 * page);
        let requests = pages.into_iter().map(|page| request(0, Op::Write, page));
        let requests = requests.chain([request(2000 * US, Op::Read, 1)]).collect();
        let geometry = Geometry::new(16, 4, 32).unwrap();
        let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, requests);
        drive.run(Until::END).unwrap();
        let read = drive.observer().requests.iter().find(|done| done.op == Op::Read).unwrap();
        let ninth = drive.observer().completed_us()[8];
        (read.completed_ns / US, read.blocked_ns / US, ninth)
    };
    assert_eq!(run(Unit::Channel, true), (5525, 3500, 5700));
    assert_eq!(run(Unit::Channel, false), (2025, 0, 5700));
    assert_eq!(run(Unit::Plane, true), (2025, 0, 5700));
}
