//! The crash campaign from Python: its two levels in memory, and drives whose commands are
//! recorded, executed again and cut off by a crash.

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

/// The interval at which the calling thread checks whether the campaign has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a campaign of `total` parts on a new thread. The calling thread meanwhile handles signals
/// and reports progress.
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

/// Makes `images` images of drives after a crash, opens each, and returns the faults found, as
/// JSON.
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

/// Executes `operations` steps of random scripts, and returns the faults found, as JSON.
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
    /// `folder`. With `uncached`, both files bypass the page cache where the file system allows it.
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

    /// Unmounts the drive, and closes it. If somebody uses the mount, this is an error and the
    /// drive stays open.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.drive.close()).map_err(|error| failed(&self.path, &error))
    }
}

/// A command of a log: the bytes of the log at which it begins and ends, its kind, its first page,
/// and its number of pages.
type Command = (u64, u64, u64, u64, u64);

/// Returns the commands of the log at `path`.
#[pyfunction]
pub(crate) fn device_log(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Command>> {
    let commands = py.detach(|| replay::commands(&path));
    let refused = |error| DriveError::new_err(format!("{}: {error}", path.display()));
    let commands = commands.map_err(refused)?.into_iter();
    Ok(commands.map(|it| (it.begin, it.end, it.kind, it.page, it.count)).collect())
}

/// A drive that executes the commands of a log again.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceReplay {
    path: PathBuf,
    replay: Mutex<Replay>,
}

#[pymethods]
impl DeviceReplay {
    /// Prepares to execute the commands of `log` on the drive in the file at `path`.
    #[new]
    fn new(py: Python<'_>, log: PathBuf, path: PathBuf) -> PyResult<Self> {
        let replay = py.detach(|| Replay::new(&log, &path));
        let replay = Mutex::new(replay.map_err(|error| failed(&path, &error))?);
        Ok(Self { path, replay })
    }

    /// Executes commands up to the flush that ends at byte `end` of the log.
    fn advance(&self, py: Python<'_>, end: u64) -> PyResult<()> {
        let advanced = py.detach(|| lock(&self.replay).advance(end));
        advanced.map_err(|error| failed(&self.path, &error))
    }

    /// Changes `copy`, a copy of the drive's file, to a state that a crash may leave during the
    /// commands up to the next flush. Returns the number of commands kept, of commands dropped, and
    /// of writes to the file that were lost.
    fn cut(&self, py: Python<'_>, copy: PathBuf, seed: u64) -> PyResult<(u64, u64, u64)> {
        let cut = py.detach(|| lock(&self.replay).cut(&copy, seed));
        let cut = cut.map_err(|error| failed(&copy, &error))?;
        Ok((cut.kept, cut.dropped, cut.lost))
    }
}
