//! The scheduler: the queue of each die, and the choice of the die's next operation.
//!
//! With a dynamic placement, `spread.rs` chooses the plane of each write. If a flash page holds
//! several pages of the map (units), a write is done once it is in the page buffer of its plane
//! (`buffer.rs`). A collection reads a flash page once, and then gives each unit its new place.
//!
//! If a word line is programmed in two passes, `passes.rs` has the second ones.
//!
//! If superblocks join dies, `superblocks` has the queues and the choice instead.

mod buffer;
mod cells;
mod passes;
mod points;
mod serve;
mod spread;
mod superblocks;
mod suspend;

use flashgc_base::snapshot::State;
use flashgc_base::spec::SpecError;
use flashgc_drive::error::DriveError;
use flashgc_ftl::stepwise::Homes;
use flashgc_ftl::{FtlError, Stepwise};

use super::clock::{Event, NEVER};
use super::collector::{Begun, Collector, Life};
use super::config::{Scheduling, Settings, Suspend};
use super::flash::{Flash, Job, Stage};
use super::measure::{CollectionCounts, Joined, PowerCounts};
use super::observer::{Cause, Follows, Observer, Place, Span, Stint, Work};
use super::ops::{DieQueues, Kind, NONE, PageOp};
use super::shared::Shared;
use buffer::Stale;
use cells::Sites;
use passes::Passes;
use spread::Spread;
use superblocks::Superblocks;

/// The dies that may be able to begin a job. All are checked before time goes on; the die that was
/// added last is checked first.
#[derive(State)]
struct Ready {
    dies: Vec<u32>,
    #[snapshot(table)]
    is_in: Vec<bool>,
}

impl Ready {
    #[inline]
    fn add(&mut self, die: u32) {
        if !std::mem::replace(&mut self.is_in[die as usize], true) {
            self.dies.push(die);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        let die = self.dies.pop()?;
        self.is_in[die as usize] = false;
        Some(die)
    }
}

/// The scheduler of the dies, which chooses the operation that each die serves next.
///
/// It owns the operations that wait at the dies. It also owns the flash and the collector, as its
/// choice depends on the job of a die and on the operations that a collection lets through. The
/// flash and the collector do not know the scheduler. The scheduler does not know requests: it gets
/// page operations, and gives them back when they are done.
#[derive(State)]
#[snapshot(named = "scheduler")]
pub struct Scheduler {
    #[snapshot(state)]
    flash: Flash,
    #[snapshot(state)]
    collector: Collector,
    #[snapshot(state)]
    waiting: DieQueues,
    #[snapshot(state)]
    stale: Stale,
    #[snapshot(state)]
    sites: Sites,
    #[snapshot(skip)]
    homes: Homes,
    #[snapshot(state)]
    spread: Spread,
    /// The second passes of word lines; `None` if one pass programs them, or if blocks of dies are joined.
    #[snapshot(state)]
    passes: Option<Passes>,
    /// The jobs of dies whose blocks are joined; `None` if each die has its own blocks.
    #[snapshot(state)]
    superblocks: Option<Superblocks>,
    #[snapshot(state)]
    ready: Ready,
    #[snapshot(skip)]
    planes_per_die: u32,
    #[snapshot(skip)]
    units_per_page: u32,
    #[snapshot(skip)]
    units_per_program: u32,
    /// `true` if data wait in a program that is full, for its second pass.
    #[snapshot(skip)]
    waits_when_full: bool,
    /// `true` if a collection reads the pages of several planes together.
    #[snapshot(skip)]
    reads_planes_together: bool,
    #[snapshot(skip)]
    rule: Scheduling,
    /// `true` if nothing interrupts a collection between its first and its last page.
    #[snapshot(skip)]
    collects_undisturbed: bool,
    /// `true` if a busy die may begin a further job.
    #[snapshot(skip)]
    begins_when_busy: bool,
    #[snapshot(skip)]
    multi_plane: bool,
    #[snapshot(skip)]
    cache_commands: bool,
    #[snapshot(skip)]
    suspend: Suspend,
    /// `true` if programs or erases may be suspended.
    #[snapshot(skip)]
    suspends: bool,
    /// The idle time after which a die collects or folds, in nanoseconds; `None` for never.
    #[snapshot(skip)]
    idle_ns: Option<u64>,
    /// A page operation that is done and took no time on a die, or [`NONE`]. It is given back
    /// before the die begins the next job.
    done: u32,
    suspended_programs: u64,
    suspended_erases: u64,
    joined: Joined,
}

impl Scheduler {
    /// Returns a scheduler of idle dies at which no operation waits.
    ///
    /// # Errors
    /// The drive has no room for its dynamic placement.
    pub fn new(settings: &Settings, map: &dyn Stepwise) -> Result<Self, SpecError> {
        let dies = settings.hardware.all_dies();
        Ok(Self {
            flash: Flash::new(settings),
            collector: Collector::new(settings, map),
            waiting: DieQueues::new(dies, Superblocks::leads(settings)),
            stale: Stale::new(settings.flush_after_ns),
            sites: Sites::new(settings, map),
            homes: Homes::new(settings.placement.homes_in_groups(&settings.hardware, map.groups())),
            spread: Spread::new(settings, map)?,
            passes: Passes::new(settings),
            superblocks: Superblocks::new(settings),
            ready: Ready { dies: Vec::new(), is_in: vec![false; dies as usize] },
            planes_per_die: settings.hardware.planes,
            units_per_page: settings.hardware.units_per_page,
            units_per_program: settings.hardware.units_per_program(),
            waits_when_full: settings.hardware.second_ns.is_some(),
            reads_planes_together: map.buffer().planes > 1,
            rule: settings.scheduling,
            collects_undisturbed: settings.collects_undisturbed(),
            begins_when_busy: settings.begins_when_busy(),
            multi_plane: settings.multi_plane,
            cache_commands: settings.cache_commands,
            suspend: settings.suspend,
            suspends: settings.suspend.erase || settings.suspend.program,
            idle_ns: settings.idle_ns(),
            done: NONE,
            suspended_programs: 0,
            suspended_erases: 0,
            joined: Joined::default(),
        })
    }

    /// Returns the plane that serves an operation on a page.
    #[inline(always)]
    fn plane_of<O: Observer>(&mut self, shared: &Shared<O>, op: u32) -> u32 {
        let home = self.homes.of(shared.ops[op].page);
        match self.spread.chooses {
            true => self.spread.place(&*shared.map, &shared.ops[op], home),
            false => home,
        }
    }

    /// Lets a page operation wait at its die. If a collection copies the same page now, the
    /// operation may share that copy instead.
    pub fn accept<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) {
        if self.superblocks.is_some() {
            return self.accept_on_superblock(shared, op);
        }
        let PageOp { page, kind, .. } = shared.ops[op];
        let plane = match kind {
            Kind::Flush => page,
            _ => self.plane_of(shared, op),
        };
        let die = plane / self.planes_per_die;
        let order = shared.ops.send();
        let now = shared.now();
        let operation = &mut shared.ops[op];
        operation.plane = plane;
        operation.order = order;
        operation.blocked_ns = self.flash.die(die).held_until(now);
        operation.met_collection |= self.collector.is_under_way(die);
        if self.collector.merges() && self.joins(shared, die, op) {
            return;
        }
        self.waiting.push(&mut shared.ops, die, op);
        if self.idle_ns.is_some() {
            shared.clock.set(Event::Idle(die), NEVER);
        }
        if self.may_begin(die) {
            if self.suspends {
                self.suspend_for(shared, die, op);
            }
            self.ready.add(die);
        }
    }

    /// Turns `op`, a write that waits, into a TRIM.
    pub fn discard<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) {
        let PageOp { plane, is_merged, is_programmed, .. } = shared.ops[op];
        debug_assert!(shared.ops[op].writes() && !is_merged && !is_programmed);
        shared.ops[op].kind = Kind::Trim;
        if self.spread.chooses {
            self.spread.discard(plane);
        }
    }

    /// Takes the next die that may be able to begin a job now.
    #[inline]
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop()
    }

    /// Returns `true` if no die is left that may begin a job now.
    pub fn is_still(&self) -> bool {
        self.ready.dies.is_empty()
    }

    /// Returns `true` if a die may be able to begin a job now: it is idle and has work, or it is
    /// busy in such a way that a further job may begin.
    #[inline]
    pub fn may_begin(&self, die: u32) -> bool {
        if self.superblocks.is_some() {
            return true;
        }
        let die_state = self.flash.die(die);
        if die_state.is_idle() {
            return !self.waiting.is_empty(die)
                || self.collector.is_under_way(die)
                || die_state.suspended.is_some()
                || self.idle_ns.is_some()
                || self.passes.as_ref().is_some_and(|passes| passes.wait_at(die));
        }
        let overlaps = || self.cache_commands || self.collector.is_under_way(die);
        self.begins_when_busy
            && (self.suspends
                || self.units_per_program > 1
                || die_state.may_overlap() && overlaps())
    }

    /// Lets a die that [may begin](Self::may_begin) a job begin the next one that it can begin now.
    /// Returns `true` if there was one. The caller must then [take](Self::take_done) the operation
    /// that is done at once, if there is one.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn begin_next<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        debug_assert!(self.done == NONE && self.may_begin(die));
        if self.collector.life() == Life::Ended {
            return Ok(false); // the drive is read-only, and stops
        }
        if self.superblocks.is_some() {
            return self.begin_on_superblock(shared, die);
        }
        if self.units_per_program > 1 && self.gather_write(shared, die)? {
            return Ok(true);
        }
        let pass = match self.passes {
            Some(_) => self.begin_pass(shared, die)?,
            None => None,
        };
        let die_state = self.flash.die(die);
        let has_begun = if let Some(has_begun) = pass {
            has_begun
        } else if !die_state.is_idle() {
            self.overlap(shared, die)?
        } else if die_state.suspended.is_some() {
            self.while_suspended(shared, die)?
        } else if self.collector.is_under_way(die) {
            self.at_point(shared, die)?
        } else if self.collector.holds(die) {
            false
        } else {
            self.serve(shared, die)?
        };
        Ok(has_begun || self.suspends && self.suspend_for_those_that_wait(shared, die))
    }

    /// Takes the page operation that is done and not given back yet, or [`NONE`].
    #[inline]
    pub fn take_done(&mut self) -> u32 {
        std::mem::replace(&mut self.done, NONE)
    }

    /// Notes the state of a die until the next event, for the times in use. Call it after the die
    /// has begun all jobs that it can.
    #[inline(always)]
    pub fn note(&mut self, now: u64, die: u32) {
        let held = self.collector.holds(die);
        self.flash.note(die, now, held);
    }

    /// Returns `true` if a die is copying all pages of a victim as one job.
    #[inline]
    pub fn is_chained(&self, die: u32) -> bool {
        self.flash.die(die).cells.job == Job::CopyAll
    }

    /// Ends the transfer on a channel. Returns the die, and its job if that is over now.
    pub fn transfer_done<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        channel: u32,
    ) -> (u32, Option<Job>) {
        let (die, transfer) = self.flash.end_transfer(&mut shared.clock, channel);
        self.tell(shared, die, &transfer, Place::Bus);
        (die, self.flash.after_transfer(&mut shared.clock, die, &transfer))
    }

    /// Lets a page that the cells have read leave the die, as the bus is free. Returns the die's
    /// job if that is over now.
    pub fn bus_freed<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Option<Job> {
        self.flash.bus_freed(&mut shared.clock, &mut shared.ops, die)
    }

    /// Ends the work of a die's cells. Returns the die's job if that is over now.
    pub fn cells_done<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Option<Job> {
        let now = shared.now();
        let (transfer, work) = self.flash.end_cells(now, &mut shared.ops, die);
        self.tell_program(shared, die, transfer.as_ref(), &work);
        self.flash.after_cells(&mut shared.clock, &mut shared.ops, die)
    }

    /// Programs the page that was transferred to the die while its cells worked.
    pub fn program_held<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) {
        self.flash.program_held(&mut shared.clock, die);
    }

    /// Ends a job. Returns the first of the chain of page operations that are done with the job, or
    /// [`NONE`].
    ///
    /// # Errors
    /// The errors of the map.
    #[inline(always)]
    pub fn finish<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        job: Job,
    ) -> Result<u32, DriveError> {
        if self.superblocks.is_some() {
            return self.finish_on_superblock(shared, die, job);
        }
        if self.passes.is_some() && self.has_passes_left(die, job) {
            return Ok(NONE);
        }
        let held_ns = self.flash.die(die).held_until(shared.now());
        if let Job::Write(op) = job
            && self.goes_on_flushing(shared, die, op)
        {
            return Ok(NONE);
        }
        let ops = &mut shared.ops;
        match job {
            Job::Read(op) | Job::Buffer(op) | Job::Write(op) | Job::ModifyWrite(op) => {
                ops.share_times(op);
                return Ok(op);
            }
            Job::CopyRead => return Ok(self.collector.page_is_read(ops, die, held_ns)),
            Job::CopyWrite => return Ok(self.collector.page_is_moved(ops, die, held_ns)),
            Job::ModifyRead(op) => return self.write_back(shared, die, op),
            Job::Erase => self.erased(shared, die)?,
            Job::Suspend => self.is_suspended(shared, die),
            Job::CopyAll => debug_assert!(false, "it ends with its chain"),
            Job::Program | Job::Rebuild(_) => {
                debug_assert!(false, "a die without superblocks has none");
            }
            Job::Poll | Job::Idle => {}
        }
        Ok(NONE)
    }

    /// Notes that `op` is done and leaves its die.
    #[inline]
    pub fn leave<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) {
        let collects = match &self.superblocks {
            Some(superblocks) => superblocks.collects(die),
            None => self.collector.is_under_way(die),
        };
        let operation = &mut shared.ops[op];
        if self.spread.chooses {
            self.spread.leave(operation);
        }
        if self.superblocks.is_some() {
            operation.plane = die; // its planes are one; the plane of the map has many dies
        }
        operation.met_collection |= operation.blocked_ns > 0 || collects;
    }

    /// Lets a die collect, as the timer of its idle time has ended.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn idle_for_long<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<(), DriveError> {
        let die_state = self.flash.die(die);
        let rests = die_state.is_idle()
            && die_state.suspended.is_none()
            && !self.collector.is_under_way(die);
        if rests && let Some(begun) = self.collector.begin_idle(shared, die)? {
            self.look_at(begun);
        }
        Ok(())
    }

    /// Writes `page` before the clock starts, with the collections that this needs. Returns `false`
    /// if the drive's life has ended.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn write_at_once(&self, map: &mut dyn Stepwise, page: u32) -> Result<bool, FtlError> {
        let plane = map.plane_of_write(page, self.homes.of(page), &[]);
        self.collector.collect_at_once(map, page, plane)?;
        Ok(!map.has_ended() && map.write_at_once(page, plane, 0, 0)?.is_some())
    }

    /// Returns the planes to which pages are written before the clock starts.
    pub fn homes(&self) -> &Homes {
        &self.homes
    }

    /// Returns the state of the drive's life.
    #[inline]
    pub fn life(&self) -> Life {
        self.collector.life()
    }

    /// Returns the counts of collections.
    pub fn collections(&self) -> &CollectionCounts {
        self.collector.counts()
    }

    /// Returns the numbers of suspended programs and of suspended erases.
    pub fn suspended(&self) -> (u64, u64) {
        (self.suspended_programs, self.suspended_erases)
    }

    /// Returns the counts of operations that went together with those on another plane.
    pub fn joined(&self) -> Joined {
        self.joined
    }

    /// Returns three lists of nanoseconds until `now`: the time in use of each bus, the time in use
    /// of each die, and the time for which collections held each die.
    pub fn times_until(&self, now: u64) -> [Vec<u64>; 3] {
        self.flash.times_until(now)
    }

    /// Returns the counts of power until `now`.
    pub fn power_until(&self, now: u64) -> PowerCounts {
        self.flash.power_until(now)
    }

    /// Ends the collection of a die after the erase of its victim.
    #[inline(never)]
    fn erased<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Result<(), DriveError> {
        let rests = self.waiting.is_empty(die);
        let (unit, begun) = self.collector.end(shared, die, rests)?;
        if let Some(begun) = begun {
            self.look_at(begun);
        }
        self.look_at_unit(unit);
        Ok(())
    }

    /// Marks the dies that a new collection concerns as ready: its own die and the dies of its
    /// unit.
    fn look_at(&mut self, Begun { die, unit }: Begun) {
        self.ready.add(die);
        self.look_at_unit(unit);
    }

    /// Marks all dies of a unit as ready, if the unit has several.
    fn look_at_unit(&mut self, unit: u32) {
        let dies = self.collector.dies_of(unit);
        if dies.start() < dies.end() {
            dies.for_each(|die| self.ready.add(die));
        }
    }

    /// Reports to the observer that a die's cells have worked, or the bus for the die.
    #[inline(always)]
    fn tell<O: Observer>(&self, shared: &mut Shared<O>, die: u32, stage: &Stage, place: Place) {
        let follows = shared.observer.follows();
        if follows == Follows::Nothing {
            return;
        }
        let (begin_ns, end_ns) = (stage.begin, stage.begin + stage.length);
        if follows == Follows::Work && stage.job.op().is_some() {
            shared.observer.was_busy(&Stint { begin_ns, end_ns, place, die });
            return;
        }
        self.tell_span(shared, die, stage, place);
    }

    /// Reports to the observer that a die's cells have worked, and before that the `transfer` that
    /// ended when the cells began.
    #[inline(always)]
    fn tell_program<O: Observer>(
        &self,
        shared: &mut Shared<O>,
        die: u32,
        transfer: Option<&Stage>,
        work: &Stage,
    ) {
        let Some(transfer) = transfer else { return self.tell(shared, die, work, Place::Cells) };
        if shared.observer.follows() == Follows::Work && work.job.op().is_some() {
            let times = [transfer.begin, work.begin, work.begin + work.length];
            return shared.observer.was_programmed(die, times);
        }
        self.tell(shared, die, transfer, Place::Bus);
        self.tell(shared, die, work, Place::Cells);
    }

    #[inline(never)]
    fn tell_span<O: Observer>(
        &self,
        shared: &mut Shared<O>,
        die: u32,
        stage: &Stage,
        place: Place,
    ) {
        let (begin_ns, end_ns) = (stage.begin, stage.begin + stage.length);
        let collection = self.collector.on(self.collector_of(die));
        let (page, plane, cause) = match (stage.job.op(), &self.superblocks) {
            (Some(op), superblocks) => {
                let request = shared.ops.request_number(op);
                let plane = if superblocks.is_some() { die } else { shared.ops[op].plane };
                (Some(shared.ops[op].page), plane, Cause::Request(request))
            }
            (None, Some(superblocks)) => {
                let (page, number) = superblocks.about(die, stage.job, place);
                let now = collection.map_or(0, |collection| collection.number);
                let cause = match stage.job {
                    Job::Program => Cause::Drive,
                    Job::Rebuild(op) => Cause::Request(shared.ops.request_number(op)),
                    _ => Cause::Collection(number.unwrap_or(now)),
                };
                (page, die, cause)
            }
            (None, None) => {
                let moves = matches!(stage.job, Job::CopyRead | Job::CopyWrite);
                let moving = collection.and_then(|collection| collection.moving);
                let first = die * self.planes_per_die;
                (
                    moving.filter(|_| moves).map(|moving| moving.page),
                    collection.map_or(first, |collection| collection.plane),
                    Cause::Collection(collection.map_or(0, |collection| collection.number)),
                )
            }
        };
        let work = match stage.job {
            Job::Erase => Work::Erase,
            Job::Poll => Work::Poll,
            Job::Suspend => Work::Suspend,
            job if job.programs() => Work::Program,
            _ => Work::Read,
        };
        let span = Span {
            begin_ns,
            end_ns,
            place,
            channel: self.flash.die(die).channel,
            die,
            plane,
            work,
            page,
            cause,
        };
        shared.observer.worked(&span);
    }
}
