//! A connection to the process that serves a drive.

use std::path::PathBuf;

use flashgc_base::stream::StreamId;
use flashgc_front::control::request::Pages;
use flashgc_front::control::{ClientError, ControlClient, FileStream};
use flashgc_hints::allocations::number_of;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{Fault, columns};
use crate::closable::Closable;
use crate::errors::DriveError;

/// A connection to the process that serves a drive.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct DeviceClient(Closable<ControlClient>);

#[pymethods]
impl DeviceClient {
    /// Connects to the control socket at `path`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let client = py.detach(|| ControlClient::connect(&path)).map_err(refused)?;
        Ok(Self(Closable::new("connection", client)))
    }

    fn stat(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |client| client.stat())
    }

    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; 5]> {
        let bytes = self.ask(py, |client| client.blocks())?;
        Ok(columns(py, flashgc_server::columns(&bytes)))
    }

    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |client| client.moment())
    }

    fn hint(&self, py: Python<'_>, ranges: Vec<(u64, u64)>, moment: Option<u64>) -> PyResult<u64> {
        self.ask(py, |client| client.hint(moment, &to_pages(&ranges)))
    }

    fn cancel(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        self.ask(py, |client| client.cancel(&to_pages(&ranges)))
    }

    /// Names the streams of the files on the block device at `device`. `files` has the inode of
    /// each file, how many files had that inode before, and the stream.
    fn files(
        &self,
        py: Python<'_>,
        device: PathBuf,
        files: Vec<(u64, u32, StreamId)>,
    ) -> PyResult<()> {
        let number = number_of(&device);
        let number = number.map_err(|error| DriveError::new_err(error.to_string()))?;
        let file = |(inode, life, stream)| FileStream { inode, life, stream };
        let files: Vec<FileStream> = files.into_iter().map(file).collect();
        self.ask(py, |client| client.files(number, &files))
    }

    fn hinted(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<(u64, u64)> {
        self.ask(py, |client| client.hinted(&to_pages(&ranges)))
    }

    fn trim(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        self.ask(py, |client| client.trim(&to_pages(&ranges)))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |client| client.flush())
    }

    #[pyo3(signature = (path=None))]
    fn record(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        self.ask(py, |client| client.record(path.as_deref()))
    }

    fn mark(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.ask(py, |client| client.mark(name))
    }

    /// Sets a fault for hosts. Returns the number of the fault. If the fault ends connections at
    /// once, returns the number of those instead.
    fn inject(&self, py: Python<'_>, fault: Fault) -> PyResult<u64> {
        let fault = fault.parsed()?;
        self.ask(py, |client| client.inject(&fault))
    }

    /// Removes the fault `number`, or all faults. Returns how many were removed.
    #[pyo3(signature = (number=None))]
    fn clear(&self, py: Python<'_>, number: Option<u64>) -> PyResult<u64> {
        self.ask(py, |client| client.clear(number))
    }

    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |client| client.stop())
    }

    fn close(&self) {
        self.0.close();
    }
}

impl DeviceClient {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut ControlClient) -> Result<T, ClientError> + Send,
    ) -> PyResult<T> {
        self.0.with(py, ask)?.map_err(refused)
    }
}

fn refused(error: ClientError) -> PyErr {
    DriveError::new_err(error.to_string())
}

fn to_pages(ranges: &[(u64, u64)]) -> Vec<Pages> {
    ranges.iter().map(|&(first, count)| Pages { first, count }).collect()
}
