//! The rule that ends the replays of a trace, and the precision of its amplification then.
//!
//! Every pass of a trace has the same writes, so that amplification pass by pass shows the drive
//! alone: how it settles at first, and how much it varies afterwards. A trace is replayed until
//! amplification has settled. The rate of errors of this rule was measured:
//! `scripts/coverage/steadiness.py`, `docs/validation.md`.

use crate::stats::{half_width95, mean};

/// The number of passes after which the rule first looks whether amplification has settled.
const FIRST_LOOK: u64 = 20;
/// The fewest measured passes that tell whether amplification has settled: those of the first look,
/// without its warm-up.
const FEWEST: usize = 12;
/// The fewest passes for which an interval is computed.
const FEWEST_WITH_INTERVAL: usize = 4;
/// The numbers of batches into which passes are divided. Neighbouring passes may be alike or
/// alternate, so the widest interval over all numbers counts.
pub(crate) const BATCHES: [usize; 3] = [20, 10, 5];
/// The largest half width of an interval that is exact enough, as a share of the mean.
const PRECISION: f64 = 0.01;
/// The error of a mean divided by the drift between its halves, for a transient that falls by a
/// factor of e over the measured passes: (1 + u) / (2 (1 - u)) with u = e^(-1/2). A faster
/// transient has a smaller error.
const TRANSIENT: f64 = 2.04;
/// The share of the mean below which a drift is not worth another pass.
const DRIFT_WORTH_SAYING: f64 = 0.002;
/// The most replays of a trace, unless another number is given.
pub const MOST: u64 = 100;

/// The mean of a figure over passes, and its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The mean.
    pub mean: f64,
    /// Half the 95% interval of the level that the figure settles at: the spread of the passes, and
    /// their drift.
    pub half: f64,
    /// The mean of the second half of the passes minus that of the first.
    pub drift: f64,
    /// Half the 95% interval of the drift: chance does not explain a larger drift.
    pub drift_half: f64,
}

/// The judgement on the level of a run's passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The level has settled, and is known to within 1%.
    Steady,
    /// The level still moves.
    Moves(Level),
    /// The level does not move, but varies too much to be known to within 1%.
    Varies(Level),
    /// There are too few passes to tell.
    TooFew,
}

impl Verdict {
    /// Returns the rank of the verdict: the higher, the further from steady.
    pub fn rank(self) -> u8 {
        match self {
            Self::Steady => 0,
            Self::Varies(_) => 1,
            Self::Moves(_) => 2,
            Self::TooFew => 3,
        }
    }
}

/// Returns the level of a figure over consecutive passes, or `None` for fewer than four.
pub fn level(values: &[f64]) -> Option<Level> {
    if values.len() < FEWEST_WITH_INTERVAL {
        return None;
    }
    let (first, second) = values.split_at(values.len() / 2);
    let (before, after) = (mean(first), mean(second));
    // The variation within each half, so that a drift does not count as spread.
    let own = first.iter().map(|value| value - before);
    let own: Vec<f64> = own.chain(second.iter().map(|value| value - after)).collect();
    let drift = after - before;
    Some(Level {
        mean: mean(values),
        half: spread(values).hypot(TRANSIENT * drift),
        drift,
        // Each half has half of the passes, and the drift is the difference of the two halves. So
        // its spread is twice that of the mean.
        drift_half: 2.0 * spread(&own),
    })
}

/// Returns half the 95% interval of the mean of passes, from their variation. One interval is
/// computed from single passes, and one from each number of batches; the widest counts. It is
/// infinite for fewer than four passes.
pub fn spread(values: &[f64]) -> f64 {
    let counts = std::iter::once(values.len()).chain(BATCHES);
    counts.filter_map(|count| batched(values, count)).reduce(f64::max).unwrap_or(f64::INFINITY)
}

/// Returns half the interval of the mean over `count` batches of consecutive passes, or `None` if
/// there are not enough passes for them. Passes that do not fill a batch are left out at the front.
fn batched(values: &[f64], count: usize) -> Option<f64> {
    let size = values.len().checked_div(count).filter(|&size| size > 0)?;
    let batches: Vec<f64> = values[values.len() % size..].chunks_exact(size).map(mean).collect();
    (batches.len() >= FEWEST_WITH_INTERVAL).then(|| half_width95(&batches))
}

/// Returns the judgement of a run's measured passes on its amplification.
pub fn verdict(values: &[f64]) -> Verdict {
    let Some(level) = level(values).filter(|_| values.len() >= FEWEST) else {
        return Verdict::TooFew;
    };
    if level.drift.abs() > level.drift_half.max(DRIFT_WORTH_SAYING * level.mean) {
        Verdict::Moves(level)
    } else if level.half > PRECISION * level.mean {
        Verdict::Varies(level)
    } else {
        Verdict::Steady
    }
}

/// The rule by which a trace is replayed until its amplification has settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The share of the passes that is warm-up.
    pub warmup: f64,
    /// The fewest passes, chosen so that the warm-up writes the drive once.
    pub fewest: u64,
    /// The most passes.
    pub most: u64,
}

impl Rule {
    /// The number of passes that most runs take: the number at the second look.
    pub const USUAL: u64 = FIRST_LOOK + FIRST_LOOK / 4;

    /// Returns how many of `passes` passes are warm-up: whole ones, and never all.
    pub fn warmup_of(&self, passes: usize) -> usize {
        ((passes as f64 * self.warmup).ceil() as usize).min(passes.saturating_sub(1))
    }

    /// Returns the numbers of passes at the looks at a run. Each number is a quarter above the
    /// number before.
    fn looks(&self) -> impl Iterator<Item = u64> {
        let first = FIRST_LOOK.max(self.fewest);
        let most = self.most;
        std::iter::successors(Some(first), |&look| Some(look + look.div_ceil(4)))
            .take_while(move |&look| look < most)
    }

    /// Returns `true` if the figures were settled at the look before and are settled at this one:
    /// chance alone makes one look calm more easily than two.
    pub fn has_settled(&self, values: &[f64]) -> bool {
        let steady = |passes: u64| {
            let values = &values[..passes as usize];
            verdict(&values[self.warmup_of(values.len())..]) == Verdict::Steady
        };
        let passes = values.len() as u64;
        let before = self.looks().take_while(|&look| look < passes).last();
        before.is_some_and(|before| steady(before) && steady(passes))
    }

    /// Returns `true` if a run whose passes had the figures `values` needs another pass.
    pub fn goes_on(&self, values: &[f64]) -> bool {
        let passes = values.len() as u64;
        let looked_at = self.looks().any(|look| look == passes);
        passes < self.most && !(looked_at && self.has_settled(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { warmup: 1.0 / 3.0, fewest: 0, most: MOST };

    /// Returns the number of passes until the rule ends the run; `figure` gives the figure of each
    /// pass.
    fn passes(rule: Rule, figure: impl Fn(usize) -> f64) -> usize {
        let mut values = vec![figure(0)];
        while rule.goes_on(&values) {
            values.push(figure(values.len()));
        }
        values.len()
    }

    #[test]
    fn looks_are_a_quarter_apart() {
        assert_eq!(RULE.looks().collect::<Vec<_>>(), [20, 25, 32, 40, 50, 63, 79, 99]);
        let long = Rule { fewest: 70, ..RULE };
        assert_eq!(long.looks().collect::<Vec<_>>(), [70, 88]);
        assert_eq!((RULE.warmup_of(20), RULE.warmup_of(1), RULE.warmup_of(2)), (7, 0, 1));
    }

    #[test]
    fn what_repeats_is_settled_at_the_second_look() {
        assert_eq!(passes(RULE, |_| 2.0), 25);
        assert_eq!(passes(Rule { fewest: 60, ..RULE }, |_| 2.0), 75);
        // A transient of a few passes is warm-up.
        assert_eq!(passes(RULE, |pass| 2.0 + 3.0 * (-(pass as f64)).exp()), 25);
        // The passes alternate between two values, 1% apart.
        assert_eq!(passes(RULE, |pass| 2.0 + 0.02 * (pass % 2) as f64), 25);
    }

    #[test]
    fn one_calm_look_is_not_enough() {
        // The first look measures passes 7 and 8, which belong to the transient. The second and the
        // third look measure none of it.
        assert_eq!(passes(RULE, |pass| if pass < 9 { 4.0 } else { 2.0 }), 32);
    }

    #[test]
    fn what_moves_or_varies_is_replayed_to_the_end() {
        // The values rise by 10% in a hundred passes.
        assert_eq!(passes(RULE, |pass| 2.0 + 0.002 * pass as f64), 100);
        let rising: Vec<f64> = (0..30).map(|pass| 2.0 + 0.002 * f64::from(pass)).collect();
        assert!(matches!(verdict(&rising), Verdict::Moves(_)));
        // Values of 2 and 4, in an order that has no period which fits the batches.
        let wild: Vec<f64> =
            (0..60).map(|pass| if pass * pass % 7 < 3 { 2.0 } else { 4.0 }).collect();
        assert!(matches!(verdict(&wild), Verdict::Varies(_)), "{:?}", verdict(&wild));
        assert_eq!(verdict(&[2.0; 11]), Verdict::TooFew);
        assert_eq!(verdict(&[2.0; 12]), Verdict::Steady);
    }

    #[test]
    fn the_allowance_covers_transients_as_long_as_what_is_measured() {
        for passes in [12.0, 24.0, 60.0] {
            let figure = |pass: u32| 2.0 + (-f64::from(pass) / passes).exp();
            let values: Vec<f64> = (0..passes as u32).map(figure).collect();
            let drift = level(&values).unwrap().drift;
            let off = mean(&values) - 2.0;
            assert!((off / drift.abs() / TRANSIENT - 1.0).abs() < 0.01, "{off} {drift}");
        }
        let figure = |pass: u32| 2.0 + (-f64::from(pass) / 6.0).exp();
        let values: Vec<f64> = (0..24).map(figure).collect();
        let fit = level(&values).unwrap();
        assert!(mean(&values) - 2.0 < 0.5 * TRANSIENT * fit.drift.abs());
    }

    #[test]
    fn a_level_has_the_widest_interval_of_all_batches_and_its_drift() {
        assert_eq!(level(&[1.0, 2.0, 3.0]), None);
        // By hand: the four passes have s = 1.1547 and t(3) = 3.1824, so half the interval is
        // 1.8374. The means of the two halves are 2 apart, and neither half varies.
        let fit = level(&[1.0, 1.0, 3.0, 3.0]).unwrap();
        assert_eq!((fit.mean, fit.drift, fit.drift_half), (2.0, 2.0, 0.0));
        assert!((fit.half - 1.8374f64.hypot(2.04 * 2.0)).abs() < 1e-3, "{fit:?}");
        // The same four passes in an order without drift.
        let fit = level(&[1.0, 3.0, 1.0, 3.0]).unwrap();
        assert_eq!((fit.drift, fit.half), (0.0, fit.drift_half / 2.0));
        assert!((fit.half - 1.8374).abs() < 1e-3, "{fit:?}");
        // Ten passes are alike, and so are the ten others. The interval of 20 batches is narrow,
        // that of 5 is wide.
        let two: Vec<f64> =
            (0..20).map(|pass| if (5..15).contains(&pass) { 2.0 } else { 1.0 }).collect();
        let fit = level(&two).unwrap();
        let of_five = batched(&two, 5).unwrap();
        assert!(of_five > batched(&two, 20).unwrap() && fit.drift.abs() < 1e-12);
        assert!((fit.half - of_five).abs() < 1e-12, "{fit:?}");
    }
}
