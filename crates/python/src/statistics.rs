//! The tests of a steady state, for scripts that measure how often these tests are wrong.

use flashgc_drive::passes::{MOST, Rule, Verdict, level, verdict};
use flashgc_drive::stats::{Interval, drift, exceeds_chance, is_settled};
use flashgc_experiment::drive_use::DriveUse;
use flashgc_ftl::Geometry;
use pyo3::prelude::*;

use crate::places::At;
use crate::{errors, json};

/// The number of passes, the mean, half of the mean's 95% interval, and whether the figures are
/// steady.
type Outcome = (usize, f64, Option<f64>, bool);

/// Applies the rule for traces to a trace whose passes have the write amplifications `values`.
/// After the last value the replay ends.
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

/// Returns the mean of `values`, which are the figures of measured passes; half of the mean's 95%
/// interval; and whether the figures are steady.
#[pyfunction]
pub(crate) fn measured_passes(values: Vec<f64>) -> (f64, Option<f64>, bool) {
    let mean = flashgc_drive::stats::mean(&values);
    (mean, level(&values).map(|level| level.half), verdict(&values) == Verdict::Steady)
}

/// Returns the judgement on a stored drive in use, as JSON. `geometry` is its number of blocks, of
/// pages a block and of logical pages. `parts` are pairs: pages that the host wrote, and pages
/// programmed. `programs` is the number of all pages programmed. Options have the names at
/// `places`.
///
/// # Errors
/// `ConfigError` for a geometry that no drive can have.
#[pyfunction]
pub(crate) fn judged(
    geometry: (u32, u32, u64),
    kept_erased: u32,
    parts: Vec<(u64, u64)>,
    programs: u64,
    erases: u64,
    places: At,
) -> PyResult<String> {
    let (blocks, pages_per_block, logical) = geometry;
    let geometry = Geometry::new(blocks, pages_per_block, logical).map_err(errors::config)?;
    let mut judged = DriveUse { geometry, kept_erased, parts, programs, erases }.judged();
    judged.findings.iter_mut().for_each(|finding| finding.name_options(&places.0));
    json::to_json(&judged)
}

/// Returns `True` if a run of a generator whose measured intervals have the amplifications `values`
/// is steady.
#[pyfunction]
pub(crate) fn steady_intervals(values: Vec<f64>) -> bool {
    let interval = |value: f64| Interval::of_pages(1_000_000, (value * 1e6).round() as u64);
    drift(&[values.into_iter().map(interval).collect()]).is_some_and(is_settled)
}

/// Returns `True` if a `drift`, with half its interval, is larger than chance and worth a finding.
#[pyfunction]
#[pyo3(name = "exceeds_chance")]
pub(crate) fn is_beyond_chance(drift: f64, half: f64) -> bool {
    exceeds_chance((drift, half))
}
