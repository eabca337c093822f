//! Several mapping units in a flash page, and write amplification in bytes: compared with a drive
//! whose pages are mapping units, with examples worked by hand, and on both kinds of drives.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::stream::NO_STREAM;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_ftl::{
    Fill, Frontier, Geometry, Layout, PageBuffer, PlacementSpec, VictimSpec, victim_policies,
};
use flashgc_timed::{Loop, TimedDrive, Until};
use flashgc_workload::Op;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

const KIB: u32 = 1024;

fn run(config: &RunConfig) -> RunResult {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    let resolved = Resolved::new(config, source, None).unwrap_or_else(|why| panic!("{why}"));
    simulate(&[resolved], 0, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

fn config() -> RunConfig {
    RunConfig { blocks: Some(150), pages_per_block: Some(16), runs: 2, ..RunConfig::default() }
}

fn refused(config: &RunConfig) -> String {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    Resolved::new(config, source, None).err().expect("a fault").to_string()
}

/// Returns all counts, without the configuration.
fn counted(result: &RunResult) -> impl PartialEq + std::fmt::Debug {
    let RunResult { each_run, bytes, counters, reads, course, .. } = result.clone();
    (each_run.run_values, bytes, counters, reads, course.series, result.wear.clone())
}

#[test]
fn units_are_the_pages_of_a_drive_of_small_pages() {
    let cases = [
        ("uniform", "greedy", "single", "none", "page"),
        ("zipf:theta=0.9,read=20%,trim=5%", "d-choices:d=10,c=1", "double", "none", "page"),
        ("hotcold:f=0.2,r=0.8", "cost-benefit", "pool:low=2", "none", "page"),
        ("hotcold:f=0.2,r=0.8", "greedy", "pool:low=2", "dac:regions=3", "page"),
        ("uniform", "fifo", "mixed:low=2", "none", "page"),
        ("zipf:theta=0.9", "greedy", "pool:low=2", "none", "dftl:entries=500,per_page=64"),
    ];
    for (workload, victim, frontier, placement, mapping) in cases {
        let small = RunConfig {
            page_size: 4 * KIB,
            pages_per_block: Some(64),
            workload: workload.into(),
            victim: victim.into(),
            frontier: frontier.into(),
            placement: placement.into(),
            mapping: mapping.into(),
            ..config()
        };
        let units = RunConfig {
            page_size: 16 * KIB,
            mapping_unit: Some(4 * KIB),
            pages_per_block: Some(16),
            ..small.clone()
        };
        let (small, units) = (run(&small), run(&units));
        assert_eq!(counted(&units), counted(&small), "{workload} {victim} {frontier}");
        let bytes = units.bytes;
        assert_eq!((bytes.rounding, bytes.padding, bytes.merged), (0, 0, 0));
        assert_eq!(bytes.programmed, bytes.host + bytes.copies);
        assert_eq!(bytes.host, units.counters.host_pages * 4096);
    }
}

#[test]
fn a_small_write_to_a_whole_page_programs_the_page() {
    // A page of 16 KiB has four places of 4 KiB. A write to any of them writes the page.
    let pages = RunConfig { page_size: 16 * KIB, ..config() };
    let small = RunConfig { request_size: Some(4 * KIB), ..pages.clone() };
    let result = run(&small);
    let bytes = result.bytes;
    assert_eq!(bytes.host, result.counters.host_pages * 4096);
    assert_eq!(bytes.rounding, 3 * bytes.host);
    assert_eq!(result.short_writes, result.counters.host_pages);
    assert_eq!(
        bytes.programmed,
        (result.counters.host_pages + result.counters.copied_pages) * 16 * 1024
    );
    let of_all = bytes.programmed as f64 / bytes.host as f64;
    assert!((result.write_amplification / of_all - 1.0).abs() < 1e-3);
    // In both cases a random page is written, so the amplification is four times that of whole-page
    // writes.
    let whole = run(&RunConfig { runs: 8, ..pages.clone() });
    let many = run(&RunConfig { runs: 8, ..small.clone() });
    let half = |result: &RunResult| result.write_amplification_ci95.unwrap();
    let difference = many.write_amplification - 4.0 * whole.write_amplification;
    assert!(difference.abs() < 1.5 * (half(&many) + 4.0 * half(&whole)), "{difference}");
    // With mapping units of 4 KiB, nothing is rounded.
    let units = run(&RunConfig { mapping_unit: Some(4 * KIB), request_size: None, ..small });
    assert_eq!((units.bytes.rounding, units.short_writes), (0, 0));
    assert!(units.write_amplification < 0.3 * many.write_amplification);
}

#[test]
fn larger_requests_write_all_their_units() {
    let config = RunConfig { page_size: 16 * KIB, mapping_unit: Some(4 * KIB), ..config() };
    let large = RunConfig { request_size: Some(64 * KIB), ..config.clone() };
    let result = run(&large);
    assert_eq!(result.bytes.rounding, 0);
    // A block has four whole requests, so greedy finds emptier blocks than with single units.
    assert!(result.write_amplification < run(&config).write_amplification);
}

#[test]
fn flushes_pad_what_was_worked_out_by_hand() {
    // There are four units a page, four pages a block, and ten blocks. The drive is empty at first.
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        buffer: PageBuffer {
            units_per_page: 4,
            planes: 1,
            pages_per_program: 1,
            is_protected: false,
            second_pass: None,
        },
        fill: Fill::Empty,
        ..Layout::new(Geometry::new(10, 16, 64).unwrap())
    };
    let mut layer = VictimSpec::parse("greedy").unwrap().build(layout.clone()).unwrap();
    let padding = |layer: &mut Box<dyn flashgc_ftl::Translation>| {
        layer.flush();
        layer.counts().packing.unwrap().padding
    };
    assert_eq!(padding(&mut layer), 0); // nothing waits
    layer.write(&[0, 1, 2]).unwrap();
    assert_eq!(padding(&mut layer), 1);
    assert_eq!(padding(&mut layer), 1); // nothing waits any more
    layer.write(&[3, 4, 5, 6]).unwrap();
    assert_eq!(padding(&mut layer), 1); // the page is full
    layer.write(&[7]).unwrap();
    assert_eq!(padding(&mut layer), 4);
    // The fourth page is the last of the block, so padding closes the block.
    layer.write(&[8]).unwrap();
    assert_eq!(padding(&mut layer), 7);
    layer.write(&[9]).unwrap();
    let place = |page| layer.locate(page).unwrap();
    assert_eq!([place(2), place(3), place(7), place(8)].map(|(_, offset)| offset), [2, 4, 8, 12]);
    assert_eq!(place(9).1, 0);
    assert_ne!(place(9).0, place(8).0);
    assert_eq!(layer.counters().host_pages, 10);
    layer.audit().unwrap();
    // A protected buffer ignores the flush.
    let buffer = PageBuffer { is_protected: true, ..layout.buffer };
    let mut layer =
        VictimSpec::parse("greedy").unwrap().build(Layout { buffer, ..layout }).unwrap();
    layer.write(&[0, 1, 2]).unwrap();
    layer.flush();
    layer.write(&[3]).unwrap();
    assert_eq!(layer.counts().packing.unwrap().padding, 0);
    assert_eq!(layer.locate(3).unwrap().1, 3);
}

#[test]
fn a_collection_reads_pages_and_packs_their_units() {
    // Blocks have two pages of four units. Block 0 keeps units 1 and 2 on its first page and unit 7
    // on its second; the copies fill three quarters of a page.
    let layout = Layout {
        frontier: Frontier::Pool { low: 1 },
        buffer: PageBuffer {
            units_per_page: 4,
            planes: 1,
            pages_per_program: 1,
            is_protected: true,
            second_pass: None,
        },
        ..Layout::new(Geometry::new(8, 8, 32).unwrap())
    };
    let mut layer = VictimSpec::parse("greedy:ties=lowest").unwrap().build(layout).unwrap();
    layer.write(&[0, 3, 4, 5, 6]).unwrap();
    let rest: Vec<u32> = (8..32).cycle().take(400).collect();
    let mut written = 0;
    while layer.counters().collections == 0 {
        layer.write(&rest[written..=written]).unwrap();
        written += 1;
    }
    let (counters, packing) = (layer.counters(), layer.counts().packing.unwrap());
    // Greedy picks a block without valid units, or block 0 with three of them.
    let read = match counters.copied_pages {
        0 => 0,
        3 => 2,
        other => panic!("{other} units copied"),
    };
    assert_eq!((packing.pages_read, packing.padding), (read, 0));
    layer.audit().unwrap();
}

/// Returns writes, reads, TRIMs and flushes of single units, skewed.
fn mixed(count: usize, pages: u32) -> Vec<(Op, u32)> {
    let mut stream = Stream::new(2, "mixed");
    (0..count)
        .map(|_| {
            let page = stream.below(pages);
            let page = if stream.below(10) < 9 { page / 10 } else { page };
            let op = match stream.below(20) {
                0 => Op::Trim,
                1..4 => Op::Read,
                4 | 5 => Op::Flush,
                _ => Op::Write,
            };
            (op, page)
        })
        .collect()
}

#[test]
fn one_die_decides_as_the_counting_drive_where_a_page_holds_several_units() {
    let geometry = Geometry::with_spare(200, 32, 0.15).unwrap();
    let hardware = flashgc_timed::Hardware {
        page_bytes: 4 * PAGE,
        units_per_page: 4,
        transfer_ns: 8 * US,
        ..paper_hardware()
    };
    let commands = mixed(20_000, geometry.logical_pages());
    let plain = victim_policies().iter().map(|info| (info.name, "none"));
    let sorted = [("greedy", "dac"), ("z-greedy", "dac:zombie-block=yes")];
    for (index, (policy, placement)) in plain.chain(sorted).enumerate() {
        let is_protected = index % 2 == 0 || placement != "none";
        let spec = PlacementSpec::parse(placement).unwrap();
        let host = Loop::Closed { threads: 1, think_ns: 1 };
        let mut settings = flashgc_timed::Settings { host, ..settings(hardware) };
        settings.collecting.low += spec.kept_for_copies();
        settings.collecting.high += spec.kept_for_copies();
        let collector = (policy, placement);
        let layer = unit_layer(&settings, geometry, collector, Fill::Random, 2, is_protected);
        let checker = Checker::new(&*layer);
        let requests = commands.iter().map(|&(op, page)| match op {
            Op::Flush => TimedRequest { offset: 0, bytes: 0, ..request(0, op, 0) },
            op => request(0, op, page),
        });
        let requests = Box::new(Listed::new(requests.collect()));
        let mut timed = TimedDrive::new(settings, layer, requests, checker).unwrap();
        let layout = Layout {
            frontier: Frontier::Pool { low: 2 },
            placement: spec,
            buffer: PageBuffer {
                units_per_page: 4,
                planes: 1,
                pages_per_program: 1,
                is_protected,
                second_pass: None,
            },
            fill: Fill::Random,
            seed: 7,
            ..Layout::new(geometry)
        };
        let mut counting = VictimSpec::parse(policy).unwrap().build(layout).unwrap();
        for &(op, page) in &commands {
            match op {
                Op::Write => counting.write(&[page]).unwrap(),
                Op::Trim | Op::Dirty | Op::Clean => counting.trim(&[page]).unwrap(),
                Op::Flush => counting.flush(),
                Op::Read => {}
            }
        }
        timed.run(Until::END).unwrap();
        let context = format!("{policy} {placement} {is_protected}");
        assert_eq!(timed.layer().decisions(), counting.decisions(), "{context}");
        assert_eq!(timed.layer().counters(), counting.counters(), "{context}");
        assert_eq!(timed.layer().counts().packing, counting.counts().packing, "{context}");
        let padding = counting.counts().packing.unwrap().padding;
        assert_eq!(padding == 0, is_protected, "{context}");
        timed.layer().audit().unwrap();
        counting.audit().unwrap();
    }
}

/// Returns the completion times, in microseconds, of these requests on units of 4 KiB, with four
/// units a page.
fn completed(
    requests: &[(u64, Op, u32)],
    change: impl Fn(&mut flashgc_timed::Settings),
) -> Vec<u64> {
    let hardware = flashgc_timed::Hardware {
        page_bytes: 4 * PAGE,
        units_per_page: 4,
        transfer_ns: 40 * US,
        ..paper_hardware()
    };
    let mut settings = flashgc_timed::Settings { host: Loop::Open, ..settings(hardware) };
    change(&mut settings);
    let geometry = Geometry::new(20, 16, 160).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
    let requests = requests.iter().map(|&(us, op, page)| request(us * US, op, page)).collect();
    let mut drive = recorded(&settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.observer().completed_us()
}

#[test]
fn the_times_of_units_are_what_was_worked_out_by_hand() {
    use Op::{Read, Write};
    // A page takes 25 us to read, 40 us over the bus and 200 us to program; a unit takes 10 us over
    // the bus. Three writes wait in the buffer, and the fourth fills the page.
    let writes = [(0, Write, 1), (5, Write, 50), (6, Write, 9), (10, Write, 2)];
    assert_eq!(completed(&writes, |_| ()), [0, 5, 6, 10 + 40 + 200]);
    // A read that finds its unit in the buffer is done at once. A read of another unit reads the
    // page and transfers a unit.
    let reads = [(0, Write, 1), (5, Read, 1), (6, Read, 80)];
    assert_eq!(completed(&reads, |_| ()), [0, 5, 6 + 25 + 10]);
    // Units 80 to 83 are on one page, which is read once; four units go over the bus. Unit 84 is on
    // another page.
    let page = [(0, Read, 84), (1, Read, 80), (1, Read, 81), (1, Read, 83), (1, Read, 88)];
    let first = 25 + 10;
    let second = first + 25 + 30;
    assert_eq!(completed(&page, |_| ()), [first, second, second, second, second + 25 + 10]);
    // After 100 us the page is programmed with one unit, and the read waits for this program.
    let stale = [(0, Write, 1), (110, Read, 80)];
    let after = |settings: &mut flashgc_timed::Settings| settings.flush_after_ns = 100 * US;
    assert_eq!(completed(&stale, after), [0, 100 + 240 + 25 + 10]);
}

#[test]
fn a_write_cache_takes_and_merges_writes_of_less_than_a_page() {
    let hardware = flashgc_timed::Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let drive = |cache: u32, requests: &[(u64, u64, u32)]| {
        let mut settings = flashgc_timed::Settings { host: Loop::Open, ..settings(hardware) };
        settings.write_cache = cache;
        let geometry = Geometry::new(20, 16, 160).unwrap();
        let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
        let requests = requests.iter().map(|&(us, offset, bytes)| TimedRequest {
            arrival_ns: us * US,
            offset,
            bytes,
            op: Op::Write,
            urgent: false,
            stream: NO_STREAM,
            goes_on: false,
        });
        let mut drive = recorded(&settings, layer, requests.collect());
        drive.run(Until::END).unwrap();
        let commands = drive.commands();
        let times = drive.observer().completed_us();
        (times, drive.now() / US, drive.layer().counters().host_pages, commands)
    };
    // A write of 512 bytes takes 25 us to read, 10 us over the bus in each direction, and 200 us to
    // program. The cache hides it.
    let short = [(0, 4096, 512)];
    let (times, end, pages, commands) = drive(0, &short);
    assert_eq!((times, end, pages), (vec![245], 245, 1));
    assert_eq!(
        (commands.short_writes, commands.missing_bytes, commands.merged_bytes),
        (1, 3584, 0)
    );
    let (times, end, pages, again) = drive(4, &short);
    assert_eq!((times, end, pages, again), (vec![0], 245, 1, commands));
    // Two writes of half a unit wait behind another write and become a whole unit meanwhile:
    // nothing is read, and one page is programmed.
    let halves = [(0, 8192, 4096), (1, 4096, 2048), (2, 6144, 2048)];
    let (times, end, pages, commands) = drive(4, &halves);
    assert_eq!((times, end, pages), (vec![0, 1, 2], 2 * 210, 2));
    assert_eq!((commands.short_writes, commands.missing_bytes, commands.merged_bytes), (0, 0, 0));
    // 1 KiB is written twice, with 512 bytes in common: 1536 bytes of the page are written, and 512
    // bytes in vain.
    let again = [(0, 8192, 4096), (1, 4096, 1024), (2, 4608, 1024)];
    let (times, _, pages, commands) = drive(4, &again);
    assert_eq!((times, pages), (vec![0, 1, 2], 2));
    assert_eq!(
        (commands.short_writes, commands.missing_bytes, commands.merged_bytes),
        (1, 2560, 512)
    );
    assert_eq!(commands.host_bytes(pages, 4096), 4096 + 1024 + 1024);
}

#[test]
fn what_does_not_go_together_is_refused_in_one_line() {
    let units = RunConfig { page_size: 16 * KIB, mapping_unit: Some(4 * KIB), ..config() };
    let with = |change: &dyn Fn(&mut RunConfig)| {
        let mut config = units.clone();
        change(&mut config);
        refused(&config)
    };
    type Change<'a> = &'a dyn Fn(&mut RunConfig);
    let cases: [(Change<'_>, &str); 7] = [
        (
            &|config| config.mapping_unit = Some(3000),
            "mapping_unit is 3000 bytes, expected a divisor of page_size",
        ),
        (
            &|config| config.mapping = "fast:log_blocks=8".into(),
            "mapping_unit 4KiB does not go with mapping=\"fast\"",
        ),
        (
            &|config| config.power_protection = false,
            "power_protection no needs the pool or mixed frontier",
        ),
        (
            &|config| config.flush_every = Some(3),
            "flush_every only applies with power_protection=\"no\"",
        ),
        (
            &|config| config.request_size = Some(6000),
            "request_size: found 6000 bytes, expected a divisor",
        ),
        (
            &|config| {
                config.mapping_unit = None;
                config.power_protection = false;
            },
            "power_protection no needs mapping_unit below page_size",
        ),
        (
            &|config| {
                config.request_size = Some(KIB);
                config.host = Some(flashgc_experiment::options::HostConfig {
                    cache: "page-cache:size=1MiB".into(),
                    hints: "none".into(),
                });
            },
            "does not go with host_cache, which writes whole mapping units of 4KiB",
        ),
    ];
    for (change, expected) in cases {
        let error = with(change);
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains('\n') && error.contains("; hint: "), "{error}");
    }
}

#[test]
fn nothing_waits_longer_than_flush_after_whatever_serves_the_writes() {
    // There is no collection, so every unit that waits is the host's.
    for (case, multi_plane) in [(0u32, false), (1, true), (2, true), (3, false)] {
        let hardware = flashgc_timed::Hardware {
            page_bytes: 4 * PAGE,
            units_per_page: 4,
            dies: 2,
            planes: 2,
            transfer_ns: 8 * US,
            ..paper_hardware()
        };
        let mut settings = flashgc_timed::Settings { host: Loop::Open, ..settings(hardware) };
        settings.multi_plane = multi_plane;
        settings.write_cache = 8 * (case % 2);
        settings.flush_after_ns = 300 * US;
        let geometry = Geometry::new(80, 32, 1200).unwrap();
        let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
        let mut stream = Stream::new(u64::from(case), "requests");
        let mut time = 0;
        let requests = (0..300).map(|_| {
            time += u64::from(stream.below(200)) * US;
            let page = stream.below(1200);
            // Half of the writes are parts of a unit, which is read first.
            let bytes = if stream.below(2) == 0 { 512 } else { PAGE };
            TimedRequest { bytes, ..request(time, Op::Write, page) }
        });
        let mut drive = recorded(&settings, layer, requests.collect());
        drive.run(Until::END).unwrap();
        let layer = drive.layer();
        let waits = |page: u32| layer.is_buffered(layer.locate(page).unwrap());
        assert!((0..1200).all(|page| !waits(page)), "case {case}");
        assert!(layer.counts().packing.unwrap().padding > 0);
        assert_eq!(layer.counters().collections, 0);
    }
}
