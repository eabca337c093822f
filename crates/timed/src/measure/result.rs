//! The results of a timed run, in addition to the counts that every drive has.

use flashgc_base::counts::Counts;
use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use flashgc_drive::stats::mean;
use serde::{Deserialize, Serialize};

use super::failures::FailureCounts;
use super::power::PowerLimit;
use super::suspension::Suspension;
use super::tenants::TenantResult;
use super::totals::{CollectionCounts, SlcCounts, Totals};
use super::worst_result::WorstResult;
use crate::metrics::latency::{LatencyResult, TimeShares};
use crate::metrics::series::SeriesResult;

/// The result of all timed runs of one configuration: of their measured parts together, if not said
/// otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct TimedResult {
    /// The response times.
    pub latency_us: LatencyResult,
    /// The mean response time of each run, in microseconds.
    pub mean_us_runs: Vec<f64>,
    /// Half the width of the 95% interval of the mean response time over the runs, in microseconds;
    /// `None` for one run.
    pub mean_us_ci95: Option<f64>,
    /// The shares of causes in the response time of requests.
    pub time_share: TimeShares,
    /// Requests and bytes a second.
    pub throughput: Throughput,
    /// The busy shares of buses and dies.
    pub utilisation: Utilisation,
    /// The counts of collections.
    pub collecting: CollectionResult,
    /// The rule of suspension, and the operations that it did not suspend again; `None` if no
    /// operation can be suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// The limit of power, and the programs and erases that waited for it; `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerLimit>,
    /// The reads of the host that failed; `None` if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailureCounts>,
    /// The counts of the SLC region; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcCounts>,
    /// The result of each tenant, in their order; `None` if the drive has one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<TenantResult>>,
    /// The series over time of the first run.
    pub over_time: SeriesResult,
    /// The simulated time of all runs together, in seconds.
    pub simulated_seconds: f64,
    /// The mean over time of the number of requests in the drive and in front of it.
    pub requests_in_system: f64,
    /// The overload, if requests arrived faster than the drive could serve them.
    pub overload: Option<Overload>,
    /// The slowest read, write and discard of all runs, each with the work of its die meanwhile.
    #[serde(default)]
    pub worst: Vec<WorstResult>,
}

/// The rates of requests and of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct Throughput {
    /// The requests completed a second.
    pub requests_per_second: f64,
    /// The bytes read a second.
    pub read_bytes_per_second: f64,
    /// The bytes written a second.
    pub write_bytes_per_second: f64,
}

/// The shares of the time in which buses and dies were in use, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Value, Described)]
pub struct Utilisation {
    /// The mean of `channels`.
    pub bus: f64,
    /// The mean of `dies`.
    pub die: f64,
    /// The mean over the dies of the share of time in which a collection held the die.
    pub collection: f64,
    /// The share of the time in which each channel's bus was in use.
    pub channels: Vec<f64>,
    /// The share of the time in which each die was in use: it read, programmed or erased, or it
    /// transferred data or waited for the bus or for power.
    pub dies: Vec<f64>,
}

/// The counts of collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counts, Value)]
pub struct CollectionResult {
    /// The counts of collections and of the operations that they gave way to.
    #[serde(flatten)]
    #[counts(flat)]
    pub counts: CollectionCounts,
    /// The number of programs suspended.
    #[counts(words = "programs suspended")]
    pub suspended_programs: u64,
    /// The number of erases suspended.
    #[counts(words = "erases suspended")]
    pub suspended_erases: u64,
}

/// Requests that arrived faster than the drive could serve them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Value, Described)]
pub struct Overload {
    /// The requests that arrived a second.
    pub offered_per_second: f64,
    /// The requests that the drive served a second while others waited: the largest rate that it
    /// can sustain.
    pub sustainable_per_second: f64,
    /// The requests not yet served when the run was stopped, or when its last request arrived.
    pub outstanding: u64,
    /// `true` if the run was stopped before its end.
    #[serde(default)]
    pub is_cut_short: bool,
}

impl CollectionResult {
    /// Returns the counts of the time between two totals.
    pub fn between(from: &Totals, to: &Totals) -> Self {
        Self {
            counts: to.collections.since(&from.collections),
            suspended_programs: to.suspended_programs - from.suspended_programs,
            suspended_erases: to.suspended_erases - from.suspended_erases,
        }
    }
}

impl Utilisation {
    /// Returns the busy times between two totals as shares of `ns` nanoseconds; empty if no time
    /// passed.
    pub fn between(from: &Totals, to: &Totals, ns: u64) -> Self {
        if ns == 0 {
            return Self::default();
        }
        let shares = |from: &[u64], to: &[u64]| -> Vec<f64> {
            to.iter().zip(from).map(|(to, from)| (to - from) as f64 / ns as f64).collect()
        };
        let channels = shares(&from.bus_busy_ns, &to.bus_busy_ns);
        let dies = shares(&from.die_busy_ns, &to.die_busy_ns);
        Self {
            bus: mean(&channels),
            die: mean(&dies),
            collection: mean(&shares(&from.die_collecting_ns, &to.die_collecting_ns)),
            channels,
            dies,
        }
    }

    /// Returns the mean of several.
    pub fn mean(several: &[&Self]) -> Self {
        let over = |figure: &dyn Fn(&Self) -> f64| {
            mean(&several.iter().map(|utilisation| figure(utilisation)).collect::<Vec<_>>())
        };
        let each = |figure: &dyn Fn(&Self) -> &[f64]| -> Vec<f64> {
            let count = several.first().map_or(0, |utilisation| figure(utilisation).len());
            (0..count).map(|index| over(&|utilisation| figure(utilisation)[index])).collect()
        };
        Self {
            bus: over(&|utilisation| utilisation.bus),
            die: over(&|utilisation| utilisation.die),
            collection: over(&|utilisation| utilisation.collection),
            channels: each(&|utilisation| &utilisation.channels),
            dies: each(&|utilisation| &utilisation.dies),
        }
    }
}
