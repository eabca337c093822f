//! The drive: its rooms, and the loop over events.

use flashgc_base::refuse_if;
use flashgc_base::snapshot::{Fault, State, Value};
use flashgc_base::spec::SpecError;
use flashgc_drive::error::DriveError;
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::dftl::MapCache;
use flashgc_ftl::{Counters, FtlError, LayerCounts, Stepwise};
use flashgc_host::{ClockedHost, HostCounts};
use flashgc_workload::requests::{RequestStream, Waits};

use super::clock::{Clock, Event, Next, Position};
use super::collector::Life;
use super::config::Settings;
use super::flash::Job;
use super::front::{FrontEnd, HintCommands, Lines, MOST_WAITING};
use super::mapping::Mapping;
use super::measure::{SlcCounts, Totals};
use super::observer::Observer;
use super::ops::NONE;
use super::schedule::Scheduler;
use super::shared::Shared;

/// The end of a run of the drive. The run stops after the event that reaches the first of these
/// limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// The number of requests completed since the drive was made.
    pub completed: u64,
    /// The nanoseconds since the start. Later events are not handled.
    pub time_ns: u64,
}

impl Until {
    /// The end of the workload.
    pub const END: Self = Self { completed: u64::MAX, time_ns: u64::MAX };
}

/// The reason why a drive stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Stop {
    /// The drive reached a limit of [`Until`].
    Reached,
    /// The workload has ended and every request is completed.
    Ended,
    /// More than [`TimedDrive::MOST_WAITING`] requests wait in front of the drive: they arrive
    /// faster than the drive can serve them.
    Overload,
    /// The drive's life is over: it is read-only, and operations under way stay as they are.
    WornOut,
}

impl Stop {
    /// Returns the reason why a drive without further events stops. `in_system` is the number of
    /// its requests that are not complete.
    ///
    /// # Errors
    /// `in_system` is not 0: these requests wait for an erased block, and no collection makes one.
    pub(super) fn at_rest(in_system: u64) -> Result<Self, DriveError> {
        match in_system {
            0 => Ok(Self::Ended),
            left => Err(FtlError::no_space(format!(
                "{left} requests wait for an erased block, and no collection is under way"
            ))
            .into()),
        }
    }
}

/// A drive with a clock. `O` is the type of its observer.
///
/// It owns the rooms. It passes each event to its room, and the finished operations of a die back
/// to the front end. It makes no decisions itself.
#[derive(State)]
#[snapshot(named = "timed drive", then = check)]
pub struct TimedDrive<O> {
    #[snapshot(skip)]
    settings: Settings,
    #[snapshot(state)]
    pub(super) shared: Shared<O>,
    #[snapshot(state)]
    pub(super) front: FrontEnd,
    #[snapshot(state)]
    pub(super) scheduler: Scheduler,
    /// The totals. The method `totals` brings them up to date.
    #[snapshot(skip)]
    totals: Totals,
    /// The counts of the host's commands when the first block wore out.
    commands_at_first_failure: Option<HostCommands>,
}

impl<O> TimedDrive<O> {
    fn check(&self) -> Result<(), Fault> {
        self.shared.map.audit().map_err(Fault)
    }
}

impl<O: Observer> TimedDrive<O> {
    /// The largest number of requests that may wait in front of the drive. With more, it stops.
    pub const MOST_WAITING: usize = MOST_WAITING;

    /// Returns a drive at time 0, before the first of `requests`. `layer` is its map.
    ///
    /// # Errors
    /// The settings exclude each other, or do not suit the planes of `layer`.
    pub fn new(
        settings: Settings,
        layer: Box<dyn Stepwise>,
        requests: Box<dyn RequestStream>,
        observer: O,
    ) -> Result<Self, SpecError> {
        settings.check()?;
        let hardware = settings.hardware;
        refuse_if!(
            layer.planes() != hardware.all_planes(),
            "make the map for the same hardware",
            "the map has {} planes, the hardware {}",
            layer.planes(),
            hardware.all_planes()
        );
        let clock = Clock::new(hardware.channels, hardware.all_dies());
        Ok(Self {
            front: FrontEnd::new(&settings, requests, layer.geometry().logical_pages()),
            scheduler: Scheduler::new(&settings, &*layer)?,
            shared: Shared::new(clock, layer, observer).counting_slc(settings.slc.is_some()),
            totals: Totals::default(),
            commands_at_first_failure: None,
            settings,
        })
    }

    /// Puts the drive behind a host's cache. All requests go through that cache.
    #[must_use]
    pub fn behind(mut self, host: ClockedHost) -> Self {
        self.front.put_behind(host);
        self
    }

    /// Lets each request arrive after the answer that it waited for in the recording. Think times
    /// are divided by `rate_scale`.
    #[must_use]
    pub fn waiting(mut self, waits: Waits, rate_scale: f64) -> Self {
        self.front.put_waits(waits, rate_scale);
        self
    }

    /// Shares the drive among tenants. All requests come from their lines.
    #[must_use]
    pub fn shared_by(mut self, lines: Lines) -> Self {
        self.front.put_tenants(lines);
        self
    }

    /// Returns `true` if requests arrive in an open loop, at given times.
    pub fn has_open_loop(&self) -> bool {
        self.front.has_open_loop()
    }

    /// Puts the drive's map on flash. `cache` has the entries in memory. The page map of the drive
    /// must have room for the translation pages after the host's pages.
    ///
    /// # Errors
    /// The page map has another size.
    pub fn mapped(mut self, cache: MapCache) -> Result<Self, SpecError> {
        let (pages, expected) = (self.shared.map.geometry().logical_pages(), cache.pages_below());
        refuse_if!(
            pages != expected,
            "make it with the pages of the map on flash",
            "the map below has {pages} pages, expected {expected}"
        );
        let pages = cache.pages();
        let mapping = Mapping::new(cache, &mut *self.shared.map);
        self.front.put_before(mapping, pages);
        Ok(self)
    }

    /// Simulates until `until`.
    ///
    /// # Errors
    /// The errors of the map or the workload.
    pub fn run(&mut self, until: Until) -> Result<Stop, DriveError> {
        let stop = self.run_events(until)?;
        let position = self.shared.clock.position();
        self.scheduler.catch_up(&mut self.shared, position)?;
        Ok(stop)
    }

    fn run_events(&mut self, until: Until) -> Result<Stop, DriveError> {
        if self.shared.map.has_ended() {
            return Ok(Stop::WornOut); // the life may have ended before the clock started
        }
        if self.shared.slc.is_some() {
            let all = self.shared.map.geometry().logical_pages();
            let of_host = self.front.mapping().map_or(all, Mapping::pages);
            if let Some(slc) = self.shared.map.slc_mut() {
                slc.start(of_host);
            }
        }
        self.front.start(&mut self.shared, &mut self.scheduler)?;
        loop {
            self.begin_what_is_ready()?;
            if self.scheduler.life() != Life::Whole && self.note_failure() {
                return Ok(Stop::WornOut);
            }
            if self.front.is_overloaded() {
                if let Some(mapping) = self.front.mapping() {
                    mapping.check(&*self.shared.map)?;
                }
                return Ok(Stop::Overload);
            }
            if self.front.completed() >= until.completed {
                return Ok(Stop::Reached);
            }
            match self.shared.clock.go_on(until.time_ns) {
                Next::Event(event) => self.handle(event)?,
                Next::Later => {
                    let end = Position::end_of(until.time_ns);
                    let ended = self.scheduler.catch_up(&mut self.shared, end)?;
                    self.shared.clock.pass(ended);
                    return Ok(Stop::Reached);
                }
                Next::Nothing => return Stop::at_rest(self.front.in_system()),
            }
        }
    }

    /// Dispatches requests while the drive has places, and lets all dies begin the jobs that they
    /// can begin now.
    #[inline(always)]
    pub(super) fn begin_what_is_ready(&mut self) -> Result<(), DriveError> {
        loop {
            self.admit()?;
            let Some(die) = self.scheduler.next_ready() else { return Ok(()) };
            self.schedule(die)?;
        }
    }

    /// Sets the clock for requests that were pushed since the last call. Returns the time of the
    /// next event, or `u64::MAX` if there is none.
    ///
    /// # Errors
    /// The errors of the workload.
    pub fn heed(&mut self) -> Result<u64, DriveError> {
        self.front.start(&mut self.shared, &mut self.scheduler)?;
        self.front.expect_arrival(&mut self.shared)?;
        Ok(self.shared.clock.next_time())
    }

    /// Gives an event to its room, and lets the die of the event begin its next jobs.
    #[inline]
    pub(super) fn handle(&mut self, event: Event) -> Result<(), DriveError> {
        match self.happens(event)? {
            Some(die) => {
                self.admit()?;
                self.schedule(die)
            }
            None => Ok(()),
        }
    }

    /// Gives an event to its room. Returns the die that may begin jobs before all others, if the
    /// event has one.
    #[inline(always)]
    pub(super) fn happens(&mut self, event: Event) -> Result<Option<u32>, DriveError> {
        match event {
            Event::Transfer(channel) => {
                let (die, job) = self.scheduler.transfer_done(&mut self.shared, channel);
                if let Some(job) = job {
                    self.finish(die, job)?;
                }
                if let Some(job) = self.scheduler.bus_freed(&mut self.shared, die) {
                    self.finish(die, job)?;
                }
                Ok(Some(die))
            }
            Event::Cells(die) if self.scheduler.is_chained(die) => {
                let is_over = self.scheduler.chain_done(&mut self.shared, die)?;
                Ok(is_over.then_some(die))
            }
            Event::Cells(die) => {
                if let Some(job) = self.scheduler.cells_done(&mut self.shared, die) {
                    self.finish(die, job)?;
                }
                self.scheduler.program_held(&mut self.shared, die);
                Ok(Some(die))
            }
            _ => self.handle_other(event).map(|()| None),
        }
    }

    /// Handles an event that is neither the end of a transfer nor the end of the work of cells. It
    /// is a separate function for speed: the two frequent events are found by comparisons, which
    /// the processor predicts better than a jump.
    #[inline(never)]
    fn handle_other(&mut self, event: Event) -> Result<(), DriveError> {
        let Self { shared, front, scheduler, .. } = self;
        match event {
            Event::Transfer(_) | Event::Cells(_) => unreachable!("an event of the flash"),
            Event::Idle(die) => scheduler.idle_for_long(shared, die),
            Event::Arrival => front.arrivals(shared, scheduler),
            Event::Memory => front.served_by_memory(shared, scheduler),
            Event::Hints => front.told(shared, scheduler),
            Event::Look => front.look(shared, scheduler),
            Event::Stale => {
                scheduler.program_stale(shared);
                Ok(())
            }
            Event::Link => front.crossed(shared, scheduler),
        }
    }

    /// Dispatches requests, if completions have made places free.
    #[inline]
    fn admit(&mut self) -> Result<(), DriveError> {
        match self.front.is_due() {
            true => self.front.admit(&mut self.shared, &mut self.scheduler),
            false => Ok(()),
        }
    }

    /// Lets a die begin all jobs that it can begin now.
    #[inline]
    pub(super) fn schedule(&mut self, die: u32) -> Result<(), DriveError> {
        self.shared.observer.looked_at(die);
        if self.scheduler.may_begin(die) {
            self.begin_jobs(die)?;
        }
        self.scheduler.note(self.shared.now(), die);
        Ok(())
    }

    /// Lets a die that may begin jobs begin them, and gives back the operations that take no time.
    fn begin_jobs(&mut self, die: u32) -> Result<(), DriveError> {
        while self.scheduler.begin_next(&mut self.shared, die)? {
            let done = self.scheduler.take_done();
            if done != NONE {
                self.hand_back(die, done);
            }
            if !self.scheduler.may_begin(die) {
                break;
            }
        }
        Ok(())
    }

    /// Ends a job of a die.
    #[inline(always)]
    fn finish(&mut self, die: u32, job: Job) -> Result<(), DriveError> {
        let first = self.scheduler.finish(&mut self.shared, die, job)?;
        if first != NONE {
            self.hand_back(die, first);
        } else if job == Job::Erase {
            self.front.erased(&mut self.shared, &mut self.scheduler);
        }
        Ok(())
    }

    /// Gives finished page operations of a die back to the front end: the chain that begins with
    /// `first`.
    fn hand_back(&mut self, die: u32, first: u32) {
        let mut op = first;
        while op != NONE {
            let next = self.shared.ops[op].next;
            self.scheduler.leave(&mut self.shared, die, op);
            self.front.done(&mut self.shared, &mut self.scheduler, op);
            op = next;
        }
    }

    /// Notes that a block is worn out. The first time, records the counts of the host's commands.
    /// Returns `true` if the drive's life is over.
    #[cold]
    fn note_failure(&mut self) -> bool {
        let commands = self.commands();
        self.commands_at_first_failure.get_or_insert(commands);
        self.scheduler.life() == Life::Ended
    }

    /// Returns the counts of the host's commands when the first block wore out. `None` if no block
    /// is worn out, or if the first wore out before the clock started.
    pub fn commands_at_first_failure(&self) -> Option<HostCommands> {
        self.commands_at_first_failure
    }

    /// Returns the counts of the host's commands other than the pages written.
    pub fn commands(&self) -> HostCommands {
        HostCommands { reads: self.front.pages_read(), ..self.shared.commands }
    }

    /// Drops the drive and returns its observer.
    pub fn into_observer(self) -> O {
        self.shared.observer
    }

    /// Returns the nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.shared.now()
    }

    /// Returns the map.
    pub fn layer(&self) -> &dyn Stepwise {
        &*self.shared.map
    }

    /// Returns the counts of the map. Programs of translation pages count as copies.
    pub fn counters(&mut self) -> Counters {
        let map = &mut *self.shared.map;
        match self.front.mapping_mut() {
            Some(mapping) => mapping.counters(map),
            None => map.counters(),
        }
    }

    /// Returns the counts that only some kinds of maps keep.
    pub fn counts(&mut self) -> LayerCounts {
        let map = &mut *self.shared.map;
        match self.front.mapping_mut().map(|mapping| mapping.traffic(map)) {
            None => map.counts(),
            Some(traffic) => map.counts().with_map(traffic),
        }
    }

    /// Returns the bytes of memory that the drive needs for its map.
    pub fn map_bytes(&self) -> u64 {
        let whole = || size_of::<u32>() as u64 * u64::from(self.layer().geometry().logical_pages());
        self.front.mapping().map_or_else(whole, Mapping::map_bytes)
    }

    /// Checks every invariant of the map. The time is proportional to the number of physical pages.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&mut self) -> Result<(), String> {
        self.shared.map.audit()?;
        let map = &mut *self.shared.map;
        self.front.mapping_mut().map_or(Ok(()), |mapping| mapping.audit(map))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.shared.observer
    }

    /// Returns the observer.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.shared.observer
    }

    /// Returns the counts of the host's cache, if it has one.
    pub fn host_counts(&self) -> Option<HostCounts> {
        self.front.host_counts()
    }

    /// Returns the totals up to now.
    pub fn totals(&mut self) -> &Totals {
        self.totals_until(self.shared.now())
    }

    /// Returns the totals up to `now`. No event may come before `now`.
    pub(super) fn totals_until(&mut self, now: u64) -> &Totals {
        let totals = &mut self.totals;
        self.front.count(now, totals);
        totals.collections = *self.scheduler.collections();
        totals.slc = self.shared.slc.map(|slc| {
            let Counters { host_pages, copied_pages, erases, .. } = self.shared.map.counters();
            SlcCounts {
                normal_pages: host_pages + copied_pages - slc.host_pages,
                normal_erases: erases - slc.erases,
                ..slc
            }
        });
        (totals.suspended_programs, totals.suspended_erases) = self.scheduler.suspended();
        totals.joined = self.scheduler.joined();
        [totals.bus_busy_ns, totals.die_busy_ns, totals.die_collecting_ns] =
            self.scheduler.times_until(now);
        totals.power = self.scheduler.power_until(now);
        totals.failures = self.scheduler.failures();
        totals
    }

    /// From now on, the host sends its hints in separate commands.
    pub(super) fn put_hint_commands(&mut self, commands: HintCommands) {
        self.front.put_hint_commands(commands);
    }

    /// Gives the drive hints that the host will overwrite `pages` soon. A host with a cache does
    /// this itself.
    ///
    /// # Errors
    /// A page does not exist.
    pub fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.shared.hint(pages)
    }
}
