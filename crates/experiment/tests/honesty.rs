//! The limits of what results claim: runs that are identical, runs that are too short, runs stopped
//! early, and drives and numbers of runs that are too large for the machine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashgc_base::naming::Keywords;
use flashgc_drive::extent::{Length, Pass};
use flashgc_drive::source::Source;
use flashgc_experiment::compare::{Basis, compare};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Space;
use flashgc_workload::{Workload, WorkloadError};

fn config() -> RunConfig {
    RunConfig {
        blocks: Some(200),
        pages_per_block: Some(16),
        spare: 0.15,
        victim: "greedy".into(),
        warmup: "5x".into(),
        seed: 7,
        ..RunConfig::default()
    }
}

fn resolve(config: &RunConfig) -> Resolved {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    Resolved::new(config, source, None).unwrap()
}

fn run(config: &RunConfig) -> RunResult {
    let made = simulate(&[resolve(config)], 0, &Control::default(), &mut || {}, &|_, _| (), None);
    let mut result = made.unwrap().remove(0);
    result.name_options(&Keywords);
    result
}

/// A workload with the same writes for every seed, like a trace.
struct Recorded(GeneratorSpec);

impl Source for Recorded {
    fn canonical(&self) -> String {
        "recorded".into()
    }

    fn fixed_pages(&self, _: u32) -> Option<u32> {
        None
    }

    fn pass(&self) -> Option<Pass> {
        None
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    fn open(&self, space: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        Source::open(&self.0, space, 1)
    }
}

fn recorded(config: &RunConfig) -> RunResult {
    let source = Arc::new(Recorded(GeneratorSpec::parse(&config.workload).unwrap()));
    let resolved = Resolved::new(config, source, None).unwrap();
    simulate(&[resolved], 0, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

fn is_of_identical_runs(result: &RunResult) -> bool {
    result.findings.iter().any(|finding| finding.id == "identical-runs")
}

#[test]
fn runs_that_are_all_alike_have_the_interval_of_one() {
    let one = recorded(&config());
    let many = recorded(&RunConfig { runs: 5, ..config() });
    assert_eq!(many.each_run.run_values, [one.write_amplification; 5]);
    assert!(one.write_amplification_ci95.unwrap() > 0.0);
    assert_eq!(many.write_amplification_ci95, one.write_amplification_ci95);
    assert_eq!(many.steady, one.steady);
    // The note does not say that the runs use no random numbers, because this source is not a
    // trace.
    let note = "all 5 runs have the same figure; the interval is over 20 batches of one run";
    assert_eq!(many.said().iter().filter(|text| *text == note).count(), 1);
    assert!(!is_of_identical_runs(&one));
    // With random commands the interval is over the runs.
    let random = run(&RunConfig { runs: 5, ..config() });
    assert!(!is_of_identical_runs(&random), "{:?}", random.findings);
}

/// Returns half the interval of the differences between 20 batches of six intervals.
fn half_of_batches(results: [&RunResult; 2]) -> f64 {
    let batches = |result: &RunResult| -> Vec<f64> {
        let measured = &result.course.series[result.course.series.len() - 120..];
        // Each interval has the same number of page writes, so the mean of the ratios is the ratio
        // of the sums.
        measured
            .chunks(6)
            .map(|six| six.iter().map(|(_, value)| value).sum::<f64>() / 6.0)
            .collect()
    };
    let [one, other] = results.map(batches);
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    // The result is the widest of three intervals: over 20, 10 and 5 batches.
    let of = |size: usize| {
        let larger = differences.chunks(size).map(|few| few.iter().sum::<f64>() / size as f64);
        flashgc_drive::stats::half_width95(&larger.collect::<Vec<_>>())
    };
    of(1).max(of(2)).max(of(4))
}

#[test]
fn one_run_of_each_on_the_same_writes_is_compared_batch_by_batch() {
    // 20 drive writes of 2720 pages make 120 intervals of about 453 pages each.
    for runs in [1, 3] {
        let of = |victim: &str| {
            recorded(&RunConfig { runs, victim: victim.into(), warmup: "5x".into(), ..config() })
        };
        let (greedy, fifo) = (of("greedy"), of("fifo"));
        let ranks = compare(&[fifo.clone(), greedy.clone()]);
        assert_eq!((ranks[0].index, ranks[1].index), (1, 0));
        assert_eq!((ranks[1].basis, ranks[1].inside_noise), (Basis::Batches, false));
        let half = ranks[1].difference_ci95.unwrap();
        let expected = half_of_batches([&fifo, &greedy]);
        // The interval also has the difference of the two transients: the squares of both add up.
        let expected = expected.hypot(fifo.samples.left() - greedy.samples.left());
        assert!((half / expected - 1.0).abs() < 0.02 && half > 0.0, "{half}, {expected}");
        let apart = [&greedy, &fifo].map(|one| one.write_amplification_ci95.unwrap());
        assert!(half < apart[0].hypot(apart[1]), "{half} {apart:?}");
    }
    // Other seeds and lengths in collections give other writes.
    let greedy = recorded(&config());
    let other = recorded(&RunConfig { seed: 8, victim: "fifo".into(), ..config() });
    assert_eq!(compare(&[greedy, other])[1].basis, Basis::Apart);
    let collections = |victim: &str| {
        let length = Length::Collections(20_000);
        recorded(&RunConfig { victim: victim.into(), length, ..config() })
    };
    let ranks = compare(&[collections("greedy"), collections("fifo")]);
    assert_eq!(ranks[1].basis, Basis::Apart);
}

#[test]
fn without_an_interval_a_difference_is_no_noise() {
    // 20 page writes of warm-up and 20 measured ones are not enough for an interval.
    let of = |victim: &str| {
        let length = Length::Writes("20".into());
        let config = RunConfig { victim: victim.into(), warmup: "5x".into(), length, ..config() };
        let mut result = run(&RunConfig { seed: 7, ..config });
        result.write_amplification_ci95 = None;
        result.samples = Default::default();
        result
    };
    let ranks = compare(&[of("greedy"), of("random")]);
    assert_eq!((ranks[1].basis, ranks[1].difference_ci95), (Basis::None, None));
    assert!(!ranks[1].inside_noise);
}

#[test]
fn a_run_too_short_for_a_steady_state_says_so() {
    // There are 200 blocks of 16 pages, 15% of them spare, hence 2720 logical pages.
    let forgotten =
        RunConfig { warmup: "0".into(), length: Length::Writes("20".into()), ..config() };
    let result = run(&forgotten);
    assert!(!result.steady && result.write_amplification_ci95.is_none());
    let text = "the measured part is 20 page writes, 0.74% of a drive write, without an erase: too \
                short for a steady state; hint: writes=\"20x\" is twenty drive writes";
    assert!(result.said().iter().any(|warning| warning == text), "{:?}", result.said());
    // An empty drive can take half a drive write without an erase.
    let first =
        RunConfig { fill: "empty".into(), length: Length::Writes("0.5x".into()), ..forgotten };
    let result = run(&first);
    assert!(!result.steady && result.counters.erases == 0);
    let warnings = result.said();
    let text = "50% of a drive write, without an erase: too short for a steady state; hint: \
                more writes";
    assert!(warnings.iter().any(|warning| warning.ends_with(text)), "{warnings:?}");
    // With a precision to reach, the run continues until blocks are erased.
    let until = RunConfig { precision: Some(0.1), warmup: "0".into(), ..first };
    let result = run(&until);
    assert!(result.counters.erases > 0 && result.counters.host_pages > 2720, "{result:?}");
    // There are collections, but the measured part is only 4% of a drive write.
    let result =
        run(&RunConfig { warmup: "5x".into(), length: Length::Collections(30), ..config() });
    assert!(!result.steady && result.counters.collections == 30);
    let warnings = result.said();
    assert!(warnings.iter().any(|text| text.ends_with("hint: more collections")), "{warnings:?}");
    let long = run(&config());
    assert!(long.steady && long.said().is_empty(), "{:?}", long.said());
}

#[test]
fn a_warm_up_of_next_to_nothing_says_so() {
    let result = run(&RunConfig { warmup: "1".into(), ..config() });
    let text = "the warm-up is 1 page, 0.04% of a drive write; hint: warmup=\"1x\" is one drive \
                write";
    assert!(result.said().iter().any(|warning| warning == text), "{:?}", result.said());
    for warmup in ["100", "0", "1x", "1%"] {
        let result = run(&RunConfig { warmup: warmup.into(), ..config() });
        assert!(!result.said().iter().any(|text| text.contains("the warm-up is")), "{warmup}");
    }
}

#[test]
fn what_was_stopped_in_its_warm_up_has_no_figure_and_no_rank_in_the_noise() {
    let stopped = |runs: u32, warmup: &str| {
        let control = Control::default();
        let config = RunConfig { runs, warmup: warmup.into(), ..config() };
        let resolved = resolve(&config);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while control.programs.load(Ordering::Relaxed) < 100_000 {
                    std::thread::yield_now();
                }
                control.cancel.store(true, Ordering::Relaxed);
            });
            simulate(&[resolved], 2, &control, &mut || {}, &|_, _| (), None).unwrap().remove(0)
        })
    };
    for runs in [1, 3, 1_000_000_000] {
        let result = stopped(runs, "1000000x");
        assert!(result.interrupted && !result.steady && result.write_amplification.is_nan());
        assert_eq!(result.write_amplification_ci95, None);
        assert!(result.each_run.run_values.is_empty());
        assert_eq!(result.said(), ["interrupted in the warm-up: nothing was measured"]);
        let (first, second) =
            (run(&config()), run(&RunConfig { victim: "fifo".into(), ..config() }));
        let ranks = compare(&[result.clone(), second, result, first]);
        assert_eq!(ranks.iter().map(|rank| rank.index).collect::<Vec<_>>(), [3, 1, 0, 2]);
        for rank in &ranks[2..] {
            assert!(!rank.inside_noise && rank.ratio.is_nan() && rank.difference.is_nan());
            assert_eq!(rank.difference_ci95, None);
        }
        assert!(ranks[1].ratio > 1.0);
    }
    let nothing = stopped(1, "1000000x");
    assert!(compare(&[nothing.clone(), nothing]).iter().all(|rank| !rank.inside_noise));
}

#[test]
fn no_run_begins_once_it_is_cancelled() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    let config = RunConfig { runs: 1_000_000_000, ..config() };
    let result =
        &simulate(&[resolve(&config)], 0, &control, &mut || {}, &|_, _| (), None).unwrap()[0];
    assert!(result.interrupted && result.each_run.run_values.is_empty());
    assert_eq!(control.programs.load(Ordering::Relaxed), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn drives_beyond_the_memory_are_refused_before_they_are_made() {
    // All runs with a precision to reach stay in memory. 4 billion drives of about 25 KiB are too
    // many.
    let config = RunConfig { precision: Some(0.01), runs: u32::MAX, ..config() };
    let error = simulate(&[resolve(&config)], 0, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("4294967295 runs until a precision need about "), "{error}");
    let hint = " GiB available; hint: use fewer runs, a smaller drive, or a part of it with scale";
    assert!(error.ends_with(hint), "{error}");
}

#[test]
fn a_workload_of_too_few_pages_says_how_many_are_needed() {
    let folder = std::env::temp_dir().join(format!("flashgc-honesty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("two.csv");
    std::fs::write(&path, "LBA,Frequency\n0,3\n4096,2\n").unwrap();
    let config = RunConfig {
        blocks: None,
        workload: format!("frequency:path={}", path.display()),
        ..config()
    };
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let error = Resolved::new(&config, source, None).err().unwrap().to_string();
    assert_eq!(
        error,
        "the workload addresses 2 pages, expected at least two blocks of 16 pages; hint: fewer \
         pages_per_block, or a workload with more pages"
    );
}

#[test]
fn a_run_without_a_length_is_doubled_until_cold_pages_are_written_again() {
    let settled = |workload: &str, placement: &str| {
        run(&RunConfig {
            workload: workload.into(),
            placement: placement.into(),
            frontier: "pool".into(),
            warmup: "auto".into(),
            length: Length::Settled(640),
            ..config()
        })
    };
    let drive_writes =
        |result: &RunResult| result.counters.host_pages as f64 / result.config.logical_pages as f64;
    // The run begins with 20 drive writes and is doubled. 95% of the pages get 5% of the writes, so
    // four writes to each of these pages take 76 drive writes.
    let uniform = settled("uniform", "none");
    assert!(drive_writes(&uniform) <= 40.0, "{}", drive_writes(&uniform));
    let cold = settled("hotcold:f=0.05,r=0.95", "none");
    assert!(drive_writes(&cold) >= 80.0, "{}", drive_writes(&cold));
    for result in [&uniform, &cold] {
        assert!(result.steady, "{:?}", result.findings);
        let half = result.write_amplification_ci95.unwrap();
        assert!(half <= 0.01 * result.write_amplification, "{half}");
        assert!(result.steadiness.rewrites.unwrap() >= 4.0);
    }
    // The policy `fadac` remembers up to 100,000 writes of a page, more than any such run has. The
    // run ends, and a finding says that its reach is too short.
    let counted = settled("uniform", "fadac");
    assert!(!counted.steady && drive_writes(&counted) < 100.0);
    assert!(counted.findings.iter().any(|one| one.id == "cold-pages"), "{:?}", counted.findings);
}

#[test]
fn a_length_that_is_too_short_for_cold_pages_is_not_called_steady() {
    let fixed = |length: &str| {
        run(&RunConfig {
            workload: "hotcold:f=0.05,r=0.95".into(),
            frontier: "pool".into(),
            warmup: "1/3".into(),
            length: Length::Writes(length.into()),
            ..config()
        })
    };
    let short = fixed("20x");
    assert!(!short.steady);
    // 6.7 drive writes write 136 hot pages and 1 - e^-0.35 of the 2584 cold ones, 898 in all. The
    // next 13.3 drive writes leave e^-0.7 of these 762 cold pages unwritten: ln(898 / 378) = 0.86.
    let times = short.steadiness.rewrites.unwrap();
    assert!((0.8..0.95).contains(&times), "{times}");
    assert!(fixed("300x").steadiness.rewrites.unwrap() > 8.0);
}
