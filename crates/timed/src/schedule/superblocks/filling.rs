//! The writes of the host to superblocks over several dies. They enter the page buffer in order. A
//! program that is full waits at its die. The host fills no further program while more than
//! [`MOST_WAITING`] wait at the die that it filled last, so the buffer has a bound.

use flashgc_drive::error::DriveError;

use super::{Scheduler, Superblocks};
use crate::collector::Goal;
use crate::flash::Job;
use crate::observer::Observer;
use crate::ops::{BUFFER, Kind, NONE, PageOp};
use crate::shared::Shared;

/// The programs of one kind that may wait at the die that was filled last, when the next one is
/// filled.
pub(super) const MOST_WAITING: usize = 2;

impl Scheduler {
    /// Lets the first operation that waits with the writes of `plane` go on, if it can: it enters the
    /// page buffer, discards its page, begins a collection, or flushes. Returns `true` if it did.
    pub(super) fn fill<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
    ) -> Result<bool, DriveError> {
        let lead = self.superblocks().rows.die(plane, 0);
        let op = self.waiting.oldest_write(lead);
        if op == NONE {
            return Ok(false);
        }
        let PageOp { page, kind, .. } = shared.ops[op];
        if kind == Kind::Flush {
            return Ok(self.flush_superblock(shared, plane, op));
        }
        if self.waiting.read_before(&shared.ops, lead, op) || self.waits_for_old(shared, op) {
            return Ok(false);
        }
        if kind == Kind::Trim {
            self.leave_queue(shared, lead, op);
            shared.map.trim(page)?;
            shared.observer.trimmed(page);
            self.serve_readers(shared, lead, page);
            self.done = op;
            return Ok(true);
        }
        let now = shared.now();
        let is_held = self.collector.is_under_way(plane) && !self.collector.gives_way(plane);
        if is_held || !self.collector.lets_go(shared, op) {
            self.superblocks().filling[plane as usize].blocked_since.get_or_insert(now);
            return Ok(false);
        }
        if self.collector.is_needed_for(shared, op) {
            shared.map.close_full(page, plane);
            let has_begun = self.collector.begin(shared, plane, Goal::Write)?.is_some();
            if has_begun {
                self.begin_moves(shared, plane)?;
            }
            return Ok(has_begun);
        }
        let Superblocks { lines, filling, .. } = self.superblocks();
        let filling = &mut filling[plane as usize];
        let last = filling.last.map(|die| &lines[die as usize]);
        if let Some(line) = last.filter(|line| line.programs.len() > MOST_WAITING) {
            match line.collects() {
                true => drop(filling.blocked_since.get_or_insert(now)),
                false => filling.is_free(now),
            }
            return Ok(false);
        }
        self.leave_queue(shared, lead, op);
        self.collector.served(&shared.ops[op]);
        if self.put(shared, op)? > 0 {
            let ppn = shared.map.locate(page).expect("the page has just been written");
            let first = ppn - shared.map.unit_in_program(ppn);
            self.program_is_full(shared, first, Some(page), op, None);
        } else {
            self.done = op;
        }
        self.serve_readers(shared, lead, page);
        Ok(true)
    }

    /// Takes an operation out of the queue of writes, as it goes on now.
    fn leave_queue<O: Observer>(&mut self, shared: &mut Shared<O>, lead: u32, op: u32) {
        let now = shared.now();
        let plane = shared.ops[op].plane as usize;
        self.waiting.take(&mut shared.ops, lead, op);
        let superblocks = self.superblocks();
        superblocks.changes.remove(&op);
        let filling = &mut superblocks.filling[plane];
        filling.is_free(now);
        shared.ops[op].blocked_ns = filling.blocked_ns - shared.ops[op].blocked_ns;
    }

    /// Serves the reads of `page` that have waited for the operation on it that goes on now: their data
    /// are in memory, or the page has none.
    fn serve_readers<O: Observer>(&mut self, shared: &mut Shared<O>, lead: u32, page: u32) {
        for (op, die) in self.waiting.take_reads(&mut shared.ops, lead, page) {
            let held_ns = self.flash.die(die).held_until(shared.now());
            shared.ops[op].blocked_ns = held_ns - shared.ops[op].blocked_ns;
            let plane = shared.ops[op].plane as usize;
            self.superblocks().filling[plane].at_hand.push_back(op);
            self.ready.add(lead);
        }
    }

    /// Programs the data of the host that wait in the page buffer of `plane`, for the flush `op`. The
    /// flush is done when all programs of the host's data are over; a flush that nothing waits for is
    /// done at once. Returns `true` if it is done.
    fn flush_superblock<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
        op: u32,
    ) -> bool {
        if !shared.ops[op].is_programmed {
            shared.ops[op].is_programmed = true;
            while let Some(first) = shared.map.program_host_data(plane) {
                self.program_is_full(shared, first, None, NONE, None);
            }
        }
        let waits = shared.ops[op].request != BUFFER;
        if waits && self.superblocks().filling[plane as usize].left > 0 {
            return false;
        }
        let lead = self.superblocks().rows.die(plane, 0);
        self.leave_queue(shared, lead, op);
        self.done = op;
        true
    }

    /// Lets the old data of a partial write be read, if they lie on flash.
    pub(super) fn read_old<O: Observer>(&mut self, shared: &Shared<O>, op: u32) {
        let Some(ppn) = self.place_on_flash(shared, shared.ops[op].page) else { return };
        let superblocks = self.superblocks();
        let die = superblocks.die_of(&*shared.map, ppn);
        superblocks.changes.insert(op, false);
        superblocks.lines[die as usize].changes.push_back(op);
        self.ready.add(die);
    }

    /// Returns `true` if the first operation of a queue of writes waits for its old data. If nothing
    /// has read them yet, lets them be read.
    fn waits_for_old<O: Observer>(&mut self, shared: &Shared<O>, op: u32) -> bool {
        match self.superblocks().changes.get(&op) {
            Some(is_read) => !is_read,
            None if shared.ops[op].kind == Kind::Modify => {
                self.read_old(shared, op);
                self.superblocks().changes.contains_key(&op)
            }
            None => false,
        }
    }

    /// Notes that the old data of a partial write are at hand. From now on it waits for collections only.
    pub(super) fn old_is_read<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) {
        let (plane, now) = (shared.ops[op].plane as usize, shared.now());
        let superblocks = self.superblocks();
        superblocks.changes.insert(op, true);
        shared.ops[op].blocked_ns = superblocks.filling[plane].blocked_until(now);
    }

    /// Reads the old data of a partial write. If they have moved, the read waits at their new die, or
    /// is over if they are in memory. Always returns `true`.
    pub(super) fn begin_change<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        self.superblocks().lines[die as usize].changes.pop_front();
        let Some(ppn) = self.place_on_flash(shared, shared.ops[op].page) else {
            self.old_is_read(shared, op);
            return Ok(true);
        };
        let now_on = self.superblocks().die_of(&*shared.map, ppn);
        if now_on != die {
            self.superblocks().lines[now_on as usize].changes.push_back(op);
            self.ready.add(now_on);
            return Ok(true);
        }
        shared.notes_read(op);
        self.begin_at(shared, die, Job::ModifyRead(op), ppn);
        Ok(true)
    }
}
