//! A drive that is open in this process, and its front ends.
//!
//! Every call releases the interpreter while it waits: a policy written in Python runs on the
//! drive's own thread.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use flashgc_device::Durability;
use flashgc_front::command::{Answer, Command};
use flashgc_front::fuse::Prepared;
use flashgc_front::socket::Listener;
use flashgc_hints::allocations::FileSystem;
use flashgc_hints::files::Live;
use flashgc_server::{self as server, Clock, Opening, Reserved, ServerError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{Fault, columns, outside};
use crate::errors::{self, DriveError, Raised};
use crate::json::to_json;
use crate::outside::Written;

/// The kernel's event rings for ext4 or xfs, opened while this process still has the right to do
/// so. They receive no events yet.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct FileRings(Arc<Live>);

#[pymethods]
impl FileRings {
    #[new]
    fn new(py: Python<'_>, filesystem: &str) -> PyResult<Self> {
        let prepared = py.detach(|| Live::prepare(FileSystem::named(filesystem)?));
        Ok(Self(Arc::new(prepared.map_err(|error| DriveError::new_err(error.to_string()))?)))
    }
}

/// The history of a drive with a clock before it is opened: the number of times that its data have
/// been overwritten, or a recording to execute.
#[derive(FromPyObject)]
enum Past {
    Times(f64),
    Recorded(PathBuf),
}

/// A drive that is open in this process.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct StoredDrive {
    drive: server::StoredDrive,
    raised: Raised,
}

impl StoredDrive {
    /// Calls `body` with the drive. If a policy has raised an exception, that exception replaces
    /// the drive's error.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&server::StoredDrive) -> Result<T, ServerError> + Send,
    ) -> PyResult<T> {
        py.detach(|| body(&self.drive))
            .map_err(|error| errors::raised(&self.raised, errors::server(error)))
    }

    fn call(&self, py: Python<'_>, command: Command) -> PyResult<Answer> {
        self.with(py, |drive| drive.call(command))
    }
}

#[pymethods]
impl StoredDrive {
    /// Opens the drive in the file at `path`. `written` are its policies in Python, if it has any.
    /// `durability` replaces that of the file. `held` is the drive's file if it is already open.
    /// `files` are the rings of the kernel that say which files the pages belong to.
    ///
    /// With a `clock`, each answer is sent when a drive with a clock would send it. `clock` has the
    /// configuration of that drive as JSON, the factor by which its clock is slower than real time,
    /// its past, and the mode of its hints.
    #[new]
    #[pyo3(signature = (path, written=None, durability=None, clock=None, held=None, files=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        written: Option<Written<'_>>,
        durability: Option<&str>,
        clock: Option<(&str, f64, Past, Option<&str>)>,
        held: Option<PyRef<'_, DriveFile>>,
        files: Option<PyRef<'_, FileRings>>,
    ) -> PyResult<Self> {
        let clock = clock.map(|(config, slower, past, hints)| {
            let past = match past {
                Past::Times(times) => server::Past::Times(times),
                Past::Recorded(trace) => server::Past::Recorded(trace),
            };
            Clock::new(config, slower, past, hints).map_err(errors::server)
        });
        let raised = Raised::default();
        let opening = Opening {
            path,
            held: held.map(|held| held.0.try_clone()).transpose()?,
            files: files.map(|rings| Arc::clone(&rings.0)),
            clock: clock.transpose()?,
            outside: outside(written, &raised)?,
            durability: durability.map(Durability::parse).transpose().map_err(errors::config)?,
        };
        let drive = py.detach(|| server::StoredDrive::open(opening));
        Ok(Self { drive: errors::unless_raised(&raised, drive)?, raised })
    }

    /// The capacity of the drive in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.drive.size()
    }

    /// The descriptions of the front ends that serve the drive.
    #[getter]
    fn serving(&self) -> Vec<String> {
        self.drive.state().serving()
    }

    /// Adds the description of a front end that this module did not start.
    fn serves(&self, words: String) {
        self.drive.state().serves(words);
    }

    /// `True` if a client of the control socket has requested the end.
    #[getter]
    fn stopping(&self) -> bool {
        self.drive.state().is_stopping()
    }

    /// Reads `bytes` bytes, beginning at byte `at`.
    fn read<'py>(&self, py: Python<'py>, at: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |drive| drive.read(at, bytes))?))
    }

    /// Writes `data`, beginning at byte `at`, in the stream `stream`. With `fua` the data are
    /// durable when this returns.
    #[pyo3(signature = (at, data, fua, stream=None))]
    fn write(
        &self,
        py: Python<'_>,
        at: u64,
        data: &[u8],
        fua: bool,
        stream: Option<u32>,
    ) -> PyResult<()> {
        self.with(py, |drive| drive.write(at, data.to_vec(), fua, stream))
    }

    /// Discards the whole pages of a range: they read as zeros.
    fn trim(&self, py: Python<'_>, at: u64, bytes: u64) -> PyResult<()> {
        self.call(py, Command::Trim { at, bytes, fua: false }).map(drop)
    }

    /// Makes all writes that were completed before durable.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Command::Flush).map(drop)
    }

    /// The number of pages that the host has written: the `moment` of hints that are given later.
    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, Command::Moment).map(|answer| answer.pages())
    }

    /// Gives hints on a range: the host will write its pages soon, as it knew at `moment`. Returns
    /// how many of these pages the host has written since `moment`.
    fn hint(&self, py: Python<'_>, at: u64, bytes: u64, moment: Option<u64>) -> PyResult<u64> {
        self.call(py, Command::Hint { at, bytes, moment }).map(|answer| answer.pages())
    }

    /// Cancels the hints on the pages of a range.
    fn cancel(&self, py: Python<'_>, at: u64, bytes: u64) -> PyResult<()> {
        self.call(py, Command::Cancel { at, bytes }).map(drop)
    }

    /// The state and the counts, as JSON.
    fn stat(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&self.with(py, |drive| Ok(drive.state().stat()?))?)
    }

    /// The blocks, a column each: state, class, valid pages, zombies and erases, little endian.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; 5]> {
        let blocks = self.with(py, |drive| Ok(drive.state().blocks()?))?;
        Ok(columns(py, blocks.each_ref().map(Vec::as_slice)))
    }

    /// Ends the current phase and begins one called `name`. Returns the number of the new phase.
    fn mark(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        self.with(py, |drive| drive.mark(name))
    }

    /// Sets a fault for hosts. Returns the number of the fault. If the fault ends connections at
    /// once, returns the number of those instead.
    fn inject(&self, py: Python<'_>, fault: Fault) -> PyResult<u64> {
        let fault = fault.parsed()?;
        self.with(py, |drive| drive.inject(fault))
    }

    /// Removes the fault `number`, or all faults. Returns how many were removed.
    #[pyo3(signature = (number=None))]
    fn clear(&self, py: Python<'_>, number: Option<u64>) -> PyResult<usize> {
        self.with(py, |drive| drive.clear(number))
    }

    /// Records the drive's requests into a trace at `path` from now on; without `path`, ends the
    /// recording. Returns the number of requests in the recording that ended, if there was one.
    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<u64>> {
        self.with(py, |drive| drive.record(path.as_deref()))
    }

    /// Mounts the drive in `folder` as a file, and returns the path of that file. `prepared` is the
    /// mount, if root has made it already.
    #[pyo3(signature = (folder, prepared=None))]
    fn serve_fuse(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        prepared: Option<Py<DeviceMount>>,
    ) -> PyResult<PathBuf> {
        let prepared = prepared.as_ref().map(|prepared| &prepared.get().0);
        self.with(py, |drive| drive.serve_fuse(&folder, prepared))
    }

    /// Serves the drive by the NBD protocol at `address`, and returns the address. `bound` is the
    /// listener, if it is bound already. With `anywhere`, the address may be one that other
    /// machines reach.
    #[pyo3(signature = (address, bound=None, anywhere=false))]
    fn serve_nbd(
        &self,
        py: Python<'_>,
        address: &str,
        bound: Option<Py<DeviceListener>>,
        anywhere: bool,
    ) -> PyResult<String> {
        let bound = bound.as_ref().map(|bound| &bound.get().0);
        self.with(py, |drive| drive.serve_nbd(address, bound, anywhere))
    }

    /// Serves the drive by NVMe/TCP at `address`. Returns the address and the NVMe qualified name.
    /// `bound` and `anywhere` mean the same as in `serve_nbd`.
    #[pyo3(signature = (address, bound=None, anywhere=false))]
    fn serve_nvme_tcp(
        &self,
        py: Python<'_>,
        address: &str,
        bound: Option<Py<DeviceListener>>,
        anywhere: bool,
    ) -> PyResult<(String, String)> {
        let bound = bound.as_ref().map(|bound| &bound.get().0);
        self.with(py, |drive| drive.serve_nvme_tcp(address, bound, anywhere))
    }

    /// Answers other processes at the control socket `path`. `bound` is the listener, if it is
    /// bound already.
    #[pyo3(signature = (path, bound=None))]
    fn serve_control(
        &self,
        py: Python<'_>,
        path: PathBuf,
        bound: Option<Py<DeviceListener>>,
    ) -> PyResult<()> {
        let bound = bound.as_ref().map(|bound| &bound.get().0);
        self.with(py, |drive| drive.serve_control(&path, bound))
    }

    /// Ends the front ends. If somebody uses the mount, this is an error, and the mount stays.
    fn stop_serving(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, server::StoredDrive::stop_serving)
    }

    /// Writes all state into the file and closes the drive. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, server::StoredDrive::close)
    }
}

/// The bytes of stack that a server touches before it serves: more than it will use.
const STACK: usize = 1 << 20;

/// Uses [`STACK`] bytes of this thread's stack, so that the kernel maps them now. The kernel maps
/// the stack of the first thread only as it grows.
#[pyfunction]
pub(crate) fn take_stack() {
    std::hint::black_box([1_u8; STACK]);
}

/// The file of a drive. A process with the rights opens it, and the process that serves reads it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DriveFile(pub(super) File);

#[pymethods]
impl DriveFile {
    /// Opens the file at `path` for reading and writing, and locks it. Errors call it `name`. With
    /// `uncached`, reads and writes bypass the page cache where the file system allows it.
    #[new]
    #[pyo3(signature = (path, name=None, uncached=false))]
    fn new(path: PathBuf, name: Option<PathBuf>, uncached: bool) -> PyResult<Self> {
        let file = File::options().read(true).write(true).open(&path)?;
        server::lock_file(&file, name.as_deref().unwrap_or(&path), uncached)
            .map_err(errors::server)?;
        Ok(Self(file))
    }

    /// The number of the user who owns the file.
    fn owner(&self) -> PyResult<u32> {
        Ok(self.0.metadata()?.uid())
    }
}

/// An address at which a server will listen. A process with the rights binds it before.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceListener(Reserved<Listener>);

#[pymethods]
impl DeviceListener {
    /// Listens at `HOST:PORT` or `unix:PATH`; with `nvme_tcp`, at `HOST:PORT` alone.
    #[new]
    #[pyo3(signature = (address, nvme_tcp=false))]
    fn new(address: &str, nvme_tcp: bool) -> PyResult<Self> {
        let bind = if nvme_tcp { server::bind_nvme_tcp } else { server::bind_nbd };
        bind(address).map(Self).map_err(errors::server)
    }
}

/// A FUSE mount that root has made for the process that will serve it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceMount(Reserved<Prepared>);

#[pymethods]
impl DeviceMount {
    /// Mounts in `folder`. Only root may do this.
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        server::mount(&folder).map(Self).map_err(errors::server)
    }
}
