//! The entrance: configurations in, results out. Runs go side by side on all cores and give the
//! same digits on one.

use std::sync::atomic::Ordering;

use flashgc_ftl::FtlError;
use rayon::prelude::*;

use crate::checkpoint::{Found, Keeper, Turns};
use crate::config::Resolved;
use crate::counting::DriveError;
use crate::memory::threads_that_fit;
use crate::result::{RunResult, half_width, kept, summarise};
pub use crate::run::{Control, Poll};
use crate::run::{Finished, Run};
use crate::stats::{Interval, mean};
use crate::timed;

/// More threads than so many times the cores only cost memory.
const MOST_THREADS_A_CORE: usize = 4;

/// A run with a precision to reach is lengthened at most so many times.
const MOST_ROUNDS: u32 = 100;

/// Runs every configuration; results come in the order of `configurations`.
///
/// `threads` bounds the runs under way at once (0: one a core); fewer go side by side where there
/// are not so many, or no memory for them. Configurations with an external policy stay on the
/// calling thread, which calls `poll` every few batches.
///
/// # Errors
/// A drive that the machine has no memory for; what a layer or a workload says.
pub fn simulate(
    configurations: &[Resolved],
    threads: usize,
    control: &Control,
    poll: Poll<'_>,
) -> Result<Vec<RunResult>, DriveError> {
    simulate_each(configurations, threads, control, poll, &|_, _| (), None)
}

/// Told of each configuration that came to its end, by its index: from any thread, in any order.
pub type OnResult<'a> = &'a (dyn Fn(usize, &RunResult) + Sync);

/// As [`simulate`], and tells of each result as soon as it is there. What was stopped before its
/// end is not told. Runs go on from what `keeper` has of them, and are kept by it: it is that of the
/// only configuration.
///
/// # Errors
/// Those of [`simulate`]; a checkpoint that cannot be gone on from.
pub fn simulate_each(
    configurations: &[Resolved],
    threads: usize,
    control: &Control,
    poll: Poll<'_>,
    on_result: OnResult<'_>,
    keeper: Option<&Keeper>,
) -> Result<Vec<RunResult>, DriveError> {
    debug_assert!(
        keeper.is_none() || configurations.len() == 1,
        "a keeper is of one configuration"
    );
    let threads = threads_for(configurations, threads)?;
    let tell = |index: usize, mut result: RunResult| {
        result.warnings.extend(keeper.and_then(Keeper::failed));
        if !result.interrupted {
            on_result(index, &result);
        }
        result
    };
    let mut one_by_one = || {
        let each = configurations.iter().enumerate();
        each.map(|(index, one)| Ok(tell(index, on_this_thread(one, control, poll, keeper)?)))
            .collect()
    };
    if configurations.iter().any(Resolved::is_external) {
        return one_by_one();
    }
    // A pool of its own: how many threads there are must not depend on who ran before.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool {
        Ok(pool) => pool.install(|| {
            let each = configurations.par_iter().enumerate();
            each.map(|(index, one)| Ok(tell(index, side_by_side(one, control, keeper)?))).collect()
        }),
        // No threads to be had: the same digits, one after the other.
        Err(_) => one_by_one(),
    }
}

/// The number of threads to use where `asked` are asked for: no more than there are runs, nor than
/// the cores can use or the memory can hold. Results do not depend on it.
fn threads_for(configurations: &[Resolved], asked: usize) -> Result<usize, DriveError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runs: u64 = configurations.iter().map(|one| u64::from(one.config.runs)).sum();
    let external = configurations.iter().any(Resolved::is_external);
    let threads = if external { 1 } else { useful_threads(asked, cores, runs) };
    Ok(threads_that_fit(configurations, threads).map_err(FtlError::from)?)
}

fn useful_threads(asked: usize, cores: usize, runs: u64) -> usize {
    let asked = if asked == 0 { cores } else { asked.min(MOST_THREADS_A_CORE * cores) };
    asked.min(usize::try_from(runs).unwrap_or(usize::MAX)).max(1)
}

fn side_by_side(
    resolved: &Resolved,
    control: &Control,
    keeper: Option<&Keeper>,
) -> Result<RunResult, DriveError> {
    // Cancelled, a million runs to come cost nothing.
    let indices =
        (0..resolved.config.runs).into_par_iter().take_any_while(|_| !control.is_cancelled());
    if let Some(timed) = &resolved.timed {
        let runs: Result<Vec<_>, _> = indices
            .map(|index| timed::run(resolved, timed, index, control, None, keeper))
            .collect();
        return Ok(timed::summarise(resolved, timed, runs?, control.is_cancelled()));
    }
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| complete(resolved, index, control, None, keeper)).collect();
            Ok(summarise(resolved, &runs?, control.is_cancelled()))
        }
        Some(precision) => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| start(resolved, index, control, None, keeper)).collect();
            lengthen(resolved, runs?, precision, control, keeper, |runs, amount| {
                let each = (0..).zip(runs).collect::<Vec<_>>().into_par_iter();
                each.map(|(index, run)| {
                    run.advance(amount, control, None, &mut Turns::new(keeper, index))
                })
                .collect()
            })
        }
    }
}

fn on_this_thread(
    resolved: &Resolved,
    control: &Control,
    poll: Poll<'_>,
    keeper: Option<&Keeper>,
) -> Result<RunResult, DriveError> {
    let indices = (0..resolved.config.runs).take_while(|_| !control.is_cancelled());
    if let Some(timed) = &resolved.timed {
        let runs: Result<Vec<_>, _> = indices
            .map(|index| timed::run(resolved, timed, index, control, Some(&mut *poll), keeper))
            .collect();
        return Ok(timed::summarise(resolved, timed, runs?, control.is_cancelled()));
    }
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> = indices
                .map(|index| complete(resolved, index, control, Some(&mut *poll), keeper))
                .collect();
            Ok(summarise(resolved, &runs?, control.is_cancelled()))
        }
        Some(precision) => {
            let runs: Result<Vec<_>, _> = indices
                .map(|index| start(resolved, index, control, Some(&mut *poll), keeper))
                .collect();
            lengthen(resolved, runs?, precision, control, keeper, |runs, amount| {
                let each = (0..).zip(runs);
                each.map(|(index, run)| {
                    let turns = &mut Turns::new(keeper, index);
                    run.advance(amount, control, Some(&mut *poll), turns)
                })
                .collect()
            })
        }
    }
}

/// Makes run number `index` and does its plan, as often as any run of the keeper has begun to.
fn start(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
    keeper: Option<&Keeper>,
) -> Result<Run, DriveError> {
    let mut run = Run::new(resolved, index)?;
    let mut rounds = 1;
    if let Some(keeper) = keeper {
        if let Found::Done = keeper.restore(index, &mut run)? {
            return Err(DriveError::Checkpoint(
                "checkpoint: a run to lengthen is done".to_string(),
            ));
        }
        rounds = keeper.rounds().max(1);
    }
    let mut turns = Turns::new(keeper, index);
    let amount = resolved.plan.measured.amount;
    let mut poll = poll;
    let mut goes_on = run.is_due(rounds);
    while goes_on {
        // `as_deref_mut` would lend the callback for the whole of the run.
        let polled = poll.as_mut().map(|poll| &mut **poll as Poll<'_>);
        let reached = run.advance(amount, control, polled, &mut turns)?;
        goes_on = !control.is_cancelled()
            && if resolved.until_failure { reached } else { run.is_due(rounds) };
    }
    Ok(run)
}

/// Makes run number `index`, does its plan and frees its drive.
fn complete(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
    keeper: Option<&Keeper>,
) -> Result<Finished, DriveError> {
    if let Some(keeper) = keeper
        && let Some(finished) = keeper.done(index)?
    {
        control.done.fetch_add(Control::RUN, Ordering::Relaxed);
        return Ok(finished);
    }
    let run = start(resolved, index, control, poll, keeper)?;
    let stopped = run.is_due(1);
    let finished = run.finish();
    if let Some(keeper) = keeper
        && !stopped
    {
        keeper.keep_done(index, &finished);
    }
    Ok(finished)
}

/// Lengthens the runs until the precision asked for is reached, and sums up.
fn lengthen(
    resolved: &Resolved,
    mut runs: Vec<Run>,
    precision: f64,
    control: &Control,
    keeper: Option<&Keeper>,
    mut advance: impl FnMut(&mut [Run], u64) -> Result<Vec<bool>, DriveError>,
) -> Result<RunResult, DriveError> {
    let mut rounds = keeper.map_or(1, |keeper| keeper.rounds().max(1));
    let mut reached = is_precise(resolved, &runs, precision);
    let ended = |runs: &[Run]| runs.iter().all(Run::has_ended);
    while !reached && rounds < MOST_ROUNDS && !control.is_cancelled() && !ended(&runs) {
        advance(&mut runs, resolved.plan.measured.amount)?;
        rounds += 1;
        reached = is_precise(resolved, &runs, precision);
    }
    for (index, run) in (0..).zip(&runs) {
        run.store_done(&mut Turns::new(keeper, index));
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
    let half = half_width(&measured, &values);
    // Before anything was erased, nothing varies yet.
    runs.iter().any(Run::has_erased) && half.is_some_and(|half| half <= precision * mean(&values))
}

#[cfg(test)]
mod tests {
    use super::useful_threads;

    #[test]
    fn threads_are_no_more_than_runs_nor_than_cores_can_use() {
        assert_eq!(useful_threads(0, 8, 100), 8);
        assert_eq!(useful_threads(0, 8, 3), 3);
        assert_eq!(useful_threads(4096, 8, 1), 1);
        assert_eq!(useful_threads(4096, 8, 1_000_000_000), 32);
        assert_eq!(useful_threads(16, 8, 100), 16);
        assert_eq!(useful_threads(0, 8, 0), 1);
    }
}
