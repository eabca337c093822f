//! The follower of the dirty pages in Linux's page cache.

use std::path::PathBuf;

use flashgc_hints::page_cache::{Changes, DirtyFollower, FileSystem, FollowError, RING_BYTES};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::closable::{self, Closable};
use crate::errors::{ConfigError, DriveError};

/// Ranges of pages: first page, and number of pages.
type Pages = Vec<(u64, u64)>;

/// Returns `True` if this kernel has the tracepoint `name`.
#[pyfunction]
pub(crate) fn has_tracepoint(name: &str) -> PyResult<bool> {
    flashgc_hints::tracing::has_tracepoint(name).map_err(refused)
}

/// Follows the dirty pages of a block device.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct PageCacheFollower(Closable<DirtyFollower>);

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
        let open = || DirtyFollower::open(&device, FileSystem::named(kind)?, ring_bytes);
        let follower = py.detach(open).map_err(refused)?;
        Ok(Self(Closable::new("follower", follower)))
    }

    /// Waits for `seconds` seconds, or until a ring is half full. Returns the ranges that became
    /// dirty and the ranges whose hints are cancelled.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<(Pages, Pages)> {
        let timeout = closable::seconds(seconds)?;
        let polled = self.0.with(py, |follower| follower.poll(timeout))?;
        polled.map(|Changes { dirtied, cancelled }| (dirtied, cancelled)).map_err(refused)
    }

    fn dirty(&self, py: Python<'_>) -> PyResult<Pages> {
        self.0.with(py, |follower| follower.dirty())
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.0.with(py, |follower| follower.counts())?;
        [
            ("events", counts.events),
            ("lost", counts.lost),
            ("bytes", counts.bytes),
            ("without_address", counts.without_address),
            ("dirty", counts.dirty),
            ("hinted", counts.hinted),
            ("ended", counts.ended),
            ("cancelled", counts.cancelled),
        ]
        .into_py_dict(py)
    }

    fn close(&self) {
        self.0.close();
    }
}

pub(super) fn refused(error: FollowError) -> PyErr {
    match error {
        FollowError::FileSystem(_) => ConfigError::new_err(error.to_string()),
        _ => DriveError::new_err(error.to_string()),
    }
}
