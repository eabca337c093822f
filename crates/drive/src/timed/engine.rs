//! The drive: its parts, the loop over events, and how jobs go through cells and bus.

use flashgc_ftl::spec::SpecError;
use flashgc_ftl::{FtlError, Stepwise};
use flashgc_host::ClockedHost;
use flashgc_workload::requests::RequestStream;

use super::bus::Bus;
use super::cache::WriteCache;
use super::die::{Die, Job, Point, Stage};
use super::events::{NEVER, Timers};
use super::host::Host;
use super::observe::{Observer, Place};
use super::ops::{NONE, Ops, PageOp};
use super::settings::Settings;
use super::spread::Spread;
use super::states::Units;
use super::totals::Totals;
use super::write_back::WriteBack;
use crate::counting::DriveError;

/// How far a drive is to go. It stops at what comes first, after the event that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// Requests completed since the drive was made.
    pub completed: u64,
    /// Nanoseconds since the start: later events wait.
    pub time_ns: u64,
}

impl Until {
    /// The end of the workload.
    pub const END: Self = Self { completed: u64::MAX, time_ns: u64::MAX };
}

/// Why a drive stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It came as far as it was to go.
    Reached,
    /// The workload has ended and every request is completed.
    Ended,
    /// More than [`TimedDrive::MOST_WAITING`] requests wait in front of the drive: they come
    /// faster than it can serve them.
    Overload,
}

/// A drive with a clock, watched by `O`.
pub struct TimedDrive<O> {
    pub(super) settings: Settings,
    pub(super) layer: Box<dyn Stepwise>,
    pub(super) observer: O,
    pub(super) now: u64,
    pub(super) timers: Timers,
    pub(super) dies: Vec<Die>,
    pub(super) buses: Vec<Bus>,
    pub(super) ops: Ops,
    pub(super) host: Host,
    pub(super) cache: WriteCache,
    pub(super) spread: Spread,
    pub(super) units: Units,
    pub(super) totals: Totals,
    /// Dies to look at before time goes on.
    pub(super) ready: Vec<u32>,
    /// The plane of each page modulo the number of planes.
    pub(super) homes: Box<[u32]>,
    pub(super) blocks_per_plane: u32,
    /// Nothing can begin on a die between a page's transfer to it and its program, nor stop the
    /// program: the two are one event.
    programs_follow_transfers: bool,
}

impl<O: Observer> TimedDrive<O> {
    /// Requests that may wait in front of the drive.
    pub const MOST_WAITING: usize = 1_000_000;

    /// A drive at time 0, at the beginning of `requests`.
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
        let (dies, channels) = (hardware.all_dies(), hardware.channels);
        if layer.planes() != hardware.all_planes() {
            return Err(SpecError::new(
                format!(
                    "the map has {} planes, the hardware {}",
                    layer.planes(),
                    hardware.all_planes()
                ),
                "make the map for the same hardware",
            ));
        }
        let timers = Timers::new((channels + 2 * dies) as usize + 4);
        Ok(Self {
            blocks_per_plane: layer.geometry().blocks() / layer.planes(),
            programs_follow_transfers: settings.programs_follow_transfers(),
            homes: settings.placement.homes(&hardware),
            units: Units::new(&settings),
            cache: WriteCache::new(settings.write_cache),
            spread: Spread::new(&settings, &*layer)?,
            host: Host::new(requests, hardware.page_bytes, layer.geometry().logical_pages()),
            layer,
            observer,
            now: 0,
            timers,
            dies: (0..dies).map(|die| Die::new(hardware.channel_of(die))).collect(),
            buses: (0..channels).map(|_| Bus::new(hardware.dies_per_channel())).collect(),
            ops: Ops::default(),
            totals: Totals::default(),
            ready: Vec::new(),
            settings,
        })
    }

    /// The same drive behind a host's cache, to which the requests go first.
    #[must_use]
    pub fn behind(mut self, host: ClockedHost) -> Self {
        self.host.write_back = Some(Box::new(WriteBack::new(host)));
        self
    }

    /// Goes on until `until`.
    ///
    /// # Errors
    /// What the map or the workload says.
    pub fn run(&mut self, until: Until) -> Result<Stop, DriveError> {
        self.start_host()?;
        let channels = self.buses.len();
        let arrival = self.arrival_timer();
        loop {
            loop {
                if self.host.is_due {
                    self.admit()?;
                }
                let Some(die) = self.ready.pop() else { break };
                self.dies[die as usize].is_ready = false;
                self.schedule(die)?;
            }
            if self.host.is_overloaded {
                return Ok(Stop::Overload);
            }
            if self.totals.completed >= until.completed {
                return Ok(Stop::Reached);
            }
            let (timer, time) = self.timers.first();
            if time == NEVER {
                return self.ended();
            }
            if time > until.time_ns {
                return Ok(Stop::Reached);
            }
            self.now = time;
            self.timers.fire();
            if timer < channels {
                self.transfer_done(timer as u32)?;
            } else if timer < arrival {
                self.cells_done((timer - channels) as u32)?;
            } else if timer == arrival {
                self.arrivals()?;
            } else if timer < self.memory_timer() {
                self.idle_for_long((timer - arrival - 1) as u32)?;
            } else if timer == self.memory_timer() {
                self.served_by_memory()?;
            } else if timer == self.hint_timer() {
                self.told()?;
            } else {
                self.look()?;
            }
        }
    }

    fn ended(&self) -> Result<Stop, DriveError> {
        match self.host.in_system {
            0 => Ok(Stop::Ended),
            left => Err(FtlError::NoSpace(format!(
                "{left} requests wait for an erased block, and no collection is under way"
            ))
            .into()),
        }
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The map.
    pub fn layer(&self) -> &dyn Stepwise {
        &*self.layer
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Who watches.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Who watches.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells the drive now that the host will write `pages` soon. A host with a cache does so itself.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.layer.hint(pages)
    }

    /// Writes `pages` before the clock starts, with the collections they need: brings a drive to
    /// its steady state at the speed of the counting drive.
    ///
    /// # Errors
    /// What the map says.
    pub fn precondition(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        const AHEAD: usize = 24;
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + AHEAD) {
                self.layer.prefetch(ahead);
            }
            if let Some(&ahead) = pages.get(index + AHEAD / 2) {
                self.layer.prefetch_old(ahead);
            }
            let plane = self.home(page);
            self.collect_at_once(page, plane)?;
            self.layer.write_at_once(page, plane, 0, 0)?;
        }
        Ok(())
    }

    /// The plane that a page is on at first.
    #[inline]
    pub(super) fn home(&self, page: u32) -> u32 {
        self.homes[page as usize % self.homes.len()]
    }

    #[inline]
    pub(super) fn die_of(&self, plane: u32) -> u32 {
        plane / self.settings.hardware.planes
    }

    fn cells_timer(&self, die: u32) -> usize {
        self.buses.len() + die as usize
    }

    pub(super) fn arrival_timer(&self) -> usize {
        self.buses.len() + self.dies.len()
    }

    pub(super) fn idle_timer(&self, die: u32) -> usize {
        self.arrival_timer() + 1 + die as usize
    }

    /// The timer of requests that the host's memory serves.
    pub(super) fn memory_timer(&self) -> usize {
        self.idle_timer(self.dies.len() as u32)
    }

    /// The timer of commands made for hints.
    pub(super) fn hint_timer(&self) -> usize {
        self.memory_timer() + 1
    }

    /// The timer of what comes due in the host's cache.
    pub(super) fn look_timer(&self) -> usize {
        self.memory_timer() + 2
    }

    /// Has a die looked at before time goes on.
    #[inline]
    pub(super) fn look_at(&mut self, die: u32) {
        let held = &mut self.dies[die as usize];
        if !held.is_ready {
            held.is_ready = true;
            self.ready.push(die);
        }
    }

    /// Begins a job that starts in the cells: a read, an erase.
    pub(super) fn begin_in_cells(&mut self, die: u32, job: Job) {
        match self.settings.hardware.command_ns {
            0 => self.begin_cells(die, job, self.cell_time(job)),
            length => self.ask_for_bus(die, job, length, true),
        }
    }

    /// Begins a job that starts on the bus: a program of `pages` pages.
    pub(super) fn begin_on_bus(
        &mut self,
        die: u32,
        job: Job,
        pages: u64,
    ) -> Result<(), DriveError> {
        let hardware = &self.settings.hardware;
        let skips = job == Job::CopyWrite && self.copies_back();
        let data = if skips { 0 } else { pages * hardware.transfer_ns };
        match hardware.command_ns + data {
            0 => return self.on_bus_done(die, job),
            length if job.programs() && self.programs_follow_transfers => {
                let end = self.take_bus(die, job, length, false);
                self.timers.set(self.cells_timer(die), end + self.cell_time(job));
            }
            length => self.ask_for_bus(die, job, length, false),
        }
        Ok(())
    }

    /// Whether copies stay in their die.
    fn copies_back(&self) -> bool {
        self.settings.collecting.copy_back
    }

    fn cell_time(&self, job: Job) -> u64 {
        let hardware = &self.settings.hardware;
        match job {
            Job::Erase => hardware.erase_ns,
            job if job.programs() => hardware.program_ns,
            _ => hardware.read_ns,
        }
    }

    /// Lets the cells of an idle die work for `length`.
    pub(super) fn begin_cells(&mut self, die: u32, job: Job, length: u64) {
        let now = self.now;
        let held = &mut self.dies[die as usize];
        debug_assert!(held.cells.is_idle());
        held.cells = Stage { job, begin: now, length, ..Stage::IDLE };
        held.suspends = 0;
        self.timers.set(self.cells_timer(die), now + length);
    }

    /// Stops the cells of a die before they are done. Returns the time that was left.
    pub(super) fn stop_cells(&mut self, die: u32) -> u64 {
        let timer = self.cells_timer(die);
        let left = self.timers.get(timer) - self.now;
        self.timers.set(timer, NEVER);
        self.dies[die as usize].cells.length -= left;
        if self.dies[die as usize].cells.length > 0 {
            self.worked_cells(die);
        }
        self.dies[die as usize].cells = Stage::IDLE;
        left
    }

    /// Puts a job on the bus, or in its queue.
    fn ask_for_bus(&mut self, die: u32, job: Job, length: u64, command: bool) {
        let end = self.take_bus(die, job, length, command);
        let channel = self.dies[die as usize].channel as usize;
        let ends = &mut self.buses[channel].ends;
        ends.push_back((die, end));
        if ends.len() == 1 {
            self.timers.set(channel, end);
        }
    }

    /// Gives a job its turn on the bus. Returns when its transfer ends.
    fn take_bus(&mut self, die: u32, job: Job, length: u64, command: bool) -> u64 {
        let now = self.now;
        let held = &mut self.dies[die as usize];
        debug_assert!(held.bus.is_idle());
        let begin = self.buses[held.channel as usize].take_turn(now, length);
        held.bus = Stage { job, begin, length, held: false, command };
        let end = begin + length;
        if let Some(op) = job.op() {
            self.ops[op].bus_ns += end - now;
        }
        end
    }

    /// The transfer on a channel is over.
    fn transfer_done(&mut self, channel: u32) -> Result<(), DriveError> {
        let ends = &mut self.buses[channel as usize].ends;
        let (die, _) = ends.pop_front().expect("a transfer is under way");
        if let Some(&(_, end)) = ends.front() {
            self.timers.set(channel as usize, end);
        }
        let stage = self.leave_bus(die);
        if stage.command {
            self.begin_cells(die, stage.job, self.cell_time(stage.job));
        } else {
            self.on_bus_done(die, stage.job)?;
        }
        self.bus_freed(die)?;
        self.admit_and_schedule(die)
    }

    /// The transfer of a die is over. Returns it.
    fn leave_bus(&mut self, die: u32) -> Stage {
        let stage = std::mem::replace(&mut self.dies[die as usize].bus, Stage::IDLE);
        self.worked(die, &stage, Place::Bus);
        stage
    }

    /// A job has its data over the bus; its die's side of the bus is idle.
    fn on_bus_done(&mut self, die: u32, job: Job) -> Result<(), DriveError> {
        match job {
            Job::Read(op) | Job::Buffer(op) => {
                self.complete_all(die, op);
                Ok(())
            }
            Job::ModifyRead(op) => {
                let PageOp { page, plane, .. } = self.ops[op];
                if !self.layer.can_write(page, plane) {
                    // While it was read, its place was taken or it aged into another class.
                    self.put_back(die, op);
                    return Ok(());
                }
                self.write(op)?;
                self.begin_on_bus(die, Job::ModifyWrite(op), 1)
            }
            Job::CopyRead => {
                self.page_read_out(die);
                Ok(())
            }
            Job::Write(_) | Job::ModifyWrite(_) | Job::CopyWrite => {
                if self.dies[die as usize].cells.is_idle() {
                    self.begin_cells(die, job, self.cell_time(job));
                } else {
                    let now = self.now;
                    self.dies[die as usize].bus =
                        Stage { job, begin: now, held: true, ..Stage::IDLE };
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The die's side of the bus is idle: what the cells have read may go out.
    fn bus_freed(&mut self, die: u32) -> Result<(), DriveError> {
        let held = &mut self.dies[die as usize];
        if held.cells.held && held.bus.is_idle() {
            let job = held.cells.job;
            held.cells = Stage::IDLE;
            self.read_out(die, job)?;
        }
        Ok(())
    }

    /// The cells are done.
    fn cells_done(&mut self, die: u32) -> Result<(), DriveError> {
        if self.dies[die as usize].cells.is_idle() {
            let Stage { job, begin, length, .. } = self.leave_bus(die);
            let begin = begin + length;
            let length = self.now - begin;
            self.dies[die as usize].cells = Stage { job, begin, length, ..Stage::IDLE };
        }
        let stage = self.dies[die as usize].cells;
        if let Some(op) = stage.job.op() {
            self.ops[op].cell_ns += stage.length;
        }
        self.worked_cells(die);
        let held = &mut self.dies[die as usize];
        match stage.job {
            Job::Read(_) | Job::ModifyRead(_) | Job::CopyRead if !held.bus.is_idle() => {
                held.cells.held = true;
                return self.schedule(die);
            }
            _ => held.cells = Stage::IDLE,
        }
        match stage.job {
            Job::Read(_) | Job::ModifyRead(_) | Job::CopyRead => self.read_out(die, stage.job)?,
            Job::Write(op) | Job::ModifyWrite(op) => self.complete_all(die, op),
            Job::CopyWrite => self.page_moved(die),
            Job::Erase => self.erased(die)?,
            Job::Suspend => self.let_go(die),
            Job::Poll | Job::Buffer(_) | Job::Idle => {}
        }
        // What came over the bus meanwhile is programmed.
        let held = &mut self.dies[die as usize];
        if held.bus.held && held.cells.is_idle() {
            let job = held.bus.job;
            held.bus = Stage::IDLE;
            self.begin_cells(die, job, self.cell_time(job));
        }
        self.admit_and_schedule(die)
    }

    /// What completions let in comes before the die decides what is next.
    fn admit_and_schedule(&mut self, die: u32) -> Result<(), DriveError> {
        if self.host.is_due {
            self.admit()?;
        }
        self.schedule(die)
    }

    /// Takes what the cells have read over the bus.
    fn read_out(&mut self, die: u32, job: Job) -> Result<(), DriveError> {
        let pages = match job {
            Job::Read(op) => self.chain(op).count() as u64,
            Job::CopyRead if self.copies_back() => 0,
            _ => 1,
        };
        match pages * self.settings.hardware.transfer_ns {
            0 => self.on_bus_done(die, job),
            length => {
                self.ask_for_bus(die, job, length, false);
                Ok(())
            }
        }
    }

    /// Page operations that go together.
    pub(super) fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |op: u32| Some(op).filter(|&op| op != NONE);
        std::iter::successors(Some(first), move |&op| present(self.ops[op].next))
    }

    /// Completes page operations that went together. Their times are those of the first.
    fn complete_all(&mut self, die: u32, first: u32) {
        let (bus_ns, cell_ns) = (self.ops[first].bus_ns, self.ops[first].cell_ns);
        let mut op = first;
        while op != NONE {
            let next = self.ops[op].next;
            self.ops[op].bus_ns = bus_ns;
            self.ops[op].cell_ns = cell_ns;
            self.complete(die, op);
            op = next;
        }
    }

    /// Whether a collection of this die is at `point`.
    pub(super) fn is_at(&self, die: u32, point: Point) -> bool {
        let collection = self.dies[die as usize].collection.as_ref();
        collection.is_some_and(|collection| collection.point == point)
    }
}
