//! The page buffer of each plane. A flash page holds several pages of the map (units). Writes of
//! units wait in the buffer until they fill a flash page; reads find them there.
//!
//! A write gets its physical place when it enters the buffer, and is done then. The write that
//! fills its flash page goes to the die, and is done when the flash page is programmed. With
//! one-shot programs, the flash pages that are programmed together wait, fill and are due as one. With
//! two passes they also wait, and are due, when they are full.

use std::collections::VecDeque;

use flashgc_base::snapshot::State;
use flashgc_drive::error::DriveError;
use flashgc_ftl::Stepwise;
use hashbrown::HashMap;

use super::Scheduler;
use super::serve::write;
use crate::clock::{Event, NEVER};
use crate::flash::{Die, Job};
use crate::observer::Observer;
use crate::ops::{BUFFER, Kind, NONE, PageOp};
use crate::shared::{Shared, in_slc};

/// The flash pages in page buffers that have host data and are not full. After a time they are
/// programmed partly filled.
#[derive(State)]
pub(super) struct Stale {
    /// The longest time for which a flash page waits, in nanoseconds; [`NEVER`] if it waits until
    /// it is full.
    #[snapshot(skip)]
    after_ns: u64,
    /// The time at which each flash page is due, in nanoseconds, by the physical place of its first
    /// unit.
    due: HashMap<u32, u64>,
    /// The flash pages in the order of these times. An entry that is no longer in `due` is skipped.
    order: VecDeque<(u64, u32)>,
}

impl Stale {
    pub(super) fn new(after_ns: u64) -> Self {
        Self { after_ns, due: HashMap::new(), order: VecDeque::new() }
    }

    /// Lets the flash page that begins at `first` wait from `now` on, if it does not wait already.
    /// Returns the time at which it is due, if no other flash page waits.
    fn wait(&mut self, now: u64, first: u32) -> Option<u64> {
        let due = now + self.after_ns;
        if self.due.contains_key(&first) {
            return None;
        }
        self.due.insert(first, due);
        self.order.push_back((due, first));
        (self.order.len() == 1).then_some(due)
    }

    /// Notes that the flash page that begins at `first` is full.
    fn filled(&mut self, first: u32) {
        self.due.remove(&first);
    }

    /// Takes the next flash page that is due at `now`. If none is due, the error is the time at
    /// which the next one is due.
    fn next(&mut self, now: u64) -> Result<u32, u64> {
        while let Some(&(due, first)) = self.order.front() {
            if due > now {
                return Err(due);
            }
            self.order.pop_front();
            if self.due.get(&first) == Some(&due) {
                self.due.remove(&first);
                return Ok(first);
            }
        }
        Err(NEVER)
    }
}

impl Scheduler {
    /// Puts the oldest write that waits at a die into the page buffer, if it does not fill a flash
    /// page and needs no collection. Returns `true` if it did. The die may be busy meanwhile.
    pub(super) fn gather_write<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let op = self.waiting.oldest_write(die);
        if op == NONE || !self.can_gather(shared, die, op) {
            return Ok(false);
        }
        self.take_out(shared, die, op);
        self.collector.served(&shared.ops[op]);
        let filled = self.put(shared, op)?;
        debug_assert!(filled == 0, "a write that fills its page goes to the die");
        self.done = op;
        Ok(true)
    }

    /// Returns `true` if an operation is a write that can enter the page buffer now without filling
    /// a flash page.
    pub(super) fn can_gather<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> bool {
        let PageOp { page, plane, kind, .. } = shared.ops[op];
        let writes = kind == Kind::Write || kind == Kind::Modify && !self.is_on_flash(shared, page);
        // During a collection, writes go only when the collection lets operations through.
        if !writes || self.collector.is_under_way(die) || self.collector.holds(die) {
            return false;
        }
        let room = shared.map.host_room(page, plane);
        room.is_open
            && !self.is_behind_a_change(shared, die, op)
            && room.together > 1
            && room.pages % room.together != 1
            && !self.collector.is_needed(&*shared.map, page, plane)
            && !self.waiting.read_before(&shared.ops, die, op)
            && self.collector.lets_go(shared, op)
    }

    /// Returns `true` if `op` must wait for an earlier partial write, whose old data the die reads
    /// now. It must wait if both write the same page, or if both belong to the same request and the
    /// same plane: the pages of a request enter the buffer in order.
    fn is_behind_a_change<O: Observer>(&self, shared: &Shared<O>, die: u32, op: u32) -> bool {
        let PageOp { page, plane, request, .. } = shared.ops[op];
        let Die { cells, bus, .. } = self.flash.die(die);
        let is_before = |job| {
            let Job::ModifyRead(change) = job else { return false };
            let change = &shared.ops[change];
            let is_of_request = request < BUFFER && change.request == request;
            change.page == page || is_of_request && change.plane == plane
        };
        is_before(cells.job) || is_before(bus.job)
    }

    /// Returns `true` if two pages of the map lie in the same flash page.
    pub(super) fn are_in_one_page<O: Observer>(
        &self,
        shared: &Shared<O>,
        first: u32,
        second: u32,
    ) -> bool {
        let map = &*shared.map;
        self.units_per_page > 1 && are_together(map, |ppn| map.unit_in_page(ppn), first, second)
    }

    /// Returns `true` if two pages of the map are programmed together.
    pub(super) fn are_in_one_program<O: Observer>(
        &self,
        shared: &Shared<O>,
        first: u32,
        second: u32,
    ) -> bool {
        let map = &*shared.map;
        let position = |ppn| map.unit_in_program(ppn);
        self.units_per_program > 1 && are_together(map, position, first, second)
    }

    /// Returns `true` if the data of `page` are in the cells, and not in the page buffer.
    pub(super) fn is_on_flash<O: Observer>(&self, shared: &Shared<O>, page: u32) -> bool {
        self.place_on_flash(shared, page).is_some()
    }

    /// Returns the place of the data of `page` in the cells. `None` if they are in the page buffer, or
    /// the page has none.
    pub(super) fn place_on_flash<O: Observer>(&self, shared: &Shared<O>, page: u32) -> Option<u32> {
        shared.map.locate(page).filter(|&ppn| !self.is_buffered(shared, ppn))
    }

    /// Programs one of the flash pages in the buffer that have host data, for the flush `op`.
    /// Returns `true` if there is one.
    pub(super) fn flush<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) -> bool {
        let shrinks = shared.shrinks;
        let Shared { ops, map, .. } = shared;
        let PageOp { plane, is_programmed, .. } = ops[op];
        if self.passes.is_some() {
            return self.flush_in_passes(shared, die, op);
        }
        if !is_programmed {
            ops[op].is_programmed = true;
            while let Some(first) = map.program_host_data(plane) {
                ops[op].missing += 1;
                if !self.flash.is_uniform() || shrinks {
                    self.sites.flushes(op, first);
                }
            }
        }
        if ops[op].missing == 0 {
            return false;
        }
        ops[op].missing -= 1;
        let units = match self.sites.flushed_next(op) {
            Some(first) => shared.units_of_program(first),
            None => self.units_per_program,
        };
        let cells_ns = self.cell_time(shared, die, Job::Write(op));
        if self.flash.is_uniform() && shrinks {
            self.sites.next_of(op); // no time of the page was asked for
        }
        let Shared { clock, ops, .. } = shared;
        self.flash.begin_on_bus(clock, ops, die, Job::Write(op), units.into(), cells_ns);
        true
    }

    /// Notes that a flash page of the flush `op` is programmed. If others are left, `op` waits
    /// again, and the result is `true`.
    pub(super) fn goes_on_flushing<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> bool {
        let PageOp { kind, missing, .. } = shared.ops[op];
        if kind != Kind::Flush || missing == 0 {
            return false;
        }
        let held_ns = self.flash.die(die).held_until(shared.now());
        shared.ops[op].blocked_ns = held_ns - shared.ops[op].blocked_ns;
        self.waiting.put_back(&mut shared.ops, die, op);
        true
    }

    /// Gives a write its physical place. If its flash page is full and is to be programmed, returns the
    /// units that are programmed. Otherwise the write waits in the page buffer, and the result is 0.
    #[inline(always)]
    pub(super) fn put<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        op: u32,
    ) -> Result<u32, DriveError> {
        let ppn = write(shared, op)?;
        let fills = shared.fills_its_program(ppn);
        if let Some(passes) = self.passes.as_mut().filter(|_| fills) {
            passes.is_full(ppn);
        }
        if self.stale.after_ns < NEVER {
            self.note_unit(shared, ppn, fills);
        }
        Ok(if fills { shared.units_of_program(ppn) } else { 0 })
    }

    /// Notes that the host has written the unit at `ppn`. Its flash page is full if `fills`. If it is
    /// not, or waits for its second pass, the page is due after the time of [`Stale`].
    pub(super) fn note_unit<O: Observer>(&mut self, shared: &mut Shared<O>, ppn: u32, fills: bool) {
        let first = ppn - shared.map.unit_in_program(ppn);
        if fills && (!self.waits_when_full || in_slc(&*shared.map, ppn)) {
            self.stale.filled(first);
        } else if let Some(due) = self.stale.wait(shared.now(), first) {
            shared.clock.set(Event::Stale, due);
        }
    }

    /// Programs the flash pages that are due and not full.
    pub fn program_stale<O: Observer>(&mut self, shared: &mut Shared<O>) {
        loop {
            match self.stale.next(shared.now()) {
                Ok(first) if shared.map.is_buffered(first) => {
                    let plane = shared.map.plane_of(first);
                    let op = shared.ops.add(PageOp::new(BUFFER, plane, Kind::Flush), u64::MAX);
                    self.accept(shared, op);
                }
                Ok(_) => {}
                Err(due) => return shared.clock.set(Event::Stale, due),
            }
        }
    }
}

/// Returns `true` if two pages of the map lie in the same group. `position` has the position of a
/// place in its group.
fn are_together(
    map: &dyn Stepwise,
    position: impl Fn(u32) -> u32,
    first: u32,
    second: u32,
) -> bool {
    let group = |page| map.locate(page).map(|ppn| ppn - position(ppn));
    group(first).is_some() && group(first) == group(second)
}
