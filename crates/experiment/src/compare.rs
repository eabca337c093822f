//! Ranks results with the same workload. The result with the smallest figure is first. Each rank
//! has the distance to the best result, and a mark if the difference may be noise. The figure is
//! write amplification; with a page cache it is the time that the flash was busy, and with a clock
//! the response time.

use flashgc_drive::passes::{level, spread};
use flashgc_drive::stats::{all_equal, half_width95};
use serde::{Deserialize, Serialize};

use crate::result::RunResult;

/// The way in which the interval of a difference was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Exact: both results have the same finite writes and use no random numbers.
    Exact,
    /// The differences run by run: in both results, run i had the same workload.
    Runs,
    /// The differences pass by pass of a trace.
    Passes,
    /// The differences batch by batch of the same writes.
    Batches,
    /// The intervals of the two figures, which are independent.
    Apart,
    /// There is no interval.
    None,
}

/// The place of one result in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// The index of the result in the list of compared results.
    pub index: usize,
    /// The place in the order; place 1 has the smallest figure ([`RunResult::figure`]).
    pub place: usize,
    /// The figure divided by the smallest one: "1.21x more writes". NaN without a figure.
    pub ratio: f64,
    /// The figure minus the smallest one. NaN without a figure.
    pub difference: f64,
    /// Half the 95% interval of the difference; `None` if it is not known.
    pub difference_ci95: Option<f64>,
    /// The way in which that interval was found.
    pub basis: Basis,
    /// `true` if the difference is smaller than half its interval. `false` if there is no interval
    /// or the difference is exact.
    pub inside_noise: bool,
}

/// Ranks `results`, with the smallest figure first. Results without a figure are last.
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
        let (half, basis) = match position {
            _ if difference.is_nan() => (None, Basis::None),
            0 => (Some(0.0), Basis::Exact),
            _ => uncertainty(result, best),
        };
        Rank {
            index,
            place: position + 1,
            ratio: result.figure() / best.figure(),
            difference,
            difference_ci95: half,
            basis,
            inside_noise: basis != Basis::Exact && half.is_some_and(|half| difference <= half),
        }
    });
    ranked.collect()
}

/// Returns half the interval of the difference between two results, and how it was found.
fn uncertainty(result: &RunResult, best: &RunResult) -> (Option<f64>, Basis) {
    let whole = !result.interrupted && !best.interrupted;
    let same =
        whole && result.samples.writes.is_some() && result.samples.writes == best.samples.writes;
    if same && result.samples.exact && best.samples.exact {
        return (Some(0.0), Basis::Exact);
    }
    let (values, others) = (result.figures(), best.figures());
    let (alike, others_alike) = (all_equal(values), all_equal(others));
    // With a clock, identical runs served the same requests to the end, without random numbers.
    if whole && result.timed.is_some() && alike && others_alike {
        return (Some(0.0), Basis::Exact);
    }
    // Runs cannot be paired if a result was interrupted, because runs may be missing. Nor can they
    // if all runs of a result are identical, because they count as one. `left` is the difference
    // between the remaining transients of the two results.
    let left = result.samples.left - best.samples.left;
    if whole && values.len() == others.len() && values.len() > 1 && !(alike || others_alike) {
        return (Some(half_width95(&differences(values, others)).hypot(left)), Basis::Runs);
    }
    // Samples are from the first run. They stand for the figures if both results have the same
    // number of runs.
    let same = same && values.len() == others.len();
    let (values, others) = (&result.samples.values, &best.samples.values);
    if same && values.len() == others.len() && result.samples.passes == best.samples.passes {
        let differences = differences(values, others);
        let (half, basis) = match result.samples.passes {
            true => (level(&differences).map(|level| level.half), Basis::Passes),
            false => (Some(spread(&differences).hypot(left)), Basis::Batches),
        };
        if let Some(half) = half.filter(|half| half.is_finite()) {
            return (Some(half), basis);
        }
    }
    // The intervals are independent: the squares of the half widths add up.
    match result.figure_ci95().zip(best.figure_ci95()) {
        Some((half, other)) => (Some(half.hypot(other)), Basis::Apart),
        None => (None, Basis::None),
    }
}

fn differences(values: &[f64], others: &[f64]) -> Vec<f64> {
    values.iter().zip(others).map(|(value, other)| value - other).collect()
}
