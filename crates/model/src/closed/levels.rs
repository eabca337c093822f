//! Distributions of the valid pages of blocks: a binomial one, and the one that follows from the
//! victims.

use crate::Drive;

/// The chances of i = 0..b valid pages in a block of `b` pages, each of which is valid with the
/// chance `p`.
pub fn binomial(b: u32, p: f64) -> Vec<f64> {
    let b = b as usize;
    let mut chances = vec![0.0; b + 1];
    if p <= 0.0 || p >= 1.0 {
        chances[if p <= 0.0 { 0 } else { b }] = 1.0;
        return chances;
    }
    // The chances are computed from the most likely count outwards, so that none underflows on the
    // way.
    let odds = p / (1.0 - p);
    let mode = (((b + 1) as f64 * p) as usize).min(b);
    chances[mode] = 1.0;
    for i in mode..b {
        chances[i + 1] = chances[i] * odds * (b - i) as f64 / (i + 1) as f64;
    }
    for i in (0..mode).rev() {
        chances[i] = chances[i + 1] / odds * (i + 1) as f64 / (b - i) as f64;
    }
    let total: f64 = chances.iter().sum();
    for chance in &mut chances {
        *chance /= total;
    }
    chances
}

/// The share of blocks with i valid pages, i = 0..b, computed from the chances that the `victim`
/// has i valid pages.
///
/// Under uniform writes a level is crossed downwards as often as a block from below it is taken:
/// i m_i / (rho WA) = P(victim < i). Valid for uniform writes.
pub fn from_victims(drive: &Drive, write_amplification: f64, victim: &[f64]) -> Vec<f64> {
    let crossed = drive.rho() * write_amplification;
    let mut valid = vec![0.0; victim.len()];
    let (mut below, mut sum) = (0.0, 0.0);
    for i in 1..victim.len() {
        below += victim[i - 1];
        valid[i] = crossed * below / i as f64;
        sum += valid[i];
    }
    valid[0] = (1.0 - sum).max(0.0);
    valid
}
