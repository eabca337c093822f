//! The level that write amplification settles at under a workload without end, and the rule that
//! ends its runs.
//!
//! The length of a run doubles until its second half, which is measured, agrees with the quarter
//! before it. Its rate of errors was measured for every policy: `make coverage`, `docs/steady.md`.

use crate::passes::BATCHES;
use crate::stats::{Interval, batch_means, exceeds_chance, half_width95, halves, mean};
use flashgc_ftl::placement::Remembers;

/// The largest half width of an interval that is exact enough, as a share of the mean.
pub const PRECISION: f64 = 0.01;
/// The least number of times that a cold page must be written in the measured part. Fewer than one
/// page in fifty then lies where it lay before. A placement that remembers more needs more.
pub const FEWEST_REWRITES: f64 = 4.0;
/// The drive writes at the first look at a run, where the shortest run ends. There are twice as
/// many at each further look.
pub const FIRST_LOOK: u64 = 20;
/// The number of drive writes at the first look at the writes before a measured part. It doubles at
/// each later look.
pub(crate) const FIRST_LOOK_BEFORE: u64 = 5;
/// The most drive writes, unless another number is given.
pub const MOST: u64 = 640;

/// The level of a figure, and its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettlingLevel {
    /// The mean over the measured part.
    pub mean: f64,
    /// Half the 95% interval of the mean, by the spread of the batches.
    pub spread: f64,
    /// The rest of the transient: the distance from the mean to the final level, estimated from the
    /// writes before.
    pub left: f64,
    /// Half the 95% interval that `left` has by chance alone, if nothing is left of the transient.
    pub chance: f64,
}

impl SettlingLevel {
    /// Returns half the 95% interval of the level that the figure settles at.
    pub fn half(&self) -> f64 {
        self.spread.hypot(self.left)
    }

    /// Returns `true` if more of the transient is left than chance explains.
    pub fn moves(&self) -> bool {
        exceeds_chance((self.left / self.mean, self.chance / self.mean))
    }
}

/// Returns half the 95% interval of the mean over intervals of equal length. One such interval is
/// computed for each number of batches, and the widest counts. It is infinite for fewer than four
/// intervals.
pub fn spread(intervals: &[Interval]) -> f64 {
    let counts = BATCHES.iter().filter(|&&count| count <= intervals.len());
    let widths = counts.map(|&count| half_width95(&batch_means(intervals, count)));
    let few = || half_width95(&batch_means(intervals, intervals.len().max(1)));
    match widths.reduce(f64::max) {
        Some(width) => width,
        None if intervals.len() >= 4 => few(),
        None => f64::INFINITY,
    }
}

/// Returns the level of write amplification over `measured`, with the intervals `before` it from
/// the run's first write; `None` without writes.
///
/// The reference is the mean over the second half of the writes before. With a transient that falls
/// as 1/t, the distance of the measured mean from the final level is a known multiple of its
/// distance from the reference. With a faster transient it is less.
pub fn level(before: &[Interval], measured: &[Interval]) -> Option<SettlingLevel> {
    let mean = Interval::amplification(measured);
    if !mean.is_finite() {
        return None;
    }
    let spread = spread(measured);
    let written =
        |intervals: &[Interval]| intervals.iter().map(|interval| interval.host_pages).sum::<u64>();
    let (start, length) = (written(before), written(measured));
    let (_, reference) = halves(before);
    let level = Interval::amplification(reference);
    let (left, chance) = if level.is_finite() {
        let share = start as f64 / (start + length) as f64;
        let factor = off(share);
        let chance = factor * spread.hypot(self::spread(reference));
        (factor * (mean - level), chance)
    } else {
        // There were no writes before, so the halves show how the transient falls. If it falls by a
        // factor of e over the measured part, the mean is off by 2.04 times their distance. If it
        // falls faster, the mean is off by less.
        let (first, second) = measured.split_at(measured.len() / 2);
        let drift = Interval::amplification(second) - Interval::amplification(first);
        (2.04 * drift, 2.04 * self::spread(first).hypot(self::spread(second)))
    };
    let left = if left.is_finite() { left } else { 0.0 };
    Some(SettlingLevel { mean, spread, left, chance })
}

/// Returns the distance of the measured mean from the final level, as a multiple of its distance
/// from the mean of the reference. The transient falls as 1/t. `share` of the run is before the
/// measured part, and its second half is the reference.
fn off(share: f64) -> f64 {
    let measured = -share.ln() / (1.0 - share);
    let reference = 2f64.ln() / (share / 2.0);
    measured / (reference - measured)
}

/// The size that a measured part needs to show a steady state: the state before it must not count
/// any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The number of times that a cold page is written in the measured part.
    pub rewrites: f64,
    /// The page writes of the measured part.
    pub writes: u64,
}

impl Reach {
    /// The reach that every measured part has.
    pub const NONE: Self = Self { rewrites: 0.0, writes: 0 };

    /// Returns the reach that shows a steady state of a drive whose policies remember `remembers`.
    pub fn beyond(remembers: Remembers) -> Self {
        Self { rewrites: FEWEST_REWRITES.max(remembers.rewrites as f64), writes: remembers.writes }
    }

    /// Returns `true` if a measured part of `writes` page writes, in which a cold page was written
    /// `rewrites` times, has this reach. `rewrites` is `None` if it was not counted, or if no page
    /// was written before.
    pub fn is_within(&self, writes: u64, rewrites: Option<f64>) -> bool {
        rewrites.is_none_or(|times| times >= self.rewrites) && writes >= self.writes
    }

    /// Returns the page writes of a run whose second half has this reach, judged by the `rewrites`
    /// in a measured part of `writes` page writes.
    pub fn run_needed(&self, writes: u64, rewrites: Option<f64>) -> u64 {
        let times = rewrites.map_or(1.0, |done| self.rewrites / done.max(1e-3));
        let pages = (2.0 * writes as f64 * times.max(1.0)).ceil() as u64;
        pages.max(self.writes.saturating_mul(2))
    }
}

/// The rule by which a run is doubled until write amplification has settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubling {
    /// The page writes until the first look, of which the second half is measured.
    pub first: u64,
    /// The most page writes.
    pub most: u64,
    /// The largest half width of the interval that is exact enough, as a share of the mean.
    pub precision: f64,
    /// The reach of the measured part.
    pub reach: Reach,
}

/// Returns the number of page writes at look number `look`. Look 1 is after `first` page writes,
/// and each later look is after twice as many as the look before.
pub(crate) fn writes_at(first: u64, look: u32) -> u64 {
    first.saturating_mul(1 << look.saturating_sub(1).min(63))
}

impl Doubling {
    /// Returns the number of page writes of a run at look number `looks`, from 1.
    pub fn until(&self, looks: u32) -> u64 {
        writes_at(self.first, looks)
    }

    /// Returns `true` if a run of `written` page writes must be doubled. The run does not wait for
    /// a reach that needs more than the most page writes. `moves`: the halves of the measured part
    /// differ.
    pub fn goes_on(
        &self,
        written: u64,
        level: Option<SettlingLevel>,
        rewrites: Option<f64>,
        moves: bool,
    ) -> bool {
        let Some(level) = level.filter(|_| written.saturating_mul(2) <= self.most) else {
            return false;
        };
        // A placement may remember more than any run shows. Even then its pages must be written
        // again.
        let pages = Reach { rewrites: FEWEST_REWRITES.min(self.reach.rewrites), writes: 0 };
        let is_short = [self.reach, pages].iter().any(|reach| {
            let needed = reach.run_needed(written / 2, rewrites);
            !reach.is_within(written / 2, rewrites) && needed <= self.most
        });
        moves || is_short || level.moves() || level.half() > self.precision * level.mean
    }
}

/// Returns the mean of [`SettlingLevel::left`] over several runs.
pub fn left_of_all(levels: &[SettlingLevel]) -> f64 {
    mean(&levels.iter().map(|level| level.left).collect::<Vec<_>>())
}

/// Returns half the 95% interval of [`left_of_all`] if nothing is left of the transients, so that
/// only chance moves it.
pub fn chance_of_all(levels: &[SettlingLevel]) -> f64 {
    mean(&levels.iter().map(|level| level.chance).collect::<Vec<_>>())
        / (levels.len() as f64).sqrt()
}

/// Returns the largest possible rest of the transients of several runs: the visible rest or, if
/// that is larger, the rest that chance may hide.
pub fn most_left_of_all(levels: &[SettlingLevel]) -> f64 {
    let (shown, hidden) = (left_of_all(levels).abs(), chance_of_all(levels));
    if hidden.is_finite() { shown.max(hidden) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_hides_what_is_left_of_a_transient() {
        let level = |left, chance| SettlingLevel { mean: 2.0, spread: 0.01, left, chance };
        assert_eq!(most_left_of_all(&[level(0.03, 0.02)]), 0.03);
        assert_eq!(most_left_of_all(&[level(0.03, 0.05), level(-0.03, 0.05)]), 0.05 / 2f64.sqrt());
        assert_eq!(most_left_of_all(&[level(-0.03, f64::INFINITY)]), 0.03);
    }

    /// Returns `count` intervals with an equal number of page writes.
    fn intervals(count: u32, value: impl Fn(u32) -> f64) -> Vec<Interval> {
        let of = |at| Interval::of_pages(1_000_000, (value(at) * 1e6).round() as u64);
        (0..count).map(of).collect()
    }

    #[test]
    fn a_transient_that_falls_as_1_over_t_is_left_whole() {
        // The mean of 1/t from a to b is ln(b / a) / (b - a).
        for before in [240, 120, 60] {
            let all =
                intervals(360, |at| 2.0 + 30.0 * (f64::from(at + 1) / f64::from(at.max(1))).ln());
            let (start, measured) = all.split_at(before);
            let fit = level(start, measured).unwrap();
            assert!((fit.left / (2.0 - fit.mean) - 1.0).abs() < 0.03, "{before}: {fit:?}");
            assert!(fit.moves());
        }
        // By hand, with half of the run before the measured part: the mean there is ln 2 / (1/2) =
        // 1.386 above the level. The mean of the reference is ln 2 / (1/4) = 2.772 above it, which
        // is 1.386 more.
        assert!((off(0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_faster_transient_is_left_more_than_whole() {
        let all = intervals(240, |at| 2.0 + (-f64::from(at) / 50.0).exp());
        let fit = level(&all[..120], &all[120..]).unwrap();
        assert!(fit.left < 2.0 - fit.mean, "{fit:?}");
    }

    #[test]
    fn the_spread_is_that_of_the_widest_batches() {
        // Five constant parts: five batches show their spread, single intervals do not.
        let values = [1.0, 3.0, 2.0, 3.0, 1.0];
        let parts = intervals(100, |at| values[at as usize / 20]);
        // Mean 2, s = 1, t(4) = 2.776: half the interval is 2.776 / sqrt(5) = 1.2414.
        assert!((spread(&parts) - 2.776_445 / 5f64.sqrt()).abs() < 1e-5);
        assert_eq!(spread(&parts[..3]), f64::INFINITY);
        assert_eq!(spread(&intervals(4, |_| 2.0)), 0.0);
    }

    #[test]
    fn without_writes_before_the_halves_tell() {
        let fit = level(&[], &intervals(120, |at| if at < 60 { 2.0 } else { 2.1 })).unwrap();
        assert!((fit.left - 0.204).abs() < 1e-9 && fit.moves());
        assert_eq!(level(&[], &[]), None);
    }

    #[test]
    fn a_run_is_doubled_until_it_is_settled_precise_and_all_pages_are_written_again() {
        let reach = Reach { rewrites: 4.0, writes: 0 };
        let rule = Doubling { first: 100, most: 6400, precision: 0.01, reach };
        assert_eq!((rule.until(1), rule.until(2), rule.until(4)), (100, 200, 800));
        let calm = SettlingLevel { mean: 2.0, spread: 0.01, left: 0.0, chance: 0.01 };
        let goes_on = |level, rewrites| rule.goes_on(100, Some(level), Some(rewrites), false);
        assert!(!goes_on(calm, 4.0));
        assert!(goes_on(calm, 3.9));
        assert!(goes_on(SettlingLevel { left: 0.02, ..calm }, 4.0));
        assert!(!goes_on(SettlingLevel { left: 0.01, ..calm }, 4.0));
        assert!(goes_on(SettlingLevel { spread: 0.021, chance: 0.1, ..calm }, 4.0));
        // If 50 page writes are a twentieth of a rewrite, a run needs 8000. That is beyond the
        // most, and the run does not wait for it.
        assert_eq!(reach.run_needed(50, Some(0.05)), 8000);
        assert!(!goes_on(calm, 0.05));
        assert!(!rule.goes_on(6400, Some(calm), Some(4.0), true), "it has an end");
        assert!(!rule.goes_on(100, None, None, true));
        // For a placement that remembers more than any run can show, it is enough that the pages
        // are written again.
        let long = Doubling { reach: Reach { rewrites: 1e5, ..reach }, ..rule };
        assert!(
            long.goes_on(100, Some(calm), Some(3.9), false)
                && !long.goes_on(100, Some(calm), Some(4.0), false)
        );
        // The past that a placement remembers must fit into the measured part.
        let of = |writes| Doubling { reach: Reach { writes, ..reach }, ..rule };
        assert!(of(51).goes_on(100, Some(calm), Some(4.0), false));
        assert!(!of(50).goes_on(100, Some(calm), Some(4.0), false));
    }
}
