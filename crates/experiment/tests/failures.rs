//! Reads that fail and are rebuilt from parity, as results show them. The timelines of single reads are in
//! the tests of the drive, `crates/timed/tests/timed_failures.rs`.

use flashgc_drive::extent::Length;
use flashgc_experiment::options::{HostConfig, RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_timed::FailureCounts;

use crate::timed_runs::run;

/// The other dies of a stripe.
const OTHERS: u64 = 3;

/// Returns a drive of 4 dies with parity of 1/4, read and written at random, whose reads fail with the
/// probability `chance`.
fn drive(chance: Option<&str>) -> RunConfig {
    RunConfig {
        blocks: Some(4 * 64),
        pages_per_block: Some(16),
        spare: 0.3,
        victim: "greedy".into(),
        superblock: "dies=4,planes=1".into(),
        parity: "1/4".into(),
        times: Some("read=60us,program=600us,erase=3ms,transfer=10us".into()),
        timed: Some(TimedConfig {
            channels: 2,
            dies: 2,
            arrivals: Some("closed:threads=8".into()),
            preemption: "pgc".into(),
            read_failures: chance.map(Into::into),
            ..TimedConfig::default()
        }),
        workload: "uniform:read=0.7".into(),
        warmup: "1x".into(),
        length: Length::Requests(20_000),
        runs: 2,
        seed: 7,
        ..RunConfig::default()
    }
}

fn with(chance: &str, change: impl FnOnce(&mut RunConfig, &mut TimedConfig)) -> RunConfig {
    let mut config = drive(Some(chance));
    let mut timed = config.timed.take().unwrap();
    change(&mut config, &mut timed);
    config.timed = Some(timed);
    config
}

fn failures(result: &RunResult) -> FailureCounts {
    result.timed.as_ref().unwrap().failures.unwrap()
}

#[test]
fn results_count_failures_and_say_what_is_lost() {
    let chance = 0.05;
    let result = run(&drive(Some("0.05")), 1);
    let FailureCounts { reads, failed, others_read, lost } = failures(&result);
    // 70% of 40,000 requests are reads. Some find their data in memory.
    assert!((20_000..=28_200).contains(&reads), "{reads}");
    // Means and standard deviations of binomial counts.
    let binomial = |n: u64, p: f64| (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    let (mean, deviation) = binomial(reads, chance);
    assert!((failed as f64 - mean).abs() < 3.0 * deviation, "{failed} {mean}");
    // Only a stripe that is just being programmed has pages in memory, which are not read.
    let share = others_read as f64 / (OTHERS * failed) as f64;
    assert!((0.99..=1.0).contains(&share), "{share}");
    let (mean, deviation) = binomial(failed, 1.0 - (1.0 - chance).powi(OTHERS as i32));
    assert!((lost as f64 - mean).abs() < 3.0 * deviation, "{lost} {mean}");
    let finding = result.findings.iter().find(|one| one.id == "reads-lost").unwrap();
    assert_eq!(finding.evidence["lost"], lost as f64);
    assert!(finding.claim.starts_with(&format!("{lost} of {failed} page reads that failed")));
    let whole = run(&drive(Some("1e-9")), 1);
    assert_eq!(failures(&whole).failed, 0);
    assert!(whole.findings.iter().all(|one| one.id != "reads-lost"));
}

#[test]
fn failures_have_a_stream_of_random_numbers_of_their_own() {
    // Without failures, and with those that never come, every digit is the same.
    let without = run(&drive(None), 1);
    assert_eq!(without.timed.as_ref().unwrap().failures, None);
    let mut never = run(&drive(Some("0")), 1);
    assert_eq!(failures(&never).failed, 0);
    assert_eq!(never.digest, without.digest);
    never.timed.as_mut().unwrap().failures = None;
    never.config = without.config.clone();
    never.config_digest = without.config_digest.clone();
    never.page_programs_per_second = without.page_programs_per_second;
    assert_eq!(never, without);
    // Sequential requests are the same for every seed; the failures are not.
    let of_seed = |seed| {
        let config = with("0.05", |config, _| {
            (config.workload, config.seed, config.runs) = ("sequential:read=1".into(), seed, 1);
            config.fill = "sequential".into();
        });
        let result = run(&config, 1);
        (failures(&result), result.timed.unwrap().latency_us.all.clone().unwrap().all.mean)
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
}

#[test]
fn reads_take_as_much_longer_as_rebuilds_take() {
    // One read at a time takes 60 and 10 us. Each channel has two dies, so two of the three other pages cross
    // the bus on which the failed one did not: 60 and 2 x 10.
    let config = |chance| {
        with(chance, |config, timed| {
            config.workload = "uniform:read=1".into();
            timed.arrivals = Some("closed:threads=1".into());
        })
    };
    let result = run(&config("0.1"), 1);
    let FailureCounts { reads, failed, .. } = failures(&result);
    let mean = result.timed.unwrap().latency_us.all.clone().unwrap().all.mean;
    let added = failed as f64 / reads as f64 * (60.0 + 20.0);
    assert!((mean - 70.0 - added).abs() < 0.5, "{mean} {added}");
}

#[test]
fn reads_fail_beside_all_other_options() {
    let host = HostConfig { cache: "page-cache:size=64KiB".into(), hints: "none".into() };
    let tenants = |reads: [f64; 2]| {
        let one = |name: &str, read: f64| {
            format!(
                "name={name}; workload=uniform:read={read}; space=50%; arrivals=closed:threads=4"
            )
        };
        vec![one("a", reads[0]), one("b", reads[1])]
    };
    let all: Vec<(&str, RunConfig)> = vec![
        ("none", with("0.1", |_, timed| timed.preemption = "none".into())),
        ("suspend", with("0.1", |_, timed| timed.preemption = "suspend".into())),
        (
            "cached",
            with("0.1", |config, timed| {
                timed.cache_commands = true;
                config.program = "one-shot:pages=2".into();
            }),
        ),
        (
            "units",
            with("0.1", |config, timed| {
                config.mapping_unit = Some(1024);
                timed.flush_after = Some("1ms".into());
                timed.write_cache = 16;
            }),
        ),
        ("dftl", with("0.1", |config, _| config.mapping = "dftl:entries=64,per_page=16".into())),
        ("sepbit", with("0.1", |config, _| config.placement = "sepbit".into())),
        (
            "fdp",
            with("0.1", |config, _| {
                config.placement = "fdp:handles=2".into();
                config.workload = "uniform:read=0.7,stream=0".into();
            }),
        ),
        (
            "paced",
            with("0.1", |_, timed| {
                timed.write_pacing = true;
                timed.gc_low = "3".into();
            }),
        ),
        ("power", with("0.1", |_, timed| timed.power_limit = Some("dies=1".into()))),
        ("retries", with("0.1", |_, timed| timed.read_retry = Some("from=1,every=2".into()))),
        ("host", with("0.1", |config, _| config.host = Some(host))),
        (
            "scale",
            with("0.1", |config, _| {
                config.pages_per_block = Some(128);
                config.scale = "1/2".into();
            }),
        ),
        (
            "levelled",
            with("0.1", |config, _| {
                config.wear_levelling = Some("static:threshold=5,interval=10".into());
            }),
        ),
        ("tenants", with("0.1", |_, timed| timed.tenants = tenants([0.7, 0.5]))),
    ];
    for (name, config) in all {
        let result = match config.timed.as_ref().unwrap().tenants.is_empty() {
            true => run(&config, 1),
            false => crate::tenants::run(&config),
        };
        let FailureCounts { reads, failed, others_read, lost } = failures(&result);
        let share = failed as f64 / reads as f64;
        assert!((0.07..0.13).contains(&share), "{name}: {failed} of {reads}");
        assert!(others_read > failed && others_read <= OTHERS * failed, "{name}: {others_read}");
        assert!(lost > 0 && lost < failed / 2, "{name}: {lost} of {failed}");
    }
}
