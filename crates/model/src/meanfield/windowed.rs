//! Windowed greedy under uniform random writes, for a window that is a share omega of all blocks.
//!
//! A block waits outside the window for a fixed time, in which the share 1 - omega of the blocks is
//! taken. So it enters with i valid pages with the probability of binomial(b, z), z = exp(-kappa (1
//! - omega)), kappa = E / (b rho). Inside, greedy takes the fewest valid pages. Let C_i be the
//!   probability to enter with at least i pages. There is a level j such that blocks above it are
//!   never taken, and blocks below it at once. Every level above j is crossed by all blocks that
//!   enter above it:
//!
//! ```text
//! sum_(i > j) C_i / (kappa i) + x / (kappa j) = omega,   0 <= x <= C_j,
//! E = kappa b rho = b - sum_(i <= j) C_i + x
//! ```
//!
//! Here x is the probability that a block at level j loses a page before it is taken. For omega = 0
//! this is FIFO, 1 / WA = 1 - exp(-alpha / WA), and for omega = 1 greedy's closed form.
//!
//! # Valid for
//! Uniform writes, infinitely many blocks, windows that grow with them.
//!
//! # Source
//! The policy is from Hu et al. 2009, who have a different model. This model is ours.

use std::cmp::Ordering;

use super::uniform::FixedPoint;
use crate::{Drive, ModelError, root};

/// The fixed point for a window of the share `window` of all blocks.
///
/// # Errors
/// A window that is not a share from 0 to 1.
pub fn solve(drive: &Drive, window: f64) -> Result<FixedPoint, ModelError> {
    if !(0.0..=1.0).contains(&window) {
        return Err(ModelError::new(
            format!("window: found {window}, expected a share of the blocks from 0 to 1"),
            "0 is FIFO, 1 is greedy; a window of w blocks of N is w / N",
        ));
    }
    let (b, rho) = (drive.pages_per_block() as usize, drive.rho());
    let full = b as f64 * rho;
    // Bounds on kappa: from a drive that copies everything to one that copies nothing.
    let (least, most) = (1e-3 * drive.spare() / rho, 1.0 / rho);
    let kappa = root::find("write amplification", least, 1.001 * most, |kappa| {
        Window::new(b, kappa, window).writes() / kappa - full
    })?;
    let solution = Window::new(b, kappa, window);
    let (valid, victim) = (solution.valid(), solution.victim());
    let pages = |shares: &[f64]| shares.iter().enumerate().map(|(i, p)| i as f64 * p).sum::<f64>();
    let balances = [
        valid.iter().sum::<f64>() - 1.0,
        victim.iter().sum::<f64>() - 1.0,
        pages(&valid) / full - 1.0,
        (b as f64 - pages(&victim)) / (kappa * full) - 1.0,
    ];
    let residual = balances.iter().fold(0.0, |most: f64, left| most.max(left.abs()));
    let write_amplification = b as f64 / solution.writes();
    Ok(FixedPoint { write_amplification, residual, valid, victim, memory: None })
}

/// The window and its blocks for a given kappa.
struct Window {
    b: usize,
    kappa: f64,
    window: f64,
    /// C_i, chance to enter with at least i valid pages, i = 0..b + 1.
    enter: Vec<f64>,
    /// The level j.
    level: usize,
    /// x, the probability that a block at level j loses a page before it is taken.
    lose: f64,
}

impl Window {
    fn new(b: usize, kappa: f64, window: f64) -> Self {
        let enter = at_least(b, kappa * (1.0 - window));
        let (mut level, mut lose, mut inside) = (0, 0.0, 0.0);
        for i in (1..=b).rev() {
            let here = enter[i] / (kappa * i as f64);
            if inside + here > window {
                (level, lose) = (i, kappa * i as f64 * (window - inside));
                break;
            }
            inside += here;
        }
        Self { b, kappa, window, enter, level, lose }
    }

    /// E, host writes between collections.
    fn writes(&self) -> f64 {
        self.b as f64 - self.enter[1..=self.level].iter().sum::<f64>() + self.lose
    }

    fn valid(&self) -> Vec<f64> {
        let mut valid = vec![0.0; self.b + 1];
        for (i, share) in valid.iter_mut().enumerate().skip(1) {
            let crossed = match i.cmp(&self.level) {
                Ordering::Less => 1.0 - self.enter[i],
                Ordering::Equal => 1.0 - self.enter[i] + self.lose,
                Ordering::Greater => 1.0,
            };
            *share = crossed / (self.kappa * i as f64);
        }
        // Empty blocks: outside the window those that have lost every page, and inside it all that
        // the other shares leave.
        let outside: f64 =
            (1..=self.b).map(|i| (1.0 - self.enter[i]) / (self.kappa * i as f64)).sum();
        let inside: f64 = valid.iter().sum::<f64>() - outside;
        valid[0] = (1.0 - self.window - outside).max(0.0)
            + if self.level == 0 { (self.window - inside).max(0.0) } else { 0.0 };
        valid
    }

    fn victim(&self) -> Vec<f64> {
        let mut victim = vec![0.0; self.b + 1];
        for (i, chance) in victim.iter_mut().enumerate().take(self.level + 1) {
            *chance = self.enter[i] - if i < self.level { self.enter[i + 1] } else { 0.0 };
        }
        if self.level > 0 {
            victim[self.level] -= self.lose;
            victim[self.level - 1] += self.lose;
        }
        victim
    }
}

/// P(n >= i) for i = 0..b + 1 where n is binomial(b, exp(-time)).
fn at_least(b: usize, time: f64) -> Vec<f64> {
    let (ln_stay, ln_leave) = (-time, (-(-time).exp_m1()).ln());
    let mut chances = vec![0.0; b + 2];
    let mut ln_ways = 0.0;
    for (i, chance) in chances.iter_mut().enumerate().take(b + 1) {
        let leave = if i == b { 0.0 } else { (b - i) as f64 * ln_leave };
        *chance = (ln_ways + i as f64 * ln_stay + leave).exp();
        ln_ways += ((b - i) as f64 / (i + 1) as f64).ln();
    }
    for i in (0..=b).rev() {
        chances[i] += chances[i + 1];
    }
    let total = chances[0];
    chances.iter_mut().for_each(|chance| *chance /= total);
    chances
}
