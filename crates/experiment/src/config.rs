//! The resolved configuration of a run.

use std::sync::Arc;

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::Plan;
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::settling::Reach;
use flashgc_drive::source::Source;
use flashgc_drive::swap::SwapSpec;
use flashgc_ftl::{
    Allocation, Counters, ExternalPlacement, Fill, Frontier, FtlError, Geometry, Handles, Layout,
    Levelling, Lifespan, Mapping, Members, Packing, PageBuffer, PlacementSpec, PlaneLayout,
    Shrinking, Stepwise, Translation, Victim,
};
use flashgc_host::{HostSpec, HostWatch};
use flashgc_timed::Settings;
use flashgc_workload::requests::Space;
use flashgc_workload::{Flushing, Ranged, StreamRanges, Workload, WorkloadError};

use crate::ahead::Ahead;
use crate::clock::Timed;
use crate::options::RunConfig;
use crate::scale::Scaled;
use crate::shape::check_stripes;
use crate::times::{Times, Work};

/// Policies of a drive that are not part of flashgc. They replace the policies that the
/// configuration names.
#[derive(Clone, Default)]
pub struct Outside {
    /// The victim policy.
    pub victim: Option<Victim>,
    /// The placement.
    pub placement: Option<ExternalPlacement>,
}

/// A configuration that is checked and resolved: defaults, sizes and specs are filled in.
#[derive(Clone)]
pub struct Resolved {
    /// The configuration, with every spec in full.
    pub config: RunConfig,
    /// The drive's shape.
    pub geometry: Geometry,
    /// The number of blocks before it was rounded up for the planes: the number in the
    /// configuration, or the number that a trace's pages need. `None` if it was not rounded up.
    pub blocks_asked: Option<u32>,
    /// The large drive that this one stands for; `None` for a drive that is simulated as a whole.
    pub scaled: Option<Scaled>,
    /// `true` if the size of the drive and the size of its blocks were chosen for the pages of a
    /// trace.
    pub is_fitted: bool,
    /// `true` if the configuration gives the number of blocks, and not a capacity or a trace that
    /// determines it.
    pub is_counted: bool,
    /// The runs' warm-up and measured part.
    pub plan: Plan,
    /// `true` if the end of the warm-up is determined from the run itself.
    pub auto_warmup: bool,
    /// The source of the commands.
    pub source: Arc<dyn Source>,
    /// The streams of writes by address, if the workload does not name streams itself.
    pub streams: Option<Arc<StreamRanges>>,
    /// The times for which operations keep the flash busy; `None` if they are not given.
    pub times: Option<Times>,
    /// `true` if the runs end with a failure and not after a length.
    pub until_failure: bool,
    /// The host between the workload and the drive.
    pub host: Option<HostSpec>,
    /// The settings of a drive with a clock; `None` without one.
    pub(crate) timed: Option<Timed>,
    /// The page cache of a virtual memory system in front of the drive, if there is one.
    pub swap: Option<SwapSpec>,
    pub(crate) mapping: Mapping,
    pub(crate) lifespan: Option<Lifespan>,
    /// The rule by which superblocks go on without their bad blocks; `None` if they retire.
    pub(crate) shrinking: Option<Shrinking>,
    /// The dies of a superblock that are copied one after the other; `None` if pages are copied as they were
    /// written.
    pub(crate) die_by_die: Option<Members>,
    /// The victim policy; `None` if the mapping has its own way to choose victims.
    pub(crate) victim: Option<Victim>,
    pub(crate) frontier: Frontier,
    pub(crate) allocation: Allocation,
    pub(crate) levelling: Option<Levelling>,
    pub(crate) placement: PlacementSpec,
    pub(crate) fill: Fill,
    /// The way in which mapping units are gathered in flash pages.
    pub(crate) buffer: PageBuffer,
    /// The bytes of memory that one layer needs.
    pub(crate) bytes: u64,
}

/// Returns the reach that a measured part needs to exceed the memory of these policies.
pub(crate) fn reach(victim: Option<&Victim>, placement: &PlacementSpec, shape: &Geometry) -> Reach {
    let of_placement = placement.remembers(shape);
    Reach::beyond(victim.map_or(of_placement, |victim| victim.remembers().and(of_placement)))
}

impl Resolved {
    /// Returns the bytes of memory that one layer needs. Also finds the errors that occur only when
    /// a layer is made.
    pub(crate) fn layer_bytes(&self) -> Result<u64, SpecError> {
        let layout = self.layout(0);
        match &self.victim {
            Some(victim) => victim.bytes(&layout),
            None => Ok(flashgc_ftl::page_map_bytes(&layout)),
        }
    }

    /// Makes the translation layer of run number `run`, counted from 0.
    ///
    /// # Errors
    /// Returns the errors of the layer. If the placement must know the workload, also returns the
    /// errors of the workload.
    pub fn layer(&self, run: u32) -> Result<Box<dyn Translation>, DriveError> {
        let mut layout = self.layout(run);
        if layout.placement.needs_future() && self.maps_pages() && self.swap.is_none() {
            // A host's cache needs the reads, too.
            let future = match self.host {
                Some(_) => self.workload(run)?.0,
                None => self.source.open_changes(&self.space(), self.seed(run))?,
            };
            let future = Ahead::new(future);
            layout.placement = layout.placement.with_future(Box::new(future));
        }
        Ok(self.mapping.build(layout, &|layout| self.victim()?.build(layout))?)
    }

    /// Opens the commands that the drive gets in run number `run`, after the host's cache if there
    /// is one. Also returns a watch on the counts of the cache.
    ///
    /// # Errors
    /// Returns the errors of the source.
    pub(crate) fn workload(
        &self,
        run: u32,
    ) -> Result<(Box<dyn Workload>, Option<HostWatch>), DriveError> {
        let workload = self.commands(run)?;
        let Some(spec) = &self.host else { return Ok((workload, None)) };
        let pages = self.geometry.logical_pages();
        let host = spec.open(workload, self.config.unit(), pages, self.seed(run));
        let host = host.map_err(FtlError::from)?;
        let watch = host.watch();
        Ok((Box::new(host), Some(watch)))
    }

    fn maps_pages(&self) -> bool {
        self.mapping.info().name == Mapping::default().info().name
    }

    /// Returns the layout and the victim policy of a drive that is stored and not simulated. They
    /// are those of the first run.
    ///
    /// # Errors
    /// Fails if the mapping is not by pages, or if the placement must know the host's future
    /// writes.
    pub fn kept(&self) -> Result<(Layout, Victim), SpecError> {
        if !self.maps_pages() {
            return Err(SpecError::new(
                format!("{} is {}, expected page", subject("mapping"), self.mapping),
                "leave it out",
            ));
        }
        if self.placement.needs_future() {
            return Err(SpecError::new(
                format!(
                    "{} {} must know what the host will write, and a stored drive has a real host",
                    subject("placement"),
                    self.placement.name()
                ),
                "another placement, or leave it out",
            ));
        }
        if !matches!(self.frontier, Frontier::Pool { .. }) {
            return Err(SpecError::new(
                format!(
                    "{} {} does not apply to a stored drive: an erased block may hold the only durable copy of \
                     a page, so other blocks of a pool are written first",
                    subject("frontier"),
                    self.frontier
                ),
                format!("{}, or leave it out", choice("frontier", "pool")),
            ));
        }
        check_stripes(&self.config)?;
        // Each page of its file is written when it comes, so planes gather none.
        let units_per_page = self.config.unit_count();
        let is_protected = self.buffer.is_protected;
        let buffer = PageBuffer { units_per_page, is_protected, ..PageBuffer::default() };
        Ok((Layout { buffer, ..self.layout(0) }, self.victim()?.clone()))
    }

    /// Returns the dies that a superblock joins, and the number of pages that a die programs together.
    pub fn members(&self) -> (Members, u32) {
        (self.config.dies_together(), self.buffer.units_per_program())
    }

    pub(crate) fn layout(&self, run: u32) -> Layout {
        Layout {
            geometry: self.geometry,
            frontier: self.frontier,
            allocation: self.allocation,
            levelling: self.levelling,
            placement: self.placement.clone(),
            streams: self.has_streams(),
            buffer: self.buffer,
            blocks_together: self.config.blocks_together(),
            slc: self.timed.as_ref().and_then(|it| it.settings.slc).map(|slc| slc.region),
            shrinking: self.shrinking,
            die_by_die: self.die_by_die,
            lifespan: self.lifespan,
            fill: self.fill,
            seed: self.seed(run),
        }
    }

    /// Returns the times of the flash, with those of pages of several planes if it has some. `None`, too, if
    /// superblocks shrink: the times are those of the operations on whole ones.
    pub(crate) fn busy_times(&self) -> Option<Times> {
        let times = self.times.filter(|_| self.shrinking.is_none());
        times.map(|times| times.together(self.config.members().1))
    }

    /// Returns the operations that these counts stand for.
    pub(crate) fn work(
        &self,
        counters: Counters,
        commands: HostCommands,
        packing: Option<Packing>,
    ) -> Work {
        let (dies, stripe) = (self.config.members().0, self.config.stripe());
        Work { counters, commands, packing, buffer: self.buffer, dies, stripe }
    }

    /// Returns the mapping units of all flash, those of parity included.
    pub(crate) fn flash_pages(&self) -> u64 {
        u64::from(self.geometry.blocks()) * u64::from(self.config.units_with_parity())
    }

    /// Returns `true` if the workload has no end, there is no page cache, and the run does not last
    /// until a failure.
    pub(crate) fn has_no_end(&self) -> bool {
        self.source.pass().is_none() && self.swap.is_none() && !self.until_failure
    }

    /// Returns `true` if the runs settle at a level that can be estimated with the writes before
    /// the measured part. The parts of a trace differ, so its runs have no such level.
    pub(crate) fn has_levels(&self) -> bool {
        self.has_no_end() && self.timed.is_none()
    }

    /// Returns the reach of a measured part that shows a steady state.
    pub(crate) fn reach(&self) -> Reach {
        reach(self.victim.as_ref(), &self.placement, &self.geometry)
    }

    /// Returns the number of blocks of the drive that stay erased between two collections. With a
    /// clock, that is the mean of the marks at which collections begin and end.
    pub(crate) fn blocks_kept_erased(&self) -> f64 {
        let Some(timed) = &self.timed else {
            let of_group = self.layout(0).blocks_kept_erased();
            return f64::from(of_group) * f64::from(self.placement.groups());
        };
        let Settings { collecting, hardware, .. } = &timed.settings;
        let units = hardware.all_planes() / collecting.unit.planes(hardware);
        f64::from(units) * (f64::from(collecting.low) + f64::from(collecting.high)) / 2.0
    }

    /// Returns the spare factor that collections can use, without the blocks that stay erased.
    pub(crate) fn effective_spare(&self) -> f64 {
        self.geometry.effective_spare(self.blocks_kept_erased())
    }

    /// Returns the capacity that the drive offers the workload, and the size of the requests that
    /// generators make.
    pub(crate) fn space(&self) -> Space {
        self.config.space(self.geometry.logical_pages())
    }

    /// Opens the page commands of run number `run`.
    ///
    /// # Errors
    /// Returns the errors of the source.
    pub(crate) fn commands(&self, run: u32) -> Result<Box<dyn Workload>, WorkloadError> {
        let mut commands = self.source.open(&self.space(), self.seed(run))?;
        // The pages of a host's cache get their streams when they leave the cache.
        if let Some(ranges) = self.streams.as_ref().filter(|_| self.host.is_none()) {
            commands = Box::new(Ranged::new(commands, Arc::clone(ranges), self.config.unit()));
        }
        Ok(match self.config.flush_every {
            Some(every) => Box::new(Flushing::new(commands, every)),
            None => commands,
        })
    }

    /// Makes a page map over planes, for a drive with a clock.
    pub(crate) fn stepwise(&self, layout: PlaneLayout) -> Result<Box<dyn Stepwise>, FtlError> {
        self.victim()?.build(layout)
    }

    fn victim(&self) -> Result<&Victim, SpecError> {
        let missing = || SpecError::new("a page map needs a victim policy, found none", "");
        self.victim.as_ref().ok_or_else(missing)
    }

    /// Returns two flags: whether the host gives hints, and whether the drive uses hints.
    pub fn hints(&self) -> (bool, bool) {
        let gives_hints = self.host.as_ref().is_some_and(|host| !host.hints().is_none());
        let asks = self.victim.as_ref().is_some_and(Victim::asks_for_zombies);
        (gives_hints, asks || self.placement.asks_for_zombies())
    }

    /// Returns `true` if writes have streams; the drive then keeps them.
    pub(crate) fn has_streams(&self) -> bool {
        self.streams.is_some() || self.source.has_streams()
    }

    /// Returns the placement handles of a drive with flexible data placement; `None` for other
    /// drives.
    pub(crate) fn handles(&self) -> Option<Handles> {
        self.placement.handles()
    }

    /// Returns the seed of run number `run`.
    pub fn seed(&self, run: u32) -> u64 {
        self.config.seed.wrapping_add(u64::from(run))
    }

    /// Returns `true` if a policy comes from outside and must stay on the calling thread.
    pub fn is_external(&self) -> bool {
        self.has_external_victim() || self.placement.is_external()
    }

    fn has_external_victim(&self) -> bool {
        self.victim.as_ref().is_some_and(Victim::is_external)
    }

    /// Returns the reason why the runs cannot be saved; `None` if they can be.
    pub(crate) fn why_unsaved(&self) -> Option<&'static str> {
        if self.has_external_victim() {
            return Some(
                "a victim policy of your own cannot be saved: what it knows is its own; hint: run \
                 without a checkpoint",
            );
        }
        if self.placement.is_external() {
            return Some(
                "a placement of your own cannot be saved: what it knows is its own; hint: run \
                 without a checkpoint",
            );
        }
        let timed = self.timed.as_ref()?;
        if timed.trace_events.is_some() {
            return Some(
                "trace events cannot be saved; hint: leave them out, or run without a checkpoint",
            );
        }
        timed.timeline.is_some().then_some(
            "a timeline cannot be saved; hint: leave out the timeline, or run without a checkpoint",
        )
    }

    /// Finds the errors that occur only when a layer is made, before any long run begins.
    pub(crate) fn check_frontier(&self) -> Result<(), FtlError> {
        let layout = self.layout(0);
        if self.timed.is_some() {
            return layout.check_parts();
        }
        self.mapping.check(&layout)?;
        if !self.mapping.info().has_victims {
            return Ok(());
        }
        layout.check()
    }
}
