//! The drive: its parts, and the loop over events.

use flashgc_base::spec::SpecError;
use flashgc_ftl::{FtlError, Stepwise};
use flashgc_host::ClockedHost;
use flashgc_workload::requests::RequestStream;

use super::bus::Bus;
use super::cache::WriteCache;
use super::die::Die;
use super::events::{NEVER, Timers};
use super::host::Host;
use super::observe::Observer;
use super::ops::Ops;
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
    pub(super) programs_follow_transfers: bool,
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
            self.timers.set(timer, NEVER);
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

    pub(super) fn cells_timer(&self, die: u32) -> usize {
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
}
