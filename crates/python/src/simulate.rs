//! Runs from Python. The calling thread checks for signals while the engine's threads run. If a
//! policy is written in Python, the calling thread runs the drive itself.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use flashgc_base::naming::{Keywords, Names};
use flashgc_base::sync::lock;
use flashgc_experiment::checkpoint::{self, CheckpointFiles, Keeper};
use flashgc_experiment::compare::{Rank, compare as rank};
use flashgc_experiment::config::{Outside, Resolved};
use flashgc_experiment::findings::{self, Finding};
use flashgc_experiment::input;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::simulate as run_all;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{self, Raised};
use crate::json::to_json;
use crate::outside::{Written, loaded, need_python};
use crate::places::At;
use crate::sources::{self, Instead};
use crate::watch::{Control, POLL, Watch};

/// The parts of runs that are outside their configurations: policies in Python by the index of
/// their configuration, the place for their exceptions, and the file that is read instead of the
/// trace.
#[derive(Default)]
struct External {
    policies: Vec<(usize, Outside)>,
    /// True if any of them runs in the interpreter, which only one thread may use.
    is_python: bool,
    raised: Raised,
    instead: Option<Instead>,
}

/// Runs `configs` (a JSON list) on `threads` threads (0: one a core). Returns the results and their
/// ranking as JSON.
///
/// - `policies` has, by the index of a configuration, its policies in Python: `victim` or
///   `placement` to `(name, policy)`.
/// - `poll` is called about every 50 ms.
/// - `on_result` is called with the index of a configuration in `configs` and the JSON of its
///   result, when that result is complete.
/// - `keep` is for a single configuration: the path of its checkpoints, the seconds from one
///   checkpoint to the next, and the checkpoint to continue from.
/// - With `leave_out`, configurations that are not possible are listed with their reasons, and the
///   others run. If no configuration is possible, that is an error unless `or_none` is set.
/// - `instead` is the file that is read instead of the trace in the configurations, and whether the
///   file is a volume of that trace.
/// - `places` are the places of the options that the configurations were made of.
#[pyfunction]
#[pyo3(signature = (configs, threads, control, poll=None, policies=None, on_result=None, keep=None,
                    leave_out=false, or_none=false, instead=None, places=None))]
#[allow(clippy::too_many_arguments)] // it is called by name, in one place
pub(crate) fn simulate(
    py: Python<'_>,
    configs: &str,
    threads: usize,
    control: &Control,
    poll: Option<Py<PyAny>>,
    policies: Option<&Bound<'_, PyDict>>,
    on_result: Option<Py<PyAny>>,
    keep: Option<Keep>,
    leave_out: bool,
    or_none: bool,
    instead: Option<(PathBuf, bool)>,
    places: Option<At>,
) -> PyResult<String> {
    let names = places.unwrap_or_default().0;
    let instead = instead.map(|(file, is_volume)| Instead { file, is_volume });
    let mut external = External { instead, ..External::default() };
    for (index, policy) in policies.into_iter().flatten() {
        let written: Written<'_> = policy.extract()?;
        external.is_python |= need_python(&written);
        external.policies.push((index.extract()?, loaded(written, &external.raised)?));
    }
    let mut watch = Watch::new(control, poll).named(names.clone());
    let configs: Vec<RunConfig> = serde_json::from_str(configs).map_err(errors::config)?;
    let ResolvedAll { resolved, notes, indices, left_out } =
        resolve_all(py, &configs, &external, &mut watch, leave_out, or_none, &names)?;
    let keeper = keep.map(|keep| keeper(keep, &configs, &resolved, &names)).transpose()?;
    let keeper = keeper.as_ref();
    let engine = &control.engine;
    let (notes_of, results) = (&notes, Mutex::default());
    let complete = Complete {
        notes: notes_of,
        names: &names,
        indices: &indices,
        callback: on_result,
        results,
    };
    let keep = |index: usize, result: &RunResult| complete.keep(index, result);
    let results = if !external.is_python {
        py.detach(|| {
            std::thread::scope(|scope| {
                let run = || run_all(&resolved, threads, engine, &mut || (), &keep, keeper);
                // `at_work` is dropped when the runs end, so that short runs need not wait for a
                // poll.
                let (at_work, end) = mpsc::channel::<()>();
                let runs = scope.spawn(move || {
                    let results = run();
                    drop(at_work);
                    results
                });
                while end.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    watch.look();
                    complete.deliver(&mut watch);
                }
                runs.join()
            })
        })
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    } else {
        let mut poll = || {
            watch.look();
            complete.deliver(&mut watch);
        };
        run_all(&resolved, 1, engine, &mut poll, &keep, keeper)
    };
    complete.deliver(&mut watch);
    if let Some(error) = watch.failed {
        return Err(error);
    }
    if let Some(error) = lock(&external.raised).take() {
        return Err(error);
    }
    let mut results = results.map_err(|error| errors::drive(&error, &names))?;
    for (resolved, result) in resolved.iter().zip(&results) {
        write_timeline(resolved, result)?;
    }
    for (result, notes) in results.iter_mut().zip(notes) {
        result.findings.extend(notes);
        result.name_options(&names);
    }
    to_json(&Simulated { ranking: rank(&results), results, left_out })
}

/// Returns the ranking, as JSON, of earlier results (a JSON list; each has a write amplification).
#[pyfunction]
pub(crate) fn ranking(results: &str) -> PyResult<String> {
    let results: Vec<RunResult> = serde_json::from_str(results).map_err(errors::config)?;
    to_json(&rank(&results))
}

/// The path for checkpoints, the seconds from one to the next, and the checkpoint to continue from.
type Keep = (Option<PathBuf>, Option<f64>, Option<PathBuf>);

fn keeper(
    (write, every, resume): Keep,
    configs: &[RunConfig],
    resolved: &[Resolved],
    names: &dyn Names,
) -> PyResult<Keeper> {
    let every = every.map(Duration::try_from_secs_f64).transpose().map_err(errors::config)?;
    let ([config], [resolved]) = (configs, resolved) else {
        return Err(errors::config("a checkpoint holds one configuration; hint: flashgc run"));
    };
    let places = CheckpointFiles { write, every, resume };
    Keeper::new(&places, config, resolved).map_err(|error| errors::drive(&error, names))
}

/// Returns the configuration in the checkpoint at `path`, as JSON.
#[pyfunction]
pub(crate) fn checkpoint_config(path: PathBuf) -> PyResult<String> {
    let subject = checkpoint::subject(&path).map_err(|error| errors::drive(&error, &Keywords))?;
    to_json(&subject.config)
}

/// Writes the timeline of a drive with a clock, if the configuration has one.
fn write_timeline(resolved: &Resolved, result: &RunResult) -> PyResult<()> {
    if let Some(timed) = &resolved.config.timed
        && let (Some(wanted), Some(timeline)) = (&timed.timeline, &result.timeline)
    {
        timeline.write(BufWriter::new(File::create(&wanted.file)?))?;
    }
    Ok(())
}

/// Complete results that wait for the calling thread, because only that thread calls Python.
struct Complete<'a> {
    /// Notes on the workload of each configuration.
    notes: &'a [Vec<Finding>],
    /// The form in which the user writes options.
    names: &'a input::Places,
    /// The index of each configuration in the call.
    indices: &'a [usize],
    callback: Option<Py<PyAny>>,
    results: Mutex<Vec<(usize, RunResult)>>,
}

impl Complete<'_> {
    fn keep(&self, index: usize, result: &RunResult) {
        if self.callback.is_some() {
            let mut result = result.clone();
            result.findings.extend(self.notes[index].iter().cloned());
            result.name_options(self.names);
            lock(&self.results).push((self.indices[index], result));
        }
    }

    /// Calls the callback with the results that are complete. Its exception cancels the runs, like
    /// an exception of `poll`.
    fn deliver(&self, watch: &mut Watch<'_>) {
        let Some(callback) = &self.callback else { return };
        for (index, result) in std::mem::take(&mut *lock(&self.results)) {
            let delivered = Python::attach(|py| {
                callback.call1(py, (index, to_json(&result)?))?;
                Ok::<_, PyErr>(())
            });
            if let Err(error) = delivered {
                watch.fail(error);
            }
        }
    }
}

/// The results with their ranking. They are ranked here and not from the JSON, because a run
/// stopped in its warm-up has no write amplification, and JSON has no NaN.
#[derive(serde::Serialize)]
struct Simulated {
    results: Vec<RunResult>,
    ranking: Vec<Rank>,
    left_out: Vec<LeftOut>,
}

/// A configuration that is not possible.
#[derive(serde::Serialize)]
struct LeftOut {
    /// The index of the configuration in the call.
    index: usize,
    /// The error of the configuration, in one line.
    reason: String,
}

/// Resolved configurations, and notes on how the workload of each was read.
#[derive(Default)]
struct ResolvedAll {
    resolved: Vec<Resolved>,
    notes: Vec<Vec<Finding>>,
    /// The index of each resolved configuration in the call.
    indices: Vec<usize>,
    left_out: Vec<LeftOut>,
}

/// Resolves the configurations. A configuration that is not possible is an error. With `leave_out`
/// it is left out instead, if another configuration is possible or `or_none` is set. Errors name
/// options as `names` does.
fn resolve_all(
    py: Python<'_>,
    configs: &[RunConfig],
    external: &External,
    watch: &mut Watch<'_>,
    leave_out: bool,
    or_none: bool,
    names: &dyn Names,
) -> PyResult<ResolvedAll> {
    let mut all = ResolvedAll::default();
    let mut first = None;
    for (index, (config, opened)) in configs
        .iter()
        .zip(sources::open(py, configs, watch, external.instead.as_ref())?)
        .enumerate()
    {
        let outside = external.policies.iter().find(|(at, _)| *at == index);
        let outside = outside.map(|(_, outside)| outside.clone());
        match Resolved::new(config, opened.source, outside) {
            Ok(resolved) => {
                all.resolved.push(resolved);
                all.notes.push(opened.notes.iter().map(|text| findings::as_read(text)).collect());
                all.indices.push(index);
            }
            Err(error) if leave_out => {
                all.left_out.push(LeftOut { index, reason: error.said(names) });
                first.get_or_insert(error);
            }
            Err(error) => return Err(errors::ftl(&error, names)),
        }
    }
    if let Some(error) = first.filter(|_| all.resolved.is_empty() && !or_none) {
        return Err(errors::ftl(&error, names));
    }
    // No note is needed if one of the drives heeds hints: the user then compares it with the
    // others.
    if all.resolved.iter().all(|resolved| !resolved.hints().1) {
        for (resolved, notes) in all.resolved.iter().zip(&mut all.notes) {
            if resolved.hints().0 {
                notes.push(findings::hints_without_effect());
            }
        }
    }
    Ok(all)
}

/// Waits until `done` returns `true`, at most one poll interval. Short work is noticed early.
pub(crate) fn wait(done: impl Fn() -> bool) {
    let mut slept = Duration::ZERO;
    let mut nap = Duration::from_micros(200);
    while slept < POLL && !done() {
        std::thread::sleep(nap);
        slept += nap;
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}
