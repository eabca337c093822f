//! The drive of one run, without a clock or with one.

use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_drive::counting::{CountingDrive, Drive};
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{Counters, Moment, Wear};
use flashgc_host::HostWatch;
use flashgc_workload::Batch;

use crate::clocked::Clocked;
use crate::config::Resolved;
use crate::counted::Counted;

/// The number of batches of a drive without a clock between two checks whether to stop.
const BATCHES_A_STEP: u32 = 16;

pub(crate) enum Driver {
    /// A drive without a clock, and the counts of its host. These counts are saved with the
    /// workload.
    Counting(Box<dyn Drive>, Option<HostWatch>),
    Clocked(Box<Clocked>),
}

impl State for Driver {
    fn save(&self, to: &mut Writer<'_>) {
        match self {
            Self::Counting(drive, _) => drive.save(to),
            Self::Clocked(clock) => clock.save(to),
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        match self {
            Self::Counting(drive, _) => drive.restore(from),
            Self::Clocked(clock) => clock.restore(from),
        }
    }
}

impl Driver {
    pub(crate) fn new(
        resolved: &Resolved,
        index: u32,
        threads: Option<usize>,
    ) -> Result<Self, DriveError> {
        if let Some(timed) = &resolved.timed {
            return Ok(Self::Clocked(Box::new(Clocked::new(resolved, timed, index, threads)?)));
        }
        let layer = resolved.layer(index)?;
        let (workload, watch) = resolved.workload(index)?;
        let drive: Box<dyn Drive> = match &resolved.swap {
            Some(swap) => Box::new(swap.drive(layer, workload)?),
            None => {
                let drive = CountingDrive::new(layer, workload, Batch::DEFAULT_LEN);
                let watched = resolved.has_no_end().then(|| resolved.geometry.logical_pages());
                Box::new(drive.behind_cache(resolved.host.is_some()).watched(watched))
            }
        };
        Ok(Self::Counting(drive, watch))
    }

    /// Makes some of the `pages` writes before the clock. Returns the number of writes done so far,
    /// or `None` when all are done.
    pub(crate) fn prepare(&mut self, pages: u64) -> Result<Option<u64>, DriveError> {
        match self {
            Self::Counting(..) => Ok(None),
            Self::Clocked(clock) => clock.prepare(pages),
        }
    }

    /// Continues until the next check whether to stop, and not beyond `target`. Returns `false` if
    /// nothing is left to do.
    pub(crate) fn step(&mut self, target: Extent) -> Result<bool, DriveError> {
        match self {
            Self::Counting(drive, _) => {
                for _ in 0..BATCHES_A_STEP {
                    if !drive.step(target)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Clocked(clock) => clock.step(target.amount),
        }
    }

    /// Notes the beginning of the measured part.
    pub(crate) fn begin(&mut self) {
        match self {
            Self::Counting(drive, _) => drop(drive.rewrites()),
            Self::Clocked(clock) => clock.begin(),
        }
    }

    /// Returns the position in the workload, in `unit`. With a clock, it is the number of completed
    /// requests.
    pub(crate) fn position(&self, unit: Unit) -> u64 {
        match self {
            Self::Counting(drive, _) => drive.position(unit),
            Self::Clocked(clock) => clock.completed,
        }
    }

    /// Returns the number of times that a cold page was written since the last call; `None` if that
    /// is not watched.
    pub(crate) fn rewrites(&mut self) -> Option<f64> {
        match self {
            Self::Counting(drive, _) => drive.rewrites(),
            Self::Clocked(_) => None,
        }
    }

    /// Returns `true` if the drive's life or its workload has ended.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Counting(drive, _) => drive.has_ended(),
            Self::Clocked(clock) => clock.has_ended(),
        }
    }

    /// Checks every invariant of the drive; the text says which does not hold. O(physical pages).
    pub(crate) fn audit(&mut self) -> Result<(), String> {
        match self {
            Self::Counting(drive, _) => drive.audit(),
            Self::Clocked(clock) => clock.drive.audit(),
        }
    }

    pub(crate) fn counters(&mut self) -> Counters {
        match self {
            Self::Counting(drive, _) => drive.layer().counters(),
            Self::Clocked(clock) => clock.drive.counters(),
        }
    }

    /// Returns the number of blocks erased.
    pub(crate) fn erases(&self) -> u64 {
        match self {
            Self::Counting(drive, _) => drive.layer().counters().erases,
            Self::Clocked(clock) => clock.drive.erases(),
        }
    }

    pub(crate) fn counted(&mut self) -> Counted {
        match self {
            Self::Counting(drive, host) => Counted {
                counters: drive.layer().counters(),
                commands: drive.commands(),
                layer: drive.layer().counts(),
                host: host.as_ref().map(HostWatch::counts),
                swapping: drive.swapping(),
            },
            Self::Clocked(clock) => clock.counted(),
        }
    }

    /// Returns the number of erases of every block.
    pub(crate) fn erase_counts(&mut self) -> Vec<u32> {
        match self {
            Self::Counting(drive, _) => {
                let layer = drive.layer();
                let each = (0..layer.planes()).map(|plane| layer.blocks(plane).erase_counts());
                each.collect::<Vec<_>>().concat()
            }
            Self::Clocked(clock) => clock.erase_counts(),
        }
    }

    /// Returns the number of blocks without a valid page that may be collected.
    pub(crate) fn dead_blocks(&mut self) -> u64 {
        match self {
            Self::Counting(drive, _) => {
                let layer = drive.layer();
                (0..layer.planes()).map(|plane| layer.blocks(plane).dead_blocks()).sum()
            }
            Self::Clocked(clock) => clock.dead_blocks(),
        }
    }

    /// Returns the wear; `None` if blocks do not wear out.
    pub(crate) fn wear(&mut self) -> Option<&Wear> {
        match self {
            Self::Counting(drive, _) => drive.layer().wear(),
            Self::Clocked(clock) => clock.drive.whole()?.layer().wear(),
        }
    }

    /// Returns the moment at which the first block wore out, and the counts of the host's commands
    /// until then.
    pub(crate) fn first_failure(&mut self) -> Option<(Moment, HostCommands)> {
        match self {
            Self::Counting(drive, _) => drive.first_failure(),
            Self::Clocked(clock) => {
                let drive = clock.drive.whole()?;
                let moment = drive.layer().wear()?.first_failure();
                moment.zip(drive.commands_at_first_failure())
            }
        }
    }

    /// Returns the bytes of memory that a controller needs for the map.
    pub(crate) fn map_bytes(&mut self) -> u64 {
        match self {
            Self::Counting(drive, _) => drive.layer().map_bytes(),
            Self::Clocked(clock) => clock.drive.map_bytes(),
        }
    }

    /// Returns a digest of every decision so far.
    pub(crate) fn decisions(&mut self) -> u64 {
        match self {
            Self::Counting(drive, _) => drive.layer().decisions(),
            Self::Clocked(clock) => clock.drive.decisions(),
        }
    }
}
