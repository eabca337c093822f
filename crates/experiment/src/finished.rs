//! A run that has come to its end: its counts, and the life of its drive.

use std::time::Duration;

use flashgc_base::snapshot::Value;
use flashgc_base::value;
use flashgc_drive::asked::Asked;
use flashgc_drive::stats::Interval;
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::{Cause, Moment};
use flashgc_ftl::{Counters, Levelled, MapTraffic, Merges, Packing, StreamTotals, ZombieCounts};
use flashgc_host::HostCounts;

use crate::worn::{Erases, Worn};

/// The remains of a run when its drive is gone.
pub(crate) struct Finished {
    /// Passes of a trace that was replayed until it had settled; else 0.
    pub(crate) passes: u64,
    /// Counted in the measured part.
    pub(crate) counters: Counters,
    /// What the host asked for beside that, in the measured part.
    pub(crate) asked: Asked,
    /// The counts of the page buffer in the measured part, where units are gathered.
    pub(crate) packing: Option<Packing>,
    /// The cost of wear levelling in the measured part; `None` without it.
    pub(crate) levelled: Option<Levelled>,
    /// The counts of zombies in the measured part, where any are kept.
    pub(crate) zombies: Option<ZombieCounts>,
    /// The counts of streams in the measured part, where writes name any.
    pub(crate) streams: Option<StreamTotals>,
    /// The counts of the host in the measured part, where there is one.
    pub(crate) host: Option<HostCounts>,
    /// How log blocks were merged in the measured part, where there are any.
    pub(crate) merges: Option<Merges>,
    /// The traffic of a map on flash in the measured part, where it is there.
    pub(crate) map_traffic: Option<MapTraffic>,
    /// The swap traffic in the measured part, where there is a page cache.
    pub(crate) swapping: Option<Swapping>,
    /// Bytes that a controller needs for the map.
    pub(crate) map_bytes: u64,
    /// Pages programmed since the run began.
    pub(crate) programs: u64,
    /// A digest of everything the run decided.
    pub(crate) decisions: u64,
    /// How often its blocks were erased.
    pub(crate) erases: Erases,
    /// Each number of erases, and its blocks.
    pub(crate) tally: Vec<(u32, u64)>,
    /// How long the drive lived, where blocks wear out.
    pub(crate) life: Option<Life>,
    /// Host pages written when each of its bad blocks wore out.
    pub(crate) failures: Vec<u64>,
    /// How worn its blocks were after each interval.
    pub(crate) wearing: Vec<Worn>,
    /// Intervals of the warm-up.
    pub(crate) settling: Vec<Interval>,
    /// Intervals measured.
    pub(crate) measured: Vec<Interval>,
    pub(crate) elapsed: Duration,
}

impl Value for Finished {
    value!(
        passes,
        counters,
        asked,
        packing,
        levelled,
        zombies,
        streams,
        host,
        merges,
        map_traffic,
        swapping,
        map_bytes,
        programs,
        decisions,
        erases,
        tally,
        life,
        failures,
        wearing,
        settling,
        measured,
        elapsed
    );
}

impl Value for Life {
    value!(reserve, first_failure, system_failure);
}

impl Finished {
    /// Whether the drive failed.
    pub(crate) fn has_ended(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.system_failure.is_some())
    }
}

/// The moments of one drive's life, each with what the host had asked for until then.
#[derive(Debug)]
pub(crate) struct Life {
    /// Blocks that may be bad.
    pub(crate) reserve: u32,
    pub(crate) first_failure: Option<(Moment, Asked)>,
    pub(crate) system_failure: Option<((Moment, Asked), Cause)>,
}
