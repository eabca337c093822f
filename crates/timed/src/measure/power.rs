//! The programs and erases that waited for power, on a drive with a limit of it.

use flashgc_base::counts::Counts;
use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

/// The counts of a drive whose power suffices for a limited number of dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct PowerCounts {
    /// The number of times that a program or an erase had to wait for power.
    pub waits: u64,
    /// The time for which they waited, in nanoseconds: the sum over the dies.
    pub wait_ns: u64,
    /// The time for which as many dies as the limit allows had power, in nanoseconds.
    pub full_ns: u64,
}

/// The limit of a drive's power, and the programs and erases that waited for it in the measured
/// parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct PowerLimit {
    /// The largest number of dies that program or erase at a time.
    pub dies: u32,
    /// The share of the time in which this number of dies programmed or erased, from 0 to 1.
    pub full: f64,
    /// The number of times that a program or an erase waited for power. One that was suspended may
    /// wait again.
    pub waits: u64,
    /// The mean time of these waits, in microseconds; `None` if there was none.
    pub mean_wait_us: Option<f64>,
    /// The mean over the dies of the share of time in which a program or an erase waited for power
    /// there, from 0 to 1. It is a part of the time in which the die was in use.
    pub waiting: f64,
}

impl PowerLimit {
    /// Returns the result of a limit of `limit` dies, on a drive of `dies` dies that ran for `ns`
    /// nanoseconds.
    pub fn new(limit: u32, counts: &PowerCounts, dies: u32, ns: u64) -> Self {
        let share = |part: u64, all: f64| if ns > 0 { part as f64 / all } else { 0.0 };
        Self {
            dies: limit,
            full: share(counts.full_ns, ns as f64),
            waits: counts.waits,
            mean_wait_us: (counts.waits > 0)
                .then(|| counts.wait_ns as f64 / counts.waits as f64 / 1e3),
            waiting: share(counts.wait_ns, ns as f64 * f64::from(dies)),
        }
    }
}
