//! The block with the fewest valid pages, for N to infinity.
//!
//! Greedy takes blocks with j valid pages or, with the probability x, with j - 1, so no block falls
//! below the level j - 1. Per collection, one block crosses every level above j. This determines
//! the shares of blocks m_i, and their sum of 1 determines j and x. If S_f is so large that rho H_b
//! <= 1, some block has no valid page left, and WA = 1.
//!
//! Formula: `WA = b / (b - j + x)`, `x = D(j) / (D(j) - D(j-1))`, for the one j with
//! `D(j) >= 0 > D(j-1)`, `D(j) = b - j - b rho (H_b - H_j)`; H are the harmonic numbers.
//!
//! # Valid for
//! Uniform writes, exactly and for any number of pages a block, with one frontier or two, because
//! all pages are alike. For hot and cold data, the mean field of `meanfield` gives the answer;
//! there, the choice among equal blocks (`ties`) matters.
//!
//! # Source
//! Bux and Iliadis, Performance Evaluation 2010: the model equals their limit for large N (4.8213
//! for b = 64 and S_f = 0.1). This closed form is ours.

use super::fifo::Closed;
use super::levels;
use crate::Drive;

/// The sums that the formula needs, for one number of pages a block.
#[derive(Clone, Debug)]
pub struct Greedy {
    b: usize,
    /// `H_b - H_j`, j = 0..b.
    harmonic: Vec<f64>,
    /// b (H_b - H_j) - (b - j) = sum of (b - i) / i over i > j, j = 0..b.
    lost: Vec<f64>,
    /// The logarithm of the slope of WA over alpha between two levels, where WA is linear. For j =
    /// 0..b the slope is 1 / ((b - j) / j - (H_b - H_j)) = 1 / (sum of (i - j) / (i j) over i > j).
    log_slope: Vec<f64>,
}

impl Greedy {
    /// The tables of greedy for `pages_per_block` pages a block, at least 1.
    pub fn new(pages_per_block: u32) -> Self {
        let b = pages_per_block as usize;
        let (mut harmonic, mut lost) = (vec![0.0; b + 1], vec![0.0; b + 1]);
        let mut log_slope = vec![f64::INFINITY; b + 1];
        let mut inverse_slope = 0.0;
        for j in (0..b).rev() {
            let i = (j + 1) as f64;
            harmonic[j] = harmonic[j + 1] + 1.0 / i;
            lost[j] = lost[j + 1] + (b as f64 - i) / i;
            // The sum for j is the one for j + 1 plus (b - j) / (j (j + 1)).
            inverse_slope += (b - j) as f64 / (j as f64 * i);
            log_slope[j] = -f64::ln(inverse_slope);
        }
        Self { b, harmonic, lost, log_slope }
    }

    /// D(j) at the spare factor `spare`, without cancellation.
    fn balance(&self, spare: f64, j: usize) -> f64 {
        self.b as f64 * spare * self.harmonic[j] - self.lost[j]
    }

    /// The level j and the chance x that the victim is below it. With j = 0 some blocks are empty.
    fn level(&self, spare: f64) -> (usize, f64) {
        // D rises from D(b) = 0 as j falls to b rho, and falls from there.
        let (mut above, mut below) = (self.b - 1, 0);
        if self.balance(spare, 0) >= 0.0 {
            return (0, 0.0);
        }
        while above - below > 1 {
            let middle = usize::midpoint(above, below);
            if self.balance(spare, middle) >= 0.0 { above = middle } else { below = middle }
        }
        let (at, next) = (self.balance(spare, above), self.balance(spare, below));
        (above, at / (at - next))
    }

    /// The write amplification at the spare factor `spare`; b without spare space.
    pub fn write_amplification(&self, spare: f64) -> f64 {
        let (j, x) = self.level(spare);
        self.b as f64 / ((self.b - j) as f64 + x)
    }

    /// The logarithm of the gain from a little more spare space, for each unit of alpha, at alpha =
    /// 1 + `excess`.
    pub(crate) fn log_gain(&self, excess: f64) -> f64 {
        self.log_slope[self.level(excess / (1.0 + excess)).0]
    }

    /// The lowest level down to which a little more spare space gains at least exp(`log_gain`) for
    /// each unit of alpha; b if it never does.
    pub(crate) fn level_at(&self, log_gain: f64) -> usize {
        self.log_slope[1..].partition_point(|&slope| slope < log_gain) + 1
    }

    /// alpha - 1 at which all victims have `level` - 1 valid pages, so WA = b / (b - (`level` -
    /// 1)). With more spare space, lower levels are needed.
    pub(crate) fn excess_from(&self, level: usize) -> f64 {
        if level >= self.b { 0.0 } else { self.lost[level - 1] / (self.b - level + 1) as f64 }
    }

    /// Returns the shares of blocks and of victims with i valid pages, and the residual of the
    /// shares' sum.
    fn distributions(&self, drive: &Drive) -> (Vec<f64>, Vec<f64>, f64) {
        let (j, x) = self.level(drive.spare());
        let mut victim = vec![0.0; self.b + 1];
        victim[j] = 1.0 - x;
        if j > 0 {
            victim[j - 1] = x;
        }
        let mut valid =
            levels::from_victims(drive, self.b as f64 / ((self.b - j) as f64 + x), &victim);
        if j == 0 {
            return (valid, victim, 0.0);
        }
        // No block falls to level 0, so the rest that the other shares leave is rounding.
        let residual = (valid[1..].iter().sum::<f64>() - 1.0).abs();
        valid[0] = 0.0;
        (valid, victim, residual)
    }
}

/// Greedy cleaning of `drive` under uniform writes.
pub fn solve(drive: &Drive) -> Closed {
    let greedy = Greedy::new(drive.pages_per_block());
    let (valid, victim, residual) = greedy.distributions(drive);
    Closed {
        write_amplification: greedy.write_amplification(drive.spare()),
        residual,
        valid: Some(valid),
        victim: Some(victim),
    }
}
