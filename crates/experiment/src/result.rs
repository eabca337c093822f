//! The result of a run: write amplification with its interval, counts, and all that is needed to
//! repeat the run.

use flashgc_base::described::Described;
use flashgc_base::naming::Names;
use flashgc_ftl::{Counters, Levelled, MapTraffic, Merges};
use flashgc_timed::TimedResult;
use flashgc_timed::metrics::timeline::Timeline;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::counted::NamedCounts;
use crate::each_run::{EachRun, InPages, number};
use crate::findings::Finding;
use crate::hosted::{HostResult, ZombieResult};
use crate::options::RunConfig;
use crate::replayed::{Replayed, Samples};
use crate::scale::Scaled;
use crate::steadiness::Steadiness;
use crate::stream_results::{FdpResult, StreamResult};
use crate::swap_results::Swap;
use crate::times::Busy;
use crate::wear::{Lifetime, Wear};

/// The result of all runs of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct RunResult {
    /// The bytes programmed per byte written by the host, as the mean over the runs.
    #[serde(deserialize_with = "number")]
    pub write_amplification: f64,
    /// Half the width of its 95% confidence interval, over the runs (Student's t). With one run, or
    /// if all runs are identical, it is over the passes of a trace, or over 20 batches of another
    /// workload. `None` if there is not enough data.
    pub write_amplification_ci95: Option<f64>,
    /// The interval, as its lower and upper end. The lower end is at least 1, the least possible
    /// write amplification; with a write cache that merges writes, at least 0.
    #[serde(default)]
    pub write_amplification_interval: Option<(f64, f64)>,
    /// The figures of each run.
    #[serde(flatten)]
    pub each_run: EachRun,
    /// Write amplification in mapping units.
    #[serde(flatten)]
    pub in_pages: InPages,
    /// The bytes written in the measured parts of all runs, by cause.
    #[serde(default)]
    pub bytes: Bytes,
    /// The number of writes of less than a mapping unit, in the measured parts of all runs.
    #[serde(default)]
    pub short_writes: u64,
    /// The counts of the map in the measured parts of all runs. All counts of pages are in mapping
    /// units. Later fields, too, are counts of the measured parts, unless they say otherwise.
    #[serde(flatten)]
    pub counters: NamedCounts<Counters>,
    /// The pages read by the host.
    pub reads: u64,
    /// The cost of wear levelling, which the counts above include; `None` without it.
    #[serde(default)]
    pub levelling: Option<NamedCounts<Levelled>>,
    /// The erases of blocks since the drives were made, warm-up included: their number and
    /// evenness. `None` if no run began.
    pub wear: Option<Wear>,
    /// The lifetime of the drives; `None` if blocks never wear out.
    #[serde(default)]
    pub lifetime: Option<Lifetime>,
    /// The counts of the host; `None` without one.
    #[serde(default)]
    pub host: Option<HostResult>,
    /// The counts of zombies; `None` if neither the policy nor the placement uses hints.
    #[serde(default)]
    pub zombies: Option<ZombieResult>,
    /// The cost of each stream; `None` if writes have no streams.
    #[serde(default)]
    pub streams: Option<Vec<StreamResult>>,
    /// The log of flexible data placement; `None` without it.
    #[serde(default)]
    pub fdp: Option<FdpResult>,
    /// The trace and its replays; `None` for generators.
    #[serde(default)]
    pub trace: Option<Replayed>,
    /// The time that the flash was busy; `None` if operation times are not given.
    #[serde(default)]
    pub busy: Option<Busy>,
    /// The response times and the other results of a clock; `None` without a clock.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedResult>,
    /// A digest of the decisions of each run. It is not in the JSON document.
    #[serde(skip)]
    pub decisions: Vec<u64>,
    /// The single operations; `None` if the configuration has no timeline. They are not in the JSON
    /// document.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
    /// The samples that comparisons pair.
    #[serde(default)]
    pub samples: Samples,
    /// The cost of the map.
    #[serde(flatten)]
    pub map: MapResult,
    /// The swap traffic; `None` without a page cache.
    #[serde(default)]
    pub swap: Option<Swap>,
    /// The pages programmed per second of one core's time, warm-up included. Only this figure
    /// differs between machines.
    pub page_programs_per_second: f64,
    /// `true` if write amplification, and with a clock the time for a request, no longer changed in
    /// the measured part, and writes did not use up blocks that were erased before.
    pub steady: bool,
    /// The results of the tests that `steady` rests on.
    #[serde(default)]
    pub steadiness: Steadiness,
    /// `true` if the runs were stopped before their end.
    pub interrupted: bool,
    /// The findings that a reader should know before using the figure.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The course of the first run.
    #[serde(flatten)]
    pub course: Course,
    /// The seed of the first run.
    pub seed: u64,
    /// The digest of every decision and every count and, with a clock, of every time. Runs with
    /// equal digests are equal. Names are not in it: the digest does not depend on the path and the
    /// compression of a trace, and a policy in Python has the same digest as the same policy built
    /// in.
    pub digest: String,
    /// The digest of the configuration in this result, names included.
    #[serde(default)]
    pub config_digest: String,
    /// The number of blocks in the configuration, or the number that the pages of a trace need;
    /// `None` unless the drive has more, so that every plane has the same number.
    #[serde(default)]
    pub blocks_asked: Option<u32>,
    /// The configuration, with the drive's shape.
    pub config: FullConfig,
    /// The version of flashgc.
    pub version: String,
}

/// The cost of the map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct MapResult {
    /// The bytes of memory that a controller needs for the map; 0 if no run began.
    #[serde(default)]
    pub map_bytes: u64,
    /// The counts of merges of log blocks; `None` for a mapping that has none.
    #[serde(default)]
    pub merges: Option<NamedCounts<Merges>>,
    /// The traffic of a map on flash; `None` for a map in memory.
    #[serde(default)]
    pub map_traffic: Option<NamedCounts<MapTraffic>>,
}

/// The course of a run over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct Course {
    /// Pairs, one an interval: the drive writes done, and the write amplification of the interval.
    pub series: Vec<(f64, f64)>,
    /// The drive writes before the measured part.
    #[serde(default)]
    pub measured_from: f64,
}

impl RunResult {
    /// Returns the figure that ranks results; a smaller one is better. It is write amplification;
    /// with a page cache it is the time in seconds that the flash spends on I/O, with a clock the
    /// mean response time in microseconds. NaN if there is no figure.
    pub fn figure(&self) -> f64 {
        if let Some(timed) = &self.timed {
            return timed.latency_us.all.as_ref().map_or(f64::NAN, |all| all.all.mean);
        }
        match &self.swap {
            Some(swap) if swap.run_values.is_empty() => f64::NAN,
            Some(swap) => swap.io_seconds,
            None => self.write_amplification,
        }
    }

    /// Returns the figure of each run.
    pub fn figures(&self) -> &[f64] {
        match (&self.timed, &self.swap) {
            (Some(timed), _) => &timed.mean_us_runs,
            (None, Some(swap)) => &swap.run_values,
            (None, None) => &self.each_run.run_values,
        }
    }

    /// Returns the findings as lines of text.
    pub fn said(&self) -> Vec<String> {
        self.findings.iter().map(Finding::text).collect()
    }

    /// Replaces the marks of options in the findings by their names in `names`.
    pub fn name_options(&mut self, names: &dyn Names) {
        self.findings.iter_mut().for_each(|finding| finding.name_options(names));
    }

    /// Returns half the 95% interval of the figure; `None` if there is not enough data.
    pub fn figure_ci95(&self) -> Option<f64> {
        match (&self.timed, &self.swap) {
            (Some(timed), _) => timed.mean_us_ci95,
            (None, Some(_)) => None,
            (None, None) => self.write_amplification_ci95,
        }
    }
}

/// The resolved configuration and the drive's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FullConfig {
    /// The configuration as typed, with specs written out in full.
    #[serde(flatten)]
    pub run: RunConfig,
    /// The logical capacity in pages.
    pub logical_pages: u64,
    /// The pages of flash.
    pub physical_pages: u64,
    /// The spare factor: exactly 1 - U/N.
    pub spare_factor: f64,
    /// The overprovisioning: exactly (N - U)/U.
    pub overprovision: f64,
    /// The spare factor that collections can use, without the blocks that stay erased.
    #[serde(default)]
    pub effective_spare: f64,
    /// `true` if the user gave neither the size of the drive nor the pages of its blocks, so that
    /// they were chosen for the pages of a trace.
    #[serde(default)]
    pub fitted: bool,
    /// The large drive that this one stands for; `None` for a drive that is simulated as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
}
