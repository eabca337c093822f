//! The drift of the mean field: how fast the share of blocks with i valid pages changes.
//!
//! ```text
//! dm_i/dt = E ((i+1) m_(i+1) - i m_i) / (b rho) - p_i,   i < b
//! dm_b/dt = 1 - p_b - E m_b / rho,   E = sum p_i (b - i)
//! ```
//!
//! Here p_i is the chance that the block taken has i valid pages. The unit of time is one
//! collection for each block.
//!
//! # Source
//! Van Houdt 2013, equations (3) to (5).

use super::selection::Taken;
use crate::Drive;

/// The drift under d choices with memory.
#[derive(Debug)]
pub(crate) struct Drift {
    b: usize,
    rho: f64,
    taken: Taken,
    victim: Vec<f64>,
}

impl Drift {
    pub(crate) fn new(drive: &Drive, d: u32, c: u32) -> Self {
        let b = drive.pages_per_block() as usize;
        Self { b, rho: drive.rho(), taken: Taken::new(d, c), victim: vec![0.0; b + 1] }
    }

    /// Fills `drift` for the distribution `valid`; returns E, host writes between collections.
    pub(crate) fn at(&mut self, valid: &[f64], drift: &mut [f64]) -> f64 {
        let (mut q, mut below) = (0.0, 0.0);
        for (share, victim) in valid.iter().zip(&mut self.victim) {
            q += share;
            let taken = self.taken.by_drawing(q.clamp(0.0, 1.0));
            *victim = taken - below;
            below = taken;
        }
        // Rounding may leave the last q below 1. The rest goes to full blocks, because some block
        // is always taken.
        self.victim[self.b] += 1.0 - below;
        fill(self.b, self.rho, valid, &self.victim, drift)
    }
}

/// Fills `drift` under greedy, which takes nothing above the first level that has a block; returns
/// E.
pub(crate) fn greedy(drive: &Drive, valid: &[f64], drift: &mut [f64]) -> f64 {
    let (b, rho) = (drive.pages_per_block() as usize, drive.rho());
    let least = valid.iter().position(|&share| share > 0.0).unwrap_or(b);
    // Every block on the level that loses a page falls below the level, and is taken at once.
    let mut victim = vec![0.0; b + 1];
    let (level, share) = (least as f64, valid[least]);
    // E = b - j + x and x = E j m_j / (b rho).
    let falling = level * share / (b as f64 * rho);
    let writes = (b as f64 - level) / (1.0 - falling);
    let below = writes * falling;
    victim[least] = 1.0 - below;
    if least > 0 {
        victim[least - 1] = below;
    }
    fill(b, rho, valid, &victim, drift)
}

fn fill(b: usize, rho: f64, valid: &[f64], victim: &[f64], drift: &mut [f64]) -> f64 {
    let writes: f64 = victim.iter().enumerate().map(|(i, chance)| chance * (b - i) as f64).sum();
    let kappa = writes / (b as f64 * rho);
    for i in 0..b {
        drift[i] = kappa * ((i + 1) as f64 * valid[i + 1] - i as f64 * valid[i]) - victim[i];
    }
    drift[b] = 1.0 - victim[b] - writes * valid[b] / rho;
    writes
}
