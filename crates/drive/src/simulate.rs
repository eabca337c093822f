//! The entrance: configurations in, results out. Runs go side by side on all cores and give the
//! same digits on one.

use rayon::prelude::*;

use crate::config::Resolved;
use crate::counting::DriveError;
use crate::result::{RunResult, half_width, kept, summarise};
pub use crate::run::{Control, Poll};
use crate::run::{Finished, Run};
use crate::stats::{Interval, mean};

/// A run with a precision to reach is lengthened at most so many times.
const MOST_ROUNDS: u32 = 100;

/// Runs every configuration; results come in the order of `configurations`.
///
/// `threads` bounds the runs under way at once (0: one a core). Configurations with an external
/// policy stay on the calling thread, which calls `poll` every few batches.
pub fn simulate(
    configurations: &[Resolved],
    threads: usize,
    control: &Control,
    poll: Poll<'_>,
) -> Result<Vec<RunResult>, DriveError> {
    if configurations.iter().any(Resolved::is_external) {
        return configurations.iter().map(|one| on_this_thread(one, control, poll)).collect();
    }
    // A pool of its own: how many threads there are must not depend on who ran before.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool {
        Ok(pool) => pool
            .install(|| configurations.par_iter().map(|one| side_by_side(one, control)).collect()),
        // No threads to be had: the same digits, one after the other.
        Err(_) => configurations.iter().map(|one| on_this_thread(one, control, poll)).collect(),
    }
}

fn side_by_side(resolved: &Resolved, control: &Control) -> Result<RunResult, DriveError> {
    let indices = (0..resolved.config.runs).into_par_iter();
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| complete(resolved, index, control, None)).collect();
            Ok(summarise(resolved, &gather(runs?), control.is_cancelled()))
        }
        Some(precision) => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| start(resolved, index, control, None)).collect();
            lengthen(resolved, gather(runs?), precision, control, |runs, amount| {
                runs.par_iter_mut().map(|run| run.advance(amount, control, None)).collect()
            })
        }
    }
}

fn on_this_thread(
    resolved: &Resolved,
    control: &Control,
    poll: Poll<'_>,
) -> Result<RunResult, DriveError> {
    let indices = 0..resolved.config.runs;
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| complete(resolved, index, control, Some(&mut *poll))).collect();
            Ok(summarise(resolved, &gather(runs?), control.is_cancelled()))
        }
        Some(precision) => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| start(resolved, index, control, Some(&mut *poll))).collect();
            lengthen(resolved, gather(runs?), precision, control, |runs, amount| {
                runs.iter_mut().map(|run| run.advance(amount, control, Some(&mut *poll))).collect()
            })
        }
    }
}

fn gather<T>(runs: Vec<Option<T>>) -> Vec<T> {
    runs.into_iter().flatten().collect()
}

/// Makes run number `index` and does its plan; `None` if it was cancelled before it began.
fn start(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
) -> Result<Option<Run>, DriveError> {
    if control.is_cancelled() {
        return Ok(None);
    }
    let mut run = Run::new(resolved, index)?;
    run.advance(resolved.plan.measured.amount, control, poll)?;
    Ok(Some(run))
}

/// Makes run number `index`, does its plan and frees its drive.
fn complete(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
) -> Result<Option<Finished>, DriveError> {
    Ok(start(resolved, index, control, poll)?.map(Run::finish))
}

/// Lengthens the runs until the precision asked for is reached, and sums up.
fn lengthen(
    resolved: &Resolved,
    mut runs: Vec<Run>,
    precision: f64,
    control: &Control,
    mut advance: impl FnMut(&mut [Run], u64) -> Result<Vec<bool>, DriveError>,
) -> Result<RunResult, DriveError> {
    let mut rounds = 1;
    let mut reached = is_precise(resolved, &runs, precision);
    while !reached && rounds < MOST_ROUNDS && !control.is_cancelled() {
        advance(&mut runs, resolved.plan.measured.amount)?;
        rounds += 1;
        reached = is_precise(resolved, &runs, precision);
    }
    let runs: Vec<_> = runs.into_iter().map(Run::finish).collect();
    let mut result = summarise(resolved, &runs, control.is_cancelled());
    if !reached && !control.is_cancelled() {
        result.warnings.push(format!(
            "the precision asked for was not reached after {rounds} times the run's length"
        ));
    }
    Ok(result)
}

fn is_precise(resolved: &Resolved, runs: &[Run], precision: f64) -> bool {
    let measured: Vec<Vec<Interval>> =
        runs.iter().map(|run| kept(resolved, &run.measured)).collect();
    let values: Vec<f64> =
        measured.iter().map(|intervals| Interval::amplification(intervals)).collect();
    half_width(&measured, &values).is_some_and(|half| half <= precision * mean(&values))
}
