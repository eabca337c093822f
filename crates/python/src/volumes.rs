//! Traces of many volumes, for Python: split in one pass, and written with one trace a volume.

use std::path::PathBuf;

use flashgc_workload::trace::{self, By, ReadOptions, SplitOptions, Splitter};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::places::At;
use crate::sources::read_options;
use crate::traces::trace_config;
use crate::watch::{Control, Watch};

/// The volumes of a trace, and the spool file with their requests.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct Volumes {
    volumes: trace::Volumes,
}

#[pymethods]
impl Volumes {
    /// The number, reads, writes, discards and digest of each volume, sorted by number.
    fn volumes(&self) -> Vec<(u32, u64, u64, u64, String)> {
        let row = |volume: &trace::Volume| {
            let digest = format!("{:032x}", volume.digest);
            (volume.number, volume.reads, volume.writes, volume.discards, digest)
        };
        self.volumes.list().iter().map(row).collect()
    }

    /// Writes the volume at `index` of the list as its own trace.
    fn write(&self, py: Python<'_>, index: usize, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.volumes.write(index, &path))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The size of the spool file in bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.volumes.bytes()
    }

    /// Bad lines that were left out.
    #[getter]
    fn skipped(&self) -> u64 {
        self.volumes.skipped()
    }

    /// Notes for the user on how the traces were read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.volumes.notes().to_vec()
    }
}

/// Splits the traces at `paths`, one after the other, into volumes: by the device number of each
/// request or, with `by_file`, one volume a file. The spool file is in `folder`.
#[pyfunction]
#[pyo3(signature = (paths, folder, control, reading, by_file=false, poll=None, places=None))]
#[allow(clippy::too_many_arguments)] // They are the keyword arguments of the Python function.
pub(crate) fn trace_split(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    folder: PathBuf,
    control: &Control,
    reading: &str,
    by_file: bool,
    poll: Option<Py<PyAny>>,
    places: Option<At>,
) -> PyResult<Volumes> {
    let mut watch = Watch::new(control, poll).named(places.unwrap_or_default().0);
    let read = read_options(&trace_config(reading)?, &mut watch)?;
    let options = SplitOptions {
        read: ReadOptions { keep_flushes: true, ..read },
        by: if by_file { By::File } else { By::Volume },
        memory: SplitOptions::MEMORY,
    };
    let split = py.detach(|| {
        let mut splitter = Splitter::new(&folder, options)?;
        for path in &paths {
            let file = path.clone();
            splitter = watch.read_aside(path, move |go_on| {
                splitter.add(&file, go_on)?;
                Ok(splitter)
            })?;
        }
        splitter.finish()
    });
    Ok(Volumes { volumes: split.map_err(|error| watch.failure(&error))? })
}
