//! The story of the slowest request: its figures, the collection that held it and the operations of
//! its die, on timelines worked by hand.

use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{
    Hardware, Held, Loop, MOST_OPERATIONS, Meter, Preemption, Settings, TimedDrive, Until, Worst,
    WorstResult, WorstSoFar,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common;
use crate::timed_common::*;

const PGC: Preemption = Preemption::Semi { merge: false, pipeline: false };

/// 25 us a read, 200 us a program, 1500 us an erase, 10 us a transfer.
fn settings(preemption: Preemption) -> Settings {
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let mut settings = Settings { host: Loop::Open, ..timed_common::settings(hardware) };
    settings.collecting.preemption = preemption;
    settings
}

/// The drive of `timed_preemption.rs`: eight blocks of 4 pages, and nine writes at time 0, which end at
/// 210, 420, ... 1680 us. Collections of two valid pages and an erase, 245 + 245 + 1500 us each:
///
/// without preemption 1680 to 3670 and 3670 to 5660, then the ninth write to 5870
/// with it            the ninth write to 1890, then one, whose erase is from 2380 to 3880
fn worst(preemption: Preemption, keeps_operations: bool, more: Vec<TimedRequest>) -> WorstSoFar {
    let settings = settings(preemption);
    let pages = [0, 1, 4, 5, 8, 9, 12, 13, 0];
    let nine = pages.into_iter().map(|page| request(0, Op::Write, page));
    let requests = Box::new(Listed::new(nine.chain(more).collect()));
    let geometry = Geometry::new(8, 4, 16).unwrap();
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
    let meter = Meter::new(0, None, 1, None, WorstSoFar::new(1, 1, keeps_operations));
    let mut drive = TimedDrive::new(settings, layer, requests, meter).unwrap();
    drive.run(Until::END).unwrap();
    drive.observer().worst().clone()
}

fn of(worst: &WorstSoFar, op: Op) -> &Worst {
    worst.of_kinds().find(|worst| worst.request.op == op).unwrap()
}

fn at(us: u64, op: Op, page: u32) -> TimedRequest {
    request(us * US, op, page)
}

/// Queue, collection, bus and cells in microseconds.
fn parts(worst: &Worst) -> [u64; 4] {
    let one = &worst.request;
    let parts = [one.queue_ns, one.blocked_ns, one.bus_ns, one.cell_ns];
    assert_eq!(parts.iter().sum::<u64>(), one.response_ns());
    parts.map(|ns| ns / US)
}

#[test]
fn a_read_in_the_middle_of_an_erase_waits_for_its_rest_and_names_the_collection() {
    let worst = worst(PGC, true, vec![at(2381, Op::Read, 10)]);
    let read = of(&worst, Op::Read);
    // 3880 - 2381, and 25 + 10 of its own.
    assert_eq!(parts(read), [0, 1499, 10, 25]);
    assert_eq!((read.request.number, read.die), (9, Some(0)));
    let held = Held { number: 0, began_ns: 1680 * US, ended_ns: Some(3880 * US), programmed: 2 };
    // The next collection begins with the end of this one, and gives way to the read.
    let next = Held { number: 1, began_ns: 3880 * US, ended_ns: None, programmed: 0 };
    assert_eq!((read.held_by(), &*read.collections), (Some(&held), &[held, next][..]));
    let told = WorstResult::of(read, 0);
    let operations: Vec<_> = told
        .operations
        .iter()
        .map(|one| {
            (&*one.place, &*one.work, one.began_us, one.ended_us, one.request, one.collection)
        })
        .collect();
    assert_eq!(
        operations,
        [
            ("cells", "erase", 2380.0, 3880.0, None, Some(0)),
            ("cells", "read", 3880.0, 3905.0, Some(9), None),
            ("bus", "read", 3905.0, 3915.0, Some(9), None),
        ]
    );
    assert_eq!((told.response_us, told.collection_us, told.is_cut), (1534.0, 1499.0, false));
}

#[test]
fn of_several_collections_the_one_that_held_it_for_longest_is_named() {
    let worst = worst(Preemption::None, false, vec![at(1700, Op::Read, 10)]);
    // The read waits for both collections, then for the ninth write: 5660 - 1700, 210.
    let read = of(&worst, Op::Read);
    assert_eq!(parts(read), [210, 3960, 10, 25]);
    // 3670 - 1700 of the first, 1990 of the second.
    assert_eq!(read.held_by().map(|held| (held.number, held.programmed)), Some((1, 2)));
    assert_eq!(read.collections.len(), 2);
    // The ninth write: eight before it, and of both collections 1990: the first of equals.
    let write = of(&worst, Op::Write);
    assert_eq!(parts(write), [1680, 3980, 10, 200]);
    assert_eq!(write.held_by().map(|held| held.number), Some(0));
    assert_eq!(worst.slowest().unwrap().request.op, Op::Write);
    assert!(write.operations.is_empty(), "operations are kept only where they are asked for");
}

#[test]
fn a_request_that_waits_for_others_alone_names_no_collection() {
    // Before the first collection: the eighth write waits for seven, 7 * 210.
    let worst = worst(PGC, false, vec![]);
    let write = of(&worst, Op::Write);
    assert_eq!(parts(write), [1680, 0, 10, 200]);
    assert_eq!(write.held_by(), None);
}

#[test]
fn a_faster_request_leaves_the_slowest_as_it_is() {
    // 3880 + 35 for both: the second came later.
    let more = vec![at(2381, Op::Read, 10), at(2400, Op::Read, 11), at(9000, Op::Read, 10)];
    let worst = worst(PGC, true, more);
    // First come, first served: the second waits 35 us for the first, and has waited 19 us less.
    let read = of(&worst, Op::Read);
    assert_eq!((read.request.number, parts(read)), (10, [35, 1480, 10, 25]));
}

#[test]
fn what_is_kept_of_a_die_is_bounded_and_says_so() {
    // 600 writes at once: the last waits for all, each a transfer and a program.
    let settings = settings(Preemption::None);
    let requests = (0..600).map(|page| request(0, Op::Write, page)).collect();
    let geometry = Geometry::new(400, 4, 800).unwrap();
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
    let meter = Meter::new(0, None, 1, None, WorstSoFar::new(1, 1, true));
    let mut drive =
        TimedDrive::new(settings, layer, Box::new(Listed::new(requests)), meter).unwrap();
    drive.run(Until::END).unwrap();
    let write = of(drive.observer().worst(), Op::Write);
    assert_eq!((write.operations.len(), write.is_cut), (MOST_OPERATIONS, true));
    assert_eq!(write.operations.last().unwrap().end_ns, write.request.completed_ns);
}
