//! The drive of a run, simulated as a whole or channel by channel. Both ways give exactly the same
//! results.

use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_drive::error::DriveError;
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{Counters, LayerCounts, Stepwise};
use flashgc_timed::{Channels, Meter, Shape, Stop, TimedDrive, Totals, Until, Worst};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Batch, Op};

/// The number of requests between two checks whether to stop.
const BETWEEN_LOOKS: u64 = 8192;
/// The number of requests between two checks whether to stop, if new threads start after each
/// check. Such requests have few pages.
const BETWEEN_LOOKS_OF_THREADS: u64 = 4 * BETWEEN_LOOKS;

/// Evaluates the same expression for either kind of drive.
macro_rules! both {
    ($simulated:expr, $drive:ident => $call:expr) => {
        match $simulated {
            Self::Whole($drive) => $call,
            Self::ByChannel($drive) => $call,
        }
    };
}

/// A drive that is simulated in one of the two ways.
pub(crate) enum Simulated {
    Whole(Box<TimedDrive<Meter>>),
    ByChannel(Box<Channels>),
}

impl State for Simulated {
    fn save(&self, to: &mut Writer<'_>) {
        both!(self, drive => drive.save(to))
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        both!(self, drive => drive.restore(from))
    }
}

impl Simulated {
    /// Returns the number of requests between two checks whether to stop.
    pub fn between_looks(&self) -> u64 {
        match self {
            Self::Whole(_) => BETWEEN_LOOKS,
            Self::ByChannel(_) => BETWEEN_LOOKS_OF_THREADS,
        }
    }

    /// Continues until `until` requests are completed, or until about `about` requests are
    /// completed if `about` is less.
    pub fn run(&mut self, until: u64, about: u64) -> Result<Stop, DriveError> {
        match self {
            Self::Whole(drive) => drive.run(Until { completed: until.min(about), ..Until::END }),
            Self::ByChannel(drive) => drive.run(until, about),
        }
    }

    /// Returns the drive's number of pages and their size.
    pub fn shape(&self) -> &Shape {
        both!(self, drive => drive.shape())
    }

    /// Executes `requests` before the clock starts, until the drive has written `most` pages or its
    /// life has ended. Returns the number of pages written.
    pub fn prepare(&mut self, requests: &[TimedRequest], most: u64) -> Result<u64, DriveError> {
        match self {
            Self::Whole(drive) => drive.prepare(requests, most),
            Self::ByChannel(drive) => {
                let (mut commands, mut written) = (Batch::default(), 0);
                for request in requests {
                    if matches!(request.op, Op::Write | Op::Trim) && written < most {
                        let mut pages = drive.shape().pages_of(request)?;
                        if request.op == Op::Write {
                            let left = u32::try_from(most - written).unwrap_or(u32::MAX);
                            pages.end = pages.end.min(pages.start.saturating_add(left));
                            written += pages.len() as u64;
                        }
                        commands.extend(request.op, request.stream, pages);
                    }
                }
                drive.precede(&commands)?;
                Ok(written)
            }
        }
    }

    /// Executes the next commands of `stream` before the clock starts, at most `limit` of them, until the
    /// drive has written `most` pages. Returns the commands and the number of pages written; `None` if the
    /// drive must have requests.
    pub fn prepare_at_once(
        &mut self,
        stream: &mut dyn RequestStream,
        limit: usize,
        most: u64,
    ) -> Result<Option<(Batch, u64)>, DriveError> {
        let Self::Whole(drive) = self else { return Ok(None) };
        let (mut commands, page) = (Batch::default(), drive.shape().page_bytes());
        if !drive.takes_commands() || !stream.fill_commands(&mut commands, page, limit)? {
            return Ok(None);
        }
        let written = drive.precede(&commands, most)?;
        Ok(Some((commands, written)))
    }

    /// Lets the host be idle before the clock starts, so that its cache is clean at the start if
    /// that is required.
    pub fn rest(&mut self) -> Result<(), DriveError> {
        self.whole().map_or(Ok(()), TimedDrive::rest)
    }

    /// Returns the drive if it is simulated as a whole. That is always so for a drive with a cache,
    /// with hints, with streams or with an end of life.
    pub fn whole(&mut self) -> Option<&mut TimedDrive<Meter>> {
        match self {
            Self::Whole(drive) => Some(drive),
            Self::ByChannel(_) => None,
        }
    }

    /// Calls `look` with each map: the single map of the drive, or one map a channel.
    pub fn each_map(&mut self, mut look: impl FnMut(&dyn Stepwise)) {
        match self {
            Self::Whole(drive) => look(drive.layer()),
            Self::ByChannel(drive) => drive.each_map(look),
        }
    }

    /// Checks every invariant of the maps; the text says which does not hold. O(physical pages).
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&mut self) -> Result<(), String> {
        both!(self, drive => drive.audit())
    }

    /// Returns the simulated time in nanoseconds since the start.
    pub fn now(&self) -> u64 {
        both!(self, drive => drive.now())
    }

    /// Returns the number of requests completed.
    pub fn completed(&mut self) -> u64 {
        match self {
            Self::Whole(drive) => drive.totals().completed,
            Self::ByChannel(drive) => drive.completed(),
        }
    }

    /// Returns `true` if requests arrive at their own times, independent of the drive.
    pub fn has_open_loop(&self) -> bool {
        match self {
            Self::Whole(drive) => drive.has_open_loop(),
            Self::ByChannel(_) => true,
        }
    }

    /// Returns the number of blocks erased.
    pub fn erases(&self) -> u64 {
        match self {
            Self::Whole(drive) => drive.layer().counters().erases,
            Self::ByChannel(drive) => drive.erases(),
        }
    }

    /// Returns `true` if the drive's life has ended.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Whole(drive) => drive.layer().has_ended(),
            Self::ByChannel(_) => false,
        }
    }

    /// Returns the counts of the map.
    pub fn counters(&mut self) -> Counters {
        both!(self, drive => drive.counters())
    }

    /// Returns the counts that only some drives keep.
    pub fn counts(&mut self) -> LayerCounts {
        both!(self, drive => drive.counts())
    }

    /// Returns a digest of every decision so far.
    pub fn decisions(&mut self) -> u64 {
        match self {
            Self::Whole(drive) => drive.layer().decisions(),
            Self::ByChannel(drive) => drive.decisions(),
        }
    }

    /// Returns the bytes of memory that the drive needs for its map.
    pub fn map_bytes(&mut self) -> u64 {
        both!(self, drive => drive.map_bytes())
    }

    /// Returns the counts of the host's commands other than page writes.
    pub fn commands(&mut self) -> HostCommands {
        both!(self, drive => drive.commands())
    }

    /// Returns the totals of the run so far.
    pub fn totals(&mut self) -> Totals {
        match self {
            Self::Whole(drive) => drive.totals().clone(),
            Self::ByChannel(drive) => drive.totals(),
        }
    }

    /// Returns the number of changes in the list of slowest requests, and the slowest request.
    /// `None` unless that number is higher than `before`.
    pub fn slowest_since(&mut self, before: u64) -> Option<(u64, Worst)> {
        let (changes, slowest) = match self {
            Self::Whole(drive) => {
                let worst = drive.observer().worst();
                let changes = worst.changes();
                (changes, (changes > before).then(|| worst.slowest().cloned()))
            }
            Self::ByChannel(drive) => {
                let changes = drive.changes();
                (changes, (changes > before).then(|| drive.worst().slowest().cloned()))
            }
        };
        Some((changes, slowest??))
    }

    /// Returns the measurements up to the last event.
    pub fn measured(self) -> Meter {
        match self {
            Self::Whole(drive) => drive.into_observer(),
            Self::ByChannel(drive) => drive.measured(),
        }
    }
}
