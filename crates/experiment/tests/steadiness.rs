//! Tests whether runs are steady: bursts, the time for a request, SNIA's rule, and the spare space
//! that collections can use.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Requests;

fn run(config: &RunConfig) -> RunResult {
    let text = &config.workload;
    let resolved = match config.timed {
        None => {
            let source = Arc::new(GeneratorSpec::parse(text).unwrap());
            Resolved::new(config, source, None)
        }
        Some(_) => {
            let source = TimedSource::new(text.clone(), Requests::parse(text).unwrap());
            Resolved::new(config, Arc::new(source), None)
        }
    };
    simulate(&[resolved.unwrap()], 1, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0)
}

fn ids(result: &RunResult) -> Vec<&str> {
    result.findings.iter().map(|one| one.id.as_str()).collect()
}

/// Returns a drive of one plane with 1024 blocks of 16 pages, which 16 threads keep busy.
fn clocked(warmup: &str, requests: u64) -> RunConfig {
    RunConfig {
        blocks: Some(1024),
        pages_per_block: Some(16),
        spare: 0.28,
        victim: "greedy".into(),
        times: Some("read=25us,program=200us,erase=1.5ms,transfer=10us".into()),
        timed: Some(TimedConfig {
            arrivals: Some("closed:threads=16".into()),
            ..TimedConfig::default()
        }),
        workload: "uniform".into(),
        warmup: warmup.into(),
        length: Length::Requests(requests),
        runs: 1,
        seed: 7,
        ..RunConfig::default()
    }
}

#[test]
fn a_drive_that_lives_on_erased_blocks_is_in_a_burst() {
    // At first, all logical pages have data, and 28% of the blocks are erased. Collections begin
    // when two erased blocks are left.
    let burst = run(&clocked("0", 8000));
    assert!(burst.counters.erases > 0 && !burst.steady);
    assert!(ids(&burst).contains(&"burst"), "{:?}", burst.findings);
    let programs = burst.counters.programs();
    let freed = (burst.counters.erases + 1) * 16;
    let by_hand = (programs - freed) as f64 / programs as f64;
    assert_eq!(burst.steadiness.from_spare, Some(by_hand));
    // After some drive writes, the drive frees as many pages as it programs, and its pace is that
    // of a long run.
    let settled = run(&clocked("5x", 40_000));
    assert!(settled.steady, "{:?} {:?}", settled.steadiness, settled.findings);
    assert!(settled.findings.is_empty(), "{:?}", settled.findings);
    let long = run(&clocked("10x", 200_000));
    let pace = |result: &RunResult| result.timed.as_ref().unwrap().throughput.requests_per_second;
    assert!((pace(&settled) / pace(&long) - 1.0).abs() < 0.02);
    assert!(pace(&burst) > 1.2 * pace(&long));
    assert!(settled.steadiness.snia.unwrap().met && !burst.steadiness.snia.unwrap().met);
}

#[test]
fn a_drive_that_only_reads_is_judged_by_its_pace() {
    let mut config = clocked("0", 5000);
    config.workload = "uniform:read=1".into();
    let reads = run(&config);
    let pace = reads.steadiness.pace.unwrap();
    assert!(reads.steady && reads.findings.is_empty(), "{pace:?} {:?}", reads.findings);
    // If requests arrive at given times, the drive does not determine the pace.
    config.timed.as_mut().unwrap().arrivals = Some("poisson:rate=100".into());
    let given = run(&config);
    assert_eq!(given.steadiness.pace, None);
}

#[test]
fn blocks_that_stay_erased_are_no_spare_space_of_collections() {
    let counting = |blocks: u32, frontier: &str| {
        run(&RunConfig {
            blocks: Some(blocks),
            pages_per_block: Some(16),
            spare: 0.07,
            victim: "greedy".into(),
            frontier: frontier.into(),
            workload: "uniform".into(),
            warmup: "5x".into(),
            length: Length::Writes("10x".into()),
            runs: 1,
            seed: 7,
            ..RunConfig::default()
        })
    };
    let small = counting(512, "pool:low=8");
    // 504 blocks are left for data: 1 - 7619 / 8064 is spare.
    assert_eq!(small.config.logical_pages, 7619);
    assert!((small.config.effective_spare - (1.0 - 7619.0 / 8064.0)).abs() < 1e-12);
    assert_eq!(ids(&small), ["spare-kept-erased"]);
    assert!(counting(512, "single").findings.is_empty());
    assert!(counting(4096, "pool:low=2").findings.is_empty());
    // With 2 of 1,300 blocks kept and 7% spare, the spare factor is 1.0209 times the effective one;
    // with 2 of 1,400 blocks, 1.0194 times.
    assert_eq!(ids(&counting(1300, "pool:low=2")), ["spare-kept-erased"]);
    assert!(counting(1400, "pool:low=2").findings.is_empty());
    assert!(ids(&counting(63, "single")).contains(&"few-blocks"));
    assert!(!ids(&counting(64, "single")).contains(&"few-blocks"));
    // The effective spare factor is right: amplification is that of a large drive with this spare
    // factor.
    let large = run(&RunConfig {
        blocks: Some(8192),
        pages_per_block: Some(16),
        spare: small.config.effective_spare,
        victim: "greedy".into(),
        workload: "uniform".into(),
        warmup: "5x".into(),
        length: Length::Writes("5x".into()),
        seed: 7,
        ..RunConfig::default()
    });
    let ratio = small.write_amplification / large.write_amplification;
    assert!((ratio - 1.0).abs() < 0.06, "{ratio}");
}
