//! The number of hot pages in a block of copies.
//!
//! The internal frontier takes the valid pages of one victim after the other, in their order, until
//! b pages are there; the victim that does not fit is cut. A block of copies is therefore b
//! consecutive pages of the stream of victims, starting at a random place of it: the rest of a
//! victim chosen in proportion to its pages, whole victims, and the front of a last one.
//!
//! Cutting a victim separates its front from its back, and in a block that was itself put together
//! from victims these differ: one holds more hot pages than the other. A block of copies is taken
//! to be either shuffled, with its hot pages anywhere, or sorted, with all of them in front or all
//! of them behind. Omega, the share that is sorted, is chosen so that the variance of the hot pages
//! in the front half is right for a given number in the block. A block keeps its kind as it loses
//! pages. With omega = 0 this would be the model of a drive that copies in random order.

use super::levels::{Levels, at};
use super::succession::Succession;

/// The stream of copied pages.
pub(super) struct Stream {
    b: usize,
    succession: Succession,
    /// For each level that matters, P(k of the first n valid pages are hot), at n * (i + 1) + k.
    front: Vec<Vec<f64>>,
}

/// A state of the frontier does not matter if its chance is below this.
const RARE: f64 = 1e-16;

impl Stream {
    /// The stream of copied pages. `copied` are the victims among blocks of copies. The share
    /// `sorted` of these blocks is sorted.
    pub(super) fn new(
        levels: &Levels,
        succession: Succession,
        copied: &[f64],
        sorted: f64,
    ) -> Self {
        let front = succession.levels.iter().zip(&succession.chance).map(|(&i, &chance)| {
            let hot = &levels.victim[at(i, 0)..=at(i, i)];
            let copied = &copied[at(i, 0)..=at(i, i)];
            front(
                i,
                hot.iter().zip(copied).map(|(all, copied)| {
                    let sorted = (sorted * copied).min(*all);
                    ((all - sorted) / chance, sorted / chance)
                }),
            )
        });
        Self { b: levels.b, front: front.collect(), succession }
    }

    /// The chance that `length` consecutive pages have k hot ones, k = 0..length.
    pub(super) fn hot(&self, length: usize) -> Vec<f64> {
        let mut hot = vec![0.0; length + 1];
        let Succession { levels, chance, dependence } = &self.succession;
        let count = levels.len();
        let states = if dependence.is_some() { count } else { 1 };
        // Chance that a victim ends after n pages with k hot ones, by the last victim's level.
        let mut ends = vec![0.0; length * (length + 1) * states];
        let cell = |n: usize, k: usize| (n * (length + 1) + k) * states;
        let pages: f64 = levels.iter().zip(chance).map(|(&i, p)| i as f64 * p).sum();
        for (l, (&i, p)) in levels.iter().zip(chance).enumerate() {
            for n in 1..=i {
                let front = &self.front[l][n.min(length) * (i + 1)..][..=n.min(length)];
                for (k, share) in front.iter().enumerate() {
                    let share = share * p / pages;
                    if n >= length {
                        hot[k] += share;
                    } else {
                        ends[cell(n, k) + l % states] += share;
                    }
                }
            }
        }
        let mut next = vec![0.0; count];
        for n in 1..length {
            for k in 0..=n {
                let here = &ends[cell(n, k)..][..states];
                let share: f64 = here.iter().sum();
                if share < RARE {
                    continue;
                }
                self.succession.step(here, &mut next);
                for (l, (&i, &share)) in levels.iter().zip(&next).enumerate() {
                    let fits = i.min(length - n);
                    let front = &self.front[l][fits * (i + 1)..][..=fits];
                    for (more, p) in front.iter().enumerate() {
                        if n + i >= length {
                            hot[k + more] += share * p;
                        } else {
                            ends[cell(n + i, k + more) + l % states] += share * p;
                        }
                    }
                }
            }
        }
        let total: f64 = hot.iter().sum();
        hot.iter_mut().for_each(|share| *share /= total);
        hot
    }

    /// The share of blocks of copies that is sorted, where `block` is the result of [`Stream::hot`]
    /// for b pages.
    pub(super) fn sorted(&self, block: &[f64]) -> f64 {
        let (b, front) = (self.b, self.b / 2);
        if front == 0 {
            return 0.0;
        }
        let share = front as f64 / b as f64;
        // The variance of the hot pages in front that is not explained by the hot pages of the
        // block.
        let surplus = variance(&self.hot(front)) - share * share * variance(block);
        let (mut shuffled, mut sorted) = (0.0, 0.0);
        for (k, p) in block.iter().enumerate() {
            let (hot, cold) = (k as f64, (b - k) as f64);
            shuffled += p * hot * cold / (b as f64 * (b as f64 - 1.0));
            let apart = k.min(front) - (k + front).saturating_sub(b);
            sorted += p * (apart as f64 / 2.0).powi(2);
        }
        shuffled *= share * (b - front) as f64;
        if sorted > shuffled {
            ((surplus - shuffled) / (sorted - shuffled)).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// P(k of the first n valid pages are hot), at n * (i + 1) + k, where `shares` gives the chances of
/// h hot pages among i in blocks that are shuffled and in blocks that are sorted.
fn front(i: usize, shares: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let width = i + 1;
    let mut front = vec![0.0; width * width];
    let mut sorted = vec![0.0; width];
    for (h, (shuffled, in_order)) in shares.enumerate() {
        front[i * width + h] = shuffled;
        sorted[h] = in_order;
    }
    // From n pages to n - 1: the page that is left out is any of the n pages, of which k are hot.
    for n in (1..=i).rev() {
        let (shorter, longer) = front.split_at_mut(n * width);
        let shorter = &mut shorter[(n - 1) * width..];
        for (k, share) in longer[..=n].iter().enumerate() {
            let hot = k as f64 / n as f64;
            if k < n {
                shorter[k] += share * (1.0 - hot);
            }
            if k > 0 {
                shorter[k - 1] += share * hot;
            }
        }
    }
    for n in 0..=i {
        for (h, share) in sorted.iter().enumerate() {
            front[n * width + n.min(h)] += 0.5 * share;
            front[n * width + (n + h).saturating_sub(i)] += 0.5 * share;
        }
    }
    front
}

fn variance(chances: &[f64]) -> f64 {
    let mean: f64 = chances.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
    chances.iter().enumerate().map(|(k, p)| (k as f64 - mean).powi(2) * p).sum()
}
