//! A die with a collection: at its preemption points A and B, operations of the host go first or
//! overlap with its own.

use flashgc_drive::error::DriveError;

use super::Scheduler;
use crate::collector::{Point, Step};
use crate::flash::{Die, Job};
use crate::measure::Observer;
use crate::ops::{Kind, PageOp};
use crate::shared::Shared;

impl Scheduler {
    /// An idle die with a collection between two of its operations: the host may go first.
    pub(super) fn at_point<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        if let Some(length) = self.collector.pause(die) {
            self.flash.begin_cells(&mut shared.clock, die, Job::Poll, length);
            return Ok(true);
        }
        if !self.collector.gives_way() {
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
            Some(op) if self.may_prefer(shared, die, op) => {
                self.collector.give_way(die);
                self.waiting.take(&mut shared.ops, die, op);
                self.collector.join(shared, die, op);
                self.go_on(shared, die)
            }
            Some(op) => self.go_before(shared, die, op),
        }
    }

    /// Pipelining: while the last read that is served at B goes over the bus, the collection reads
    /// its next page; while a write that is served at A is programmed, the next or the collection's
    /// own goes over the bus.
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
            // With a command time the bus must be free for the command.
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

    /// Whether an operation that comes to a die shares the move of its page that is under way there.
    #[inline]
    pub(super) fn joins<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) -> bool {
        if !self.collector.merges() {
            return false;
        }
        let programs = self.flash.die(die).programs();
        let joins = self.collector.can_join(&shared.ops, &mut self.waiting, die, op, programs);
        if joins {
            self.collector.join(shared, die, op);
        }
        joins
    }

    /// The collection's next operation begins.
    fn go_on<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Result<bool, DriveError> {
        if self.begins_chain(shared, die) {
            return Ok(true);
        }
        let step = self.collector.go_on(shared, die)?;
        let cells_ns = match step {
            Step::Job(job) => self.cell_time(shared, die, job),
            _ => 0,
        };
        let Shared { clock, ops, .. } = shared;
        // Comparisons are foreseen more often than a jump.
        if step == Step::Job(Job::CopyWrite) {
            let units = self.units_per_page.into();
            self.flash.begin_on_bus(clock, ops, die, Job::CopyWrite, units, cells_ns);
        } else if let Step::Job(job) = step {
            self.flash.begin_in_cells(clock, ops, die, job, cells_ns);
        } else if step != Step::Nothing {
            let held_ns = self.flash.die(die).held_until(clock.now());
            self.done = match step {
                Step::AtHand => self.collector.page_is_read(ops, die, held_ns),
                _ => self.collector.page_is_moved(ops, die, held_ns),
            };
        }
        Ok(true)
    }

    /// `op` goes before the collection's next operation.
    fn go_before<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        self.collector.give_way(die);
        self.start(shared, die, op)
    }

    /// At A, a write whose transfer and program overlap with the collection's goes first; whether
    /// there was one.
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

    /// Whether a collection may move the page of `op` next, so that `op` shares the move.
    fn may_prefer<O: Observer>(&self, shared: &mut Shared<O>, die: u32, op: u32) -> bool {
        let PageOp { page, kind, .. } = shared.ops[op];
        self.collector.merges()
            && matches!(kind, Kind::Read | Kind::Write)
            && self.collector.on(die).is_some_and(|it| shared.map.prefer(it.plane, page))
    }

    fn is_at(&self, die: u32, point: Point) -> bool {
        self.collector.on(die).is_some_and(|collection| collection.point == point)
    }
}
