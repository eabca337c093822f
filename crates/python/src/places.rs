//! The places of options, given by Python, and the names of options at these places.

use flashgc_base::naming::Names;
use flashgc_experiment::input::Places;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

/// The places at which the user gave values, by the values' paths (such as `drive.blocks`). Any
/// Python mapping can be converted.
#[derive(Default)]
pub(crate) struct At(pub(crate) Places);

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let items = given.cast::<PyMapping>()?.items()?;
        let places = items.iter().map(|item| item.extract::<(String, String)>());
        Ok(Self(Places::new(places.collect::<PyResult<_>>()?)))
    }
}

/// Returns the name of the option `key` for a message, in the form in which the user gave its
/// value.
#[pyfunction]
pub(crate) fn name_option(places: At, key: &str) -> String {
    places.0.option(key)
}

/// Returns the name of the option `key` at the beginning of a message, after the place of its value
/// in a file.
#[pyfunction]
pub(crate) fn name_subject(places: At, key: &str) -> String {
    places.0.subject(key)
}

/// Returns the option `key` with `value`, in the form in which the user gave its value.
#[pyfunction]
pub(crate) fn name_choice(places: At, key: &str, value: &str) -> String {
    places.0.choice(key, value)
}
