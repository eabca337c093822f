//! A run that has ended: its counts, the life of its drive, and the measurements of its clock.

use std::time::Duration;

use flashgc_base::snapshot::{Fault, Reader, Value, Writer};
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::stats::Interval;
use flashgc_ftl::{Cause, Moment, Shrunk};
use flashgc_timed::{
    CollectionResult, FailureCounts, Joined, Meter, Overload, PowerCounts, SlcCounts, Totals,
    Utilisation,
};

use crate::counted::Counted;
use crate::worn::{Erases, Worn};

/// The requests completed in an interval, and the length of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
pub(crate) struct Pace {
    pub(crate) requests: u64,
    pub(crate) ns: u64,
}

/// The figures of a run, kept after its drive is freed.
#[derive(Value)]
pub(crate) struct Finished {
    /// The number of passes of a trace that was replayed until it had settled; otherwise 0.
    pub(crate) passes: u64,
    /// The number of times that a cold page was written in the measured part; `None` if that was
    /// not watched.
    pub(crate) rewrites: Option<f64>,
    /// The counts of the measured part.
    pub(crate) counted: Counted,
    /// The bytes of memory that a controller needs for the map.
    pub(crate) map_bytes: u64,
    /// The pages programmed since the run began.
    pub(crate) programs: u64,
    /// A digest of every decision of the run.
    pub(crate) decisions: u64,
    /// The blocks at the end that have no valid page and may be collected.
    pub(crate) dead_blocks: u64,
    /// The statistics of the erase counts of the drive's blocks.
    pub(crate) erases: Erases,
    /// Pairs of a number of erases and the number of blocks that were erased that often.
    pub(crate) tally: Vec<(u32, u64)>,
    /// The moments of the drive's life; `None` if blocks do not wear out.
    pub(crate) life: Option<Life>,
    /// The smaller superblocks at the end; `None` if superblocks retire with their first bad block.
    pub(crate) shrunk: Option<Shrunk>,
    /// For each bad block, the host pages written when it wore out.
    pub(crate) failures: Vec<u64>,
    /// The wear of the blocks after each interval.
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

/// The failures in one drive's life, each with the counts of the host's commands up to it.
#[derive(Debug, Value)]
pub(crate) struct Life {
    /// The number of blocks that may be bad before the drive fails.
    pub(crate) reserve: u32,
    pub(crate) first_failure: Option<(Moment, HostCommands)>,
    pub(crate) system_failure: Option<((Moment, HostCommands), Cause)>,
}

/// The figures of a run, and the measurements of its clock if it has one.
pub(crate) struct Remains {
    pub(crate) finished: Finished,
    pub(crate) timings: Option<Timings>,
}

impl Remains {
    pub(crate) fn put(&self, to: &mut Writer<'_>) {
        self.finished.put(to);
        if let Some(timings) = &self.timings {
            timings.put(to);
        }
    }

    /// Reads the figures of a run. `has_clock` says whether they have the measurements of a clock.
    pub(crate) fn take(from: &mut Reader<'_>, has_clock: bool) -> Result<Self, Fault> {
        let finished = Finished::take(from)?;
        let timings = has_clock.then(|| Timings::take(from)).transpose()?;
        Ok(Self { finished, timings })
    }
}

/// The measurements of a run's clock.
#[derive(Value)]
pub(crate) struct Timings {
    /// The measurements of requests and operations.
    pub(crate) meter: Meter,
    /// The counts of collections in the measured part.
    pub(crate) collecting: CollectionResult,
    /// The counts of operations that went together with those on another plane, in the measured part.
    pub(crate) joined: Joined,
    /// The use of the write cache in the measured part.
    pub(crate) cached: Cached,
    /// The counts of the SLC region in the measured part; `None` without one.
    pub(crate) slc: Option<SlcCounts>,
    /// The busy times in the measured part.
    pub(crate) utilisation: Utilisation,
    /// The counts of power in the measured part; 0 without a limit.
    pub(crate) power: PowerCounts,
    /// The counts of reads that fail in the measured part; 0 if none can.
    pub(crate) failures: FailureCounts,
    /// The nanoseconds of the measured part.
    pub(crate) ns: u64,
    /// The requests completed in the measured part.
    pub(crate) completed: u64,
    /// The number of requests in the system, integrated over the nanoseconds of the measured part.
    pub(crate) request_ns: u128,
    /// The overload, if requests arrived too fast.
    pub(crate) overload: Option<Overload>,
    /// The pace of each interval of the measured part; empty if requests arrive at given times,
    /// because then the drive does not determine the pace.
    pub(crate) paces: Vec<Pace>,
    /// The page writes before the requests, and an estimate of the page writes that would have
    /// settled the drive. `None` if the drive had settled.
    pub(crate) unsettled: Option<(u64, u64)>,
    /// The writes before the requests, if they ended early because the workload hardly writes;
    /// `None` otherwise.
    pub(crate) cut: Option<Cut>,
    /// The note on the file of trace events; `None` if there is none.
    pub(crate) note: Option<String>,
}

/// The use of the write cache in the measured part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
pub(crate) struct Cached {
    /// The pages that the host wrote.
    pub(crate) written: u64,
    /// The writes that waited before they came into the cache.
    pub(crate) waits: u64,
    /// The pages in the cache at the beginning and at the end.
    pub(crate) held: [u64; 2],
}

impl Cached {
    pub(crate) fn between(from: &Totals, to: &Totals) -> Self {
        Self {
            written: to.pages_written - from.pages_written,
            waits: to.cache_waits - from.cache_waits,
            held: [from.cached_pages, to.cached_pages],
        }
    }
}

/// The writes before the requests, if they ended early.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Cut {
    /// The page writes that were not made.
    pub(crate) left: u64,
    /// The requests that were drawn for the page writes that were made.
    pub(crate) drawn: u64,
}
