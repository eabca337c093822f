//! Structured values on their way to Python.

use pyo3::prelude::*;

use crate::errors;

/// Returns `value` as JSON, in which structured values cross to Python.
pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(errors::config)
}
