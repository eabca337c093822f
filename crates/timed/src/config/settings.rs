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
    /// The rule that chooses the plane of a page.
    pub placement: Placement,
    /// The order in which a die serves the operations that wait.
    pub scheduling: Scheduling,
    /// `true` for multi-plane operations: operations of one kind that wait at several planes of an
    /// idle die are done together, and so are the collections of a die's planes.
    pub multi_plane: bool,
    /// `true` for cache commands: the transfer of one host operation overlaps the cell time of the
    /// next of the same kind on that die.
    pub cache_commands: bool,
    /// The rules of garbage collection.
    pub collecting: Collecting,
    /// The operations of the cells that can be suspended.
    pub suspend: Suspend,
    /// The largest number of dies that program or erase at a time, as the power suffices for no
    /// more; `None` for all.
    pub power_limit: Option<u32>,
    /// The SLC region; `None` without one.
    pub slc: Option<Slc>,
    /// The time after which a flash page that waits in a page buffer is programmed although it is
    /// not full, in nanoseconds; [`u64::MAX`] for never.
    pub flush_after_ns: u64,
    /// The number of pages of the write cache; 0 for no cache. A write is done when its page is in
    /// the cache. The page goes to its die at once, and stays in the cache until it is programmed.
    pub write_cache: u32,
    /// The loop in which the host sends its requests.
    pub host: Loop,
    /// The largest number of requests that the drive works on at a time. Others wait in front of
    /// it.
    pub queue_depth: u32,
    /// Details of real drives: pages with different times, repeated reads, the link to the host.
    pub details: Details,
}

/// The order in which a die serves the operations that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// First come, first served.
    Fifo,
    /// Reads before writes, but never before an earlier write of the same page. MQSim does the same
    /// for the requests of users (`TSU_OutOfOrder`). In MQSim collections also wait for these
    /// requests; here [`Preemption`] decides that.
    ReadsFirst,
}

/// The size of a unit: a group of planes that has one collection at a time and whose erased blocks
/// count together. With every unit, a die has at most one collection at a time. The victim is
/// searched in the plane of the unit that has the fewest erased blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A unit is one plane.
    Plane,
    /// A unit has the planes of a die.
    Die,
    /// A unit has the planes of a channel.
    Channel,
    /// There is one unit, with all planes.
    Drive,
}

/// The blocks that are opened, filled, collected and erased together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superblock {
    /// Each block is on its own.
    Plane,
    /// The blocks of all planes of a die. The die programs, reads and erases their pages together.
    Die,
    /// The blocks of `planes` planes of each of `dies` dies.
    Of {
        /// Dies whose blocks are joined.
        dies: u32,
        /// Planes of each of these dies.
        planes: u32,
    },
}

impl Unit {
    /// Returns the number of planes of a unit.
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

/// The rule by which operations of the host go before the steps of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Never: the collection holds the die until its end (NPGC).
    None,
    /// Between the operations of a collection, which is semi-preemptive (PGC).
    Semi {
        /// `true` if operations of the host on the page that is copied share its buffer.
        merge: bool,
        /// `true` if an operation of the host may overlap with an operation of the collection of
        /// the same kind.
        pipeline: bool,
    },
}

/// The rules of garbage collection. The numbers of blocks are numbers of erased blocks of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collecting {
    /// The size of a unit.
    pub unit: Unit,
    /// A write whose frontier is full starts collections if the unit has at most this number of
    /// erased blocks.
    pub low: u32,
    /// Collections stop when the unit has more than this number of erased blocks.
    pub high: u32,
    /// Writes wait (state S2) if the unit has fewer erased blocks than this, until it has more; 0
    /// for never.
    pub hard: u32,
    /// The rule by which operations of the host go before the steps of a collection.
    pub preemption: Preemption,
    /// `true` if a collection without preemption holds all dies of its unit. Otherwise it holds
    /// only its own die.
    pub holds_unit: bool,
    /// The time of the search for a victim, in nanoseconds. The die is busy meanwhile.
    pub search_ns: u64,
    /// The time of the check of the queue at each preemption point, in nanoseconds.
    pub poll_ns: u64,
    /// `true` if collections copy pages within their die, without the bus.
    pub copy_back: bool,
    /// The rule of collections on idle dies.
    pub idle: Option<Idle>,
    /// `true` for write pacing: during a collection, the host writes only as fast as the collection
    /// makes room.
    pub paces_writes: bool,
}

/// The rule of collections on idle dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// A die collects if its unit has at most this number of erased blocks.
    pub below: u32,
    /// The time that a die must be idle before it collects, in nanoseconds.
    pub after_ns: u64,
}

/// The rule by which operations of the cells are suspended to serve operations of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// `true` if erases can be suspended, for reads and writes.
    pub erase: bool,
    /// `true` if programs can be suspended, for reads.
    pub program: bool,
    /// The time that a suspension takes before the die is free, in nanoseconds.
    pub suspend_ns: u64,
    /// The extra time that a suspended operation needs when it goes on, in nanoseconds.
    pub resume_ns: u64,
    /// An erase is suspended only if at least this time of it is left, in nanoseconds.
    pub least_erase_ns: u64,
    /// A program is suspended only if at least this time of it is left, in nanoseconds.
    pub least_program_ns: u64,
    /// The largest number of times that one operation is suspended.
    pub most: u32,
    /// The longest time for which one operation is suspended in all, in nanoseconds. After it, no
    /// operation that comes later goes first. With this limit or with [`Counted::Requests`], every
    /// operation ends at some time.
    pub longest_ns: u64,
    /// The events that count as suspensions.
    pub counted: Counted,
}

/// The events that count as suspensions of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A suspension counts once. A request that comes while the die is free is served.
    Suspensions,
    /// A suspension counts, and so does each request that came during it and was served.
    Requests,
}

impl Suspend {
    /// The rule of hardware that cannot suspend operations.
    pub const NEVER: Self = Self {
        erase: false,
        program: false,
        suspend_ns: 0,
        resume_ns: 0,
        least_erase_ns: 0,
        least_program_ns: 0,
        most: 8,
        longest_ns: u64::MAX,
        counted: Counted::Requests,
    };
}

/// The loop in which requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// Open: requests arrive at given times, which do not depend on the drive.
    Open,
    /// Closed: threads send the requests. Each has one request at a time and pauses after it.
    Closed {
        /// The number of threads.
        threads: u32,
        /// The pause between a completion and the thread's next request, in nanoseconds.
        think_ns: u64,
    },
    /// Dependent: the host of a recording. A request arrives after the answer that it waited for in
    /// the recording.
    Dependent,
}

impl Loop {
    /// Returns the loop of a host with these arrivals; `None` stands for the times of the workload
    /// itself.
    pub fn of(arrivals: Option<Arrivals>) -> Self {
        match arrivals {
            Some(Arrivals::Closed { threads, think_ns }) => Self::Closed { threads, think_ns },
            Some(Arrivals::Dependent) => Self::Dependent,
            _ => Self::Open,
        }
    }
}

impl Settings {
    /// Returns the simplest settings for a drive with this hardware: placement `CWDP`, first come
    /// first served, no preemption and no cache. Each plane collects at two erased blocks. The host
    /// has an open loop, and the queue depth has no limit.
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
            power_limit: None,
            slc: None,
            flush_after_ns: u64::MAX,
            write_cache: 0,
            host: Loop::Open,
            queue_depth: u32::MAX,
            details: Details::default(),
        }
    }

    /// Returns the limit of power, if the drive has more dies than that.
    pub(crate) fn power(&self) -> Option<u32> {
        self.power_limit.filter(|&limit| limit < self.hardware.all_dies())
    }

    /// Returns `true` if a page's transfer to a die and its program can have one event: no job can
    /// begin on the die between the two, no program can be suspended, and none waits for power.
    pub(crate) fn programs_follow_transfers(&self) -> bool {
        let pipelines =
            matches!(self.collecting.preemption, Preemption::Semi { pipeline: true, .. });
        !self.cache_commands && !pipelines && !self.suspend.program && self.power().is_none()
    }

    /// Returns `true` if a busy die may begin a further job, or suspend its present one.
    pub(crate) fn begins_when_busy(&self) -> bool {
        !self.programs_follow_transfers()
            || self.suspend.erase
            || self.hardware.units_per_program() > 1
    }

    /// Returns `true` if collections of several planes of a die go together.
    pub(crate) fn joins_collections(&self) -> bool {
        let Hardware { planes, members, .. } = self.hardware;
        self.multi_plane && planes > 1 && members.dies == 1 && self.collecting.unit == Unit::Plane
    }

    /// Returns the idle time after which a die collects or folds, in nanoseconds; `None` for never.
    pub(crate) fn idle_ns(&self) -> Option<u64> {
        let idle = self.collecting.idle.map(|idle| idle.after_ns);
        idle.or(self.slc.map(|slc| slc.after_ns))
    }

    /// Returns `true` if the copies of a collection depend on nothing but the bus, from the first
    /// page to the last, and no operation of the host is served in its plane meanwhile.
    pub(crate) fn collects_undisturbed(&self) -> bool {
        let Collecting { unit, preemption, copy_back, paces_writes, .. } = self.collecting;
        unit == Unit::Plane
            && preemption == Preemption::None
            && !copy_back
            && !paces_writes
            && self.placement != Placement::Dynamic
            && self.hardware.units_per_program() == 1
            && self.hardware.transfer_ns > 0
            && self.details.has_uniform_pages()
            && self.slc.is_none()
            && !self.suspend.erase
            && self.programs_follow_transfers()
    }

    /// Checks that a drive can have these settings.
    ///
    /// # Errors
    /// The errors of [`Hardware::check`]; settings that are out of range or exclude each other.
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
            self.details.failures.is_some() && self.hardware.members.stripe.is_none(),
            format!(
                "{} and a {} over several dies, or leave {} out",
                choice("parity", "1/4"),
                option("superblock"),
                option("read_failures")
            ),
            "{} needs {}: without it nothing on the flash can rebuild a page whose read fails",
            subject("read_failures"),
            option("parity")
        );
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
