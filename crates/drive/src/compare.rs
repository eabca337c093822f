//! Ranking of results that share a workload: who writes least (with a page cache: whose flash is
//! busy for the shortest time; with a clock: whose requests are answered first), by how much, and
//! whether the difference is more than noise.

use serde::{Deserialize, Serialize};

use crate::result::RunResult;
use crate::stats::{all_equal, half_width95, mean};

/// One result's place among those it was compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Index into the results compared.
    pub index: usize,
    /// 1 for the least figure ([`RunResult::figure`]).
    pub place: usize,
    /// The figure over the least one's: "1.21x more writes". NaN without a figure.
    pub ratio: f64,
    /// The figure minus the least one's. NaN without a figure.
    pub difference: f64,
    /// Half the 95% interval of the difference. The runs are paired where both results have the
    /// same ones, since run i of each saw the same workload; `None` where it cannot be told.
    pub difference_ci95: Option<f64>,
    /// Whether the difference is inside its interval; never without a figure.
    pub inside_noise: bool,
}

/// Ranks `results`, the least figure first. Results without a figure come last.
pub fn compare(results: &[RunResult]) -> Vec<Rank> {
    let mut order: Vec<usize> = (0..results.len()).collect();
    let key = |index: &usize| match results[*index].figure() {
        value if value.is_nan() => f64::INFINITY,
        value => value,
    };
    order.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let Some(best) = order.first().map(|&index| &results[index]) else {
        return Vec::new();
    };
    let ranked = order.iter().enumerate().map(|(position, &index)| {
        let result = &results[index];
        let difference = result.figure() - best.figure();
        let half = match position {
            _ if difference.is_nan() => None,
            0 => Some(0.0),
            _ => difference_half_width(result, best),
        };
        Rank {
            index,
            place: position + 1,
            ratio: result.figure() / best.figure(),
            difference,
            difference_ci95: half,
            inside_noise: position > 0
                && !difference.is_nan()
                // With a page cache, a single run's difference is that of its references.
                && half.map_or(result.swap.is_none(), |half| difference <= half),
        }
    });
    ranked.collect()
}

fn difference_half_width(result: &RunResult, best: &RunResult) -> Option<f64> {
    let both = [result, best];
    let (values, others) = (result.figures(), best.figures());
    // Runs that are all alike are one run, and differences from it are not independent draws.
    // Interrupted results may lack different runs.
    let paired = values.len() == others.len()
        && values.len() > 1
        && both.iter().all(|one| !one.interrupted && !all_equal(one.figures()));
    if paired {
        let differences: Vec<f64> =
            values.iter().zip(others).map(|(one, other)| one - other).collect();
        debug_assert!(mean(&differences).is_finite());
        return Some(half_width95(&differences));
    }
    // Independent intervals: the half widths add in squares.
    Some(result.figure_ci95()?.hypot(best.figure_ci95()?))
}
