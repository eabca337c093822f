//! The page operations that wait at each die.

use flashgc_base::snapshot::{State, Value};

use super::{Kind, Ops, PageOp, Queue};

/// The queues of one die.
#[derive(Value)]
struct Line {
    reads: Queue,
    /// The writes and TRIMs.
    writes: Queue,
}

/// The operations that wait at each die, in the order in which they came: reads, and writes with
/// TRIMs.
///
/// It knows that operations on one page keep their order, and nothing of blocks, times or rules.
#[derive(State)]
pub struct Waiting {
    #[snapshot(table)]
    dies: Vec<Line>,
}

impl Waiting {
    /// Returns empty queues of `dies` dies.
    pub fn new(dies: u32) -> Self {
        let line = |_| Line { reads: Queue::EMPTY, writes: Queue::EMPTY };
        Self { dies: (0..dies).map(line).collect() }
    }

    #[inline]
    fn queue(&mut self, die: u32, kind: Kind) -> &mut Queue {
        let line = &mut self.dies[die as usize];
        if kind == Kind::Read { &mut line.reads } else { &mut line.writes }
    }

    /// Lets `op` wait behind those that came before.
    #[inline(always)]
    pub fn push(&mut self, ops: &mut Ops, die: u32, op: u32) {
        self.queue(die, ops[op].kind).push(ops, op);
    }

    /// Takes out `op`, which waits.
    #[inline(always)]
    pub fn take(&mut self, ops: &mut Ops, die: u32, op: u32) {
        let Line { reads, writes } = &mut self.dies[die as usize];
        if ops[op].kind == Kind::Read {
            reads.take(ops, op);
        } else {
            writes.take(ops, op);
            reads.may_go(ops, ops[op].page);
        }
    }

    /// Puts back `op`, a write or a flush, where its order has it.
    pub fn put_back(&mut self, ops: &mut Ops, die: u32, op: u32) {
        debug_assert!(matches!(ops[op].kind, Kind::Write | Kind::Flush));
        self.dies[die as usize].writes.put_back(ops, op);
    }

    /// Returns `true` if nothing waits at `die`.
    pub fn is_empty(&self, die: u32) -> bool {
        let Line { reads, writes } = &self.dies[die as usize];
        reads.is_empty() && writes.is_empty()
    }

    /// Returns the read that came first, or [`NONE`].
    #[inline]
    pub fn oldest_read(&self, die: u32) -> u32 {
        self.dies[die as usize].reads.head
    }

    /// Returns the write or TRIM that came first, or [`NONE`].
    #[inline]
    pub fn oldest_write(&self, die: u32) -> u32 {
        self.dies[die as usize].writes.head
    }

    /// Returns the oldest operation of the queue of this kind, or [`NONE`].
    pub fn oldest(&self, die: u32, kind: Kind) -> u32 {
        if kind == Kind::Read { self.oldest_read(die) } else { self.oldest_write(die) }
    }

    /// Returns the first of the reads that came before `before` which no earlier write of its page
    /// holds up.
    pub fn first_read(&mut self, ops: &Ops, die: u32, before: u64) -> Option<u32> {
        let Line { reads, writes } = &mut self.dies[die as usize];
        reads.first(ops, before, |op| writes.has_before(ops, op.order, op.page))
    }

    /// Returns `true` if a read of its page came before `op` and waits.
    #[inline]
    pub fn read_before(&mut self, ops: &Ops, die: u32, op: u32) -> bool {
        let PageOp { order, page, .. } = ops[op];
        self.dies[die as usize].reads.has_before(ops, order, page)
    }

    /// Returns `true` if a write or TRIM of its page came before `op` and waits.
    #[inline]
    pub fn write_before(&mut self, ops: &Ops, die: u32, op: u32) -> bool {
        let PageOp { order, page, .. } = ops[op];
        self.dies[die as usize].writes.has_before(ops, order, page)
    }

    /// Returns the first urgent write that waits at `die`, for which `is_meant` holds and that
    /// nothing before it on its page holds up.
    pub fn urgent_write(
        &mut self,
        ops: &Ops,
        die: u32,
        is_meant: impl Fn(&PageOp) -> bool,
    ) -> Option<u32> {
        let Line { reads, writes } = &mut self.dies[die as usize];
        if writes.urgent == 0 {
            return None;
        }
        writes.iter(ops).find(|&op| {
            let PageOp { urgent, order, page, .. } = ops[op];
            urgent
                && ops[op].writes()
                && is_meant(&ops[op])
                && !writes.has_before(ops, order, page)
                && !reads.has_before(ops, order, page)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::NONE;
    use super::*;

    #[test]
    fn operations_on_one_page_keep_their_order() {
        let (mut ops, mut waiting) = (Ops::default(), Waiting::new(2));
        let add = |waiting: &mut Waiting, ops: &mut Ops, page, kind, urgent| {
            let order = ops.send();
            let op = ops.add(PageOp { order, urgent, ..PageOp::new(NONE, page, kind) }, 0);
            waiting.push(ops, 1, op);
            op
        };
        let write = add(&mut waiting, &mut ops, 5, Kind::Write, false);
        let held_up = add(&mut waiting, &mut ops, 5, Kind::Read, false);
        let free = add(&mut waiting, &mut ops, 6, Kind::Read, false);
        let urgent = add(&mut waiting, &mut ops, 6, Kind::Write, true);
        assert!(waiting.is_empty(0) && !waiting.is_empty(1));
        assert_eq!((waiting.oldest_read(1), waiting.oldest_write(1)), (held_up, write));
        assert_eq!(waiting.first_read(&ops, 1, u64::MAX), Some(free));
        assert_eq!(waiting.first_read(&ops, 1, ops[free].order), None);
        assert!(waiting.read_before(&ops, 1, urgent) && waiting.write_before(&ops, 1, held_up));
        assert_eq!(waiting.urgent_write(&ops, 1, |_| true), None);
        waiting.take(&mut ops, 1, free);
        assert_eq!(waiting.urgent_write(&ops, 1, |_| true), Some(urgent));
        assert_eq!(waiting.urgent_write(&ops, 1, |op| op.plane > 0), None);
        waiting.take(&mut ops, 1, write);
        assert_eq!(waiting.first_read(&ops, 1, u64::MAX), Some(held_up));
    }
}
