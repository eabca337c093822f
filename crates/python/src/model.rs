//! Analytic models from Python: queries as JSON, answers as JSON, grids as arrays of floats.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flashgc_ftl::spec::{Params, Spec, SpecError, header, suggest};
use flashgc_model::closed::Class;
use flashgc_model::closed::separation::{Cleaner, Pool};
use flashgc_model::inverse;
use flashgc_model::meanfield::Ties;
use flashgc_model::query::{Frontier, Kept, Number, Query, Workload};
use flashgc_model::registry::{Answer, ModelInfo, models};
use flashgc_workload::generate::{GeneratorSpec, generators};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors;
use crate::simulate::wait;
use crate::sources::is_trace;
use crate::watch::{Control, Watch};

/// Every model: its name, documentation, the parameters that it takes and the policy it is of.
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

/// All that the model `name` says of `query` (a JSON object), as JSON.
#[pyfunction]
pub(crate) fn model_evaluate(py: Python<'_>, name: &str, query: &str) -> PyResult<String> {
    let (info, query) = (find(name)?, read(query)?);
    let answer = py.detach(|| info.answer(&query, &mut Kept::default())).map_err(errors::config)?;
    Ok(written(info, &query, &answer).to_string())
}

/// Fills `out` with write amplifications: of `query` with each number of `columns` in turn.
///
/// All arrays are of one length, C-contiguous and of doubles. Returns the index and the fault of
/// the first element that has no answer, if there is one. `threads` is 0 for one a core.
#[pyfunction]
pub(crate) fn model_grid(
    py: Python<'_>,
    name: &str,
    query: &str,
    columns: Vec<(String, PyBuffer<f64>)>,
    out: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<Option<(usize, String)>> {
    let (info, query) = (find(name)?, read(query)?);
    let out = PyBuffer::<f64>::get(out)?;
    let mut numbers = Vec::new();
    for (name, column) in columns {
        numbers.push((number(&name)?, column.to_vec(py)?));
    }
    let mut values = vec![0.0; out.item_count()];
    let control = Control::default();
    let mut watch = Watch::new(&control, None);
    let grid = Grid { info, query: &query, numbers: &numbers, control: &control };
    let fault = py.detach(|| grid.fill(&mut values, threads, &mut watch));
    if let Some(error) = watch.failed {
        return Err(error);
    }
    if fault.is_none() {
        out.copy_from_slice(py, &values)?;
    }
    Ok(fault)
}

/// The spare factor at which the model writes `wanted` pages a host write.
#[pyfunction]
pub(crate) fn model_spare_for(
    py: Python<'_>,
    name: &str,
    query: &str,
    wanted: f64,
) -> PyResult<f64> {
    let (info, query) = (find(name)?, read(query)?);
    py.detach(|| inverse::spare_for(info, &query, wanted)).map_err(errors::config)
}

/// The smallest number of choices within `share` of greedy, up to `most`; none if there is none.
#[pyfunction]
pub(crate) fn model_choices_within(
    py: Python<'_>,
    query: &str,
    share: f64,
    most: u32,
) -> PyResult<Option<u32>> {
    let (info, query) = (find("meanfield")?, read(query)?);
    py.detach(|| inverse::choices_within(info, &query, share, most)).map_err(errors::config)
}

/// Many queries that differ in numbers.
struct Grid<'a> {
    info: &'static ModelInfo,
    query: &'a Query,
    numbers: &'a [(Number, Vec<f64>)],
    control: &'a Control,
}

impl Grid<'_> {
    /// Fills `values`; the calling thread watches for signals while others work.
    fn fill(
        &self,
        values: &mut [f64],
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Option<(usize, String)> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads }.min(values.len());
        // Small enough that a core does not wait long for the others, however slow the model.
        let size = (values.len() / (threads.max(1) * 64)).clamp(1, 1024);
        // One answer is there before a thread is.
        let few = values.len() <= 1;
        let fault = Mutex::new(None);
        let failed = AtomicBool::new(false);
        let chunks = Mutex::new(values.chunks_mut(size).enumerate());
        let next = || chunks.lock().ok()?.next();
        let work = || {
            let (mut query, mut kept) = (self.query.clone(), Kept::default());
            // Chunks are given out in order, so that of all faults the first is found.
            while !failed.load(Ordering::Relaxed) && !self.control.cancelled() {
                let Some((index, chunk)) = next() else { break };
                if let Err((at, what)) = self.fill_chunk(index * size, chunk, &mut query, &mut kept)
                {
                    failed.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = fault.lock()
                        && first.as_ref().is_none_or(|(earlier, _)| at < *earlier)
                    {
                        *first = Some((at, what));
                    }
                }
            }
        };
        if few {
            work();
        } else {
            thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                for worker in &workers {
                    while !worker.is_finished() {
                        wait(worker);
                        watch.look();
                    }
                }
            });
        }
        fault.into_inner().unwrap_or_default()
    }

    fn fill_chunk(
        &self,
        first: usize,
        chunk: &mut [f64],
        query: &mut Query,
        kept: &mut Kept,
    ) -> Result<(), (usize, String)> {
        for (at, value) in (first..).zip(chunk) {
            if self.control.cancelled() {
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

/// The model called `name`; an unknown one is an error with a suggestion.
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

/// The query that a JSON object describes; what it leaves out is as usual.
fn read(text: &str) -> PyResult<Query> {
    let mut query = Query::default();
    let values: Map<String, Value> = serde_json::from_str(text).map_err(errors::config)?;
    // Its numbers are the usual ones, which others may replace.
    if let Some(text) = values.get("workload").and_then(Value::as_str) {
        workload(&mut query, text)?;
    }
    for (name, value) in &values {
        match (name.as_str(), value.as_str()) {
            ("workload", Some(_)) => {}
            ("frontier", Some(text)) => {
                let words = [("single", Frontier::Single), ("double", Frontier::Double)];
                query.frontier = word(name, text, &words)?;
            }
            ("ties", Some(text)) => {
                query.ties =
                    word(name, text, &[("random", Ties::Random), ("latest", Ties::Latest)])?;
            }
            ("cleaner", Some(text)) => query.cleaner = word(name, text, &CLEANERS)?,
            _ => {
                let number = number(name)?;
                let value = value.as_f64().ok_or_else(|| {
                    errors::config(format!("{name}: found {value}, expected a number"))
                })?;
                query.set(number, value).map_err(errors::config)?;
            }
        }
    }
    Ok(query)
}

const CLEANERS: [(&str, Cleaner); 3] =
    [("fifo", Cleaner::Fifo), ("greedy", Cleaner::Greedy), ("desnoyers", Cleaner::Desnoyers)];

fn word<T: Copy>(what: &str, text: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(word, _)| *word == text).map(|&(_, value)| value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|&(word, _)| word).collect();
        let message = format!("{what}: found '{text}', expected {}", words.join(", "));
        errors::config(SpecError::new(message, suggest(text, words)))
    })
}

/// Reads a workload as `flashgc run` does; models know the page frequencies of some.
fn workload(query: &mut Query, text: &str) -> PyResult<()> {
    let wrong = |message: String, hint: &str| {
        errors::config(SpecError::new(format!("workload: {message}"), hint))
    };
    let whole =
        GeneratorSpec::parse(text).map_err(|error| errors::config(format!("workload: {error}")))?;
    let spec = Spec::parse(text).map_err(errors::config)?;
    let info = generators().iter().find(|info| info.name == spec.name);
    let Some(info) = info else {
        return Err(wrong(format!("found the mixture '{whole}', expected one generator"), KNOWN));
    };
    let params = Params::resolve(&spec, info.params).map_err(errors::config)?;
    if params.real("trim") > 0.0 {
        return Err(wrong(format!("found '{text}', expected no TRIM"), "models know none"));
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
        other => return Err(wrong(format!("found '{other}', of which no model is known"), KNOWN)),
    };
    Ok(())
}

const KNOWN: &str =
    "models know uniform, hotcold, zipf and classes; flashgc run simulates the others";

/// The classes of the generator of that name, whose parts are proportions.
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

/// The answer with the query that it answers.
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
        "version": flashgc_drive::VERSION,
    });
    if let Some(pools) = &answer.pools {
        document["pools"] = pools.iter().map(pool).collect();
    }
    document
}

/// The parameters that made a difference.
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
            "workload" => said(query).into(),
            "frontier" if query.frontier == Frontier::Double => "double".into(),
            "frontier" => "single".into(),
            "ties" if query.ties == Ties::Latest => "latest".into(),
            "ties" => "random".into(),
            "cleaner" => CLEANERS
                .iter()
                .find(|(_, cleaner)| *cleaner == query.cleaner)
                .map_or(Value::Null, |&(word, _)| word.into()),
            // Only Zipf's ranks depend on how many pages there are.
            "blocks" if query.workload == Workload::Zipf => whole(Number::Blocks),
            _ => continue,
        };
    }
    config
}

/// The workload as it can be typed.
fn said(query: &Query) -> String {
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
