//! Which of the operations that wait at a die is next.

use super::Scheduler;
use crate::config::Scheduling;
use crate::measure::Observer;
use crate::ops::{Kind, NONE, PageOp};
use crate::shared::Shared;

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

impl Scheduler {
    /// The next page operation that a die may serve.
    pub(super) fn next_for<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        allowed: Allowed,
    ) -> Option<u32> {
        let ops = &shared.ops;
        let read = self.waiting.oldest_read(die);
        let write = self.collector.first_write(ops, &mut self.waiting, die);
        let first = |head: u32, allows: bool| {
            Some(head).filter(|&op| allows && op != NONE && ops[op].order < allowed.before)
        };
        let read = first(read, allowed.reads);
        let write = first(write.unwrap_or(NONE), allowed.writes);
        let Some(write) = write else {
            return read.and_then(|_| self.waiting.first_read(ops, die, allowed.before));
        };
        if let Some(read) = read {
            let came_first = ops[write].order < ops[read].order;
            let writes_may_go_first = self.rule != Scheduling::ReadsFirst && came_first;
            if writes_may_go_first && self.collector.lets_go(shared, write) {
                return Some(write);
            }
            let first_read = self.waiting.first_read(&shared.ops, die, allowed.before);
            if first_read.is_some() {
                return first_read;
            }
        }
        self.collector.lets_go(shared, write).then_some(write)
    }

    /// The next page operation that may go before the next operation of a collection.
    pub(super) fn next_at_point<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Option<u32> {
        let before = self.collector.lets_through(shared, &mut self.waiting, die)?;
        self.next_for(shared, die, Allowed { before, ..Allowed::ALL })
    }

    /// At point A, the write that may overlap with the program of the collection: the oldest, if no
    /// other shares the move.
    pub(super) fn next_write_at_a<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Option<u32> {
        let op = Some(self.waiting.oldest_write(die)).filter(|&op| op != NONE)?;
        let is_unmerged = self.collector.on(die).is_some_and(|it| it.merged_write == NONE);
        let PageOp { plane, page, kind, .. } = shared.ops[op];
        let goes = is_unmerged
            && kind == Kind::Write
            && self.collector.lets_through(shared, &mut self.waiting, die).is_some()
            && shared.map.can_write(page, plane)
            && !self.waiting.read_before(&shared.ops, die, op)
            && self.collector.lets_go(shared, op);
        goes.then_some(op)
    }

    /// At point A, the read that goes first where programs can be suspended: the program has not
    /// begun, and the die has the second buffer.
    pub(super) fn next_read_at_a<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Option<u32> {
        let is_unmerged = self.collector.on(die).is_some_and(|it| it.merged_write == NONE);
        if !self.suspend.program || !is_unmerged {
            return None;
        }
        let before = self.collector.lets_through(shared, &mut self.waiting, die)?;
        self.next_for(shared, die, Allowed { reads: true, writes: false, before })
    }
}
