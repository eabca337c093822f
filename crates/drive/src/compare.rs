//! Ranking of results that share a workload: who writes least, by how much, and whether the
//! difference is more than noise. Drives with a clock are ranked by their mean response time.

use serde::{Deserialize, Serialize};

use crate::result::RunResult;
use crate::stats::{all_equal, half_width95, mean};

/// One result's place among those it was compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Index into the results compared.
    pub index: usize,
    /// 1 for the least write amplification, or mean response time.
    pub place: usize,
    /// The figure over the least one's: "1.21x more writes". NaN without a figure.
    pub ratio: f64,
    /// The figure minus the least one's; of response times in microseconds. NaN without a figure.
    pub difference: f64,
    /// Half the 95% interval of the difference. The runs are paired where both results have the
    /// same ones, since run i of each saw the same workload; `None` where it cannot be told.
    pub difference_ci95: Option<f64>,
    /// Whether the difference is inside its interval; never without a figure.
    pub inside_noise: bool,
}

/// What a result is ranked by: its figure, that of each run, and the half of its interval.
fn figure(result: &RunResult) -> (f64, &[f64], Option<f64>) {
    match &result.timed {
        None => (result.write_amplification, &result.run_values, result.write_amplification_ci95),
        Some(timed) => {
            let mean = timed.latency_us.all.as_ref().map_or(f64::NAN, |all| all.all.mean);
            (mean, &timed.mean_us_runs, timed.mean_us_ci95)
        }
    }
}

/// Ranks `results`, the least figure first. Results without one come last.
pub fn compare(results: &[RunResult]) -> Vec<Rank> {
    let mut order: Vec<usize> = (0..results.len()).collect();
    let key = |index: &usize| match figure(&results[*index]).0 {
        value if value.is_nan() => f64::INFINITY,
        value => value,
    };
    order.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let Some(best) = order.first().map(|&index| &results[index]) else {
        return Vec::new();
    };
    let ranked = order.iter().enumerate().map(|(position, &index)| {
        let result = &results[index];
        let (value, least) = (figure(result).0, figure(best).0);
        let difference = value - least;
        let half = match position {
            _ if difference.is_nan() => None,
            0 => Some(0.0),
            _ => difference_half_width(result, best),
        };
        Rank {
            index,
            place: position + 1,
            ratio: value / least,
            difference,
            difference_ci95: half,
            inside_noise: position > 0
                && !difference.is_nan()
                && half.is_none_or(|half| difference <= half),
        }
    });
    ranked.collect()
}

fn difference_half_width(result: &RunResult, best: &RunResult) -> Option<f64> {
    let both = [result, best];
    let ((_, values, half), (_, others, other_half)) = (figure(result), figure(best));
    // Runs that are all alike are one run, and differences from it are not independent draws.
    // Interrupted results may lack different runs.
    let paired = values.len() == others.len()
        && values.len() > 1
        && both.iter().all(|one| !one.interrupted && !all_equal(figure(one).1));
    if paired {
        let differences: Vec<f64> =
            values.iter().zip(others).map(|(one, other)| one - other).collect();
        debug_assert!(mean(&differences).is_finite());
        return Some(half_width95(&differences));
    }
    // Independent intervals: the half widths add in squares.
    Some(half?.hypot(other_half?))
}
