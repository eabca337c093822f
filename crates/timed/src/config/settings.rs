//! The settings of a timed drive: hardware, placement, scheduling, collections and the host's side.

use flashgc_base::spec::SpecError;
use flashgc_ftl::stepwise::RESERVED_BLOCKS;
use flashgc_workload::requests::Arrivals;

use super::details::Details;
use super::hardware::Hardware;
use super::placement::{Order, Placement};
use super::slc::Slc;

/// All settings of a [`TimedDrive`](crate::TimedDrive), except its map and its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The flash and its buses.
    pub hardware: Hardware,
    /// Where pages are written.
    pub placement: Placement,
    /// Which of a die's requests is next.
    pub scheduling: Scheduling,
    /// Operations of one kind that wait at several planes of an idle die go together.
    pub multi_plane: bool,
    /// Cache commands: the transfer of one host operation overlaps the cell time of the next of
    /// the same kind on that die.
    pub cache_commands: bool,
    /// When and how garbage is collected.
    pub collecting: Collecting,
    /// The operations that the hardware can interrupt.
    pub suspend: Suspend,
    /// The SLC region; `None` without one.
    pub slc: Option<Slc>,
    /// A flash page that is not full is programmed after this time in its buffer; [`u64::MAX`] for never.
    pub flush_after_ns: u64,
    /// Pages of the write cache; 0 for none. A whole page that is written is done when it is in the
    /// cache, and goes to its die at once; the cache keeps it until it is programmed.
    pub write_cache: u32,
    /// Where requests come from in time.
    pub host: Loop,
    /// Requests that the drive works on at a time; others wait in front of it.
    pub queue_depth: u32,
    /// Kinds of pages, reads that are repeated, and the link to the host.
    pub details: Details,
}

/// Which of the requests that wait at a die is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The one that came first.
    Fifo,
    /// Reads before writes, but never before an earlier write of the same page. So MQSim serves the
    /// requests of users (`TSU_OutOfOrder`); it has collections wait for them too, where ours give way
    /// as [`Preemption`] says.
    ReadsFirst,
}

/// The unit that counts its erased blocks together and has one collection at a time. A die has at
/// most one collection under way, whatever the unit. A victim is searched in the plane of the unit
/// with the fewest erased blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Each plane by itself.
    Plane,
    /// The planes of a die.
    Die,
    /// The planes of a channel.
    Channel,
    /// All planes.
    Drive,
}

impl Unit {
    /// The unit as a message names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plane => "a plane",
            Self::Die => "a die",
            Self::Channel => "a channel",
            Self::Drive => "the drive",
        }
    }
}

/// How the collector gives way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Not at all: the die is held until the collection ends (NPGC).
    None,
    /// Semi-preemptively: between the operations of a collection (PGC).
    Semi {
        /// Requests for the page that is moved use its buffer.
        merge: bool,
        /// A request overlaps with the collection's operation of the same kind.
        pipeline: bool,
    },
}

/// When and how garbage is collected. Blocks are erased blocks of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collecting {
    /// The unit that counts its erased blocks together.
    pub unit: Unit,
    /// A write that finds its frontier full starts collections at or below so many blocks.
    pub low: u32,
    /// Collections go on until there are more than so many blocks.
    pub high: u32,
    /// Below so many blocks writes wait (state S2), until there are more; 0 for never.
    pub hard: u32,
    /// How the collector gives way.
    pub preemption: Preemption,
    /// Without preemption, a collection holds all dies of its unit, not its own alone.
    pub holds_unit: bool,
    /// The time of the search for a victim, in which its die is busy.
    pub search_ns: u64,
    /// The time of a look into the queue at each preemption point.
    pub poll_ns: u64,
    /// Pages are moved inside their die, without the bus.
    pub copy_back: bool,
    /// Collections of idle dies.
    pub idle: Option<Idle>,
    /// Write pacing: the host's writes go before the steps of a collection in proportion to its progress.
    pub paces_writes: bool,
}

/// Collections while nothing else is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// A die collects while its unit has at most so many erased blocks.
    pub below: u32,
    /// After it has been idle for so long.
    pub after_ns: u64,
}

/// Suspending an operation of the cells to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Erases can be suspended, by reads and writes.
    pub erase: bool,
    /// Programs can be suspended, by reads.
    pub program: bool,
    /// Time until a suspended operation has let go of the die.
    pub suspend_ns: u64,
    /// Time that it loses when it goes on.
    pub resume_ns: u64,
    /// An erase with less left than this is not suspended.
    pub least_erase_ns: u64,
    /// A program with less left than this is not suspended.
    pub least_program_ns: u64,
    /// The most times that one operation is suspended: a bound that guarantees its end.
    pub most: u32,
}

impl Suspend {
    /// Hardware that suspends nothing.
    pub const NEVER: Self = Self {
        erase: false,
        program: false,
        suspend_ns: 0,
        resume_ns: 0,
        least_erase_ns: 0,
        least_program_ns: 0,
        most: 8,
    };
}

/// Where requests come from in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// At their arrival times, whatever the drive does.
    Open,
    /// From so many threads, each with one request at a time and a pause after it.
    Closed {
        /// Threads.
        threads: u32,
        /// Pause between a completion and the thread's next request.
        think_ns: u64,
    },
}

impl Loop {
    /// The loop of a host whose requests arrive so; `None` for times of their own.
    pub fn of(arrivals: Option<Arrivals>) -> Self {
        match arrivals {
            Some(Arrivals::Closed { threads, think_ns }) => Self::Closed { threads, think_ns },
            _ => Self::Open,
        }
    }
}

impl Settings {
    /// A drive with nothing beside its hardware: pages in the order `CWDP`, first come first served, no
    /// preemption and no cache. Each plane collects at two erased blocks, and the host sends requests at their
    /// times, of which the drive works on any number.
    pub fn plain(hardware: Hardware) -> Self {
        Self {
            hardware,
            placement: Placement::Static(Order::CWDP),
            scheduling: Scheduling::Fifo,
            multi_plane: false,
            cache_commands: false,
            collecting: Collecting {
                unit: Unit::Plane,
                low: 2,
                high: 2,
                hard: 0,
                preemption: Preemption::None,
                holds_unit: false,
                search_ns: 0,
                poll_ns: 0,
                copy_back: false,
                idle: None,
                paces_writes: false,
            },
            suspend: Suspend::NEVER,
            slc: None,
            flush_after_ns: u64::MAX,
            write_cache: 0,
            host: Loop::Open,
            queue_depth: u32::MAX,
            details: Details::default(),
        }
    }

    /// Whether nothing can begin on a die between a page's transfer to it and its program, nor stop
    /// the program.
    pub(crate) fn programs_follow_transfers(&self) -> bool {
        let pipelines =
            matches!(self.collecting.preemption, Preemption::Semi { pipeline: true, .. });
        !self.cache_commands && !pipelines && !self.suspend.program
    }

    /// Whether a die at work may begin something, or stop what it does.
    pub(crate) fn begins_when_busy(&self) -> bool {
        !self.programs_follow_transfers() || self.suspend.erase || self.hardware.units_per_page > 1
    }

    /// Idle time after which a die collects or folds; `None` for never.
    pub(crate) fn idle_ns(&self) -> Option<u64> {
        let idle = self.collecting.idle.map(|idle| idle.after_ns);
        idle.or(self.slc.map(|slc| slc.after_ns))
    }

    /// Whether a collection goes on from its first page to its last without a look at anything but the
    /// bus, and nothing of the host touches its plane meanwhile.
    pub(crate) fn collects_undisturbed(&self) -> bool {
        let Collecting { unit, preemption, copy_back, paces_writes, .. } = self.collecting;
        unit == Unit::Plane
            && preemption == Preemption::None
            && !copy_back
            && !paces_writes
            && self.placement != Placement::Dynamic
            && self.hardware.units_per_page == 1
            && self.hardware.transfer_ns > 0
            && self.details.has_uniform_pages()
            && self.slc.is_none()
            && !self.suspend.erase
            && self.programs_follow_transfers()
    }

    /// Whether a drive can be told this.
    ///
    /// # Errors
    /// Those of [`Hardware::check`]; thresholds in the wrong order; a host that asks for nothing.
    pub fn check(&self) -> Result<(), SpecError> {
        self.hardware.check()?;
        let Collecting { low, high, hard, unit, preemption, paces_writes, .. } = self.collecting;
        let least = if unit == Unit::Plane { RESERVED_BLOCKS } else { 0 };
        if low < least {
            return Err(SpecError::new(
                format!("low threshold: found {low} blocks, expected at least {least}"),
                "a collection needs an erased block for the pages it moves",
            ));
        }
        if high < low || hard > low {
            return Err(SpecError::new(
                format!(
                    "collection thresholds: found hard {hard}, low {low}, high {high}, expected \
                     hard <= low <= high"
                ),
                "collections start at low, stop above high, and writes wait below hard",
            ));
        }
        if self.collecting.copy_back
            && matches!(self.collecting.preemption, Preemption::Semi { merge: true, .. })
        {
            return Err(SpecError::new(
                "copy-back and merging are both on, expected one of them",
                "merging needs pages that move over the bus: switch copy-back off, or leave out \
                 +merge",
            ));
        }
        if paces_writes && preemption == Preemption::None {
            return Err(SpecError::new(
                "write pacing: found collections without preemption, expected pgc or suspend",
                "--preemption pgc: paced writes go between the steps of a collection",
            ));
        }
        if paces_writes && !matches!(unit, Unit::Plane | Unit::Die) {
            return Err(SpecError::new(
                format!(
                    "write pacing: found one collection at a time for {}, expected one for a plane \
                     or a die",
                    unit.name()
                ),
                "--gc-domain die: a die without a collection would not be paced",
            ));
        }
        if self.collecting.idle.is_some_and(|idle| idle.below < high) {
            return Err(SpecError::new(
                format!(
                    "idle threshold: found less than {high} blocks, expected at least the \
                         number at which collections stop"
                ),
                "a larger below of --idle, or a lower --gc-high",
            ));
        }
        if let Some(slc) = self.slc {
            if unit != Unit::Plane {
                return Err(SpecError::new(
                    format!("slc: folds are of a plane, and the GC domain is {}", unit.name()),
                    "--gc-domain plane",
                ));
            }
            if self.collecting.idle.is_some_and(|idle| idle.after_ns != slc.after_ns) {
                return Err(SpecError::new(
                    "idle and slc: found two idle times, expected one time for collections and folds",
                    "the same after= in --idle and --slc",
                ));
            }
        }
        if self.queue_depth == 0 || matches!(self.host, Loop::Closed { threads: 0, .. }) {
            return Err(SpecError::new(
                "queue depth and threads: found 0, expected at least 1",
                "write 1 or more",
            ));
        }
        if self.suspend.most == 0 && (self.suspend.erase || self.suspend.program) {
            return Err(SpecError::new(
                "suspend: found most=0, expected at least 1",
                "leave suspension out of the preemption, or write most=8",
            ));
        }
        Ok(())
    }
}
