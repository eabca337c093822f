//! The crash campaign from Python: its two levels in memory, and drives that are recorded, replayed and
//! cut off.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flashgc_base::sync::lock;
use flashgc_device::DeviceError;
use flashgc_device::campaign::Pace;
use flashgc_device::campaign::replay::{self, Replay};
use flashgc_experiment::simulate::Control as EngineControl;
use flashgc_server::campaign;
use pyo3::prelude::*;

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
    to_json(&watched(py, control, poll, (Pace::default(), images), run)?)
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
    let run = |pace: &Pace| campaign::fuzz(seed, operations, pace);
    to_json(&watched(py, control, poll, (Pace::default(), operations), run)?)
}

fn failed(path: &Path, error: &DeviceError) -> PyErr {
    DriveError::new_err(format!("{}: {error}", path.display()))
}

/// A drive whose commands are logged.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct RecordedDrive {
    path: PathBuf,
    drive: campaign::RecordedDrive,
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
        let open = || campaign::RecordedDrive::open(&path, &log, &folder, uncached);
        let drive = py.detach(open).map_err(|error| failed(&path, &error))?;
        Ok(Self { path, drive })
    }

    /// Unmounts the drive, and closes it. While it is in use it stays open.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.drive.close()).map_err(|error| failed(&self.path, &error))
    }
}

/// A command of a log: the bytes at which it begins and ends there, its kind, its first page, its pages.
type Command = (u64, u64, u64, u64, u64);

/// Returns the commands of the log at `path`.
#[pyfunction]
pub(crate) fn device_log(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Command>> {
    let commands = py.detach(|| replay::commands(&path));
    let refused = |error| DriveError::new_err(format!("{}: {error}", path.display()));
    let commands = commands.map_err(refused)?.into_iter();
    Ok(commands.map(|it| (it.begin, it.end, it.kind, it.page, it.count)).collect())
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
        let advanced = py.detach(|| lock(&self.replay).advance(end));
        advanced.map_err(|error| failed(&self.path, &error))
    }

    /// Makes of a copy of the drive's file what a crash may leave of the commands behind. Returns how
    /// many were done, how many were not, and how many writes to the file were lost.
    fn cut(&self, py: Python<'_>, copy: PathBuf, seed: u64) -> PyResult<(u64, u64, u64)> {
        let cut = py.detach(|| lock(&self.replay).cut(&copy, seed));
        let cut = cut.map_err(|error| failed(&copy, &error))?;
        Ok((cut.kept, cut.dropped, cut.lost))
    }
}
