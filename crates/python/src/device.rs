//! The stored drive from Python: a drive in a file, its front ends, and what it says of itself.
//!
//! A drive has a thread of its own, so every call here waits without the interpreter: a victim policy
//! written in Python runs on that thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
        "victim": settings.victim.to_string(),
        "placement": settings.layout.placement.to_string(),
        "frontier": settings.layout.frontier.to_string(),
        "durability": settings.durability.name(),
        "journal_bytes": bytes(settings.journal_blocks),
        "seed": settings.layout.seed,
        "configuration": settings.text(),
    }))
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
        "victim": settings.victim.to_string(),
        "frontier": settings.layout.frontier.to_string(),
        "placement": settings.layout.placement.to_string(),
        "allocation": settings.layout.allocation.to_string(),
        "wear_levelling": settings.layout.levelling.map(|levelling| levelling.to_string()),
        "endurance": settings.layout.lifespan.map(|lifespan| lifespan.endurance.to_string()),
        "durability": settings.durability.name(),
        "seed": settings.layout.seed,
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
    path: PathBuf,
    queue: Queue,
    raised: Raised,
    open: Mutex<Option<Open>>,
}

struct Open {
    engine: Engine<Drive>,
    mounts: Vec<Mount>,
    servers: Vec<Server>,
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
            Ok::<_, DeviceError>(Engine::start(drive)?)
        };
        let engine = py.detach(open);
        if let Some(error) = lock(&raised).take() {
            return Err(error);
        }
        let engine = engine.map_err(|error| failed(&path, &error))?;
        let queue = engine.queue();
        let open = Open { engine, mounts: Vec::new(), servers: Vec::new() };
        Ok(Self { path, queue, raised, open: Mutex::new(Some(open)) })
    }

    /// Bytes of the drive.
    #[getter]
    fn size(&self) -> u64 {
        self.queue.size()
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

    /// The host will write the pages of a range soon; or takes that back.
    fn hint(&self, py: Python<'_>, at: u64, bytes: u64, cancel: bool) -> PyResult<()> {
        self.call(py, Command::Hint { at, bytes, cancel }).map(drop)
    }

    /// The state and the counts, as JSON.
    fn stat(&self, py: Python<'_>) -> PyResult<String> {
        let seen = self.visit(py, |drive, meter| {
            let latencies = Kind::ALL.map(|(name, kind)| (name, meter.latencies(kind)));
            (drive.stat(), latencies)
        })?;
        to_json(&report(&seen.0, &seen.1))
    }

    /// The blocks, a column each: state, class, valid pages, zombies and erases, little endian.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; 5]> {
        let columns = self.visit(py, |drive, _| {
            let mut columns: [Vec<u8>; 5] = Default::default();
            for block in drive.blocks() {
                columns[0].push(block.state as u8);
                columns[1].push(block.class);
                columns[2].extend(block.valid.to_le_bytes());
                columns[3].extend(block.zombies.to_le_bytes());
                columns[4].extend(block.erases.to_le_bytes());
            }
            columns
        })?;
        Ok(columns.map(|column| PyBytes::new(py, &column)))
    }

    /// Records what the drive is asked into a trace at `path` from now on; without one, ends that.
    /// Returns the requests of the recording that ended, if there was one.
    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<u64>> {
        let begun = path.as_deref().map(Recording::begin).transpose().map_err(errors::trace)?;
        let ended = self.visit(py, |drive, _| drive.replace_recording(begun))?;
        ended.map(|recording| py.detach(|| recording.end()).map_err(errors::trace)).transpose()
    }

    /// Mounts the drive in `folder` as a file, and returns the path of the file.
    fn serve_fuse(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        let mount = py.detach(|| Mount::new(self.queue.clone(), &folder)).map_err(|error| {
            DriveError::new_err(format!("{}: cannot be mounted: {error}", folder.display()))
        })?;
        let disk = mount.disk();
        self.opened()?.as_mut().ok_or_else(closed)?.mounts.push(mount);
        Ok(disk)
    }

    /// Serves the drive by the NBD protocol at `address`, and returns where.
    fn serve_nbd(&self, address: &str) -> PyResult<String> {
        let address: Address =
            address.parse().map_err(|error| errors::config(format!("--nbd: {error}")))?;
        let export = Export { name: String::new(), ..Export::default() };
        let server = Server::start(self.queue.clone(), &address, export).map_err(|error| {
            DriveError::new_err(format!("{address}: the NBD server cannot start: {error}"))
        })?;
        let found = server.address().to_string();
        self.opened()?.as_mut().ok_or_else(closed)?.servers.push(server);
        Ok(found)
    }

    /// Ends the front ends; a mount that somebody uses makes this an error, and stays.
    fn stop_serving(&self, py: Python<'_>) -> PyResult<()> {
        let mut open = self.opened()?;
        let open = open.as_mut().ok_or_else(closed)?;
        open.servers.clear();
        py.detach(|| {
            while let Some(mount) = open.mounts.last_mut() {
                mount.unmount()?;
                open.mounts.pop();
            }
            Ok::<_, std::io::Error>(())
        })
        .map_err(|error| {
            DriveError::new_err(format!(
                "the drive's file is in use: {error}; hint: unmount what is on it first"
            ))
        })
    }

    /// Closes the drive: all of it is in the file. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(Open { engine, mounts, servers }) = self.opened()?.take() else { return Ok(()) };
        let closed = py.detach(|| {
            drop((mounts, servers));
            let (drive, flushed) = engine.stop();
            let recorded = drive.map(|mut drive| {
                let recording = drive.replace_recording(None);
                let closed = drive.close();
                (recording.map(Recording::end).transpose(), closed)
            });
            (recorded, flushed)
        });
        match closed {
            (Some((recorded, closed)), _) => {
                closed.map_err(|error| failed(&self.path, &error))?;
                recorded.map_err(errors::trace)?;
            }
            (None, flushed) => flushed.map_err(to_error)?,
        }
        Ok(())
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the drive is closed")
}

impl StoredDrive {
    fn opened(&self) -> PyResult<std::sync::MutexGuard<'_, Option<Open>>> {
        let open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
        py.detach(|| self.queue.call(command)).map_err(|failure| self.raise(failure))
    }

    fn visit<T: Send + 'static>(
        &self,
        py: Python<'_>,
        visit: impl FnOnce(&mut Drive, &Meter) -> T + Send + 'static,
    ) -> PyResult<T> {
        let visit = move |served: &mut dyn Served, meter: &Meter| {
            served.as_drive().map(|drive| visit(drive, meter))
        };
        let seen = py.detach(|| self.queue.visit(visit)).map_err(|failure| self.raise(failure))?;
        seen.ok_or_else(closed)
    }
}

/// A report with the names of the standards: the SMART log (02h) and the OCP log (C0h).
fn report(report: &Report, latencies: &[(&str, Latencies)]) -> Value {
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
