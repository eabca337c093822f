//! The follower of Linux's page cache.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use flashgc_base::sync::lock;
use flashgc_hints::page_cache::{Changes, FileSystem, FollowError, Follower, RING_BYTES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{ConfigError, DriveError};

/// Ranges of pages: first page, and how many.
type Pages = Vec<(u64, u64)>;

/// Returns `True` if this kernel has the tracepoint `name`.
#[pyfunction]
pub(crate) fn has_tracepoint(name: &str) -> PyResult<bool> {
    flashgc_hints::tracing::has_tracepoint(name).map_err(refused)
}

/// Follows the dirty pages of a block device.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct PageCacheFollower {
    follower: Mutex<Option<Follower>>,
}

#[pymethods]
impl PageCacheFollower {
    /// Follows the file system `kind` on the block device at `device`, with rings of `ring_bytes`.
    #[new]
    #[pyo3(signature = (device, kind, ring_bytes=None))]
    fn new(
        py: Python<'_>,
        device: PathBuf,
        kind: &str,
        ring_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let ring_bytes = ring_bytes.unwrap_or(RING_BYTES);
        let open = || Follower::open(&device, FileSystem::named(kind)?, ring_bytes);
        let follower = py.detach(open).map_err(refused)?;
        Ok(Self { follower: Mutex::new(Some(follower)) })
    }

    /// Waits for this many seconds and returns what became dirty and what was cancelled.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<(Pages, Pages)> {
        let timeout = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        let Changes { dirtied, cancelled } =
            self.ask(py, |follower| follower.poll(timeout))?.map_err(refused)?;
        Ok((dirtied, cancelled))
    }

    fn dirty(&self, py: Python<'_>) -> PyResult<Pages> {
        self.ask(py, |follower| follower.dirty())
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.ask(py, |follower| follower.counts())?;
        let shown = PyDict::new(py);
        for (name, count) in [
            ("events", counts.events),
            ("lost", counts.lost),
            ("bytes", counts.bytes),
            ("without_address", counts.without_address),
            ("dirty", counts.dirty),
            ("hinted", counts.hinted),
            ("ended", counts.ended),
            ("cancelled", counts.cancelled),
        ] {
            shown.set_item(name, count)?;
        }
        Ok(shown)
    }

    fn close(&self) {
        lock(&self.follower).take();
    }
}

impl PageCacheFollower {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut Follower) -> T + Send,
    ) -> PyResult<T> {
        let asked = py.detach(|| lock(&self.follower).as_mut().map(ask));
        asked.ok_or_else(|| PyValueError::new_err("the follower is closed"))
    }
}

pub(super) fn refused(error: FollowError) -> PyErr {
    match error {
        FollowError::FileSystem(_) => ConfigError::new_err(error.to_string()),
        _ => DriveError::new_err(error.to_string()),
    }
}
