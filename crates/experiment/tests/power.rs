//! A limit on the dies that program or erase at a time, as results show it. The timelines of single
//! programs are in the tests of the drive, `crates/timed/tests/timed_power.rs`.

use flashgc_drive::extent::Length;
use flashgc_experiment::options::{RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_timed::PowerLimit;

use crate::timed_runs::{resolve, run};

const PROGRAM_US: f64 = 600.0;
const ERASE_US: f64 = 3000.0;
/// The pages of a block, 3 of which are programmed together.
const PAGES: u32 = 24;

/// Returns a drive of 8 dies that is worked to its limit, with one-shot programs. At most `limit` dies
/// program or erase at a time.
fn drive(limit: Option<&str>, superblock: &str) -> RunConfig {
    RunConfig {
        blocks: Some(8 * 40),
        pages_per_block: Some(PAGES),
        spare: 0.25,
        victim: "greedy".into(),
        superblock: superblock.into(),
        program: "one-shot".into(),
        times: Some(format!("read=60us,program={PROGRAM_US}us,erase={ERASE_US}us,transfer=2us")),
        timed: Some(TimedConfig {
            channels: 2,
            dies: 4,
            arrivals: Some("closed:threads=256".into()),
            power_limit: limit.map(Into::into),
            ..TimedConfig::default()
        }),
        workload: "sequential".into(),
        warmup: "1x".into(),
        length: Length::Requests(60_000),
        runs: 1,
        seed: 7,
        ..RunConfig::default()
    }
}

fn power(result: &RunResult) -> PowerLimit {
    result.timed.as_ref().unwrap().power.unwrap()
}

#[test]
fn the_write_rate_is_that_of_the_dies_that_have_power() {
    // Victims of sequential writes have no valid pages. So a block needs power for its programs and for
    // its erase.
    let block_us = f64::from(PAGES / 3) * PROGRAM_US + ERASE_US;
    // Dies that fill a superblock in turn do not always have a program for 6 of 8.
    for (superblock, limits) in [("plane", &[1, 2, 4, 6][..]), ("dies=8,planes=1", &[1, 2, 4])] {
        for &limit in limits {
            let result = run(&drive(Some(&format!("dies={limit}")), superblock), 1);
            assert_eq!(result.counters.copied_pages, 0);
            let timed = result.timed.as_ref().unwrap();
            let bound = f64::from(limit) * f64::from(PAGES) / block_us * 1e6;
            let found = timed.throughput.requests_per_second;
            assert!((found / bound - 1.0).abs() < 0.01, "{superblock} {limit}: {found} {bound}");
            let power = power(&result);
            assert!(power.full > 0.99, "{superblock} {power:?}");
            assert_eq!(power.dies, limit);
            // Whatever the dies do besides waiting needs power, but for the transfers.
            let working = timed.utilisation.die - power.waiting;
            assert!((working - f64::from(limit) / 8.0).abs() < 0.02, "{superblock} {power:?}");
            let waited = power.waits as f64 * power.mean_wait_us.unwrap() / 1e6;
            let all = power.waiting * 8.0 * timed.simulated_seconds;
            assert!((waited / all - 1.0).abs() < 1e-9, "{waited} {all}");
        }
    }
}

#[test]
fn power_for_all_dies_is_no_limit() {
    let busy = |limit, superblock| RunConfig {
        workload: "uniform:read=0.3".into(),
        length: Length::Requests(20_000),
        runs: 2,
        ..drive(limit, superblock)
    };
    for superblock in ["plane", "dies=8,planes=1"] {
        let without = run(&busy(None, superblock), 1);
        assert_eq!(without.timed.as_ref().unwrap().power, None);
        for limit in ["8", "dies=9", "dies=4000000000"] {
            let with = run(&busy(Some(limit), superblock), 1);
            assert_eq!(with.digest, without.digest, "{superblock} {limit}");
            let PowerLimit { full, waits, mean_wait_us, waiting, .. } = power(&with);
            assert_eq!((full, waits, mean_wait_us, waiting), (0.0, 0, None, 0.0));
        }
        // One die less changes the run.
        let less = run(&busy(Some("dies=7"), superblock), 1);
        assert!(less.digest != without.digest && power(&less).waits > 0);
    }
}

#[test]
fn a_limit_that_is_never_reached_changes_no_digit() {
    // One thread keeps one die busy, besides collections on few other dies.
    let quiet = |limit: Option<&str>| {
        let mut config = RunConfig {
            workload: "uniform:read=0.3".into(),
            length: Length::Requests(20_000),
            ..drive(limit, "plane")
        };
        config.timed.as_mut().unwrap().arrivals = Some("closed:threads=1".into());
        run(&config, 1)
    };
    let (with, without) = (quiet(Some("dies=7")), quiet(None));
    assert!(without.counters.erases > 100);
    assert_eq!(with.digest, without.digest);
    assert_eq!((power(&with).waits, power(&with).full), (0, 0.0));
}

#[test]
fn a_limit_is_a_number_of_dies() {
    for (limit, fault) in [
        ("0", "power_limit: dies=0 is not a number of at least 1; hint: write dies=8"),
        ("dies=few", "power_limit: dies=few is not a number of at least 1"),
        ("", "power_limit: dies= is not a number of at least 1"),
        ("programs=3", "power_limit: unknown 'programs' in 'programs=3'"),
        ("dies=3,dies=4", "given twice"),
    ] {
        let error = resolve(&drive(Some(limit), "plane")).err().unwrap();
        assert!(error.contains(fault), "{error}");
    }
}
