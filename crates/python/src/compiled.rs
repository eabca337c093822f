//! Schemes of compiled libraries, as objects of Python.

use std::path::PathBuf;
use std::sync::Arc;

use flashgc_compiled::Scheme;
use flashgc_ftl::{ExternalPlacement, Victim};
use pyo3::prelude::*;

use crate::errors::{self, PolicyError};

/// A scheme of a library, behind the C interface of `flashgc.h`.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct CompiledScheme {
    scheme: Arc<Scheme>,
    name: String,
}

#[pymethods]
impl CompiledScheme {
    /// Loads the scheme that the library in `file` exports as `name`. `shown` is the file's name in
    /// messages.
    #[new]
    fn new(
        file: PathBuf,
        shown: &str,
        name: String,
        parameters: Vec<(String, String)>,
    ) -> PyResult<Self> {
        // SAFETY: the user asked for this library, and it is told to keep to the header.
        let scheme = unsafe { Scheme::load(&file, shown, &name, &parameters) };
        let scheme = scheme
            .map_err(|error| errors::config(format!("{}; hint: {}", error.message, error.hint)))?;
        Ok(Self { scheme, name })
    }

    /// True if the scheme picks victims.
    #[getter]
    fn is_victim(&self) -> bool {
        self.scheme.is_victim()
    }

    /// True if the scheme gives pages their classes.
    #[getter]
    fn is_placement(&self) -> bool {
        self.scheme.is_placement()
    }
}

impl CompiledScheme {
    pub(crate) fn victim(&self, name: String) -> PyResult<Victim> {
        match self.scheme.is_victim() {
            true => Ok(self.scheme.victim(name)),
            false => Err(PolicyError::new_err(format!(
                "{} is no victim policy; hint: set .pick in it",
                self.name
            ))),
        }
    }

    pub(crate) fn placement(&self, name: String, picks: bool) -> PyResult<ExternalPlacement> {
        match self.scheme.is_placement() {
            true => Ok(self.scheme.placement(name, picks)),
            false => Err(PolicyError::new_err(format!(
                "{} is no placement; hint: set .host and .copy in it",
                self.name
            ))),
        }
    }
}
