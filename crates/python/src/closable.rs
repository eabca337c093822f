//! Values that Python closes.

use std::sync::Mutex;
use std::time::Duration;

use flashgc_base::sync::lock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A value that is there until Python closes it.
pub(crate) struct Closable<T> {
    value: Mutex<Option<T>>,
    name: &'static str,
}

impl<T: Send> Closable<T> {
    /// Returns `value`, which errors call `name`.
    pub(crate) fn new(name: &'static str, value: T) -> Self {
        Self { value: Mutex::new(Some(value)), name }
    }

    /// Uses the value without the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        let result = py.detach(|| lock(&self.value).as_mut().map(body));
        result.ok_or_else(|| PyValueError::new_err(format!("the {} is closed", self.name)))
    }

    /// Uses the value, if it is there.
    pub(crate) fn map<R>(&self, body: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        lock(&self.value).as_ref().and_then(body)
    }

    pub(crate) fn close(&self) {
        lock(&self.value).take();
    }
}

/// The time of this many seconds.
pub(crate) fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))
}
