//! The tests of a steady state, for scripts that measure how often they err.

use flashgc_drive::passes::{MOST, Rule, Verdict, level, verdict};
use flashgc_drive::stats::{Interval, is_drifting};
use pyo3::prelude::*;

/// Passes, mean, half its 95% interval, and whether it is steady.
type Outcome = (usize, f64, Option<f64>, bool);

/// Replays a trace whose passes have the figures `values` by the rule for traces, as if there were
/// no more of them.
#[pyfunction]
pub(crate) fn replay_until_settled(values: Vec<f64>, warmup: f64) -> Outcome {
    let rule = Rule { warmup, fewest: 0, most: MOST.min(values.len() as u64) };
    let mut passes = 1;
    while rule.goes_on(&values[..passes]) {
        passes += 1;
    }
    let measured = &values[rule.warmup_of(passes)..passes];
    let (mean, half, steady) = measured_passes(measured.to_vec());
    (passes, mean, half, steady)
}

/// The mean over measured passes with the figures `values`, half its interval, and whether it is
/// steady.
#[pyfunction]
pub(crate) fn measured_passes(values: Vec<f64>) -> (f64, Option<f64>, bool) {
    let mean = flashgc_drive::stats::mean(&values);
    (mean, level(&values).map(|level| level.half), verdict(&values) == Verdict::Steady)
}

/// Returns `True` if a run of a generator whose measured intervals have the amplifications `values`
/// is steady.
#[pyfunction]
pub(crate) fn steady_intervals(values: Vec<f64>) -> bool {
    let interval = |value: f64| Interval::of_pages(1_000_000, (value * 1e6).round() as u64);
    is_drifting(&[values.into_iter().map(interval).collect()]) == Some(false)
}
