//! Handles signals and reports progress while the engine works. The engine itself does neither.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use flashgc_base::sync::lock;
use flashgc_experiment::input::Places;
use flashgc_experiment::simulate::Control as EngineControl;
use flashgc_workload::trace::{Fault, Progress, TraceError};
use pyo3::prelude::*;

/// The interval at which the calling thread checks for signals and reports progress.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The time that the reader of a trace may take to stop. A reader that takes longer is blocked on
/// its file. The work goes on without it, and it ends when the file does.
const PATIENCE: Duration = Duration::from_millis(500);

/// Stops the engine's work and reports its progress. It may be used in a signal handler and in
/// other threads.
#[pyclass(frozen, module = "flashgc._core")]
#[derive(Default)]
pub(crate) struct Control {
    pub(crate) engine: Arc<EngineControl>,
    /// The number of bytes of a trace read so far.
    read: AtomicU64,
    /// The size of the trace in bytes.
    to_read: AtomicU64,
    /// The number of accesses to memory recorded so far.
    recorded: AtomicU64,
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the work at the next batch. Runs then report their results so far.
    fn cancel(&self) {
        self.engine.cancel.store(true, Ordering::Relaxed);
    }

    /// `True` if the work was cancelled.
    #[getter]
    pub(crate) fn cancelled(&self) -> bool {
        self.engine.cancel.load(Ordering::Relaxed)
    }

    /// The number of runs done; the fraction is the progress of the current ones.
    #[getter]
    fn done(&self) -> f64 {
        self.engine.done.load(Ordering::Relaxed) as f64 / EngineControl::RUN as f64
    }

    /// Pages programmed so far.
    #[getter]
    fn programs(&self) -> u64 {
        self.engine.programs.load(Ordering::Relaxed)
    }

    /// The slowest request so far of a drive with a clock, as JSON; `None` before there is one.
    #[getter]
    fn worst(&self) -> PyResult<Option<String>> {
        let worst = lock(&self.engine.worst).clone();
        worst.as_ref().map(crate::json::to_json).transpose()
    }

    /// Bytes of the trace read so far, before decompression.
    #[getter]
    fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Accesses to memory recorded so far.
    #[getter]
    fn accesses(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Size of the trace in bytes; 0 if none is being read.
    #[getter]
    fn total_bytes(&self) -> u64 {
        self.to_read.load(Ordering::Relaxed)
    }
}

impl Control {
    /// Notes how many accesses are recorded.
    pub(crate) fn recorded(&self, accesses: u64) {
        self.recorded.store(accesses, Ordering::Relaxed);
    }
}

/// Checks for signals and calls the callback, at most once every [`POLL`].
pub(crate) struct Watch<'a> {
    pub(crate) control: &'a Control,
    callback: Option<Py<PyAny>>,
    last: Instant,
    /// The exception of a signal handler or of the callback; it stops the work.
    pub(crate) failed: Option<PyErr>,
    /// The places of the given options, for errors.
    pub(crate) names: Places,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(control: &'a Control, callback: Option<Py<PyAny>>) -> Self {
        let names = Places::default();
        Self { control, callback, last: Instant::now(), failed: None, names }
    }

    /// Returns this watch with the places of the given options.
    pub(crate) fn named(self, names: Places) -> Self {
        Self { names, ..self }
    }

    /// Lets Python handle signals and report progress, if that is due. An exception cancels the
    /// work.
    pub(crate) fn look(&mut self) {
        if self.last.elapsed() < POLL {
            return;
        }
        self.last = Instant::now();
        let looked = Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                callback.call0(py)?;
            }
            Ok::<_, PyErr>(())
        });
        if let Err(error) = looked {
            self.fail(error);
        }
    }

    /// Keeps the exception, if it is the first, and stops the work.
    pub(crate) fn fail(&mut self, error: PyErr) {
        self.control.cancel();
        self.failed.get_or_insert(error);
    }

    /// Notes the progress of reading a trace. Call it between blocks of the trace. Returns `false`
    /// if the reader must stop.
    pub(crate) fn reading(&mut self, progress: &Progress) -> bool {
        self.control.read.store(progress.read(), Ordering::Relaxed);
        self.control.to_read.store(progress.total, Ordering::Relaxed);
        self.look();
        !self.control.cancelled()
    }

    /// Reads the trace at `path` on a new thread, with `read`. Between blocks, `read` asks whether
    /// to continue. The thread is needed because a pipe may have no writer yet, or one that pauses:
    /// the reader then waits and cannot be stopped.
    pub(crate) fn read_aside<T: Send + 'static>(
        &mut self,
        path: &Path,
        read: impl FnOnce(&mut dyn FnMut(&Progress) -> bool) -> Result<T, TraceError> + Send + 'static,
    ) -> Result<T, TraceError> {
        let stop = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(OnceLock::<Progress>::new());
        let (done, outcome) = mpsc::sync_channel(1);
        let reader = {
            let (stop, progress) = (Arc::clone(&stop), Arc::clone(&progress));
            thread::spawn(move || {
                let mut go_on = |now: &Progress| {
                    progress.get_or_init(|| now.clone());
                    !stop.load(Ordering::Relaxed)
                };
                // If this reader was left behind, nobody receives the outcome.
                let _ = done.send(read(&mut go_on));
            })
        };
        loop {
            match outcome.recv_timeout(POLL) {
                Ok(read) => return read,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match reader.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("a reader says what it has read"),
                },
            }
            let goes_on = match progress.get() {
                Some(progress) => self.reading(progress),
                None => {
                    self.look();
                    !self.control.cancelled()
                }
            };
            if !goes_on {
                stop.store(true, Ordering::Relaxed);
                let stopped = || TraceError::new(path, Fault::Cancelled, "stopped");
                return outcome.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(stopped()));
            }
        }
    }
}
