//! Experiments from Python for the engine: values of any type, by section, with their places.

use std::collections::HashMap;

use flashgc_experiment::input::{self, Experiment, tenants};
use flashgc_experiment::options::{self, Value, numbers};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString};

use crate::errors::{self, Refused};
use crate::json::to_json;
use crate::places::At;

/// The value that stands for an integer too large for 128 bits.
const LARGEST: i128 = i128::MAX;

/// A value from Python.
pub(crate) struct Given(Value);

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let shown = || -> PyResult<String> { Ok(given.repr()?.to_string_lossy().into_owned()) };
        let each = |items: Bound<'py, PyAny>| -> PyResult<Vec<Value>> {
            items.try_iter()?.map(|item| Ok(item?.extract::<Self>()?.0)).collect()
        };
        Ok(Self(if let Ok(text) = given.cast::<PyString>() {
            match text.to_cow() {
                Ok(text) => Value::Text(text.into_owned()),
                Err(_) => Value::NotUtf8(shown()?),
            }
        } else if let Ok(yes) = given.cast::<PyBool>() {
            Value::Truth(yes.is_true())
        } else if let Ok(number) = given.cast::<PyFloat>() {
            Value::Real(number.value())
        } else if let Ok(values) = given.cast::<PyList>() {
            Value::List(each(values.to_owned().into_any())?)
        } else if let Ok(table) = given.cast::<PyMapping>() {
            let keys = table.keys()?.into_any();
            let names: Vec<String> =
                keys.try_iter()?.map(|key| Ok(key?.str()?.to_string())).collect::<PyResult<_>>()?;
            let values = each(table.values()?.into_any())?;
            Value::Table(names.into_iter().zip(values).collect())
        } else if let Ok(number) = given.extract::<i128>() {
            Value::Whole(number)
        } else if given.is_instance_of::<PyInt>() {
            Value::Whole(LARGEST)
        } else {
            Value::Other(shown()?)
        }))
    }
}

impl<'py> IntoPyObject<'py> for Given {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(match self.0 {
            Value::Text(text) | Value::NotUtf8(text) | Value::Other(text) => {
                text.into_pyobject(py)?.into_any()
            }
            Value::Whole(number) => number.into_pyobject(py)?.into_any(),
            Value::Real(number) => number.into_pyobject(py)?.into_any(),
            Value::Truth(yes) => yes.into_pyobject(py)?.to_owned().into_any(),
            Value::List(values) => {
                values.into_iter().map(Self).collect::<Vec<_>>().into_pyobject(py)?.into_any()
            }
            Value::Table(values) => {
                let dict = PyDict::new(py);
                for (key, value) in values {
                    dict.set_item(key, Self(value))?;
                }
                dict.into_any()
            }
        })
    }
}

/// Returns the values of an experiment by their paths, such as `drive.blocks`; each has a type that
/// its option takes. `values` has the values by section, and `devices` has the presets of drives by
/// name.
#[pyfunction]
pub(crate) fn experiment<'py>(
    py: Python<'py>,
    values: Given,
    places: At,
    devices: Given,
) -> PyResult<Bound<'py, PyDict>> {
    let given = input::experiment(&values.0, &places.0, &devices.0).map_err(Refused)?;
    let dict = PyDict::new(py);
    for (path, value) in given {
        dict.set_item(path, Given(value))?;
    }
    Ok(dict)
}

/// Refuses unknown sections and keys.
#[pyfunction]
pub(crate) fn check_names(values: Given, places: At) -> PyResult<()> {
    Ok(input::check_names(&values.0, &places.0).map_err(Refused)?)
}

/// Checks values that are given apart from an experiment, such as those that narrow a search.
/// `given` has the values by their paths.
#[pyfunction]
pub(crate) fn check_apart(given: Given, places: At) -> PyResult<()> {
    Ok(asked_for(given, places).check_apart().map_err(Refused)?)
}

/// Refuses options that a stored drive does not have.
#[pyfunction]
pub(crate) fn check_stored(given: Given, places: At) -> PyResult<()> {
    Ok(asked_for(given, places).check_stored().map_err(Refused)?)
}

/// Refuses options that the clock of a stored drive cannot have.
#[pyfunction]
pub(crate) fn check_clock(given: Given, places: At) -> PyResult<()> {
    Ok(asked_for(given, places).check_clock().map_err(Refused)?)
}

/// Returns the tenants among values by section, each as a text; `None` if no tenant is given.
#[pyfunction]
pub(crate) fn tenant_texts(values: Given, places: At) -> PyResult<Option<Vec<String>>> {
    Ok(tenants::texts(&values.0, &places.0).map_err(Refused)?)
}

/// Returns the workload in the text of a tenant.
#[pyfunction]
pub(crate) fn tenant_workload(tenant: &str) -> String {
    tenants::workload_of(tenant).to_string()
}

/// Makes the configurations for the engine, as JSON, from the values in `given`, which has them by
/// their paths (such as `drive.blocks`). `written` has the texts that stand for policies in Python,
/// by the key of their option.
#[pyfunction]
pub(crate) fn configurations(
    given: Given,
    places: At,
    usual_runs: u64,
    written: HashMap<String, Vec<String>>,
) -> PyResult<String> {
    to_json(&asked_for(given, places).configurations(usual_runs, &written).map_err(Refused)?)
}

fn asked_for(given: Given, places: At) -> Experiment {
    Experiment::new(given.0.into_entries(), places.0)
}

/// Converts the value of the option `key` to a whole number. An error names its `place`.
#[pyfunction]
pub(crate) fn option_number(key: &str, value: Given, place: &str) -> PyResult<u64> {
    let option = options::find(key).ok_or_else(|| errors::config(format!("no option {key}")))?;
    let number = option.whole(&value.0, 1);
    number.map_err(|error| errors::config(format!("{place}: {error}")))
}

/// Returns the number; an error begins with `what`.
fn named<T>(what: &str, read: Result<T, flashgc_base::spec::SpecError>) -> PyResult<T> {
    read.map_err(|error| errors::config(format!("{what}: {error}")))
}

/// Converts a text with a unit, such as `4KiB`, to bytes. A plain number is a number of bytes.
#[pyfunction]
#[pyo3(signature = (text, what="size", usual="GiB"))]
pub(crate) fn parse_size(text: Given, what: &str, usual: &str) -> PyResult<i128> {
    named(what, numbers::size_of(&text.0, usual))
}

/// Converts the size of a page to bytes. The size must be a power of two.
#[pyfunction]
#[pyo3(signature = (text, what="size"))]
pub(crate) fn parse_page_size(text: Given, what: &str) -> PyResult<i128> {
    named(what, numbers::size_of(&text.0, "B").and_then(numbers::page_size))
}

/// Converts a text to a share: `7%` and `0.07` are the same.
#[pyfunction]
#[pyo3(signature = (text, what="share"))]
pub(crate) fn parse_share(text: Given, what: &str) -> PyResult<f64> {
    named(what, numbers::share_of(&text.0))
}

/// Converts a text to a whole number: `250000`, `250_000` and `2.5e5` are the same.
#[pyfunction]
#[pyo3(signature = (text, what="count"))]
pub(crate) fn parse_count(text: Given, what: &str) -> PyResult<i128> {
    named(what, numbers::count_of(&text.0))
}
