//! The rules by which page operations of the host may go: the states of semi-preemptive collection,
//! the state of the drive's life, and write pacing.
//!
//! The states (Lee et al., section on the level of allowed preemption) are: S0: no collection is
//! under way; S1: reads and writes go before the collection; S2: only reads do; S3: no operation
//! does.
//!
//! Write pacing: during a collection, the host writes only as fast as the collection makes room. A
//! victim of `b` pages of which `v` are valid makes room for `b - v` pages of the host. Its
//! collection has `v + 1` steps: the copies and the erase. When `c` steps are done, the host may
//! have written at most `(c + 1) (b - v) / (v + 1)` pages. So the host may use all of its room
//! before the erase, and then the drive has as much room after the collection as before. If a page
//! of the victim becomes invalid meanwhile, there is one copy less and one page more for the host.
//! The collection does not wait for the host. If it works on several planes, `b` and `v` are sums over
//! their victims, and the host's pages go in groups of one for each plane until all copies are made.
//!
//! Folds of the SLC region may have a pace of their own (`folds.rs`), which then holds for them instead.

use flashgc_base::snapshot::Value;
use flashgc_ftl::Stepwise;
use flashgc_ftl::stepwise::Room;

use super::Collector;
use super::moves::Collection;
use crate::config::Preemption;
use crate::observer::Observer;
use crate::ops::{DieQueues, NONE, Ops, PageOp};
use crate::shared::Shared;

/// The state of a drive's life. Only collections change this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Life {
    /// No block is worn out.
    Whole,
    /// At least one block is worn out, but the drive can still write.
    Failing,
    /// The drive is read-only: the simulation begins no further job.
    Ended,
}

impl Life {
    pub(super) fn of(map: &dyn Stepwise) -> Self {
        match map.wear() {
            Some(wear) if wear.has_ended() => Self::Ended,
            Some(wear) if wear.first_failure().is_some() => Self::Failing,
            _ => Self::Whole,
        }
    }
}

/// The page operations that may go before the next step of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Through {
    /// The order of such an operation is below this number.
    pub before: u64,
    /// The oldest write, and the room in its plane; `None` if none waits, or it is not known.
    pub write: Option<(u32, Room)>,
}

impl Through {
    /// All operations; the oldest write is not known.
    pub const ALL: Self = Self { before: u64::MAX, write: None };
}

impl Collector {
    /// Returns the state of the drive's life.
    #[inline]
    pub fn life(&self) -> Life {
        self.life
    }

    /// Returns the collection under way on a die.
    #[inline]
    pub fn on(&self, die: u32) -> Option<&Collection> {
        self.under_way[die as usize].as_ref()
    }

    /// Returns `true` if a collection is under way on a die.
    #[inline]
    pub fn is_under_way(&self, die: u32) -> bool {
        self.under_way[die as usize].is_some()
    }

    /// Returns `true` if operations of the host may share the copy of their page.
    #[inline]
    pub fn merges(&self) -> bool {
        matches!(self.rules.preemption, Preemption::Semi { merge: true, .. })
    }

    /// Returns `true` if a collection on another die of the unit also keeps `die` from working.
    #[inline]
    pub fn holds(&self, die: u32) -> bool {
        self.may_hold && self.units.is_collected_elsewhere(die)
    }

    /// Returns `true` if `op`, a write, begins a collection. If [`Collector::lets_go`] was just
    /// called for `op`, its answer is used again.
    #[inline]
    pub fn is_needed_for<O: Observer>(&self, shared: &Shared<O>, op: u32) -> bool {
        if self.answer.0 == op {
            debug_assert_eq!(self.answer.1, self.is_needed_by(shared, op));
            return self.answer.1;
        }
        self.is_needed_by(shared, op)
    }

    fn is_needed_by<O: Observer>(&self, shared: &Shared<O>, op: u32) -> bool {
        let PageOp { plane, page, .. } = shared.ops[op];
        self.is_needed(&*shared.map, page, plane)
    }

    /// Returns `true` if a write of `page` to `plane` begins a collection.
    pub fn is_needed(&self, map: &dyn Stepwise, page: u32, plane: u32) -> bool {
        self.collects_for(map, plane, map.host_room(page, plane))
    }

    /// Returns `true` if a write to `plane` begins a collection. `room` is the room in the plane
    /// for this write.
    #[inline]
    fn collects_for(&self, map: &dyn Stepwise, plane: u32, room: Room) -> bool {
        if room.is_open && room.folds && self.may_begin(plane) && self.folds_beside(map, plane) {
            return true;
        }
        if room.pages > 0 && room.is_open {
            return false;
        }
        let waits = room.folds && !room.is_open;
        self.may_begin(plane) && (waits || self.is_low(map, plane) || room.pages > 0)
    }

    /// Returns `true` if the blocks allow a waiting write, TRIM or flush to go now: there is a page
    /// for it, or it may begin a collection. With write pacing the collection of its die must also
    /// have made room for it. Counts an operation that waits because no block is erased.
    pub fn lets_go<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) -> bool {
        let PageOp { plane, page, .. } = shared.ops[op];
        if shared.ops[op].takes_no_page() {
            return true;
        }
        let room = shared.map.host_room(page, plane);
        self.lets_go_to(shared, op, room)
    }

    /// Returns the answer of [`Collector::lets_go`] for `op`, a write. `room` is the room in the
    /// plane for this write.
    pub fn lets_go_to<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32, room: Room) -> bool {
        let plane = shared.ops[op].plane;
        self.has_made_room(&*shared.map, plane) && self.has_block_for(shared, op, room)
    }

    /// Returns `true` if `op`, a write that waits, may be programmed together with one that goes
    /// before the next step of a paced fold. The pace lets it join without looking at it, and then counts
    /// it: the fold copies its pages for both before the next program.
    pub fn lets_join<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32, room: Room) -> bool {
        let plane = shared.ops[op].plane;
        let is_paced = self.is_paced_fold(self.units.die_of(plane));
        (is_paced || self.has_made_room(&*shared.map, plane))
            && self.has_block_for(shared, op, room)
    }

    /// Returns the answer of [`Collector::lets_go_to`] for a write that no pace holds back.
    #[inline(always)]
    fn has_block_for<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32, room: Room) -> bool {
        let PageOp { plane, urgent, .. } = shared.ops[op];
        let collects = self.collects_for(&*shared.map, plane, room);
        self.answer = (op, collects);
        if collects {
            return true;
        }
        if self.units.is_in_s2(plane) && !(urgent && self.units.lets_urgent_pass(plane)) {
            return false;
        }
        if !room.is_open && !shared.ops[op].starved {
            shared.ops[op].starved = true;
            self.counts.starved += 1;
        }
        room.is_open
    }

    /// Returns `true` if operations of the host may go before the next step of the collection of
    /// `die`: `false` without a collection, and in state S3. An urgent write that waits at a die of
    /// the unit in state S2 causes state S3.
    #[inline]
    pub fn is_open<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        waiting: &mut DieQueues,
        die: u32,
    ) -> bool {
        match self.on(die) {
            None => false,
            // Without a hard threshold there are no states S2 and S3.
            Some(_) if self.rules.hard == 0 => true,
            Some(_) => self.is_open_by_states(shared, waiting, die),
        }
    }

    #[inline(never)]
    fn is_open_by_states<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        waiting: &mut DieQueues,
        die: u32,
    ) -> bool {
        let Shared { map, ops, .. } = shared;
        let Some(collection) = self.on(die) else { return false };
        let (plane, mut urgent) = (collection.plane, collection.urgent);
        let unit = self.units.of_plane(plane);
        self.update_s2(&**map, unit);
        if !urgent && self.units.is_in_s2(plane) && !self.units.lets_urgent_pass(plane) {
            urgent = self
                .units
                .dies(unit)
                .any(|die| self.urgent_write(ops, waiting, die, unit).is_some());
            if urgent {
                self.collection(die).urgent = true;
                self.counts.entered_s3 += 1;
            }
        }
        !urgent
    }

    /// Returns the page operations that may go before the next step of a collection. `None` if the
    /// collection [is not open](Self::is_open) to them.
    pub fn lets_through<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        waiting: &mut DieQueues,
        die: u32,
    ) -> Option<Through> {
        if !self.is_open(shared, waiting, die) {
            return None;
        }
        // While a write waits for a block, only operations that waited when the point was reached
        // may go. So the collection makes progress even if more operations come all the time.
        let head = waiting.oldest_write(die);
        if head == NONE || shared.ops[head].takes_no_page() {
            return Some(Through::ALL);
        }
        let PageOp { page, plane, .. } = shared.ops[head];
        let room = shared.map.host_room(page, plane);
        let waits = !room.is_open || !self.keeps_pace(&*shared.map, die);
        let before = if waits { self.on(die)?.mark } else { u64::MAX };
        Some(Through { before, write: Some((head, room)) })
    }

    /// Returns the write or TRIM that is next at a die: normally the first. After state S3 it is an
    /// urgent write, if one waits.
    #[inline(always)]
    pub fn first_write(&self, ops: &Ops, waiting: &mut DieQueues, die: u32) -> Option<u32> {
        let head = Some(waiting.oldest_write(die)).filter(|&op| op != NONE)?;
        match self.units.lets_urgent_pass(ops[head].plane) {
            true => self.urgent_or(ops, waiting, die, head),
            false => Some(head),
        }
    }

    #[cold]
    fn urgent_or(&self, ops: &Ops, waiting: &mut DieQueues, die: u32, head: u32) -> Option<u32> {
        let unit = self.units.of_plane(ops[head].plane);
        self.urgent_write(ops, waiting, die, unit).or(Some(head))
    }

    /// Notes that a page operation is served. After an urgent one, the next urgent write of the
    /// unit must wait for another collection. Counts the operation for write pacing.
    #[inline]
    pub fn served(&mut self, op: &PageOp) {
        if op.urgent {
            self.units.urgent_has_passed(op.plane);
        }
        self.count_let_through(op);
    }

    /// Enters state S2 if a unit has fewer erased blocks than the hard threshold, and leaves S2 if
    /// it has more.
    pub(super) fn update_s2(&mut self, map: &dyn Stepwise, unit: u32) {
        let hard = self.rules.hard;
        if hard == 0 {
            return;
        }
        let free = self.free_blocks(map, unit);
        if free > hard {
            self.units.leave_s2(unit);
        } else if free < hard {
            self.counts.entered_s2 += u64::from(self.units.enter_s2(unit));
        }
    }

    /// Returns the first urgent write to `unit` that waits at `die` and could be served now.
    fn urgent_write(&self, ops: &Ops, waiting: &mut DieQueues, die: u32, unit: u32) -> Option<u32> {
        waiting.urgent_write(ops, die, |op| self.units.of_plane(op.plane) == unit)
    }

    /// Returns `true` if write pacing and the pace of folds allow one more page of the host on the
    /// die of `plane`: no collection is under way there, or the collection has made room for the page.
    #[inline]
    fn has_made_room(&self, map: &dyn Stepwise, plane: u32) -> bool {
        !self.sets_pace || self.lets_pace_go(map, plane)
    }

    #[inline(never)]
    fn lets_pace_go(&self, map: &dyn Stepwise, plane: u32) -> bool {
        let die = self.units.die_of(plane);
        if self.is_paced_fold(die) || !self.rules.paces_writes {
            return self.keeps_pace(map, die);
        }
        self.on(die).is_none_or(|collection| self.is_paid(map, collection))
    }

    /// Returns `true` if a collection has made room for one more page, by the rule of write pacing.
    pub(super) fn is_paid(&self, map: &dyn Stepwise, collection: &Collection) -> bool {
        let &Collection { plane, planes, copied, let_through, .. } = collection;
        // The valid pages of a plane's victim, and all its pages.
        let pages_of = |plane: u32| {
            let victim = map.victim(plane).expect("a collection has a victim until it ends");
            let (blocks, victim) = (map.blocks(plane), victim % self.blocks_per_plane);
            [blocks.live(victim), self.pages_per_block - blocks.lost(victim)].map(u64::from)
        };
        let [left, size] = match planes {
            1 => pages_of(plane),
            _ => self.members(self.units.die_of(plane)).fold([0; 2], |[left, size], (plane, _)| {
                let [its_left, its_size] = pages_of(plane);
                [left + its_left, size + its_size]
            }),
        };
        let [copied, written] = [copied, let_through].map(u64::from);
        let (valid, planes) = (copied + left, u64::from(planes));
        let room = (copied + 1) * (size - valid) / (valid + 1);
        let room = if collection.folds { room } else { self.beside_folds(map, plane, room) };
        // Pages of the host can go together, so they go in groups of one for each plane.
        written < if left > 0 { room / planes * planes } else { room }
    }

    /// Counts a served write for the pacing of the collection of its die, if there is one.
    #[inline]
    pub fn count_let_through(&mut self, op: &PageOp) {
        if !self.sets_pace || !op.writes() {
            return;
        }
        let die = self.units.die_of(op.plane);
        if let Some(collection) = &mut self.under_way[die as usize] {
            collection.let_through += 1;
        }
    }
}
