//! A value that Python can close.

use std::sync::Mutex;
use std::time::Duration;

use flashgc_base::sync::lock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A value that exists until Python closes it.
pub(crate) struct Closable<T> {
    value: Mutex<Option<T>>,
    name: &'static str,
}

impl<T: Send> Closable<T> {
    /// Holds `value`. Errors call it `name`.
    pub(crate) fn new(name: &'static str, value: T) -> Self {
        Self { value: Mutex::new(Some(value)), name }
    }

    /// Calls `body` with the value, without the interpreter's lock. An error if the value is
    /// closed.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        let result = py.detach(|| lock(&self.value).as_mut().map(body));
        result.ok_or_else(|| PyValueError::new_err(format!("the {} is closed", self.name)))
    }

    /// Calls `body` with the value; `None` if the value is closed.
    pub(crate) fn map<R>(&self, body: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        lock(&self.value).as_ref().and_then(body)
    }

    pub(crate) fn close(&self) {
        lock(&self.value).take();
    }
}

/// Converts `seconds` to a `Duration`.
pub(crate) fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))
}
