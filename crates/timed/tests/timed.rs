//! Tests of the timed drive without preemption: times worked out by hand, the same decisions as the
//! counting drive, queues with known means, and buses at their limit.

use flashgc_base::rng::Stream;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{
    Fill, Frontier, Geometry, Layout, PlacementSpec, VictimSpec, placement_policies,
    victim_policies,
};
use flashgc_timed::{Hardware, Loop, Settings, Silent, Stop, TimedDrive, Until};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// Returns a drive of eight blocks of 4 pages with 16 logical pages, and nine writes. At first
/// blocks 0 to 3 are full, and 4 to 7 are erased. Eight writes, to two pages of each of blocks 0 to
/// 3, fill blocks 4 and 5. The ninth write finds its frontier full and only two erased blocks. The
/// victims are blocks 0 and 1, with two valid pages each.
fn two_valid_pages_each() -> (Geometry, Vec<TimedRequest>) {
    let pages = [0, 1, 4, 5, 8, 9, 12, 13, 2];
    let requests = pages.into_iter().map(|page| request(0, Op::Write, page));
    (Geometry::new(8, 4, 16).unwrap(), requests.collect())
}

#[test]
fn a_collection_of_two_valid_pages_takes_1950_us() {
    // As in the slides of the PGC paper ("Garbage Collection"), two reads, two programs and an
    // erase take 2 * 0.025 + 2 * 0.200 + 1.5 = 1.950 ms.
    let (geometry, requests) = two_valid_pages_each();
    let settings = settings(paper_hardware());
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
    let mut drive = recorded(&settings, layer, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    let record = drive.observer();
    // Eight writes of 200 us each, then both collections, then the ninth write.
    let times: Vec<u64> = record.collections.iter().map(|&(time, ..)| time / US).collect();
    assert_eq!(times, [1600, 3550, 3550, 5500]);
    assert_eq!(record.completed_us()[7..], [1600, 5700]);
    let last = record.requests.last().unwrap();
    assert_eq!((last.blocked_ns, last.cell_ns), (3900 * US, 200 * US));
    assert!(last.met_collection && !record.requests[7].met_collection);
    let totals = drive.totals();
    assert_eq!((totals.collections.started, totals.collections.ended), (2, 2));
    // The die was never idle.
    assert_eq!(totals.die_busy_ns, [5700 * US]);
    assert_eq!(totals.die_collecting_ns, [3900 * US]);
    // With a search time, the search for each victim keeps the die busy, too.
    let (geometry, requests) = two_valid_pages_each();
    let mut searching = settings;
    searching.collecting.search_ns = 300 * US;
    let greedy = ("greedy:ties=oldest", "none");
    let layer = sorted_layer(&searching, geometry, greedy, Fill::Sequential, 2);
    let mut drive = recorded(&searching, layer, requests);
    drive.run(Until::END).unwrap();
    assert_eq!(drive.observer().completed_us()[7..], [1600, 5700 + 2 * 300]);
    assert_eq!(drive.totals().die_collecting_ns, [(3900 + 2 * 300) * US]);
}

#[test]
fn transfers_take_the_bus_and_copy_back_spares_them() {
    // A transfer takes 10 us: a copy takes 25 + 10 + 10 + 200 us, a write of the host 210 us.
    let (geometry, requests) = two_valid_pages_each();
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let run = |copy_back: bool| {
        let mut settings = settings(hardware);
        settings.collecting.copy_back = copy_back;
        let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, requests.clone());
        drive.run(Until::END).unwrap();
        let bus = drive.totals().bus_busy_ns[0] / US;
        (drive.observer().completed_us()[8], bus)
    };
    assert_eq!(run(false), (9 * 210 + 2 * (2 * 245 + 1500), 9 * 10 + 4 * 20));
    assert_eq!(run(true), (9 * 210 + 2 * (2 * 225 + 1500), 9 * 10));
}

/// Returns writes, reads and TRIMs of single pages. A tenth of the pages gets most of them.
fn mixed(count: usize, pages: u32) -> Vec<(Op, u32)> {
    let mut stream = Stream::new(2, "mixed");
    (0..count)
        .map(|_| {
            let page = stream.below(pages);
            let page = if stream.below(10) < 9 { page / 10 } else { page };
            let op = match stream.below(20) {
                0 => Op::Trim,
                1..6 => Op::Read,
                _ => Op::Write,
            };
            (op, page)
        })
        .collect()
}

#[test]
fn one_die_decides_as_the_counting_drive_request_by_request() {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    let hardware = Hardware { transfer_ns: 7 * US, command_ns: 300, ..paper_hardware() };
    let commands = mixed(20_000, geometry.logical_pages());
    let stream_of = |page: u32| [2, 0, NO_STREAM, 1][page as usize % 4];
    let asked = commands
        .iter()
        .map(|&(op, page)| TimedRequest { stream: stream_of(page), ..request(0, op, page) });
    let requests: Vec<_> = asked.collect();
    let plain = victim_policies().iter().map(|info| (info.name, "none"));
    let sorted = [
        ("greedy", "dac"),
        ("z-greedy", "dac:zombie-block=yes"),
        ("z-cost-benefit", "dac:regions=2,zombie-block=yes"),
    ];
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    let registered = known.map(|info| ("cost-benefit", info.name));
    for (policy, placement) in plain.chain(sorted).chain(registered) {
        let spec = PlacementSpec::parse(placement).unwrap();
        // With a think time of 1 ns the drive stops between two requests, before the next one
        // begins.
        let host = Loop::Closed { threads: 1, think_ns: 1 };
        let mut settings = Settings { host, ..settings(hardware) };
        settings.collecting.low += spec.kept_for_copies();
        settings.collecting.high += spec.kept_for_copies();
        let layer = sorted_layer(&settings, geometry, (policy, placement), Fill::Random, 2);
        let mut timed =
            TimedDrive::new(settings, layer, Box::new(Listed::new(requests.clone())), Silent)
                .unwrap();
        let layout = Layout {
            frontier: Frontier::Pool { low: 2 },
            streams: spec.needs_streams(),
            placement: spec,
            fill: Fill::Random,
            seed: 7,
            ..Layout::new(geometry)
        };
        let mut counting = VictimSpec::parse(policy).unwrap().build(layout).unwrap();
        let mut reads_found = 0;
        for (done, &(op, page)) in (1..).zip(&commands) {
            if let Some(streams) = counting.streams() {
                streams.name(&[page], &[stream_of(page)]).unwrap();
            }
            match op {
                Op::Write => counting.write(&[page]).unwrap(),
                Op::Trim | Op::Dirty | Op::Clean | Op::Flush => counting.trim(&[page]).unwrap(),
                Op::Read => reads_found += u64::from(counting.locate(page).is_some()),
            }
            if done % 50 == 0 {
                timed.run(Until { completed: done, time_ns: u64::MAX }).unwrap();
                assert_eq!(timed.layer().decisions(), counting.decisions(), "{policy} {placement}");
                assert_eq!(timed.layer().counters(), counting.counters(), "{policy} {placement}");
                assert_eq!(
                    timed.layer().counts().zombies,
                    counting.counts().zombies,
                    "{policy} {placement}"
                );
                let totals = counting.counts().streams;
                assert_eq!(timed.layer().counts().streams, totals, "{policy} {placement}");
                let ahead: Vec<u32> =
                    commands[done as usize..].iter().map(|&(_, page)| page).take(30).collect();
                timed.hint(&ahead).unwrap();
                if let Some(hints) = counting.hints() {
                    hints.hint(&ahead).unwrap();
                }
            }
        }
        timed.run(Until::END).unwrap();
        // No operations overlap, so the time is the sum of all operations. A command takes 0.3 us.
        let counters = counting.counters();
        let us = |time: u64| time * 10;
        let sum = reads_found * (us(25) + us(7) + 3)
            + counters.host_pages * (us(7) + 3 + us(200))
            + counters.copied_pages * (us(25) + us(7) + 3 + us(7) + 3 + us(200))
            + counters.erases * (us(1500) + 3);
        assert!(counters.collections > 300);
        let thought = commands.len() as u64 - 1;
        assert_eq!(timed.now(), sum * 100 + thought, "{policy} {placement}");
        timed.layer().audit().unwrap();
    }
}

/// Returns reads of random pages with exponential times between them.
fn poisson_reads(count: usize, mean_ns: f64, pages: u32) -> Vec<TimedRequest> {
    let mut stream = Stream::new(4, "poisson");
    let mut time = 0.0;
    (0..count)
        .map(|_| {
            time -= mean_ns * (1.0 - stream.unit()).ln();
            request(time as u64, Op::Read, stream.below(pages))
        })
        .collect()
}

fn reads_drive(settings: Settings, requests: Vec<TimedRequest>) -> TimedDrive<Checker> {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(16 * planes, 8, u64::from(80 * planes)).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
    let checker = Checker::new(&*layer);
    TimedDrive::new(settings, layer, Box::new(Listed::new(requests)), checker).unwrap()
}

#[test]
fn poisson_reads_of_one_die_wait_as_pollaczek_and_khinchine_say() {
    // M/D/1 queue: the mean wait is rho D / (2 (1 - rho)), here with D = 25 us. The mean wait of
    // 2 million requests has a standard error of 0.20% at rho = 0.5 and 0.27% at 0.7 (from 16 runs
    // of Lindley's recursion).
    for (rho, mean_ns) in [(0.5, 50_000.0), (0.7, 25_000.0 / 0.7)] {
        let count = 2_000_000;
        let settings =
            Settings { host: Loop::Open, queue_depth: u32::MAX, ..settings(paper_hardware()) };
        let mut drive = reads_drive(settings, poisson_reads(count, mean_ns, 80));
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        let wait = drive.observer().response_ns as f64 / count as f64 - 25_000.0;
        let expected = rho * 25_000.0 / (2.0 * (1.0 - rho));
        assert!((wait / expected - 1.0).abs() < 0.01, "rho {rho}: {wait} ns, {expected} expected");
        // Little: L = lambda W, with L the time average of the requests in the system.
        let sum = drive.observer().response_ns;
        assert_eq!(drive.totals().request_ns, sum);
        // Utilisation of the die: lambda D.
        let busy = drive.totals().die_busy_ns[0];
        assert_eq!(busy, count as u64 * 25_000);
    }
}

#[test]
fn saturated_reads_scale_with_the_dies_up_to_the_bus() {
    // The dies of one channel are read in turn. A read takes a die 50 + 10 us and the bus 10 us. Up
    // to six dies, each die adds one read in 60 us. More dies add none, as the bus is full.
    let rate = |dies: u32, transfer_ns: u64| {
        let hardware = Hardware { dies, read_ns: 50 * US, transfer_ns, ..paper_hardware() };
        let settings = Settings {
            host: Loop::Closed { threads: 4 * dies, think_ns: 0 },
            ..settings(hardware)
        };
        let requests = (0..60_000).map(|index| request(0, Op::Read, index % (80 * dies)));
        let mut drive = reads_drive(settings, requests.collect());
        drive.run(Until::END).unwrap();
        60_000.0 / drive.now() as f64
    };
    let one = rate(1, 10 * US);
    assert!((one * 60_000.0 - 1.0).abs() < 1e-9);
    for dies in [2, 3, 6, 7, 8, 16] {
        let expected = f64::from(dies.min(6)) / 60_000.0;
        let got = rate(dies, 10 * US);
        assert!((got / expected - 1.0).abs() < 1e-3, "{dies} dies: {got} of {expected}");
        // Without a bus, the rate is multiplied by the number of dies.
        let got = rate(dies, 0);
        assert!((got / (f64::from(dies) / 50_000.0) - 1.0).abs() < 1e-3, "{dies} dies: {got}");
    }
}

#[test]
fn a_request_of_many_pages_is_done_when_its_last_page_is() {
    // Pages 0 to 3 on four dies of one channel: the transfers follow each other.
    let hardware = Hardware { dies: 4, transfer_ns: 10 * US, ..paper_hardware() };
    let settings = settings(hardware);
    let whole = |op, bytes| TimedRequest { bytes, ..request(0, op, 0) };
    let requests = vec![
        whole(Op::Read, 4 * PAGE),  // 25 + 4 * 10
        whole(Op::Write, 4 * PAGE), // 4 * 10 + 200
        // This writes half of page 0, all of page 1 and a byte of page 2. Pages 0 and 2 are read
        // until 25. The bus transfers page 1 to its die until 10, page 0 out from 25 to 35, page 2
        // out from 35 to 45, page 0 back from 45 to 55 and page 2 back from 55 to 65. The program
        // of page 2 ends at 265.
        TimedRequest {
            offset: u64::from(PAGE) / 2,
            bytes: PAGE / 2 + PAGE + 1,
            ..request(0, Op::Write, 0)
        },
    ];
    let mut drive = reads_drive(settings, requests);
    let stop = drive.run(Until { completed: 2, time_ns: u64::MAX }).unwrap();
    assert_eq!((stop, drive.now()), (Stop::Reached, (65 + 240) * US));
    drive.run(Until::END).unwrap();
    assert_eq!(drive.now(), (305 + 265) * US);
    assert_eq!((drive.totals().pages_modified, drive.totals().pages_written), (2, 7));
}

#[test]
fn trims_spare_the_pages_that_they_touch_in_part() {
    let settings = settings(paper_hardware());
    let trim = |offset, bytes| TimedRequest { offset, bytes, ..request(0, Op::Trim, 0) };
    let page = u64::from(PAGE);
    let requests = vec![trim(page / 2, 3 * PAGE), trim(5 * page, PAGE), trim(7 * page + 1, 10)];
    let mut drive = reads_drive(settings, requests);
    drive.run(Until::END).unwrap();
    let gone: Vec<u32> = (0..80).filter(|&page| drive.layer().locate(page).is_none()).collect();
    assert_eq!(gone, [1, 2, 5]);
    assert_eq!((drive.now(), drive.totals().completed), (0, 3));
}

#[test]
fn threads_think_and_the_queue_depth_holds_requests_back() {
    // One thread needs 100 us for a request: 25 us for the read and 75 us to think.
    let reads = |count| (0..count).map(|page| request(0, Op::Read, page % 80)).collect::<Vec<_>>();
    let host = Loop::Closed { threads: 1, think_ns: 75 * US };
    let mut drive = reads_drive(Settings { host, ..settings(paper_hardware()) }, reads(100));
    drive.run(Until::END).unwrap();
    assert_eq!(drive.now(), (100 * 100 - 75) * US);
    // Two reads arrive at once. With queue depth 1 the second waits in front of the drive, with 2
    // in the drive: the time is the same.
    for queue_depth in [1, 2] {
        let settings = Settings { host: Loop::Open, queue_depth, ..settings(paper_hardware()) };
        let layer =
            layer(&settings, Geometry::new(16, 8, 80).unwrap(), "greedy", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, reads(2));
        drive.run(Until::END).unwrap();
        let second = drive.observer().requests[1];
        assert_eq!((second.response_ns(), second.queue_ns), (50 * US, 25 * US));
        let dispatched = if queue_depth == 1 { 25 * US } else { 0 };
        assert_eq!(second.dispatched_ns, dispatched);
    }
}

#[test]
fn requests_that_come_too_fast_are_an_overload() {
    // A read arrives every 20 us, and each takes 25 us.
    let requests = (0..6_000_000).map(|index| request(index * 20 * US, Op::Read, 0)).collect();
    let settings = Settings { host: Loop::Open, queue_depth: 32, ..settings(paper_hardware()) };
    let mut drive = reads_drive(settings, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Overload);
    let (now, totals) = (drive.now(), drive.totals());
    assert_eq!(totals.completed, now / (25 * US));
    assert!(totals.arrived - totals.completed > 1_000_000);
}
