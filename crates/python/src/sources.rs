//! Workloads by name: a generator's spec, a mixture, or the path of a trace. Also checks of single
//! values, so that the Python side can say which option or line was wrong.

use std::path::PathBuf;
use std::sync::Arc;

use flashgc_base::naming::{self, choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::source::{self, Source, TimedSource, TraceReplay, is_trace};
use flashgc_experiment::options::{self, RunConfig, TimedConfig, TraceConfig};
use flashgc_experiment::tenants::source::TenantsSource;
use flashgc_experiment::tenants::specs;
use flashgc_ftl::{Couple, Frontier, PlacementSpec, VictimSpec};
use flashgc_timed::tenants::{TenantSpec, check_key};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{Arrivals, Requests, TimedTrace};
use flashgc_workload::trace::layout::Layout;
use flashgc_workload::trace::{
    Disorder, Fault, Numbering, OnBadLine, Paging, PagingOptions, ReadOptions, Relations,
    SourceOptions, TraceError, format, is_compressed, parse_devices,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;

use crate::errors;
use crate::watch::Watch;

/// A workload, and notes for the user on how it was read.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) notes: Vec<String>,
    /// `true` for a trace of references to memory.
    references: bool,
    /// `true` for a trace with events of pages that become dirty in the host's cache.
    dirty: bool,
}

/// Returns the note for memory references without an option that models the memory.
fn no_memory() -> String {
    format!(
        "the trace holds a program's memory references, and without a VM page cache every one that \
         writes is a host write; hint: {}",
        choice("vm_page_cache", "4MiB")
    )
}

/// Returns the note for a host cache that makes its own hints.
fn own_hints() -> String {
    let cache = option("host_cache");
    format!(
        "the dirty events of the trace are left out, because {cache} makes its own; hint: leave out \
         {cache} to use the trace's"
    )
}

/// The file that is read instead of the trace in the configurations.
pub(crate) struct Instead {
    pub(crate) file: PathBuf,
    /// `true` for a volume of the trace, in flashgc's own format; `false` for a copy of the trace.
    pub(crate) is_volume: bool,
}

/// Opens the workloads of `configs`, each different workload once. Traces are read here. `instead`
/// is read instead of the trace.
pub(crate) fn open(
    py: Python<'_>,
    configs: &[RunConfig],
    watch: &mut Watch<'_>,
    instead: Option<&Instead>,
) -> PyResult<Vec<Opened>> {
    let mut opened: Vec<(&RunConfig, Opened)> = Vec::new();
    for config in configs {
        let same = |(other, _): &&(&RunConfig, Opened)| {
            other.workload == config.workload
                && other.timed.is_some() == config.timed.is_some()
                && tenants_of(other) == tenants_of(config)
                && other.trace == config.trace
                && other.unit() == config.unit()
                && other.has_blocks_of(config)
                && keeps_flushes(other) == keeps_flushes(config)
        };
        let source = match opened.iter().find(same) {
            Some((_, source)) => source.clone(),
            None => open_one(py, config, watch, instead)?,
        };
        opened.push((config, source));
    }
    let beside = |(config, mut source): (&RunConfig, Opened)| {
        if source.references && config.swap.is_none() {
            source.notes.push(no_memory());
        }
        if source.dirty && config.host.is_some() {
            source.notes.push(own_hints());
        }
        source
    };
    Ok(opened.into_iter().map(beside).collect())
}

/// The tenants that share the drive, as the user typed them.
fn tenants_of(config: &RunConfig) -> &[String] {
    config.timed.as_ref().map_or(&[], |timed| &timed.tenants)
}

fn open_one(
    py: Python<'_>,
    config: &RunConfig,
    watch: &mut Watch<'_>,
    instead: Option<&Instead>,
) -> PyResult<Opened> {
    if !tenants_of(config).is_empty() {
        return open_tenants(py, config, watch);
    }
    if let Some(timed) = &config.timed {
        let Read { requests, notes, references, dirty } =
            open_timed(py, config, timed, watch, instead, false)?;
        let source = Arc::new(TimedSource::new(config.workload.clone(), requests));
        return Ok(Opened { source, notes, references, dirty });
    }
    if instead.is_none() && !is_trace(&config.workload) {
        let spec = GeneratorSpec::parse(&config.workload).map_err(errors::config)?;
        let source = Arc::new(spec);
        return Ok(Opened { source, notes: Vec::new(), references: false, dirty: false });
    }
    let options = SourceOptions {
        read: read_of(config, watch, instead)?,
        paging: paging_of(config)?,
        ..SourceOptions::default()
    };
    let block = config.clone();
    let pages_per_block = move |units| block.with_block(Some(units)).units_per_block();
    let (path, name) = (file_of(config, instead), config.workload.clone());
    let loaded = py.detach(|| {
        let file = path.clone();
        watch.read_aside(&path, move |go_on| {
            let replay = TraceReplay::load(&file, options, pages_per_block, go_on)?;
            Ok(replay.named(name))
        })
    });
    let trace = loaded.map_err(|error| watch.failure(&error))?;
    let (notes, references, dirty) = (trace.notes(), trace.has_references(), trace.has_dirty());
    Ok(Opened { source: Arc::new(trace), notes, references, dirty })
}

/// Opens the workloads of tenants, each like the only workload of a drive.
fn open_tenants(py: Python<'_>, config: &RunConfig, watch: &mut Watch<'_>) -> PyResult<Opened> {
    let timed = config.timed.as_ref().expect("tenants share a drive with a clock");
    let (mut each, mut notes) = (Vec::new(), Vec::new());
    let (mut references, mut dirty) = (false, false);
    for TenantSpec { name, workload, arrivals, .. } in
        specs(&timed.tenants).map_err(errors::config)?
    {
        let arrivals = arrivals.map(|arrivals| arrivals.to_string());
        let own = TimedConfig { arrivals, tenants: Vec::new(), ..timed.clone() };
        let alone = RunConfig { workload: workload.clone(), ..config.clone() };
        let read = open_timed(py, &alone, &own, watch, None, true)?;
        notes.extend(read.notes.into_iter().map(|note| format!("tenant {name}: {note}")));
        (references, dirty) = (references || read.references, dirty || read.dirty);
        each.push((name, TimedSource::new(workload, read.requests)));
    }
    let source = Arc::new(TenantsSource::new(each));
    Ok(Opened { source, notes, references, dirty })
}

/// Requests with times, and notes for the user on how they were read.
struct Read {
    requests: Requests,
    notes: Vec<String>,
    references: bool,
    dirty: bool,
}

fn open_timed(
    py: Python<'_>,
    config: &RunConfig,
    timed: &TimedConfig,
    watch: &mut Watch<'_>,
    instead: Option<&Instead>,
    of_tenant: bool,
) -> PyResult<Read> {
    if instead.is_none() && !is_trace(&config.workload) {
        let requests = Requests::parse(&config.workload).map_err(errors::config)?;
        return Ok(Read { requests, notes: Vec::new(), references: false, dirty: false });
    }
    let read = read_of(config, watch, instead)?;
    let paging = paging_of(config)?;
    let path = file_of(config, instead);
    let loaded = py.detach(|| {
        let file = path.clone();
        watch.read_aside(&path, move |go_on| TimedTrace::load(&file, &read, paging, go_on))
    });
    let trace = loaded.map_err(|error| watch.failure(&error))?;
    let (mut notes, references) = (trace.notes(), trace.stat().has_references());
    if timed.arrivals.is_none() {
        notes.extend(trace.note_of_times(of_tenant));
    }
    let dirty = trace.stat().dirty > 0;
    let pages = trace.stat().pages;
    let block = config.with_block(Some(pages)).units_per_block();
    let beyond = pages.saturating_sub(trace.logical_pages(block).into());
    if beyond > 0 {
        let floor = choice("paging", "floor");
        notes.push(format!("{floor} leaves out {beyond} of {pages} pages of the trace"));
    }
    Ok(Read { requests: Requests::Trace(Box::new(trace)), notes, references, dirty })
}

/// Returns `true` if flush commands have an effect on the drive. They have none if power protection
/// covers the page buffer, unless the host waits for their answers. A host's cache takes no
/// flushes.
fn keeps_flushes(config: &RunConfig) -> bool {
    let arrivals = config.timed.as_ref().and_then(|timed| timed.arrivals.as_deref());
    let waits = arrivals.is_some_and(|text| Arrivals::parse(text) == Ok(Arrivals::Dependent));
    (waits || !config.power_protection) && config.host.is_none() && config.swap.is_none()
}

/// Returns the path of the file that is read.
fn file_of(config: &RunConfig, instead: Option<&Instead>) -> PathBuf {
    instead.map_or_else(|| PathBuf::from(&config.workload), |instead| instead.file.clone())
}

/// Returns the options for reading the trace of a run. A volume needs none of them: they were
/// applied when the trace was split.
fn read_of(
    config: &RunConfig,
    watch: &mut Watch<'_>,
    instead: Option<&Instead>,
) -> PyResult<ReadOptions> {
    let is_volume = instead.is_some_and(|instead| instead.is_volume);
    let read = if is_volume { ReadOptions::default() } else { read_options(&config.trace, watch)? };
    Ok(ReadOptions { keep_flushes: keeps_flushes(config), ..read })
}

/// Returns the options for reading a trace. The table of relations is read here.
pub(crate) fn read_options(trace: &TraceConfig, watch: &mut Watch<'_>) -> PyResult<ReadOptions> {
    for (key, text) in [
        ("format", &trace.format),
        ("on_bad_line", &trace.on_bad_line),
        ("devices", &trace.devices),
        ("blkparse_action", &trace.blkparse_action),
        ("columns", &trace.columns),
        ("disorder", &trace.disorder),
    ] {
        if let Some(text) = text {
            let checked = options::find(key).map_or(Ok(()), |option| option.check(text));
            checked.map_err(|error| watch.refused(key, error))?;
        }
    }
    let given = [
        ("format", trace.format.is_some()),
        ("layout", trace.layout.is_some()),
        ("columns", trace.columns.is_some()),
    ];
    let mut given = given.iter().filter(|(_, given)| *given);
    if let (Some((key, _)), Some((with, _))) = (given.next(), given.next()) {
        let message = format!("each of it and {} says which column is which", naming::option(with));
        return Err(watch.refused(key, SpecError::new(message, "leave one of them out")));
    }
    let columns = match (&trace.columns, &trace.layout) {
        (Some(text), _) => Some(Layout::parse(text).map_err(errors::config)?),
        (None, Some(name)) => Some(Layout::open(name).map_err(|error| watch.failure(&error))?),
        (None, None) => None,
    };
    let devices = trace.devices.as_deref().map(parse_devices).transpose();
    let relations = trace.relations.as_ref().map(|path| Relations::open(path.as_ref()));
    let relations = relations.transpose().map_err(|error| watch.failure(&error))?;
    Ok(ReadOptions {
        format: trace.format.as_deref().map(format::find).transpose().map_err(errors::config)?,
        on_bad_line: match trace.on_bad_line.as_deref() {
            Some("skip") => OnBadLine::Skip,
            _ => OnBadLine::Stop,
        },
        devices: devices.map_err(errors::config)?.unwrap_or_default(),
        blkparse_action: trace.blkparse_action.as_deref().and_then(|action| action.chars().next()),
        columns: columns.map(Arc::new),
        disorder: match trace.disorder.as_deref() {
            Some(name) => Disorder::parse(name).map_err(errors::config)?,
            None => Disorder::Keep,
        },
        relations: relations.map(Arc::new),
        ..ReadOptions::default()
    })
}

/// Returns the options for the conversion of a trace's requests to pages of a drive.
fn paging_of(config: &RunConfig) -> PyResult<PagingOptions> {
    let TraceConfig { alignment_offset, paging: name, numbering, .. } = &config.trace;
    let numbering = numbering.as_deref().map(Numbering::parse).transpose();
    Ok(PagingOptions {
        paging: Paging::parse(name).map_err(errors::config)?,
        numbering: numbering.map_err(errors::config)?,
        ..paging(config.unit().into(), *alignment_offset)?
    })
}

pub(crate) fn paging(page_size: u64, alignment_offset: u64) -> PyResult<PagingOptions> {
    let alignment_offset = u32::try_from(alignment_offset).map_err(|_| {
        errors::config(format!("an alignment offset of {alignment_offset} bytes is above 4 GiB"))
    })?;
    Ok(PagingOptions { page_size, alignment_offset, ..PagingOptions::default() })
}

/// Returns `True` if `workload` is the path of a trace, not a generator's spec.
#[pyfunction]
#[pyo3(name = "is_trace")]
pub(crate) fn is_trace_of(workload: &str) -> bool {
    is_trace(workload)
}

/// Returns `True` if `head`, the first bytes of a trace file, shows a compressed file; 16 bytes
/// suffice.
#[pyfunction]
#[pyo3(name = "is_compressed")]
pub(crate) fn is_compressed_from(head: &[u8]) -> bool {
    is_compressed(head)
}

/// Checks a value of the option `key`. The key `timed_source` is a workload of a drive with a
/// clock; `tenant.KEY` is a key of a tenant.
#[pyfunction]
pub(crate) fn check(key: &str, text: &str) -> PyResult<()> {
    let checked = match options::find(key) {
        Some(option) => option.check(text),
        None if key == "timed_source" => source::check_timed(text),
        None => match key.strip_prefix("tenant.") {
            Some(key) => check_key(key, text).map(drop),
            None => return Err(errors::config(format!("there is no option '{key}'"))),
        },
    };
    checked.map_err(errors::config)
}

/// Returns the text by which a result names a policy. `option` is `victim`, `placement` or
/// `frontier`.
#[pyfunction]
pub(crate) fn written_out(option: &str, text: &str) -> PyResult<String> {
    let written = match option {
        "victim" => VictimSpec::parse(text).map(|spec| spec.to_string()),
        "placement" => PlacementSpec::parse(text).map(|spec| spec.to_string()),
        _ => Frontier::parse(text).map(|spec| spec.to_string()),
    };
    written.map_err(errors::config)
}

/// Returns name, victim policy, placement and frontier of a scheme; the last may be `None`.
#[pyfunction]
pub(crate) fn scheme_parts(text: &str) -> PyResult<(String, String, String, Option<String>)> {
    let couple = Couple::parse(text).map_err(errors::config)?;
    Ok((couple.name, couple.victim, couple.placement, couple.frontier))
}

impl Watch<'_> {
    /// Makes the exception for a value that the option `key` does not take.
    pub(crate) fn refused(&self, key: &str, error: SpecError) -> PyErr {
        let message = format!("{}: {}", subject(key), error.message);
        errors::config(SpecError::new(message, error.hint).said(&self.names))
    }

    /// Makes the exception for a trace that could not be read. If an exception stopped the reader,
    /// returns that one.
    pub(crate) fn failure(&mut self, error: &TraceError) -> PyErr {
        match (self.failed.take(), error.fault) {
            (Some(failed), _) => failed,
            (None, Fault::Cancelled) => PyKeyboardInterrupt::new_err(()),
            (None, Fault::Option) => errors::config(error.said(&self.names)),
            (None, Fault::Unwritten) => PyOSError::new_err(error.to_string()),
            (None, _) => errors::trace(error.said(&self.names)),
        }
    }
}
