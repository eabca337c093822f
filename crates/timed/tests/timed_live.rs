//! Tests of the live drive, whose requests arrive while it runs: it completes them at the same
//! times as an ordinary run of the same requests.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry};
use flashgc_host::HintsSpec;
use flashgc_timed::{
    Completion, Done, Hardware, Live, Loop, Preemption, Settings, Stop, Suspend, TimedDrive, Until,
};
use flashgc_workload::requests::TimedRequest;
use flashgc_workload::{Op, RangedRequests, StreamRanges};

use crate::timed_common::*;

/// Returns requests of several pages, in bursts: some arrive at the same time, some after a pause.
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
                11..17 => Op::Read,
                17 => Op::Dirty,
                18 => [Op::Dirty, Op::Clean][stream.below(2) as usize],
                _ => Op::Trim,
            };
            let one = request(now, op, stream.below(pages - 8));
            TimedRequest { bytes: (1 + stream.below(4)) * PAGE, ..one }
        })
        .collect()
}

/// Gives `requests` to the drive at their times, and now and then runs it to a time between them.
/// Returns the completed requests.
fn fed(live: &mut Live, requests: &[TimedRequest], stream: &mut Stream) -> Vec<Done> {
    let mut done = Vec::new();
    let (mut reached, mut tickets) = (0, 0);
    for request in requests {
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
        if request.op.is_hint() {
            live.hint(request.op, request.offset, request.bytes.into(), at).unwrap();
            continue;
        }
        let ticket = live.arrive(request.op, request.offset, request.bytes.into(), at).unwrap();
        assert_eq!(ticket, tickets);
        tickets += 1;
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
            let made = || layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
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
            let mut live = Live::new(settings.clone(), made(), None).unwrap();
            let found = fed(&mut live, &requests, &mut stream);
            assert_eq!(found, expected, "{name}");
            let zombies = live.layer().counts().zombies;
            assert!(zombies.unwrap().marked > 100, "{name}: hints had no effect");
            assert_eq!(zombies, ordinary.layer().counts().zombies, "{name}");
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
            // With a small queue depth requests wait in front of the drive, where no collection
            // holds them.
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
    let (mut live, mut done) = (Live::new(settings, layer, None).unwrap(), Vec::new());
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
    let (mut live, mut done) = (Live::new(settings, layer, None).unwrap(), Vec::new());
    let page = u64::from(PAGE);
    live.arrive(Op::Flush, 0, 0, 1).unwrap();
    live.arrive(Op::Write, 0, page, 2).unwrap();
    live.arrive(Op::Write, page, page, 3).unwrap();
    live.arrive(Op::Flush, 0, 0, 4).unwrap();
    live.arrive(Op::Write, 2 * page, page, 5).unwrap();
    live.arrive(Op::Flush, 0, 0, 6).unwrap();
    live.run(10_000 * US, &mut done).unwrap();
    // On one die the writes take 200 us each, from 2 ns on.
    let at = |ticket, at_ns| Done { ticket, at_ns };
    let [first, second, third] = [1, 2, 3].map(|count| 2 + count * 200 * US);
    assert_eq!(
        done,
        [at(0, 1), at(1, first), at(2, second), at(3, second), at(4, third), at(5, third)]
    );
}

/// Returns a drive of one die that gets hints in the way `hints`. Reads take 25 us, writes 200 us.
fn hinted(hints: &str) -> Live {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(10, 4, 16).unwrap();
    let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
    let way = HintsSpec::parse(hints).unwrap();
    Live::new(settings, layer, None).unwrap().hinted(&way, 1).unwrap()
}

/// Sends a write of page 0, then a hint on page 2, then a read of page 3. Returns the times at
/// which the write and the read are done, in microseconds.
fn around_a_hint(hints: &str) -> [u64; 2] {
    let (mut live, mut done) = (hinted(hints), Vec::new());
    let page = u64::from(PAGE);
    live.arrive(Op::Write, 0, page, 1).unwrap();
    live.hint(Op::Dirty, 2 * page, page, 2).unwrap();
    live.arrive(Op::Read, 3 * page, page, 3).unwrap();
    live.run(10_000 * US, &mut done).unwrap();
    assert_eq!(live.layer().audit(), Ok(()));
    done.sort_by_key(|one| one.ticket);
    [done[0].at_ns / US, done[1].at_ns / US]
}

#[test]
fn a_command_made_for_hints_takes_its_time() {
    assert_eq!(around_a_hint("perfect"), [200, 225]);
    assert_eq!(around_a_hint("piggyback"), [200, 225]);
    assert_eq!(around_a_hint("command:cost=100us,queued=yes"), [200, 225]);
    // The command for the hint waits for the write, and the read waits for that command.
    assert_eq!(around_a_hint("command:cost=100us,queued=no"), [200, 325]);
    // A command is sent only when 256 ranges wait for it; here one waits.
    assert_eq!(around_a_hint("dsm:queued=no"), [200, 225]);
    assert_eq!(around_a_hint("dsm:ranges=1,cost=50us,queued=no"), [200, 275]);
}

#[test]
fn hints_ride_on_reads_and_writes_and_those_of_written_pages_are_dropped() {
    let mut live = hinted("piggyback");
    let page = u64::from(PAGE);
    for first in [5, 7, 9, 11] {
        live.hint(Op::Dirty, first * page, page, 1).unwrap();
    }
    let counts = |live: &Live| {
        let counts = live.hint_counts().unwrap();
        (counts.due, counts.sent, counts.overtaken)
    };
    assert_eq!(counts(&live), (4, 0, 0));
    live.arrive(Op::Flush, 0, 0, 2).unwrap();
    live.arrive(Op::Trim, 0, page, 3).unwrap();
    assert_eq!(counts(&live), (4, 0, 0), "neither is a read or a write");
    live.arrive(Op::Read, 0, page, 4).unwrap();
    assert_eq!(counts(&live), (4, 1, 0));
    // The hint on page 7 is dropped, as this write overwrites it. The write carries the hint on
    // page 9.
    live.arrive(Op::Write, 7 * page, page, 5).unwrap();
    assert_eq!(counts(&live), (4, 2, 1));
    live.hint(Op::Clean, 11 * page, page, 6).unwrap();
    live.arrive(Op::Read, 0, page, 7).unwrap();
    assert_eq!(counts(&live), (4, 2, 2), "a hint that was taken back does not ride");
}

#[test]
fn ways_of_simulated_hosts_are_refused() {
    for way in ["frequency", "oracle"] {
        let settings = settings(paper_hardware());
        let geometry = Geometry::new(10, 4, 16).unwrap();
        let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
        let live = Live::new(settings, layer, None).unwrap();
        let refused = live.hinted(&HintsSpec::parse(way).unwrap(), 1).err().unwrap();
        assert!(refused.to_string().contains("for a simulated host"), "{refused}");
    }
}

#[test]
fn commands_that_take_no_time_tell_what_hints_at_once_tell() {
    let geometry = Geometry::new(160, 16, 1920).unwrap();
    let (name, settings) = drives().swap_remove(0);
    let mut stream = Stream::new(9, "live");
    let requests = bursts(&mut stream, geometry.logical_pages(), 4000);
    let served = |way: &str| {
        let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
        let live = Live::new(settings.clone(), layer, None).unwrap();
        let mut live = live.hinted(&HintsSpec::parse(way).unwrap(), 1).unwrap();
        let done = fed(&mut live, &requests, &mut Stream::new(1, "steps"));
        (done, live.decisions(), live.layer().counts().zombies)
    };
    let at_once = served("perfect");
    assert!(at_once.2.unwrap().marked > 100, "{name}: hints had no effect");
    assert_eq!(served("command:cost=0us,queued=yes"), at_once);
    // Commands that take long are done only after some of the announced writes.
    assert_ne!(served("command:cost=30ms,queued=yes").2, at_once.2);
    for fewer in ["none", "perfect:lost=50%"] {
        assert_ne!(served(fewer).1, at_once.1, "{fewer}");
    }
}

#[test]
fn writes_have_the_streams_of_their_addresses() {
    let geometry = Geometry::new(160, 16, 1920).unwrap();
    let settings = Settings { host: Loop::Open, ..settings(paper_hardware()) };
    let border = 400 * u64::from(PAGE);
    let table = format!("0, {border}, 0\n{border}, {}, 1\n", 1920 * u64::from(PAGE));
    let ranges = Arc::new(StreamRanges::parse(Path::new("table"), table.as_bytes()).unwrap());
    let made =
        || sorted_layer(&settings, geometry, ("greedy", "fdp:handles=2"), Fill::Sequential, 4);
    let mut stream = Stream::new(3, "live");
    let mut requests = bursts(&mut stream, geometry.logical_pages(), 4000);
    requests.retain(|request| !request.op.is_hint());
    requests.iter_mut().for_each(|request| request.arrival_ns = request.arrival_ns.max(1));
    let listed = Box::new(Listed::new(requests.clone()));
    let ranged = RangedRequests::new(listed, Arc::clone(&ranges), PAGE);
    let mut ordinary =
        TimedDrive::new(settings.clone(), made(), Box::new(ranged), Recorder::default()).unwrap();
    assert_eq!(ordinary.run(Until::END).unwrap(), Stop::Ended);
    let mut live = Live::new(settings.clone(), made(), Some(ranges)).unwrap();
    fed(&mut live, &requests, &mut stream);
    let streams = live.layer().counts().streams.unwrap();
    assert_eq!(streams, ordinary.layer().counts().streams.unwrap());
    assert_eq!(live.decisions(), ordinary.layer().decisions());
}

#[test]
fn data_from_before_the_clock_have_streams_too() {
    let geometry = Geometry::new(160, 16, 1920).unwrap();
    let settings = settings(paper_hardware());
    let table = format!("0, {}, 1\n", 400 * u64::from(PAGE));
    let ranges = StreamRanges::parse(Path::new("table"), table.as_bytes()).unwrap();
    let placed = ("greedy", "fdp:handles=2");
    let layer = sorted_layer(&settings, geometry, placed, Fill::Empty, 4);
    let mut live = Live::new(settings, layer, Some(Arc::new(ranges))).unwrap();
    live.fill(100, 1000, PAGE.into()).unwrap();
    let streams = live.layer().counts().streams.unwrap();
    assert_eq!(streams.streams[1].host_pages, 300);
    assert_eq!(streams.streams.last().unwrap().host_pages, 700);
}

#[test]
fn a_discard_of_more_than_a_request_can_name_is_one_request() {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(12_500, 64, 3 << 18).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
    let (mut live, mut done) = (Live::new(settings, layer, None).unwrap(), Vec::new());
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
        let mut live = Live::new(settings.clone(), layer, None).unwrap();
        live.fill(3, 400, PAGE.into()).unwrap();
        live.age(times, 1).unwrap();
        live
    };
    assert_eq!(made(0.0).counters().host_pages, 400);
    let mut used = made(3.0);
    // 400 pages are written once in order; then 1200 writes go to random pages of these.
    assert_eq!((used.counters().host_pages, used.counters().trimmed_pages), (1600, 0));
    let (before, mut done) = (used.counters().erases, Vec::new());
    assert!(before > 50, "{before} erases");
    let page = u64::from(PAGE);
    for ticket in 0..32 {
        used.arrive(Op::Write, (3 + ticket) * page, page, 1 + ticket).unwrap();
    }
    used.run(1 << 40, &mut done).unwrap();
    assert!(used.counters().erases > before);
    // The erase of a collection takes 1.5 ms, so the slowest write ends long after 32 * 200 us.
    assert_eq!(done.len(), 32);
    assert!(done.iter().any(|one| one.at_ns > (32 * 200 + 1500) * US));
}
