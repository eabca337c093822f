//! Traces from Python: statistics, conversion, traces made by generators, and traces recorded.

use std::fs::File;
use std::path::PathBuf;

use flashgc_base::naming;
use flashgc_base::spec::SpecError;
use flashgc_experiment::options::TraceConfig;
use flashgc_workload::generate::{Extents, GeneratorSpec};
use flashgc_workload::trace::layout::{self, Shipped};
use flashgc_workload::trace::{
    self, ConvertOptions, Declared, DeviceNumbers, Fault, Fields, OnBadLine, OutputFormat,
    PagesOptions, Paging, PagingOptions, Progress, Property, ReadOptions, Request, StatBuilder,
    TraceError, TraceReader, TraceWriter, format,
};
use flashgc_workload::{Batch, Workload, WorkloadError};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;
use crate::json::to_json;
use crate::places::At;
use crate::sources::{self, read_options};
use crate::watch::{Control, Watch};

/// The formats that can be read, as JSON.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    let entry = |format: &&format::Format| {
        json!({
            "name": format.name,
            "summary": format.summary,
            "columns": format.columns,
            "example": format.example,
            "detection": format.detection,
            "traps": format.traps,
            "references": format.references,
        })
    };
    json!(format::FORMATS.iter().map(entry).collect::<Vec<_>>()).to_string()
}

/// The built-in layouts, as JSON.
#[pyfunction]
pub(crate) fn trace_layouts() -> String {
    let entry = |shipped: &Shipped| {
        json!({
            "name": shipped.name,
            "program": shipped.value("program"),
            "source": shipped.value("source"),
            "text": shipped.file,
        })
    };
    json!(layout::SHIPPED.iter().map(entry).collect::<Vec<_>>()).to_string()
}

/// Parses the options for reading a trace: the given fields of `TraceConfig`, as JSON.
pub(crate) fn trace_config(reading: &str) -> PyResult<TraceConfig> {
    serde_json::from_str(reading).map_err(errors::config)
}

/// Reads a trace to its end and returns its statistics as JSON.
#[pyfunction]
#[pyo3(signature = (path, control, reading, page_size=None, paging=None, poll=None, places=None))]
#[allow(clippy::too_many_arguments)] // They are the keyword arguments of the Python function.
pub(crate) fn trace_stat(
    py: Python<'_>,
    path: PathBuf,
    control: &Control,
    reading: &str,
    page_size: Option<u64>,
    paging: Option<&str>,
    poll: Option<Py<PyAny>>,
    places: Option<At>,
) -> PyResult<String> {
    let mut watch = Watch::new(control, poll).named(places.unwrap_or_default().0);
    let trace = trace_config(reading)?;
    let options = ReadOptions { keep_flushes: true, ..read_options(&trace, &mut watch)? };
    let usual = PagingOptions::default().page_size;
    let mut pages = sources::paging(page_size.unwrap_or(usual), trace.alignment_offset)?;
    if let Some(name) = paging {
        // Statistics cover all pages: a trace has no drive whose capacity is the limit.
        pages.paging =
            Paging::parse_for_all_pages(name).map_err(|error| watch.refused("paging", error))?;
    }
    let file = path.clone();
    let read = move |go_on: &mut dyn FnMut(&Progress) -> bool| {
        let mut reader = TraceReader::open(&file, &options)?;
        let progress = reader.progress();
        if let (None, Some(recorded)) = (page_size, reader.recorded()) {
            pages.page_size = recorded.page_size;
        }
        let mut builder = StatBuilder::of(&reader, pages)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            builder.add(&block, |_, _| {}).map_err(|full| trace::map_full(&reader, full))?;
            if !go_on(&progress) {
                return Err(TraceError::new(&file, Fault::Cancelled, "stopped"));
            }
        }
        builder.finish(&reader)
    };
    let mut stat = py.detach(|| watch.read_aside(&path, read));
    if let Ok(stat) = &mut stat {
        stat.notes.doubts.iter_mut().for_each(|note| *note = naming::said(note, &watch.names));
    }
    to_json(&stat.map_err(|error| watch.failure(&error))?)
}

/// Returns the evidence on the format of a trace, one sentence each, as JSON.
#[pyfunction]
#[pyo3(signature = (path, control, reading, places=None))]
pub(crate) fn trace_evidence(
    path: PathBuf,
    control: &Control,
    reading: &str,
    places: Option<At>,
) -> PyResult<String> {
    let mut watch = Watch::new(control, None).named(places.unwrap_or_default().0);
    let options = read_options(&trace_config(reading)?, &mut watch)?;
    let evidence = TraceReader::evidence(path, &options).map_err(|error| watch.failure(&error))?;
    let sentences: Vec<String> =
        evidence.iter().map(|text| naming::said(text, &watch.names)).collect();
    Ok(json!(sentences).to_string())
}

/// Copies a trace into one of flashgc's own formats. Returns a description of the conversion as
/// JSON.
#[pyfunction]
#[pyo3(signature = (input, output, control, reading, native_devices=false, page_size=None,
                    filter=None, as_dirty=false, leave_out=None, poll=None, places=None))]
#[allow(clippy::too_many_arguments)] // They are the keyword arguments of the Python function.
pub(crate) fn trace_convert(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    control: &Control,
    reading: &str,
    native_devices: bool,
    page_size: Option<u32>,
    filter: Option<u32>,
    as_dirty: bool,
    leave_out: Option<&str>,
    poll: Option<Py<PyAny>>,
    places: Option<At>,
) -> PyResult<String> {
    let mut watch = Watch::new(control, poll).named(places.unwrap_or_default().0);
    let read = read_options(&trace_config(reading)?, &mut watch)?;
    if !OutputFormat::of(&output).is_ok_and(|format| format == OutputFormat::Pages) {
        for (key, value) in [("page_size", page_size), ("filter", filter)] {
            if let Some(value) = value {
                let message = format!("found {value}, but only .pages takes it");
                return Err(watch.refused(key, SpecError::new(message, "leave it out")));
            }
        }
    }
    let leave_out = leave_out.map(Property::parse).transpose();
    let leave_out = leave_out.map_err(|error| watch.refused("leave_out", error))?;
    let device_numbers = if native_devices { DeviceNumbers::Native } else { DeviceNumbers::Ranked };
    let options = ConvertOptions {
        read: ReadOptions { device_numbers, keep_flushes: true, ..read },
        output: None,
        page_size,
        filter,
        as_dirty,
        leave_out: leave_out.unwrap_or_default(),
    };
    let (from, to) = (input.clone(), output.clone());
    let converted = py.detach(|| {
        let outcome =
            watch.read_aside(&input, move |go_on| trace::convert(&from, &to, &options, go_on));
        if outcome.as_ref().is_err_and(|error| error.fault == Fault::Cancelled) {
            trace::discard_unfinished(&output);
        }
        outcome
    });
    let converted = converted.map_err(|error| watch.failure(&error))?;
    let notes: Vec<String> =
        converted.notes.iter().map(|note| naming::said(note, &watch.names)).collect();
    Ok(json!({
        "requests": converted.requests,
        "skipped": converted.skipped,
        "format": converted.format,
        "notes": notes,
    })
    .to_string())
}

/// Joins traces, one after the other, into a new one. Returns the number of its requests.
#[pyfunction]
pub(crate) fn trace_join(py: Python<'_>, output: PathBuf, inputs: Vec<PathBuf>) -> PyResult<u64> {
    let inputs: Vec<&std::path::Path> = inputs.iter().map(PathBuf::as_path).collect();
    py.detach(|| trace::join(&inputs, &output))
        .map_err(|error| errors::TraceError::new_err(error.to_string()))
}

fn pages_options(page_size: Option<u32>, filter: Option<u32>) -> PagesOptions {
    let usual = PagesOptions::default();
    PagesOptions {
        page_size: page_size.unwrap_or(usual.page_size),
        filter: filter.unwrap_or(usual.filter),
    }
}

/// Returns the reading end of a pipe that was made for this call. This end is closed when the
/// returned file is dropped.
#[cfg(unix)]
fn reading_end(pipe: i32) -> PyResult<File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the pipe was made for this call, and nobody else uses its reading end.
    Ok(unsafe { File::from_raw_fd(pipe) })
}

/// Returns an error: Valgrind, which would write into the pipe, does not exist on this system.
#[cfg(not(unix))]
fn reading_end(_: i32) -> PyResult<File> {
    Err(errors::config("this system has no Valgrind; hint: record the program on Linux"))
}

/// Writes a recording of memory references: reads the output of Valgrind's lackey from `pipe`, up
/// to `accesses` accesses, and writes it as references to pages. The pipe is closed at the end.
/// Returns the counts as JSON. If the user stops it, the file has all references until then.
#[pyfunction]
#[pyo3(signature = (pipe, output, control, page_size=None, filter=None, accesses=u64::MAX, poll=None))]
#[allow(clippy::too_many_arguments)] // They are the keyword arguments of the Python function.
pub(crate) fn trace_record(
    py: Python<'_>,
    pipe: i32,
    output: PathBuf,
    control: &Control,
    page_size: Option<u32>,
    filter: Option<u32>,
    accesses: u64,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let stream = reading_end(pipe)?;
    let options = ReadOptions {
        format: Some(format::find("lackey").map_err(errors::config)?),
        // A program that is killed leaves an incomplete line.
        on_bad_line: OnBadLine::Skip,
        ..ReadOptions::default()
    };
    let mut watch = Watch::new(control, poll);
    let recorded = py.detach(|| -> Result<_, TraceError> {
        let mut writer = TraceWriter::create_with(
            &output,
            Some(OutputFormat::Pages),
            pages_options(page_size, filter),
            Declared::default(),
        )?;
        let (mut seen, mut block) = (0u64, Vec::new());
        let mut reader = TraceReader::from_stream("lackey", Box::new(stream), &options)?;
        while seen < accesses && !control.cancelled() && reader.next_block(&mut block)? {
            block.truncate((accesses - seen).min(block.len() as u64) as usize);
            writer.write(&block)?;
            seen += block.len() as u64;
            control.recorded(seen);
            watch.look();
        }
        if seen == 0 {
            let message = "the program made no references to memory that Valgrind could see";
            return Err(TraceError::new(&output, Fault::Empty, message));
        }
        Ok((seen, writer.finish()?, reader.skipped()))
    });
    // A stop by the user is no error, but an exception of a callback is.
    let (accesses, references, skipped) = recorded.map_err(|error| watch.failure(&error))?;
    match watch.failed.take() {
        Some(failed) => Err(failed),
        None => {
            Ok(json!({"accesses": accesses, "references": references, "skipped": skipped})
                .to_string())
        }
    }
}

/// The requests of a generator: those with sizes, or page commands.
enum Drawn {
    Extents(Box<Extents>),
    Pages { source: Box<dyn Workload>, batch: Box<Batch>, page_size: u32 },
}

impl Drawn {
    fn open(
        spec: &GeneratorSpec,
        pages: u32,
        page_size: u32,
        seed: u64,
    ) -> Result<Self, SpecError> {
        if spec.has_sizes() {
            let extents = spec.open_extents(pages, page_size, page_size, seed)?;
            return Ok(Self::Extents(Box::new(extents)));
        }
        let source = spec.open(pages, seed)?;
        Ok(Self::Pages { source, batch: Box::default(), page_size })
    }

    /// Replaces the content of `block` with the next requests, at most `limit` of them.
    fn fill(&mut self, block: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        block.clear();
        match self {
            Self::Extents(extents) => block.extend((0..limit).map(|_| extents.next_request())),
            Self::Pages { source, batch, page_size } => {
                source.fill(batch, limit)?;
                let size = u64::from(*page_size);
                block.extend(batch.pages.iter().enumerate().map(|(index, &page)| Request {
                    offset: (u64::from(page) * size) as i64,
                    size,
                    op: batch.op(index),
                    stream: batch.stream(index),
                    ..Request::default()
                }));
            }
        }
        Ok(())
    }
}

/// Writes a trace of `requests` requests that the generator `workload` makes on `pages`
/// logical pages, one every `interval_ns`. The file's name chooses the format.
#[pyfunction]
#[pyo3(signature = (workload, output, control, pages, requests, page_size=4096, interval_ns=1000,
                    seed=1, poll=None, places=None))]
#[allow(clippy::too_many_arguments)] // They are the keyword arguments of the Python function.
pub(crate) fn trace_synth(
    py: Python<'_>,
    workload: &str,
    output: PathBuf,
    control: &Control,
    pages: u32,
    requests: u64,
    page_size: u64,
    interval_ns: u64,
    seed: u64,
    poll: Option<Py<PyAny>>,
    places: Option<At>,
) -> PyResult<()> {
    let mut watch = Watch::new(control, poll).named(places.unwrap_or_default().0);
    let refused = |error: SpecError| errors::config(error.said(&watch.names));
    let spec = GeneratorSpec::parse_any(workload).map_err(refused)?;
    spec.check_page_size(page_size).map_err(refused)?;
    let mut source = Drawn::open(&spec, pages, page_size as u32, seed).map_err(refused)?;
    let format = OutputFormat::of(&output).map_err(errors::config)?;
    let written = py.detach(|| -> Result<(), TraceError> {
        let fault = |text: String| TraceError::new(&output, Fault::Option, text);
        // The filter is off, so that every reference to memory is written.
        let pages = PagesOptions { page_size: page_size as u32, filter: 0 };
        let declared =
            Declared { fields: Fields::STREAM.if_any(spec.has_streams()), ..Declared::default() };
        let mut writer = TraceWriter::create_with(&output, Some(format), pages, declared)?;
        let (mut block, mut done) = (Vec::new(), 0u64);
        while done < requests {
            let limit = (requests - done).min(Batch::DEFAULT_LEN as u64) as usize;
            source.fill(&mut block, limit).map_err(|error| fault(error.to_string()))?;
            for (index, request) in (done..).zip(&mut block) {
                let time = index.checked_mul(interval_ns);
                request.time_ns =
                    time.ok_or_else(|| fault("the trace is too long in time".into()))?;
            }
            writer.write(&block)?;
            done += block.len() as u64;
            watch.look();
            if control.cancelled() {
                return Err(TraceError::new(&output, Fault::Cancelled, "stopped"));
            }
        }
        writer.finish().map(drop)
    });
    written.map_err(|error| watch.failure(&error))
}
