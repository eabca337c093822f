//! The level of the next victim after a victim of level i.
//!
//! Without memory victims are independent. With memory they are not: a draw that turns up several
//! good blocks leaves some of them to the next collections. Let v and v' be the levels of
//! successive victims, g_j and s_j the stored and drawn blocks with at most j valid pages, N_j =
//! P(s_j = 0) = (1 - q_j)^d and A_j = P(v > j) = N_j P(g_j = 0). The next victim lies above j if no
//! block of the next draw is at or below j, and of the c + d blocks of this collection at most one
//! was: the victim itself.
//!
//! ```text
//! P(v > i, v' > j) = A_i N_j                                                         i >= j
//! P(v > i, v' > j) = N_j (A_j + P(g_j = 0) P(s_j = 1, s_i = 0) + P(g_j = 1, g_i = 0) N_j)   i <= j
//! ```
//!
//! This uses P(s_j = 1, s_i = 0) = d (q_j - q_i) N_j / (1 - q_j) and
//! P(g_j = 1, g_i = 0) = P(g_j = 1) (1 - M_i / M_j). Here M_j is the chance that a memory of
//! one block holds a block at or below j. The formula is exact for c = 1. For larger c it assumes that the last stored block is
//! distributed as for c = 1. Differences give the chances themselves without a table:
//!
//! ```text
//! P(v = i, v' = j) = P(v = i) (N_(j-1) - N_j)                                       j < i
//! P(v = i, v' = j) = m_i (B_(j-1) - B_j) + (M_i - M_(i-1)) (K_(j-1) - K_j)           j > i
//! B_j = d N_j^2 P(g_j = 0) / (1 - q_j),   K_j = N_j^2 P(g_j = 1) / M_j
//! ```
//!
//! A victim with fewer valid pages than the one before was not among the blocks of that collection:
//! it has just been drawn.

use super::levels::Levels;
use crate::meanfield::selection::{Selection, Taken};

/// The levels of successive victims that have valid pages at all.
pub(super) struct Succession {
    /// Levels that matter, in rising order, none of them 0.
    pub(super) levels: Vec<usize>,
    /// Chance of each of these levels.
    pub(super) chance: Vec<f64>,
    /// The dependence of the next level on the last; only with memory.
    pub(super) dependence: Option<Dependence>,
}

/// A level does not matter if its chance, given that a victim has valid pages, is below this.
const RARE: f64 = 1e-13;
/// A chance of a level that is below this may be nothing but the rounding of a difference.
const ROUNDING: f64 = 1e-15;

impl Succession {
    pub(super) fn new(levels: &Levels, selection: &Selection) -> Self {
        let chances = levels.victim_levels();
        let rare = ROUNDING.max(RARE * chances[1..].iter().sum::<f64>());
        let matter: Vec<usize> = (1..=levels.b).filter(|&i| chances[i] > rare).collect();
        let chance = matter.iter().map(|&i| chances[i]).collect();
        let dependence = match *selection {
            Selection::DChoices { d, c: c @ 1.. } => {
                Some(Dependence::new(levels, &matter, &chances, d, c))
            }
            _ => None,
        };
        Self { levels: matter, chance, dependence }
    }

    /// Fills `next` with the chances of the levels of the next victim with valid pages, computed
    /// from `last`, the chances for the victim with valid pages before it. Both lists have an entry
    /// for each level that matters, and the same sum.
    pub(super) fn step(&self, last: &[f64], next: &mut [f64]) {
        let total: f64 = last.iter().sum();
        let mut sum = 0.0;
        if let Some(dependence) = &self.dependence {
            dependence.step(last, next);
            sum = next.iter().sum();
        }
        // Victims also count as independent if those with valid pages are so rare that rounding
        // leaves none.
        if sum <= 0.0 {
            next.copy_from_slice(&self.chance);
            sum = self.chance.iter().sum();
        }
        // Levels that do not matter are left out, and the others share their chances.
        next.iter_mut().for_each(|next| *next *= total / sum);
    }
}

/// Chances of the next victim's level given the level of the last victim. Index 0 stands for empty
/// victims, which add no copies and are passed over. The indices from 1 on stand for the levels
/// that matter.
pub(super) struct Dependence {
    /// The chance of a level below the last one.
    drawn: Vec<f64>,
    /// The chance of the same level.
    same: Vec<f64>,
    /// The two factors of the last level in the chance of a level above it. That chance is the sum
    /// of two products, each of a factor in `from` and a factor in `to`.
    from: [Vec<f64>; 2],
    /// The two factors of the next level in the chance of a level above the last one.
    to: [Vec<f64>; 2],
}

impl Dependence {
    fn new(levels: &Levels, matter: &[usize], chances: &[f64], d: u32, c: u32) -> Self {
        let q = &levels.q;
        let d_f = f64::from(d);
        let mut of_one = Taken::new(d, 1);
        let mut of_all = Taken::new(d, c);
        let one: Vec<f64> = q.iter().map(|&q| of_one.in_memory(q)).collect();
        let stored: Vec<(f64, f64)> = q.iter().map(|&q| of_all.none_and_one_stored(q)).collect();
        let none: Vec<f64> = q.iter().map(|&q| (d_f * (-q).ln_1p()).exp()).collect();
        let above: Vec<f64> = none.iter().zip(&stored).map(|(none, g)| none * g.0).collect();
        let ratio = |x: f64, y: f64| if y > 0.0 { x / y } else { 0.0 };
        let b: Vec<f64> =
            (0..q.len()).map(|j| d_f * none[j] * ratio(above[j], 1.0 - q[j])).collect();
        let k: Vec<f64> =
            (0..q.len()).map(|j| none[j] * none[j] * ratio(stored[j].1, one[j])).collect();
        // The value at the level below i; `first` at the level below 0.
        let below =
            |values: &[f64], first: f64, i: usize| i.checked_sub(1).map_or(first, |i| values[i]);
        let all: Vec<usize> = std::iter::once(0).chain(matter.iter().copied()).collect();
        let column =
            |value: &dyn Fn(usize) -> f64| all.iter().map(|&i| value(i)).collect::<Vec<_>>();
        // For i = j, `upper` is the second formula for (i - 1, i).
        let same = |i: usize| {
            let (q_low, one_low) = (below(q, 0.0, i), below(&one, 0.0, i));
            let upper = none[i] * above[i] + b[i] * (q[i] - q_low) + k[i] * (one[i] - one_low);
            let (above_low, none_low) = (below(&above, 1.0, i), below(&none, 1.0, i));
            ratio(
                above_low * none_low - above[i] * none_low - upper + above[i] * none[i],
                chances[i],
            )
        };
        Self {
            drawn: column(&|j| below(&none, 1.0, j) - none[j]),
            same: column(&|i| same(i).max(0.0)),
            from: [
                column(&|i| ratio(q[i] - below(q, 0.0, i), chances[i])),
                column(&|i| ratio(one[i] - below(&one, 0.0, i), chances[i])),
            ],
            // Level 0 is above no other level, so its entries in `to` do not matter.
            to: [
                column(&|j| (below(&b, 0.0, j) - b[j]).max(0.0)),
                column(&|j| (below(&k, 0.0, j) - k[j]).max(0.0)),
            ],
        }
    }

    /// Fills `next` as [`Succession::step`] does, but leaves out the steps to levels that do not
    /// matter.
    fn step(&self, last: &[f64], next: &mut [f64]) {
        let total: f64 = last.iter().sum();
        let (mut at_or_below, mut first, mut second) = (0.0, 0.0, 0.0);
        for (at, (last, next)) in last.iter().zip(next.iter_mut()).enumerate() {
            let at = at + 1;
            at_or_below += last;
            *next = (total - at_or_below) * self.drawn[at]
                + last * self.same[at]
                + first * self.to[0][at]
                + second * self.to[1][at];
            first += last * self.from[0][at];
            second += last * self.from[1][at];
        }
        // Empty victims follow each other until one has valid pages.
        let leave = 1.0 - self.same[0];
        if leave > 0.0 {
            let empty = total * self.drawn[0] / leave;
            for (at, next) in next.iter_mut().enumerate() {
                let at = at + 1;
                *next +=
                    empty * (self.from[0][0] * self.to[0][at] + self.from[1][0] * self.to[1][at]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of a drive near its steady state.
    fn levels(selection: &Selection) -> Levels {
        let mut levels = Levels::new(16, selection);
        levels.fall((0.9, 0.1), &crate::meanfield::binomial(16, 0.4)).unwrap();
        levels
    }

    #[test]
    fn one_victim_after_the_other_is_distributed_like_the_one_before() {
        // The chances of pairs must have the right margins, whatever the model assumes for more
        // memory.
        for c in [0, 1, 2, 5, 40] {
            let selection = Selection::d_choices(5, c).unwrap();
            let succession = Succession::new(&levels(&selection), &selection);
            let mut next = vec![0.0; succession.levels.len()];
            succession.step(&succession.chance, &mut next);
            let most = next.iter().zip(&succession.chance).map(|(next, p)| (next - p).abs());
            let most = most.fold(0.0, f64::max);
            assert!(most < 1e-12, "c={c}: {most:e}");
        }
    }
}
