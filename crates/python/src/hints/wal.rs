//! PostgreSQL's write-ahead log, record by record, as tuples: for inspection and for tests.

use flashgc_hints::wal::{self, BlockReference, Fork, Record, Relation, What};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{self, FlashgcError};

/// Turns the bytes of a log into records.
#[pyclass]
pub(crate) struct WalDecoder(wal::Decoder);

#[pymethods]
impl WalDecoder {
    #[new]
    fn new(start: u64) -> Self {
        Self(wal::Decoder::new(start))
    }

    /// The position in the log at which the next bytes must begin.
    #[getter]
    fn next(&self) -> u64 {
        self.0.next()
    }

    /// Returns the records that `bytes` complete. These bytes lie at position `at` of the log. Each
    /// has its position, its end, its resource manager if that has a name, its info, its
    /// transaction, its blocks, and its meaning for files.
    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        at: u64,
        bytes: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut records = Vec::new();
        let mut unfit = None;
        let fed = self.0.feed(at, bytes, &mut |record| match tuple(py, record) {
            Ok(record) => records.push(record),
            Err(error) => unfit = Some(error),
        });
        fed.map_err(|error| FlashgcError::new_err(error.to_string()))?;
        unfit.map_or(Ok(records), Err)
    }

    /// Returns the path, in the data directory, of the file that has a block of a relation.
    #[staticmethod]
    fn path(relation: (u32, u32, u32), fork: &str, block: u32, version: &str) -> PyResult<String> {
        let (tablespace, database, number) = relation;
        let forks = [Fork::Main, Fork::FreeSpace, Fork::Visibility, Fork::Init];
        let fork = forks.into_iter().find(|known| known.name() == fork).ok_or_else(|| {
            errors::config(format!("fork {fork}, expected main, fsm, vm or init"))
        })?;
        Ok(Relation { tablespace, database, number }.path(fork, block, version))
    }
}

fn tuple<'py>(py: Python<'py>, record: &Record<'_>) -> PyResult<Bound<'py, PyTuple>> {
    let &Record { at, end, resource_manager, info, transaction, blocks, what } = record;
    let blocks: Vec<_> = blocks.iter().map(reference).collect();
    let manager = wal::resource_manager(resource_manager);
    (at, end, manager, info, transaction, blocks, meaning(py, what)?).into_pyobject(py)
}

/// A reference to a block: tablespace, database, relation number, fork, block, whether the record
/// initialises the block, whether it has the block's image.
fn reference(block: &BlockReference) -> (u32, u32, u32, &'static str, u32, bool, bool) {
    let Relation { tablespace, database, number } = block.relation;
    let &BlockReference { fork, block, will_init, image, .. } = block;
    (tablespace, database, number, fork.name(), block, will_init, image)
}

/// Returns the meaning of a record besides its blocks: a word, and the values that belong to it.
fn meaning<'py>(py: Python<'py>, what: What<'_>) -> PyResult<Bound<'py, PyAny>> {
    let numbers = |relation: Relation| (relation.tablespace, relation.database, relation.number);
    match what {
        What::Blocks => Ok(py.None().into_bound(py)),
        What::Checkpoint { redo, shutdown } => ("checkpoint", redo, shutdown).into_bound_py_any(py),
        What::Switch => ("switch",).into_bound_py_any(py),
        What::Create { relation, fork } => {
            ("create", numbers(relation), fork.name()).into_bound_py_any(py)
        }
        What::Truncate { relation, blocks, main, visibility, free_space } => {
            ("truncate", numbers(relation), blocks, main, visibility, free_space)
                .into_bound_py_any(py)
        }
        What::Drop { relations } => {
            let relations: Vec<_> = relations.iter().map(numbers).collect();
            ("drop", relations).into_bound_py_any(py)
        }
        What::CreateDatabase { tablespace, database, copied } => {
            ("create database", tablespace, database, copied).into_bound_py_any(py)
        }
        What::DropDatabase { database, tablespaces } => {
            let tablespaces: Vec<_> = tablespaces.iter().collect();
            ("drop database", database, tablespaces).into_bound_py_any(py)
        }
        What::CreateTablespace { tablespace } => {
            ("create tablespace", tablespace).into_bound_py_any(py)
        }
        What::DropTablespace { tablespace } => {
            ("drop tablespace", tablespace).into_bound_py_any(py)
        }
    }
}
