//! The result of a run under a virtual memory system: the traffic between memory and flash, and its
//! time on flash.

use flashgc_drive::stats::mean;
use flashgc_drive::swap::SwapSpec;
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::{Costs, Counters, Duplicates, MapTraffic, Merges};
use serde::{Deserialize, Serialize};

use crate::finished::Finished;

/// Counts and times of the measured parts of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// Seconds that flash spends on collections and on pages swapped out, mean over the runs: the
    /// I/O time of Ji and Shin (section V.B). Without pages swapped in.
    pub io_seconds: f64,
    /// The same, of each run.
    pub run_values: Vec<f64>,
    /// Seconds of collections, of all runs: copies, erases and pages written from memory.
    pub collection_seconds: f64,
    /// Seconds of pages swapped out, of all runs.
    pub swap_out_seconds: f64,
    /// Seconds of pages swapped in, of all runs.
    pub swap_in_seconds: f64,
    /// Microseconds that a collection takes, mean; `None` where there was none.
    pub mean_collection_us: Option<f64>,
    /// Pages touched.
    pub references: u64,
    /// Pages touched that were written.
    pub writes: u64,
    /// References to pages in memory.
    pub hits: u64,
    /// Pages read from flash.
    pub swap_ins: u64,
    /// Pages that came into memory and were not on flash.
    pub first_touches: u64,
    /// Dirty pages that left memory and were written to flash.
    pub swap_outs: u64,
    /// Clean pages that left it.
    pub clean_evictions: u64,
    /// Clean pages that collections left to memory, which became dirty.
    pub made_dirty: u64,
    /// Dirty pages that collections left to memory.
    pub left_dirty: u64,
    /// Dirty pages that collections wrote from memory, which became clean.
    pub flushed: u64,
    /// Pages in memory that a collection did not read from flash (N_dup), mean; `None` where there
    /// was no collection.
    pub excluded_per_collection: Option<f64>,
}

impl Swap {
    pub(crate) fn new(spec: &SwapSpec, runs: &[Finished]) -> Self {
        let costs = &spec.costs;
        let each = || runs.iter().filter_map(|run| Some((run, run.swapping?)));
        let sum = |count: fn(&Swapping) -> u64| each().map(|(_, one)| count(&one)).sum::<u64>();
        let run_values: Vec<f64> = each().map(|(run, one)| io_seconds(costs, run, &one)).collect();
        let collections: u64 = each().map(|(run, _)| run.counters.collections).sum();
        let collection_ns: u64 = each().map(|(run, one)| collection_ns(costs, run, &one)).sum();
        let per_collection = |amount: f64| (collections > 0).then(|| amount / collections as f64);
        let seconds = |count: u64, ns: u64| count as f64 * ns as f64 / 1e9;
        Self {
            io_seconds: if run_values.is_empty() { 0.0 } else { mean(&run_values) },
            run_values,
            collection_seconds: collection_ns as f64 / 1e9,
            swap_out_seconds: seconds(sum(|one| one.swap_outs), costs.program),
            swap_in_seconds: seconds(sum(|one| one.swap_ins), costs.read),
            mean_collection_us: per_collection(collection_ns as f64 / 1e3),
            references: sum(|one| one.references),
            writes: sum(|one| one.writes),
            hits: sum(|one| one.hits),
            swap_ins: sum(|one| one.swap_ins),
            first_touches: sum(|one| one.first_touches),
            swap_outs: sum(|one| one.swap_outs),
            clean_evictions: sum(|one| one.clean_evictions),
            made_dirty: sum(|one| one.duplicates.made_dirty),
            left_dirty: sum(|one| one.duplicates.left_dirty),
            flushed: sum(|one| one.duplicates.flushed),
            excluded_per_collection: per_collection(sum(|one| one.duplicates.excluded()) as f64),
        }
    }
}

fn collection_ns(costs: &Costs, run: &Finished, swapping: &Swapping) -> u64 {
    let Finished { counters: Counters { copied_pages, erases, .. }, .. } = run;
    let counters = Counters { copied_pages: *copied_pages, erases: *erases, ..Counters::default() };
    let Swapping { duplicates: Duplicates { flushed, .. }, .. } = swapping;
    costs.collections(&counters, &Duplicates { flushed: *flushed, ..Duplicates::default() })
}

fn io_seconds(costs: &Costs, run: &Finished, swapping: &Swapping) -> f64 {
    let ns = collection_ns(costs, run, swapping) + swapping.swap_outs * costs.program;
    ns as f64 / 1e9
}

/// How log blocks were merged in the measured parts of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCounts {
    /// A log block became the data block as it was.
    pub switch: u64,
    /// It was completed and became the data block.
    pub partial: u64,
    /// Its data blocks were written anew.
    pub full: u64,
    /// It held nothing and was erased.
    pub dead: u64,
    /// Log blocks chosen by their cost.
    pub picks: u64,
    /// Log blocks weighed to choose them.
    pub weighed: u64,
}

impl MergeCounts {
    /// The sum over the runs; `None` where the mapping has no log blocks.
    pub(crate) fn of(runs: &[Finished]) -> Option<Self> {
        let mut merges = runs.iter().filter_map(|run| run.merges).peekable();
        merges.peek()?;
        Some(merges.fold(Self::default(), |sum, one| {
            let Merges { switches, partials, fulls, dead, picks, weighed } = one;
            Self {
                switch: sum.switch + switches,
                partial: sum.partial + partials,
                full: sum.full + fulls,
                dead: sum.dead + dead,
                picks: sum.picks + picks,
                weighed: sum.weighed + weighed,
            }
        }))
    }
}

/// The traffic of a map on flash in the measured parts of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCounts {
    /// Commands whose map entry was in memory.
    pub hits: u64,
    /// Commands whose map entry was not.
    pub misses: u64,
    /// Translation pages read.
    pub reads: u64,
    /// Translation pages programmed: they are among the pages copied.
    pub writes: u64,
}

impl MapCounts {
    /// The sum over the runs; `None` where the map is in memory.
    pub(crate) fn of(runs: &[Finished]) -> Option<Self> {
        let mut traffic = runs.iter().filter_map(|run| run.map_traffic).peekable();
        traffic.peek()?;
        Some(traffic.fold(Self::default(), |sum, one| {
            let MapTraffic { hits, misses, reads, writes } = one;
            Self {
                hits: sum.hits + hits,
                misses: sum.misses + misses,
                reads: sum.reads + reads,
                writes: sum.writes + writes,
            }
        }))
    }
}
