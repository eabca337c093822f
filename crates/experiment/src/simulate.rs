//! The entrance: configurations in, results out. Runs use all cores, side by side. The results are
//! exactly the same on one core.

use std::sync::atomic::Ordering;

use flashgc_drive::error::DriveError;
use flashgc_drive::settling::SettlingLevel;
use flashgc_drive::stats::{Interval, mean};
use flashgc_ftl::FtlError;
use rayon::prelude::*;

use crate::checkpoint::{Keeper, Restored, Turns};
use crate::config::Resolved;
use crate::control::Caller;
pub use crate::control::{Control, Poll};
use crate::findings::{self, Finding};
use crate::finished::Remains;
use crate::measured::kept;
use crate::memory::threads_that_fit;
use crate::result::RunResult;
use crate::run::Run;
use crate::summary::{half_width, summarise};

/// The number of threads per core above which more threads need memory but give no speed.
const MOST_THREADS_A_CORE: usize = 4;

/// The maximum number of rounds of a run that is lengthened until it reaches a precision.
const MOST_ROUNDS: u32 = 100;

/// A function that is called with the index of a configuration and its result when its runs have
/// ended. The calls come from any thread, in any order.
pub type OnResult<'a> = &'a (dyn Fn(usize, &RunResult) + Sync);

/// Runs every configuration. Results are in the order of `configurations`. Each result is also
/// reported to `on_result` as soon as it is complete, unless its runs were stopped.
///
/// At most `threads` runs are executed at once (0: one a core). There are fewer if there are not as
/// many runs, or if the memory is too small. Configurations with an external policy stay on the
/// calling thread, which calls `poll` every few batches. With a `keeper`, runs continue from their
/// stored states and are stored again; then there must be only one configuration.
///
/// # Errors
/// Fails if the memory is too small for the drives, or if runs cannot continue from the checkpoint.
/// Also returns the errors of a layer or a workload.
pub fn simulate(
    configurations: &[Resolved],
    threads: usize,
    control: &Control,
    poll: Poll<'_>,
    on_result: OnResult<'_>,
    keeper: Option<&Keeper>,
) -> Result<Vec<RunResult>, DriveError> {
    debug_assert!(keeper.is_none() || configurations.len() == 1, "a keeper has one configuration");
    let (threads, a_run) = threads_for(configurations, threads)?;
    let tell = |index: usize, mut result: RunResult| {
        result
            .findings
            .extend(keeper.and_then(Keeper::failed).map(|text| findings::not_kept(&text)));
        if !result.interrupted {
            on_result(index, &result);
        }
        result
    };
    let mut one_by_one = || {
        let each = configurations.iter().enumerate();
        each.map(|(index, resolved)| {
            Ok(tell(index, simulate_one(resolved, control, Some(&mut *poll), keeper, 1)?))
        })
        .collect()
    };
    if configurations.iter().any(Resolved::is_external) {
        return one_by_one();
    }
    // This call has its own pool, so that the number of threads does not depend on earlier calls.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool {
        Ok(pool) => pool.install(|| {
            let each = configurations.par_iter().enumerate();
            each.map(|(index, resolved)| {
                Ok(tell(index, simulate_one(resolved, control, None, keeper, a_run)?))
            })
            .collect()
        }),
        // No threads can be made: the runs are executed one after the other, with the same results.
        Err(_) => one_by_one(),
    }
}

/// Returns the number of runs that are executed side by side, and the number of threads of each
/// run. `wanted` is the number of threads that the caller gives. It is reduced to what the cores
/// can use and the memory can hold. Results do not depend on these numbers.
fn threads_for(configurations: &[Resolved], wanted: usize) -> Result<(usize, usize), DriveError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runs: u64 = configurations.iter().map(|resolved| u64::from(resolved.config.runs)).sum();
    let external = configurations.iter().any(Resolved::is_external);
    let threads = if external { 1 } else { useful_threads(wanted, cores, runs) };
    let threads = threads_that_fit(configurations, threads).map_err(FtlError::from)?;
    let wanted = if wanted == 0 || external { cores } else { wanted.min(cores) };
    Ok((threads, (wanted / threads).max(1)))
}

fn useful_threads(wanted: usize, cores: usize, runs: u64) -> usize {
    let wanted = if wanted == 0 { cores } else { wanted.min(MOST_THREADS_A_CORE * cores) };
    wanted.min(usize::try_from(runs).unwrap_or(usize::MAX)).max(1)
}

/// Simulates the runs of one configuration: on the calling thread if there is a `poll`, otherwise
/// side by side.
fn simulate_one(
    resolved: &Resolved,
    control: &Control,
    poll: Option<Poll<'_>>,
    keeper: Option<&Keeper>,
    threads: usize,
) -> Result<RunResult, DriveError> {
    // With a keeper, threads are always allowed, so that a checkpoint does not depend on the number
    // of threads.
    let threads = (threads > 1 || keeper.is_some()).then_some(threads);
    let (runs, missed) = Runs { resolved, control, keeper, threads }.carry_out(poll)?;
    let mut result = summarise(resolved, runs, control.is_cancelled());
    result.findings.extend(missed);
    Ok(result)
}

/// The runs of one configuration.
struct Runs<'a> {
    resolved: &'a Resolved,
    control: &'a Control,
    keeper: Option<&'a Keeper>,
    /// The number of threads of each run; `None` if a run may not use threads.
    threads: Option<usize>,
}

impl<'a> Runs<'a> {
    /// Executes the runs. Returns their figures, and a finding if they are less precise than
    /// required.
    fn carry_out(
        &self,
        mut poll: Option<Poll<'_>>,
    ) -> Result<(Vec<Remains>, Option<Finding>), DriveError> {
        let Self { resolved, control, keeper, .. } = self;
        let Some(precision) = resolved.config.precision else {
            return Ok((self.each(poll, &|index, poll| self.complete(index, poll))?, None));
        };
        let lent = poll.as_mut().map(|poll| &mut **poll as Poll<'_>);
        let mut runs = self.each(lent, &|index, poll| self.start(index, poll))?;
        let mut rounds = keeper.map_or(1, |keeper| keeper.rounds().max(1));
        let mut reached = is_precise(resolved, &runs, precision);
        let ended = |runs: &[Run]| {
            runs.iter().all(Run::has_ended) || runs.iter().any(|run| run.is_longest(resolved))
        };
        while !reached && rounds < MOST_ROUNDS && !control.is_cancelled() && !ended(&runs) {
            match &mut poll {
                Some(poll) => (0..).zip(&mut runs).try_for_each(|(index, run)| {
                    run.advance(resolved, &mut self.caller(index, Some(&mut **poll))).map(drop)
                })?,
                None => runs.par_iter_mut().enumerate().try_for_each(|(index, run)| {
                    run.advance(resolved, &mut self.caller(index as u32, None)).map(drop)
                })?,
            }
            rounds += 1;
            reached = is_precise(resolved, &runs, precision);
        }
        for (index, run) in (0..).zip(&runs) {
            run.store_done(&mut Turns::new(*keeper, index));
        }
        let missed = (!reached && !control.is_cancelled())
            .then(|| findings::precision_missed(u64::from(rounds)));
        Ok((runs.into_iter().map(|run| run.finish(resolved)).collect(), missed))
    }

    /// Calls `of` with the number of each run and returns the results: on the calling thread if
    /// there is a `poll`, otherwise side by side. After a cancel, the runs that have not begun are
    /// skipped at once.
    fn each<T: Send>(
        &self,
        poll: Option<Poll<'_>>,
        of: &(impl Fn(u32, Option<Poll<'_>>) -> Result<T, DriveError> + Sync),
    ) -> Result<Vec<T>, DriveError> {
        let indices = 0..self.resolved.config.runs;
        match poll {
            Some(poll) => {
                let indices = indices.take_while(|_| !self.control.is_cancelled());
                indices.map(|index| of(index, Some(&mut *poll))).collect()
            }
            None => {
                let indices = indices.into_par_iter();
                let indices = indices.take_any_while(|_| !self.control.is_cancelled());
                indices.map(|index| of(index, None)).collect()
            }
        }
    }

    fn caller<'p>(&self, index: u32, poll: Option<Poll<'p>>) -> Caller<'a, 'p> {
        Caller { control: self.control, poll, turns: Turns::new(self.keeper, index) }
    }

    /// Makes run number `index`, restores its state if the keeper has one, and executes it by its
    /// plan. A run that is lengthened together with others gets the highest number of rounds that
    /// the keeper has.
    fn start(&self, index: u32, poll: Option<Poll<'_>>) -> Result<Run, DriveError> {
        let Self { resolved, control, .. } = self;
        let mut run = Run::new(resolved, index, self.threads)?;
        // Runs with a rule are lengthened one by one; other runs may have been lengthened together.
        let alone = resolved.plan.rule.is_some() || resolved.plan.doubling.is_some();
        let mut rounds = 1;
        if let Some(keeper) = self.keeper {
            if let Restored::Done = keeper.restore(index, &mut run)? {
                return Err(DriveError::checkpoint(
                    "checkpoint: a run to lengthen is done".to_string(),
                ));
            }
            rounds = if alone { 1 } else { keeper.rounds().max(1) };
        }
        let mut caller = self.caller(index, poll);
        let mut goes_on = run.is_due(rounds);
        while goes_on {
            let reached = run.advance(resolved, &mut caller)?;
            let goes_on_to_fail = reached && run.has_erased();
            goes_on = !control.is_cancelled()
                && match alone {
                    _ if resolved.until_failure => goes_on_to_fail,
                    true => reached && run.needs_another(resolved),
                    false => run.is_due(rounds),
                };
        }
        Ok(run)
    }

    /// Makes run number `index`, executes its plan and frees its drive.
    fn complete(&self, index: u32, poll: Option<Poll<'_>>) -> Result<Remains, DriveError> {
        let Self { resolved, control, keeper, .. } = self;
        if let Some(keeper) = keeper
            && let Some(remains) = keeper.done(index, resolved.timed.is_some())?
        {
            control.done.fetch_add(Control::RUN, Ordering::Relaxed);
            return Ok(remains);
        }
        let run = self.start(index, poll)?;
        let stopped = run.is_due(1);
        let remains = run.finish(resolved);
        if let Some(keeper) = keeper
            && !stopped
        {
            keeper.keep_done(index, &remains);
        }
        Ok(remains)
    }
}

fn is_precise(resolved: &Resolved, runs: &[Run], precision: f64) -> bool {
    let measured: Vec<Vec<Interval>> =
        runs.iter().map(|run| kept(resolved, run.measured())).collect();
    let values: Vec<f64> =
        measured.iter().map(|intervals| Interval::amplification(intervals)).collect();
    let levels: Option<Vec<SettlingLevel>> = match resolved.has_levels() {
        true => runs.iter().map(|run| run.level(resolved)).collect(),
        false => None,
    };
    let half = half_width(resolved, &measured, &values, levels.as_deref());
    // Before the first erase, write amplification does not vary, so its interval means nothing.
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
