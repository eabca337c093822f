//! Collections: when they begin, how they give way at the preemption points A and B, and when they
//! end. The states in which they do not give way are in `states.rs`.

use flashgc_ftl::FtlError;

use super::die::{Collection, Die, Job, Point};
use super::engine::TimedDrive;
use super::events::NEVER;
use super::observe::{Observer, Source};
use super::ops::{Kind, NONE, PageOp, Queue};
use super::schedule::Allowed;
use super::settings::Preemption;
use crate::counting::DriveError;

impl<O: Observer> TimedDrive<O> {
    /// The plane of a unit that a collection should begin in: that with the fewest erased blocks,
    /// on a die that does not collect. One that has nothing to gain comes last.
    fn neediest(&self, unit: u32) -> Option<u32> {
        let may = |&plane: &u32| self.dies[self.die_of(plane) as usize].collection.is_none();
        let gains = |plane: u32| {
            self.layer.reclaimable_pages(plane) > 0 || self.layer.closes_frontier(plane)
        };
        let planes = self.units.planes(unit).filter(may);
        planes.min_by_key(|&plane| (!gains(plane), self.layer.free_blocks(plane)))
    }

    /// Whether a collection in `plane` can gain a whole block: what an idle die asks first.
    fn gains_a_block(&self, plane: u32) -> bool {
        let b = self.layer.geometry().pages_per_block();
        self.layer.reclaimable_pages(plane) >= u64::from(b)
    }

    /// Begins a collection in the unit of `plane`, if it can.
    pub(super) fn begin_collection(&mut self, plane: u32, idle: bool) -> Result<bool, DriveError> {
        let unit = self.units.of_plane(plane);
        let Some(plane) = self.neediest(unit) else { return Ok(false) };
        self.layer.begin_collection(plane)?;
        let die = self.die_of(plane);
        let number = self.totals.collections.started;
        self.totals.collections.started += 1;
        self.totals.collections.idle += u64::from(idle);
        let collection = Collection { idle, ..Collection::new(number, plane, self.ops.sent) };
        self.dies[die as usize].collection = Some(collection);
        self.units.collecting[unit as usize] = die;
        self.observer.collection(self.now, die, true);
        self.look_at(die);
        self.look_at_unit(unit);
        Ok(true)
    }

    /// Has all dies of a unit looked at, where that is more than one.
    fn look_at_unit(&mut self, unit: u32) {
        let dies = self.units.dies(unit);
        if dies.start() < dies.end() {
            dies.for_each(|die| self.look_at(die));
        }
    }

    fn collection(&mut self, die: u32) -> &mut Collection {
        self.dies[die as usize].collection.as_mut().expect("a collection is under way")
    }

    /// An idle die with a collection between two of its operations: the host may go first.
    pub(super) fn at_point(&mut self, die: u32) -> Result<bool, DriveError> {
        let search_ns = self.settings.collecting.search_ns;
        if search_ns > 0 && !std::mem::replace(&mut self.collection(die).searched, true) {
            self.begin_cells(die, Job::Poll, search_ns);
            return Ok(true);
        }
        let Preemption::Semi { merge, pipeline } = self.settings.collecting.preemption else {
            return self.go_on(die);
        };
        let poll_ns = self.settings.collecting.poll_ns;
        let collection = self.collection(die);
        if poll_ns > 0 && !collection.polled {
            collection.polled = true;
            self.begin_cells(die, Job::Poll, poll_ns);
            return Ok(true);
        }
        if self.is_at(die, Point::A) {
            let passed = (pipeline && self.write_at_a(die)?) || self.read_at_a(die)?;
            return if passed { Ok(true) } else { self.go_on(die) };
        }
        let Some(op) = self.next_at_b(die) else { return self.go_on(die) };
        let PageOp { page, kind, .. } = self.ops[op];
        self.gave_way(die);
        let plane = self.collection(die).plane;
        let merges = merge && matches!(kind, Kind::Read | Kind::Write);
        if merges && self.layer.prefer(plane, page) {
            self.unqueue(die, op);
            self.join(die, op);
            return self.go_on(die);
        }
        self.start(die, op)?;
        Ok(true)
    }

    /// Pipelining: while the last read that is served at B goes over the bus, the collection reads
    /// its next page; while a write that is served at A is programmed, the next or the collection's
    /// own goes over the bus.
    pub(super) fn overlap_collection(&mut self, die: u32) -> Result<bool, DriveError> {
        let Die { cells, bus, collection, suspended, .. } = &self.dies[die as usize];
        let pipelines =
            matches!(self.settings.collecting.preemption, Preemption::Semi { pipeline: true, .. });
        let Some(Collection { point, plane, searched, .. }) = *collection else {
            return Ok(false);
        };
        let has_victim = searched || self.settings.collecting.search_ns == 0;
        if !pipelines || !has_victim || suspended.is_some() {
            return Ok(false);
        }
        match point {
            // With a command time the bus must be free for the command.
            Point::B if cells.is_idle() && matches!(bus.job, Job::Read(_)) => {
                let is_next = self.settings.hardware.command_ns == 0
                    && self.victim_has_pages(plane)
                    && self.next_at_b(die).is_none();
                if !is_next {
                    return Ok(false);
                }
                self.totals.collections.pipelined_reads += 1;
                self.go_on(die)
            }
            Point::A if bus.is_idle() && matches!(cells.job, Job::Write(_)) => {
                if self.write_at_a(die)? { Ok(true) } else { self.go_on(die) }
            }
            _ => Ok(false),
        }
    }

    /// At A, a write whose transfer and program overlap with the collection's goes first; whether
    /// there was one.
    fn write_at_a(&mut self, die: u32) -> Result<bool, DriveError> {
        let is_unmerged = self.collection(die).merged_write == NONE;
        let Some(op) = Some(self.dies[die as usize].writes.head).filter(|&op| op != NONE) else {
            return Ok(false);
        };
        let goes = is_unmerged
            && self.ops[op].kind == Kind::Write
            && self.allowed_at_point(die).is_some()
            && self.may_pass_reads(die, op)
            && self.may_write(die, op);
        if goes {
            self.gave_way(die);
            self.totals.collections.pipelined_writes += 1;
            self.start(die, op)?;
        }
        Ok(goes)
    }

    /// At A, a read goes first where programs can be suspended: the program has not begun, and the
    /// die has the second buffer; whether there was one.
    fn read_at_a(&mut self, die: u32) -> Result<bool, DriveError> {
        if !self.settings.suspend.program || self.collection(die).merged_write != NONE {
            return Ok(false);
        }
        let Some(allowed) = self.allowed_at_point(die) else { return Ok(false) };
        let Some(op) = self.next_for(die, Allowed { writes: false, ..allowed }) else {
            return Ok(false);
        };
        self.gave_way(die);
        self.start(die, op)?;
        Ok(true)
    }

    fn gave_way(&mut self, die: u32) {
        let counts = &mut self.totals.collections;
        counts.preemptions += 1;
        if let Some(collection) = &mut self.dies[die as usize].collection
            && !std::mem::replace(&mut collection.gave_way, true)
        {
            counts.preempted += 1;
        }
    }

    fn victim_has_pages(&self, plane: u32) -> bool {
        self.layer
            .victim(plane)
            .is_some_and(|block| self.layer.blocks(plane).valid(block % self.blocks_per_plane) > 0)
    }

    /// The page operation that is served at point B, by the table of states.
    fn next_at_b(&mut self, die: u32) -> Option<u32> {
        self.allowed_at_point(die).and_then(|allowed| self.next_for(die, allowed))
    }

    /// Whether a write has a page to go to, and no earlier read of its page waits.
    fn may_pass_reads(&mut self, die: u32, op: u32) -> bool {
        let PageOp { plane, order, page, .. } = self.ops[op];
        let reads = &mut self.dies[die as usize].reads;
        self.layer.can_write(page, plane) && !reads.has_before(&self.ops, order, page)
    }

    /// The collection's next operation.
    pub(super) fn go_on(&mut self, die: u32) -> Result<bool, DriveError> {
        let Collection { plane, point, .. } = *self.collection(die);
        if point == Point::A {
            return self.program_moving(die).map(|()| true);
        }
        let next = self.layer.next_move(plane);
        let collection = self.collection(die);
        collection.moving = next;
        if let Some(next) = next {
            collection.point = Point::Reading;
            self.layer.prefetch(next.page);
            self.begin_in_cells(die, Job::CopyRead);
        } else {
            collection.point = Point::Erasing;
            self.begin_in_cells(die, Job::Erase);
        }
        Ok(true)
    }

    /// The page to move is in the buffer: point A is reached.
    pub(super) fn page_read_out(&mut self, die: u32) {
        let mark = self.ops.sent;
        let collection = self.collection(die);
        collection.reach(Point::A, mark);
        let mut reads = std::mem::replace(&mut collection.merged_reads, Queue::EMPTY);
        while !reads.is_empty() {
            let op = reads.head;
            reads.take(&mut self.ops, op);
            self.count_blocked(die, op);
            self.complete(die, op);
        }
    }

    /// Programs the page that is in the buffer, or what a merged write put there.
    fn program_moving(&mut self, die: u32) -> Result<(), DriveError> {
        let mark = self.ops.sent;
        let collection = self.collection(die);
        let plane = collection.plane;
        let moving = collection.moving.expect("a page is in the buffer");
        let merged = collection.merged_write;
        if merged != NONE {
            let ppn = self.layer.merge(plane)?;
            let source = self.source_of(merged);
            self.observer.programmed(moving.page, ppn, source);
            self.written(merged)?;
        } else if let Some(ppn) = self.layer.copy(plane)? {
            self.observer.programmed(moving.page, ppn, Source::Copy(moving.from));
        } else {
            // It was rewritten or discarded on the way.
            self.collection(die).reach(Point::B, mark);
            return Ok(());
        }
        self.collection(die).point = Point::Writing;
        self.begin_on_bus(die, Job::CopyWrite, 1)
    }

    /// A page has been moved: point B is reached.
    pub(super) fn page_moved(&mut self, die: u32) {
        let mark = self.ops.sent;
        let collection = self.collection(die);
        collection.reach(Point::B, mark);
        let merged = std::mem::replace(&mut collection.merged_write, NONE);
        if merged != NONE {
            self.count_blocked(die, merged);
            self.complete(die, merged);
        }
    }

    /// Whether the page operation joins the move of its page that is under way on `die`.
    pub(super) fn merges(&mut self, die: u32, op: u32) -> bool {
        let merge =
            matches!(self.settings.collecting.preemption, Preemption::Semi { merge: true, .. });
        if !merge {
            return false;
        }
        let PageOp { page, kind, order, .. } = self.ops[op];
        let held = &self.dies[die as usize];
        let Some(collection) = &held.collection else { return false };
        let in_buffer = match kind {
            Kind::Read => collection.point == Point::Reading,
            Kind::Write => {
                let pipelines = held.bus.job.programs() || held.cells.job.programs();
                !collection.urgent
                    && !pipelines
                    && matches!(collection.point, Point::Reading | Point::A)
            }
            Kind::Modify | Kind::Trim => false,
        };
        if collection.moving.is_none_or(|moving| moving.page != page)
            || collection.merged_write != NONE
            || !in_buffer
            || (kind == Kind::Write && self.is_in_s2(collection.plane))
        {
            return false;
        }
        let held = &mut self.dies[die as usize];
        if held.reads.has_before(&self.ops, order, page)
            || held.writes.has_before(&self.ops, order, page)
        {
            return false;
        }
        self.join(die, op);
        true
    }

    /// Whether a write shares the move of its page.
    pub(super) fn is_merged(&self, op: u32) -> bool {
        let die = self.die_of(self.ops[op].plane);
        let collection = self.dies[die as usize].collection.as_ref();
        collection.is_some_and(|collection| collection.merged_write == op)
    }

    /// Lets a page operation share the move of its page.
    fn join(&mut self, die: u32, op: u32) {
        let PageOp { page, kind, number, .. } = self.ops[op];
        let counts = &mut self.totals.collections;
        if kind == Kind::Read {
            counts.merged_reads += 1;
            let from = self.layer.locate(page);
            self.observer.read(number, page, from);
            let Self { dies, ops, .. } = self;
            let collection = dies[die as usize].collection.as_mut();
            collection.expect("a collection is under way").merged_reads.push(ops, op);
        } else {
            counts.merged_writes += 1;
            self.collection(die).merged_write = op;
        }
    }

    /// The victim is erased: the collection ends, and the next begins while blocks are too few.
    pub(super) fn erased(&mut self, die: u32) -> Result<(), DriveError> {
        let ended = self.dies[die as usize].collection.take().expect("a collection is under way");
        let block = self.layer.erase(ended.plane);
        self.observer.erased(block);
        self.observer.collection(self.now, die, false);
        self.totals.collections.ended += 1;
        let unit = self.units.of_plane(ended.plane);
        self.units.collecting[unit as usize] = NONE;
        self.leave_s3(unit, ended.urgent);
        if self.is_short(unit, ended.idle, die) {
            self.begin_collection(ended.plane, ended.idle)?;
        } else {
            self.leave_s2(unit);
            self.units.planes(unit).for_each(|plane| self.layer.open_closed(plane));
            // Another plane of the die may have waited for this one.
            let planes = self.settings.hardware.planes;
            let waits = (die * planes..(die + 1) * planes).find(|&plane| {
                self.layer.closes_frontier(plane)
                    && self.may_collect(die, plane)
                    && self.is_low(plane)
            });
            if let Some(plane) = waits.filter(|_| !ended.idle) {
                self.begin_collection(plane, false)?;
            }
        }
        self.look_at_unit(unit);
        Ok(())
    }

    /// Whether a unit goes on collecting.
    fn is_short(&self, unit: u32, idle: bool, die: u32) -> bool {
        let collecting = &self.settings.collecting;
        if let Some(rule) = collecting.idle.filter(|_| idle) {
            let free = self.free_blocks(unit);
            let held = &self.dies[die as usize];
            let rests = held.reads.is_empty() && held.writes.is_empty();
            let plane = self.neediest(unit);
            return free <= rule.below && rests && plane.is_some_and(|p| self.gains_a_block(p));
        }
        let blocks = || self.units.planes(unit).map(|plane| self.layer.blocks_for_host(plane));
        let reserved = self.layer.reserved_blocks();
        blocks().sum::<u32>() <= collecting.high || blocks().any(|blocks| blocks <= reserved)
    }

    /// The same as the steps of collections that a write of `page` to `plane` needs, at once.
    pub(super) fn collect_at_once(&mut self, page: u32, plane: u32) -> Result<(), FtlError> {
        let unit = self.units.of_plane(plane);
        // A placement may want the page elsewhere once it has been copied.
        while self.page_needs_collection(self.die_of(plane), page, plane) {
            self.layer.close_full(page, plane);
            loop {
                let Some(neediest) = self.neediest(unit) else { return Ok(()) };
                self.layer.begin_collection(neediest)?;
                while self.layer.next_move(neediest).is_some() {
                    self.layer.copy(neediest)?;
                }
                self.layer.erase(neediest);
                if !self.is_short(unit, false, NONE) {
                    break;
                }
            }
            self.units.planes(unit).for_each(|plane| self.layer.open_closed(plane));
        }
        Ok(())
    }

    /// A die has nothing to do: it may collect after a while.
    pub(super) fn rest(&mut self, die: u32) {
        if let Some(rule) = self.settings.collecting.idle {
            let held = &self.dies[die as usize];
            let timer = self.idle_timer(die);
            if held.writes.is_empty() && self.timers.get(timer) == NEVER {
                self.timers.set(timer, self.now + rule.after_ns);
            }
        }
    }

    /// A die has been idle since its timer was set.
    pub(super) fn idle_for_long(&mut self, die: u32) -> Result<(), DriveError> {
        let Some(rule) = self.settings.collecting.idle else { return Ok(()) };
        let held = &self.dies[die as usize];
        let plane = die * self.settings.hardware.planes;
        let rests = held.is_idle() && held.collection.is_none() && held.suspended.is_none();
        if !rests {
            return Ok(());
        }
        for plane in plane..plane + self.settings.hardware.planes {
            let unit = self.units.of_plane(plane);
            let may = !self.units.is_collecting(unit)
                && self.free_blocks(unit) <= rule.below
                && self.neediest(unit).is_some_and(|plane| self.gains_a_block(plane));
            if may && self.begin_collection(plane, true)? {
                break;
            }
        }
        Ok(())
    }
}
