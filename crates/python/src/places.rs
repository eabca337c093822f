//! The places of options on their way into the engine.

use flashgc_experiment::asked::Places;
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
