//! Structured values for Python, as JSON.

use pyo3::prelude::*;

use crate::errors;

/// Returns `value` as JSON, the form in which Python gets structured values.
pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(errors::config)
}
