//! Suspending an erase or a program of the cells to serve a request.

use super::die::{Die, Job, Suspended};
use super::engine::TimedDrive;
use super::observe::Observer;
use super::ops::{Kind, NONE, PageOp};
use super::schedule::Allowed;
use crate::counting::DriveError;

impl<O: Observer> TimedDrive<O> {
    /// Suspends what the cells of a die do, if `op`, which waits there, is worth it.
    pub(super) fn suspend_for(&mut self, die: u32, op: u32) {
        let rule = self.settings.suspend;
        if !rule.erase && !rule.program {
            return;
        }
        let held = &self.dies[die as usize];
        let job = held.cells.job;
        if held.suspended.is_some() || !held.bus.is_idle() || held.suspends >= rule.most {
            return;
        }
        let left = (held.cells.begin + held.cells.length).saturating_sub(self.now);
        let has_begun = self.now > held.cells.begin || held.suspends > 0;
        let (can, least_ns) = match job {
            Job::Erase => (rule.erase, rule.least_erase_ns),
            job if job.programs() => (rule.program, rule.least_program_ns),
            _ => (false, 0),
        };
        let worth = can && left > 0 && (left >= least_ns || !has_begun);
        if !worth || !self.may_interrupt(die, op, job) {
            return;
        }
        let held = &self.dies[die as usize];
        let times = held.suspends + 1;
        if let Some(op) = job.op() {
            self.ops[op].cell_ns += self.now - held.cells.begin;
        }
        let left = self.stop_cells(die);
        let mark = self.ops.sent;
        let held = &mut self.dies[die as usize];
        // Its command is given after what goes first: nothing is suspended.
        if !has_begun {
            held.suspended = Some(Suspended { job, left, times, mark });
            return;
        }
        held.suspended = Some(Suspended { job, left: left + rule.resume_ns, times, mark });
        let counts = &mut self.totals;
        if job == Job::Erase {
            counts.suspended_erases += 1;
        } else {
            counts.suspended_programs += 1;
        }
        if rule.suspend_ns > 0 {
            self.begin_cells(die, Job::Suspend, rule.suspend_ns);
        }
    }

    /// Suspends what the cells of a die have just begun, if one that waits is worth it; whether it
    /// did.
    pub(super) fn suspend_for_those_that_wait(&mut self, die: u32) -> bool {
        if !self.settings.suspend.erase && !self.settings.suspend.program {
            return false;
        }
        let Die { reads, writes, suspended, .. } = &self.dies[die as usize];
        if suspended.is_some() {
            return false;
        }
        for op in [reads.head, writes.head] {
            if op != NONE && self.dies[die as usize].suspended.is_none() {
                self.suspend_for(die, op);
            }
        }
        self.dies[die as usize].suspended.is_some()
    }

    /// Whether `op` could be served while `job` is suspended.
    fn may_interrupt(&mut self, die: u32, op: u32, job: Job) -> bool {
        let urgent = self.dies[die as usize].collection.as_ref().is_some_and(|c| c.urgent);
        if urgent {
            return false;
        }
        match self.ops[op].kind {
            Kind::Read => {
                let PageOp { order, page, .. } = self.ops[op];
                !self.dies[die as usize].writes.has_before(&self.ops, order, page)
            }
            _ => {
                let is_next = self.dies[die as usize].writes.head == op;
                job == Job::Erase && is_next && self.may_write(die, op)
            }
        }
    }

    /// The suspended operation has let go of the die: what waits until now goes before it.
    pub(super) fn let_go(&mut self, die: u32) {
        let mark = self.ops.sent;
        if let Some(suspended) = &mut self.dies[die as usize].suspended {
            suspended.mark = mark;
        }
    }

    /// An idle die with a suspended operation serves those who waited, and then goes on with it.
    /// Those who came meanwhile count as another suspend.
    pub(super) fn while_suspended(&mut self, die: u32) -> Result<bool, DriveError> {
        let Some(Suspended { job, left, times, mark }) = self.dies[die as usize].suspended else {
            return Ok(false);
        };
        let allowed = |before: u64| Allowed { reads: true, writes: job == Job::Erase, before };
        if let Some(op) = self.next_for(die, allowed(mark)) {
            self.start(die, op)?;
            return Ok(true);
        }
        let rule = self.settings.suspend;
        if times < rule.most && self.next_for(die, allowed(u64::MAX)).is_some() {
            let mark = self.ops.sent;
            self.dies[die as usize].suspended =
                Some(Suspended { job, left, times: times + 1, mark });
            return Ok(true);
        }
        self.dies[die as usize].suspended = None;
        self.begin_cells(die, job, left);
        self.dies[die as usize].suspends = times;
        Ok(true)
    }

    /// Whether the program of `page` is suspended on this die: its buffer holds the data.
    pub(super) fn is_in_suspended_program(&self, die: u32, page: u32) -> bool {
        let held = &self.dies[die as usize];
        match held.suspended.map(|suspended| suspended.job) {
            Some(Job::Write(op) | Job::ModifyWrite(op)) => {
                self.chain(op).any(|op| self.ops[op].page == page)
            }
            Some(Job::CopyWrite) => {
                let moving = held.collection.as_ref().and_then(|collection| collection.moving);
                moving.is_some_and(|moving| moving.page == page)
            }
            _ => false,
        }
    }
}
