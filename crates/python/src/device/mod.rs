//! The stored drive from Python: conversion of the arguments and results of `flashgc_server`.
//!
//! This module creates, describes and checks the files of drives. [`open`] is a drive that is open,
//! [`client`] connects to a drive in another process, and [`campaign`] is the crash campaign.

mod campaign;
mod client;
mod open;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(crate) use campaign::{DeviceReplay, RecordedDrive, device_fuzz, device_log, device_sweep};
pub(crate) use client::DeviceClient;
use flashgc_base::stream::StreamId;
use flashgc_base::sync::lock;
use flashgc_device::past::Until;
use flashgc_device::{Outside, owners};
use flashgc_front::faults;
use flashgc_ftl::PlacementSpec;
use flashgc_server::files;
use flashgc_workload::generate::GeneratorSpec;
pub(crate) use open::{DeviceListener, DeviceMount, DriveFile, FileRings, StoredDrive, take_stack};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{self, ConfigError, Raised};
use crate::json::to_json;
use crate::outside::{Written, loaded};
use crate::places::At;

/// A fault as Python gives it: effect, kind of commands, first byte and number of bytes, number of
/// commands, seconds.
#[derive(FromPyObject)]
struct Fault(String, Option<String>, Option<(u64, u64)>, Option<u64>, Option<f64>, Option<u32>);

impl Fault {
    fn parsed(&self) -> PyResult<faults::Fault> {
        let Self(effect, kind, range, next, by, die) = self;
        flashgc_server::faults::fault(effect, kind.as_deref(), *range, *next, *by, *die)
            .map_err(errors::config)
    }
}

/// Loads the policies of a drive that are written in Python. Their exceptions go to `raised`.
fn outside(written: Option<Written<'_>>, raised: &Raised) -> PyResult<Outside> {
    let loaded = written.map(|written| loaded(written, raised)).transpose()?.unwrap_or_default();
    Ok(Outside { victim: loaded.victim, placement: loaded.placement })
}

/// Converts columns of the block table to Python's bytes.
fn columns<'py>(py: Python<'py>, columns: [&[u8]; 5]) -> [Bound<'py, PyBytes>; 5] {
    columns.map(|column| PyBytes::new(py, column))
}

/// The counts of a drive's state, as JSON: the name of each, its help text and its unit.
#[pyfunction]
pub(crate) fn device_counts() -> String {
    flashgc_server::counts().to_string()
}

/// Creates a drive in a new file at `path` and returns its description, as JSON. `config` is a
/// configuration of the engine; only the part that describes the drive counts. `places` has the
/// places of its options, for errors. `written` are the drive's policies in Python, with their
/// names.
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
    // No drive runs here: the policies' state begins when the file is opened.
    let outside = written.map(|written| loaded(written, &Raised::default())).transpose()?;
    let places = places.unwrap_or_default().0;
    let create = || files::create(&path, config, uuid, durability, journal_bytes, outside, &places);
    to_json(&py.detach(create).map_err(errors::server)?)
}

/// Executes the requests of the recording `trace` on the drive in the file at `path`. Each page is
/// written with the bytes at its place in the file `data`; without `data`, with zeros, which take
/// no room in the file.
#[pyfunction]
#[pyo3(signature = (path, trace, data=None))]
pub(crate) fn device_repeat(
    py: Python<'_>,
    path: PathBuf,
    trace: PathBuf,
    data: Option<PathBuf>,
) -> PyResult<()> {
    py.detach(|| files::repeat(&path, &trace, data.as_deref())).map_err(errors::server)
}

/// Ages the empty drive in the file at `path`. A `share` of its pages gets data. The workload and
/// seed in `writes` then overwrite these pages `times` times or, without `times`, until the drive
/// has settled. `record` is the path of a trace into which these writes are recorded. `show` is
/// called now and then with the page writes done, and with the page writes planned so far. Returns
/// the counts as JSON.
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
    let shown = Shown::new(show);
    let is_over = |done, due| !shown.goes_on(done, due);
    let age = || files::age(&path, share, (&workload, seed), until, record.as_deref(), &is_over);
    let aged = py.detach(age).map_err(errors::server)?;
    shown.checked()?;
    to_json(&aged)
}

/// Returns, as JSON, the configuration that the file at `path` was created from, and the names of
/// the policies in Python that are needed to open it. Another process may have the file open;
/// `held` is the file if this process has it open.
#[pyfunction]
#[pyo3(signature = (path, held=None))]
pub(crate) fn device_configuration(
    path: PathBuf,
    held: Option<PyRef<'_, DriveFile>>,
) -> PyResult<String> {
    let held = held.map(|held| held.0.try_clone()).transpose()?;
    to_json(&files::configured(&path, held).map_err(errors::server)?)
}

/// Reads all of the closed drive at `path`, and compares its map with the map rebuilt from the
/// out-of-band records. With `from_oob` it only rebuilds that map. Returns the result as JSON.
/// `show` is called now and then with the number of logical pages checked, and the number of all.
/// `written` are the drive's policies in Python, if it has any.
#[pyfunction]
#[pyo3(signature = (path, from_oob, show = None, written = None))]
pub(crate) fn device_check(
    py: Python<'_>,
    path: PathBuf,
    from_oob: bool,
    show: Option<Py<PyAny>>,
    written: Option<Written<'_>>,
) -> PyResult<String> {
    let raised = Raised::default();
    let outside = outside(written, &raised)?;
    let shown = Shown::new(show);
    let checked = py.detach(|| match from_oob {
        true => files::map_from_oob(&path, outside),
        false => files::check(&path, outside, &mut |done, pages| shown.goes_on(done, pages)),
    });
    errors::unless_raised(&raised, Ok(()))?;
    shown.checked()?;
    to_json(&checked.map_err(errors::server)?)
}

/// Executes the recording at `trace`, whose streams are owners, on a drive like the one in the file
/// at `path`. Returns, as JSON, the places of the owners' pages at the end, and the blocks with
/// their outdated copies. `groups` has the group of each owner, a number below `count`. A
/// collection counts only if it makes room for the host's page writes numbered in `counted`.
/// `placement` replaces the drive's placement, and has the stream of each group. `written` are the
/// drive's policies in Python. `recordings` have the streams that the host named; the list is empty
/// if it named none.
#[pyfunction]
#[pyo3(signature = (path, trace, groups, count, counted, written, recordings, placement=None))]
#[allow(clippy::too_many_arguments)] // it is called in one place
pub(crate) fn device_owners(
    py: Python<'_>,
    path: PathBuf,
    trace: PathBuf,
    groups: Vec<usize>,
    count: usize,
    counted: (u64, u64),
    written: Option<Written<'_>>,
    recordings: Vec<PathBuf>,
    placement: Option<(String, Vec<StreamId>)>,
) -> PyResult<String> {
    if count == 0 || groups.iter().any(|&group| group >= count) {
        return Err(ConfigError::new_err("every owner has one of the groups"));
    }
    let placement = placement.as_ref().map(|(spec, streams)| {
        PlacementSpec::parse(spec).map(|spec| (spec, streams.as_slice())).map_err(errors::config)
    });
    let recordings: Vec<&Path> = recordings.iter().map(PathBuf::as_path).collect();
    let query = owners::Query {
        groups: &groups,
        count,
        counted: counted.0..counted.1,
        recordings: &recordings,
        placement: placement.transpose()?,
    };
    let raised = Raised::default();
    let outside = outside(written, &raised)?;
    let owned = py.detach(|| files::owners(&path, outside, &trace, &query));
    to_json(&errors::unless_raised(&raised, owned)?)
}

/// Reports the progress of long work to Python, and keeps the exception that ends the work.
struct Shown {
    show: Option<Py<PyAny>>,
    failed: Mutex<Option<PyErr>>,
}

impl Shown {
    fn new(show: Option<Py<PyAny>>) -> Self {
        Self { show, failed: Mutex::new(None) }
    }

    /// Reports that `done` of `all` parts are done. Returns `false` if a signal or `show` ends the
    /// work.
    fn goes_on(&self, done: u64, all: u64) -> bool {
        let shown = Python::attach(|py| {
            py.check_signals()?;
            self.show.as_ref().map_or(Ok(()), |show| show.call1(py, (done, all)).map(drop))
        });
        *lock(&self.failed) = shown.err();
        lock(&self.failed).is_none()
    }

    fn checked(&self) -> PyResult<()> {
        lock(&self.failed).take().map_or(Ok(()), Err)
    }
}
