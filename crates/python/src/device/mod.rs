//! The stored drive from Python: a drive in a file, its front ends, and what it says of itself.
//!
//! A drive has a thread of its own, so every call here waits without the interpreter: a policy written
//! in Python runs on that thread. Here a drive is made, described and checked; [`open`] is one
//! that is open, [`pace`] the drive with a clock beside it, [`shown`] what is seen of it, [`faults`] what it is made to do wrong, [`owners`] says whose pages it has where, and [`client`] talks to one in
//! another process.

mod client;
mod faults;
mod open;
mod owners;
mod pace;
mod shown;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub(crate) use client::DeviceClient;
use flashgc_base::naming::Names;
use flashgc_device::failure::Failure;
use flashgc_device::media::FileMedia;
use flashgc_device::past::Until;
use flashgc_device::{
    DeviceError, Drive, Durability, LEAST_JOURNAL_BLOCKS, Outside, PAGE, Recording, Served,
    Settings, configuration, past, repeat, strangers,
};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::trace::TraceError;
pub(crate) use open::{DeviceListener, DeviceMount, DriveFile, FileRings, StoredDrive};
pub(crate) use owners::device_owners;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
pub(crate) use shown::device_counts;

use crate::errors::{self, ConfigError, DriveError};
use crate::json::to_json;
use crate::outside::{Written, loaded};
use crate::places::At;
use crate::policy::{Raised, lock};

fn unwritten(error: TraceError) -> DeviceError {
    DeviceError::Media(error.to_string())
}

/// Makes a drive in a new file at `path` and returns what it is, as JSON. `config` is a configuration
/// of the engine, of which the drive's part is taken, made of options with these `places`; `written` its
/// policies in Python, with their names.
#[pyfunction]
#[pyo3(signature = (path, config, uuid, durability, journal_bytes=None, written=None, places=None))]
#[allow(clippy::too_many_arguments)] // it is called in one place
pub(crate) fn device_create(
    py: Python<'_>,
    path: PathBuf,
    config: &str,
    uuid: [u8; 16],
    durability: &str,
    journal_bytes: Option<u64>,
    written: Option<Written<'_>>,
    places: Option<At>,
) -> PyResult<String> {
    let settings =
        settings(config, durability, journal_bytes, written, &places.unwrap_or_default().0)?;
    py.detach(|| create(&path, &settings, uuid)).map_err(|error| failed(&path, &error))?;
    to_json(&described(&settings)?)
}

fn settings(
    config: &str,
    durability: &str,
    journal_bytes: Option<u64>,
    written: Option<Written<'_>>,
    names: &dyn Names,
) -> PyResult<Settings> {
    let config: RunConfig = serde_json::from_str(config).map_err(errors::config)?;
    let uniform = workload(&config)?;
    // No drive is made of it here: what the policy knows begins when the file is opened.
    let outside = written.map(|written| loaded(written, &Raised::default())).transpose()?;
    let resolved = Resolved::new(&config, Arc::new(uniform), outside);
    let resolved = resolved.map_err(|error| errors::ftl(&error, names))?;
    let (layout, victim) = resolved.kept().map_err(|error| errors::config(error.said(names)))?;
    let journal_blocks = match journal_bytes {
        None => Settings::JOURNAL_BLOCKS,
        Some(bytes) => bytes / PAGE as u64,
    };
    if journal_blocks < LEAST_JOURNAL_BLOCKS {
        let least = LEAST_JOURNAL_BLOCKS * PAGE as u64;
        return Err(errors::config(format!(
            "the journal has {} bytes, expected at least {least}; hint: leave it out, 64 MiB is usual",
            journal_bytes.unwrap_or_default()
        )));
    }
    let durability = Durability::parse(durability).map_err(errors::config)?;
    let streams = resolved.streams;
    let settings = Settings { layout, victim, journal_blocks, durability, streams };
    settings.file_bytes().map_err(|error| errors::config(error.to_string()))?;
    Ok(settings)
}

/// Returns a workload that the drive of `config` takes, whatever its host will write: its writes have streams if
/// the placement needs some that no address gives.
fn workload(config: &RunConfig) -> PyResult<GeneratorSpec> {
    let named = config.host_names_streams();
    let text = if named { "uniform:stream=0" } else { &config.workload };
    GeneratorSpec::parse(text).map_err(errors::config)
}

fn described(settings: &Settings) -> PyResult<Value> {
    let geometry = settings.layout.geometry;
    let bytes = |pages: u64| pages * PAGE as u64;
    let file_bytes = settings.file_bytes().map_err(|error| errors::config(error.to_string()))?;
    Ok(json!({
        "blocks": geometry.blocks(),
        "pages_per_block": geometry.pages_per_block(),
        "logical_pages": geometry.logical_pages(),
        "capacity_bytes": bytes(geometry.logical_pages().into()),
        "physical_bytes": bytes(geometry.physical_pages()),
        "file_bytes": file_bytes,
        "journal_bytes": bytes(settings.journal_blocks),
        "policies": policies(settings),
        "durability": settings.durability.name(),
        "configuration": settings.text(),
    }))
}

/// Returns the options of a run with the same decisions, by their keys.
fn policies(settings: &Settings) -> Value {
    let layout = &settings.layout;
    json!({
        "victim": settings.victim.to_string(),
        "frontier": layout.frontier.to_string(),
        "placement": layout.placement.to_string(),
        "allocation": layout.allocation.to_string(),
        "wear_levelling": layout.levelling.map(|levelling| levelling.to_string()),
        "endurance": layout.lifespan.map(|lifespan| lifespan.endurance.to_string()),
        "seed": layout.seed,
    })
}

fn create(path: &Path, settings: &Settings, uuid: [u8; 16]) -> Result<(), DeviceError> {
    let mut media = FileMedia::create(path, settings.file_bytes()?)?;
    Drive::create(&mut media, settings, uuid).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

/// Does on the drive in the file at `path` what the recording `trace` has: every page is written with the
/// bytes that the file `data` has in its place, or without one with zeros that take no room.
#[pyfunction]
#[pyo3(signature = (path, trace, data=None))]
pub(crate) fn device_repeat(
    py: Python<'_>,
    path: PathBuf,
    trace: PathBuf,
    data: Option<PathBuf>,
) -> PyResult<()> {
    let repeat = || {
        let media = FileMedia::open(&path)?;
        let settings = Settings::parse(&configuration(&media)?, Outside::default())?;
        let mut drive = match data {
            Some(_) => Drive::open(Box::new(media), &settings)?,
            None => past::open(media, &settings)?,
        };
        let data = data.as_deref().unwrap_or(Path::new("/dev/zero"));
        repeat(&mut drive, &trace, data)?;
        drive.close()
    };
    py.detach(repeat).map_err(|error| failed(&path, &error))
}

/// Gives the empty drive in the file at `path` a past: a `share` of its pages gets data, which a workload with a seed
/// overwrites `times` times, or until the drive has settled. `record` is a trace of that. `show` is called now and then with the
/// page writes that are done, and with those that are due so far. Returns what it did, as JSON.
#[pyfunction]
#[pyo3(signature = (path, share, writes, times=None, record=None, show=None))]
pub(crate) fn device_age(
    py: Python<'_>,
    path: PathBuf,
    share: f64,
    writes: (String, u64),
    times: Option<f64>,
    record: Option<PathBuf>,
    show: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (workload, seed) = (GeneratorSpec::parse(&writes.0).map_err(errors::config)?, writes.1);
    let until = times.map_or(Until::Settled, Until::Times);
    let raised = Mutex::new(None);
    let is_over = |done, due| {
        *lock(&raised) = told(show.as_ref(), done, due).err();
        lock(&raised).is_some()
    };
    let aged = py.detach(|| {
        let file = FileMedia::open(&path)?;
        let settings = Settings::parse(&configuration(&file)?, Outside::default())?;
        let mut drive = past::open(file, &settings)?;
        let (pages, streams) = (drive.pages(), drive.takes_streams());
        let recording = record.map(|into| Recording::begin(&into, pages, streams)).transpose();
        drive.replace_recording(recording.map_err(unwritten)?);
        let aged = past::age(&mut drive, &settings, share, (&workload, seed), until, &is_over)?;
        drive.replace_recording(None).map(Recording::end).transpose().map_err(unwritten)?;
        drive.close()?;
        Ok(aged)
    });
    let aged = aged.map_err(|error| failed(&path, &error))?;
    if let Some(signal) = lock(&raised).take() {
        return Err(signal);
    }
    to_json(&json!({
        "pages": aged.pages,
        "overwritten": aged.overwritten,
        "copied": aged.copied,
        "erases": aged.erases,
        "write_amplification": aged.write_amplification,
        "is_settled": aged.is_settled,
    }))
}

/// Returns the configuration that the file at `path` was made from, and the names of the policies in Python
/// that opening it takes, as JSON. The file may be open elsewhere; `held` is open here.
#[pyfunction]
#[pyo3(signature = (path, held=None))]
pub(crate) fn device_configuration(
    path: PathBuf,
    held: Option<PyRef<'_, DriveFile>>,
) -> PyResult<String> {
    let held = held.map(|held| held.file.try_clone()).transpose()?;
    let read = || {
        let media = match held {
            Some(file) => FileMedia::opened_read_only(file)?,
            None => FileMedia::read_only(&path)?,
        };
        let text = configuration(&media)?;
        let outside = [Settings::outside(&text, "victim")?, Settings::outside(&text, "placement")?];
        let settings = Settings::parse(&text, Outside::never_made())?;
        Ok((text, outside, settings, strangers(&media)?))
    };
    let (text, outside, settings, known) = read().map_err(|error| failed(&path, &error))?;
    let mut described = described(&settings)?;
    described["configuration"] = json!(text);
    described["strangers"] = json!(known.words());
    described["outside"] = json!({ "victim": outside[0], "placement": outside[1] });
    to_json(&described)
}

/// Reads all of the closed drive at `path`, and compares its map with that of the out-of-band records;
/// with `from_oob` only the latter is made. Returns what was found as JSON. `show` is called now and
/// then with the number of logical pages that were looked at, and with all of them. `written` are the
/// drive's policies in Python, where it has such.
#[pyfunction]
#[pyo3(signature = (path, from_oob, show = None, written = None))]
pub(crate) fn device_check(
    py: Python<'_>,
    path: PathBuf,
    from_oob: bool,
    show: Option<Py<PyAny>>,
    written: Option<Written<'_>>,
) -> PyResult<String> {
    let mut stopped = None;
    let raised = Raised::default();
    let outside = open::outside(written, &raised)?;
    let check = || {
        let media = FileMedia::open(&path)?;
        let settings = Settings::parse(&configuration(&media)?, outside)?;
        if from_oob {
            let found = flashgc_device::check::map_from_oob(&media, &settings)?;
            let mapped = found.map.iter().filter(|&&ppn| ppn != flashgc_ftl::UNMAPPED).count();
            return Ok(json!({ "mapped": mapped, "knows_losses": found.knows_losses }));
        }
        let pages = settings.layout.geometry.logical_pages();
        let mut watch = |done| match told(show.as_ref(), u64::from(done), u64::from(pages)) {
            Ok(()) => true,
            Err(error) => {
                stopped = Some(error);
                false
            }
        };
        let found = flashgc_device::check::check_watched(&media, &settings, &mut watch)?;
        Ok::<_, DeviceError>(json!({
            "is_clean": found.is_clean,
            "mapped": found.mapped,
            "damaged": found.damaged,
            "disagree": found.disagree,
            "discarded": found.discarded,
        }))
    };
    let found = py.detach(check);
    if let Some(error) = lock(&raised).take() {
        return Err(error);
    }
    match stopped {
        Some(error) => Err(error),
        None => to_json(&found.map_err(|error| failed(&path, &error))?),
    }
}

/// Shows how many of `pages` are done, unless a signal or `show` wants the end.
fn told(show: Option<&Py<PyAny>>, done: u64, pages: u64) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        show.map_or(Ok(()), |show| show.call1(py, (done, pages)).map(drop))
    })
}

/// The exception for what went wrong with the file at `path`.
fn failed(path: &Path, error: &DeviceError) -> PyErr {
    let text = format!("{}: {error}", path.display());
    match error {
        DeviceError::Io(error) => match (error.kind(), error.raw_os_error()) {
            (std::io::ErrorKind::InvalidInput, _) => ConfigError::new_err(text),
            (_, Some(number)) => {
                let message = error.to_string();
                let message = message.split(" (os error").next().unwrap_or_default().to_string();
                PyOSError::new_err((number, message, path.to_path_buf()))
            }
            _ => DriveError::new_err(text),
        },
        _ => DriveError::new_err(text),
    }
}

fn to_error(failure: Failure) -> PyErr {
    match failure {
        Failure::OutOfRange { .. } => PyValueError::new_err(failure.to_string()),
        _ => DriveError::new_err(failure.to_string()),
    }
}
