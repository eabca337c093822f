//! The settings of a timed drive: hardware, placement, scheduling, collections and the host's side.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
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
    /// The planes that pages are written to.
    pub placement: Placement,
    /// The order of a die's requests.
    pub scheduling: Scheduling,
    /// `true` if operations of one kind that wait at several planes of an idle die go together.
    pub multi_plane: bool,
    /// `true` for cache commands: the transfer of one host operation overlaps the cell time of the next of
    /// the same kind on that die.
    pub cache_commands: bool,
    /// The rules of garbage collection.
    pub collecting: Collecting,
    /// The operations that the hardware can interrupt.
    pub suspend: Suspend,
    /// The SLC region; `None` without one.
    pub slc: Option<Slc>,
    /// The time in its buffer after which a flash page that is not full is programmed; [`u64::MAX`] for
    /// never.
    pub flush_after_ns: u64,
    /// The pages of the write cache; 0 for none. A whole page that is written is done when it is in the
    /// cache, and goes to its die at once; the cache keeps it until it is programmed.
    pub write_cache: u32,
    /// The loop in which the host sends its requests.
    pub host: Loop,
    /// The number of requests that the drive works on at a time; others wait in front of it.
    pub queue_depth: u32,
    /// The details: kinds of pages, reads that are repeated, and the link to the host.
    pub details: Details,
}

/// The order of the requests that wait at a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// First come, first served.
    Fifo,
    /// Reads before writes, but never before an earlier write of the same page. MQSim serves the requests of
    /// users so (`TSU_OutOfOrder`). It has collections wait for them too, while ours give way as
    /// [`Preemption`] says.
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
    /// Returns the planes of the unit.
    pub fn planes(self, hardware: &Hardware) -> u32 {
        match self {
            Self::Plane => 1,
            Self::Die => hardware.planes,
            Self::Channel => hardware.dies_per_channel() * hardware.planes,
            Self::Drive => hardware.all_planes(),
        }
    }

    /// Returns the name of the unit in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plane => "a plane",
            Self::Die => "a die",
            Self::Channel => "a channel",
            Self::Drive => "the drive",
        }
    }
}

/// The way in which the collector gives way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Never: the die is held until the collection ends (NPGC).
    None,
    /// Semi-preemptively: between the operations of a collection (PGC).
    Semi {
        /// `true` if requests for the page that is moved use its buffer.
        merge: bool,
        /// `true` if a request overlaps with the collection's operation of the same kind.
        pipeline: bool,
    },
}

/// The rules of garbage collection. Blocks are erased blocks of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collecting {
    /// The unit that counts its erased blocks together.
    pub unit: Unit,
    /// The blocks at or below which a write that finds its frontier full starts collections.
    pub low: u32,
    /// The blocks above which collections stop.
    pub high: u32,
    /// The blocks below which writes wait (state S2), until there are more; 0 for never.
    pub hard: u32,
    /// The way in which the collector gives way.
    pub preemption: Preemption,
    /// `true` if, without preemption, a collection holds all dies of its unit, not its own alone.
    pub holds_unit: bool,
    /// The time of the search for a victim, in which its die is busy.
    pub search_ns: u64,
    /// The time of a look into the queue at each preemption point.
    pub poll_ns: u64,
    /// `true` if pages are moved inside their die, without the bus.
    pub copy_back: bool,
    /// The rule of collections on idle dies.
    pub idle: Option<Idle>,
    /// `true` for write pacing: the host's writes go before the steps of a collection in proportion to its
    /// progress.
    pub paces_writes: bool,
}

/// The rule of collections while nothing else is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The most erased blocks of its unit with which a die collects.
    pub below: u32,
    /// The time that a die is idle before it collects.
    pub after_ns: u64,
}

/// The rule by which operations of the cells are suspended to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// `true` if erases can be suspended, by reads and writes.
    pub erase: bool,
    /// `true` if programs can be suspended, by reads.
    pub program: bool,
    /// The time until a suspended operation has let go of the die.
    pub suspend_ns: u64,
    /// The time that it loses when it goes on.
    pub resume_ns: u64,
    /// The least time left of an erase that is suspended.
    pub least_erase_ns: u64,
    /// The least time left of a program that is suspended.
    pub least_program_ns: u64,
    /// The most times that one operation is suspended: a bound that guarantees its end.
    pub most: u32,
}

impl Suspend {
    /// The rule of hardware that suspends nothing.
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

/// The loop in which requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// Open: requests come at their arrival times, whatever the drive does.
    Open,
    /// Closed: requests come from threads, each with one request at a time and a pause after it.
    Closed {
        /// The number of threads.
        threads: u32,
        /// The pause between a completion and the thread's next request.
        think_ns: u64,
    },
    /// The host of a recording: requests come when the answers have come that they waited for.
    Dependent,
}

impl Loop {
    /// Returns the loop of a host with these arrivals; `None` stands for times of their own.
    pub fn of(arrivals: Option<Arrivals>) -> Self {
        match arrivals {
            Some(Arrivals::Closed { threads, think_ns }) => Self::Closed { threads, think_ns },
            Some(Arrivals::Dependent) => Self::Dependent,
            _ => Self::Open,
        }
    }
}

impl Settings {
    /// Returns the settings of a drive with nothing beside its hardware: pages in the order `CWDP`, first
    /// come first served, no preemption and no cache. Each plane collects at two erased blocks, and the host
    /// sends requests at their times, of which the drive works on any number.
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

    /// Returns `true` if nothing can begin on a die between a page's transfer to it and its program, nor stop
    /// the program.
    pub(crate) fn programs_follow_transfers(&self) -> bool {
        let pipelines =
            matches!(self.collecting.preemption, Preemption::Semi { pipeline: true, .. });
        !self.cache_commands && !pipelines && !self.suspend.program
    }

    /// Returns `true` if a die at work may begin something, or stop its present work.
    pub(crate) fn begins_when_busy(&self) -> bool {
        !self.programs_follow_transfers() || self.suspend.erase || self.hardware.units_per_page > 1
    }

    /// Returns the idle time after which a die collects or folds, or `None` for never.
    pub(crate) fn idle_ns(&self) -> Option<u64> {
        let idle = self.collecting.idle.map(|idle| idle.after_ns);
        idle.or(self.slc.map(|slc| slc.after_ns))
    }

    /// Returns `true` if a collection goes on from its first page to its last without a look at anything but
    /// the bus, and nothing of the host touches its plane meanwhile.
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

    /// Checks that a drive can have these settings.
    ///
    /// # Errors
    /// The errors of [`Hardware::check`]; thresholds in the wrong order; a host that asks for nothing.
    pub fn check(&self) -> Result<(), SpecError> {
        self.hardware.check()?;
        let Collecting { low, high, hard, unit, preemption, paces_writes, .. } = self.collecting;
        let least = if unit == Unit::Plane { RESERVED_BLOCKS } else { 0 };
        refuse_if!(
            low < least,
            choice("gc_low", least),
            "{} is {low} blocks, expected at least {least}: a collection needs an erased block for \
             the pages it moves",
            subject("gc_low")
        );
        refuse_if!(
            high < low || hard > low,
            match hard > low {
                true => {
                    format!("a lower {}, or a higher {}", option("gc_hard"), option("gc_low"))
                }
                false => {
                    format!("a higher {}, or a lower {}", option("gc_high"), option("gc_low"))
                }
            },
            "{}: found hard {hard}, low {low}, high {high}, expected hard <= low <= high: \
             collections start at low, stop above high, and writes wait below hard",
            subject(if hard > low { "gc_hard" } else { "gc_high" })
        );
        if self.collecting.copy_back
            && matches!(self.collecting.preemption, Preemption::Semi { merge: true, .. })
        {
            return Err(SpecError::new(
                format!(
                    "{} yes does not go with +merge in {}: merging puts data of the host between pages on the \
                     bus, and pages that are copied back do not cross it",
                    subject("copy_back"),
                    option("preemption")
                ),
                format!("{}, or {}", choice("copy_back", "no"), choice("preemption", "pgc")),
            ));
        }
        refuse_if!(
            paces_writes && preemption == Preemption::None,
            format!("{}, or {}", choice("preemption", "pgc"), choice("write_pacing", "no")),
            "{} needs preemption pgc or suspend, found {}: paced writes go between the steps of a \
             collection",
            subject("write_pacing"),
            choice("preemption", "none")
        );
        refuse_if!(
            paces_writes && !matches!(unit, Unit::Plane | Unit::Die),
            format!("{}, or {}", choice("gc_domain", "die"), choice("write_pacing", "no")),
            "{} needs the GC domain plane or die, found {}: a die without a collection of its own \
             would not be paced",
            subject("write_pacing"),
            unit.name()
        );
        refuse_if!(
            self.collecting.idle.is_some_and(|idle| idle.below < high),
            format!("a larger below in {}, or a lower {}", option("idle"), option("gc_high")),
            "{} begins below {high} erased blocks, expected at least the number at which \
             collections stop",
            subject("idle")
        );
        if let Some(slc) = self.slc {
            refuse_if!(
                unit != Unit::Plane,
                choice("gc_domain", "plane"),
                "{} needs the GC domain plane, found {}: a fold stays inside its plane",
                subject("slc"),
                unit.name()
            );
            refuse_if!(
                self.collecting.idle.is_some_and(|idle| idle.after_ns != slc.after_ns),
                "the same after= in both",
                "{} and {} have two idle times, expected one: a die takes both from its idle time",
                subject("idle"),
                option("slc")
            );
        }
        refuse_if!(
            self.queue_depth == 0,
            choice("queue_depth", 1),
            "{} is 0, expected at least 1",
            subject("queue_depth")
        );
        if matches!(self.host, Loop::Closed { threads: 0, .. }) {
            return Err(SpecError::new(
                format!("{} has threads=0, expected at least 1", subject("arrivals")),
                choice("arrivals", "closed:threads=1"),
            ));
        }
        refuse_if!(
            self.suspend.most == 0 && (self.suspend.erase || self.suspend.program),
            format!("most=8, or {}", choice("preemption", "pgc")),
            "{} has most=0, expected at least 1",
            subject("suspend")
        );
        Ok(())
    }
}
