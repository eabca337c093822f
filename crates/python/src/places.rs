//! The places of options on their way into the engine, and the names of options by them.

use flashgc_base::naming::Names;
use flashgc_experiment::input::Places;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

/// The places of values by path, from any mapping.
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

/// The name of the option `key` for a message, as the person who gave the values at `places` writes it.
#[pyfunction]
pub(crate) fn name_option(places: At, key: &str) -> String {
    places.0.option(key)
}

/// The name of the option `key` that a message begins with, after the place of its value in a file.
#[pyfunction]
pub(crate) fn name_subject(places: At, key: &str) -> String {
    places.0.subject(key)
}

/// The option `key` with a value, as the person who gave the values at `places` writes it.
#[pyfunction]
pub(crate) fn name_choice(places: At, key: &str, value: &str) -> String {
    places.0.choice(key, value)
}
