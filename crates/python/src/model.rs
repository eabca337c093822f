//! Analytic models from Python: queries as JSON, answers as JSON, grids as arrays of floats.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use flashgc_base::naming::{Keywords, said};
use flashgc_base::spec::{Params, Spec, SpecError, header, suggest};
use flashgc_drive::source::is_trace;
use flashgc_experiment::options::parse_parity;
use flashgc_ftl::Frontier as WriteFrontier;
use flashgc_model::closed::Class;
use flashgc_model::closed::separation::{Cleaner, Pool};
use flashgc_model::closed::superblock;
use flashgc_model::inverse;
use flashgc_model::meanfield::{Frontier, Initial, Moment, Ties};
use flashgc_model::query::{Kept, Number, Query, Superblock, Workload};
use flashgc_model::registry::{Answer, ModelInfo, mean_field, models};
use flashgc_timed::Superblock as Members;
use flashgc_timed::words::parse_superblock;
use flashgc_workload::generate::{GeneratorSpec, generators};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors;
use crate::simulate::wait;
use crate::watch::{Control, Watch};

/// Every model: its name, documentation, the parameters that it takes and the policy that it
/// models.
#[pyfunction]
pub(crate) fn model_registry() -> String {
    let entry = |info: &ModelInfo| {
        let doc = header(info.source);
        json!({
            "name": info.name,
            "summary": doc.lines().next().unwrap_or_default(),
            "doc": doc,
            "takes": info.takes,
            "policy": info.policy,
        })
    };
    Value::from_iter(models().iter().map(entry)).to_string()
}

/// Returns the full answer of the model `name` to `query` (a JSON object), as JSON.
#[pyfunction]
pub(crate) fn model_evaluate(py: Python<'_>, name: &str, query: &str) -> PyResult<String> {
    let info = find(name)?;
    let query = read(info, query)?;
    let copy = query.clone();
    let answer = watched(py, info.slow, move |_| info.answer(&copy, &mut Kept::default()))?;
    Ok(written(info, &query, &answer.map_err(errors::config)?).to_string())
}

/// Fills `out` with write amplifications, one for each row of `columns`. The numbers of the row
/// replace those of `query`.
///
/// All arrays have one length, are C-contiguous and hold doubles. Returns the index and the error
/// of the first element that has no answer, if there is one. `threads` is 0 for one thread a core.
#[pyfunction]
pub(crate) fn model_grid(
    py: Python<'_>,
    name: &str,
    query: &str,
    columns: Vec<(String, PyBuffer<f64>)>,
    out: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<Option<(usize, String)>> {
    let info = find(name)?;
    let query = read(info, query)?;
    let out = PyBuffer::<f64>::get(out)?;
    let mut numbers = Vec::new();
    for (name, column) in columns {
        numbers.push((number(&name)?, column.to_vec(py)?));
    }
    let points = out.item_count();
    let grid = Grid { info, query, numbers };
    let work = move |stop: &AtomicBool| grid.values(points, threads, stop);
    match watched(py, info.slow || points > 1, work)? {
        Ok(values) => out.copy_from_slice(py, &values).map(|()| None),
        Err(fault) => Ok(Some(fault)),
    }
}

/// Returns the spare factor at which the model's write amplification is `wanted`.
#[pyfunction]
pub(crate) fn model_spare_for(
    py: Python<'_>,
    name: &str,
    query: &str,
    wanted: f64,
) -> PyResult<f64> {
    let info = find(name)?;
    let query = read(info, query)?;
    watched(py, info.slow, move |_| inverse::spare_for(info, &query, wanted))?
        .map_err(errors::config)
}

/// Returns the smallest number of choices, up to `most`, whose write amplification is within
/// `share` of greedy's; `None` if there is none.
#[pyfunction]
pub(crate) fn model_choices_within(
    py: Python<'_>,
    query: &str,
    share: f64,
    most: u32,
) -> PyResult<Option<u32>> {
    let info = find("meanfield")?;
    let query = read(info, query)?;
    watched(py, true, move |_| inverse::choices_within(info, &query, share, most))?
        .map_err(errors::config)
}

/// Returns three numbers for each of `points` + 1 moments: the drive writes so far, the write
/// amplification at this moment, and the mean write amplification so far.
#[pyfunction]
pub(crate) fn model_transient(
    py: Python<'_>,
    query: &str,
    initial: &str,
    drive_writes: f64,
    points: u32,
) -> PyResult<Vec<(f64, f64, f64)>> {
    let query = read(find("meanfield")?, query)?;
    let states = [("random", Initial::Random), ("sequential", Initial::Sequential)];
    let initial = word("transient", initial, &states)?;
    let moments =
        watched(py, true, move |_| mean_field::evolve(&query, &initial, drive_writes, points))?;
    let row = |moment: &Moment| {
        (moment.drive_writes, moment.write_amplification, moment.mean_write_amplification)
    };
    Ok(moments.map_err(errors::config)?.iter().map(row).collect())
}

/// Runs `work`, and checks for signals meanwhile if the work is `slow`. `work` gets a flag that
/// stops it.
///
/// After Ctrl-C this returns at once. The work ends on its own when it next reads the flag.
fn watched<T: Send + 'static>(
    py: Python<'_>,
    slow: bool,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    if !slow {
        return Ok(py.detach(|| work(&stop)));
    }
    let stopped = Arc::clone(&stop);
    let worker = thread::spawn(move || work(&stopped));
    let control = Control::default();
    let mut watch = Watch::new(&control, None);
    py.detach(|| {
        while !worker.is_finished() && watch.failed.is_none() {
            wait(|| worker.is_finished());
            watch.look();
        }
    });
    if let Some(error) = watch.failed {
        stop.store(true, Ordering::Relaxed);
        return Err(error);
    }
    Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// One query, repeated with different numbers.
struct Grid {
    info: &'static ModelInfo,
    query: Query,
    numbers: Vec<(Number, Vec<f64>)>,
}

impl Grid {
    /// Computes the write amplification at each of `points`. Returns the first point that has none.
    fn values(
        &self,
        points: usize,
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<f64>, (usize, String)> {
        let mut values = vec![0.0; points];
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads }.min(points);
        // Chunks are small, so that no core waits long for the others, however slow the model is.
        let size = (points / (threads.max(1) * 64)).clamp(1, 1024);
        let fault = Mutex::new(None);
        let failed = AtomicBool::new(false);
        let chunks = Mutex::new(values.chunks_mut(size).enumerate());
        let next = || chunks.lock().ok()?.next();
        let work = || {
            let (mut query, mut kept) = (self.query.clone(), Kept::default());
            // Chunks are given out in order, so that the first of all faults is found.
            while !failed.load(Ordering::Relaxed) {
                let Some((index, chunk)) = next() else { break };
                let filled = self.fill(index * size, chunk, stop, &mut query, &mut kept);
                if let Err((at, what)) = filled {
                    failed.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = fault.lock()
                        && first.as_ref().is_none_or(|(earlier, _)| at < *earlier)
                    {
                        *first = Some((at, what));
                    }
                }
            }
        };
        if threads <= 1 {
            work();
        } else {
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            });
        }
        fault.into_inner().unwrap_or_default().map_or(Ok(values), Err)
    }

    fn fill(
        &self,
        first: usize,
        chunk: &mut [f64],
        stop: &AtomicBool,
        query: &mut Query,
        kept: &mut Kept,
    ) -> Result<(), (usize, String)> {
        for (at, value) in (first..).zip(chunk) {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let set = |&(number, ref column): &(Number, Vec<f64>)| query.set(number, column[at]);
            *value = self
                .numbers
                .iter()
                .try_for_each(set)
                .and_then(|()| self.info.write_amplification(query, kept))
                .map_err(|error| (at, error.to_string()))?;
        }
        Ok(())
    }
}

/// Returns the model called `name`. For an unknown name, the error has a suggestion.
fn find(name: &str) -> PyResult<&'static ModelInfo> {
    models().iter().find(|info| info.name == name).ok_or_else(|| {
        let hint = suggest(name, models().iter().map(|info| info.name));
        errors::config(SpecError::new(format!("unknown model '{name}'"), hint))
    })
}

fn number(name: &str) -> PyResult<Number> {
    Number::named(name).ok_or_else(|| {
        let hint = suggest(name, Number::NAMES.iter().map(|(known, _)| *known));
        errors::config(SpecError::new(format!("unknown parameter '{name}'"), hint))
    })
}

/// Parses a query of a model, a JSON object of texts. Numbers that it leaves out have their
/// defaults.
fn read(info: &ModelInfo, text: &str) -> PyResult<Query> {
    let mut query = info.query();
    let values: Map<String, Value> = serde_json::from_str(text).map_err(errors::config)?;
    // The workload comes first: it sets defaults that the other values may replace.
    if let Some(text) = values.get("workload").and_then(Value::as_str) {
        workload(&mut query, text)?;
    }
    query.superblock = joined(&values)?;
    for (name, value) in &values {
        match (name.as_str(), value.as_str()) {
            ("workload" | "superblock" | "parity", Some(_)) => {}
            ("frontier", Some(text)) if info.has_superblocks() => {
                query.superblock_frontier = few(write_frontier(text)?);
            }
            ("frontier", Some(text)) => query.frontier = frontier(info, text)?,
            ("ties", Some(text)) => {
                query.ties =
                    word(name, text, &[("random", Ties::Random), ("latest", Ties::Latest)])?;
            }
            ("cleaner", Some(text)) => query.cleaner = word(name, text, &CLEANERS)?,
            // Numbers are texts too, because a number in JSON may lose its last digit.
            (_, text) => {
                let number = number(name)?;
                let value = text.and_then(|text| text.parse().ok()).ok_or_else(|| {
                    errors::config(format!("{name}: found {value}, expected a number"))
                })?;
                query.set(number, value).map_err(errors::config)?;
            }
        }
    }
    Ok(query)
}

/// Reads the blocks that a superblock joins, and its parity, as `flashgc run` does.
fn joined(values: &Map<String, Value>) -> PyResult<Superblock> {
    let text = |name: &str| values.get(name).and_then(Value::as_str);
    let wrong = |error: SpecError| errors::config(said(&error.to_string(), &Keywords));
    let members = text("superblock").map_or(Ok(Members::Plane), parse_superblock).map_err(wrong)?;
    let (dies, planes) = match members {
        Members::Plane => (1, 1),
        Members::Of { dies, planes } => (dies, planes),
        Members::Die => {
            return Err(errors::config(SpecError::new(
                "superblock: found 'die', expected plane or dies=N,planes=N: the model has no dies",
                "superblock=\"dies=1,planes=4\"",
            )));
        }
    };
    let parity = text("parity").map_or(Ok(None), parse_parity).map_err(wrong)?;
    Superblock::new(dies, planes, parity).map_err(errors::config)
}

/// Reads a write frontier, as `flashgc run` does.
fn write_frontier(text: &str) -> PyResult<WriteFrontier> {
    WriteFrontier::parse(text).map_err(|error| errors::config(format!("frontier: {error}")))
}

/// The frontier of superblocks that the model knows for each of the simulator.
fn few(frontier: WriteFrontier) -> superblock::Frontier {
    match frontier {
        WriteFrontier::Single => superblock::Frontier::Single,
        WriteFrontier::Double => superblock::Frontier::Double,
        WriteFrontier::Compact => superblock::Frontier::Compact,
        WriteFrontier::Pool { low } => superblock::Frontier::Pool { low },
        WriteFrontier::Mixed { low } => superblock::Frontier::Mixed { low },
    }
}

/// Reads the frontier of a model of infinitely many blocks.
fn frontier(info: &ModelInfo, text: &str) -> PyResult<Frontier> {
    let words = [("single", Frontier::Single), ("double", Frontier::Double)];
    if words.iter().all(|(word, _)| *word != text) && WriteFrontier::parse(text).is_ok() {
        return Err(errors::config(SpecError::new(
            format!(
                "frontier: found '{text}', expected single or double: {} has infinitely many blocks, \
                 of which a pool is no part",
                info.name
            ),
            "flashgc model superblock, which is greedy with finitely many blocks",
        )));
    }
    word("frontier", text, &words)
}

const CLEANERS: [(&str, Cleaner); 3] =
    [("fifo", Cleaner::Fifo), ("greedy", Cleaner::Greedy), ("desnoyers", Cleaner::Desnoyers)];

fn word<T: Clone>(what: &str, text: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(word, _)| *word == text).map(|(_, value)| value.clone()).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let message = format!("{what}: found '{text}', expected {}", words.join(", "));
        errors::config(SpecError::new(message, suggest(text, words)))
    })
}

/// Parses a workload as `flashgc run` does. Models know the page frequencies of only some
/// workloads.
fn workload(query: &mut Query, text: &str) -> PyResult<()> {
    let wrong = |message: String, hint: &str| {
        errors::config(SpecError::new(format!("workload: {message}"), hint))
    };
    if is_trace(text) {
        return Err(wrong(format!("found the trace '{text}', expected a generator"), KNOWN));
    }
    let whole =
        GeneratorSpec::parse(text).map_err(|error| errors::config(format!("workload: {error}")))?;
    let spec = Spec::parse(text).map_err(errors::config)?;
    let info = generators().iter().find(|info| info.name == spec.name);
    let Some(info) = info else {
        return Err(wrong(format!("found the mixture '{whole}', expected one generator"), KNOWN));
    };
    let params = Params::resolve(&spec, info.params).map_err(errors::config)?;
    if !info.decides_ops() && params.real("trim") > 0.0 {
        return Err(wrong(format!("found '{text}', expected no TRIM"), "the models have no TRIM"));
    }
    // Uniform writes to a part of the drive are a different workload. The `run` parameter changes
    // only the places of pages.
    let differs = |name: &str, usual: f64| {
        info.params.iter().any(|param| param.name == name) && params.real(name) != usual
    };
    if differs("from", 0.0) || differs("to", 1.0) {
        let hint = "leave out from= and to=: the models write all of the drive";
        return Err(wrong(format!("found '{text}', expected writes to all pages"), hint));
    }
    if whole.has_sizes() {
        let hint = "leave out size= and align=: the models write whole pages";
        return Err(wrong(format!("found '{text}', expected writes of single pages"), hint));
    }
    if info.name == "classes" && params.integer("burst") > 1 {
        let hint = "leave out burst=: flashgc run simulates it";
        return Err(wrong(format!("found '{text}', expected independent writes"), hint));
    }
    let set = |query: &mut Query, number, name| {
        query.set(number, params.real(name)).map_err(errors::config)
    };
    query.workload = match info.name {
        "uniform" => Workload::Uniform,
        "hotcold" => {
            set(query, Number::F, "f")?;
            set(query, Number::R, "r")?;
            Workload::HotCold
        }
        "zipf" => {
            set(query, Number::Theta, "theta")?;
            Workload::Zipf
        }
        "classes" => Workload::Classes(classes(&params)?),
        other => return Err(wrong(format!("found '{other}', for which there is no model"), KNOWN)),
    };
    Ok(())
}

const KNOWN: &str =
    "models know uniform, hotcold, zipf and classes; flashgc run simulates the others";

/// The page classes of a generator. Its parameters are proportions.
fn classes(params: &Params) -> PyResult<Vec<Class>> {
    let shares = |name: &str| -> PyResult<Vec<f64>> {
        let parts: Result<Vec<f64>, _> =
            params.text(name).split('/').map(|part| part.trim().parse::<f64>()).collect();
        let parts = parts.map_err(|error| errors::config(format!("{name}: {error}")))?;
        let total: f64 = parts.iter().sum();
        Ok(parts.iter().map(|part| part / total).collect())
    };
    let (pages, writes) = (shares("pages")?, shares("shares")?);
    Ok(pages.into_iter().zip(writes).map(|(pages, writes)| Class { pages, writes }).collect())
}

/// Returns the answer, with its query, as JSON.
fn written(info: &ModelInfo, query: &Query, answer: &Answer) -> Value {
    let pool = |pool: &Pool| {
        json!({
            "pages": pool.class.pages,
            "writes": pool.class.writes,
            "spare_factor": pool.spare,
            "write_amplification": pool.write_amplification,
        })
    };
    let mut document = json!({
        "model": info.name,
        "write_amplification": answer.write_amplification,
        "residual": answer.residual,
        "valid": answer.valid,
        "victim": answer.victim,
        "memory": answer.memory,
        "config": config(info, query),
        "version": flashgc_experiment::VERSION,
    });
    if let Some(pools) = &answer.pools {
        document["pools"] = pools.iter().map(pool).collect();
    }
    if let Some(solution) = &answer.superblocks {
        let data_share = query.superblock.data_share();
        document["superblocks"] = json!({
            "count": query.superblock_count(),
            "data_pages": solution.pages,
            "out_of_play": solution.out_of_play,
            "spare_in_play": solution.spare_in_play,
            "spare_of_flash": 1.0 - (1.0 - query.get(Number::Spare)) * data_share,
            "write_amplification_with_parity":
                query.superblock.parity().map(|_| solution.write_amplification / data_share),
        });
    }
    document
}

/// The parameters that affect the answer.
fn config(info: &ModelInfo, query: &Query) -> Value {
    let spare = query.get(Number::Spare);
    let mut config = json!({
        "pages_per_block": query.get(Number::PagesPerBlock) as u64,
        "spare_factor": spare,
        "overprovision": spare / (1.0 - spare),
    });
    let whole = |number| Value::from(query.get(number) as u64);
    for &name in info.takes {
        config[name] = match name {
            "d" => whole(Number::D),
            "c" => whole(Number::C),
            "window" => query.get(Number::Window).into(),
            "workload" => workload_text(query).into(),
            "superblock" => superblock_text(&query.superblock).into(),
            "parity" => {
                query.superblock.parity().map_or("none".into(), |n| format!("1/{n}").into())
            }
            "frontier" if info.has_superblocks() => frontier_text(query.superblock_frontier).into(),
            "frontier" if query.frontier == Frontier::Double => "double".into(),
            "frontier" => "single".into(),
            "ties" if query.ties == Ties::Latest => "latest".into(),
            "ties" => "random".into(),
            "cleaner" => CLEANERS
                .iter()
                .find(|(_, cleaner)| *cleaner == query.cleaner)
                .map_or(Value::Null, |&(word, _)| word.into()),
            "blocks" if info.has_superblocks() => {
                (u64::from(query.superblock_count()) * u64::from(query.superblock.blocks())).into()
            }
            // Only for Zipf does the answer depend on the number of pages.
            "blocks" if query.workload == Workload::Zipf => whole(Number::Blocks),
            _ => continue,
        };
    }
    config
}

/// Returns the members of a superblock as a user can type them.
fn superblock_text(superblock: &Superblock) -> String {
    match (superblock.dies(), superblock.planes()) {
        (1, 1) => "plane".into(),
        (dies, planes) => format!("dies={dies},planes={planes}"),
    }
}

/// Returns the frontier of superblocks as a user can type it.
fn frontier_text(frontier: superblock::Frontier) -> String {
    let frontier = match frontier {
        superblock::Frontier::Single => WriteFrontier::Single,
        superblock::Frontier::Double => WriteFrontier::Double,
        superblock::Frontier::Compact => WriteFrontier::Compact,
        superblock::Frontier::Pool { low } => WriteFrontier::Pool { low },
        superblock::Frontier::Mixed { low } => WriteFrontier::Mixed { low },
    };
    frontier.to_string()
}

/// Returns the workload as a user can type it.
fn workload_text(query: &Query) -> String {
    let join = |of: fn(&Class) -> f64, classes: &[Class]| {
        classes.iter().map(|class| of(class).to_string()).collect::<Vec<_>>().join("/")
    };
    match &query.workload {
        Workload::Uniform => "uniform".into(),
        Workload::HotCold => {
            format!("hotcold:f={},r={}", query.get(Number::F), query.get(Number::R))
        }
        Workload::Zipf => format!("zipf:theta={}", query.get(Number::Theta)),
        Workload::Classes(classes) => format!(
            "classes:pages={},shares={}",
            join(|class| class.pages, classes),
            join(|class| class.writes, classes)
        ),
    }
}
