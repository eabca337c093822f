//! Superblocks: blocks of several planes that are opened, filled, collected and erased together. That
//! they decide as large blocks of the counting drive is tested in `one_request.rs`.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
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
        times: Some("read=60us,program=300us,erase=3ms,transfer=10us".into()),
        timed: Some(TimedConfig {
            planes,
            superblock: superblock.into(),
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
    let page = 4096;
    let rows = format!(
        "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,{},0\n100000,R,0,{},0\n",
        written * page,
        read * page
    );
    let name = format!("flashgc-superblock-{}-{superblock}-{written}-{read}", std::process::id());
    let path = std::env::temp_dir().join(name).with_extension("csv");
    std::fs::write(&path, rows).unwrap();
    let trace =
        TimedTrace::load(&path, &ReadOptions::default(), PagingOptions::default(), |_| true);
    std::fs::remove_file(&path).unwrap();
    let source = TimedSource::new("a.csv".into(), Requests::Trace(Box::new(trace.unwrap())));
    let mut config = drive(2, superblock);
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
    let by_hand = |w: f64| {
        // Of the units of a victim the share v is valid. For each unit of the host, g times the
        // die reads the pages of all planes, and q pages with a valid unit cross the bus.
        let v = 1.0 - 1.0 / w;
        let some = |units: i32| (1.0 - (1.0 - v).powi(units)) / (f64::from(units) * (1.0 - v));
        let (q, g) = (some(4), some(16));
        let erase = 5000.0 / (48.0 * 16.0 * (1.0 - v));
        1e6 / (w / 16.0 * (4.0 * 10.0 + 500.0) + 60.0 * g + 10.0 * q + erase)
    };
    let rate = |result: &RunResult| result.timed.as_ref().unwrap().throughput.requests_per_second;
    let expected = by_hand(result.write_amplification);
    assert!((rate(&result) / expected - 1.0).abs() < 0.01, "{} {expected}", rate(&result));
    // Planes on their own do a third of it.
    config.timed.as_mut().unwrap().superblock = "plane".into();
    let apart = run(&config, 1);
    assert!(rate(&result) > 3.0 * rate(&apart), "{} {}", rate(&result), rate(&apart));
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
    let large = RunConfig { pages_per_block: Some(8192), ..drive(4, "die") };
    let refused = resolve(&large).err().unwrap();
    assert!(
        refused.contains("superblocks of 32768 mapping units on 4 planes, expected at most 16384"),
        "{refused}"
    );
    assert!(refused.ends_with("hint: pages_per_block=4096"), "{refused}");
    let refused = error(|timed| timed.superblock = "dye".into());
    assert!(refused.contains("superblock: found 'dye', expected plane, die"), "{refused}");
}
