//! The choice of the next operation among those that wait at a die, and the three ways to serve it:
//! alone, together with operations on other planes, or while another operation is under way.

use flashgc_drive::error::DriveError;
use flashgc_ftl::FtlError;

use super::Scheduler;
use crate::clock::{Event, NEVER};
use crate::collector::{Goal, Point, Through};
use crate::config::Scheduling;
use crate::flash::{Job, Suspended};
use crate::observer::Observer;
use crate::ops::{Kind, NONE, PageOp};
use crate::shared::Shared;

/// The largest number of waiting reads of a die that are searched for reads of the same flash page.
const MOST_LOOKED_AT: usize = 256;

/// Marks a plane that no further operation may join. No operation has this place.
const CLOSED: u32 = NONE - 1;

/// The page operations that may be served.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) through: Through,
}

impl Allowed {
    pub(super) const ALL: Self = Self { reads: true, writes: true, through: Through::ALL };
}

impl Scheduler {
    /// Returns the next page operation that a die may serve.
    pub(super) fn next_for<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        allowed: Allowed,
    ) -> Option<u32> {
        let ops = &shared.ops;
        let before = allowed.through.before;
        let read = self.waiting.oldest_read(die);
        let write = self.collector.first_write(ops, &mut self.waiting, die);
        let first = |head: u32, allows: bool| {
            Some(head).filter(|&op| allows && op != NONE && ops[op].order < before)
        };
        let read = first(read, allowed.reads);
        let write = first(write.unwrap_or(NONE), allowed.writes);
        let Some(write) = write else {
            return read.and_then(|_| self.waiting.first_read(ops, die, before));
        };
        if let Some(read) = read {
            let came_first = ops[write].order < ops[read].order;
            let writes_may_go_first = self.rule != Scheduling::ReadsFirst && came_first;
            if writes_may_go_first && self.lets_go(shared, write, &allowed) {
                return Some(write);
            }
            let first_read = self.waiting.first_read(&shared.ops, die, before);
            if first_read.is_some() {
                return first_read;
            }
        }
        self.lets_go(shared, write, &allowed).then_some(write)
    }

    /// Returns `true` if the collector lets a write go. If the room for it is known, it is not
    /// looked up again.
    #[inline]
    fn lets_go<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        write: u32,
        allowed: &Allowed,
    ) -> bool {
        match allowed.through.write {
            Some((oldest, room)) if oldest == write => {
                self.collector.lets_go_to(shared, write, room)
            }
            _ => self.collector.lets_go(shared, write),
        }
    }

    /// Chooses the next job of an idle die that has no collection: it serves the next operation,
    /// begins a collection that the operation needs, or rests. Returns `true` if a job has begun.
    pub(super) fn serve<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Some(op) = self.next_for(shared, die, Allowed::ALL) else {
            self.rest(shared, die);
            return Ok(false);
        };
        let PageOp { plane, page, .. } = shared.ops[op];
        if shared.ops[op].writes() && self.collector.is_needed_for(shared, op) {
            shared.map.close_full(page, plane);
            let Some(begun) = self.collector.begin(shared, plane, Goal::Write)? else {
                return Ok(false);
            };
            self.look_at(begun);
            return Ok(true);
        }
        self.start(shared, die, op)?;
        // The map entries of the next operations may have left the processor's cache. For a read
        // the entry is prefetched; for the write after next, too, and then, one operation later,
        // the data that the entry points to.
        let next = self.waiting.oldest_write(die);
        if next != NONE {
            let PageOp { page, next: after, .. } = shared.ops[next];
            shared.map.prefetch_old(page);
            if after != NONE {
                shared.map.prefetch(shared.ops[after].page);
            }
        }
        let next = self.waiting.oldest_read(die);
        if next != NONE {
            shared.map.prefetch(shared.ops[next].page);
        }
        Ok(true)
    }

    /// Sets the timer after which a die without work collects.
    fn rest<O: Observer>(&self, shared: &mut Shared<O>, die: u32) {
        if let Some(after_ns) = self.idle_ns {
            let clock = &mut shared.clock;
            let writes_wait = self.waiting.oldest_write(die) != NONE;
            if !writes_wait && clock.time_of(Event::Idle(die)) == NEVER {
                clock.set(Event::Idle(die), clock.now() + after_ns);
            }
        }
    }

    /// Begins operations on a busy die that may overlap with its job.
    pub(super) fn overlap<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        if self.collector.is_under_way(die) {
            return self.overlap_collection(shared, die);
        }
        let die_state = self.flash.die(die);
        if !self.cache_commands || die_state.suspended.is_some() {
            return Ok(false);
        }
        let kind = match (die_state.cells.job, die_state.bus.job) {
            (Job::Idle, Job::Read(_)) if !die_state.bus.command => Kind::Read,
            (Job::Write(_), Job::Idle) => Kind::Write,
            _ => return Ok(false),
        };
        // If commands take time on the bus, the bus must be free for the command.
        if kind == Kind::Read && self.flash.has_commands() {
            return Ok(false);
        }
        match self.next_for(shared, die, Allowed::ALL) {
            Some(op) if shared.ops[op].kind == kind && !self.needs_collection(shared, op) => {
                self.start(shared, die, op)
            }
            _ => Ok(false),
        }
    }

    /// Returns `true` if an operation is a write that begins a collection.
    fn needs_collection<O: Observer>(&self, shared: &Shared<O>, op: u32) -> bool {
        let PageOp { plane, page, .. } = shared.ops[op];
        shared.ops[op].writes() && self.collector.is_needed(&*shared.map, page, plane)
    }

    /// Serves a page operation that waits at a die, and those that can be served together with it.
    /// Always returns `true`.
    pub(super) fn start<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        self.take_out(shared, die, op);
        self.collector.served(&shared.ops[op]);
        let PageOp { kind, page, .. } = shared.ops[op];
        // The processor predicts comparisons better than the jump of a `match`.
        if kind == Kind::Trim || kind == Kind::Flush {
            return self.start_without_data(shared, die, op);
        }
        match kind {
            Kind::Read => {
                let from = shared.reads(op);
                if from.is_none_or(|ppn| self.is_buffered(shared, ppn)) {
                    self.done = op;
                } else if let Some(Suspended { job, .. }) = self.flash.die(die).suspended
                    && self.holds_data_of(shared, die, job, page)
                {
                    let Shared { clock, ops, .. } = shared;
                    if self.flash.begin_on_bus(clock, ops, die, Job::Buffer(op), 1, 0) {
                        self.done = op;
                    }
                } else {
                    shared.notes_read(op);
                    self.gather(shared, die, op)?;
                    let cells_ns = self.cell_time(shared, die, Job::Read(op));
                    let Shared { clock, ops, .. } = shared;
                    self.flash.begin_in_cells(clock, ops, die, Job::Read(op), cells_ns);
                }
            }
            Kind::Modify if self.is_on_flash(shared, page) => {
                let job = Job::ModifyRead(op);
                shared.notes_read(op);
                let cells_ns = self.cell_time(shared, die, job);
                self.flash.begin_in_cells(&mut shared.clock, &mut shared.ops, die, job, cells_ns);
            }
            _ => {
                let filled = self.put(shared, op)?;
                if filled == 0 {
                    self.done = op;
                    return Ok(true);
                }
                let others = self.gather(shared, die, op)?;
                let units = u64::from(filled) + others;
                if others > 0 {
                    self.joined.units += units;
                }
                let cells_ns = self.cell_time(shared, die, Job::Write(op));
                self.follow_with_passes(shared, die, Job::Write(op));
                let Shared { clock, ops, .. } = shared;
                self.flash.begin_on_bus(clock, ops, die, Job::Write(op), units, cells_ns);
            }
        }
        Ok(true)
    }

    /// Returns `true` if the data at `ppn` wait in the page buffer.
    pub(super) fn is_buffered<O: Observer>(&self, shared: &Shared<O>, ppn: u32) -> bool {
        self.units_per_program > 1 && shared.map.is_buffered(ppn)
            || self.superblocks.as_ref().is_some_and(|them| them.holds(&*shared.map, ppn))
            || self.holds_for_pass(shared, ppn)
    }

    /// Returns the time that the cells of a die work on a job that begins now.
    #[inline(always)]
    pub(super) fn cell_time<O: Observer>(&mut self, shared: &Shared<O>, die: u32, job: Job) -> u64 {
        match self.flash.is_uniform() {
            true => self.flash.times().of(job),
            false => self.cell_time_by_site(shared, die, job),
        }
    }

    /// Serves a TRIM or a flush.
    #[inline(never)]
    fn start_without_data<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        let PageOp { kind, page, .. } = shared.ops[op];
        if kind == Kind::Trim {
            shared.map.trim(page)?;
            shared.observer.trimmed(page);
            self.done = op;
        } else if !self.flush(shared, die, op) {
            self.done = op;
        }
        Ok(true)
    }

    /// Writes the page of a partial write after the read of its old data. Returns the write if it
    /// is done at once, because its page entered the page buffer; else [`NONE`].
    #[inline(never)]
    pub(super) fn write_back<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<u32, DriveError> {
        let PageOp { page, plane, kind, .. } = shared.ops[op];
        if kind == Kind::Trim {
            // The host discarded the page, which was in the write cache, during the read.
            shared.map.trim(page)?;
            shared.observer.trimmed(page);
            return Ok(op);
        }
        if shared.map.can_write(page, plane) {
            let filled = self.put(shared, op)?;
            if filled == 0 {
                return Ok(op);
            }
            let cells_ns = self.cell_time(shared, die, Job::ModifyWrite(op));
            self.follow_with_passes(shared, die, Job::ModifyWrite(op));
            let Shared { clock, ops, .. } = shared;
            self.flash.begin_on_bus(clock, ops, die, Job::ModifyWrite(op), filled.into(), cells_ns);
            return Ok(NONE);
        }
        // During the read another write took the free place, or the page's class has changed. The
        // write waits again.
        let held_ns = self.flash.die(die).held_until(shared.now());
        let operation = &mut shared.ops[op];
        operation.kind = Kind::Write;
        operation.blocked_ns = held_ns - operation.blocked_ns;
        self.waiting.put_back(&mut shared.ops, die, op);
        Ok(NONE)
    }

    /// Takes a page operation out of its queue, as it is served now.
    #[inline(always)]
    pub(super) fn take_out<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) {
        let held_ns = self.flash.die(die).held_until(shared.now());
        self.waiting.take(&mut shared.ops, die, op);
        let operation = &mut shared.ops[op];
        debug_assert!(operation.blocked_ns <= held_ns);
        operation.blocked_ns = held_ns - operation.blocked_ns;
    }

    /// Joins waiting operations to `first`, a read or a write that is served now. Operations of the
    /// same kind on other planes make one multi-plane operation. Reads of a flash page that is read
    /// anyway join, too. Returns the units of the programs besides the first.
    #[inline(always)]
    fn gather<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        first: u32,
    ) -> Result<u64, DriveError> {
        let planes = self.planes_per_die;
        // At point A the buffers of the planes hold pages of the collection.
        let is_alone = !self.multi_plane
            || planes == 1
            || self.collector.on(die).is_some_and(|collection| collection.point != Point::B)
            || self.flash.die(die).suspended.is_some();
        if is_alone && self.units_per_program == 1 {
            return Ok(0);
        }
        self.gather_waiting(shared, die, first, is_alone)
    }

    /// Joins waiting operations to `first` as [`Scheduler::gather`] does. If `is_alone`, no
    /// operation on another plane joins.
    #[inline(never)]
    fn gather_waiting<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        first: u32,
        is_alone: bool,
    ) -> Result<u64, DriveError> {
        let kind = if shared.ops[first].kind == Kind::Read { Kind::Read } else { Kind::Write };
        let planes = self.planes_per_die;
        let has_units = kind == Kind::Read && self.units_per_page > 1;
        if is_alone && !has_units {
            return Ok(0);
        }
        // For each plane, the operation that joined last; `NONE` if no operation has joined yet. If
        // only one plane may take part, all entries are `first`.
        let mut of_plane = vec![if is_alone { first } else { NONE }; planes as usize];
        of_plane[(shared.ops[first].plane % planes) as usize] = first;
        let mut last = first;
        let mut units = 0;
        let mut next = self.waiting.oldest(die, kind);
        let mut looked_at = 0;
        // An operation that does not fit closes its plane, as operations on one plane stay in
        // order.
        while next != NONE && (of_plane.contains(&NONE) || has_units && looked_at < MOST_LOOKED_AT)
        {
            looked_at += 1;
            let op = next;
            let PageOp { page, plane, next: after, kind: its, .. } = shared.ops[op];
            next = after;
            let at = (plane % planes) as usize;
            let before = std::mem::replace(&mut of_plane[at], op);
            let fits = its == kind
                && match kind {
                    Kind::Read => {
                        let is_new = before == NONE && self.is_on_flash(shared, page);
                        let other = (before < CLOSED).then(|| shared.ops[before].page);
                        (is_new
                            || other.is_some_and(|other| self.are_in_one_page(shared, other, page)))
                            && !self.waiting.write_before(&shared.ops, die, op)
                    }
                    _ => {
                        before == NONE
                            && !self.waiting.read_before(&shared.ops, die, op)
                            && !self.needs_collection(shared, op)
                            && self.may_join(shared, first, op)
                    }
                };
            if !fits {
                of_plane[at] = if before == NONE { CLOSED } else { before };
                continue;
            }
            self.take_out(shared, die, op);
            if kind == Kind::Read {
                shared.reads(op);
                shared.notes_read(op);
            } else {
                self.collector.served(&shared.ops[op]);
                let filled = self.put(shared, op)?;
                units += u64::from(filled);
                if filled == 0 {
                    of_plane[at] = NONE; // its program is not full: the next write goes there too
                }
            }
            shared.ops[last].next = op;
            last = op;
        }
        Ok(units)
    }
}

impl Scheduler {
    /// Returns `true` if the blocks allow the write `op` to be programmed together with `first`. Cells
    /// that hold one bit and others are not programmed together, as their times differ.
    fn may_join<O: Observer>(&mut self, shared: &mut Shared<O>, first: u32, op: u32) -> bool {
        if shared.slc.is_none() || shared.ops[op].takes_no_page() {
            return self.collector.lets_go(shared, op);
        }
        let PageOp { plane, page, .. } = shared.ops[op];
        let room = shared.map.host_room(page, plane);
        room.in_slc == shared.ops[first].in_slc && self.collector.lets_join(shared, op, room)
    }
}

/// Gives a write its physical page. Returns the place of that page.
#[inline(always)]
pub(super) fn write<O: Observer>(shared: &mut Shared<O>, op: u32) -> Result<u32, DriveError> {
    let PageOp { page, plane, .. } = shared.ops[op];
    let Some(ppn) = shared.map.write(page, plane)? else {
        return Err(FtlError::no_space("the pool of erased blocks is empty").into());
    };
    shared.has_its_page(op, ppn)?;
    shared.notes_write(op, ppn);
    Ok(ppn)
}
