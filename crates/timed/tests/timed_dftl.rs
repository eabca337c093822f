//! Tests of the timed drive with its map on flash: decisions and translation traffic are those of
//! the counting drive, times are worked out by hand, and counts add up even if operations overlap.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::stream::{MOST_STREAMS, NO_STREAM};
use flashgc_ftl::{
    Fill, Frontier, Geometry, Layout, MapTraffic, Mapping, PlacementSpec, SlcBlocks, SlcRegion,
    Stepwise, Translation, VictimSpec,
};
use flashgc_timed::{
    Cause, Completion, Hardware, Loop, Observer, Order, Place, Placement, Preemption, Scheduling,
    Settings, Slc, Source, Span, Stop, Suspend, TimedDrive, Unit, Until, Work,
};
use flashgc_workload::requests::TimedRequest;
use flashgc_workload::{Op, RangedRequests, StreamRanges};

use crate::timed_common::*;

/// Makes a drive whose map is on flash.
fn drive<O: Observer>(
    settings: &Settings,
    mapping: &str,
    (geometry, policy, fill): (Geometry, &str, Fill),
    requests: Vec<TimedRequest>,
    observer: impl FnOnce(&dyn Stepwise) -> O,
) -> TimedDrive<O> {
    let mapping = Mapping::parse(mapping).unwrap();
    let below = mapping.geometry_below(&geometry).unwrap();
    let layout = layout_of(settings, below, "none", fill, 2, true);
    let placement = mapping.placement_below(layout.placement);
    let mut settings = settings.clone();
    let for_folds = settings.slc.map_or(0, |_| SlcRegion::kept_for_folds(&placement));
    settings.collecting.low += placement.kept_for_copies() + for_folds;
    settings.collecting.high += placement.kept_for_copies() + for_folds;
    let layer = map_of(&settings, policy, Layout { placement, ..layout });
    let cache = mapping.cache(&geometry, |page| layer.locate(page)).unwrap();
    let (observer, requests) = (observer(&*layer), Box::new(Listed::new(requests)));
    let drive = TimedDrive::new(settings, layer, requests, observer).unwrap();
    drive.mapped(cache).unwrap()
}

fn counting(mapping: &str, geometry: Geometry, policy: &str, fill: Fill) -> Box<dyn Translation> {
    let policy = VictimSpec::parse(policy).unwrap();
    let layout =
        Layout { frontier: Frontier::Pool { low: 2 }, fill, seed: 7, ..Layout::new(geometry) };
    Mapping::parse(mapping).unwrap().build(layout, &|layout| policy.build(layout)).unwrap()
}

/// Returns writes, reads and TRIMs of single pages. A tenth of the pages gets most of them.
fn mixed(count: usize, pages: u32) -> Vec<(Op, u32)> {
    let mut stream = Stream::new(3, "mixed");
    let mut next = || {
        let page = stream.below(pages);
        let page = if stream.below(10) < 7 { page / 10 } else { page };
        let op = match stream.below(20) {
            0 => Op::Trim,
            1..6 => Op::Read,
            _ => Op::Write,
        };
        (op, page)
    };
    (0..count).map(|_| next()).collect()
}

const THOUGHT: u64 = 1_000_000 * US;

#[test]
fn one_die_decides_as_the_counting_drive_request_by_request() {
    let geometry = Geometry::with_spare(200, 16, 0.25).unwrap();
    let commands = mixed(6000, geometry.logical_pages());
    let requests: Vec<_> = commands.iter().map(|&(op, page)| request(0, op, page)).collect();
    // The think time is so long that no operation is under way when the next request arrives.
    let host = Loop::Closed { threads: 1, think_ns: THOUGHT };
    let plain = Settings { host, ..settings(paper_hardware()) };
    let cases = [
        ("dftl:entries=1,per_page=64", "greedy", Fill::Random),
        ("dftl:entries=40,per_page=64", "greedy", Fill::Empty),
        ("dftl:entries=300,per_page=64", "cost-benefit", Fill::Random),
        ("dftl:entries=320,per_page=1024,fetch=64", "d-choices:d=3", Fill::Sequential),
        ("dftl:entries=900,per_page=512", "fifo", Fill::Random),
        ("dftl:entries=40,per_page=64,blocks=own", "greedy", Fill::Random),
        ("dftl:entries=320,per_page=64,fetch=16,blocks=own", "cost-benefit", Fill::Empty),
        ("dftl:entries=100000,per_page=64", "cat", Fill::Random),
    ];
    for (mapping, policy, fill) in cases {
        let of = (geometry, policy, fill);
        let mut timed = drive(&plain, mapping, of, requests.clone(), |_| Recorder::default());
        let mut counting = counting(mapping, geometry, policy, fill);
        for (done, &(op, page)) in (1..).zip(&commands) {
            match op {
                Op::Write => counting.write(&[page]).expect(mapping),
                Op::Trim | Op::Dirty | Op::Clean | Op::Flush => counting.trim(&[page]).unwrap(),
                Op::Read => counting.reads().unwrap().read(&[page]).unwrap(),
            }
            if done % 20 == 0 {
                timed.run(Until { completed: done, ..Until::END }).unwrap();
                let time_ns = timed.now() + THOUGHT - 1;
                timed.run(Until { completed: u64::MAX, time_ns }).unwrap();
                let of = format!("{mapping} {policy} after {done}");
                assert_eq!(timed.counts().map_traffic, counting.counts().map_traffic, "{of}");
                assert_eq!(timed.counters(), counting.counters(), "{of}");
                assert_eq!(timed.layer().decisions(), counting.decisions(), "{of}");
            }
        }
        assert_eq!(timed.run(Until::END).unwrap(), Stop::Ended);
        timed.audit().unwrap();
        counting.audit().unwrap();
        let traffic = counting.counts().map_traffic.unwrap();
        assert!(counting.counters().collections > 100 && traffic.misses > 100, "{traffic:?}");
    }
}

/// Hints and requests arrive so rarely that each finds the drive idle.
#[test]
fn a_hint_looks_its_page_up_as_the_counting_drive_does() {
    let geometry = Geometry::with_spare(200, 16, 0.25).unwrap();
    let mut commands = Vec::new();
    for (number, &(op, page)) in mixed(6000, geometry.logical_pages()).iter().enumerate() {
        match number % 4 {
            0 => commands.push((Op::Dirty, page)),
            1 if number % 16 == 1 => commands.push((Op::Clean, page)),
            1 => commands.extend([(Op::Dirty, page), (Op::Write, page)]),
            _ => commands.push((op, page)),
        }
    }
    let timed = (0..).zip(&commands);
    let requests: Vec<_> =
        timed.map(|(number, &(op, page))| request(number * THOUGHT, op, page)).collect();
    let plain = Settings { host: Loop::Open, ..settings(paper_hardware()) };
    for (mapping, policy, fill) in [
        ("dftl:entries=1,per_page=64", "z-greedy", Fill::Random),
        ("dftl:entries=40,per_page=64", "z-greedy", Fill::Random),
        ("dftl:entries=320,per_page=64,fetch=16", "z-cost-benefit", Fill::Sequential),
        ("dftl:entries=40,per_page=64", "greedy", Fill::Random),
        ("dftl:entries=100000,per_page=64", "z-greedy", Fill::Random),
    ] {
        let of = (geometry, policy, fill);
        let mut timed = drive(&plain, mapping, of, requests.clone(), |_| Recorder::default());
        let mut before = drive(&plain, mapping, of, Vec::new(), |_| Recorder::default());
        let mut counting = counting(mapping, geometry, policy, fill);
        for &(op, page) in &commands {
            match op {
                Op::Write => counting.write(&[page]).expect(mapping),
                Op::Trim | Op::Flush => counting.trim(&[page]).unwrap(),
                Op::Read => counting.reads().unwrap().read(&[page]).unwrap(),
                Op::Dirty => counting.hints().map_or(Ok(()), |it| it.hint(&[page])).unwrap(),
                Op::Clean => counting.hints().map_or(Ok(()), |it| it.cancel(&[page])).unwrap(),
            }
        }
        assert_eq!(timed.run(Until::END).unwrap(), Stop::Ended);
        timed.audit().unwrap();
        // Before the clock starts, the same requests have the same effect.
        before.prepare(&requests, u64::MAX).unwrap();
        before.audit().unwrap();
        for mut drive in [timed, before] {
            let of = format!("{mapping} {policy}");
            assert_eq!(drive.counts().map_traffic, counting.counts().map_traffic, "{of}");
            assert_eq!(drive.counts().zombies, counting.counts().zombies, "{of}");
            assert_eq!(drive.counters(), counting.counters(), "{of}");
            assert_eq!(drive.layer().decisions(), counting.decisions(), "{of}");
        }
        assert!(counting.counters().collections > 100);
        if let Some(zombies) = counting.counts().zombies {
            assert!(
                zombies.marked > 1000 && zombies.copied > 0 && zombies.revived > 0,
                "{zombies:?}"
            );
        }
    }
}

/// The first fifth of the host's pages has stream 0, the rest has stream 1. Translation pages have
/// no stream.
#[test]
fn streams_go_through_a_map_on_flash_on_both_drives() {
    const PLACEMENT: &str = "fdp:handles=3";
    let geometry = Geometry::with_spare(200, 16, 0.25).unwrap();
    let mapping = Mapping::parse("dftl:entries=40,per_page=64").unwrap();
    let commands = mixed(6000, geometry.logical_pages());
    let requests: Vec<_> = commands.iter().map(|&(op, page)| request(0, op, page)).collect();
    let page = u64::from(PAGE);
    let border = u64::from(geometry.logical_pages() / 5) * page;
    let end = u64::from(geometry.logical_pages()) * page;
    let table = format!("0, {border}, 0\n{border}, {end}, 1\n");
    let ranges = StreamRanges::parse(Path::new("table"), table.as_bytes()).unwrap();
    let placement = PlacementSpec::parse(PLACEMENT).unwrap();
    let host = Loop::Closed { threads: 1, think_ns: THOUGHT };
    let mut settings = Settings { host, ..settings(paper_hardware()) };
    settings.collecting.low += placement.kept_for_copies();
    settings.collecting.high = settings.collecting.low;
    let below = mapping.geometry_below(&geometry).unwrap();
    let layer = sorted_layer(&settings, below, ("greedy", PLACEMENT), Fill::Random, 2);
    let cache = mapping.cache(&geometry, |page| layer.locate(page)).unwrap();
    let requests = Box::new(Listed::new(requests));
    let requests = Box::new(RangedRequests::new(requests, Arc::new(ranges.clone()), PAGE));
    let timed = TimedDrive::new(settings, layer, requests, Recorder::default()).unwrap();
    let mut timed = timed.mapped(cache).unwrap();
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        fill: Fill::Random,
        streams: true,
        placement,
        seed: 7,
        ..Layout::new(geometry)
    };
    let policy = VictimSpec::parse("greedy").unwrap();
    let mut counting = mapping.build(layout, &|layout| policy.build(layout)).unwrap();
    for &(op, number) in &commands {
        match op {
            Op::Write => {
                let stream = ranges.of(u64::from(number) * page).unwrap_or(NO_STREAM);
                counting.streams().unwrap().name(&[number], &[stream]).unwrap();
                counting.write(&[number]).unwrap();
            }
            Op::Read => counting.reads().unwrap().read(&[number]).unwrap(),
            _ => counting.trim(&[number]).unwrap(),
        }
    }
    timed.run(Until::END).unwrap();
    assert_eq!(timed.counters(), counting.counters());
    assert_eq!(timed.layer().decisions(), counting.decisions());
    assert_eq!(timed.counts(), counting.counts());
    let streams = counting.counts().streams.unwrap().streams;
    let (first, second, none) = (streams[0], streams[1], streams[MOST_STREAMS]);
    let written = commands.iter().filter(|(op, _)| *op == Op::Write).count() as u64;
    assert_eq!((first.host_pages + second.host_pages, none.host_pages), (written, 0));
    let writes = counting.counts().map_traffic.unwrap().writes;
    assert!(first.copied_pages > 0 && writes > 1000 && none.copied_pages >= writes);
    let copied = streams.iter().map(|stream| stream.copied_pages).sum::<u64>();
    assert_eq!(copied, counting.counters().copied_pages);
}

#[test]
fn what_comes_before_the_clock_is_the_counting_drives() {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    let commands = mixed(6000, geometry.logical_pages());
    let requests: Vec<_> = commands.iter().map(|&(op, page)| request(0, op, page)).collect();
    let (mapping, plain) = ("dftl:entries=50,per_page=64", settings(paper_hardware()));
    let of = (geometry, "greedy", Fill::Random);
    let mut timed = drive(&plain, mapping, of, Vec::new(), |_| Recorder::default());
    let mut counting = counting(mapping, geometry, "greedy", Fill::Random);
    let writes = commands.iter().filter(|(op, _)| *op == Op::Write).count() as u64;
    assert_eq!(timed.prepare(&requests, u64::MAX).unwrap(), writes);
    for &(op, page) in &commands {
        match op {
            Op::Write => counting.write(&[page]).unwrap(),
            Op::Read => counting.reads().unwrap().read(&[page]).unwrap(),
            _ => counting.trim(&[page]).unwrap(),
        }
    }
    assert_eq!(timed.counts().map_traffic, counting.counts().map_traffic);
    assert_eq!(timed.counters(), counting.counters());
    assert_eq!(timed.layer().decisions(), counting.decisions());
    assert!(timed.counters().trimmed_pages > 100);
    timed.audit().unwrap();
}

#[test]
fn a_miss_takes_the_times_of_its_translation_pages_longer() {
    // There are 16 pages. A translation page has the entries of four, and two entries fit into
    // memory. The host sends one request at a time.
    let geometry = Geometry::new(12, 4, 16).unwrap();
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let (read, write) = (25 + 10, 10 + 200);
    let steps = [
        // The entry is not in memory: a translation page is read.
        (Op::Write, 0, read + write),
        // The entry is in memory.
        (Op::Write, 0, write),
        (Op::Read, 5, read + read),
        (Op::Read, 5, read),
        // The entry of page 0 leaves the memory. It has changed, so its translation page is read
        // and programmed.
        (Op::Read, 9, (read + write) + read + read),
        // The entry of page 5 leaves the memory. It has not changed.
        (Op::Write, 10, read + write),
        (Op::Read, 9, read),
        (Op::Read, 12, (read + write) + read + read),
        // Page 3 was not written by a request, but is looked up, too.
        (Op::Trim, 3, read),
    ];
    let requests = steps.iter().map(|&(op, page, _)| request(0, op, page)).collect();
    let settings = settings(hardware);
    let of = (geometry, "greedy", Fill::Sequential);
    let spec = "dftl:entries=2,per_page=4";
    let mut drive = drive(&settings, spec, of, requests, |_| Recorder::default());
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    let record = drive.observer();
    let took: Vec<u64> = record.requests.iter().map(|one| one.response_ns() / US).collect();
    assert_eq!(took, steps.map(|(_, _, us)| us));
    // The work on translation pages counts as waiting time of the request.
    assert_eq!(record.requests[4].queue_ns, (2 * read + write) * US);
    let traffic = MapTraffic { hits: 3, misses: 6, reads: 6 + 2, writes: 2 };
    assert_eq!(drive.counts().map_traffic, Some(traffic));
    drive.audit().unwrap();
}

#[test]
fn what_is_moved_is_written_to_the_map_and_holds_its_die() {
    let geometry = Geometry::with_spare(60, 16, 0.25).unwrap();
    let commands = mixed(3000, geometry.logical_pages());
    let requests: Vec<_> = commands.iter().map(|&(op, page)| request(0, op, page)).collect();
    let settings = settings(paper_hardware());
    let of = (geometry, "greedy", Fill::Random);
    let spec = "dftl:entries=30,per_page=64";
    let mut drive = drive(&settings, spec, of, requests, |_| Recorder::default());
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.audit().unwrap();
    // With one die and one thread no operations overlap, so the time is the sum of all operations.
    let (counters, traffic) = (drive.counters(), drive.counts().map_traffic.unwrap());
    let found = drive.observer().spans.iter().filter(|span| {
        span.work == Work::Read && matches!(span.cause, Cause::Request(number) if number < u64::MAX)
    });
    let copies = counters.copied_pages - traffic.writes;
    let us = found.count() as u64 * 25
        + traffic.reads * 25
        + (counters.host_pages + traffic.writes) * 200
        + copies * 225
        + counters.erases * 1500;
    assert_eq!(drive.now(), us * US);
    assert!(traffic.writes > 500 && counters.erases > 100);
}

/// A [`Checker`] that also counts the operations on translation pages.
struct Audited {
    checker: Checker,
    /// The number of logical pages of the host.
    pages: u32,
    reads: u64,
    programs: u64,
}

impl Observer for Audited {
    fn dispatched(&mut self, number: u64, op: Op, page: u32) {
        self.checker.dispatched(number, op, page);
    }

    fn read(&mut self, number: u64, page: u32, from: Option<u32>) {
        self.checker.read(number, page, from);
    }

    fn programmed(&mut self, page: u32, ppn: u32, source: Source) {
        let of_map = page >= self.pages && matches!(source, Source::Host(_));
        self.programs += u64::from(of_map);
        self.checker.programmed(page, ppn, source);
    }

    fn cached(&mut self, number: u64, page: u32) {
        self.checker.cached(number, page);
    }

    fn read_cached(&mut self, number: u64, page: u32) {
        self.checker.read_cached(number, page);
    }

    fn erased(&mut self, block: u32) {
        self.checker.erased(block);
    }

    fn completed(&mut self, request: &Completion) {
        self.checker.completed(request);
    }

    fn worked(&mut self, span: &Span) {
        let of_map = span.page.is_some_and(|page| page >= self.pages);
        let is_read = span.work == Work::Read && span.place == Place::Cells;
        let by_request = matches!(span.cause, Cause::Request(_));
        self.reads += u64::from(of_map && is_read && by_request);
    }
}

#[test]
fn whatever_overlaps_every_read_is_current_and_the_traffic_is_what_was_done() {
    let hardware = Hardware {
        channels: 2,
        ways: 2,
        dies: 1,
        planes: 2,
        transfer_ns: 7 * US,
        ..paper_hardware()
    };
    let geometry = Geometry::with_spare(8 * 40, 16, 0.3).unwrap();
    let commands = mixed(20_000, geometry.logical_pages());
    let semi = |merge, pipeline| Preemption::Semi { merge, pipeline };
    // The first flag is `true` if reads of translation pages are never joined with other reads.
    let cases = [
        (true, Preemption::None, false, 0, Placement::Static(Order::CWDP), Unit::Plane),
        (true, semi(false, false), false, 0, Placement::Dynamic, Unit::Die),
        (true, semi(false, true), false, 64, Placement::Static(Order::CWDP), Unit::Plane),
        (false, semi(true, true), true, 64, Placement::Dynamic, Unit::Plane),
        (false, semi(true, false), true, 0, Placement::Static(Order::CWDP), Unit::Drive),
    ];
    for (number, case) in cases.into_iter().enumerate() {
        let (reads_alone, preemption, multi_plane, write_cache, placement, unit) = case;
        for (threads, entries, per_page, fetch) in
            [(1, 20, 64, 1), (7, 64, 32, 32), (32, 1, 64, 1), (32, 512, 64, 8)]
        {
            let mut settings = Settings {
                placement,
                multi_plane,
                write_cache,
                cache_commands: number == 3,
                scheduling: if number % 2 == 1 { Scheduling::ReadsFirst } else { Scheduling::Fifo },
                host: Loop::Closed { threads, think_ns: 0 },
                ..settings(hardware)
            };
            if number == 4 {
                settings.suspend = Suspend { erase: true, program: true, ..Suspend::NEVER };
            }
            settings.collecting.preemption = preemption;
            settings.collecting.unit = unit;
            let requests: Vec<_> = (0..)
                .zip(&commands)
                .map(|(at, &(op, page))| {
                    let mut one = request(0, op, page);
                    one.bytes = if at % 5 == 0 && op == Op::Write { PAGE / 2 } else { PAGE };
                    one
                })
                .collect();
            let blocks = ["shared", "own"][number % 2];
            let spec =
                format!("dftl:entries={entries},per_page={per_page},fetch={fetch},blocks={blocks}");
            let of = (geometry, "greedy", Fill::Random);
            let mut drive = drive(&settings, &spec, of, requests, |layer| Audited {
                checker: Checker::new(layer),
                pages: geometry.logical_pages(),
                reads: 0,
                programs: 0,
            });
            for completed in (1000..=commands.len() as u64).step_by(1000) {
                drive.run(Until { completed, ..Until::END }).unwrap();
                drive.audit().unwrap();
            }
            assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended, "{number} {threads}");
            drive.audit().unwrap();
            drive.observer().checker.check_end(drive.layer(), commands.len());
            let (traffic, counters) = (drive.counts().map_traffic.unwrap(), drive.counters());
            assert_eq!(traffic.writes, drive.observer().programs);
            if reads_alone {
                assert_eq!(traffic.reads, drive.observer().reads);
            }
            let below = drive.layer().counters();
            assert_eq!(counters.programs(), below.programs());
            assert_eq!(counters.host_pages + traffic.writes, below.host_pages);
            if write_cache == 0 {
                assert_eq!(traffic.hits + traffic.misses, commands.len() as u64);
            }
            assert!(traffic.misses > 1000 && traffic.writes > 300 && counters.erases > 300);
        }
    }
}

/// Translation pages are never in the SLC region. A fold moves pages, so the map changes: if the
/// entry of a page is not cached, its translation page is written.
#[test]
fn the_map_lies_in_normal_blocks_and_hears_of_folds() {
    let hardware = Hardware { dies: 2, planes: 2, transfer_ns: 7 * US, ..paper_hardware() };
    let geometry = Geometry::with_spare(4 * 50, 24, 0.4).unwrap();
    let pages = geometry.logical_pages();
    let commands = mixed(15_000, pages);
    let lent = SlcBlocks::lent(2, 9);
    for (blocks, waits) in [(SlcBlocks::fixed(5), true), (lent, false)] {
        let slc = Slc {
            region: SlcRegion { blocks, bits_per_cell: 3, waits },
            read_ns: 10 * US,
            program_ns: 70 * US,
            erase_ns: 900 * US,
            after_ns: 300 * US,
            pace: None,
        };
        let mut settings = Settings {
            host: Loop::Closed { threads: 7, think_ns: 100 * US },
            slc: Some(slc),
            ..settings(hardware)
        };
        settings.collecting.preemption = Preemption::Semi { merge: true, pipeline: false };
        let requests = commands.iter().map(|&(op, page)| request(0, op, page)).collect();
        let of = (geometry, "greedy", Fill::Random);
        let of_map = if waits { "own" } else { "shared" };
        let spec = format!("dftl:entries=40,per_page=32,blocks={of_map}");
        let mut drive = drive(&settings, &spec, of, requests, Checker::new);
        for completed in (500..=commands.len() as u64).step_by(500) {
            drive.run(Until { completed, ..Until::END }).unwrap();
            drive.audit().unwrap();
            let layer = drive.layer();
            let mut of_map =
                (pages..layer.geometry().logical_pages()).filter_map(|page| layer.locate(page));
            assert!(
                of_map.all(|ppn| !layer.slc().unwrap().holds(ppn)),
                "a page of the map is in the region"
            );
        }
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        drive.audit().unwrap();
        drive.observer().check_end(drive.layer(), commands.len());
        let (traffic, counters) = (drive.counts().map_traffic.unwrap(), drive.counters());
        let slc = drive.totals().slc.unwrap();
        assert_eq!(slc.host_pages + slc.direct_pages, counters.host_pages);
        assert_eq!(counters.host_pages + traffic.writes, drive.layer().counters().host_pages);
        assert_eq!(counters.programs(), drive.layer().counters().programs());
        assert!(slc.folds > 300 && slc.reads > 50 && traffic.writes > 1000, "{slc:?} {traffic:?}");
    }
}
