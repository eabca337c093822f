//! What a die does next.

use flashgc_ftl::FtlError;
use flashgc_ftl::stepwise::Room;

use super::die::{Die, Job};
use super::engine::TimedDrive;
use super::observe::Observer;
use super::ops::{Kind, NONE, PageOp};
use super::settings::Scheduling;
use crate::counting::DriveError;

/// Which page operations may be served.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Only those that came before the one of this order.
    pub(super) before: u64,
}

impl Allowed {
    pub(super) const ALL: Self = Self { reads: true, writes: true, before: u64::MAX };
}

impl<O: Observer> TimedDrive<O> {
    /// Begins everything that a die can begin now.
    pub(super) fn schedule(&mut self, die: u32) -> Result<(), DriveError> {
        loop {
            let held = &self.dies[die as usize];
            let began = if !held.is_idle() {
                self.overlap(die)?
            } else if held.suspended.is_some() {
                self.while_suspended(die)?
            } else if held.collection.is_some() {
                self.at_point(die)?
            } else if self.is_held_by_unit(die) {
                false
            } else {
                self.serve(die)?
            };
            if !began && !self.suspend_for_those_that_wait(die) {
                break;
            }
        }
        let held = self.is_held_by_unit(die);
        let now = self.now;
        self.dies[die as usize].note(now, held);
        Ok(())
    }

    /// An idle die without a collection serves the next request.
    fn serve(&mut self, die: u32) -> Result<bool, DriveError> {
        let Some(op) = self.next_for(die, Allowed::ALL) else {
            self.rest(die);
            return Ok(false);
        };
        let PageOp { plane, page, kind, .. } = self.ops[op];
        if matches!(kind, Kind::Write | Kind::Modify) && self.needs_collection(die, op) {
            self.layer.close_full(page, plane);
            return self.begin_collection(plane, false);
        }
        self.start(die, op)?;
        // The next has waited long: what was asked for when it came may have left the cache.
        let next = self.dies[die as usize].writes.head;
        if next != NONE {
            self.layer.prefetch_old(self.ops[next].page);
        }
        Ok(true)
    }

    /// A busy die begins what may overlap with what it does.
    fn overlap(&mut self, die: u32) -> Result<bool, DriveError> {
        let held = &self.dies[die as usize];
        if held.collection.is_some() {
            return self.overlap_collection(die);
        }
        if !self.settings.cache_commands || held.suspended.is_some() {
            return Ok(false);
        }
        let kind = match (held.cells.job, held.bus.job) {
            (Job::Idle, Job::Read(_)) if !held.bus.command => Kind::Read,
            (Job::Write(_), Job::Idle) => Kind::Write,
            _ => return Ok(false),
        };
        // With a command time the bus must be free for the command.
        if kind == Kind::Read && self.settings.hardware.command_ns > 0 {
            return Ok(false);
        }
        let Some(op) = self.next_for(die, Allowed::ALL) else { return Ok(false) };
        let next = &self.ops[op];
        if next.kind != kind || (kind == Kind::Write && self.needs_collection(die, op)) {
            return Ok(false);
        }
        self.start(die, op)?;
        Ok(true)
    }

    /// The next page operation that a die may serve.
    pub(super) fn next_for(&mut self, die: u32, allowed: Allowed) -> Option<u32> {
        let (read, write) = (self.dies[die as usize].reads.head, self.first_write(die));
        let first = |head: u32, allows: bool| {
            Some(head).filter(|&op| allows && op != NONE && self.ops[op].order < allowed.before)
        };
        let read = first(read, allowed.reads);
        let write = first(write.unwrap_or(NONE), allowed.writes);
        let Some(write) = write else {
            return read.and_then(|_| self.first_read(die, allowed.before));
        };
        let reads_first = self.settings.scheduling == Scheduling::ReadsFirst;
        if let Some(read) = read {
            let came_first = self.ops[write].order < self.ops[read].order;
            if !reads_first && came_first && self.may_write(die, write) {
                return Some(write);
            }
            if let Some(read) = self.first_read(die, allowed.before) {
                return Some(read);
            }
        }
        self.may_write(die, write).then_some(write)
    }

    /// The first read, of those that came before `before`, that no earlier write of its page holds up.
    pub(super) fn first_read(&mut self, die: u32, before: u64) -> Option<u32> {
        let Self { dies, ops, .. } = self;
        let Die { reads, writes, .. } = &mut dies[die as usize];
        reads.first(ops, before, |op| writes.has_before(ops, op.order, op.page))
    }

    /// Whether a write or TRIM may go now, as far as blocks are concerned. Counts one that waits
    /// because none is erased.
    pub(super) fn may_write(&mut self, die: u32, op: u32) -> bool {
        let PageOp { plane, page, kind, .. } = self.ops[op];
        if kind == Kind::Trim {
            return true;
        }
        let room = self.layer.host_room(page, plane);
        if self.collects_for(die, plane, room) {
            return true;
        }
        if self.waits_in_s2(op) {
            return false;
        }
        if !room.is_open && !self.ops[op].starved {
            self.ops[op].starved = true;
            self.totals.collections.starved += 1;
        }
        room.is_open
    }

    /// Whether a write begins a collection.
    fn needs_collection(&self, die: u32, op: u32) -> bool {
        let PageOp { plane, page, .. } = self.ops[op];
        self.page_needs_collection(die, page, plane)
    }

    /// Whether a write of `page` to `plane` begins a collection.
    pub(super) fn page_needs_collection(&self, die: u32, page: u32, plane: u32) -> bool {
        self.collects_for(die, plane, self.layer.host_room(page, plane))
    }

    /// Whether a write that finds this `room` in `plane` begins a collection.
    #[inline]
    fn collects_for(&self, die: u32, plane: u32, room: Room) -> bool {
        if room.pages > 0 && room.is_open {
            return false;
        }
        self.may_collect(die, plane) && (self.is_low(plane) || room.pages > 0)
    }

    /// Whether neither a die nor the unit of its `plane` is collecting.
    pub(super) fn may_collect(&self, die: u32, plane: u32) -> bool {
        let unit = self.units.of_plane(plane);
        self.dies[die as usize].collection.is_none() && !self.units.is_collecting(unit)
    }

    /// Whether so few blocks are erased that a write to `plane` that needs one begins a collection.
    pub(super) fn is_low(&self, plane: u32) -> bool {
        let unit = self.units.of_plane(plane);
        self.free_blocks(unit) <= self.settings.collecting.low
            || self.layer.free_blocks(plane) <= self.layer.reserved_blocks()
    }

    /// Serves a page operation that waits at an idle die, and those that go with it.
    pub(super) fn start(&mut self, die: u32, op: u32) -> Result<(), DriveError> {
        self.take_out(die, op);
        self.served_in_s2(op);
        let PageOp { kind, number, page, .. } = self.ops[op];
        match kind {
            Kind::Trim => {
                self.layer.trim(page)?;
                self.observer.trimmed(page);
                self.complete(die, op);
                Ok(())
            }
            Kind::Read => {
                let from = self.layer.locate(page);
                self.observer.read(number, page, from);
                match from {
                    None => {
                        self.complete(die, op);
                        Ok(())
                    }
                    Some(_) if self.is_in_suspended_program(die, page) => {
                        self.begin_on_bus(die, Job::Buffer(op), 1)
                    }
                    Some(_) => {
                        self.gather(die, op, Kind::Read)?;
                        self.begin_in_cells(die, Job::Read(op));
                        Ok(())
                    }
                }
            }
            Kind::Modify if self.layer.locate(page).is_some() => {
                self.begin_in_cells(die, Job::ModifyRead(op));
                Ok(())
            }
            Kind::Write | Kind::Modify => {
                self.write(op)?;
                let more = self.gather(die, op, Kind::Write)?;
                self.begin_on_bus(die, Job::Write(op), 1 + more)
            }
        }
    }

    /// Gives a write its physical page.
    pub(super) fn write(&mut self, op: u32) -> Result<(), DriveError> {
        let PageOp { page, plane, .. } = self.ops[op];
        let Some(ppn) = self.layer.write(page, plane)? else {
            return Err(FtlError::NoSpace("the pool of erased blocks is empty".to_string()).into());
        };
        let source = self.source_of(op);
        self.observer.programmed(page, ppn, source);
        self.written(op)
    }

    /// Takes a page operation out of its queue to be served now.
    fn take_out(&mut self, die: u32, op: u32) {
        self.unqueue(die, op);
        self.count_blocked(die, op);
    }

    /// Puts a partial write whose old data are read back into its queue: what is left is to write
    /// the whole page.
    pub(super) fn put_back(&mut self, die: u32, op: u32) {
        let Self { dies, ops, .. } = self;
        let held = &mut dies[die as usize];
        ops[op].kind = Kind::Write;
        ops[op].blocked_ns = held.held_until(self.now) - ops[op].blocked_ns;
        held.writes.put_back(ops, op);
    }

    /// Takes a page operation out of its queue.
    pub(super) fn unqueue(&mut self, die: u32, op: u32) {
        let Self { dies, ops, .. } = self;
        let held = &mut dies[die as usize];
        if ops[op].kind == Kind::Read {
            held.reads.take(ops, op);
        } else {
            held.writes.take(ops, op);
            held.reads.may_go(ops, ops[op].page);
        }
    }

    /// A page operation has waited until now.
    pub(super) fn count_blocked(&mut self, die: u32, op: u32) {
        let held = self.dies[die as usize].held_until(self.now);
        self.ops[op].blocked_ns = held - self.ops[op].blocked_ns;
    }

    /// Operations of the same kind on other planes join `first` in one multi-plane operation.
    /// Returns how many.
    fn gather(&mut self, die: u32, first: u32, kind: Kind) -> Result<u64, DriveError> {
        let planes = self.settings.hardware.planes;
        let held = &self.dies[die as usize];
        let alone = held.collection.is_some() || held.suspended.is_some();
        if !self.settings.multi_plane || planes == 1 || alone {
            return Ok(0);
        }
        let mut used = vec![false; planes as usize];
        used[(self.ops[first].plane % planes) as usize] = true;
        let mut last = first;
        let mut joined = 0;
        let queue = if kind == Kind::Read { &held.reads } else { &held.writes };
        let mut next = queue.head;
        // Whoever is passed over closes its plane: operations on one plane stay in order.
        while next != NONE && used.iter().any(|used| !used) {
            let op = next;
            let PageOp { page, plane, number, order, next: after, kind: its, .. } = self.ops[op];
            next = after;
            let held = &mut self.dies[die as usize];
            let others = if kind == Kind::Read { &mut held.writes } else { &mut held.reads };
            let was_used = std::mem::replace(&mut used[(plane % planes) as usize], true);
            let fits = !was_used
                && its == kind
                && !others.has_before(&self.ops, order, page)
                && match kind {
                    Kind::Read => self.layer.locate(page).is_some(),
                    _ => !self.needs_collection(die, op) && self.may_write(die, op),
                };
            if !fits {
                continue;
            }
            self.take_out(die, op);
            match kind {
                Kind::Read => {
                    let from = self.layer.locate(page);
                    self.observer.read(number, page, from);
                }
                _ => self.write(op)?,
            }
            self.ops[last].next = op;
            last = op;
            joined += 1;
        }
        Ok(joined)
    }
}
