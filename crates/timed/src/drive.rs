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
use super::measure::Totals;
use super::observer::Observer;
use super::ops::NONE;
use super::schedule::Scheduler;
use super::shared::Shared;

/// The end of a run of the drive. It stops after the event that reaches the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// The number of requests completed since the drive was made.
    pub completed: u64,
    /// The nanoseconds since the start: later events wait.
    pub time_ns: u64,
}

impl Until {
    /// The end of the workload.
    pub const END: Self = Self { completed: u64::MAX, time_ns: u64::MAX };
}

/// The reason why a drive stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Stop {
    /// It reached the end that was asked for.
    Reached,
    /// The workload has ended and every request is completed.
    Ended,
    /// More than [`TimedDrive::MOST_WAITING`] requests wait in front of the drive: they come
    /// faster than it can serve them.
    Overload,
    /// The drive's life is over: it is read-only, and operations under way stay as they are.
    WornOut,
}

impl Stop {
    /// Returns the reason why a drive stops in which nothing more will happen, with `in_system` requests
    /// in the system.
    ///
    /// # Errors
    /// Requests in the system: they wait for room that nothing makes.
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

/// A drive with a clock, watched by `O`.
///
/// It owns its rooms and carries between them: events to their room, and finished operations of a
/// die back to the front end. It decides nothing.
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
    /// The totals, which are counted anew when they are asked for.
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
    /// The most requests that wait in front of the drive.
    pub const MOST_WAITING: usize = MOST_WAITING;

    /// Returns a drive at time 0, at the beginning of `requests`.
    ///
    /// # Errors
    /// Settings that do not go together, or not with the planes of `layer`.
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

    /// Puts the drive behind a host's cache, to which the requests go first.
    #[must_use]
    pub fn behind(mut self, host: ClockedHost) -> Self {
        self.front.put_behind(host);
        self
    }

    /// Lets requests come when the answers have come that they waited for in their recording.
    #[must_use]
    pub fn waiting(mut self, waits: Waits, rate_scale: f64) -> Self {
        self.front.put_waits(waits, rate_scale);
        self
    }

    /// Shares the drive among tenants, from whose lines all its requests come.
    #[must_use]
    pub fn shared_by(mut self, lines: Lines) -> Self {
        self.front.put_tenants(lines);
        self
    }

    /// Returns `true` if requests arrive at times of their own, whatever the drive does.
    pub fn has_open_loop(&self) -> bool {
        self.front.has_open_loop()
    }

    /// Puts the drive's map on flash. `cache` has the entries in memory, and the map below has the
    /// translation pages behind the host's pages.
    ///
    /// # Errors
    /// A map of another size.
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
            return Ok(Stop::WornOut); // before the clock started, perhaps
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

    /// Admits requests while there is room, and lets all dies begin what they can begin now.
    #[inline(always)]
    pub(super) fn begin_what_is_ready(&mut self) -> Result<(), DriveError> {
        loop {
            self.admit()?;
            let Some(die) = self.scheduler.next_ready() else { return Ok(()) };
            self.schedule(die)?;
        }
    }

    /// Looks for requests that were pushed since the last look. Returns the time of the next event,
    /// which is `u64::MAX` if there is none.
    ///
    /// # Errors
    /// The errors of the workload.
    pub fn heed(&mut self) -> Result<u64, DriveError> {
        self.front.start(&mut self.shared, &mut self.scheduler)?;
        self.front.expect_arrival(&mut self.shared)?;
        Ok(self.shared.clock.next_time())
    }

    /// Gives an event to its room, and begins the work that may follow from it.
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

    /// Gives an event to its room. Returns the die that is to be looked at before all others.
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

    /// Handles an event that is not the end of a transfer or of the work of cells. It is a function of
    /// its own so that a comparison finds those two, which is predicted more often than a jump.
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

    /// Admits the requests for which completions have made room.
    #[inline]
    fn admit(&mut self) -> Result<(), DriveError> {
        match self.front.is_due() {
            true => self.front.admit(&mut self.shared, &mut self.scheduler),
            false => Ok(()),
        }
    }

    /// Lets a die begin everything that it can begin now.
    pub(super) fn schedule(&mut self, die: u32) -> Result<(), DriveError> {
        self.shared.observer.looked_at(die);
        while self.scheduler.begin_next(&mut self.shared, die)? {
            let done = self.scheduler.take_done();
            if done != NONE {
                self.hand_back(die, done);
            }
        }
        self.scheduler.note(self.shared.now(), die);
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

    /// Gives the page operations that are done on a die, from `first` on, back to the front end.
    fn hand_back(&mut self, die: u32, first: u32) {
        let mut op = first;
        while op != NONE {
            let next = self.shared.ops[op].next;
            self.scheduler.leave(&mut self.shared, die, op);
            self.front.done(&mut self.shared, &mut self.scheduler, op);
            op = next;
        }
    }

    /// Notes that a block has worn out, with the host's commands until the first time. Returns `true` if
    /// the drive's life is over.
    #[cold]
    fn note_failure(&mut self) -> bool {
        let commands = self.commands();
        self.commands_at_first_failure.get_or_insert(commands);
        self.scheduler.life() == Life::Ended
    }

    /// Returns the counts of the host's commands when the first block wore out. `None` while no block
    /// has, or if that was before the clock started.
    pub fn commands_at_first_failure(&self) -> Option<HostCommands> {
        self.commands_at_first_failure
    }

    /// Returns the counts of the host's commands, beside the pages that it wrote.
    pub fn commands(&self) -> HostCommands {
        HostCommands { reads: self.front.pages_read(), ..self.shared.commands }
    }

    /// Frees the drive, and returns the observer.
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

    /// Returns the counts of the map. Translation pages that were programmed are copies.
    pub fn counters(&mut self) -> Counters {
        let map = &mut *self.shared.map;
        match self.front.mapping_mut() {
            Some(mapping) => mapping.counters(map),
            None => map.counters(),
        }
    }

    /// Returns the counts that only some drives keep.
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

    /// Checks every invariant of the map. O(physical pages).
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

    /// Returns the counts.
    pub fn totals(&mut self) -> &Totals {
        self.totals_until(self.shared.now())
    }

    /// Returns the counts at `now`, until which no event comes.
    pub(super) fn totals_until(&mut self, now: u64) -> &Totals {
        let totals = &mut self.totals;
        self.front.count(now, totals);
        totals.collections = *self.scheduler.collections();
        totals.slc = self.shared.slc;
        (totals.suspended_programs, totals.suspended_erases) = self.scheduler.suspended();
        totals.joined_programs = self.scheduler.joined_programs();
        [totals.bus_busy_ns, totals.die_busy_ns, totals.die_collecting_ns] =
            self.scheduler.times_until(now);
        totals
    }

    /// Lets hints of requests come by commands of their own.
    pub(super) fn put_hint_commands(&mut self, commands: HintCommands) {
        self.front.put_hint_commands(commands);
    }

    /// Tells the drive now that the host will write `pages` soon. A host with a cache does so itself.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.shared.hint(pages)
    }
}
