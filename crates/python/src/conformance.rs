//! The parts of the conformance suites for policies written in Python. `flashgc.conformance`
//! combines them and words the results.

use flashgc_base::naming::Keywords;
use flashgc_base::rng::Stream;
use flashgc_base::sync::lock;
use flashgc_experiment::conformance::{Decisions, Shape, Unfit, Writes, run_placement, run_victim};
use flashgc_ftl::{BlockTable, Victim};
use pyo3::prelude::*;

use crate::errors::{self, PolicyError, Raised};
use crate::placement::{self, Picks};
use crate::policy;

/// Returns the block that `policy` picks from a table made of `counts`: the valid pages of each
/// block, or `None` for an open block.
#[pyfunction]
pub(crate) fn policy_pick(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    pages_per_block: u32,
    counts: Vec<Option<u32>>,
    seed: u64,
) -> PyResult<Option<u32>> {
    let table = BlockTable::from_counts(pages_per_block, &counts);
    policy::pick_once(py, policy, table, &mut Stream::new(seed, "victim"))
}

/// Runs `policy` for `writes` page writes of `workload` in batches of `batch`, audits the layer,
/// and returns the digest of its decisions, the number of collections and the number of pages
/// copied.
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
    let raised = Raised::default();
    let victim = Victim::External("policy".to_string(), policy::external(policy, &raised));
    let shape = Shape { blocks, pages_per_block, spare, frontier };
    let writes = Writes { workload, count: writes, batch, seed };
    outcome(run_victim(&victim, shape, writes), &raised)
}

/// Runs the placement `rule` like [`policy_run`], on a drive that is empty at first and has as many
/// blocks as the classes need. `victim` picks the victims; if it is `None`, `rule` picks them.
#[pyfunction]
pub(crate) fn placement_run(
    rule: &Bound<'_, PyAny>,
    victim: Option<&str>,
    workload: &str,
    writes: u64,
    batch: usize,
    seed: u64,
) -> PyResult<(u64, u64, u64)> {
    let raised = Raised::default();
    let picks = if victim.is_none() { Picks::Victims } else { Picks::Nothing };
    let external = placement::external(rule, "placement".to_string(), picks, &raised)?;
    let writes = Writes { workload, count: writes, batch, seed };
    outcome(run_placement(external, victim, writes), &raised)
}

/// Returns three values for a run: the digest of its decisions, the number of collections, and the
/// number of copied pages. If the policy raised an exception, that is the error.
fn outcome(run: Result<Decisions, Unfit>, raised: &Raised) -> PyResult<(u64, u64, u64)> {
    if let Some(error) = lock(raised).take() {
        return Err(error);
    }
    match run {
        Ok(run) => Ok((run.digest, run.collections, run.copied_pages)),
        Err(Unfit::Argument(text)) => Err(errors::config(text)),
        Err(Unfit::Drive(error)) => Err(errors::drive(&error, &Keywords)),
        Err(Unfit::Audit(text)) => Err(PolicyError::new_err(text)),
    }
}
