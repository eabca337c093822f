//! The time and the blocks that a placement in Python sees.

use std::sync::atomic::{AtomicU64, Ordering};

use flashgc_ftl::placement as engine;
use pyo3::prelude::*;

/// The time of a decision, on two clocks.
///
/// A drive has one such object, which changes: keep its numbers, not the object.
#[pyclass(frozen, module = "flashgc", name = "Now")]
#[derive(Default)]
pub(crate) struct Clock {
    programs: AtomicU64,
    host: AtomicU64,
}

impl Clock {
    #[inline]
    pub(crate) fn set(&self, now: engine::Now) {
        self.programs.store(now.programs, Ordering::Relaxed);
        self.host.store(now.host, Ordering::Relaxed);
    }
}

#[pymethods]
impl Clock {
    /// A time, for tests of a placement.
    #[new]
    #[pyo3(signature = (programs=0, host=0))]
    fn new(programs: u64, host: u64) -> Self {
        Self { programs: programs.into(), host: host.into() }
    }

    /// Pages programmed so far: host writes and copies.
    #[getter]
    fn programs(&self) -> u64 {
        self.programs.load(Ordering::Relaxed)
    }

    /// Pages that the host has written so far.
    #[getter]
    fn host(&self) -> u64 {
        self.host.load(Ordering::Relaxed)
    }

    fn __repr__(&self) -> String {
        format!("Now(programs={}, host={})", self.programs(), self.host())
    }
}

/// A block that is about to be collected.
#[pyclass(frozen, module = "flashgc", name = "PickedBlock")]
pub(crate) struct PickedBlock {
    /// The class for which it was opened.
    #[pyo3(get)]
    class_: u8,
    /// Its number in the drive.
    #[pyo3(get)]
    number: u32,
    /// The time at which it was opened.
    #[pyo3(get)]
    opened: Py<Clock>,
    /// Its pages with current data.
    #[pyo3(get)]
    valid: u32,
    /// All its pages.
    #[pyo3(get)]
    pages: u32,
}

impl PickedBlock {
    pub(crate) fn new(py: Python<'_>, block: engine::Collected) -> PyResult<Py<Self>> {
        let engine::Collected { class, block: number, opened, valid, pages } = block;
        let opened = Py::new(py, Clock::new(opened.programs, opened.host))?;
        Py::new(py, Self { class_: class, number, opened, valid, pages })
    }
}

#[pymethods]
impl PickedBlock {
    fn __repr__(&self) -> String {
        format!(
            "<PickedBlock {}: class {}, {} of {} pages valid, opened at {}>",
            self.number,
            self.class_,
            self.valid,
            self.pages,
            self.opened.get().__repr__()
        )
    }
}
