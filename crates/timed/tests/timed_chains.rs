//! Tests of chains: if nothing can interrupt a collection, its copies are one job of the die.
//! Times, counts and data must be the same as with one event for each step.

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry, Members};
use flashgc_timed::{
    Completion, Follows, Hardware, Idle, Loop, Meter, Observer, Place, Scheduling, Settings,
    Source, Span, Stint, TimedDrive, Until, WorstSoFar,
};
use flashgc_workload::Op;

use crate::timed_common::{Listed, layer, request, settings};

/// An observer that records all reports that are the same with steps and with chains.
struct Told {
    follows: Follows,
    requests: Vec<Completion>,
    /// The work of buses and dies: the die, `true` for the bus, the begin and the end in
    /// nanoseconds.
    work: Vec<(u32, bool, u64, u64)>,
    reads: Vec<(u64, u32, Option<u32>)>,
    writes: Vec<(u32, u32, u64)>,
    erased: Vec<u32>,
    collections: Vec<(u64, u32, u64, bool)>,
    copied: u64,
}

impl Told {
    fn new(follows: Follows) -> Self {
        Self {
            follows,
            requests: Vec::new(),
            work: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            erased: Vec::new(),
            collections: Vec::new(),
            copied: 0,
        }
    }

    fn works(&mut self, times: (u64, u64), die: u32, place: Place) {
        self.work.push((die, place == Place::Bus, times.0, times.1));
    }

    /// Returns the work sorted by die, place and time. Pieces without a pause between them are
    /// joined.
    fn work(&self) -> Vec<(u32, bool, u64, u64)> {
        let mut work = self.work.clone();
        work.sort_unstable();
        work.dedup_by(|later, earlier| {
            let goes_on = (later.0, later.1, later.2) == (earlier.0, earlier.1, earlier.3);
            if goes_on {
                earlier.3 = later.3;
            }
            goes_on
        });
        work
    }
}

impl Observer for Told {
    fn follows(&self) -> Follows {
        self.follows
    }

    fn was_busy(&mut self, stint: &Stint) {
        self.works((stint.begin_ns, stint.end_ns), stint.die, stint.place);
    }

    fn copied(&mut self, _: u32, pages: u64) {
        self.copied += pages;
    }

    fn read(&mut self, number: u64, page: u32, from: Option<u32>) {
        self.reads.push((number, page, from));
    }

    fn programmed(&mut self, page: u32, ppn: u32, source: Source) {
        if let Source::Host(number) = source {
            self.writes.push((page, ppn, number));
        }
    }

    fn erased(&mut self, block: u32) {
        self.erased.push(block);
    }

    fn completed(&mut self, request: &Completion) {
        self.requests.push(*request);
    }

    fn worked(&mut self, span: &Span) {
        self.works((span.begin_ns, span.end_ns), span.die, span.place);
    }

    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        self.collections.push((now, die, number, begins));
    }
}

/// Returns a drive with these settings and random requests. A plane has 16 blocks, 5 of them spare.
fn drive<O: Observer>(
    settings: &Settings,
    (policy, pages_per_block): (&str, u32),
    observer: O,
    seed: u64,
) -> TimedDrive<O> {
    let planes = settings.hardware.all_planes();
    let pages = planes * 11 * pages_per_block;
    let geometry = Geometry::new(planes * 16, pages_per_block, pages.into()).unwrap();
    let mut stream = Stream::new(seed, "chains");
    let mut now = 0;
    let requests = (0..1500 * pages_per_block / 8)
        .map(|_| {
            // Arrivals are multiples of 50 ns, so that many coincide with events of the flash.
            now += u64::from(stream.below(8)) * 50;
            let op = match stream.below(10) {
                0..3 => Op::Read,
                3 => Op::Trim,
                _ => Op::Write,
            };
            request(now, op, stream.below(pages))
        })
        .collect();
    let map = layer(settings, geometry, policy, Fill::Random, 2);
    TimedDrive::new(settings.clone(), map, Box::new(Listed::new(requests)), observer).unwrap()
}

/// Returns a meter as `flashgc run` has it, which measures from request 100 on. Its slices are so
/// short that collections begin and end within them.
fn meter(settings: &Settings, keeps_operations: bool) -> Meter {
    let Hardware { planes, .. } = settings.hardware;
    let dies = settings.hardware.all_dies();
    Meter::new(100, Some(7_000), dies, None, WorstSoFar::new(dies, planes, keeps_operations))
}

/// Compares chains with steps at many stops. Returns the number of pages that chains copied.
fn compare(settings: &Settings, policy: (&str, u32), seed: u64) -> u64 {
    let told = |follows| drive(settings, policy, Told::new(follows), seed);
    let mut steps = told(Follows::Steps);
    let mut chains = told(Follows::Work);
    let mut silent = told(Follows::Nothing);
    // A meter that keeps the operations of dies follows every step.
    let metered =
        |keeps_operations| drive(settings, policy, meter(settings, keeps_operations), seed);
    let mut measured = [true, false].map(metered);
    let by_count = (1..30).map(|part| Until { completed: part * 37, time_ns: u64::MAX });
    let by_time = (1..40).map(|part| Until { completed: u64::MAX, time_ns: part * 6_170 + 90_000 });
    for until in by_count.chain(by_time).chain([Until::END]) {
        let stop = steps.run(until).unwrap();
        for other in [&mut chains, &mut silent] {
            assert_eq!(other.run(until).unwrap(), stop);
            assert_eq!(other.now(), steps.now(), "{until:?}");
            assert_eq!(other.totals(), steps.totals(), "{until:?}");
            assert_eq!(other.counters(), steps.counters(), "{until:?}");
            other.audit().unwrap();
        }
        assert_eq!(chains.observer().work(), steps.observer().work(), "{until:?}");
        let [by_step, by_chain] = measured.each_mut().map(|drive| {
            assert_eq!(drive.run(until).unwrap(), stop);
            let (now, meter) = (drive.now(), drive.observer_mut());
            meter.settle();
            let slowest = meter.worst().of_kinds().map(|worst| worst.collections.clone());
            (meter.series().result(now, 1, 1, 1), slowest.collect::<Vec<_>>())
        });
        assert_eq!(by_chain, by_step, "{until:?}");
    }
    let expected = steps.observer();
    for other in [chains.observer(), silent.observer()] {
        assert_eq!(other.requests, expected.requests);
        assert_eq!(other.reads, expected.reads);
        assert_eq!(other.writes, expected.writes);
        assert_eq!(other.erased, expected.erased);
        assert_eq!(other.collections, expected.collections);
    }
    assert!(expected.copied == 0 && silent.observer().copied == 0);
    assert!(expected.erased.len() > 50, "{} erases", expected.erased.len());
    chains.observer().copied
}

/// Returns flash whose events often have the same time.
fn hardware(channels: u32, ways: u32, planes: u32) -> Hardware {
    Hardware {
        channels,
        ways,
        dies: 1,
        planes,
        page_bytes: 4096,
        units_per_page: 1,
        pages_per_program: 1,
        members: Members::ONE,
        read_ns: 100,
        program_ns: 300,
        second_ns: None,
        erase_ns: 800,
        transfer_ns: 50,
        command_ns: 0,
    }
}

#[test]
fn a_chain_is_as_one_event_a_step() {
    let closed = Loop::Closed { threads: 9, think_ns: 0 };
    let mut told = 0;
    for (seed, (channels, ways, planes)) in
        [(1, 1, 1), (1, 4, 1), (2, 3, 1), (2, 2, 2)].into_iter().enumerate()
    {
        for (command_ns, transfer_ns) in [(0, 50), (50, 50), (20, 130), (0, 400), (7, 3)] {
            for host in [Loop::Open, closed] {
                let base = settings(Hardware {
                    command_ns,
                    transfer_ns,
                    ..hardware(channels, ways, planes)
                });
                let mut settings = Settings { host, queue_depth: 32, ..base };
                if seed % 2 == 1 {
                    settings.scheduling = Scheduling::ReadsFirst;
                    settings.collecting.search_ns = 100;
                }
                told += compare(&settings, ("greedy", 8), seed as u64);
                settings.write_cache = 5;
                settings.multi_plane = planes > 1;
                settings.collecting.idle = Some(Idle { after_ns: 900, below: 6 });
                told += compare(&settings, ("d-choices:d=3", 8), seed as u64);
            }
        }
    }
    // With 64 and 128 pages the bits of a block's pages fill whole words of 64 bits; with 65 and
    // 100 they do not. Victims of `fifo` are nearly full of valid pages.
    for pages_per_block in [64, 65, 100, 128] {
        let settings = Settings { host: closed, queue_depth: 32, ..settings(hardware(1, 2, 1)) };
        told += compare(&settings, ("fifo", pages_per_block), 5);
    }
    assert!(told > 50_000, "chains copied {told} pages");
}
