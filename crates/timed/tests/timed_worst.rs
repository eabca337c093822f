//! Tests of the slowest request, with times worked out by hand: its figures, the collection that
//! held it, and the operations of its die.

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

/// Returns settings in which a read takes 25 us, a program 200 us, an erase 1500 us and a transfer
/// 10 us.
fn settings(preemption: Preemption) -> Settings {
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let mut settings = Settings { host: Loop::Open, ..timed_common::settings(hardware) };
    settings.collecting.preemption = preemption;
    settings
}

/// Returns the slowest requests on the drive of `timed_preemption.rs`, which has eight blocks of 4
/// pages. It gets nine writes at time 0; the first eight end at 210, 420, ... 1680 us. A collection
/// copies two valid pages and erases a block, in 245 + 245 + 1500 us:
///
/// without preemption: collections from 1680 to 3670 and from 3670 to 5660, then the ninth write
/// until 5870
///
/// with preemption: the ninth write until 1890, then a collection whose erase is from 2380 to 3880
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

/// Returns the parts of the response time in microseconds: queue, collection, bus and cells.
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
    // The read waits 3880 - 2381, and then takes 25 + 10.
    assert_eq!(parts(read), [0, 1499, 10, 25]);
    assert_eq!((read.request.number, read.die), (9, Some(0)));
    let held = Held { number: 0, began_ns: 1680 * US, ended_ns: Some(3880 * US), programmed: 2 };
    // The next collection begins at the end of this one, and the read goes before its steps.
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
    // The read waits 5660 - 1700 for both collections, and then 210 for the ninth write.
    let read = of(&worst, Op::Read);
    assert_eq!(parts(read), [210, 3960, 10, 25]);
    // Of that it waits 3670 - 1700 for the first collection and 1990 for the second.
    assert_eq!(read.held_by().map(|held| (held.number, held.programmed)), Some((1, 2)));
    assert_eq!(read.collections.len(), 2);
    // The ninth write waits for eight writes, and 1990 for each collection. Of equals, the first
    // collection is named.
    let write = of(&worst, Op::Write);
    assert_eq!(parts(write), [1680, 3980, 10, 200]);
    assert_eq!(write.held_by().map(|held| held.number), Some(0));
    assert_eq!(worst.slowest().unwrap().request.op, Op::Write);
    assert!(write.operations.is_empty(), "operations are kept only where they are asked for");
}

#[test]
fn a_request_that_waits_for_others_alone_names_no_collection() {
    // The ninth write goes before the first collection, and waits only for the eight writes before
    // it.
    let worst = worst(PGC, false, vec![]);
    let write = of(&worst, Op::Write);
    assert_eq!(parts(write), [1680, 0, 10, 200]);
    assert_eq!(write.held_by(), None);
}

#[test]
fn a_faster_request_leaves_the_slowest_as_it_is() {
    // The first two reads arrive during the erase, which ends at 3880.
    let more = vec![at(2381, Op::Read, 10), at(2400, Op::Read, 11), at(9000, Op::Read, 10)];
    let worst = worst(PGC, true, more);
    // The second read waits 35 us for the first, and 19 us less for the erase, so it is the
    // slowest.
    let read = of(&worst, Op::Read);
    assert_eq!((read.request.number, parts(read)), (10, [35, 1480, 10, 25]));
}

#[test]
fn what_is_kept_of_a_die_is_bounded_and_says_so() {
    // 600 writes arrive at once. The last one waits for all others, each with a transfer and a
    // program.
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
