//! A block drawn at random, for N to infinity.
//!
//! A victim has as many valid pages as the mean block, for any workload and any write frontiers.
//! This is the only model here that holds for all of them.
//!
//! Formula: `WA = 1 / S_f`.
//!
//! # Valid for
//! Any workload, any number of write frontiers, any number of pages per block. The distribution of
//! valid pages is computed only for uniform writes.
//!
//! # Source
//! Van Houdt, SIGMETRICS 2013 (random selection); `d-choices` with d = 1.

use super::classes::Classes;
use super::fifo::Closed;
use crate::Drive;

/// Random cleaning of `drive` under writes to `classes`.
pub fn solve(drive: &Drive, classes: &Classes) -> Closed {
    let uniform = classes.is_uniform();
    let valid = uniform.then(|| valid(drive));
    Closed {
        write_amplification: write_amplification(drive.spare()),
        residual: valid.as_ref().map_or(0.0, |valid| {
            let mean: f64 = valid.iter().enumerate().map(|(i, m)| i as f64 * m).sum();
            (mean / (f64::from(drive.pages_per_block()) * drive.rho()) - 1.0).abs()
        }),
        // The victim is drawn from all blocks, so the chances are the shares of the blocks.
        victim: valid.clone(),
        valid,
    }
}

/// The write amplification alone.
pub fn write_amplification(spare: f64) -> f64 {
    1.0 / spare
}

/// Levels are crossed as often as a block below them is taken, and blocks are taken as they come:
/// i m_i = c (m_0 + ... + m_(i-1)) with c = rho / S_f, so that the sums are products of 1 + c / i.
fn valid(drive: &Drive) -> Vec<f64> {
    let ratio = drive.rho() / drive.spare();
    let b = drive.pages_per_block() as usize;
    let mut valid = vec![0.0; b + 1];
    let mut sum = 1.0;
    for i in (1..=b).rev() {
        let below = sum / (1.0 + ratio / i as f64);
        valid[i] = below * ratio / i as f64;
        sum = below;
    }
    valid[0] = sum;
    valid
}
