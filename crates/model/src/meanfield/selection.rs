//! The choice of a collection's block, as the mean field sees it: by the count of valid pages
//! alone.
//!
//! Let q be the share of blocks with at most i valid pages. The chance that a collection takes one
//! of them is a function H of q and of nothing else:
//!
//! - d random blocks: H(q) = 1 - (1 - q)^d.
//! - d random blocks and c stored ones: H(q) = 1 - (1 - q)^d theta(q). Here theta is the chance
//!   that all stored blocks have more than i valid pages: the number g of stored ones with at most
//!   i is a Markov chain on 0..c with g' = min(c, max(g + s - 1, 0)), s binomial(d, q), and theta is
//!   its stationary chance of 0 (Van Houdt 2013, section 3.2, where the state is c - g).
//! - greedy: H(q) = 1 for q > 0.
//!
//! The chain moves down by one at most, so its cuts are balanced by single terms and its stationary
//! distribution follows from sums of positive numbers: H and 1 - theta keep all their digits
//! however small q is.

use crate::ModelError;

/// The most random blocks that a collection may draw.
pub const MOST_CHOICES: u32 = 10_000;
/// The most blocks that the memory may store.
pub const MOST_STORED: u32 = 1_000;

/// The choice of greedy among the blocks that it could take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Any of them: the limit of d choices for infinite d.
    Random,
    /// The block that lost a page last.
    Latest,
}

/// A victim policy that looks at nothing but valid pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The best of `d` random blocks and of `c` stored blocks. The `c` next best of these blocks
    /// are stored.
    DChoices {
        /// Blocks drawn a collection.
        d: u32,
        /// Blocks stored.
        c: u32,
    },
    /// A block with the fewest valid pages.
    Greedy {
        /// The choice among equals. If all pages are alike, the choice makes no difference.
        ties: Ties,
    },
}

impl Selection {
    /// d choices with memory.
    ///
    /// # Errors
    /// d outside 1 to [`MOST_CHOICES`], c above [`MOST_STORED`], and d = 1 with memory. With d = 1
    /// and memory, a collection takes the drawn block or a stored one, and the stored blocks never
    /// settle.
    pub fn d_choices(d: u32, c: u32) -> Result<Self, ModelError> {
        if !(1..=MOST_CHOICES).contains(&d) {
            return Err(ModelError::new(
                format!("d: found {d}, expected 1 to {MOST_CHOICES} blocks drawn a collection"),
                "d=10 is already near greedy",
            ));
        }
        if c > MOST_STORED {
            return Err(ModelError::new(
                format!("c: found {c}, expected 0 to {MOST_STORED} stored blocks"),
                "c=5 gives most of the gain",
            ));
        }
        if d == 1 && c > 0 {
            return Err(ModelError::new(
                format!("c: found c={c} with d=1, expected d of 2 or more where blocks are stored"),
                "with d=1 the memory has no stationary state; use c=0",
            ));
        }
        Ok(Self::DChoices { d, c })
    }
}

/// H and theta of one selection, with their buffers.
#[derive(Debug)]
pub(crate) struct Taken {
    d: f64,
    c: usize,
    /// P(s >= n) for s binomial(d, q).
    tails: Vec<f64>,
    /// The chain's stationary distribution, up to a factor.
    stored: Vec<f64>,
}

impl Taken {
    pub(crate) fn new(d: u32, c: u32) -> Self {
        Self { d: f64::from(d), c: c as usize, tails: Vec::new(), stored: Vec::new() }
    }

    /// H(q): the chance that the block taken is among the share `q` with the fewest valid pages.
    pub(crate) fn by_drawing(&mut self, q: f64) -> f64 {
        if q >= 1.0 {
            return 1.0;
        }
        if q <= 0.0 {
            return 0.0;
        }
        let none_drawn = self.d * (-q).ln_1p();
        let drawn = -none_drawn.exp_m1();
        if self.c == 0 { drawn } else { drawn + none_drawn.exp() * self.in_memory(q) }
    }

    /// 1 - theta(q): the chance that the memory holds one of the share `q` with the fewest valid
    /// pages.
    pub(crate) fn in_memory(&mut self, q: f64) -> f64 {
        if q <= 0.0 || self.c == 0 {
            return 0.0;
        }
        let none_drawn = self.d * (-q).ln_1p();
        if q >= 1.0 || none_drawn < LEAST_EXPONENT {
            return 1.0;
        }
        let none_drawn = none_drawn.exp();
        self.count_drawn(q, none_drawn);
        // In the stationary state, the chain crosses the cut between k and k + 1 stored blocks of
        // the share q as often upwards as downwards. Only a draw without such a block leads down,
        // by one.
        self.stored.clear();
        self.stored.push(1.0);
        let (mut total, mut some) = (1.0, 0.0);
        for k in 0..self.c {
            let up: f64 =
                self.stored.iter().rev().zip(&self.tails[2..]).map(|(p, tail)| p * tail).sum();
            let next = up / none_drawn;
            self.stored.push(next);
            total += next;
            some += next;
            if next > LARGE {
                for p in &mut self.stored {
                    *p /= LARGE;
                }
                total /= LARGE;
                some /= LARGE;
            }
            // Larger numbers of stored blocks are so rare that they change no digit.
            if next < total * NEGLIGIBLE && k > 0 && next < self.stored[k] * 0.5 {
                break;
            }
        }
        some / total
    }

    /// The chances that the memory holds none, and that it holds exactly one, of the share `q` with
    /// the fewest valid pages.
    pub(crate) fn none_and_one_stored(&mut self, q: f64) -> (f64, f64) {
        if q <= 0.0 || self.c == 0 {
            return (1.0, 0.0);
        }
        self.stored.clear();
        self.in_memory(q);
        let total: f64 = self.stored.iter().sum();
        match self.stored[..] {
            [none, one, ..] => (none / total, one / total),
            _ => (0.0, 0.0),
        }
    }

    /// Fills `tails` with P(s >= n) for n = 0..c + 1, where s is binomial(d, q).
    fn count_drawn(&mut self, q: f64, none_drawn: f64) {
        let odds = q / (1.0 - q);
        self.tails.clear();
        let mut chance = none_drawn;
        let mut drawn = 0.0;
        // The chances P(s = n) come first, until they are too small to count.
        while chance > 0.0 && drawn <= self.d {
            self.tails.push(chance);
            let next = chance * ((self.d - drawn) / (drawn + 1.0) * odds);
            drawn += 1.0;
            if next < chance && next < none_drawn * f64::MIN_POSITIVE.sqrt() {
                break;
            }
            chance = next;
        }
        let needed = self.c + 2;
        if self.tails.len() < needed {
            self.tails.resize(needed, 0.0);
        }
        let mut sum = 0.0;
        for tail in self.tails.iter_mut().rev() {
            sum += *tail;
            *tail = sum;
        }
    }
}

/// Below this exponent, the chance that d draws are all bad is 0 to every digit of 1 - theta.
const LEAST_EXPONENT: f64 = -200.0;
/// A number of this size can still be divided by the chance of [`LEAST_EXPONENT`] without an
/// overflow.
const LARGE: f64 = 1e200;
const NEGLIGIBLE: f64 = 1e-25;

#[cfg(test)]
mod tests {
    use super::*;

    /// The stationary distribution of the paper's chain, by multiplying its matrix with itself.
    fn naive_theta(d: u32, c: usize, q: f64) -> f64 {
        let binomial = |s: u32| {
            let ways = (0..s).fold(1.0, |w, k| w * f64::from(d - k) / f64::from(k + 1));
            ways * q.powi(s as i32) * (1.0 - q).powi((d - s) as i32)
        };
        let mut chances = vec![1.0 / (c + 1) as f64; c + 1];
        for _ in 0..20_000 {
            let mut next = vec![0.0; c + 1];
            for (state, chance) in chances.iter().enumerate() {
                for s in 0..=d {
                    // The paper's state is the number of stored blocks with more than j valid
                    // pages.
                    let good = c - state + s as usize;
                    next[c - c.min(good.saturating_sub(1))] += chance * binomial(s);
                }
            }
            let total: f64 = next.iter().sum();
            chances = next.iter().map(|chance| chance / total).collect();
        }
        chances[c]
    }

    #[test]
    fn theta_is_the_stationary_chance_of_the_papers_chain() {
        for (d, c, q) in [(2, 1, 0.3), (5, 2, 0.15), (4, 10, 0.2), (10, 3, 0.05), (3, 4, 0.4)] {
            let theta = 1.0 - Taken::new(d, c as u32).in_memory(q);
            let naive = naive_theta(d, c, q);
            assert!((theta - naive).abs() < 1e-12, "{d} {c} {q}: {theta} {naive}");
        }
    }

    #[test]
    fn rare_blocks_are_taken_as_often_as_they_are_drawn() {
        // A block with few valid pages that is drawn is taken at once or stored and taken soon:
        // H(q) = d q for small q, to all digits.
        for (d, c) in [(1, 0), (10, 0), (10, 1), (5, 50), (1000, 64)] {
            let mut taken = Taken::new(d, c);
            for q in [1e-12, 1e-100, 1e-300] {
                let ratio = taken.by_drawing(q) / (f64::from(d) * q);
                let close = if c == 0 { 1e-8 } else { 1e-6 };
                assert!((ratio - 1.0).abs() < close, "{d} {c} {q}: {ratio}");
            }
        }
    }

    #[test]
    fn h_is_a_distribution_function() {
        for (d, c) in [(1, 0), (2, 1), (10, 1), (5, 64), (1000, 64), (10_000, 1000)] {
            let mut taken = Taken::new(d, c);
            let mut last = 0.0;
            for step in 0..=1000 {
                let h = taken.by_drawing(f64::from(step) / 1000.0);
                assert!((last - 1e-15..=1.0).contains(&h), "{d} {c} {step}: {h} after {last}");
                last = h;
            }
            assert_eq!(last, 1.0);
        }
    }

    #[test]
    fn parameters_outside_the_model_are_refused() {
        assert!(Selection::d_choices(0, 0).is_err());
        assert!(Selection::d_choices(1, 1).is_err());
        assert!(Selection::d_choices(MOST_CHOICES + 1, 0).is_err());
        assert!(Selection::d_choices(2, MOST_STORED + 1).is_err());
        assert!(Selection::d_choices(1, 0).is_ok());
    }
}
