//! The statistics of runs: confidence intervals, batch means, warm-up detection, drift.

use flashgc_base::snapshot::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the arithmetic mean; NaN for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns half the width of the 95% confidence interval of the mean of independent values
/// (Student's t). It is infinite for fewer than two values.
pub fn half_width95(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if values.len() < 2 {
        return f64::INFINITY;
    }
    let centre = mean(values);
    let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (n - 1.0);
    quantile95(n - 1.0) * (variance / n).sqrt()
}

/// Returns `true` if there are several values and all are equal to the last bit: copies of one, not
/// draws.
pub fn all_equal(values: &[f64]) -> bool {
    values.len() > 1 && values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits())
}

/// Returns the two-sided 95% quantile of Student's t with `freedom` degrees of freedom.
fn quantile95(freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(t) => t.inverse_cdf(0.975),
        Err(_) => f64::INFINITY,
    }
}

/// The writes of one interval of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Interval {
    /// The number of pages written by the host.
    pub host_pages: u64,
    /// The bytes that the host wrote.
    pub host_bytes: u64,
    /// The bytes programmed, copies and padding included.
    pub programmed_bytes: u64,
}

impl Interval {
    /// Returns write amplification over several intervals together; NaN if the host wrote nothing.
    pub fn amplification(intervals: &[Self]) -> f64 {
        let host: u64 = intervals.iter().map(|interval| interval.host_bytes).sum();
        let programmed: u64 = intervals.iter().map(|interval| interval.programmed_bytes).sum();
        programmed as f64 / host as f64
    }

    /// Returns an interval in which the host wrote `host` whole pages and `programs` were
    /// programmed.
    pub fn of_pages(host: u64, programs: u64) -> Self {
        Self { host_pages: host, host_bytes: host, programmed_bytes: programs }
    }
}

/// Returns the write amplification of each interval.
pub fn amplifications(intervals: &[Interval]) -> Vec<f64> {
    intervals.iter().map(|interval| Interval::amplification(&[*interval])).collect()
}

/// Returns the write amplification of `count` batches of equal numbers of consecutive intervals.
/// They are nearly independent if a batch is long against the drive's memory. Batches without host
/// writes are left out.
pub fn batch_means(intervals: &[Interval], count: usize) -> Vec<f64> {
    let size = (intervals.len() / count).max(1);
    // Intervals that do not fill a batch are left out at the front, where the run is least settled.
    let rest =
        intervals.len() % size.max(1) + (intervals.len() / size).saturating_sub(count) * size;
    let batches = intervals[rest.min(intervals.len())..].chunks_exact(size);
    batches.map(Interval::amplification).filter(|value| value.is_finite()).collect()
}

/// Returns the end of the warm-up by the MSER rule (White 1997): the cut that minimises the squared
/// standard error of the values behind it, sought in the first half. `None` if the best cut is the
/// last one allowed, that is, if the run never settled.
pub fn mser(intervals: &[Interval]) -> Option<usize> {
    let values = amplifications(intervals);
    if values.len() < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let last = values.len() / 2;
    let error = |cut: usize| {
        let kept = &values[cut..];
        let centre = mean(kept);
        let squares = kept.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
        squares / (kept.len() as f64).powi(2)
    };
    let best = (0..=last).min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    (best < last).then_some(best)
}

/// The share below which a drift between the halves of the measured part is not worth a warning.
const DRIFT_WORTH_SAYING: f64 = 0.002;

/// Returns `true` if the measured part drifts, or `None` if it is too short to tell.
pub fn is_drifting(runs: &[Vec<Interval>]) -> Option<bool> {
    drift(runs).map(exceeds_chance)
}

/// Returns `true` if a drift, given with half its interval, is more than chance.
pub fn exceeds_chance((drift, half): (f64, f64)) -> bool {
    drift.abs() > half.max(DRIFT_WORTH_SAYING)
}

/// Returns the drift of write amplification between the first and the second half of the measured
/// part, relative to its mean, with half its 95% interval. `runs` holds the intervals of each run.
pub fn drift(runs: &[Vec<Interval>]) -> Option<(f64, f64)> {
    let halves: Vec<(f64, f64)> = runs
        .iter()
        .flat_map(|intervals| {
            // One run gives ten pairs of batches; several runs give a pair each.
            let pairs = if runs.len() == 1 { 10 } else { 1 };
            let batches = batch_means(intervals, 2 * pairs);
            let middle = batches.len() / 2;
            (0..middle).map(move |i| (batches[i], batches[i + middle])).collect::<Vec<_>>()
        })
        .collect();
    let differences: Vec<f64> = halves.iter().map(|(first, second)| second - first).collect();
    if differences.len() < 2 {
        return None;
    }
    let level =
        mean(&halves.iter().map(|(first, second)| (first + second) / 2.0).collect::<Vec<_>>());
    Some((mean(&differences) / level, half_width95(&differences) / level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(values: &[f64]) -> Vec<Interval> {
        let host_pages = 1_000_000;
        values
            .iter()
            .map(|value| Interval::of_pages(host_pages, (value * 1e6).round() as u64))
            .collect()
    }

    #[test]
    fn half_width_is_students() {
        // Values 1..=5: mean 3, s = sqrt(2.5), t(0.975, 4) = 2.776445 (any table), over sqrt(5).
        let half = half_width95(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((half - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-5, "{half}");
        assert_eq!(half_width95(&[1.0]), f64::INFINITY);
        assert_eq!(half_width95(&[2.0, 2.0]), 0.0);
    }

    #[test]
    fn batches_are_ratios_of_sums_and_cover_the_end() {
        let values = intervals(&[9.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(batch_means(&values, 2), [2.0, 3.0]);
    }

    #[test]
    fn mser_cuts_the_transient_and_nothing_else() {
        let mut values = vec![5.0, 4.0, 3.0];
        values.extend([2.0, 2.01, 1.99, 2.0, 2.01, 1.99, 2.0, 2.01, 1.99, 2.0, 2.0, 2.0]);
        assert_eq!(mser(&intervals(&values)), Some(3));
        let falling: Vec<f64> = (0..40).map(|i| 10.0 - 0.2 * f64::from(i)).collect();
        assert_eq!(mser(&intervals(&falling)), None);
    }

    #[test]
    fn drift_is_seen_and_noise_is_not() {
        let rising: Vec<f64> = (0..40).map(|i| 2.0 + 0.01 * f64::from(i)).collect();
        let (drift_up, half) = drift(&[intervals(&rising)]).unwrap();
        assert!(drift_up > 0.05 && half < drift_up, "{drift_up} ± {half}");
        let noise: Vec<f64> = (0..40).map(|i| 2.0 + 0.01 * f64::from(i * 7 % 5)).collect();
        let (drift_noise, half) = drift(&[intervals(&noise)]).unwrap();
        assert!(drift_noise.abs() <= half, "{drift_noise} ± {half}");
    }
}
