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

/// Returns `true` if there are several values and all are equal to the last bit: they are copies of
/// one value, not independent draws.
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

/// Splits intervals in the middle of the writes.
pub fn halves(intervals: &[Interval]) -> (&[Interval], &[Interval]) {
    let written: u64 = intervals.iter().map(|interval| interval.host_pages).sum();
    let mut sum = 0;
    let first = intervals.iter().take_while(|interval| {
        sum += interval.host_pages;
        2 * sum <= written
    });
    intervals.split_at(first.count())
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

/// The share below which a drift between the halves of the measured part is not worth a warning.
const DRIFT_WORTH_SAYING: f64 = 0.002;

/// The largest change between the halves of a steady measured part, as a share of the mean.
pub const MOST_DRIFT: f64 = 0.05;

/// Returns `true` if a change of more than 5% between the halves cannot be ruled out. The drift is
/// given with half its interval.
pub fn is_unknown((drift, half): (f64, f64)) -> bool {
    drift.abs() + half > MOST_DRIFT
}

/// Returns `true` if a drift, given with half its interval, is no more than chance, and its
/// interval is narrow enough.
pub fn is_settled(drift: (f64, f64)) -> bool {
    !exceeds_chance(drift) && !is_unknown(drift)
}

/// Returns `true` if a drift, given with half its interval, is more than chance.
pub fn exceeds_chance((drift, half): (f64, f64)) -> bool {
    drift.abs() > half.max(DRIFT_WORTH_SAYING)
}

/// The half width of a 99% interval divided by that of a 95% interval, for the changes of ten pairs
/// of batches.
const NINETY_NINE: f64 = 1.44;

/// Returns `true` if the drift of several runs together is more than chance. Each of these runs
/// ended when its own drift was no more than chance. The function uses a 99% interval: chance alone
/// exceeds it in one of a hundred cases, and a 95% interval in one of twenty.
pub fn exceeds_chance_after_all((drift, half): (f64, f64)) -> bool {
    exceeds_chance((drift, NINETY_NINE * half))
}

/// Returns the drift of write amplification between the first and the second half of the measured
/// part, relative to its mean, with half its 95% interval. `runs` holds the intervals of each run.
pub fn drift(runs: &[Vec<Interval>]) -> Option<(f64, f64)> {
    let halves: Vec<(f64, f64)> = runs
        .iter()
        .flat_map(|intervals| {
            // All runs together give ten pairs of batches or more.
            let pairs = 10usize.div_ceil(runs.len());
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

/// The largest excursion and slope of steady rounds, as shares of the mean, by the Solid State
/// Storage Performance Test Specification 2.0.2, section 2.1.24.
const MOST_EXCURSION: f64 = 0.2;
const MOST_SLOPE: f64 = 0.1;

/// Five equal rounds of the measured part, by SNIA's rule for a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// The largest value less the smallest one, over the mean.
    pub excursion: f64,
    /// The change of the line of least squares from the first round to the last, over the mean.
    pub slope: f64,
}

impl Rounds {
    /// Returns `true` if the excursion is at most 20% and the slope at most 10%.
    pub fn is_steady(&self) -> bool {
        self.excursion <= MOST_EXCURSION && self.slope.abs() <= MOST_SLOPE
    }

    fn of(values: [f64; 5]) -> Option<Self> {
        let centre = mean(&values);
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        // The squares of the distances of rounds 1 to 5 from round 3 sum to 10.
        let slope: f64 = (-2..=2).zip(values).map(|(x, y)| f64::from(x) * y).sum::<f64>() / 10.0;
        (centre > 0.0)
            .then(|| Self { excursion: (most - least) / centre, slope: 4.0 * slope / centre })
    }
}

/// Returns the rounds of the least steady run; `None` if a run has too few intervals for five
/// rounds. `runs` holds the intervals of each run.
pub fn rounds(runs: &[Vec<Interval>]) -> Option<Rounds> {
    let of_run = |intervals: &Vec<Interval>| {
        Rounds::of(<[f64; 5]>::try_from(batch_means(intervals, 5)).ok()?)
    };
    let all: Option<Vec<Rounds>> = runs.iter().map(of_run).collect();
    // The rule is missed if one run misses it.
    let share =
        |rounds: &Rounds| (rounds.excursion / MOST_EXCURSION).max(rounds.slope.abs() / MOST_SLOPE);
    all?.into_iter().max_by(|rounds, other| share(rounds).total_cmp(&share(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_judged_as_snia_does() {
        // By hand: mean 100, range 20.
        let rounds = Rounds::of([92.0, 94.0, 96.0, 106.0, 112.0]).unwrap();
        assert!((rounds.excursion - 0.2).abs() < 1e-12);
        // The slope is (-2 * 92 - 94 + 106 + 2 * 112) / 10 = 5.2 a round, or 20.8 over four rounds.
        assert!((rounds.slope - 0.208).abs() < 1e-12, "{rounds:?}");
        assert!(!rounds.is_steady());
        // A slope of exactly 10% is steady. A larger slope or a larger excursion is not.
        assert!(Rounds::of([95.0, 97.5, 100.0, 102.5, 105.0]).unwrap().is_steady());
        assert!(!Rounds::of([94.9, 97.5, 100.0, 102.5, 105.1]).unwrap().is_steady());
        assert!(!Rounds::of([100.0, 89.9, 100.0, 110.1, 100.0]).unwrap().is_steady());
        assert_eq!(Rounds::of([0.0; 5]), None);
    }

    #[test]
    fn the_least_steady_run_is_the_verdict() {
        let flat = intervals(&[2.0; 10]);
        let rising = intervals(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
        let both = rounds(&[flat.clone(), rising]).unwrap();
        assert!(!both.is_steady());
        assert!(rounds(std::slice::from_ref(&flat)).unwrap().is_steady());
        assert_eq!(rounds(&[flat, intervals(&[2.0; 4])]), None);
    }

    fn intervals(values: &[f64]) -> Vec<Interval> {
        let host_pages = 1_000_000;
        values
            .iter()
            .map(|value| Interval::of_pages(host_pages, (value * 1e6).round() as u64))
            .collect()
    }

    #[test]
    fn half_width_is_students() {
        // The values 1 to 5 have the mean 3 and s = sqrt(2.5). Half the interval is s t(0.975, 4) /
        // sqrt(5), with t = 2.776445 from a table.
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
    fn drift_is_seen_and_noise_is_not() {
        let rising: Vec<f64> = (0..40).map(|i| 2.0 + 0.01 * f64::from(i)).collect();
        let (drift_up, half) = drift(&[intervals(&rising)]).unwrap();
        assert!(drift_up > 0.05 && half < drift_up, "{drift_up} ± {half}");
        let noise: Vec<f64> = (0..40).map(|i| 2.0 + 0.01 * f64::from(i * 7 % 5)).collect();
        let (drift_noise, half) = drift(&[intervals(&noise)]).unwrap();
        assert!(drift_noise.abs() <= half, "{drift_noise} ± {half}");
    }
}
