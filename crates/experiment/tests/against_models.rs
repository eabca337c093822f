//! Compares simulations with the analytic models, which share no code with them, at random
//! parameters from a fixed seed.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_drive::extent::Length;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_model::closed::greedy::Greedy;
use flashgc_model::closed::superblock::{self, Superblocks};
use flashgc_model::meanfield::{Frontier, Selection, Ties, hot_cold, uniform, windowed};
use flashgc_model::{Drive, HotCold};
use flashgc_workload::generate::GeneratorSpec;

fn run(configs: &[RunConfig]) -> Vec<RunResult> {
    let resolved: Vec<Resolved> = configs
        .iter()
        .map(|config| {
            let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
            Resolved::new(config, source, None).unwrap()
        })
        .collect();
    simulate(&resolved, 0, &Control::default(), &mut || {}, &|_, _| (), None).unwrap()
}

fn config(b: u32, spare: f64, victim: String, runs: u32) -> RunConfig {
    RunConfig {
        blocks: Some(12_000),
        pages_per_block: Some(b),
        spare,
        victim,
        fill: "random".into(),
        length: Length::Collections(90_000),
        runs,
        ..RunConfig::default()
    }
}

/// Random parameters between bounds.
struct Draw(Stream);

impl Draw {
    fn integer(&mut self, low: u32, high: u32) -> u32 {
        low + self.0.below(high - low + 1)
    }

    fn share(&mut self, low: f64, high: f64) -> f64 {
        // The number is rounded to three digits, so that a user can type it.
        ((low + (high - low) * self.0.unit()) * 1000.0).round() / 1000.0
    }
}

/// The factor of Student's t for a 95% interval from eight runs.
const T95_OF_EIGHT: f64 = 2.365;

/// Fails if a model differs from its simulation by more than three standard errors and 0.05%.
fn agree(rows: &[(String, f64)], results: &[RunResult]) {
    let mut off = Vec::new();
    for ((what, model), result) in rows.iter().zip(results) {
        let measured = result.write_amplification;
        let error = result.write_amplification_ci95.unwrap() / T95_OF_EIGHT;
        let far = (measured - model).abs() > 3.0 * error + 5e-4 * model;
        println!(
            "{what}: model {model:.4}, simulated {measured:.4} +- {error:.4}, {:+.3}%{}",
            100.0 * (measured / model - 1.0),
            if far { "  FAR" } else { "" }
        );
        if far {
            off.push(what);
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

/// Compares d-choices with memory at `count` random settings.
fn d_choices_with_memory(count: usize) {
    let mut draw = Draw(Stream::new(2013, "settings"));
    let (mut rows, mut configs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (b, spare) = (2 * draw.integer(4, 64), draw.share(0.04, 0.3));
        let (d, c) = (draw.integer(2, 40), draw.integer(0, 20));
        let selection = Selection::d_choices(d, c).unwrap();
        let model = uniform::solve(&Drive::new(b, spare).unwrap(), &selection).unwrap();
        rows.push((format!("b={b} S_f={spare} d={d} c={c}"), model.write_amplification));
        configs.push(config(b, spare, format!("d-choices:d={d},c={c}"), 8));
    }
    agree(&rows, &run(&configs));
}

#[test]
fn d_choices_with_memory_at_random_settings() {
    d_choices_with_memory(3);
}

#[test]
#[ignore = "36 settings: a minute"]
fn d_choices_with_memory_at_36_random_settings() {
    d_choices_with_memory(36);
}

/// Compares greedy and windowed greedy at `count` random settings.
fn greedy_and_windowed(count: usize) {
    let mut draw = Draw(Stream::new(2009, "settings"));
    let (mut rows, mut configs) = (Vec::new(), Vec::new());
    for at in 0..count {
        let (b, spare) = (2 * draw.integer(4, 64), draw.share(0.04, 0.3));
        let drive = Drive::new(b, spare).unwrap();
        if at % 3 == 0 {
            let model = uniform::solve(&drive, &Selection::Greedy { ties: Ties::Random }).unwrap();
            rows.push((format!("b={b} S_f={spare} greedy"), model.write_amplification));
            configs.push(config(b, spare, "greedy".into(), 8));
        } else {
            let w = draw.integer(200, 8_000);
            let model = windowed::solve(&drive, f64::from(w) / 12_000.0).unwrap();
            rows.push((format!("b={b} S_f={spare} w={w}"), model.write_amplification));
            configs.push(config(b, spare, format!("windowed:w={w}"), 8));
        }
    }
    agree(&rows, &run(&configs));
}

#[test]
fn greedy_and_windowed_at_random_settings() {
    greedy_and_windowed(3);
}

#[test]
#[ignore = "12 settings: half a minute"]
fn greedy_and_windowed_at_12_random_settings() {
    greedy_and_windowed(12);
}

/// Compares hot and cold data at `count` random settings; returns the differences in percent.
fn hot_and_cold(frontier: Frontier, count: usize, seed: u64) -> Vec<(String, f64)> {
    let mut draw = Draw(Stream::new(seed, "settings"));
    let (mut rows, mut configs) = (Vec::new(), Vec::new());
    while rows.len() < count {
        let (b, spare) = (2 * draw.integer(4, 32), draw.share(0.05, 0.3));
        let (f, r) = (draw.share(0.02, 0.5), draw.share(0.5, 0.98));
        let (d, c) = (draw.integer(2, 30), draw.integer(0, 5));
        let (selection, victim) = if draw.integer(0, 3) == 0 {
            (Selection::Greedy { ties: Ties::Latest }, "greedy".to_owned())
        } else {
            (Selection::d_choices(d, c).unwrap(), format!("d-choices:d={d},c={c}"))
        };
        let drive = Drive::new(b, spare).unwrap();
        let data = HotCold::new(f, r).unwrap();
        let model = hot_cold::solve(&drive, &selection, frontier, &data).unwrap();
        rows.push((format!("b={b} S_f={spare} f={f} r={r} {victim}"), model.write_amplification));
        configs.push(RunConfig {
            blocks: Some(8_000),
            frontier: if frontier == Frontier::Single { "single" } else { "double" }.into(),
            workload: format!("hotcold:f={f},r={r}"),
            warmup: "12x".into(),
            length: Length::Writes("4x".into()),
            ..config(b, spare, victim, 2)
        });
    }
    let off = |((what, model), result): ((String, f64), RunResult)| {
        let measured = result.write_amplification;
        let off = 100.0 * (model / measured - 1.0);
        println!("{what}: model {model:.4}, simulated {measured:.4}, {off:+.3}%");
        (what, off)
    };
    rows.into_iter().zip(run(&configs)).map(off).collect()
}

/// Checks hot and cold data at random settings, `one` with one frontier and `two` with two.
fn hot_and_cold_within_a_percent(one: usize, two: usize) {
    for (what, off) in hot_and_cold(Frontier::Single, one, 2012) {
        assert!(off.abs() < 0.5, "{what}: {off:+.3}%");
    }
    for (what, off) in hot_and_cold(Frontier::Double, two, 22) {
        assert!(off.abs() < 1.0, "{what}: {off:+.3}%");
    }
}

#[test]
fn hot_and_cold_data_at_random_settings() {
    hot_and_cold_within_a_percent(2, 2);
}

#[test]
#[ignore = "40 settings: a minute"]
fn hot_and_cold_data_at_40_random_settings() {
    hot_and_cold_within_a_percent(16, 24);
}

/// Returns the superblocks out of play that give the drive of `count` superblocks of `pages` pages
/// this write amplification.
fn out_of_play(count: u32, pages: u32, spare: f64, write_amplification: f64) -> f64 {
    let greedy = Greedy::new(pages);
    let count = f64::from(count);
    let (mut low, mut high) = (0.0, spare * count);
    for _ in 0..60 {
        let x = f64::midpoint(low, high);
        let found = greedy.write_amplification((spare * count - x) / (count - x));
        if found < write_amplification { low = x } else { high = x }
    }
    low
}

#[test]
fn erased_and_open_superblocks_are_out_of_play_as_derived() {
    let pool = |low| (superblock::Frontier::Pool { low }, format!("pool:low={low}"));
    let mixed = |low| (superblock::Frontier::Mixed { low }, format!("mixed:low={low}"));
    let words = [
        (superblock::Frontier::Single, "single".to_string()),
        (superblock::Frontier::Double, "double".to_string()),
        (superblock::Frontier::Compact, "compact".to_string()),
    ];
    let [single, double, compact] = words;
    // Spare factors at which write amplification is not near a whole number.
    let settings = [
        (pool(1), 0.17),
        (pool(2), 0.15),
        (pool(5), 0.15),
        (mixed(1), 0.17),
        (mixed(2), 0.15),
        (mixed(5), 0.16),
        (single, 0.15),
        (double, 0.16),
        (compact, 0.16),
    ];
    // 64 superblocks of 8 blocks, of which one is parity: 7 x 512 pages of data each.
    let (count, pages) = (64, 3584);
    let configs: Vec<RunConfig> = settings
        .iter()
        .map(|((_, frontier), spare)| RunConfig {
            blocks: Some(count * 8),
            superblock: "dies=8,planes=1".into(),
            parity: "1/8".into(),
            frontier: frontier.clone(),
            warmup: "10x".into(),
            length: Length::Writes("10x".into()),
            ..config(512, *spare, "greedy".into(), 1)
        })
        .collect();
    for (((frontier, text), spare), result) in settings.iter().zip(run(&configs)) {
        let measured = result.write_amplification;
        let drive = Superblocks::new(count, pages, *spare, *frontier).unwrap();
        let model = drive.solve(&Greedy::new(pages)).unwrap();
        let x = out_of_play(count, pages, *spare, measured);
        println!(
            "{text} {spare}: model {:.4}, simulated {measured:.4}; out of play {:.3}, simulated {x:.3}",
            model.write_amplification, model.out_of_play
        );
        // Half of what a victim frees is 1 / (2 WA), 0.07 at least in these runs.
        assert!((x - model.out_of_play).abs() < 0.04, "{text}");
        assert!((model.write_amplification / measured - 1.0).abs() < 0.005, "{text}");
    }
}
