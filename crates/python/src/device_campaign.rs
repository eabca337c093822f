//! The crash campaign from Python: its two levels in memory, and drives that are recorded, replayed and
//! cut off.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flashgc_device::campaign::replay::{self, Recorder, Replay};
use flashgc_device::campaign::{self, Broken, Outcome, Pace, fuzz};
use flashgc_device::media::{FileMedia, bypass_page_cache};
use flashgc_device::{DeviceError, Drive, Outside, Settings, configuration};
use flashgc_experiment::simulate::Control as EngineControl;
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::DriveError;
use crate::json::to_json;
use crate::watch::{Control, Watch};

/// The interval at which the calling thread looks if the campaign is over.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a campaign of `total` parts on a thread of its own, while this one looks at signals and reports progress.
fn watched<T: Send>(
    py: Python<'_>,
    control: &Control,
    poll: Option<Py<PyAny>>,
    (pace, total): (Pace, u64),
    run: impl FnOnce(&Pace) -> T + Send,
) -> PyResult<T> {
    let mut watch = Watch::new(control, poll);
    let outcome = py.detach(|| {
        std::thread::scope(|scope| {
            let runs = scope.spawn(|| run(&pace));
            while !runs.is_finished() {
                std::thread::sleep(LOOK);
                let share = pace.done() as f64 / total.max(1) as f64;
                let done = share.min(1.0) * EngineControl::RUN as f64;
                control.engine.done.store(done as u64, Ordering::Relaxed);
                control.engine.programs.store(pace.done(), Ordering::Relaxed);
                watch.look();
                if control.cancelled() {
                    pace.stop();
                }
            }
            runs.join()
        })
    });
    let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    watch.failed.map_or(Ok(outcome), Err)
}

fn told(tally: Value, broken: Option<&Broken>) -> PyResult<String> {
    let broken = broken.map(
        |Broken { seed, what, script }| json!({ "seed": seed, "what": what, "script": script }),
    );
    to_json(&json!({ "counts": tally, "broken": broken }))
}

/// Opens drives from `images` images of what crashes leave, and returns what was found, as JSON.
#[pyfunction]
#[pyo3(signature = (seed, images, control, poll=None))]
pub(crate) fn device_sweep(
    py: Python<'_>,
    seed: u64,
    images: u64,
    control: &Control,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let run = |pace: &Pace| campaign::sweep(seed, images, pace);
    let Outcome { tally, broken } = watched(py, control, poll, (Pace::default(), images), run)?;
    let counts = json!({
        "schedules": tally.schedules,
        "images": tally.images,
        "of_recoveries": tally.of_recoveries,
        "of_recovered_drives": tally.of_recovered,
        "openings_behind_the_end_of_a_process": tally.of_lives,
        "of_hosts_that_outlive_the_process": tally.of_hosts,
        "of_drives_whose_life_was_over": tally.of_ended,
        "openings_refused": tally.refused,
        "pages_lost_behind_a_fault": tally.lost,
        "with_lost_writes_or_swapped_pages": tally.of_lies,
        "lost_writes_and_swapped_pages_found": tally.lies_found,
        "records_skipped": tally.skipped,
        "maps_compared": tally.compared,
    });
    told(counts, broken.as_ref())
}

/// Does `operations` steps of random scripts, and returns what was found, as JSON.
#[pyfunction]
#[pyo3(signature = (seed, operations, control, poll=None))]
pub(crate) fn device_fuzz(
    py: Python<'_>,
    seed: u64,
    operations: u64,
    control: &Control,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let run = |pace: &Pace| fuzz::run(seed, operations, pace);
    let Outcome { tally, broken } = watched(py, control, poll, (Pace::default(), operations), run)?;
    let counts = json!({
        "scripts": tally.scripts,
        "operations": tally.operations,
        "crashes": tally.crashes,
        "recoveries_cut_off": tally.recoveries_cut,
        "reopened": tally.reopened,
        "faults_of_the_medium": tally.faults,
        "bits_flipped": tally.flips,
        "openings_refused": tally.refused,
        "media_errors": tally.media_errors,
        "ended_lives": tally.ended,
        "lies": tally.lies,
        "pages_gone_back_after_a_flip": tally.went_back,
        "ends_of_the_process_that_a_host_outlived": tally.outlived,
        "maps_compared": tally.compared,
    });
    told(counts, broken.as_ref())
}

fn failed(path: &std::path::Path, error: &DeviceError) -> PyErr {
    DriveError::new_err(format!("{}: {error}", path.display()))
}

/// A drive whose commands are logged.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct RecordedDrive {
    path: PathBuf,
    open: Mutex<Option<Recorded>>,
}

struct Recorded {
    engine: Engine<Recorder<Drive>>,
    mount: Mount,
}

#[pymethods]
impl RecordedDrive {
    /// Opens the drive in the file at `path`, logs its commands into a new file, and mounts it in
    /// `folder`. With `uncached`, both files are read and written past the page cache where that can be.
    #[new]
    #[pyo3(signature = (path, log, folder, uncached=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        log: PathBuf,
        folder: PathBuf,
        uncached: bool,
    ) -> PyResult<Self> {
        let open = || {
            let file = std::fs::File::options().read(true).write(true).open(&path)?;
            if uncached {
                let _ = bypass_page_cache(&file);
            }
            let media = FileMedia::opened(file)?;
            let settings = Settings::parse(&configuration(&media)?, Outside::default())?;
            let drive = Drive::open(Box::new(media), &settings)?;
            let engine = Engine::start(Recorder::new(drive, &log, uncached)?)?;
            let mount = Mount::new(engine.queue(), &folder)?;
            Ok::<_, DeviceError>(Recorded { engine, mount })
        };
        let open = py.detach(open).map_err(|error| failed(&path, &error))?;
        Ok(Self { path, open: Mutex::new(Some(open)) })
    }

    /// Unmounts the drive, and closes it. While it is in use it stays open.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(recorded) = open.as_mut() {
                recorded.mount.unmount()?;
            }
            let Some(recorded) = open.take() else { return Ok(()) };
            match recorded.engine.stop() {
                (Some(recorder), Ok(())) => recorder.into_drive().close(),
                (_, Err(failure)) => Err(DeviceError::Media(failure.to_string())),
                (None, Ok(())) => Ok(()),
            }
        })
        .map_err(|error| failed(&self.path, &error))
    }
}

/// Returns the ends of the flushes in the log at `path`.
#[pyfunction]
pub(crate) fn device_flushes(py: Python<'_>, path: PathBuf) -> PyResult<Vec<u64>> {
    let read = py.detach(|| replay::flushes(&path));
    read.map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

/// A drive that does the commands of a log again.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceReplay {
    path: PathBuf,
    replay: Mutex<Replay>,
}

#[pymethods]
impl DeviceReplay {
    /// Will do the commands of `log` on the drive in the file at `path`.
    #[new]
    fn new(py: Python<'_>, log: PathBuf, path: PathBuf) -> PyResult<Self> {
        let replay = py.detach(|| Replay::new(&log, &path));
        let replay = Mutex::new(replay.map_err(|error| failed(&path, &error))?);
        Ok(Self { path, replay })
    }

    /// Does commands up to the flush that ends at `end`.
    fn advance(&self, py: Python<'_>, end: u64) -> PyResult<()> {
        let advanced = py.detach(|| self.held().advance(end));
        advanced.map_err(|error| failed(&self.path, &error))
    }

    /// Makes of a copy of the drive's file what a crash may leave of the commands behind. Returns how
    /// many were done, how many were not, and how many writes to the file were lost.
    fn cut(&self, py: Python<'_>, copy: PathBuf, seed: u64) -> PyResult<(u64, u64, u64)> {
        let cut = py.detach(|| self.held().cut(&copy, seed));
        let cut = cut.map_err(|error| failed(&copy, &error))?;
        Ok((cut.kept, cut.dropped, cut.lost))
    }
}

impl DeviceReplay {
    fn held(&self) -> std::sync::MutexGuard<'_, Replay> {
        self.replay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
