//! Superblocks: blocks of several planes that are opened, filled, collected and erased together. That
//! they decide as large blocks of the counting drive is tested in `one_request.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{Requests, TimedTrace};
use flashgc_workload::trace::{PagingOptions, ReadOptions};

use crate::one_request;
use crate::timed_runs::{resolve, run};

/// Returns a drive whose dies have `planes` planes. Its unit is a page, and it is worked to its
/// limit.
fn drive(planes: u32, superblock: &str) -> RunConfig {
    RunConfig {
        blocks: Some(64 * planes),
        pages_per_block: Some(12),
        spare: 0.2,
        victim: "greedy".into(),
        superblock: superblock.into(),
        times: Some("read=60us,program=300us,erase=3ms,transfer=10us".into()),
        timed: Some(TimedConfig {
            planes,
            arrivals: Some("closed:threads=32".into()),
            ..TimedConfig::default()
        }),
        workload: "uniform".into(),
        warmup: "3x".into(),
        length: Length::Requests(20_000),
        runs: 1,
        seed: 7,
        ..RunConfig::default()
    }
}

/// Returns a drive without a clock, with superblocks of `superblock` in which `parity` is parity.
fn counted(superblock: &str, parity: &str) -> RunConfig {
    RunConfig {
        blocks: Some(64 * 16),
        superblock: superblock.into(),
        parity: parity.into(),
        frontier: "pool:low=2".into(),
        times: None,
        timed: None,
        length: Length::Writes("6x".into()),
        ..drive(1, "plane")
    }
}

/// Returns the result of a drive without a clock.
fn count(config: &RunConfig) -> RunResult {
    one_request::run(resolve_counted(config).unwrap())
}

fn resolve_counted(config: &RunConfig) -> Result<Resolved, String> {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    Resolved::new(config, source, None).map_err(|error| error.to_string())
}

#[test]
fn a_superblock_of_a_drive_without_a_clock_is_a_large_block() {
    let large =
        RunConfig { blocks: Some(64), pages_per_block: Some(12 * 16), ..counted("plane", "none") };
    let large = count(&large);
    assert!(large.counters.erases > 100);
    for superblock in ["dies=16,planes=1", "dies=4,planes=4", "dies=1,planes=16"] {
        let joined = count(&counted(superblock, "none"));
        assert_eq!((joined.counters, &joined.decisions), (large.counters, &large.decisions));
        assert_eq!(joined.config.run.blocks, Some(1024));
        assert_eq!(joined.config.physical_pages, large.config.physical_pages);
    }
}

#[test]
fn parity_takes_its_share_of_space_and_of_programs() {
    // 15 of the 16 blocks of a superblock have data. The spare factor is that of the data.
    let plain =
        RunConfig { blocks: Some(64), pages_per_block: Some(12 * 15), ..counted("plane", "none") };
    let times = || Some("read=60us,program=300us,erase=3ms,transfer=10us".into());
    let plain = count(&RunConfig { times: times(), ..plain });
    let striped = count(&RunConfig { times: times(), ..counted("dies=16,planes=1", "1/16") });
    assert_eq!((striped.counters, &striped.decisions), (plain.counters, &plain.decisions));
    assert_eq!(striped.write_amplification, plain.write_amplification);
    let with_parity = striped.in_pages.write_amplification_with_parity.unwrap();
    assert!((with_parity / striped.write_amplification - 16.0 / 15.0).abs() < 1e-12);
    assert_eq!(plain.in_pages.write_amplification_with_parity, None);
    assert_eq!(striped.bytes.programmed, plain.bytes.programmed);
    assert_eq!((striped.bytes.parity, plain.bytes.parity), (striped.bytes.programmed / 15, 0));
    let (config, without) = (&striped.config, &plain.config);
    assert_eq!(config.spare_factor, without.spare_factor);
    assert_eq!(config.physical_pages, 64 * 12 * 16);
    // Each page of parity crosses the bus once and is programmed, and each of 16 dies erases.
    let erases = 15.0 * striped.counters.erases as f64 * 3e-3;
    let parity = (striped.bytes.parity / 4096) as f64;
    let busy = |result: &RunResult| result.busy.as_ref().unwrap().total_seconds;
    let more = busy(&striped) - busy(&plain) - erases;
    assert!((more / (parity * 310e-6) - 1.0).abs() < 1e-3, "{more} {parity}");
}

#[test]
fn the_worked_drive_has_the_amplification_that_was_counted_apart_from_it() {
    // The first four rows: the parity at one logical capacity, at 256 superblocks of 192 MiB. The
    // others: the size of a superblock at parity 1/16. A short program of its own counted them.
    const LOGICAL: f64 = 10_027_008.0 / 12_582_912.0;
    for (superblocks, parity, counted, tolerance) in [
        (256, "none", 2.759, 0.01),
        (256, "1/64", 2.938, 0.01),
        (256, "1/16", 3.723, 0.01),
        (256, "1/8", 6.433, 0.01),
        (32, "1/16", 6.91, 0.03),
        (64, "1/16", 4.580, 0.01),
        (128, "1/16", 3.965, 0.01),
        (512, "1/16", 3.614, 0.01),
        (1024, "1/16", 3.559, 0.01),
    ] {
        // A sixteenth of the drive: units of 4 KiB where the flash has a page of four.
        let data = match parity.split_once('/') {
            Some((_, parts)) => 1.0 - 1.0 / parts.parse::<f64>().unwrap(),
            None => 1.0,
        };
        let config = RunConfig {
            blocks: Some(64 * superblocks),
            pages_per_block: Some(48 * 256 / superblocks),
            page_size: 4096,
            superblock: "dies=16,planes=4".into(),
            parity: parity.into(),
            spare: 1.0 - LOGICAL / data,
            victim: "greedy".into(),
            frontier: "pool:low=2".into(),
            workload: "uniform".into(),
            warmup: "10x".into(),
            length: Length::Writes("14x".into()),
            runs: 1,
            seed: 1,
            ..RunConfig::default()
        };
        let found = count(&config).write_amplification;
        assert!(
            (found / counted - 1.0).abs() < tolerance,
            "{superblocks} {parity}: {found} {counted}"
        );
    }
}

#[test]
fn parity_lies_in_blocks_of_its_own() {
    let of = |superblock: &str, parity: &str| {
        resolve_counted(&counted(superblock, parity)).err().unwrap()
    };
    let refused = of("plane", "1/16");
    assert!(refused.contains("does not go with superblocks of 1 block: whole blocks"), "{refused}");
    assert!(refused.contains("hint: superblock=\"dies=16,planes=1\""), "{refused}");
    assert!(resolve_counted(&counted("dies=16,planes=1", "1/16")).is_ok());
    for wrong in ["1/1", "2/16", "1/0", "6%", ""] {
        let refused = of("dies=16,planes=1", wrong);
        assert!(refused.contains(&format!("parity: found '{wrong}', expected none")), "{refused}");
    }
    // One of 15 planes: 56 units of 60 are data.
    let plane = RunConfig {
        pages_per_block: Some(4),
        blocks: Some(1500),
        ..counted("dies=5,planes=3", "1/15")
    };
    assert_eq!(resolve_counted(&plane).unwrap().geometry.pages_per_block(), 56);
    let refused = of("dies=3,planes=4", "1/4");
    assert!(refused.contains("a stripe would have 4 planes of one die"), "{refused}");
    assert!(refused.ends_with("hint: parity=\"1/12\""), "{refused}");
    let refused = of("dies=1,planes=16", "1/16");
    assert!(refused.contains("lie on one die, which fails as a whole"), "{refused}");
    let refused = of("die", "none");
    assert!(refused.contains("needs a clock: a drive without one has no dies"), "{refused}");
    let tiny = RunConfig { pages_per_block: Some(1), ..counted("dies=4,planes=1", "none") };
    let refused = resolve_counted(&tiny).err().unwrap();
    assert!(refused.contains("pages_per_block is 1, expected at least 2"), "{refused}");
    let many = RunConfig {
        blocks: None,
        capacity: Some(40 << 40),
        pages_per_block: Some(2),
        ..counted("dies=64,planes=1", "1/2")
    };
    let refused = resolve_counted(&many).err().unwrap();
    assert!(refused.contains("more than 2^32 blocks"), "{refused}");
    let large = RunConfig {
        pages_per_block: Some(65_536),
        blocks: None,
        capacity: Some(20 << 40),
        ..counted("dies=65536,planes=4", "none")
    };
    let refused = resolve_counted(&large).err().unwrap();
    assert!(refused.contains("17179869184 mapping units"), "{refused}");
    assert!(refused.ends_with("hint: pages_per_block=64"), "{refused}");
}

/// Returns what two drives with the same work have in common.
fn work(result: &RunResult) -> impl PartialEq + std::fmt::Debug {
    let timed = result.timed.as_ref().unwrap();
    let latency = timed.latency_us.all.as_ref().unwrap().all;
    (
        result.counters,
        result.decisions.clone(),
        (timed.simulated_seconds, timed.utilisation.clone()),
        (latency.mean, latency.max),
    )
}

#[test]
fn a_superblock_of_one_block_is_a_block() {
    let (block, superblock) = (run(&drive(1, "plane"), 1), run(&drive(1, "die"), 1));
    assert!(block.counters.erases > 100);
    assert_eq!(work(&block), work(&superblock));
}

#[test]
fn pages_that_are_programmed_together_are_one_large_page_to_the_host() {
    // Nothing is collected, so no copy reads only some of the planes.
    let apart = |config: RunConfig| RunConfig {
        warmup: "0".into(),
        fill: "empty".into(),
        length: Length::Requests(1500),
        workload: "uniform:read=0.3".into(),
        ..config
    };
    let joined = run(&apart(drive(4, "die")), 1);
    let large = RunConfig {
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        times: Some("read=60us,program=300us,erase=3ms,transfer=40us".into()),
        ..drive(1, "plane")
    };
    let large = run(&apart(large), 1);
    assert_eq!((joined.counters.erases, joined.counters.copied_pages), (0, 0));
    assert_eq!(work(&joined), work(&large));
}

#[test]
fn the_bus_moves_the_pages_that_a_collection_wants() {
    // A unit is a page here, so each valid unit is one page of its plane: a copy moves one page to
    // the controller and one back, although the die reads the pages of all planes together.
    let result = run(&drive(4, "die"), 1);
    let measured = result.timed.as_ref().unwrap();
    let moved = result.counters.host_pages + 2 * result.counters.copied_pages;
    let busy = measured.utilisation.bus * measured.simulated_seconds / 10e-6;
    // A super page at each end of the measured part, and the pages of one victim.
    assert!((busy - moved as f64).abs() < 64.0, "{busy} {moved}");
}

/// Returns the response times, in us, of a write of pages 0 to `written` - 1 of an empty drive of one
/// die and two planes, and long after it of a read of pages 0 to `read` - 1.
fn responses(superblock: &str, written: u32, read: u32) -> (f64, f64) {
    responses_of(drive(2, superblock), written, read)
}

/// Returns what [`responses`] does, for a drive with this configuration.
fn responses_of(mut config: RunConfig, written: u32, read: u32) -> (f64, f64) {
    let page = 4096;
    let rows = format!(
        "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,{},0\n100000,R,0,{},0\n",
        written * page,
        read * page
    );
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("flashgc-superblock-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name).with_extension("csv");
    std::fs::write(&path, rows).unwrap();
    let trace =
        TimedTrace::load(&path, &ReadOptions::default(), PagingOptions::default(), |_| true);
    std::fs::remove_file(&path).unwrap();
    let source = TimedSource::new("a.csv".into(), Requests::Trace(Box::new(trace.unwrap())));
    config.timed.as_mut().unwrap().arrivals = None;
    config =
        RunConfig { length: Length::Passes(1), warmup: "0".into(), fill: "empty".into(), ..config };
    let resolved = Resolved::new(&config, Arc::new(source), None).unwrap();
    let result = one_request::run(resolved);
    let latency = result.timed.unwrap().latency_us;
    (latency.write.unwrap().all.max, latency.read.unwrap().all.max)
}

#[test]
fn a_die_takes_the_times_that_were_worked_out_by_hand() {
    // Two pages, one of each plane: on the bus from 0 to 20, in the cells from 20 to 320. Three
    // times two pages follow each other. A read of one page: 60 in the cells and 10 on the bus; of
    // both: 60 and 20; of two at each of two places: 80 twice.
    assert_eq!(responses("die", 2, 1), (320.0, 70.0));
    assert_eq!(responses("die", 6, 2), (960.0, 80.0));
    assert_eq!(responses("die", 6, 4), (960.0, 160.0));
    // Planes on their own work one after another.
    assert_eq!(responses("plane", 2, 1), (620.0, 70.0));
    assert_eq!(responses("plane", 6, 4), (1860.0, 280.0));
}

#[test]
fn a_word_line_is_programmed_in_one_shot() {
    // One channel, 2 dies of 2 planes, 2 word lines a block. Pages 0 to 5 are the word line of both
    // planes of die 0, pages 6 to 11 that of die 1.
    let one_shot_of = |parity: &str, superblock: &str, caches: bool, written: u32, read: u32| {
        let mut config = RunConfig {
            program: "one-shot".into(),
            superblock: superblock.into(),
            parity: parity.into(),
            pages_per_block: Some(6),
            blocks: Some(400),
            times: Some("read=60us,program=900us,erase=3ms,transfer=10us".into()),
            ..drive(2, "die")
        };
        let timed = config.timed.as_mut().unwrap();
        (timed.dies, timed.cache_commands) = (2, caches);
        responses_of(config, written, read)
    };
    let one_shot = |caches, written, read| one_shot_of("none", "die", caches, written, read);
    let over_dies =
        |caches, written, read| one_shot_of("none", "dies=2,planes=2", caches, written, read);
    // Six transfers of 10, and 900 in the cells. The bus serves die 1 after die 0.
    assert_eq!(one_shot(false, 6, 1), (960.0, 70.0));
    assert_eq!(one_shot(false, 12, 1), (1020.0, 70.0));
    // The second word line of die 0 crosses the bus from 960 to 1020, that of die 1 until 1080.
    assert_eq!(one_shot(false, 24, 1), (1980.0, 70.0));
    // With cache programming it crosses the bus during the first program.
    assert_eq!(one_shot(true, 24, 1), (1920.0, 70.0));
    // Two read commands of two planes each: 60 + 2 * 10, twice. A whole word line takes three.
    assert_eq!(one_shot(false, 24, 2), (1980.0, 80.0));
    assert_eq!(one_shot(false, 24, 4), (1980.0, 160.0));
    assert_eq!(one_shot(false, 24, 6), (1980.0, 240.0));
    // Superblocks over both dies: the same places, and the same times.
    for (caches, written, read) in [(false, 12, 1), (false, 24, 2), (false, 24, 4), (true, 24, 6)] {
        assert_eq!(over_dies(caches, written, read), one_shot(caches, written, read));
    }
    // With parity on one of two dies, every program of data has one of parity on the other die. In the
    // first row die 0 has the parity, in the second die 1. Die 0 begins, so its parity crosses the bus
    // from 0 to 60, and its data from 960 to 1020.
    let mirrored = one_shot_of("1/2", "dies=2,planes=2", false, 12, 1);
    assert_eq!(mirrored, (1920.0, 70.0));
    // Units wait until they fill a word line, and are found in the buffer.
    assert_eq!(one_shot(false, 5, 5), (0.0, 0.0));
}

/// Returns the requests a second of a saturated die of 4 planes with pages of 16 KiB in units of
/// 4 KiB and 48 pages a block, worked out by hand. For each unit of the host it programs `w` units. A
/// program has `pages` pages, each of which crosses the bus in 10 us, and takes `program_us` us.
fn rate_by_hand(w: f64, pages: f64, program_us: f64) -> f64 {
    // Of the units of a victim the share v is valid. For each unit of the host, g times the die
    // reads the pages of all planes in 60 us, and q pages with a valid unit cross the bus.
    let v = 1.0 - 1.0 / w;
    let some = |units: i32| (1.0 - (1.0 - v).powi(units)) / (f64::from(units) * (1.0 - v));
    let (q, g) = (some(4), some(16));
    let erase = 5000.0 / (48.0 * 16.0 * (1.0 - v));
    1e6 / (w / (4.0 * pages) * (pages * 10.0 + program_us) + 60.0 * g + 10.0 * q + erase)
}

/// Returns the requests a second of a drive with a clock.
fn rate(result: &RunResult) -> f64 {
    result.timed.as_ref().unwrap().throughput.requests_per_second
}

#[test]
fn a_die_of_two_passes_makes_the_requests_that_were_worked_out_by_hand() {
    // A die of 4 planes and pages of 16 KiB in units of 4 KiB. A word line has 64 units and 16 transfers,
    // and is programmed twice: in 32 transfers, 600 us and 1600 us.
    let config = RunConfig {
        blocks: Some(4 * 128),
        pages_per_block: Some(48),
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        program: "two-pass".into(),
        spare: 0.15,
        times: Some("read=60us,program=600us+1.6ms,erase=5ms,transfer=10us".into()),
        warmup: "4x".into(),
        length: Length::Requests(200_000),
        ..drive(4, "die")
    };
    let result = run(&config, 1);
    let w = result.write_amplification;
    let v = 1.0 - 1.0 / w;
    let distinct = |units: i32| (1.0 - (1.0 - v).powi(units)) / (f64::from(units) * (1.0 - v));
    let us = w / 64.0 * (32.0 * 10.0 + 2200.0)
        + 60.0 * distinct(16)
        + 10.0 * distinct(4)
        + 5000.0 / (4.0 * 48.0 * 4.0 * (1.0 - v));
    let expected = 1e6 / us;
    assert!((rate(&result) / expected - 1.0).abs() < 0.01, "{} {expected}", rate(&result));
    // The drive makes the decisions of one-shot programs, as none is made of a program.
    let one_shot = RunConfig {
        program: "one-shot:pages=4".into(),
        times: Some("read=60us,program=2.2ms,erase=5ms,transfer=20us".into()),
        ..config
    };
    assert_eq!(run(&one_shot, 1).write_amplification, w);
}

#[test]
fn a_die_of_one_shot_programs_makes_the_requests_that_were_worked_out_by_hand() {
    // A die of 4 planes and pages of 16 KiB in units of 4 KiB. A program has 48 units and 12
    // transfers, and takes 1500 us; a read of a collection has up to 16 units.
    let config = RunConfig {
        blocks: Some(4 * 128),
        pages_per_block: Some(48),
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        program: "one-shot".into(),
        spare: 0.15,
        times: Some("read=60us,program=1.5ms,erase=5ms,transfer=10us".into()),
        warmup: "4x".into(),
        length: Length::Requests(200_000),
        ..drive(4, "die")
    };
    let result = run(&config, 1);
    let expected = rate_by_hand(result.write_amplification, 12.0, 1500.0);
    assert!((rate(&result) / expected - 1.0).abs() < 0.01, "{} {expected}", rate(&result));
}

#[test]
fn a_saturated_die_makes_the_requests_that_were_worked_out_by_hand() {
    // The drive of docs/devices.md on one die: 4 planes, pages of 16 KiB in units of 4 KiB.
    let mut config = RunConfig {
        blocks: Some(4 * 128),
        pages_per_block: Some(48),
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        spare: 0.203_125,
        times: Some("read=60us,program=500us,erase=5ms,transfer=10us".into()),
        warmup: "4x".into(),
        length: Length::Requests(200_000),
        ..drive(4, "die")
    };
    let result = run(&config, 1);
    let expected = rate_by_hand(result.write_amplification, 4.0, 500.0);
    assert!((rate(&result) / expected - 1.0).abs() < 0.01, "{} {expected}", rate(&result));
    // Planes on their own do a third of it.
    config.superblock = "plane".into();
    let apart = run(&config, 1);
    assert!(rate(&result) > 3.0 * rate(&apart), "{} {}", rate(&result), rate(&apart));
    // A finding says so, from the counts of the slow drive alone.
    let told =
        |result: &RunResult| result.findings.iter().find(|one| one.id == "planes-apart").cloned();
    let slower = told(&apart).unwrap().evidence["die_time"];
    let found = rate(&result) / rate(&apart);
    assert!((slower / found - 1.0).abs() < 0.1, "{slower} {found}");
    assert_eq!(told(&apart).unwrap().evidence["joined_share"], 0.0);
    assert!(told(&result).is_none());
    // Multi-plane operations do nearly as well: a plane whose units fill no program waits for more.
    config.timed.as_mut().unwrap().multi_plane = true;
    let joined = run(&config, 1);
    assert!(rate(&joined) > 0.8 * rate(&result), "{} {}", rate(&joined), rate(&result));
    assert!(told(&joined).is_none());
    // A drive that is mostly idle is not slower for it.
    config.timed.as_mut().unwrap().multi_plane = false;
    config.timed.as_mut().unwrap().arrivals = Some("poisson:rate=100".into());
    config.length = Length::Requests(2000);
    assert!(told(&run(&config, 1)).is_none());
}

#[test]
fn a_drive_has_whole_superblocks_and_its_configuration_gives_it_again() {
    // Two dies of 4 planes: 8 planes, and 16 blocks are two superblocks of each die.
    let with = |blocks: Option<u32>, capacity: Option<u64>| {
        let mut config = RunConfig { blocks, capacity, spare: 0.45, ..drive(4, "die") };
        config.timed.as_mut().unwrap().dies = 2;
        resolve(&config)
    };
    for blocks in 1..=128 {
        let resolved = match with(Some(blocks), None) {
            Ok(resolved) => resolved,
            Err(error) if blocks <= 8 => {
                assert!(
                    error.contains("expected at least 16: two superblocks of 4 blocks"),
                    "{error}"
                );
                continue;
            }
            // There are enough blocks, but not enough spare ones.
            Err(error) => {
                assert!(error.contains("logical pages") && blocks < 128, "{blocks}: {error}");
                continue;
            }
        };
        let rounded = blocks.next_multiple_of(8);
        assert_eq!(
            (resolved.geometry.blocks(), resolved.config.blocks),
            (rounded / 4, Some(rounded))
        );
        assert_eq!(resolved.geometry.pages_per_block(), 48);
        assert_eq!(resolved.blocks_asked, Some(blocks).filter(|&blocks| blocks < rounded));
        let again = resolve(&resolved.config).unwrap();
        assert_eq!((again.geometry, &again.config), (resolved.geometry, &resolved.config));
    }
    // 100 blocks of 12 pages of 4 KiB hold 96 in whole superblocks.
    let resolved = with(None, Some(100 * 12 * 4096)).unwrap();
    assert_eq!((resolved.geometry.blocks(), resolved.config.blocks), (24, Some(96)));
    let again = resolve(&resolved.config).unwrap();
    assert_eq!(again.geometry, resolved.geometry);
}

#[test]
fn a_copy_moves_whole_pages_of_the_planes_that_have_a_valid_unit() {
    // 4 planes with pages of 4 units. A read of a collection brings the pages of 1 to 4 planes.
    let units =
        RunConfig { page_size: 16 * 1024, mapping_unit: Some(4096), spare: 0.5, ..drive(4, "die") };
    let result = run(&units, 1);
    let measured = result.timed.as_ref().unwrap();
    let busy = measured.utilisation.bus * measured.simulated_seconds / 10e-6;
    // Host writes and copies fill pages of 4 units; the rest of the turns are pages read.
    let programs = (result.counters.host_pages + result.counters.copied_pages) as f64 / 4.0;
    let pages_read = busy - programs;
    // With the share v of valid units, a page of 4 has 4 v of them and is read with the probability
    // 1 - (1 - v)^4. If the pages of all planes crossed the bus, it would be 1 - (1 - v)^16.
    let v = 1.0 - 1.0 / result.write_amplification;
    let a_copy = |units: i32| (1.0 - (1.0 - v).powi(units)) / (4.0 * v);
    let found = pages_read / result.counters.copied_pages as f64;
    assert!((found / a_copy(4) - 1.0).abs() < 0.02, "{found} {}", a_copy(4));
    assert!(a_copy(16) / a_copy(4) > 1.2, "{}", a_copy(16));
}

#[test]
fn what_superblocks_cannot_do_is_refused_in_one_line() {
    let error = |change: fn(&mut TimedConfig)| {
        let mut config = drive(4, "die");
        change(config.timed.as_mut().unwrap());
        resolve(&config).err().unwrap()
    };
    let refused = error(|timed| timed.multi_plane = true);
    assert!(refused.contains("the planes of a superblock work together always"), "{refused}");
    let refused = error(|timed| timed.copy_back = true);
    assert!(refused.contains("a copy inside a die stays on its plane"), "{refused}");
    let refused = error(|timed| timed.planes = 2000);
    assert!(refused.contains("planes: found 2000, expected 1 to 1024"), "{refused}");
    let refused = error(|timed| timed.planes = 1024);
    assert!(refused.contains("expected at least 2048: two superblocks of 1024"), "{refused}");
    let large = RunConfig { pages_per_block: Some(1 << 23), ..drive(4, "die") };
    let refused = resolve(&large).err().unwrap();
    assert!(
        refused.contains(
            "superblocks of 33554432 mapping units in 4 blocks, expected at most 16777216"
        ),
        "{refused}"
    );
    assert!(refused.ends_with("hint: pages_per_block=4194304"), "{refused}");
    let of = |superblock: &str| resolve(&drive(4, superblock)).err().unwrap();
    let refused = of("dye");
    assert!(refused.contains("superblock: found 'dye', expected plane, die"), "{refused}");
    let refused = of("dies=0,planes=4");
    assert!(refused.contains("superblock: dies=0, expected 1 to"), "{refused}");
    let refused = of("dies=2,planes=4");
    assert!(refused.contains("joins 2 dies, and the drive has 1: expected a divisor"), "{refused}");
    let refused = of("dies=1,planes=2");
    assert!(refused.contains("joins 2 planes of a die, which has 4"), "{refused}");
    assert_eq!(resolve(&drive(4, "dies=1,planes=4")).unwrap().config.superblock, "die");
    // What superblocks over several dies do not go with.
    assert!(resolve(&wide(10)).is_ok());
    let over = |change: &dyn Fn(&mut TimedConfig)| {
        let mut config = wide(10);
        change(config.timed.as_mut().unwrap());
        resolve(&config).err().unwrap()
    };
    type Change = fn(&mut TimedConfig);
    let refused: [(Change, &str, &str); 11] = [
        (|timed| timed.striping = "PDWC".into(), "its programs go to its dies in turn", "CWDP"),
        (|timed| timed.preemption = "pgc+merge".into(), "copied many at a time", "pgc"),
        (|timed| timed.gc_domain = "channel".into(), "its dies collect together", "plane"),
        (|timed| timed.gc_hard = "1".into(), "a die that collects on its own", "0"),
        (|timed| timed.victim_search_time = "5us".into(), "a search holds a die", "0us"),
        (|timed| timed.preemption_poll_time = "5us".into(), "copied many at a time", "0us"),
        (|timed| timed.idle = Some("below=4,after=1ms".into()), "one die that rests", "idle out"),
        (|timed| timed.copy_back = true, "go to other dies, over the bus", "no"),
        (|timed| timed.gc_holds_domain = true, "all its dies work in a collection", "no"),
        (|timed| timed.multi_plane = true, "the planes of a superblock work together", "no"),
        (|timed| timed.planes = 2, "joins 4 planes of a die, which has 2", "dies=16,planes=2"),
    ];
    for (change, reason, remedy) in refused {
        let refused = over(&change);
        let (error, hint) = refused.split_once("; hint: ").unwrap();
        assert!(error.contains(reason) && hint.contains(remedy), "{refused}");
    }
    // Other words for the defaults are taken.
    let mut config = wide(10);
    let timed = config.timed.as_mut().unwrap();
    timed.striping = "cwdp".into();
    timed.gc_hard = "0%".into();
    timed.victim_search_time = "0ns".into();
    assert!(resolve(&config).is_ok());
    // A stored drive rebuilds a die that is lost.
    let stored = |parity: &str| {
        let config = RunConfig { spare: 0.4, ..counted("dies=16,planes=4", parity) };
        resolve_counted(&config)
            .map(|resolved| resolved.kept().map(drop).map_err(|it| it.to_string()))
    };
    assert!(stored("1/16").unwrap().is_ok());
    let refused = stored("1/64").unwrap().unwrap_err();
    assert!(
        refused.contains("would lose 4 planes with it, of which its parity gives one"),
        "{refused}"
    );
    assert!(refused.ends_with("hint: parity=\"1/16\""), "{refused}");
    let one_shot = RunConfig { program: "one-shot".into(), ..drive(4, "die") };
    assert_eq!(resolve(&one_shot).unwrap().config.program, "one-shot:pages=3");
    let program = |change: &dyn Fn(&mut RunConfig)| {
        let mut config = one_shot.clone();
        change(&mut config);
        resolve(&config).err().unwrap()
    };
    let refused = program(&|config| config.pages_per_block = Some(16));
    assert!(refused.contains("programs 3 pages together, expected a divisor of"), "{refused}");
    assert!(refused.ends_with("hint: pages_per_block=15"), "{refused}");
    let refused = program(&|config| config.pages_per_block = Some(2));
    assert!(refused.ends_with("hint: pages_per_block=3"), "{refused}");
    let refused = program(&|config| config.program = "one-shot:pages=1".into());
    assert!(refused.contains("program: found 'one-shot:pages=1', expected page"), "{refused}");
    let kinds = "read=60us,program=300us/500us/900us,erase=3ms,transfer=10us";
    let refused = program(&|config| config.times = Some(kinds.into()));
    assert!(refused.contains("gives each its own program time"), "{refused}");
    // A word line of two passes has a time for each, and the parity of whole dies.
    let passes = "read=60us,program=600us+1.6ms,erase=3ms,transfer=10us";
    let refused = program(&|config| config.times = Some(passes.into()));
    assert!(
        refused.contains("has the times of two passes, and program programs in one"),
        "{refused}"
    );
    let refused = program(&|config| config.program = "two-pass".into());
    assert!(refused.contains("two-pass needs the time of each pass in times"), "{refused}");
    let of_blocks =
        RunConfig { program: "two-pass:pages=3".into(), ..counted("dies=2,planes=4", "1/8") };
    let refused = resolve(&of_blocks).err().unwrap();
    let whole = "a program would have both; hint: parity=\"1/2\", or program=\"one-shot\"";
    assert!(refused.ends_with(whole), "{refused}");
    let refused = error(|timed| timed.dies = 0);
    assert!(refused.contains("dies: found 0"), "{refused}");
}

/// Returns a drive of 4 channels, 16 dies and 4 planes, whose superblocks join all of them. One of 16
/// dies has parity. Pages have 16 KiB and units 4 KiB, and word lines of three pages are programmed in
/// one shot.
fn wide(requests: u64) -> RunConfig {
    let base = drive(4, "dies=16,planes=4");
    RunConfig {
        blocks: Some(64 * 64),
        pages_per_block: Some(12),
        page_size: 16_384,
        mapping_unit: Some(4096),
        program: "one-shot".into(),
        parity: "1/16".into(),
        spare: 0.25,
        times: Some("read=60us,program=1500us,erase=5ms,transfer=10us".into()),
        length: Length::Requests(requests),
        timed: Some(TimedConfig {
            channels: 4,
            dies: 4,
            queue_depth: 4096,
            arrivals: Some("closed:threads=4096".into()),
            ..base.timed.clone().unwrap()
        }),
        ..base
    }
}

#[test]
fn sequential_writes_keep_all_dies_of_a_superblock_busy() {
    // A stripe has 15 programs of 48 units with data. Each die takes 12 transfers of 10 us and 1500 us
    // for its program, and 5 ms of erase for each 4 programs. With cache programming the transfers take
    // place during the program before, but not during the erase.
    let block_us = [4.0 * 1620.0 + 5000.0, 4.0 * 1500.0 + 120.0 + 5000.0];
    for (caches, block_us, parts) in [
        ("no", block_us[0], 16),
        ("yes", block_us[1], 16),
        ("no", block_us[0], 8),
        // One plane of 64, and one of each 32: a program with parity has data in its other planes.
        ("no", block_us[0], 64),
        ("yes", block_us[1], 64),
        ("no", block_us[0], 32),
    ] {
        let mut config = RunConfig { parity: format!("1/{parts}"), ..wide(20_000) };
        config.workload = "sequential".into();
        config.request_size = Some(64 * 4096);
        config.warmup = "1x".into();
        let timed = config.timed.as_mut().unwrap();
        (timed.cache_commands, timed.queue_depth) = (caches == "yes", 512);
        timed.arrivals = Some("closed:threads=512".into());
        let result = run(&config, 1);
        let parts = f64::from(parts);
        let units_per_second = 4.0 * 16.0 * 48.0 * (1.0 - 1.0 / parts) / block_us * 1e6;
        let found = rate(&result) * 64.0;
        let off = found / units_per_second - 1.0;
        let context = format!("cache {caches}, parity 1/{parts}");
        assert!(off.abs() < 0.005, "{context}: {found} units/s, {units_per_second} by hand");
        assert_eq!(result.write_amplification, 1.0);
        let with_parity = result.in_pages.write_amplification_with_parity.unwrap();
        assert_eq!(with_parity, parts / (parts - 1.0), "{context}");
    }
}

#[test]
fn collections_on_all_dies_take_the_time_that_was_worked_out_by_hand() {
    for (preemption, parts) in [("none", 16), ("pgc", 16), ("pgc", 8), ("pgc", 32), ("pgc", 64)] {
        let parity = format!("1/{parts}");
        let mut config = RunConfig { pages_per_block: Some(48), parity, ..wide(400_000) };
        config.timed.as_mut().unwrap().preemption = preemption.into();
        let result = run(&config, 1);
        let data = 1.0 - 1.0 / f64::from(parts);
        let preemption = format!("{preemption}, parity 1/{parts}");
        // Per unit of the host: w units of data are programmed, and the parity. The victim's share v
        // is valid; with q pages of g reads, as independent units make them.
        let w = result.write_amplification;
        let v = 1.0 - 1.0 / w;
        let q = (1.0 - (1.0 - v).powi(4)) / (4.0 * (1.0 - v));
        let g = (1.0 - (1.0 - v).powi(16)) / (16.0 * (1.0 - v));
        let freed = 16.0 * 4.0 * 48.0 * 4.0 * data * (1.0 - v);
        let programs = w / data / 48.0;
        let us = programs * 1620.0 + 60.0 * g + 10.0 * q + 16.0 * 5000.0 / freed;
        // Dies also wait for the bus, and for each other at the begin and end of a collection: this is not in
        // the sum, so it is a bound.
        let share = rate(&result) / (16.0 * 1e6 / us);
        assert!((0.95..1.0).contains(&share), "{preemption}: {share} of {us} us a unit, w {w}");
        // The transfers alone, without waiting, are exact.
        let bus = result.timed.as_ref().unwrap().utilisation.bus * 4.0 * 1e6 / rate(&result);
        let by_hand = programs * 120.0 + 10.0 * q;
        assert!((bus / by_hand - 1.0).abs() < 0.02, "{preemption}: bus {bus}, {by_hand} by hand");
    }
}

#[test]
fn a_read_waits_for_what_its_die_does_while_the_drive_writes() {
    // Few reads, which go before all work that waits: each waits for the rest of one operation of its
    // die. With rates r of operations of times T, the mean wait is the sum of r T^2 / 2.
    let mut config = RunConfig { pages_per_block: Some(48), ..wide(1_200_000) };
    config.workload = "uniform:read=0.005".into();
    let timed = config.timed.as_mut().unwrap();
    timed.preemption = "pgc".into();
    timed.scheduling = "reads-first".into();
    timed.arrivals = Some("poisson:rate=50000".into());
    let result = run(&config, 1);
    let writes = rate(&result) * 0.995 / 16.0;
    let w = result.write_amplification;
    let v = 1.0 - 1.0 / w;
    let q = (1.0 - (1.0 - v).powi(4)) / (4.0 * (1.0 - v));
    let g = (1.0 - (1.0 - v).powi(16)) / (16.0 * (1.0 - v));
    let freed = 16.0 * 4.0 * 48.0 * 4.0 * 15.0 / 16.0 * (1.0 - v);
    let operations = [
        (writes * w * 16.0 / 15.0 / 48.0, 1620.0),
        (writes * g, 60.0 + 10.0 * q / g),
        (writes * 16.0 / freed, 5000.0),
    ];
    let wait: f64 = operations.iter().map(|(rate, us)| rate * us * us / 2e6).sum();
    // A unit takes 60 us in the cells, and a quarter of 10 us on the bus.
    let by_hand = wait + 62.5;
    let found = result.timed.unwrap().latency_us.read.unwrap().all.mean;
    // Operations also wait for the bus, which makes them longer.
    let ratio = found / by_hand;
    assert!((0.97..1.08).contains(&ratio), "{found} us, {by_hand} by hand");
}
