//! The pieces of the conformance suite for policies written in Python; `flashgc.conformance` puts
//! them together and words what it finds.

use flashgc_base::rng::Stream;
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{BlockTable, Frontier, Geometry, Layout, Victim};
use flashgc_workload::generate::GeneratorSpec;
use pyo3::prelude::*;

use crate::errors::{self, PolicyError};
use crate::policy::{self, Raised, lock};

/// What `policy` picks from a hand-built table: `None` in `counts` is an open block.
#[pyfunction]
pub(crate) fn policy_pick(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    pages_per_block: u32,
    counts: Vec<Option<u16>>,
    seed: u64,
) -> PyResult<Option<u32>> {
    let table = BlockTable::from_counts(pages_per_block, &counts);
    policy::pick_once(py, policy, table, &mut Stream::new(seed, "victim"))
}

/// Runs `policy` for `writes` page writes of `workload` in batches of `batch`, audits the layer,
/// and returns a digest of its decisions, the collections and the pages copied.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the arguments of the Python function.
pub(crate) fn policy_run(
    policy: Py<PyAny>,
    blocks: u32,
    pages_per_block: u32,
    spare: f64,
    frontier: &str,
    workload: &str,
    writes: u64,
    batch: usize,
    seed: u64,
) -> PyResult<(u64, u64, u64)> {
    let geometry = Geometry::with_spare(blocks, pages_per_block, spare).map_err(errors::config)?;
    let frontier = Frontier::parse(frontier).map_err(errors::config)?;
    let layout = Layout { frontier, seed, ..Layout::new(geometry) };
    let raised = Raised::default();
    let victim = Victim::External("policy".to_string(), policy::external(policy, &raised));
    let layer = victim.build(layout);
    let fault = |error| lock(&raised).take().unwrap_or_else(|| errors::drive(&error));
    let layer = layer.map_err(|error| fault(error.into()))?;
    let source = GeneratorSpec::parse(workload).map_err(errors::config)?;
    let source = source.open(geometry.logical_pages(), seed).map_err(errors::config)?;
    let mut drive = CountingDrive::new(layer, source, batch);
    let target = Extent { unit: Unit::Writes, amount: writes };
    while drive.step(target).map_err(fault)? {}
    drive.layer().audit().map_err(PolicyError::new_err)?;
    let counters = drive.layer().counters();
    Ok((drive.layer().decisions(), counters.collections, counters.copied_pages))
}
