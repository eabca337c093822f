//! A drive that is open in this process, and its front ends.
//!
//! Every call waits without the interpreter: a policy written in Python runs on the drive's own thread.

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

/// The kernel's rings for the events of ext4 or xfs, opened while this process may. They receive nothing yet.
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

/// The past of a drive with a clock.
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
    /// Uses the drive. The exception that a policy has raised comes before that of the drive.
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
    /// Opens the drive in the file at `path`; `written` are its policies in Python, where it has such.
    /// `durability` is another than the file's.
    /// With a `clock` (the configuration of a drive with a clock as JSON, how much slower than the wall's it
    /// is, how often its data are written before or the recording that it repeats, the way of hints) answers
    /// leave when that drive would answer. `held` is its file, open already. `files` are the rings of the kernel
    /// by which it knows the files behind its pages.
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

    /// Bytes of the drive.
    #[getter]
    fn size(&self) -> u64 {
        self.drive.size()
    }

    /// The front ends, in words.
    #[getter]
    fn serving(&self) -> Vec<String> {
        self.drive.state().serving()
    }

    /// Adds a front end that is not one of this module.
    fn serves(&self, words: String) {
        self.drive.state().serves(words);
    }

    /// `True` if somebody asked for the end through the control socket.
    #[getter]
    fn stopping(&self) -> bool {
        self.drive.state().is_stopping()
    }

    /// Reads `bytes` bytes from byte `at` on.
    fn read<'py>(&self, py: Python<'py>, at: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |drive| drive.read(at, bytes))?))
    }

    /// Writes `data` from byte `at` on in the stream `stream`; with `fua` it is durable when this returns.
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

    /// Makes all that was completed before durable, and returns then.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Command::Flush).map(drop)
    }

    /// Pages that the host has written: the moment for hints that are given later.
    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, Command::Moment).map(|answer| answer.pages())
    }

    /// The host will write the pages of a range soon, as it knew at `moment`. Returns how many of them it
    /// has written since.
    fn hint(&self, py: Python<'_>, at: u64, bytes: u64, moment: Option<u64>) -> PyResult<u64> {
        self.call(py, Command::Hint { at, bytes, moment }).map(|answer| answer.pages())
    }

    /// The host takes hints on the pages of a range back.
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

    /// Ends the phase that goes on and begins one called `name`. Returns its number.
    fn mark(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        self.with(py, |drive| drive.mark(name))
    }

    /// Sets a fault for hosts. Returns its number, or that of the connections that ended at once.
    fn inject(&self, py: Python<'_>, fault: Fault) -> PyResult<u64> {
        let fault = fault.parsed()?;
        self.with(py, |drive| drive.inject(fault))
    }

    /// Takes a fault away, or all. Returns the number of faults taken away.
    #[pyo3(signature = (number=None))]
    fn clear(&self, py: Python<'_>, number: Option<u64>) -> PyResult<usize> {
        self.with(py, |drive| drive.clear(number))
    }

    /// Records what the drive is asked into a trace at `path` from now on; without one, ends that.
    /// Returns the requests of the recording that ended, if there was one.
    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<u64>> {
        self.with(py, |drive| drive.record(path.as_deref()))
    }

    /// Mounts the drive in `folder` as a file, and returns the path of the file. `prepared` is the mount,
    /// made already.
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

    /// Serves the drive by the NBD protocol at `address`, and returns where. `bound` listens there already.
    /// `anywhere`: also where other machines reach it.
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

    /// Serves the drive by NVMe/TCP at `address`. Returns the address and the NVMe qualified name. `bound` and
    /// `anywhere` are those of `serve_nbd`.
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

    /// Answers other processes at the control socket `path`. `bound` listens there already.
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

    /// Ends the front ends; a mount that somebody uses makes this an error, and stays.
    fn stop_serving(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, server::StoredDrive::stop_serving)
    }

    /// Closes the drive: all of it is in the file. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, server::StoredDrive::close)
    }
}

/// The bytes of stack that a server takes before it serves: more than it ever uses.
const STACK: usize = 1 << 20;

/// Makes the stack of this thread as large as it will be. The stack of the first thread is mapped as it grows.
#[pyfunction]
pub(crate) fn take_stack() {
    std::hint::black_box([1_u8; STACK]);
}

/// The file of a drive, opened by who may, and read by who serves it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DriveFile(pub(super) File);

#[pymethods]
impl DriveFile {
    /// Opens the file at `path` to read and to write, and locks it. Errors call it `name`. With `uncached`
    /// the page cache has nothing of it, where the file system can do that.
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

/// A place where a server will listen, bound by who may.
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

/// A mount of FUSE that root has made, and that waits for who serves it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceMount(Reserved<Prepared>);

#[pymethods]
impl DeviceMount {
    /// Mounts in `folder`, for root alone.
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        server::mount(&folder).map(Self).map_err(errors::server)
    }
}
