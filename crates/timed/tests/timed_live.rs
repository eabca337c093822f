//! A timed drive whose requests come while it runs: it answers as the ordinary run on the same
//! requests does, digit for digit.

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{
    Completion, Done, Hardware, Live, Loop, Preemption, Settings, Stop, Suspend, Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// Requests of several pages, in bursts: some at the same time, some after a pause.
fn bursts(stream: &mut Stream, pages: u32, count: u32) -> Vec<TimedRequest> {
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += match stream.below(8) {
                0..3 => 0,
                3..7 => u64::from(stream.below(300)) * 997,
                _ => u64::from(stream.below(20_000)) * 1009,
            };
            let op = match stream.below(20) {
                0..11 => Op::Write,
                11..19 => Op::Read,
                _ => Op::Trim,
            };
            let one = request(now, op, stream.below(pages - 8));
            TimedRequest { bytes: (1 + stream.below(4)) * PAGE, ..one }
        })
        .collect()
}

/// Feeds `requests` at their times, with the drive run to moments between them.
fn fed(live: &mut Live, requests: &[TimedRequest], stream: &mut Stream) -> Vec<Done> {
    let mut done = Vec::new();
    let mut reached = 0;
    for (index, request) in requests.iter().enumerate() {
        let now = request.arrival_ns;
        while reached + 1 < now && stream.below(3) > 0 {
            reached += u64::from(stream.below((now - reached).min(1 << 20) as u32));
            live.run(reached, &mut done).unwrap();
        }
        if now > reached + 1 && stream.below(2) == 0 {
            reached = now - 1;
            live.run(reached, &mut done).unwrap();
        }
        let at = now.max(1);
        let ticket = live.arrive(request.op, request.offset, request.bytes.into(), at).unwrap();
        assert_eq!(ticket, index as u64);
    }
    live.run(u64::MAX - 1, &mut done).unwrap();
    done
}

fn drives() -> Vec<(&'static str, Settings)> {
    let hardware =
        Hardware { channels: 2, dies: 2, planes: 2, transfer_ns: 20 * US, ..paper_hardware() };
    let plain = Settings { host: Loop::Open, ..settings(hardware) };
    let mut preempted = plain.clone();
    preempted.collecting.preemption = Preemption::Semi { merge: true, pipeline: true };
    let mut suspended = preempted.clone();
    suspended.suspend = Suspend { erase: true, program: true, ..Suspend::NEVER };
    let cached = Settings { write_cache: 16, ..preempted.clone() };
    let shallow = Settings { queue_depth: 3, ..plain.clone() };
    let gathered = Hardware { units_per_page: 4, page_bytes: 4 * PAGE, ..hardware };
    let gathered =
        Settings { flush_after_ns: 700 * US, ..Settings { hardware: gathered, ..plain.clone() } };
    vec![
        ("plain", plain),
        ("preempted", preempted),
        ("suspended", suspended),
        ("cached", cached),
        ("shallow", shallow),
        ("gathered", gathered),
    ]
}

#[test]
fn it_completes_requests_when_the_ordinary_run_does() {
    let geometry = Geometry::new(160, 16, 1920).unwrap();
    for (name, settings) in drives() {
        for seed in 0..3 {
            let mut stream = Stream::new(seed, "live");
            let mut requests = bursts(&mut stream, geometry.logical_pages(), 4000);
            requests.iter_mut().for_each(|request| request.arrival_ns = request.arrival_ns.max(1));
            let made = || layer(&settings, geometry, "greedy", Fill::Sequential, 2);
            let mut ordinary = recorded(&settings, made(), requests.clone());
            assert_eq!(ordinary.run(Until::END).unwrap(), Stop::Ended, "{name}");
            let erases = ordinary.counters().erases;
            assert!(erases > 100, "{name}: {erases} erases are too few to tell anything");
            let expected: Vec<Done> = ordinary
                .observer()
                .requests
                .iter()
                .map(|one| Done { ticket: one.number, at_ns: one.completed_ns })
                .collect();
            let mut live = Live::new(settings.clone(), made()).unwrap();
            let found = fed(&mut live, &requests, &mut stream);
            assert_eq!(found, expected, "{name}");
            assert_eq!(live.decisions(), ordinary.layer().decisions(), "{name}");
            assert_eq!(live.counters(), ordinary.counters(), "{name}");
            assert_eq!(live.next_ns().unwrap(), u64::MAX, "{name}: nothing is left to happen");
            let completed = &ordinary.observer().requests;
            for worst in live.worst().of_kinds() {
                let alike = completed.iter().filter(|one| one.op == worst.request.op);
                let longest = alike.map(Completion::response_ns).max();
                assert_eq!(Some(worst.request.response_ns()), longest, "{name}");
                assert!(completed.contains(&worst.request), "{name}");
            }
            // Before a shallow drive requests wait where no collection holds them.
            let slowest = live.worst().slowest().unwrap();
            assert!(name == "shallow" || slowest.held_by().is_some(), "{name}");
            assert!(!slowest.operations.is_empty(), "{name}");
        }
    }
}

#[test]
fn it_waits_for_requests_and_says_when_something_happens() {
    // Reads take 25 us, writes 200 us; one die.
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(10, 4, 16).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
    let (mut live, mut done) = (Live::new(settings, layer).unwrap(), Vec::new());
    assert_eq!(live.next_ns().unwrap(), u64::MAX);
    live.run(500 * US, &mut done).unwrap();
    let page = u64::from(PAGE);
    live.arrive(Op::Read, 0, page, 600 * US).unwrap();
    assert_eq!(live.next_ns().unwrap(), 600 * US);
    live.run(610 * US, &mut done).unwrap();
    assert_eq!(live.next_ns().unwrap(), 625 * US);
    live.arrive(Op::Write, page, page, 620 * US).unwrap();
    live.run(624 * US, &mut done).unwrap();
    assert_eq!(done, []);
    live.run(10_000 * US, &mut done).unwrap();
    let at = |ticket, us| Done { ticket, at_ns: us * US };
    assert_eq!(done, [at(0, 625), at(1, 825)]);
}

#[test]
fn a_flush_is_complete_when_the_writes_before_it_are() {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(10, 4, 16).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
    let (mut live, mut done) = (Live::new(settings, layer).unwrap(), Vec::new());
    let page = u64::from(PAGE);
    live.arrive(Op::Flush, 0, 0, 1).unwrap();
    live.arrive(Op::Write, 0, page, 2).unwrap();
    live.arrive(Op::Write, page, page, 3).unwrap();
    live.arrive(Op::Flush, 0, 0, 4).unwrap();
    live.arrive(Op::Write, 2 * page, page, 5).unwrap();
    live.arrive(Op::Flush, 0, 0, 6).unwrap();
    live.run(10_000 * US, &mut done).unwrap();
    // One die: writes take 200 us each, from 2 ns on.
    let at = |ticket, at_ns| Done { ticket, at_ns };
    let [first, second, third] = [1, 2, 3].map(|count| 2 + count * 200 * US);
    assert_eq!(
        done,
        [at(0, 1), at(1, first), at(2, second), at(3, second), at(4, third), at(5, third)]
    );
}

#[test]
fn a_discard_of_more_than_a_request_can_name_is_one_request() {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(12_500, 64, 3 << 18).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
    let (mut live, mut done) = (Live::new(settings, layer).unwrap(), Vec::new());
    live.fill(5, 3, 4096).unwrap();
    let bytes = 3 << 30;
    assert_eq!(live.arrive(Op::Trim, 0, bytes, 7).unwrap(), 0);
    live.run(10_000 * US, &mut done).unwrap();
    assert_eq!(done, [Done { ticket: 0, at_ns: 7 }]);
    assert_eq!(live.counters().trimmed_pages, 3);
}

#[test]
fn a_drive_that_has_been_used_collects_at_once() {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(40, 16, 480).unwrap();
    let made = |times| {
        let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
        let mut live = Live::new(settings.clone(), layer).unwrap();
        live.fill(3, 400, PAGE.into()).unwrap();
        live.age(times, 1).unwrap();
        live
    };
    assert_eq!(made(0.0).counters().host_pages, 400);
    let mut used = made(3.0);
    // 400 pages once in order, and 1200 of them again; the others have no data.
    assert_eq!((used.counters().host_pages, used.counters().trimmed_pages), (1600, 0));
    let (before, mut done) = (used.counters().erases, Vec::new());
    assert!(before > 50, "{before} erases");
    let page = u64::from(PAGE);
    for ticket in 0..32 {
        used.arrive(Op::Write, (3 + ticket) * page, page, 1 + ticket).unwrap();
    }
    used.run(1 << 40, &mut done).unwrap();
    assert!(used.counters().erases > before);
    // A collection takes 1.5 ms for the erase, so the slowest write is far above 32 * 200 us.
    assert_eq!(done.len(), 32);
    assert!(done.iter().any(|one| one.at_ns > (32 * 200 + 1500) * US));
}
