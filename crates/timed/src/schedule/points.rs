//! The preemption points of a collection. Point A is between a page's read and its program, point B
//! is between two pages. At these points, operations of the host go first or overlap with the
//! collection's. If nothing interrupts a collection, all its copies are one job of the die.

use flashgc_drive::error::DriveError;

use super::Scheduler;
use super::serve::Allowed;
use crate::clock::Position;
use crate::collector::{Point, Step};
use crate::flash::{Die, Job};
use crate::observer::{Follows, Observer};
use crate::ops::{Kind, NONE, PageOp};
use crate::shared::Shared;

impl Scheduler {
    /// Chooses the next job of an idle die whose collection is at a preemption point: an operation
    /// of the host, or the next operation of the collection.
    pub(super) fn at_point<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        if let Some(length) = self.collector.pause(die) {
            self.flash.begin_cells(&mut shared.clock, die, Job::Poll, length);
            return Ok(true);
        }
        if !self.collector.gives_way(die) {
            return self.go_on(shared, die);
        }
        if self.is_at(die, Point::A) {
            if self.collector.pipelines(die) && self.write_at_a(shared, die)? {
                return Ok(true);
            }
            return match self.next_read_at_a(shared, die) {
                Some(read) => self.go_before(shared, die, read),
                None => self.go_on(shared, die),
            };
        }
        match self.next_at_point(shared, die) {
            None => self.go_on(shared, die),
            Some(_) if self.collector.copies_wait(die) => self.program_copies(shared, die),
            Some(op) if self.may_prefer(shared, die, op) => {
                self.collector.give_way(die);
                self.waiting.take(&mut shared.ops, die, op);
                self.collector.join(shared, die, op);
                self.go_on(shared, die)
            }
            Some(op) => self.go_before(shared, die, op),
        }
    }

    /// Begins operations that overlap by pipelining. At point B, the collection reads its next page
    /// while the data of the host's last read go over the bus. At point A, the next write of the
    /// host or of the collection goes over the bus while the host's write is programmed.
    pub(super) fn overlap_collection<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Die { cells, bus, suspended, .. } = self.flash.die(die);
        let is_half_idle = cells.is_idle() | bus.is_idle();
        if !is_half_idle || !self.collector.pipelines(die) || suspended.is_some() {
            return Ok(false);
        }
        match (cells.job, bus.job) {
            // If commands take time on the bus, the bus must be free for the command.
            (Job::Idle, Job::Read(_))
                if self.is_at(die, Point::B) && !self.flash.has_commands() =>
            {
                if !self.collector.victim_has_pages(&*shared.map, die)
                    || self.next_at_point(shared, die).is_some()
                {
                    return Ok(false);
                }
                self.collector.count_pipelined_read();
                self.go_on(shared, die)
            }
            (Job::Write(_), Job::Idle) if self.is_at(die, Point::A) => {
                Ok(self.write_at_a(shared, die)? || self.go_on(shared, die)?)
            }
            _ => Ok(false),
        }
    }

    /// Lets an operation share the copy of its page that a collection makes on the die now, if that
    /// is possible. Returns `true` if it does.
    #[inline]
    pub(super) fn joins<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) -> bool {
        let programs = self.flash.die(die).programs();
        let joins = self.collector.can_join(&shared.ops, &mut self.waiting, die, op, programs);
        if joins {
            self.collector.join(shared, die, op);
        }
        joins
    }

    /// Begins the collection's next operation.
    fn go_on<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Result<bool, DriveError> {
        if self.begins_chain(shared, die) {
            return Ok(true);
        }
        let step = self.collector.go_on(shared, die)?;
        self.take_step(shared, die, step)
    }

    /// Begins the programs of copies that wait for those of other planes.
    #[inline(never)]
    fn program_copies<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let programs = self.collector.stop_waiting(die);
        self.take_step(shared, die, programs)
    }

    /// Begins a step of a die's collection. Always returns `true`.
    #[inline(always)]
    fn take_step<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        step: Step,
    ) -> Result<bool, DriveError> {
        let cells_ns = match step {
            Step::Job(job) => self.cell_time(shared, die, job),
            _ => 0,
        };
        // The processor predicts comparisons better than the jump of a `match`.
        if step == Step::Job(Job::CopyWrite) {
            if let Some(passes) = &mut self.passes {
                self.collector.sites(die).for_each(|site| passes.is_full(site));
            }
            self.follow_with_passes(shared, die, Job::CopyWrite);
            let planes = self.collector.planes_at_work(die);
            let units = match self.collector.on(die) {
                Some(collection) if shared.shrinks => shared.units_of_program(collection.site),
                _ => self.units_per_program * planes,
            };
            if planes > 1 {
                self.joined.units += u64::from(units);
            }
            let (Shared { clock, ops, .. }, units) = (shared, units.into());
            self.flash.begin_on_bus(clock, ops, die, Job::CopyWrite, units, cells_ns);
        } else if let Step::Job(job) = step {
            let Shared { clock, ops, .. } = shared;
            if self.reads_planes_together && job == Job::CopyRead {
                let units = self.collector.units_to_read(&*shared.map, die);
                self.flash.set_copy_units(die, units);
            } else if self.multi_plane {
                let planes = self.collector.planes_at_work(die);
                self.flash.set_copy_units(die, self.units_per_page * planes);
                let joined = if planes > 1 { u64::from(planes) } else { 0 };
                match job {
                    Job::Erase => self.joined.erases += joined,
                    _ => self.joined.reads += joined,
                }
            }
            self.flash.begin_in_cells(clock, ops, die, job, cells_ns);
        } else if step != Step::Nothing {
            let held_ns = self.flash.die(die).held_until(shared.now());
            let ops = &mut shared.ops;
            self.done = match step {
                Step::AtHand => self.collector.page_is_read(ops, die, held_ns),
                _ => self.collector.page_is_moved(ops, die, held_ns),
            };
        }
        Ok(true)
    }

    /// Lets `op` go before the collection's next operation.
    fn go_before<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        self.collector.give_way(die);
        self.start(shared, die, op)
    }

    /// Begins a write of the host at point A that overlaps with the collection's write. Returns
    /// `true` if there was one.
    fn write_at_a<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Some(op) = self.next_write_at_a(shared, die) else { return Ok(false) };
        self.collector.count_pipelined_write();
        self.go_before(shared, die, op)?;
        Ok(true)
    }

    /// Returns `true` if the collection can copy the page of `op` next, so that `op` shares the
    /// copy. This page is then the next one that the map moves.
    fn may_prefer<O: Observer>(&self, shared: &mut Shared<O>, die: u32, op: u32) -> bool {
        let PageOp { page, kind, .. } = shared.ops[op];
        self.collector.merges()
            && matches!(kind, Kind::Read | Kind::Write)
            && self.collector.on(die).is_some_and(|it| shared.map.prefer(it.plane, page))
    }

    fn is_at(&self, die: u32, point: Point) -> bool {
        self.collector.on(die).is_some_and(|collection| collection.point == point)
    }

    /// Returns the next page operation that may go before the next operation of a collection.
    fn next_at_point<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Option<u32> {
        let through = self.collector.lets_through(shared, &mut self.waiting, die)?;
        self.next_for(shared, die, Allowed { through, ..Allowed::ALL })
    }

    /// Returns the oldest write, if it may overlap at point A with the collection's program and no
    /// write shares the collection's copy.
    fn next_write_at_a<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Option<u32> {
        let op = Some(self.waiting.oldest_write(die)).filter(|&op| op != NONE)?;
        let is_unmerged = self.collector.on(die).is_some_and(|it| it.merged_write == NONE);
        let PageOp { plane, page, kind, .. } = shared.ops[op];
        if !is_unmerged
            || kind != Kind::Write
            || self.collector.copies_wait(die)
            || !self.collector.is_open(shared, &mut self.waiting, die)
        {
            return None;
        }
        let room = shared.map.host_room(page, plane);
        let goes = room.is_open
            && !self.waiting.read_before(&shared.ops, die, op)
            && self.collector.lets_go_to(shared, op, room);
        goes.then_some(op)
    }

    /// Returns the read that goes first at point A, if programs can be suspended. The die then has
    /// a second buffer that holds the page of the collection, whose program has not begun.
    fn next_read_at_a<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Option<u32> {
        let is_unmerged = self.collector.on(die).is_some_and(|it| it.merged_write == NONE);
        if !self.suspend.program || !is_unmerged || self.collector.copies_wait(die) {
            return None;
        }
        let through = self.collector.lets_through(shared, &mut self.waiting, die)?;
        self.next_for(shared, die, Allowed { reads: true, writes: false, through })
    }

    /// Lets the collection of an idle die copy all pages of its victim as one job, if nothing can
    /// interrupt it. Returns `true` if it does.
    fn begins_chain<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> bool {
        let follows = shared.observer.follows();
        if !self.collects_undisturbed
            || follows == Follows::Steps
            || !shared.map.copies_on_its_own()
        {
            return false;
        }
        let pages = self.collector.copies_all(&*shared.map, die);
        if pages == 0 {
            return false;
        }
        self.flash.begin_chain(&mut shared.clock, die, pages, follows == Follows::Work);
        true
    }

    /// Ends the job of a die that copies all pages of a victim, if all copies are made. Returns
    /// `true` if they are.
    ///
    /// # Errors
    /// The errors of the map.
    #[inline(never)]
    pub fn chain_done<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Some(mut chain) = self.flash.end_chain(&mut shared.clock, die) else {
            return Ok(false);
        };
        self.flash.report().tell(&mut shared.observer);
        chain.tell_copies(&mut shared.observer);
        let plane = self.collector.pages_are_moved(&shared.ops, die);
        if chain.due > 0 {
            shared.map.copy_pages(plane, chain.due)?;
        }
        Ok(true)
    }

    /// Brings all chains of copies up to `until`: the map and the observer are then as if each step
    /// had been an event. Returns the time at which the last of these steps ended, in nanoseconds.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn catch_up<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        until: Position,
    ) -> Result<u64, DriveError> {
        let ended = self.flash.take_all_turns(&shared.clock, until);
        for chain in self.flash.chains_mut() {
            chain.tell_copies(&mut shared.observer);
            let due = std::mem::take(&mut chain.due);
            if due > 0
                && let Some(collection) = self.collector.on(chain.die)
            {
                shared.map.copy_pages(collection.plane, due)?;
            }
        }
        self.flash.report().tell(&mut shared.observer);
        Ok(ended)
    }
}
