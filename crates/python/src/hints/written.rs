//! The follower of what programs write to a file system.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use flashgc_base::sync::lock;
use flashgc_hints::written::{FileSystem, Follower, RING_BYTES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::page_cache::refused;

/// The bytes of a ring, in rings of the page cache's follower: every write is an event here.
const RINGS: usize = 4;

/// Counts the bytes that programs write to the file system on a block device.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct WriteFollower {
    follower: Mutex<Option<Follower>>,
}

#[pymethods]
impl WriteFollower {
    /// Follows the file system `kind` on the block device at `device`, with rings of `ring_bytes`.
    #[new]
    #[pyo3(signature = (device, kind, ring_bytes=None))]
    fn new(
        py: Python<'_>,
        device: PathBuf,
        kind: &str,
        ring_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let ring_bytes = ring_bytes.unwrap_or(RINGS * RING_BYTES);
        let open = || Follower::open(&device, FileSystem::named(kind)?, ring_bytes);
        let follower = py.detach(open).map_err(refused)?;
        Ok(Self { follower: Mutex::new(Some(follower)) })
    }

    /// Waits for this many seconds, or until a ring is half full, and counts what was written.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let timeout = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        py.detach(|| match lock(&self.follower).as_mut() {
            Some(follower) => follower.poll(timeout).map_err(refused),
            None => Err(closed()),
        })
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = lock(&self.follower).as_ref().map(Follower::counts).ok_or_else(closed)?;
        let shown = PyDict::new(py);
        shown.set_item("cached_bytes", counts.cached_bytes)?;
        shown.set_item("direct_bytes", counts.direct_bytes)?;
        shown.set_item("stores", counts.stores)?;
        shown.set_item("stored_most", counts.stored_most)?;
        shown.set_item("events", counts.events)?;
        shown.set_item("lost", counts.lost)?;
        Ok(shown)
    }

    fn close(&self) {
        lock(&self.follower).take();
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the follower is closed")
}
