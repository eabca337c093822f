//! Traces that are replayed: until amplification has settled, in whole passes, and compared on the
//! same writes.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::naming::Keywords;
use flashgc_base::rng::Stream;
use flashgc_drive::extent::Length;
use flashgc_drive::passes::{MOST, level};
use flashgc_drive::source::TraceReplay;
use flashgc_experiment::compare::{Basis, compare};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::findings::Window;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_ftl::{Victim, VictimSpec, victim_policies};
use flashgc_workload::trace::SourceOptions;

/// Writes a trace of `writes` page writes to 1000 pages. A fifth of the pages gets four fifths of
/// the writes.
fn save(folder: &Path, writes: u32) -> String {
    let mut rng = Stream::new(7, "trace");
    let mut rows = String::from("time_us,op,offset_bytes,size_bytes,dev\n");
    for time in 0..writes {
        let hot = rng.below(5) > 0;
        let page = if hot { rng.below(200) } else { 200 + rng.below(800) };
        rows += &format!("{time},W,{},4096,0\n", u64::from(page) * 4096);
    }
    let path = folder.join("trace.csv");
    std::fs::write(&path, rows).unwrap();
    path.to_str().unwrap().to_string()
}

fn config(path: &str) -> RunConfig {
    RunConfig {
        blocks: None,
        pages_per_block: Some(16),
        spare: 0.15,
        victim: "greedy".into(),
        workload: path.to_string(),
        length: Length::Settled(MOST),
        ..RunConfig::default()
    }
}

fn run(config: &RunConfig) -> RunResult {
    let b = config.pages_per_block;
    let options = SourceOptions::default();
    let source = TraceReplay::load(&config.workload, options, |_| b.unwrap(), |_| true).unwrap();
    let resolved = Resolved::new(config, Arc::new(source), None).unwrap();
    let made = simulate(&[resolved], 0, &Control::default(), &mut || {}, &|_, _| (), None);
    let mut result = made.unwrap().remove(0);
    result.name_options(&Keywords);
    result
}

fn passes(result: &RunResult) -> (u64, u64) {
    let trace = result.trace.unwrap();
    (trace.warmup_passes.unwrap(), trace.passes.unwrap())
}

#[test]
fn a_trace_is_replayed_until_it_has_settled() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), 5000);
    let result = run(&config(&path));
    let (warmup, measured) = passes(&result);
    let all = warmup + measured;
    assert!((25..100).contains(&all) && warmup == all.div_ceil(3), "{warmup} {measured}");
    // The only finding may be that the drive is small.
    let of_size = result.findings.iter().all(|one| one.window == Window::Configuration);
    assert!(result.steady && of_size, "{:?}", result.said());
    // The counts and the write amplification cover the measured passes.
    assert_eq!(result.counters.host_pages, measured * 5000);
    let copies = result.counters.copied_pages as f64 / result.counters.host_pages as f64;
    assert!((result.write_amplification - 1.0 - copies).abs() < 1e-12);
    // A run with that number of passes as its length is the same run.
    let asked = run(&RunConfig { length: Length::Passes(all), ..config(&path) });
    assert_eq!(passes(&asked), (warmup, measured));
    assert_eq!(asked.write_amplification, result.write_amplification);
    assert_eq!((asked.counters.erases, asked.steady), (result.counters.erases, true));
    let half = |result: &RunResult| result.write_amplification_ci95.unwrap();
    assert!((half(&asked) / half(&result) - 1.0).abs() < 1e-9);
    // The interval is computed from the passes.
    let of_passes: Vec<f64> =
        result.course.series[warmup as usize..].iter().map(|(_, y)| *y).collect();
    assert!((level(&of_passes).unwrap().half - half(&result)).abs() < 1e-12);
}

#[test]
fn what_does_not_settle_stops_at_the_most_passes_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // 14 passes, a third of them warm-up, are too few.
    let path = save(folder.path(), 2000);
    let result = run(&RunConfig { length: Length::Settled(14), ..config(&path) });
    assert_eq!(passes(&result), (5, 9));
    assert!(!result.steady);
    let text =
        "too few whole passes to tell whether write amplification is steady; hint: passes=56";
    assert!(result.said().iter().any(|warning| warning == text), "{:?}", result.said());
    let three = run(&RunConfig { length: Length::Passes(3), ..config(&path) });
    assert_eq!(
        (passes(&three), three.write_amplification_ci95, three.steady),
        ((1, 2), None, false)
    );
    assert!(three.said()[0].ends_with("hint: leave out passes"), "{:?}", three.said());
}

#[test]
fn an_interval_begins_at_1_at_the_least() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), 1200);
    // Four passes of a drive that is filling up are measured.
    let config = RunConfig {
        fill: "empty".into(),
        warmup: "0".into(),
        length: Length::Passes(4),
        ..config(&path)
    };
    let result = run(&config);
    let (value, half) = (result.write_amplification, result.write_amplification_ci95.unwrap());
    assert!(value - half < 1.0, "{value} {half}");
    assert_eq!(result.write_amplification_interval, Some((1.0, value + half)));
}

#[test]
fn a_warm_up_that_is_found_is_whole_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), 2000);
    let auto = |passes| {
        let length = Length::Passes(passes);
        run(&RunConfig { warmup: "auto".into(), length, ..config(&path) })
    };
    for passes in [2, 7] {
        let result = auto(passes);
        let before = result.course.measured_from * result.config.logical_pages as f64 / 2000.0;
        assert!(before >= 1.0 && before.fract() < 1e-9, "{before} of {passes}");
    }
}

#[test]
fn policies_without_randomness_differ_exactly_on_as_many_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), 3000);
    let of = |victim: &str, length: Length| {
        run(&RunConfig { victim: victim.into(), length, ..config(&path) })
    };
    let three = |victim| of(victim, Length::Passes(3));
    let ranks = compare(&[three("fifo"), three("greedy")]);
    assert_eq!((ranks[1].basis, ranks[1].difference_ci95), (Basis::Exact, Some(0.0)));
    assert!(!ranks[1].inside_noise && ranks[1].difference > 0.0);
    // With random numbers, each result is one of many possible results, so the difference is not
    // exact.
    let ranks = compare(&[three("random"), three("greedy")]);
    assert_eq!((ranks[1].basis, ranks[1].inside_noise), (Basis::None, false));
    let twelve = |victim| of(victim, Length::Passes(12));
    assert_eq!(compare(&[twelve("random"), twelve("greedy")])[1].basis, Basis::Passes);
    // Passes until the drive has settled are a sample of the passes that would follow.
    let settled = |victim| of(victim, Length::Settled(MOST));
    let ranks = compare(&[settled("fifo"), settled("greedy")]);
    assert!(matches!(ranks[1].basis, Basis::Passes | Basis::Apart) && !ranks[1].inside_noise);
    assert!(ranks[1].difference_ci95.unwrap() > 0.0);
}

#[test]
fn policies_draw_random_numbers_where_they_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), 3000);
    for policy in victim_policies() {
        let digest = |seed| {
            let config = RunConfig {
                victim: policy.name.into(),
                frontier: "pool".into(),
                length: Length::Passes(2),
                seed,
                ..config(&path)
            };
            let result = run(&config);
            (result.counters.copied_pages, result.counters.erases)
        };
        let draws = Victim::Registered(VictimSpec::parse(policy.name).unwrap()).draws();
        let differ = (2..6).any(|seed| digest(seed) != digest(1));
        assert_eq!(differ, draws, "{}", policy.name);
    }
}

#[test]
fn a_trace_that_a_fresh_drive_takes_whole_says_that_replays_make_the_garbage() {
    let folder = tempfile::tempdir().unwrap();
    let warned = |path: &str| {
        let result = run(&config(path));
        let text = "only the replays cause collections: a pass writes 0.90 of the flash";
        (result.trace.unwrap(), result.said().iter().any(|warning| warning.starts_with(text)))
    };
    // 1000 pages fill 63 of the drive's 75 blocks of 16 pages; 80 of the pages are written twice.
    let rows: String =
        (0..1080).map(|time| format!("{time},W,{},4096,0\n", time * 7 % 1000 * 4096)).collect();
    let path = folder.path().join("once.csv");
    std::fs::write(&path, format!("time_us,op,offset_bytes,size_bytes,dev\n{rows}")).unwrap();
    let (trace, said) = warned(path.to_str().unwrap());
    assert!(said, "{trace:?}");
    assert_eq!((trace.page_writes, trace.overwrite), (1080, 1.08));
    assert_eq!(trace.flash_writes, 1080.0 / 1200.0);
    let (trace, said) = warned(&save(folder.path(), 3000));
    assert!(!said && trace.flash_writes > 1.0, "{trace:?}");
}
