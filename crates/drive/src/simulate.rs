//! The entrance: configurations in, results out. Runs go side by side on all cores and give the
//! same digits on one.

use flashgc_ftl::FtlError;
use rayon::prelude::*;

use crate::config::Resolved;
use crate::counting::DriveError;
use crate::memory::threads_that_fit;
use crate::result::{RunResult, half_width, kept, summarise};
pub use crate::run::{Control, Poll};
use crate::run::{Finished, Lengthened, Run};
use crate::stats::{Interval, mean};
use crate::timed::{self, ClockedRun, Timed};

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
    simulate_each(configurations, threads, control, poll, &|_, _| ())
}

/// Told of each configuration that came to its end, by its index: from any thread, in any order.
pub type OnResult<'a> = &'a (dyn Fn(usize, &RunResult) + Sync);

/// As [`simulate`], and tells of each result as soon as it is there. What was stopped before its
/// end is not told.
///
/// # Errors
/// Those of [`simulate`].
pub fn simulate_each(
    configurations: &[Resolved],
    threads: usize,
    control: &Control,
    poll: Poll<'_>,
    on_result: OnResult<'_>,
) -> Result<Vec<RunResult>, DriveError> {
    let threads = threads_for(configurations, threads)?;
    let tell = |index: usize, result: RunResult| {
        if !result.interrupted {
            on_result(index, &result);
        }
        result
    };
    let mut one_by_one = || {
        let each = configurations.iter().enumerate();
        each.map(|(index, one)| Ok(tell(index, on_this_thread(one, control, poll)?))).collect()
    };
    if configurations.iter().any(Resolved::is_external) {
        return one_by_one();
    }
    // A pool of its own: how many threads there are must not depend on who ran before.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool {
        Ok(pool) => pool.install(|| {
            let each = configurations.par_iter().enumerate();
            each.map(|(index, one)| Ok(tell(index, side_by_side(one, control)?))).collect()
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

fn side_by_side(resolved: &Resolved, control: &Control) -> Result<RunResult, DriveError> {
    // Cancelled, a million runs to come cost nothing.
    let indices =
        (0..resolved.config.runs).into_par_iter().take_any_while(|_| !control.is_cancelled());
    if let Some(timed) = &resolved.timed {
        let runs: Result<Vec<_>, _> =
            indices.map(|index| start_clocked(resolved, timed, index, control, None)).collect();
        let (runs, warning) = lengthen(resolved, runs?, control, |runs| {
            let go_on = |run: &mut ClockedRun| run.advance(resolved, timed, control, None);
            runs.par_iter_mut().map(go_on).collect()
        })?;
        return Ok(summarise_clocked(resolved, timed, runs, warning, control));
    }
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| complete(resolved, index, control, None)).collect();
            Ok(summarise(resolved, &runs?, control.is_cancelled()))
        }
        Some(_) => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| start(resolved, index, control, None)).collect();
            let amount = resolved.plan.measured.amount;
            let (runs, warning) = lengthen(resolved, runs?, control, |runs| {
                runs.par_iter_mut().map(|run| run.advance(amount, control, None)).collect()
            })?;
            Ok(summarise_counted(resolved, runs, warning, control))
        }
    }
}

fn on_this_thread(
    resolved: &Resolved,
    control: &Control,
    poll: Poll<'_>,
) -> Result<RunResult, DriveError> {
    let indices = (0..resolved.config.runs).take_while(|_| !control.is_cancelled());
    if let Some(timed) = &resolved.timed {
        let runs: Result<Vec<_>, _> = indices
            .map(|index| start_clocked(resolved, timed, index, control, Some(&mut *poll)))
            .collect();
        let (runs, warning) = lengthen(resolved, runs?, control, |runs| {
            let go_on =
                |run: &mut ClockedRun| run.advance(resolved, timed, control, Some(&mut *poll));
            runs.iter_mut().map(go_on).collect()
        })?;
        return Ok(summarise_clocked(resolved, timed, runs, warning, control));
    }
    match resolved.config.precision {
        None => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| complete(resolved, index, control, Some(&mut *poll))).collect();
            Ok(summarise(resolved, &runs?, control.is_cancelled()))
        }
        Some(_) => {
            let runs: Result<Vec<_>, _> =
                indices.map(|index| start(resolved, index, control, Some(&mut *poll))).collect();
            let amount = resolved.plan.measured.amount;
            let (runs, warning) = lengthen(resolved, runs?, control, |runs| {
                runs.iter_mut().map(|run| run.advance(amount, control, Some(&mut *poll))).collect()
            })?;
            Ok(summarise_counted(resolved, runs, warning, control))
        }
    }
}

fn summarise_counted(
    resolved: &Resolved,
    runs: Vec<Run>,
    warning: Option<String>,
    control: &Control,
) -> RunResult {
    let runs: Vec<_> = runs.into_iter().map(Run::finish).collect();
    let mut result = summarise(resolved, &runs, control.is_cancelled());
    result.warnings.extend(warning);
    result
}

fn summarise_clocked(
    resolved: &Resolved,
    timed: &Timed,
    runs: Vec<ClockedRun>,
    warning: Option<String>,
    control: &Control,
) -> RunResult {
    let runs = runs.into_iter().map(ClockedRun::finish).collect();
    let mut result = timed::summarise(resolved, timed, runs, control.is_cancelled());
    result.warnings.extend(warning);
    result
}

/// Makes run number `index` of a drive with a clock and does its plan.
fn start_clocked(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
    control: &Control,
    mut poll: Option<Poll<'_>>,
) -> Result<ClockedRun, DriveError> {
    let mut run = ClockedRun::new(resolved, timed, index)?;
    // `as_deref_mut` would lend the callback for the whole of the run.
    while run.advance(
        resolved,
        timed,
        control,
        poll.as_mut().map(|poll| &mut **poll as Poll<'_>),
    )? && resolved.until_failure
    {}
    Ok(run)
}

/// Makes run number `index` and does its plan.
fn start(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
) -> Result<Run, DriveError> {
    let mut run = Run::new(resolved, index)?;
    let amount = resolved.plan.measured.amount;
    let mut poll = poll;
    // `as_deref_mut` would lend the callback for the whole of the run.
    while run.advance(amount, control, poll.as_mut().map(|poll| &mut **poll as Poll<'_>))?
        && resolved.until_failure
    {}
    Ok(run)
}

/// Makes run number `index`, does its plan and frees its drive.
fn complete(
    resolved: &Resolved,
    index: u32,
    control: &Control,
    poll: Option<Poll<'_>>,
) -> Result<Finished, DriveError> {
    Ok(start(resolved, index, control, poll)?.finish())
}

/// Lengthens the runs until the precision asked for is reached, if one is. Returns them, and what is to
/// be said if it was not.
fn lengthen<R: Lengthened>(
    resolved: &Resolved,
    mut runs: Vec<R>,
    control: &Control,
    mut advance: impl FnMut(&mut [R]) -> Result<Vec<bool>, DriveError>,
) -> Result<(Vec<R>, Option<String>), DriveError> {
    let Some(precision) = resolved.config.precision else { return Ok((runs, None)) };
    let mut rounds = 1;
    let mut reached = is_precise(resolved, &runs, precision);
    let ended = |runs: &[R]| runs.iter().all(R::has_ended);
    while !reached && rounds < MOST_ROUNDS && !control.is_cancelled() && !ended(&runs) {
        advance(&mut runs)?;
        rounds += 1;
        reached = is_precise(resolved, &runs, precision);
    }
    let warning = (!reached && !control.is_cancelled()).then(|| {
        format!("the precision asked for was not reached after {rounds} times the run's length")
    });
    Ok((runs, warning))
}

fn is_precise<R: Lengthened>(resolved: &Resolved, runs: &[R], precision: f64) -> bool {
    let measured: Vec<Vec<Interval>> =
        runs.iter().map(|run| kept(resolved, run.measured())).collect();
    let values: Vec<f64> =
        measured.iter().map(|intervals| Interval::amplification(intervals)).collect();
    let half = half_width(&measured, &values);
    // Before anything was erased, nothing varies yet.
    runs.iter().any(R::has_erased) && half.is_some_and(|half| half <= precision * mean(&values))
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
