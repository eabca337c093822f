//! Tests of a host's cache in front of the timed drive: times worked out by hand, hints that reads
//! and writes carry, and hints in separate commands, which take time.

use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, PlacementSpec, VictimSpec};
use flashgc_host::HostSpec;
use flashgc_timed::{Hardware, Loop, Settings, Stop, TimedDrive, Until};
use flashgc_workload::Op::{self, Clean, Dirty, Read, Trim, Write};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{Arrivals, PageRequests, RequestStream};

use crate::timed_common::*;

/// Makes a drive of 480 logical pages. A die has 40 blocks of 16 pages. A read takes 25 us, a
/// program 200 us, an erase 1.5 ms, and a transfer no time.
fn drive(
    settings: Settings,
    cache: &str,
    hints: &str,
    requests: &[(Op, u32)],
) -> TimedDrive<Recorder> {
    let geometry = Geometry::new(40 * settings.hardware.all_planes(), 16, 480).unwrap();
    let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
    let requests = requests.iter().map(|&(op, page)| request(0, op, page)).collect();
    let host = HostSpec::parse(cache, hints).unwrap().open_clocked(PAGE, 480, 1).unwrap();
    recorded(&settings, layer, requests).behind(host)
}

/// Returns the times at which `requests`, sent by one thread, are completed, in microseconds.
fn completed(cache: &str, hints: &str, requests: &[(Op, u32)]) -> Vec<u64> {
    let mut drive = drive(settings(paper_hardware()), cache, hints, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.layer().audit().unwrap();
    drive.observer().completed_us()
}

#[test]
fn memory_serves_what_it_has_and_the_drive_the_rest() {
    // The cache has 40 pages. A miss takes 25 us for the read, a hit takes 5 us for the memory. A
    // discarded page has no data, so nothing is read.
    let requests =
        [(Read, 7), (Read, 7), (Write, 7), (Read, 7), (Write, 100), (Trim, 100), (Read, 100)];
    let times = completed("page-cache:size=160KiB", "none", &requests);
    assert_eq!(times, [25, 30, 35, 40, 45, 50, 55]);
}

#[test]
fn a_writer_waits_above_its_limit_alone() {
    // The cache has 40 pages. Above 4 dirty pages (10%) the daemon takes pages as soon as they are
    // dirty. So there are never more than 8 (20%), and no writer waits.
    let writes = |count: u32| (0..count).map(|page| (Write, page)).collect::<Vec<_>>();
    let times = completed("page-cache:size=160KiB,writeback=0s", "none", &writes(10));
    assert_eq!(times, [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]);
    // The cache has 460 pages. The writer checks the dirty pages at every 14th write. The daemon
    // begins above 46 dirty pages and has up to 128 pages under way; the drive programs one in 200
    // us, the time of 40 writes. The daemon takes 10 pages at the 4th check and 14 at each later
    // one, so that it has 128 at the 13th. Three to four checks later more than 92 pages are dirty.
    // The writer then writes 21 pages itself and waits for them.
    let times = completed("page-cache:size=1840KiB,writeback=0s", "none", &writes(400));
    let waits = times.windows(2).position(|two| two[1] - two[0] > 5).unwrap() + 2;
    assert_eq!(times[waits - 2], 5 * (waits as u64 - 1), "nobody waits before");
    assert!((16 * 14..=17 * 14).contains(&waits), "{waits}");
    assert!(times[waits - 1] - times[waits - 2] > 21 * 200);
}

#[test]
fn a_request_waits_for_a_page_for_room_and_for_the_write_of_its_page() {
    let waits = |cache: &str, requests: &[(Op, u32)]| {
        let mut drive = drive(settings(paper_hardware()), cache, "none", requests);
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        let waits = drive.host_counts().unwrap().waits;
        let told = [
            (waits.reads, waits.read_ns / US),
            (waits.rooms, waits.room_ns / US),
            (waits.rewrites, waits.rewrite_ns / US),
        ];
        (drive.observer().completed_us(), told)
    };
    // The cache has two pages. The third update writes page 7 from 50 to 250, and then reads page
    // 9.
    let cache = "buffer-cache:size=8KiB,checkpoint=0s,pages=0";
    let (times, told) = waits(cache, &[(Write, 7), (Write, 8), (Write, 9)]);
    assert_eq!(times, [25, 50, 275]);
    assert_eq!(told, [(3, 25 + 25 + 225), (1, 200), (0, 0)]);
    // The background writer writes page 7 from 32 to 232. Reads do not wait for that. An update at
    // 35 waits for it, but not for the next write of the page, which is sent at 64.
    let cache = "buffer-cache:size=160KiB,checkpoint=0s,delay=32us,scan=100%";
    let requests = [(Write, 7), (Read, 7), (Read, 7), (Write, 7), (Read, 7)];
    let (times, told) = waits(cache, &requests);
    assert_eq!(times, [25, 30, 35, 232, 237]);
    assert_eq!(told, [(1, 25), (0, 0), (1, 197)]);
    // In Linux's page cache a page may be updated while it is written.
    let cache = "page-cache:size=160KiB,writeback=32us,expire=1us";
    let (times, told) = waits(cache, &requests);
    assert_eq!(times, [25, 30, 35, 40, 45].map(|time| time - 20));
    assert_eq!(told, [(0, 0); 3]);
    // The cache has three pages. Page 7 is written from 76 to 276. At 95 page 10 evicts page 7. The
    // die reads page 10 after the write of page 7, until 301.
    let cache = "buffer-cache:size=12KiB,checkpoint=0s,delay=76us,scan=100%,pages=1";
    let requests =
        [(Write, 7), (Read, 8), (Read, 9), (Read, 8), (Read, 9), (Read, 8), (Read, 9), (Read, 10)];
    let (times, told) = waits(cache, &requests);
    assert_eq!(times, [25, 50, 75, 80, 85, 90, 95, 301]);
    assert_eq!(told, [(4, 25 * 3 + 206), (1, 181), (0, 0)]);
}

#[test]
fn the_daemon_writes_what_has_expired_at_its_look() {
    // The daemon writes the dirty page at its check at 1 ms, while the thread thinks for 2 ms.
    let settings = Settings {
        host: Loop::Closed { threads: 1, think_ns: 2000 * US },
        ..settings(paper_hardware())
    };
    let cache = "page-cache:size=160KiB,writeback=1ms,expire=500us";
    let requests = [(Write, 3), (Read, 3), (Read, 40)];
    let mut drive = drive(settings, cache, "none", &requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    // The write takes 5 us; after 2 ms the cached read takes 5 us; after 2 ms the miss takes 25 us.
    assert_eq!(drive.observer().completed_us(), [5, 2010, 4035]);
    let programs: Vec<_> = drive.observer().spans.iter().map(|span| span.begin_ns / US).collect();
    assert_eq!(programs, [1000, 4010], "page 3 is written at the look, page 40 read");
    let counts = drive.host_counts().unwrap();
    let pages = counts.pages;
    assert_eq!((pages.reads, pages.writes, pages.drive_reads, pages.drive_writes), (2, 1, 1, 1));
    // One page was dirty until the check at 1 ms.
    assert_eq!((counts.dirty, counts.moments), (1_000_000, drive.now().into()));
}

#[test]
fn hints_ride_on_the_next_command_for_nothing() {
    let requests = [(Write, 7), (Write, 9), (Read, 100), (Read, 101)];
    let cache = "page-cache:size=160KiB";
    let silent = completed(cache, "none", &requests);
    assert_eq!(silent, [5, 10, 35, 60]);
    assert_eq!(completed(cache, "piggyback", &requests), silent);
    let known_after = |requests: &[(Op, u32)]| {
        let mut drive = drive(settings(paper_hardware()), cache, "piggyback", requests);
        drive.run(Until { completed: requests.len() as u64, time_ns: u64::MAX }).unwrap();
        drive.layer().counts().zombies.unwrap().known
    };
    // Each command carries one extent, first in, first out.
    assert_eq!([2, 3, 4].map(|count| known_after(&requests[..count])), [0, 1, 2]);
}

#[test]
fn a_command_for_hints_takes_its_time_alone_or_beside_others() {
    let cache = "page-cache:size=160KiB";
    // The first write is done in memory. The command for its hint keeps the drive busy from 0 to
    // 100 us, and the read waits. The command for the hint of the last write begins at 135 us; no
    // request waits for it.
    let requests = [(Write, 7), (Read, 100), (Read, 7), (Write, 9), (Read, 100)];
    assert_eq!(completed(cache, "command:cost=100us", &requests), [5, 125, 130, 135, 140]);
    assert_eq!(completed(cache, "command:cost=100us,queued=yes", &requests), [5, 30, 35, 40, 45]);
    // A command for hints also waits for earlier commands, here for a read of the other thread from
    // 0 to 25.
    let two =
        Settings { host: Loop::Closed { threads: 2, think_ns: 0 }, ..settings(paper_hardware()) };
    let requests = [(Read, 100), (Write, 7), (Read, 200)];
    let mut drive = drive(two, cache, "command:cost=100us", &requests);
    drive.run(Until::END).unwrap();
    assert_eq!(drive.observer().completed_us(), [25, 5, 150]);
    assert_eq!(drive.layer().counts().zombies.unwrap().known, 1);
    let counts = drive.host_counts().unwrap();
    assert_eq!((counts.hints.due, counts.hints.sent, counts.hints.commands), (1, 1, 1));
}

#[test]
fn perfect_knowledge_needs_no_command() {
    let requests = [(Write, 7), (Write, 8), (Write, 9)];
    let cache = "page-cache:size=160KiB";
    let mut drive = drive(settings(paper_hardware()), cache, "perfect", &requests);
    drive.run(Until { completed: 3, time_ns: u64::MAX }).unwrap();
    assert_eq!(drive.layer().counts().zombies.unwrap().known, 3);
    assert_eq!(drive.now(), 15 * US);
}

#[test]
fn banks_work_side_by_side_for_readers_that_miss() {
    // There are four dies, each on its own channel. Four threads read from different dies, in 25 us
    // each.
    let hardware = Hardware { channels: 4, ..paper_hardware() };
    let settings =
        Settings { host: Loop::Closed { threads: 4, think_ns: 0 }, ..settings(hardware) };
    let requests: Vec<_> = (0..8).map(|page| (Read, page)).collect();
    let mut drive = drive(settings, "page-cache:size=160KiB", "piggyback", &requests);
    drive.run(Until::END).unwrap();
    assert_eq!(drive.observer().completed_us(), [25, 25, 25, 25, 50, 50, 50, 50]);
}

#[test]
fn what_a_trace_says_is_dirty_is_known_at_its_time_and_costs_nothing() {
    let geometry = Geometry::new(40, 16, 480).unwrap();
    let known = |host: Loop, until: u64, cache: Option<&str>| {
        let settings = Settings { host, ..settings(paper_hardware()) };
        let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
        // There are two reads of 25 us and a write of 200 us. Page 7 is dirty until it is written.
        let events = [(0, Read, 1), (10, Dirty, 7), (20, Dirty, 8), (60, Read, 2), (70, Write, 7)];
        let requests = events.map(|(us, op, page)| request(us * US, op, page)).to_vec();
        let mut drive = recorded(&settings, layer, requests);
        if let Some(cache) = cache {
            let host = HostSpec::parse(cache, "none").unwrap();
            drive = drive.behind(host.open_clocked(PAGE, 480, 1).unwrap());
        }
        drive.run(Until { completed: u64::MAX, time_ns: until * US }).unwrap();
        (drive.layer().counts().zombies.unwrap().known, drive.observer().completed_us())
    };
    assert_eq!(known(Loop::Open, 9, None).0, 0);
    assert_eq!(known(Loop::Open, 10, None).0, 1);
    assert_eq!(known(Loop::Open, 20, None), (2, Vec::new()));
    // The write waits for the read: 60 to 85, and 200 more.
    assert_eq!(known(Loop::Open, 1000, None), (1, vec![25, 85, 285]));
    // In a closed loop the hints come with the next request of the thread, when the first read is
    // done.
    let closed = Loop::Closed { threads: 1, think_ns: 0 };
    assert_eq!(known(closed, 24, None).0, 0);
    assert_eq!(known(closed, 25, None), (2, vec![25]));
    assert_eq!(known(closed, 1000, None), (1, vec![25, 50, 250]));
    // With a simulated cache the hints of the trace are ignored, as the cache has its own dirty
    // pages.
    let cache = Some("page-cache:size=160KiB");
    assert_eq!(known(closed, 1000, cache), (0, vec![25, 50, 55]));
}

#[test]
fn what_is_dirty_again_behind_its_write_stays_a_zombie_when_that_is_done() {
    let geometry = Geometry::new(40, 16, 480).unwrap();
    // The drive writes pages 7, 8 and 9 one after another, from 0, 200 and 400 us on. Meanwhile the
    // host updates 8 and 9 in memory, and then discards 9. So page 8 is a zombie after its write,
    // and page 9 is not.
    let events = [
        (0, Write, 7),
        (1, Write, 8),
        (2, Write, 9),
        (20, Dirty, 8),
        (21, Dirty, 9),
        (30, Trim, 9),
    ];
    // With queue depth 1 the drive gets the hints after the commands before them, at 400, and the
    // discard at 600.
    for (queue_depth, known) in [(32, [2, 2, 1, 1]), (1, [0, 0, 2, 1])] {
        let settings = Settings { host: Loop::Open, queue_depth, ..settings(paper_hardware()) };
        let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
        let requests = events.map(|(us, op, page)| request(us * US, op, page)).to_vec();
        let mut drive = recorded(&settings, layer, requests);
        let found = [25, 399, 599, 1000].map(|us| {
            drive.run(Until { completed: u64::MAX, time_ns: us * US }).unwrap();
            drive.layer().counts().zombies.unwrap().known
        });
        assert_eq!(found, known, "{queue_depth}");
        drive.layer().audit().unwrap();
    }
}

#[test]
fn a_drive_prepared_behind_its_cache_stands_where_the_counting_drive_stands() {
    let geometry = Geometry::with_spare(200, 16, 0.15).unwrap();
    let pages = geometry.logical_pages();
    let application = GeneratorSpec::parse("hotcold:f=0.1,r=0.9,read=0.2,trim=0.02").unwrap();
    let host = |cache: &str, hints: &str| HostSpec::parse(cache, hints).unwrap();
    for (victim, placement) in [
        ("greedy", "none"),
        ("z-greedy", "dac:zombie-block=yes"),
        ("z-cost-benefit", "dac:regions=2,zombie-block=yes"),
    ] {
        for (cache, hints) in [
            ("page-cache:size=800KiB,rate=1000,speed=800", "piggyback"),
            ("page-cache:size=800KiB,rate=1000,speed=800,expiry=page", "dsm:ranges=5"),
            ("page-cache:size=800KiB", "perfect:lost=20%,wrong=10%,late=30"),
            ("buffer-cache:size=800KiB,rate=100", "frequency"),
        ] {
            let spec = PlacementSpec::parse(placement).unwrap();
            let layout = Layout {
                frontier: Frontier::Pool { low: 2 },
                placement: spec.clone(),
                fill: Fill::Random,
                seed: 7,
                ..Layout::new(geometry)
            };
            let requests = application.open(pages, 5).unwrap();
            let before = host(cache, hints).open(requests, PAGE, pages, 5).unwrap();
            let layer = VictimSpec::parse(victim).unwrap().build(layout).unwrap();
            let mut counting = CountingDrive::new(layer, Box::new(before), 100);

            let mut settings = settings(paper_hardware());
            settings.collecting.low += spec.kept_for_copies();
            settings.collecting.high += spec.kept_for_copies();
            let layer = sorted_layer(&settings, geometry, (victim, placement), Fill::Random, 2);
            let before = host(cache, hints).open_clocked(PAGE, pages, 5).unwrap();
            let mut timed = recorded(&settings, layer, Vec::new()).behind(before);
            let clock = Arrivals::parse("closed").unwrap().open(5);
            let mut requests =
                PageRequests::new(application.open(pages, 5).unwrap(), clock, PAGE, PAGE);
            let (mut batch, mut written) = (Vec::new(), 0);
            // Both stops are in the middle of a writer's flush, and not at the end of a batch.
            for target in [4_001, 9_002] {
                while counting.step(Extent { unit: Unit::Writes, amount: target }).unwrap() {}
                while written < target {
                    requests.fill(&mut batch, 1).unwrap();
                    written += timed.prepare(&batch, target - written).unwrap();
                }
                let (layer, what) =
                    (timed.layer(), format!("{victim} {placement} {cache} {hints}"));
                layer.audit().unwrap();
                assert_eq!(layer.counters().host_pages, target);
                assert!(target < 9_000 || layer.counters().copied_pages > 9_000, "{what}");
                assert_eq!(layer.decisions(), counting.layer().decisions(), "{what}");
                assert_eq!(layer.counters(), counting.layer().counters(), "{what}");
                assert_eq!(layer.counts().zombies, counting.layer().counts().zombies, "{what}");
            }
        }
    }
}

#[test]
fn what_is_clean_again_behind_its_write_is_no_zombie_when_that_is_done() {
    let geometry = Geometry::new(40, 16, 480).unwrap();
    // The drive writes pages 7, 8 and 9 from 0, 200 and 400 us on. Meanwhile the host updates 8 and
    // 9 in memory, and then takes the hint on 9 back. So page 8 is a zombie after its write, and
    // page 9 is not.
    let events = [
        (0, Write, 7),
        (1, Write, 8),
        (2, Write, 9),
        (20, Dirty, 8),
        (21, Dirty, 9),
        (30, Clean, 9),
    ];
    // With queue depth 1 the drive gets all hints at 400.
    for (queue_depth, known) in [(32, [2, 1, 1, 1]), (1, [0, 0, 1, 1])] {
        let settings = Settings { host: Loop::Open, queue_depth, ..settings(paper_hardware()) };
        let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
        let requests = events.map(|(us, op, page)| request(us * US, op, page)).to_vec();
        let mut drive = recorded(&settings, layer, requests);
        let found = [25, 399, 599, 1000].map(|us| {
            drive.run(Until { completed: u64::MAX, time_ns: us * US }).unwrap();
            drive.layer().counts().zombies.unwrap().known
        });
        assert_eq!(found, known, "{queue_depth}");
        drive.layer().audit().unwrap();
        assert_eq!(drive.observer().completed_us().len(), 3);
    }
}

#[test]
fn what_a_trace_says_is_dirty_is_known_before_the_clock_as_well() {
    let settings = settings(paper_hardware());
    let geometry = Geometry::new(40, 16, 480).unwrap();
    let layer = layer(&settings, geometry, "z-greedy", Fill::Sequential, 2);
    let mut drive = recorded(&settings, layer, Vec::new());
    let events = [
        (Write, 1),
        (Dirty, 7),
        (Dirty, 8),
        (Dirty, 9),
        (Clean, 8),
        (Write, 7),
        (Clean, 9),
        (Write, 3),
    ];
    let requests = events.map(|(op, page)| request(0, op, page));
    // The call ends after the second write: the hint after it and the third write are not executed.
    assert_eq!(drive.prepare(&requests, 2).unwrap(), 2);
    let zombies = drive.layer().counts().zombies.unwrap();
    assert_eq!((zombies.marked, zombies.overwritten, zombies.known), (3, 1, 1));
    assert_eq!(drive.layer().counters().host_pages, 2);
}
