//! The suspension of an erase or a program of the cells to serve a request.

use flashgc_drive::error::DriveError;

use super::Scheduler;
use super::serve::Allowed;
use crate::collector::Through;
use crate::config::Counted;
use crate::flash::{Job, Suspended};
use crate::observer::{Observer, Place};
use crate::ops::{Kind, NONE};
use crate::shared::Shared;

impl Scheduler {
    /// Suspends the job of a die's cells for `op`, which waits there, if the rule of suspension
    /// allows it. A job that has reached the largest number of suspensions, or has been suspended for
    /// the longest time, is not suspended again; the first operation that must wait for this reason is reported to the observer.
    pub(super) fn suspend_for<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) {
        let rule = self.suspend;
        let now = shared.now();
        let die_state = self.flash.die(die);
        let job = die_state.cells.job;
        let is_spent = die_state.suspends >= rule.most || die_state.suspended_ns >= rule.longest_ns;
        if die_state.suspended.is_some()
            || !die_state.bus.is_idle()
            || is_spent && die_state.is_awaited
        {
            return;
        }
        let left = die_state.cells.left(now);
        let has_begun = die_state.has_begun(now);
        let (can, least_ns) = match job {
            Job::Erase => (rule.erase, rule.least_erase_ns),
            job if job.programs() => (rule.program, rule.least_program_ns),
            _ => (false, 0),
        };
        let worth = can && left > 0 && (left >= least_ns || !has_begun);
        if !worth || !self.may_interrupt(shared, die, op, job) {
            return;
        }
        if is_spent {
            self.flash.await_end(die);
            shared.observer.not_suspended(job == Job::Erase, left);
            return;
        }
        let Shared { clock, ops, .. } = shared;
        let (mark, lost) = (ops.sent(), (rule.suspend_ns, rule.resume_ns));
        let done = self.flash.suspend(clock, ops, die, mark, lost);
        if let Some(done) = done {
            self.tell(shared, die, &done, Place::Cells);
        }
        match job {
            _ if !has_begun => {}
            Job::Erase => self.suspended_erases += 1,
            _ => self.suspended_programs += 1,
        }
    }

    /// Suspends the job that the cells of a die have just begun, if the rule of suspension allows
    /// it for the oldest waiting read or write. Returns `true` if it did.
    pub(super) fn suspend_for_those_that_wait<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> bool {
        if self.flash.die(die).suspended.is_some() {
            return false;
        }
        let waiting = match self.superblocks.is_some() {
            true => {
                let read = self.first_on_superblock(shared, die, u64::MAX);
                [read.unwrap_or(NONE), NONE]
            }
            false => [self.waiting.oldest_read(die), self.waiting.oldest_write(die)],
        };
        for op in waiting {
            if op != NONE && self.flash.die(die).suspended.is_none() {
                self.suspend_for(shared, die, op);
            }
        }
        self.flash.die(die).suspended.is_some()
    }

    /// Returns `true` if `op` could be served while `job` is suspended.
    fn may_interrupt<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
        job: Job,
    ) -> bool {
        if self.collector.on(self.collector_of(die)).is_some_and(|collection| collection.urgent) {
            return false;
        }
        if shared.ops[op].kind == Kind::Read {
            return !self.waiting.write_before(&shared.ops, die, op);
        }
        let is_next = self.waiting.oldest_write(die) == op;
        // An operation that enters the page buffer does not need the die.
        if self.units_per_program > 1 && self.can_gather(shared, die, op) {
            return false;
        }
        job == Job::Erase && is_next && self.collector.lets_go(shared, op)
    }

    /// Notes that the job of a die is suspended now. Operations that wait already go before it goes on;
    /// later ones do not.
    pub(super) fn is_suspended<O: Observer>(&mut self, shared: &Shared<O>, die: u32) {
        if let Some(suspended) = self.flash.suspended_mut(die) {
            suspended.mark = shared.ops.sent();
        }
    }

    /// Returns the next operation that a die may serve while `job` is suspended, among those whose order
    /// is below `before`. A die of superblocks over several dies serves only reads.
    fn next_while_suspended<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        job: Job,
        before: u64,
    ) -> Option<u32> {
        if self.superblocks.is_some() {
            return self.first_on_superblock(shared, die, before);
        }
        let through = Through { before, ..Through::ALL };
        self.next_for(shared, die, Allowed { reads: true, writes: job == Job::Erase, through })
    }

    /// Chooses the next job of an idle die with a suspended job. First the die serves the
    /// operations that waited when the job was suspended. Then it serves later ones, if the rule of
    /// suspension allows it, or continues the job.
    pub(super) fn while_suspended<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Some(suspended) = self.flash.die(die).suspended else { return Ok(false) };
        let Suspended { job, times, mark, .. } = suspended;
        if let Some(op) = self.next_while_suspended(shared, die, job, mark) {
            return match self.superblocks.is_some() {
                true => self.begin_first_read(shared, die, op),
                false => self.start(shared, die, op),
            };
        }
        let is_in_time = suspended.until(shared.now()) < self.suspend.longest_ns;
        let more = match self.suspend.counted {
            Counted::Suspensions => Some(0),
            Counted::Requests => Some(1).filter(|_| times < self.suspend.most),
        };
        if let Some(more) = more.filter(|_| is_in_time)
            && self.next_while_suspended(shared, die, job, u64::MAX).is_some()
        {
            if let Some(suspended) = self.flash.suspended_mut(die) {
                suspended.times += more;
            }
            self.is_suspended(shared, die);
            return Ok(true);
        }
        self.flash.resume(&mut shared.clock, die);
        Ok(true)
    }

    /// Returns `true` if the job that is suspended on a die programs `page`, so that a buffer of
    /// the die still holds the page's data. In superblocks over dies, the page buffer has the data of
    /// a program until it is over, and a page that is not there is in the cells.
    pub(super) fn holds_data_of<O: Observer>(
        &self,
        shared: &Shared<O>,
        die: u32,
        suspended: Job,
        page: u32,
    ) -> bool {
        let Shared { ops, .. } = shared;
        match suspended {
            _ if self.superblocks.is_some() => false,
            Job::Write(op) | Job::ModifyWrite(op) => ops.chain(op).any(|op| {
                let other = ops[op].page;
                other == page || self.are_in_one_program(shared, other, page)
            }),
            Job::CopyWrite => {
                let mut moving = self.collector.moving(die);
                moving.any(|other| other == page || self.are_in_one_program(shared, other, page))
            }
            _ => false,
        }
    }
}
