//! A drive that is open in this process, and its front ends.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_device::failure::Failure;
use flashgc_device::media::{FileMedia, bypass_page_cache};
use flashgc_device::{
    DeviceError, Drive, Durability, Outside, Recording, Settings, Strangers, configuration,
};
use flashgc_front::command::{Answer, Command};
use flashgc_front::control::{self, Keeper};
use flashgc_front::fuse::{Mount, Prepared};
use flashgc_front::limits::Limits;
use flashgc_front::nbd::{Address, Export, Server};
use flashgc_front::nvme;
use flashgc_front::pace::Pace;
use flashgc_front::queue::Engine;
use flashgc_front::socket::Listener;
use flashgc_hints::allocations::FileSystem;
use flashgc_hints::files::Live;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use serde_json::json;

use super::faults::{self, Asked};
use super::pace::{self, Clock, Past};
use super::shown::{Connections, Shown, columns};
use super::{failed, to_error};
use crate::errors::{self, DriveError};
use crate::json::to_json;
use crate::outside::{Written, loaded};
use crate::policy::{Raised, lock};

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

/// A drive that is open in this process.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct StoredDrive {
    shown: Arc<Shown>,
    raised: Raised,
    open: Mutex<Option<Open>>,
}

/// The policies of a drive that are written in Python; their exceptions go to `raised`.
pub(super) fn outside(written: Option<Written<'_>>, raised: &Raised) -> PyResult<Outside> {
    let loaded = written.map(|written| loaded(written, raised)).transpose()?.unwrap_or_default();
    Ok(Outside { victim: loaded.victim, placement: loaded.placement })
}

struct Open {
    engine: Engine<Drive>,
    mounts: Vec<Mount>,
    servers: Vec<Server>,
    targets: Vec<nvme::Server>,
    controls: Vec<control::Server>,
    #[cfg(feature = "vhost-user")]
    machines: Vec<flashgc_front::vhost::Server>,
}
#[pymethods]
impl StoredDrive {
    /// Opens the drive in the file at `path`; `written` are its policies in Python, where it has such.
    /// `durability` is another than the file's.
    #[new]
    /// With a `clock` (the configuration of a drive with a clock as JSON, how much slower than the wall's it
    /// is, how often its data are written before or the recording that it repeats, the way of hints) answers
    /// leave when that drive would answer. `held` is its file, open already. `files` are the rings of the kernel
    /// by which it knows the files behind its pages.
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
        let held = held.map(|held| held.file.try_clone()).transpose()?;
        let files = files.map(|rings| Arc::clone(&rings.0));
        let clock =
            clock.map(|(config, slower, past, hints)| Clock::new(config, slower, past, hints));
        let clock = clock.transpose()?;
        let raised = Raised::default();
        let outside = outside(written, &raised)?;
        let durability = durability.map(Durability::parse).transpose().map_err(errors::config)?;
        let read = || {
            let media = held.map_or_else(|| FileMedia::open(&path), FileMedia::opened)?;
            let settings = Settings::parse(&configuration(&media)?, outside)?;
            Ok::<_, DeviceError>((media, settings))
        };
        let (media, settings) = py.detach(read).map_err(|error| failed(&path, &error))?;
        let mut live = clock.as_ref().map(|clock| clock.drive(&settings)).transpose()?;
        let slowest = pace::Slowest::default();
        let open = || {
            let durability = durability.unwrap_or(settings.durability);
            let mut drive = Drive::open_as(Box::new(media), &settings, durability)?;
            if let Some((live, clock)) = live.as_mut().zip(clock.as_ref()) {
                pace::fill(live, clock, &mut drive)?;
            }
            let geometry = live.as_ref().map(|live| *live.geometry());
            let pace = live.zip(clock).map(|(live, clock)| {
                let timed = pace::Timed::new(live, Arc::clone(&slowest));
                Pace::start(Box::new(timed), clock.slower)
            });
            Ok::<_, DeviceError>((Engine::start_paced(drive, pace.transpose()?)?, geometry))
        };
        let opened = py.detach(open);
        if let Some(error) = lock(&raised).take() {
            return Err(error);
        }
        let (engine, geometry) = opened.map_err(|error| failed(&path, &error))?;
        let clock = geometry.map(|geometry| {
            json!({
                "blocks": geometry.blocks(),
                "pages_per_block": geometry.pages_per_block(),
                "logical_pages": geometry.logical_pages(),
            })
        });
        let shown = Shown {
            path,
            queue: engine.queue(),
            since: Instant::now(),
            victim: settings.victim.to_string(),
            placement: settings.layout.placement.to_string(),
            serving: Mutex::default(),
            connections: Mutex::default(),
            clock: json!(clock),
            slowest,
            recorded_since: Mutex::default(),
            phases: Mutex::default(),
            files,
            stopping: AtomicBool::new(false),
        };
        let open = Open {
            engine,
            mounts: Vec::new(),
            servers: Vec::new(),
            targets: Vec::new(),
            controls: Vec::new(),
            #[cfg(feature = "vhost-user")]
            machines: Vec::new(),
        };
        let open = Mutex::new(Some(open));
        Ok(Self { shown: Arc::new(shown), raised, open })
    }

    /// Bytes of the drive.
    #[getter]
    fn size(&self) -> u64 {
        self.shown.queue.size()
    }

    /// The front ends, in words.
    #[getter]
    fn serving(&self) -> Vec<String> {
        lock(&self.shown.serving).clone()
    }

    /// Adds a front end that is not one of this module.
    fn serves(&self, words: String) {
        lock(&self.shown.serving).push(words);
    }

    /// `True` if somebody asked for the end through the control socket.
    #[getter]
    fn stopping(&self) -> bool {
        self.shown.stopping.load(Ordering::SeqCst)
    }

    /// Reads `bytes` bytes from byte `at` on.
    fn read<'py>(&self, py: Python<'py>, at: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        match self.call(py, Command::Read { at, bytes })? {
            Answer::Data(data) => Ok(PyBytes::new(py, &data)),
            _ => Err(DriveError::new_err("a read was answered without data")),
        }
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
        if stream.is_some() && !self.shown.queue.takes_streams() {
            return Err(errors::config(
                "stream: the drive takes none from its host; hint: make it with placement=\"fdp:handles=8\"",
            ));
        }
        let known =
            |stream: u32| StreamId::try_from(stream).ok().filter(|&known| known != NO_STREAM);
        let wrong = |stream| errors::config(format!("stream: found {stream}, expected 0 to 254"));
        let streams = stream.map(|stream| known(stream).ok_or_else(|| wrong(stream)));
        let streams = streams.transpose()?.into_iter().collect();
        self.call(py, Command::Write { at, data: data.to_vec(), fua, streams }).map(drop)
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
        to_json(&py.detach(|| self.shown.stat()).map_err(|failure| self.raise(failure))?)
    }

    /// The blocks, a column each: state, class, valid pages, zombies and erases, little endian.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; 5]> {
        let found = py.detach(|| self.shown.blocks()).map_err(|failure| self.raise(failure))?;
        Ok(columns(py, found.each_ref().map(Vec::as_slice)))
    }

    /// Ends the phase that goes on and begins one called `name`. Returns its number.
    fn mark(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        py.detach(|| self.shown.mark(name)).map_err(DriveError::new_err)
    }

    /// Sets a fault for hosts. Returns its number, or that of the connections that ended at once.
    fn inject(&self, py: Python<'_>, fault: Asked) -> PyResult<u64> {
        let fault = faults::fault(fault)?;
        drop(self.opened(py)?);
        py.detach(|| self.shown.queue.faults().inject(fault)).map_err(DriveError::new_err)
    }

    /// Takes a fault away, or all. Returns the number of faults taken away.
    #[pyo3(signature = (number=None))]
    fn clear(&self, py: Python<'_>, number: Option<u64>) -> PyResult<usize> {
        drop(self.opened(py)?);
        py.detach(|| self.shown.queue.faults().clear(number)).map_err(DriveError::new_err)
    }

    /// Records what the drive is asked into a trace at `path` from now on; without one, ends that.
    /// Returns the requests of the recording that ended, if there was one.
    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<u64>> {
        py.detach(|| self.shown.record(path.as_deref())).map_err(errors::trace)
    }

    /// Mounts the drive in `folder` as a file, and returns the path of the file. `prepared` is the mount,
    /// made already.
    #[pyo3(signature = (folder, prepared=None))]
    fn serve_fuse(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        prepared: Option<PyRef<'_, DeviceMount>>,
    ) -> PyResult<PathBuf> {
        let mut open = self.opened(py)?;
        let queue = self.shown.queue.clone();
        let prepared = prepared.map(|prepared| lock(&prepared.prepared).take().ok_or_else(used));
        let prepared = prepared.transpose()?;
        let mount = || match prepared {
            Some(prepared) => Mount::serve(queue, prepared),
            None => Mount::new(queue, &folder),
        };
        let mount = py.detach(mount).map_err(|error| {
            DriveError::new_err(format!("{}: cannot be mounted: {error}", folder.display()))
        })?;
        let disk = mount.disk();
        open.as_mut().ok_or_else(closed)?.mounts.push(mount);
        lock(&self.shown.serving).push(format!("fuse {}", disk.display()));
        Ok(disk)
    }

    /// Serves the drive by the NBD protocol at `address`, and returns where. `bound` listens there already.
    /// `anywhere`: also where other machines reach it.
    #[pyo3(signature = (address, bound=None, anywhere=false))]
    fn serve_nbd(
        &self,
        py: Python<'_>,
        address: &str,
        bound: Option<PyRef<'_, DeviceListener>>,
        anywhere: bool,
    ) -> PyResult<String> {
        let mut open = self.opened(py)?;
        let address = parse_nbd(address)?;
        // One that stands for nothing is refused below.
        if !anywhere && !py.detach(|| address.is_local()).unwrap_or(true) {
            return Err(errors::config(format!(
                "NBD: {address} is for other machines too, expected an address of this one; hint: \
                 127.0.0.1:10809, or listen_anywhere=True"
            )));
        }
        if !matches!(address, Address::Unix(_)) {
            self.let_in(py, Strangers::TCP)?;
        }
        let queue = self.shown.queue.clone();
        let server = match bound.map(|bound| bound.take()).transpose()? {
            Some(listener) => {
                Server::start_with(queue, &address, listener, Export::default(), Limits::default())
            }
            None => Server::start(queue, &address, Export::default()),
        };
        let server = server.map_err(|error| {
            DriveError::new_err(format!("{address}: the NBD server cannot start: {error}"))
        })?;
        let found = server.address().to_string();
        let seen = Connections::Nbd(server.seen());
        lock(&self.shown.connections).push((found.clone(), seen));
        open.as_mut().ok_or_else(closed)?.servers.push(server);
        lock(&self.shown.serving).push(found.clone());
        Ok(found)
    }

    /// Serves the drive by NVMe/TCP at `address`. Returns the address and the NVMe qualified name. `bound` and
    /// `anywhere` are those of `serve_nbd`.
    #[pyo3(signature = (address, bound=None, anywhere=false))]
    fn serve_nvme_tcp(
        &self,
        py: Python<'_>,
        address: &str,
        bound: Option<PyRef<'_, DeviceListener>>,
        anywhere: bool,
    ) -> PyResult<(String, String)> {
        let mut open = self.opened(py)?;
        let address = parse_nvme(address)?;
        // One that stands for nothing is refused below.
        if !anywhere && !py.detach(|| address.is_local()).unwrap_or(true) {
            return Err(errors::config(format!(
                "NVMe/TCP: {address} is for other machines too, expected an address of this one; hint: \
                 127.0.0.1:4420, or listen_anywhere=True"
            )));
        }
        let uuid = py.detach(|| self.shown.uuid()).map_err(|failure| self.raise(failure))?;
        self.let_in(py, Strangers::TCP)?;
        let handles = self.shown.handles();
        let block = address.block;
        let export = nvme::Export { uuid, handles, block, ..nvme::Export::default() };
        let queue = self.shown.queue.clone();
        let target = match bound.map(|bound| bound.take()).transpose()? {
            Some(listener) => {
                nvme::Server::start_with(queue, &address, listener, &export, Limits::default())
            }
            None => nvme::Server::start(queue, &address, &export),
        };
        let target = target.map_err(|error| {
            DriveError::new_err(format!("{address}: the NVMe/TCP target cannot start: {error}"))
        })?;
        let found = (target.address().to_string(), export.name());
        let words = format!("nvme-tcp {} {}", found.0, found.1);
        let hosts = Connections::Nvme(target.hosts());
        lock(&self.shown.connections).push((words.clone(), hosts));
        open.as_mut().ok_or_else(closed)?.targets.push(target);
        lock(&self.shown.serving).push(words);
        Ok(found)
    }

    /// Serves the drive to a virtual machine, whose monitor connects to the socket `path`.
    fn serve_vhost_user(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        #[cfg(feature = "vhost-user")]
        {
            use flashgc_front::vhost::{Disk, Server};
            let mut open = self.opened(py)?;
            self.let_in(py, Strangers::SOCKET)?;
            let queue = self.shown.queue.clone();
            let server = Server::start(queue, &path, Disk::default()).map_err(|error| {
                DriveError::new_err(format!("{}: cannot be served: {error}", path.display()))
            })?;
            open.as_mut().ok_or_else(closed)?.machines.push(server);
            lock(&self.shown.serving).push(format!("vhost-user {}", path.display()));
            Ok(())
        }
        #[cfg(not(feature = "vhost-user"))]
        {
            drop(self.opened(py)?);
            Err(errors::config(format!(
                "{}: this build serves no virtual machines; hint: maturin develop --release --features \
                 vhost-user",
                path.display()
            )))
        }
    }

    /// Answers other processes at the control socket `path`. `bound` listens there already.
    #[pyo3(signature = (path, bound=None))]
    fn serve_control(
        &self,
        py: Python<'_>,
        path: PathBuf,
        bound: Option<PyRef<'_, DeviceListener>>,
    ) -> PyResult<()> {
        let mut open = self.opened(py)?;
        let keeper = Arc::clone(&self.shown) as Arc<dyn Keeper>;
        let queue = self.shown.queue.clone();
        let server = match bound.map(|bound| bound.take()).transpose()? {
            Some(listener) => control::Server::start_on(queue, &path, listener, keeper),
            None => control::Server::start(queue, &path, keeper),
        };
        let server = server.map_err(|error| {
            DriveError::new_err(format!("{}: no control socket: {error}", path.display()))
        })?;
        open.as_mut().ok_or_else(closed)?.controls.push(server);
        Ok(())
    }

    /// Ends the front ends; a mount that somebody uses makes this an error, and stays.
    fn stop_serving(&self, py: Python<'_>) -> PyResult<()> {
        let mut open = self.opened(py)?;
        let open = open.as_mut().ok_or_else(closed)?;
        py.detach(|| {
            self.shown.no_faults();
            open.servers.clear();
            open.targets.clear();
            #[cfg(feature = "vhost-user")]
            open.machines.clear();
            while let Some(mount) = open.mounts.last_mut() {
                mount.unmount()?;
                open.mounts.pop();
            }
            // Last, so that a drive that stays mounted can still be asked.
            open.controls.clear();
            Ok::<_, std::io::Error>(())
        })
        .map_err(|error| {
            self.shown.stopping.store(false, Ordering::SeqCst);
            DriveError::new_err(format!(
                "the drive's file is in use: {error}; hint: unmount what is on it first"
            ))
        })?;
        lock(&self.shown.serving).clear();
        lock(&self.shown.connections).clear();
        Ok(())
    }

    /// Closes the drive: all of it is in the file. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut open) = open else { return Ok(()) };
        let (done, flushed) = py.detach(|| {
            self.shown.no_faults();
            open.controls.clear();
            open.mounts.clear();
            open.servers.clear();
            open.targets.clear();
            #[cfg(feature = "vhost-user")]
            open.machines.clear();
            let (drive, flushed) = open.engine.stop();
            let done = drive.map(|mut drive| {
                let recording = drive.replace_recording(None);
                (drive.close(), recording.map(Recording::end).transpose())
            });
            (done, flushed)
        });
        let Some((closed, recorded)) = done else { return flushed.map_err(to_error) };
        closed.map_err(|error| failed(&self.shown.path, &error))?;
        recorded.map(drop).map_err(errors::trace)
    }
}

fn parse_nbd(address: &str) -> PyResult<Address> {
    address.parse().map_err(|error| errors::config(format!("NBD: {error}")))
}

fn parse_nvme(address: &str) -> PyResult<nvme::Address> {
    address.parse().map_err(|error| errors::config(format!("NVMe/TCP: {error}")))
}

fn used() -> PyErr {
    PyValueError::new_err("it serves a drive already")
}

/// The file of a drive, opened by who may, and read by who serves it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DriveFile {
    pub(super) file: File,
}

#[pymethods]
impl DriveFile {
    /// Opens the file at `path` to read and to write, and locks it. Errors call it `name`. With `uncached`
    /// the page cache has nothing of it, where the file system can do that.
    #[new]
    #[pyo3(signature = (path, name=None, uncached=false))]
    fn new(path: PathBuf, name: Option<PathBuf>, uncached: bool) -> PyResult<Self> {
        let file = File::options().read(true).write(true).open(&path)?;
        if uncached {
            let _ = bypass_page_cache(&file);
        }
        // The lock is that of the open file, so it stays.
        let locked = file.try_clone().and_then(FileMedia::opened);
        let name = name.as_deref().unwrap_or(&path);
        locked.map_err(|error| failed(name, &DeviceError::Io(error)))?;
        Ok(Self { file })
    }

    /// The number of the user who owns the file.
    fn owner(&self) -> PyResult<u32> {
        Ok(self.file.metadata()?.uid())
    }
}

/// A place where a server will listen, bound by who may.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceListener {
    listener: Mutex<Option<Listener>>,
}

#[pymethods]
impl DeviceListener {
    /// Listens at `HOST:PORT` or `unix:PATH`; with `nvme_tcp`, at `HOST:PORT` alone.
    #[new]
    #[pyo3(signature = (address, nvme_tcp=false))]
    fn new(address: &str, nvme_tcp: bool) -> PyResult<Self> {
        let (listener, shown) = if nvme_tcp {
            let parsed = parse_nvme(address)?;
            (nvme::Server::listen(&parsed), parsed.to_string())
        } else {
            let parsed = parse_nbd(address)?;
            (Server::listen(&parsed), parsed.to_string())
        };
        let listener = listener.map_err(|error| {
            DriveError::new_err(format!("{shown}: the server cannot start: {error}"))
        })?;
        Ok(Self { listener: Mutex::new(Some(listener)) })
    }
}

impl DeviceListener {
    fn take(&self) -> PyResult<Listener> {
        lock(&self.listener).take().ok_or_else(used)
    }
}

/// A mount of FUSE that root has made, and that waits for who serves it.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceMount {
    prepared: Mutex<Option<Prepared>>,
}

#[pymethods]
impl DeviceMount {
    /// Mounts in `folder`, for root alone.
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        let prepared = Prepared::new(&folder).map_err(|error| {
            DriveError::new_err(format!("{}: cannot be mounted: {error}", folder.display()))
        })?;
        Ok(Self { prepared: Mutex::new(Some(prepared)) })
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the drive is closed")
}

impl StoredDrive {
    fn opened(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Open>>> {
        // Who holds it may wait for the interpreter.
        let open = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if open.is_some() { Ok(open) } else { Err(closed()) }
    }

    /// Notes in the drive's file that `strangers` reach the drive, before they do.
    fn let_in(&self, py: Python<'_>, strangers: Strangers) -> PyResult<()> {
        py.detach(|| self.shown.let_in(strangers)).map_err(|failure| self.raise(failure))
    }

    /// Returns the exception of a failure: the one that a policy raised, if there is one.
    fn raise(&self, failure: Failure) -> PyErr {
        lock(&self.raised).take().unwrap_or_else(|| match failure {
            Failure::Stopped => closed(),
            _ => to_error(failure),
        })
    }

    fn call(&self, py: Python<'_>, command: Command) -> PyResult<Answer> {
        py.detach(|| self.shown.queue.call(command)).map_err(|failure| self.raise(failure))
    }
}
