//! A run that has come to its end: its counts, and the life of its drive.

use std::time::Duration;

use flashgc_base::snapshot::Value;
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::stats::Interval;
use flashgc_ftl::{Cause, Moment};

use crate::counted::Counted;
use crate::worn::{Erases, Worn};

/// The requests completed in an interval, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
pub(crate) struct Pace {
    pub(crate) requests: u64,
    pub(crate) ns: u64,
}

/// The remains of a run when its drive is gone.
#[derive(Value)]
pub(crate) struct Finished {
    /// The passes of a trace that was replayed until it had settled; otherwise 0.
    pub(crate) passes: u64,
    /// The number of times that a cold page was written in the measured part, if that was watched.
    pub(crate) rewrites: Option<f64>,
    /// The counts of the measured part.
    pub(crate) counted: Counted,
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
    pub(crate) first_failure: Option<(Moment, HostCommands)>,
    pub(crate) system_failure: Option<((Moment, HostCommands), Cause)>,
}
