//! The follower of the writes of programs to a file system.

use std::path::PathBuf;

use flashgc_hints::written::{CallFollower, FileSystem, RING_BYTES};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::page_cache::refused;
use crate::closable::{self, Closable};

/// The size of a ring, as a multiple of a ring of the page cache's follower. It is larger because
/// every write is an event here.
const RINGS: usize = 4;

/// Counts the bytes that programs write to the file system on a block device.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct WriteFollower(Closable<CallFollower>);

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
        let open = || CallFollower::open(&device, FileSystem::named(kind)?, ring_bytes);
        let follower = py.detach(open).map_err(refused)?;
        Ok(Self(Closable::new("follower", follower)))
    }

    /// Waits for `seconds` seconds, or until a ring is half full, and counts the bytes written.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let timeout = closable::seconds(seconds)?;
        self.0.with(py, |follower| follower.poll(timeout))?.map_err(refused)
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.0.with(py, |follower| follower.counts())?;
        [
            ("cached_bytes", Some(counts.cached_bytes)),
            ("direct_bytes", counts.direct_bytes),
            ("stores", Some(counts.stores)),
            ("stored_most", Some(counts.stored_most)),
            ("events", Some(counts.events)),
            ("lost", Some(counts.lost)),
        ]
        .into_py_dict(py)
    }

    fn close(&self) {
        self.0.close();
    }
}
