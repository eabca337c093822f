//! A run that has come to its end: its counts, and the life of its drive.

use std::time::Duration;

use flashgc_base::snapshot::Value;
use flashgc_drive::asked::Asked;
use flashgc_drive::stats::Interval;
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::{Cause, Moment};
use flashgc_ftl::{Counters, Levelled, MapTraffic, Merges, Packing, StreamTotals, ZombieCounts};
use flashgc_host::HostCounts;

use crate::worn::{Erases, Worn};

/// The remains of a run when its drive is gone.
#[derive(Value)]
pub(crate) struct Finished {
    /// The passes of a trace that was replayed until it had settled; otherwise 0.
    pub(crate) passes: u64,
    /// The counts of the map in the measured part.
    pub(crate) counters: Counters,
    /// The counts of the host's other commands in the measured part.
    pub(crate) asked: Asked,
    /// The counts of the page buffer in the measured part, if units are gathered.
    pub(crate) packing: Option<Packing>,
    /// The cost of wear levelling in the measured part; `None` without it.
    pub(crate) levelled: Option<Levelled>,
    /// The counts of zombies in the measured part, if any are kept.
    pub(crate) zombies: Option<ZombieCounts>,
    /// The counts of streams in the measured part, if writes name any.
    pub(crate) streams: Option<StreamTotals>,
    /// The counts of the host in the measured part, if there is one.
    pub(crate) host: Option<HostCounts>,
    /// The counts of merges of log blocks in the measured part, if there are log blocks.
    pub(crate) merges: Option<Merges>,
    /// The traffic of a map on flash in the measured part, if the map is there.
    pub(crate) map_traffic: Option<MapTraffic>,
    /// The swap traffic in the measured part, if there is a page cache.
    pub(crate) swapping: Option<Swapping>,
    /// The bytes that a controller needs for the map.
    pub(crate) map_bytes: u64,
    /// The pages programmed since the run began.
    pub(crate) programs: u64,
    /// A digest of everything the run decided.
    pub(crate) decisions: u64,
    /// The figures of the erase counts of its blocks.
    pub(crate) erases: Erases,
    /// The number of blocks with each number of erases.
    pub(crate) tally: Vec<(u32, u64)>,
    /// The moments of the drive's life, if blocks wear out.
    pub(crate) life: Option<Life>,
    /// The host pages written when each of its bad blocks wore out.
    pub(crate) failures: Vec<u64>,
    /// The wear of its blocks after each interval.
    pub(crate) wearing: Vec<Worn>,
    /// The intervals of the warm-up.
    pub(crate) settling: Vec<Interval>,
    /// The intervals measured.
    pub(crate) measured: Vec<Interval>,
    pub(crate) elapsed: Duration,
}

impl Finished {
    /// Returns `true` if the drive failed.
    pub(crate) fn has_ended(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.system_failure.is_some())
    }
}

/// The moments of one drive's life, each with the counts of the host's commands up to it.
#[derive(Debug, Value)]
pub(crate) struct Life {
    /// The number of blocks that may be bad.
    pub(crate) reserve: u32,
    pub(crate) first_failure: Option<(Moment, Asked)>,
    pub(crate) system_failure: Option<((Moment, Asked), Cause)>,
}
