//! The intervals of a run that count, and the batches that they are put into.

use flashgc_drive::stats::{Interval, mser};

use crate::config::Resolved;

/// Batches that one run's measured part is cut into for its confidence interval.
pub(crate) const BATCHES: usize = 20;

/// The intervals of `run` that count: all that were measured, or those after the warm-up found.
pub(crate) fn kept(resolved: &Resolved, measured: &[Interval]) -> Vec<Interval> {
    measured[cut(resolved, measured)..].to_vec()
}

/// How many intervals of `measured` are warm-up after all.
pub(crate) fn cut(resolved: &Resolved, measured: &[Interval]) -> usize {
    if !resolved.auto_warmup {
        return 0;
    }
    let found = mser(measured).unwrap_or(measured.len() / 2);
    // Whole passes of a trace, and one at least: what is measured then has all its writes.
    match resolved.plan.intervals_of_a_pass().filter(|&pass| 2 * pass <= measured.len()) {
        Some(pass) => (found.max(1).div_ceil(pass) * pass).min(measured.len() - pass),
        None => found,
    }
}
