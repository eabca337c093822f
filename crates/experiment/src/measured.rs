//! The intervals of a run that count, and the number of batches for the confidence interval.

use flashgc_drive::extent::INTERVALS;
use flashgc_drive::stats::Interval;

use crate::config::Resolved;

/// The measured part of one run is cut into this number of batches for its confidence interval.
pub(crate) const BATCHES: usize = 20;

/// Returns the intervals of a run that count: all that were measured, or only the second half.
pub(crate) fn kept(resolved: &Resolved, measured: &[Interval]) -> Vec<Interval> {
    measured[cut(resolved, measured)..].to_vec()
}

/// Returns the number of intervals at the beginning of `measured` that count as warm-up.
pub(crate) fn cut(resolved: &Resolved, measured: &[Interval]) -> usize {
    if resolved.plan.doubling.is_some() {
        // The intervals before the last doubling are warm-up. If another doubling has begun, its
        // intervals count, too.
        return (measured.len() / INTERVALS as usize).saturating_sub(1) * INTERVALS as usize;
    }
    if !resolved.auto_warmup {
        return 0;
    }
    let half = measured.len() / 2;
    // The warm-up has whole passes of a trace, at least one. The measured part then has all writes
    // of the trace.
    match resolved.plan.intervals_of_a_pass().filter(|&pass| 2 * pass <= measured.len()) {
        Some(pass) => (half.max(1).div_ceil(pass) * pass).min(measured.len() - pass),
        None => half,
    }
}
