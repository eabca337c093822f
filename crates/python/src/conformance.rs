//! The pieces of the conformance suites for policies written in Python; `flashgc.conformance` puts
//! them together and words what it finds.

use flashgc_base::naming::Keywords;
use flashgc_base::rng::Stream;
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{
    BlockTable, Fill, Frontier, Geometry, Layout, PlacementSpec, Victim, VictimSpec,
};
use flashgc_workload::generate::GeneratorSpec;
use pyo3::prelude::*;

use crate::errors::{self, PolicyError};
use crate::placement::{self, Picks};
use crate::policy::{self, Raised, lock};
use crate::strict;

/// Returns the block that `policy` picks from a hand-built table: `None` in `counts` is an open
/// block.
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
    outcome(&victim, layout, workload, writes, batch, &raised)
}

/// Runs the placement `rule` likewise, with victims of `victim`, or its own picks without one, and a drive
/// of as many blocks as its classes need, empty at first.
#[pyfunction]
pub(crate) fn placement_run(
    rule: &Bound<'_, PyAny>,
    victim: Option<&str>,
    workload: &str,
    writes: u64,
    batch: usize,
    seed: u64,
) -> PyResult<(u64, u64, u64)> {
    /// Blocks beside those of the classes, and for each of them.
    const BLOCKS: u32 = 40;
    const BLOCKS_A_CLASS: u32 = 8;
    let raised = Raised::default();
    let picks = if victim.is_none() { Picks::Victims } else { Picks::Nothing };
    let known = placement::external(rule, "placement".to_string(), picks, &raised)?;
    let blocks = BLOCKS + BLOCKS_A_CLASS * known.takes_copies.len() as u32;
    let geometry = Geometry::with_spare(blocks, 16, 0.25).map_err(errors::config)?;
    let layout = Layout {
        frontier: Frontier::Pool { low: 1 },
        fill: Fill::Empty,
        placement: PlacementSpec::from_outside(strict::watched(known)),
        seed,
        ..Layout::new(geometry)
    };
    let victim = match victim {
        Some(victim) => Victim::Registered(VictimSpec::parse(victim).map_err(errors::config)?),
        None => Victim::Placement("placement".to_string()),
    };
    outcome(&victim, layout, workload, writes, batch, &raised)
}

/// The decisions, collections and copied pages of a drive that passes the audit in the end.
fn outcome(
    victim: &Victim,
    layout: Layout,
    workload: &str,
    writes: u64,
    batch: usize,
    raised: &Raised,
) -> PyResult<(u64, u64, u64)> {
    let (pages, seed) = (layout.geometry.logical_pages(), layout.seed);
    let layer = victim.build(layout);
    let fault = |error| lock(raised).take().unwrap_or_else(|| errors::drive(&error, &Keywords));
    let layer = layer.map_err(|error| fault(error.into()))?;
    let source = GeneratorSpec::parse(workload).map_err(errors::config)?;
    let source = source.open(pages, seed).map_err(errors::config)?;
    let mut drive = CountingDrive::new(layer, source, batch);
    let target = Extent { unit: Unit::Writes, amount: writes };
    while drive.step(target).map_err(fault)? {}
    if let Some(error) = lock(raised).take() {
        return Err(error);
    }
    drive.layer().audit().map_err(PolicyError::new_err)?;
    let counters = drive.layer().counters();
    Ok((drive.layer().decisions(), counters.collections, counters.copied_pages))
}
