//! Compares the simulation with published figures and with closed forms. The small sizes always
//! run. The full sizes run with
//! `cargo test --release -p flashgc-experiment --test suite published -- --ignored --nocapture`.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
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

fn config(victim: &str) -> RunConfig {
    RunConfig {
        blocks: Some(50_000),
        pages_per_block: Some(64),
        victim: victim.into(),
        fill: "random".into(),
        length: Length::Collections(250_000),
        ..RunConfig::default()
    }
}

/// Van Houdt, ValueTools 2013, Table 1: b, S_f, d, c, model, simulation, its 95% half width, runs.
type Row = (u32, f64, u32, u32, f64, f64, f64, u32);
const TABLE_1: [Row; 9] = [
    (64, 0.08, 5, 2, 6.2461, 6.2468, 0.0006, 100),
    (64, 0.12, 6, 24, 4.2408, 4.2405, 0.0005, 50),
    (64, 0.17, 8, 8, 3.0596, 3.0595, 0.0003, 25),
    (32, 0.07, 6, 5, 6.4146, 6.4147, 0.0007, 100),
    (32, 0.11, 20, 3, 4.2113, 4.2114, 0.0006, 50),
    (32, 0.16, 15, 19, 3.0668, 3.0664, 0.0004, 25),
    (16, 0.06, 10, 1, 6.1340, 6.1346, 0.0010, 100),
    (16, 0.10, 4, 10, 4.5355, 4.5344, 0.0011, 50),
    (16, 0.15, 2, 3, 3.9448, 3.9447, 0.0017, 25),
];

fn table_1(runs: impl Fn(&Row) -> u32) -> Vec<RunResult> {
    let configs: Vec<RunConfig> = TABLE_1
        .iter()
        .map(|row| RunConfig {
            pages_per_block: Some(row.0),
            spare: row.1,
            runs: runs(row),
            ..config(&format!("d-choices:d={},c={}", row.2, row.3))
        })
        .collect();
    run(&configs)
}

#[test]
fn table_1_within_the_papers_own_spread() {
    for (row, result) in TABLE_1.iter().zip(table_1(|_| 1)) {
        // The spread of one run follows from the paper's interval over its runs. The tolerance is 4
        // times that spread, plus 0.05%, the difference of the paper's two columns.
        let spread = row.6 / 1.96 * f64::from(row.7).sqrt();
        let tolerance = 4.0 * spread + 0.0005 * row.4;
        let difference = (result.write_amplification - row.4).abs();
        assert!(difference <= tolerance, "{row:?}: {}", result.write_amplification);
    }
}

#[test]
#[ignore = "the paper's full size: minutes"]
fn table_1_in_full_within_a_twentieth_of_a_percent() {
    let mut worst = 0.0f64;
    for (row, result) in TABLE_1.iter().zip(table_1(|row| row.7)) {
        // For (16, 0.10, 4, 10), the paper's two values differ by 0.024%. Its fixed point, computed
        // to a residual of 1e-12, is 4.5361.
        let expected = if (row.2, row.3) == (4, 10) { 4.5361 } else { row.4 };
        let off = (result.write_amplification / expected - 1.0) * 100.0;
        let simulated = (result.write_amplification / row.5 - 1.0) * 100.0;
        println!(
            "b={} S_f={} d={} c={}: {:.4} +- {:.4}, {off:+.3}% of {expected}, {simulated:+.3}% of the \
             paper's simulation",
            row.0,
            row.1,
            row.2,
            row.3,
            result.write_amplification,
            result.write_amplification_ci95.unwrap_or(f64::NAN)
        );
        worst = worst.max(off.abs());
    }
    assert!(worst <= 0.05, "{worst}");
}

/// Returns the amplification of greedy with uniform writes for N to infinity: finds the level j at
/// which 0 <= x < 1.
fn greedy_exact(b: u32, spare: f64) -> f64 {
    let (pages, rho) = (f64::from(b), 1.0 - spare);
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let level = |j: u32| {
        let above = pages * rho * (harmonic(b) - harmonic(j)) - (pages - f64::from(j));
        above / (1.0 - pages * rho / f64::from(j))
    };
    let j = (1..b).find(|&j| (0.0..1.0).contains(&level(j))).unwrap();
    pages / (pages - f64::from(j) + level(j))
}

#[test]
fn greedy_is_the_exact_value() {
    // 4.8213 is the value of Bux and Iliadis, as the paper quotes it.
    assert!((greedy_exact(64, 0.1) - 4.8213).abs() < 5e-5);
    let result = &run(&[config("greedy")])[0];
    let measured = result.write_amplification;
    assert!((measured / 4.8213 - 1.0).abs() < 0.001, "{measured}");
    let result =
        &run(&[RunConfig { pages_per_block: Some(16), spare: 0.2, ..config("greedy") }])[0];
    assert!((result.write_amplification / greedy_exact(16, 0.2) - 1.0).abs() < 0.001);
}

#[test]
fn random_is_one_over_the_spare_factor() {
    // With 32 million host writes, one standard error is 0.05%.
    let config = RunConfig {
        blocks: Some(5000),
        spare: 0.2,
        warmup: "5x".into(),
        length: Length::Writes("31x".into()),
        runs: 4,
        ..config("random")
    };
    let measured = run(&[config])[0].write_amplification;
    assert!((measured / 5.0 - 1.0).abs() < 0.002, "{measured}");
}

/// Returns the amplification of FIFO with hot and cold data, by Eq. 14 of Desnoyers, SYSTOR 2012,
/// solved by bisection.
fn fifo_hot_cold(f: f64, r: f64, spare: f64) -> f64 {
    let alpha = 1.0 / (1.0 - spare);
    let class = |share: f64, wa: f64| 1.0 / (((share * alpha / wa).exp()) - 1.0);
    let excess =
        |wa: f64| 1.0 + r * class(r / f, wa) + (1.0 - r) * class((1.0 - r) / (1.0 - f), wa) - wa;
    let (mut low, mut high) = (1.0 + 1e-9, 10.0 / spare);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// Rows of f, r, and the amplifications of greedy, d-choices:d=10 and d-choices:d=9,c=1, each with
/// one frontier and with two. They are from independent simulations with N = 10000, b = 32, S_f =
/// 0.1 and one run each.
const HOT_COLD: [(f64, f64, [f64; 6]); 4] = [
    (0.2, 0.8, [4.924, 5.072, 5.021, 4.839, 4.593, 4.580]),
    (0.1, 0.9, [5.723, 5.673, 5.642, 5.196, 3.691, 3.747]),
    (0.05, 0.95, [6.407, 6.395, 6.382, 5.475, 2.527, 2.540]),
    (0.01, 0.99, [7.941, 7.396, 7.372, 5.869, 1.568, 1.420]),
];

fn hot_cold(f: f64, r: f64, victim: &str, frontier: &str, runs: u32) -> RunConfig {
    RunConfig {
        blocks: Some(10_000),
        pages_per_block: Some(32),
        frontier: frontier.into(),
        workload: format!("hotcold:f={f},r={r}"),
        warmup: "20x".into(),
        length: Length::Writes("10x".into()),
        runs,
        ..config(victim)
    }
}

#[test]
fn fifo_with_hot_and_cold_data_is_desnoyers_closed_form() {
    // 5.5378 is the solution of the same equation by another program.
    assert!((fifo_hot_cold(0.2, 0.8, 0.1) - 5.5378).abs() < 5e-5);
    let configs: Vec<RunConfig> =
        HOT_COLD.iter().map(|row| hot_cold(row.0, row.1, "fifo", "single", 2)).collect();
    for (row, result) in HOT_COLD.iter().zip(run(&configs)) {
        let expected = fifo_hot_cold(row.0, row.1, 0.1);
        let off = (result.write_amplification / expected - 1.0).abs();
        assert!(off < 0.002, "f={}: {} for {expected}", row.0, result.write_amplification);
    }
}

fn hot_cold_table(runs: u32) -> Vec<(String, f64, RunResult)> {
    let policies = ["greedy", "d-choices:d=10", "d-choices:d=9,c=1"];
    let mut configs = Vec::new();
    let mut expected = Vec::new();
    for (f, r, values) in HOT_COLD {
        for (index, value) in values.into_iter().enumerate() {
            let frontier = ["single", "double"][index / 3];
            configs.push(hot_cold(f, r, policies[index % 3], frontier, runs));
            expected.push((format!("f={f} {} {frontier}", policies[index % 3]), value));
        }
    }
    let rows = expected.into_iter().zip(run(&configs));
    rows.map(|((name, value), result)| (name, value, result)).collect()
}

#[test]
#[ignore = "48 runs of 9 million writes: a minute"]
fn hot_and_cold_data_with_one_frontier_and_two() {
    let mut missed = Vec::new();
    for (name, value, result) in hot_cold_table(8) {
        let half = result.write_amplification_ci95.unwrap();
        let off = result.write_amplification / value - 1.0;
        println!(
            "{name}: {:.4} +- {half:.4} for {value}, {:+.2}%",
            result.write_amplification,
            off * 100.0
        );
        // The expected values are from single runs, so their spread is that of one run here:
        // sqrt(8) times the standard error (t for 7 degrees of freedom is 2.365). The tolerance is
        // 3.5 times that spread. With 24 rows, the chance that some row exceeds it is 1%.
        let spread = half / 2.365 * 8f64.sqrt() / value;
        let tolerance = f64::max(0.003, 3.5 * spread);
        if off.abs() > tolerance {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn two_frontiers_equal_one_under_uniform_writes() {
    let one = RunConfig { runs: 2, ..config("d-choices:d=10") };
    let two = RunConfig { frontier: "double".into(), ..one.clone() };
    let results = run(&[one, two]);
    let ratio = results[1].write_amplification / results[0].write_amplification;
    assert!((ratio - 1.0).abs() < 0.003, "{ratio}");
}

#[test]
fn with_two_frontiers_hotter_data_cost_less_and_with_one_more() {
    let at = |frontier: &str| {
        let configs: Vec<RunConfig> = HOT_COLD
            .iter()
            .map(|row| hot_cold(row.0, row.1, "d-choices:d=10", frontier, 1))
            .map(|config| RunConfig { blocks: Some(2000), ..config })
            .collect();
        run(&configs).iter().map(|result| result.write_amplification).collect::<Vec<_>>()
    };
    let (one, two) = (at("single"), at("double"));
    assert!(one.is_sorted(), "{one:?}");
    assert!(two.is_sorted_by(|a, b| a > b), "{two:?}");
}
