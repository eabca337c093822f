//! The fixed point of the mean field under uniform random writes.
//!
//! Let m_i be the share of blocks with i valid pages, q_i = m_0 + ... + m_i, and H the function of
//! [`selection`](super::selection). Van Houdt's equations (3) and (4) with a drift of zero say that
//! every level is crossed downwards as often as a block from below it is taken:
//!
//! ```text
//! kappa i m_i = H(q_(i-1)),   i = 1..b,   q_b = 1,   kappa = E / (b rho)
//! ```
//!
//! where E is the mean number of host writes between collections. For a given kappa this is one
//! equation with one unknown a level, kappa i (q_i - q) = H(q), whose sides fall and rise: it has
//! exactly one root. So q_b = 1 determines q_(b-1), and so on down to q_0. All q_i grow with kappa,
//! hence sum i m_i = sum (1 - q_i) falls with it and is b rho for exactly one kappa. The mean field
//! therefore has exactly one fixed point, for every d and c, and two nested bracketed roots find
//! it: nothing is integrated and nothing can settle on a false cycle.
//!
//! # Cost
//! About 10 b evaluations of H for each of some 10 values of kappa.
//!
//! # Source
//! Van Houdt 2013, sections 3.1 and 3.2. The reduction to scalar equations and the uniqueness of
//! the fixed point are ours.

use super::drift::{self, Drift};
use super::selection::{Selection, Taken};
use crate::{Drive, ModelError, root};

/// A fixed point of the mean field.
#[derive(Clone, Debug)]
pub struct FixedPoint {
    /// Page programs for each host write.
    pub write_amplification: f64,
    /// The largest drift that is left in any share of blocks, in the time of one collection for
    /// each block.
    pub residual: f64,
    /// Share of blocks with i valid pages just before a collection, i = 0..b.
    pub valid: Vec<f64>,
    /// Chance that the block taken has i valid pages, i = 0..b.
    pub victim: Vec<f64>,
    /// Chance that the stored block with the fewest valid pages has i of them; `None` without
    /// memory.
    pub memory: Option<Vec<f64>>,
}

/// The largest drift that a fixed point may have.
pub const LARGEST_RESIDUAL: f64 = 1e-10;

/// The fixed point for `drive` under `selection`.
///
/// # Errors
/// A residual above [`LARGEST_RESIDUAL`], which no parameters are known to give.
pub fn solve(drive: &Drive, selection: &Selection) -> Result<FixedPoint, ModelError> {
    let (b, rho) = (drive.pages_per_block(), drive.rho());
    let mut levels = Levels::new(b, selection);
    // A drive programs at least what the host writes, and at most as much as with random victims.
    let (low, high) = (drive.spare() / rho, 1.0 / rho);
    let wanted = f64::from(b) * rho;
    let kappa = root::find("write amplification", low * 0.999, high * 1.001, |kappa| {
        levels.fall(kappa);
        levels.valid_pages(kappa) - wanted
    })?;
    levels.fall(kappa);
    levels.fixed_point(drive, selection, kappa)
}

/// The levels of one drive: share of blocks and of victims at or below each.
struct Levels {
    taken: Option<Taken>,
    choices: f64,
    /// q_i, i = 0..b.
    q: Vec<f64>,
    /// H(q_i), i = 0..b.
    h: Vec<f64>,
}

impl Levels {
    fn new(b: u32, selection: &Selection) -> Self {
        let size = b as usize + 1;
        let (taken, choices) = match *selection {
            Selection::DChoices { d, c } => (Some(Taken::new(d, c)), f64::from(d)),
            Selection::Greedy { .. } => (None, f64::INFINITY),
        };
        Self { taken, choices, q: vec![1.0; size], h: vec![1.0; size] }
    }

    /// Computes q and H(q) of all levels for a given `kappa`, from q_b = 1 downwards.
    fn fall(&mut self, kappa: f64) {
        for i in (1..self.q.len()).rev() {
            let rate = kappa * i as f64;
            (self.q[i - 1], self.h[i - 1]) = self.below(self.q[i], rate);
        }
    }

    /// The q with rate (above - q) = H(q), and its H.
    fn below(&mut self, above: f64, rate: f64) -> (f64, f64) {
        let Some(taken) = &mut self.taken else {
            let q = (above - 1.0 / rate).max(0.0);
            return (q, if q > 0.0 { 1.0 } else { rate * above });
        };
        // H(q) <= d q, because a block is taken only if it was drawn.
        let low = above * (rate / (rate + self.choices));
        if low > 0.5 * above {
            // Few blocks are at this level. The root is sought for their share, so that it keeps
            // its digits.
            let (least, most) =
                (taken.by_drawing(low) / rate, above * (self.choices / (rate + self.choices)));
            let share = root::find("share of blocks", least, most, |share| {
                taken.by_drawing(above - share) - rate * share
            });
            let share = share.unwrap_or(least);
            return (above - share, rate * share);
        }
        let high = above - taken.by_drawing(low) / rate;
        let balance = |q: f64, h: f64| h - rate * (above - q);
        let q = if high <= low || balance(low, taken.by_drawing(low)) >= 0.0 {
            low
        } else {
            root::find("share of blocks", low, high, |q| balance(q, taken.by_drawing(q)))
                .unwrap_or(high)
        };
        (q, rate * (above - q))
    }

    /// The mean number of valid pages of a block: the sum of i m_i.
    fn valid_pages(&self, kappa: f64) -> f64 {
        self.writes() / kappa
    }

    /// E, host writes between collections.
    fn writes(&self) -> f64 {
        self.h[..self.h.len() - 1].iter().sum()
    }

    fn fixed_point(
        &mut self,
        drive: &Drive,
        selection: &Selection,
        kappa: f64,
    ) -> Result<FixedPoint, ModelError> {
        let b = drive.pages_per_block() as usize;
        let mut valid = vec![self.q[0]; b + 1];
        let mut victim = vec![self.h[0]; b + 1];
        for (i, (share, taken)) in (1..).zip(valid[1..].iter_mut().zip(&self.h)) {
            *share = taken / (kappa * f64::from(i));
        }
        for i in 1..b {
            // The chances of victims follow from the balance of each level, because differences of
            // H would lose the digits of rare victims.
            victim[i] = kappa * ((i + 1) as f64 * valid[i + 1] - i as f64 * valid[i]);
        }
        victim[b] = 1.0 - kappa * b as f64 * valid[b];
        for share in &mut victim {
            *share = share.max(0.0);
        }
        let memory = match selection {
            Selection::DChoices { c: 1.., .. } => self.memory(),
            _ => None,
        };
        let residual = residual(drive, selection, &valid);
        if residual.is_nan() || residual > LARGEST_RESIDUAL {
            return Err(ModelError::new(
                format!(
                    "mean field: no fixed point for b={b}, spare={}, {selection:?}: a drift of \
                     {residual:.1e} is left, expected at most {LARGEST_RESIDUAL:e}",
                    drive.spare()
                ),
                "parameters that are less extreme",
            ));
        }
        Ok(FixedPoint {
            write_amplification: b as f64 / self.writes(),
            residual,
            valid,
            victim,
            memory,
        })
    }

    fn memory(&mut self) -> Option<Vec<f64>> {
        let taken = self.taken.as_mut()?;
        let mut below = 0.0;
        let share = |&q: &f64| {
            let now = taken.in_memory(q);
            let at = (now - below).max(0.0);
            below = now;
            at
        };
        Some(self.q.iter().map(share).collect())
    }
}

/// The largest drift of any share of blocks. It is computed from the distribution alone, by Van
/// Houdt's equations (3) and (4).
fn residual(drive: &Drive, selection: &Selection, valid: &[f64]) -> f64 {
    let mut drift = vec![0.0; valid.len()];
    match *selection {
        Selection::DChoices { d, c } => Drift::new(drive, d, c).at(valid, &mut drift),
        Selection::Greedy { .. } => drift::greedy(drive, valid, &mut drift),
    };
    drift
        .iter()
        .fold(0.0, |most: f64, rate| if rate.is_nan() { f64::NAN } else { most.max(rate.abs()) })
}
