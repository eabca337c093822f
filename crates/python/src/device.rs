//! The stored drive from Python: a drive in a file, its front ends, and what it says of itself.
//!
//! A drive has a thread of its own, so every call here waits without the interpreter: a victim policy
//! written in Python runs on that thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use flashgc_device::front::control::request::Pages;
use flashgc_device::front::control::{self, ClientError, Keeper};
use flashgc_device::front::failure::Failure;
use flashgc_device::front::fuse::Mount;
use flashgc_device::front::meter::{Kind, Latencies, Meter};
use flashgc_device::front::nbd::{Address, Export, Server};
use flashgc_device::front::queue::{Answer, Command, Engine, Queue};
use flashgc_device::media::FileMedia;
use flashgc_device::{
    DeviceError, Drive, Durability, LEAST_JOURNAL_BLOCKS, PAGE, Recording, Report, Served,
    Settings, configuration,
};
use flashgc_drive::config::Resolved;
use flashgc_drive::options::RunConfig;
use flashgc_workload::generate::GeneratorSpec;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::errors::{self, ConfigError, DriveError};
use crate::policy::{Raised, callable, external, lock};
use crate::simulate::to_json;

/// Makes a drive in a new file at `path` and returns what it is, as JSON. `config` is a configuration
/// of the engine, of which the drive's part is taken; `victim` a policy in Python and its name.
#[pyfunction]
#[pyo3(signature = (path, config, uuid, durability, journal_bytes=None, victim=None))]
pub(crate) fn device_create(
    py: Python<'_>,
    path: PathBuf,
    config: &str,
    uuid: [u8; 16],
    durability: &str,
    journal_bytes: Option<u64>,
    victim: Option<(String, Bound<'_, PyAny>)>,
) -> PyResult<String> {
    let settings = settings(config, durability, journal_bytes, victim)?;
    py.detach(|| create(&path, &settings, uuid)).map_err(|error| failed(&path, &error))?;
    describe(&settings)
}

/// What a drive of this configuration would be, as JSON. Nothing is made.
#[pyfunction]
#[pyo3(signature = (config, durability, journal_bytes=None, victim=None))]
pub(crate) fn device_plan(
    config: &str,
    durability: &str,
    journal_bytes: Option<u64>,
    victim: Option<(String, Bound<'_, PyAny>)>,
) -> PyResult<String> {
    describe(&settings(config, durability, journal_bytes, victim)?)
}

fn settings(
    config: &str,
    durability: &str,
    journal_bytes: Option<u64>,
    victim: Option<(String, Bound<'_, PyAny>)>,
) -> PyResult<Settings> {
    let config: RunConfig = serde_json::from_str(config).map_err(errors::config)?;
    let uniform = GeneratorSpec::parse(&config.workload).map_err(errors::config)?;
    // No drive is made of it here: what the policy knows begins when the file is opened.
    let policy = victim
        .map(|(name, policy)| {
            callable(&policy)?;
            Ok::<_, PyErr>((name, external(policy.unbind(), &Raised::default())))
        })
        .transpose()?;
    let resolved = Resolved::new(&config, Arc::new(uniform), policy);
    let resolved = resolved.map_err(|error| errors::ftl(&error))?;
    let (layout, victim) = resolved.kept().map_err(errors::config)?;
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
    let settings = Settings { layout, victim, journal_blocks, durability };
    settings.file_bytes().map_err(|error| errors::config(error.to_string()))?;
    Ok(settings)
}

fn describe(settings: &Settings) -> PyResult<String> {
    let geometry = settings.layout.geometry;
    let bytes = |pages: u64| pages * PAGE as u64;
    let file_bytes = settings.file_bytes().map_err(|error| errors::config(error.to_string()))?;
    to_json(&json!({
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

/// What decides: the options of a run with the same decisions, by their keys.
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

/// What the file at `path` says it was made from, as JSON: the configuration, and the name of the
/// policy in Python that opening it takes. It may be open elsewhere.
#[pyfunction]
pub(crate) fn device_configuration(path: PathBuf) -> PyResult<String> {
    let read = || {
        let media = FileMedia::read_only(&path)?;
        let text = configuration(&media)?;
        let outside = Settings::outside_victim(&text)?;
        let settings = Settings::parse(&text, Some(Arc::new(|_| unreachable!("is never built"))))?;
        Ok((text, outside, settings))
    };
    let (text, outside, settings) = read().map_err(|error| failed(&path, &error))?;
    let geometry = settings.layout.geometry;
    to_json(&json!({
        "configuration": text,
        "outside_victim": outside,
        "blocks": geometry.blocks(),
        "pages_per_block": geometry.pages_per_block(),
        "logical_pages": geometry.logical_pages(),
        "policies": policies(&settings),
        "durability": settings.durability.name(),
    }))
}

/// Reads all of the closed drive at `path`, and compares its map with that of the out-of-band records;
/// with `from_oob` only the latter is made. Returns what was found as JSON.
#[pyfunction]
pub(crate) fn device_check(py: Python<'_>, path: PathBuf, from_oob: bool) -> PyResult<String> {
    let check = || {
        let media = FileMedia::open(&path)?;
        let text = configuration(&media)?;
        let settings = Settings::parse(&text, Some(Arc::new(|_| unreachable!("is never built"))))?;
        if from_oob {
            let found = flashgc_device::check::map_from_oob(&media, &settings)?;
            let mapped = found.map.iter().filter(|&&ppn| ppn != flashgc_ftl::UNMAPPED).count();
            return Ok(json!({ "mapped": mapped, "knows_losses": found.knows_losses }));
        }
        let found = flashgc_device::check::check(&media, &settings)?;
        Ok::<_, DeviceError>(json!({
            "is_clean": found.is_clean,
            "mapped": found.mapped,
            "damaged": found.damaged,
            "disagree": found.disagree,
            "discarded": found.discarded,
        }))
    };
    let found = py.detach(check).map_err(|error| failed(&path, &error))?;
    to_json(&found)
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

/// A drive that is open in this process.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct StoredDrive {
    shown: Arc<Shown>,
    raised: Raised,
    open: Mutex<Option<Open>>,
}

struct Open {
    engine: Engine<Drive>,
    mounts: Vec<Mount>,
    servers: Vec<Server>,
    controls: Vec<control::Server>,
    #[cfg(feature = "vhost-user")]
    machines: Vec<flashgc_device::front::vhost::Server>,
}

/// What can be seen of a drive, from this process and through its control socket.
struct Shown {
    path: PathBuf,
    queue: Queue,
    since: Instant,
    victim: String,
    placement: String,
    /// The front ends, in words.
    serving: Mutex<Vec<String>>,
    /// Somebody asked for the end.
    stopping: AtomicBool,
}

impl Shown {
    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut Drive, &Meter) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let visit = move |served: &mut dyn Served, meter: &Meter| {
            served.as_drive().map(|drive| visit(drive, meter))
        };
        self.queue.visit(visit)?.ok_or(Failure::Stopped)
    }

    fn stat(&self) -> Result<Value, Failure> {
        let (report, latencies) = self.visit(|drive, meter| {
            (drive.stat(), Kind::ALL.map(|(name, kind)| (name, meter.latencies(kind))))
        })?;
        let mut stat = shown(&report, &latencies);
        stat["file"] = json!(self.path.display().to_string());
        stat["serving"] = json!(*lock(&self.serving));
        stat["uptime_seconds"] = json!(self.since.elapsed().as_secs_f64());
        stat["victim"] = json!(self.victim);
        stat["placement"] = json!(self.placement);
        Ok(stat)
    }

    /// The blocks, a column each: state, class, valid pages, zombies and erases, little endian.
    fn blocks(&self) -> Result<[Vec<u8>; 5], Failure> {
        self.visit(|drive, _| {
            let mut columns: [Vec<u8>; 5] = Default::default();
            for block in drive.blocks() {
                columns[0].push(block.state as u8);
                columns[1].push(block.class);
                columns[2].extend(block.valid.to_le_bytes());
                columns[3].extend(block.zombies.to_le_bytes());
                columns[4].extend(block.erases.to_le_bytes());
            }
            columns
        })
    }

    /// Begins a recording, or ends the one that goes on: how many requests that one has.
    fn record(&self, path: Option<&Path>) -> Result<Option<u64>, String> {
        let pages = self.queue.size() / PAGE as u64;
        let begun = path.map(|path| Recording::begin(path, pages)).transpose();
        let begun = begun.map_err(|error| error.to_string())?;
        let ended = self.visit(|drive, _| drive.replace_recording(begun));
        let ended = ended.map_err(|error| error.to_string())?;
        ended.map(Recording::end).transpose().map_err(|error| error.to_string())
    }
}

impl Keeper for Shown {
    fn stat(&self) -> Result<String, String> {
        let stat = self.stat().map_err(|error| error.to_string())?;
        serde_json::to_string(&stat).map_err(|error| error.to_string())
    }

    fn blocks(&self) -> Result<Vec<u8>, String> {
        Ok(self.blocks().map_err(|error| error.to_string())?.concat())
    }

    fn record(&self, file: Option<&Path>) -> Result<String, String> {
        let ended = self.record(file)?;
        let ended = ended.map(|requests| format!("recorded {requests} requests"));
        match (file, ended) {
            (Some(file), None) => Ok(format!("recording into {}", file.display())),
            (Some(file), Some(ended)) => Ok(format!("{ended}; recording into {}", file.display())),
            (None, Some(ended)) => Ok(ended),
            (None, None) => Err("no recording goes on; hint: name a trace".to_string()),
        }
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Bytes of a block in the answer of the control socket: the columns one behind the other.
const BLOCK_BYTES: usize = 10;

fn columns<'py>(py: Python<'py>, columns: [&[u8]; 5]) -> [Bound<'py, PyBytes>; 5] {
    columns.map(|column| PyBytes::new(py, column))
}

#[pymethods]
impl StoredDrive {
    /// Opens the drive in the file at `path`; `victim` is its policy, where that is in Python.
    /// `durability` is another than the file's.
    #[new]
    #[pyo3(signature = (path, victim=None, durability=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        victim: Option<Bound<'_, PyAny>>,
        durability: Option<&str>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let victim = victim
            .map(|policy| {
                callable(&policy)?;
                Ok::<_, PyErr>(external(policy.unbind(), &raised))
            })
            .transpose()?;
        let durability = durability.map(Durability::parse).transpose().map_err(errors::config)?;
        let open = || {
            let media = FileMedia::open(&path)?;
            let settings = Settings::parse(&configuration(&media)?, victim)?;
            let mut drive = Drive::open(Box::new(media), &settings)?;
            drive.set_durability(durability.unwrap_or(settings.durability));
            Ok::<_, DeviceError>((Engine::start(drive)?, settings))
        };
        let opened = py.detach(open);
        if let Some(error) = lock(&raised).take() {
            return Err(error);
        }
        let (engine, settings) = opened.map_err(|error| failed(&path, &error))?;
        let shown = Shown {
            path,
            queue: engine.queue(),
            since: Instant::now(),
            victim: settings.victim.to_string(),
            placement: settings.layout.placement.to_string(),
            serving: Mutex::default(),
            stopping: AtomicBool::new(false),
        };
        let open = Open {
            engine,
            mounts: Vec::new(),
            servers: Vec::new(),
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

    /// Whether somebody asked for the end through the control socket.
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

    /// Writes `data` from byte `at` on; with `fua` it is durable when this returns.
    fn write(&self, py: Python<'_>, at: u64, data: &[u8], fua: bool) -> PyResult<()> {
        self.call(py, Command::Write { at, data: data.to_vec(), fua }).map(drop)
    }

    /// Discards the whole pages of a range: they read as zeros.
    fn trim(&self, py: Python<'_>, at: u64, bytes: u64) -> PyResult<()> {
        self.call(py, Command::Trim { at, bytes, fua: false }).map(drop)
    }

    /// All that was completed before is durable when this returns.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Command::Flush).map(drop)
    }

    /// Pages that the host has written: the moment for hints that are given later.
    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, Command::Moment).map(pages)
    }

    /// The host will write the pages of a range soon, as it knew at `moment`. Returns how many of them it
    /// has written since.
    fn hint(&self, py: Python<'_>, at: u64, bytes: u64, moment: Option<u64>) -> PyResult<u64> {
        self.call(py, Command::Hint { at, bytes, moment }).map(pages)
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

    /// Records what the drive is asked into a trace at `path` from now on; without one, ends that.
    /// Returns the requests of the recording that ended, if there was one.
    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<u64>> {
        py.detach(|| self.shown.record(path.as_deref())).map_err(errors::trace)
    }

    /// Mounts the drive in `folder` as a file, and returns the path of the file.
    fn serve_fuse(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        let mut open = self.opened(py)?;
        let queue = self.shown.queue.clone();
        let mount = py.detach(|| Mount::new(queue, &folder)).map_err(|error| {
            DriveError::new_err(format!("{}: cannot be mounted: {error}", folder.display()))
        })?;
        let disk = mount.disk();
        open.as_mut().ok_or_else(closed)?.mounts.push(mount);
        lock(&self.shown.serving).push(format!("fuse {}", disk.display()));
        Ok(disk)
    }

    /// Serves the drive by the NBD protocol at `address`, and returns where.
    fn serve_nbd(&self, py: Python<'_>, address: &str) -> PyResult<String> {
        let mut open = self.opened(py)?;
        let address: Address =
            address.parse().map_err(|error| errors::config(format!("NBD: {error}")))?;
        let queue = self.shown.queue.clone();
        let server = Server::start(queue, &address, Export::default()).map_err(|error| {
            DriveError::new_err(format!("{address}: the NBD server cannot start: {error}"))
        })?;
        let found = server.address().to_string();
        open.as_mut().ok_or_else(closed)?.servers.push(server);
        lock(&self.shown.serving).push(found.clone());
        Ok(found)
    }

    /// Serves the drive to a virtual machine, whose monitor connects to the socket `path`.
    fn serve_vhost_user(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        #[cfg(feature = "vhost-user")]
        {
            use flashgc_device::front::vhost::{Disk, Server};
            let mut open = self.opened(py)?;
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

    /// Answers other processes at the control socket `path`.
    fn serve_control(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut open = self.opened(py)?;
        let keeper = Arc::clone(&self.shown) as Arc<dyn Keeper>;
        let queue = self.shown.queue.clone();
        let server = control::Server::start(queue, &path, keeper).map_err(|error| {
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
            open.servers.clear();
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
        Ok(())
    }

    /// Closes the drive: all of it is in the file. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut open) = open else { return Ok(()) };
        let (done, flushed) = py.detach(|| {
            open.controls.clear();
            open.mounts.clear();
            open.servers.clear();
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

fn pages(answer: Answer) -> u64 {
    if let Answer::Pages(pages) = answer { pages } else { 0 }
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

    /// What went wrong: what a policy raised comes first.
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

/// A connection to the process that serves a drive.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceClient {
    client: Mutex<Option<control::Client>>,
}

#[pymethods]
impl DeviceClient {
    /// Connects to the control socket at `path`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let client = py.detach(|| control::Client::connect(&path)).map_err(refused)?;
        Ok(Self { client: Mutex::new(Some(client)) })
    }

    fn stat(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |client| client.stat())
    }

    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; 5]> {
        let bytes = self.ask(py, |client| client.blocks())?;
        let blocks = bytes.len() / BLOCK_BYTES;
        let (state, rest) = bytes.split_at(blocks);
        let (class, rest) = rest.split_at(blocks);
        let (valid, rest) = rest.split_at(2 * blocks);
        let (zombies, erases) = rest.split_at(2 * blocks);
        Ok(columns(py, [state, class, valid, zombies, erases]))
    }

    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |client| client.moment())
    }

    fn hint(&self, py: Python<'_>, ranges: Vec<(u64, u64)>, moment: Option<u64>) -> PyResult<u64> {
        self.ask(py, |client| client.hint(moment, &to_pages(&ranges)))
    }

    fn cancel(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        self.ask(py, |client| client.cancel(&to_pages(&ranges)))
    }

    fn trim(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        self.ask(py, |client| client.trim(&to_pages(&ranges)))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |client| client.flush())
    }

    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        self.ask(py, |client| client.record(path.as_deref()))
    }

    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |client| client.stop())
    }

    fn close(&self) {
        lock(&self.client).take();
    }
}

impl DeviceClient {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut control::Client) -> Result<T, ClientError> + Send,
    ) -> PyResult<T> {
        let asked = py.detach(|| lock(&self.client).as_mut().map(ask));
        asked.ok_or_else(|| PyValueError::new_err("the connection is closed"))?.map_err(refused)
    }
}

fn refused(error: ClientError) -> PyErr {
    DriveError::new_err(error.to_string())
}

fn to_pages(ranges: &[(u64, u64)]) -> Vec<Pages> {
    ranges.iter().map(|&(first, count)| Pages { first, count }).collect()
}

/// A report with the names of the standards: the SMART log (02h) and the OCP log (C0h).
fn shown(report: &Report, latencies: &[(&str, Latencies)]) -> Value {
    /// Bytes of a data unit of the SMART log: 1000 sectors of 512.
    const UNIT: u64 = 512_000;
    let page = PAGE as u64;
    let geometry = report.geometry;
    let counters = report.counters;
    let usage = report.usage;
    let blocks = u64::from(geometry.blocks());
    let programmed = counters.host_pages + counters.copied_pages;
    let percent = |part: u64, whole: u64| (part * 100).checked_div(whole).unwrap_or_default();
    let spare = report.spare_blocks.map_or(100, |reserve| {
        percent(reserve.saturating_sub(report.bad_blocks).into(), reserve.max(1).into())
    });
    let mean_erases = counters.erases as f64 / blocks as f64;
    let used = report.endurance.map_or(0, |bears| percent(mean_erases as u64, bears.max(1)));
    let is_out_of_spare = spare < SPARE_THRESHOLD;
    let critical = u8::from(is_out_of_spare) | u8::from(report.read_only.is_some()) << 3;
    let hour = 3_600_000_000_000;
    let latency_us: serde_json::Map<String, Value> = latencies
        .iter()
        .map(|&(name, Latencies { count, mean, p50, p90, p99, p999, max })| {
            let all = json!({
                "count": count, "mean": mean, "p50": p50, "p90": p90, "p99": p99, "p999": p999,
                "max": max,
            });
            (name.to_string(), all)
        })
        .collect();
    json!({
        "uuid": uuid_text(report.uuid),
        "capacity_bytes": u64::from(geometry.logical_pages()) * page,
        "page_bytes": page,
        "blocks": blocks,
        "pages_per_block": geometry.pages_per_block(),
        "durability": report.durability.name(),
        "write_amplification": (counters.host_pages > 0)
            .then(|| programmed as f64 / counters.host_pages as f64),
        "read_only": report.read_only,
        "free_blocks": report.free_blocks,
        "mapped_pages": report.mapped_pages,
        "zombie_pages": report.zombies.map(|zombies| zombies.known),
        "decisions": format!("{:016x}", report.decisions),
        "recovery": report.recovery.map(|recovery| {
            json!({ "records": recovery.records, "skipped": recovery.skipped })
        }),
        "smart": {
            "critical_warning": critical,
            "available_spare": spare,
            "available_spare_threshold": SPARE_THRESHOLD,
            "percentage_used": used.min(255),
            "data_units_read": usage.read_bytes.div_ceil(UNIT),
            "data_units_written": usage.written_bytes.div_ceil(UNIT),
            "host_read_commands": usage.reads,
            "host_write_commands": usage.writes,
            "controller_busy_time": usage.busy_ns / (hour / 60),
            "power_cycles": report.power_cycles,
            "power_on_hours": usage.open_ns / hour,
            "unsafe_shutdowns": report.unsafe_shutdowns,
            "media_errors": report.media_errors,
        },
        "ocp": {
            "physical_media_units_written": programmed * page,
            "physical_media_units_read": usage.read_bytes + counters.copied_pages * page,
            "bad_user_nand_blocks": report.bad_blocks,
            "user_data_erase_count_max": report.most_erases,
            "user_data_erase_count_min": report.least_erases,
            "nand_avg_erase_count": mean_erases,
            "percent_free_blocks": percent(report.free_blocks.into(), blocks),
            "incomplete_shutdowns": report.unsafe_shutdowns,
            "unaligned_io": usage.unaligned,
        },
        "counters": {
            "host_bytes_read": usage.read_bytes,
            "host_bytes_written": usage.written_bytes,
            "host_pages_written": counters.host_pages,
            "host_pages_read": usage.read_bytes / page,
            "trim_commands": usage.trims,
            "trimmed_bytes": usage.trimmed_bytes,
            "trimmed_pages": counters.trimmed_pages,
            "copied_pages": counters.copied_pages,
            "erases": counters.erases,
            "collections": counters.collections,
            "hints": usage.hints,
            "hinted_pages": report.zombies.map_or(0, |zombies| zombies.marked),
            "copied_zombies": report.zombies.map_or(0, |zombies| zombies.copied),
            "flushes": usage.flushes,
            "syncs": report.syncs,
            "checkpoints": report.checkpoints,
            "busy_seconds": usage.busy_ns as f64 / 1e9,
            "open_seconds": usage.open_ns as f64 / 1e9,
        },
        "latency_us": latency_us,
    })
}

/// Percent of the spare blocks below which the SMART log warns.
const SPARE_THRESHOLD: u64 = 10;

fn uuid_text(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
