//! The result of a run under a virtual memory system: the traffic between memory and flash, and its
//! time on flash.

use flashgc_base::counts::Counts;
use flashgc_base::described::Described;
use flashgc_drive::stats::mean;
use flashgc_drive::swap::SwapSpec;
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::Costs;
use serde::{Deserialize, Serialize};

use crate::counted::{Counted, NamedCounts};
use crate::finished::Finished;

/// Counts and times of the measured parts of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Swap {
    /// The seconds that flash spends on collections and on pages swapped out, as the mean over the
    /// runs: the I/O time of Ji and Shin (section V.B). Pages swapped in are not part of it.
    pub io_seconds: f64,
    /// The I/O time of each run.
    pub run_values: Vec<f64>,
    /// The seconds of collections, of all runs: copies, erases and pages written from memory.
    pub collection_seconds: f64,
    /// The seconds of pages swapped out, of all runs.
    pub swap_out_seconds: f64,
    /// The seconds of pages swapped in, of all runs.
    pub swap_in_seconds: f64,
    /// The mean microseconds of a collection; `None` if there was none.
    pub mean_collection_us: Option<f64>,
    /// The counts of collections and of swapping.
    #[serde(flatten)]
    pub counts: NamedCounts<Swapping>,
    /// The mean number of pages that a collection did not read from flash because they were in
    /// memory (N_dup); `None` if there was no collection.
    pub excluded_per_collection: Option<f64>,
}

impl Swap {
    pub(crate) fn new(spec: &SwapSpec, runs: &[Finished]) -> Self {
        let costs = &spec.costs;
        let each = || runs.iter().filter_map(|run| Some((&run.counted, run.counted.swapping?)));
        let counts = Counts::sum(each().map(|(_, swapping)| swapping)).unwrap_or_default();
        let run_values: Vec<f64> =
            each().map(|(run, swapping)| io_seconds(costs, run, &swapping)).collect();
        let collections: u64 = each().map(|(run, _)| run.counters.collections).sum();
        let collection_ns: u64 =
            each().map(|(run, swapping)| collection_ns(costs, run, &swapping)).sum();
        let per_collection = |amount: f64| (collections > 0).then(|| amount / collections as f64);
        let seconds = |count: u64, ns: u64| count as f64 * ns as f64 / 1e9;
        Self {
            io_seconds: if run_values.is_empty() { 0.0 } else { mean(&run_values) },
            run_values,
            collection_seconds: collection_ns as f64 / 1e9,
            swap_out_seconds: seconds(counts.swap_outs, costs.program),
            swap_in_seconds: seconds(counts.swap_ins, costs.read),
            mean_collection_us: per_collection(collection_ns as f64 / 1e3),
            excluded_per_collection: per_collection(counts.duplicates.excluded() as f64),
            counts: NamedCounts::new(&counts),
        }
    }
}

fn collection_ns(costs: &Costs, run: &Counted, swapping: &Swapping) -> u64 {
    costs.collections(&run.counters, &swapping.duplicates)
}

fn io_seconds(costs: &Costs, run: &Counted, swapping: &Swapping) -> f64 {
    let ns = collection_ns(costs, run, swapping) + swapping.swap_outs * costs.program;
    ns as f64 / 1e9
}
