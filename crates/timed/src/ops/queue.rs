//! The operations that wait for one thing, in order, with an index if they are many.

use flashgc_base::snapshot::Value;

use std::collections::BTreeSet;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::{NONE, Ops, PageOp};

/// A queue of this length gets an index when it is searched, and loses it at half this length.
const WORTH_AN_INDEX: u32 = 64;

/// Operations that wait, in order, linked through their `next` and `prev`.
#[derive(Clone, Debug, Value)]
pub struct Queue {
    pub head: u32,
    tail: u32,
    len: u32,
    /// The number of urgent operations in the queue.
    pub urgent: u32,
    /// The index of a long queue that has been searched.
    index: Option<Box<Index>>,
}

/// The index of a long queue, so that it need not be searched.
#[derive(Clone, Debug, Default, Value)]
struct Index {
    /// The operations on each page, in order.
    pages: HashMap<u32, Vec<u32>>,
    /// The order and the place of every operation, except those found to be held up since an
    /// operation that may hold them up left.
    candidates: BTreeSet<(u64, u32)>,
}

impl Index {
    fn add(&mut self, ops: &Ops, op: u32) {
        let PageOp { page, order, .. } = ops[op];
        let on_page = self.pages.entry(page).or_default();
        let place = on_page.partition_point(|&other| ops[other].order < order);
        on_page.insert(place, op);
        self.candidates.insert((order, op));
    }

    fn remove(&mut self, ops: &Ops, op: u32) {
        let PageOp { page, order, .. } = ops[op];
        self.candidates.remove(&(order, op));
        if let Entry::Occupied(mut on_page) = self.pages.entry(page) {
            on_page.get_mut().retain(|&other| other != op);
            if on_page.get().is_empty() {
                on_page.remove();
            }
        }
    }
}

impl Queue {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0, urgent: 0, index: None };

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Puts `op` at the end.
    #[inline]
    pub fn push(&mut self, ops: &mut Ops, op: u32) {
        self.link(ops, self.tail, op, NONE);
    }

    /// Puts `op` back where its order has it: others may have gone before those that came earlier.
    pub fn put_back(&mut self, ops: &mut Ops, op: u32) {
        let order = ops[op].order;
        let (mut before, mut after) = (NONE, self.head);
        while after != NONE && ops[after].order < order {
            (before, after) = (after, ops[after].next);
        }
        self.link(ops, before, op, after);
    }

    /// Puts `op` between two neighbours.
    #[inline]
    fn link(&mut self, ops: &mut Ops, before: u32, op: u32, after: u32) {
        ops[op].next = after;
        ops[op].prev = before;
        self.join(ops, before, op);
        self.join(ops, op, after);
        self.len += 1;
        self.urgent += u32::from(ops[op].urgent);
        if let Some(index) = &mut self.index {
            index.add(ops, op);
        }
    }

    /// Takes out `op`, which is in the queue.
    #[inline(always)]
    pub fn take(&mut self, ops: &mut Ops, op: u32) {
        let PageOp { next, prev, urgent, .. } = ops[op];
        self.join(ops, prev, next);
        ops[op].next = NONE;
        self.len -= 1;
        self.urgent -= u32::from(urgent);
        if let Some(index) = &mut self.index {
            index.remove(ops, op);
            if self.len <= WORTH_AN_INDEX / 2 {
                self.index = None;
            }
        }
    }

    /// Makes two operations neighbours; [`NONE`] is the end.
    #[inline]
    fn join(&mut self, ops: &mut Ops, before: u32, after: u32) {
        match before {
            NONE => self.head = after,
            before => ops[before].next = after,
        }
        match after {
            NONE => self.tail = before,
            after => ops[after].prev = before,
        }
    }

    /// Returns the index, if the queue is long.
    #[inline]
    fn indexed(&mut self, ops: &Ops) -> Option<&mut Index> {
        if self.index.is_none() && self.len >= WORTH_AN_INDEX {
            let mut index = Index::default();
            self.iter(ops).for_each(|op| index.add(ops, op));
            self.index = Some(Box::new(index));
        }
        self.index.as_deref_mut()
    }

    /// Returns the first operation before the `before`-th that nothing holds up. When an operation
    /// that holds one up leaves, [`Queue::may_go`] must be called.
    pub fn first(
        &mut self,
        ops: &Ops,
        before: u64,
        mut is_held_up: impl FnMut(&PageOp) -> bool,
    ) -> Option<u32> {
        let Some(index) = self.indexed(ops) else {
            let mut earlier = self.iter(ops).take_while(|&op| ops[op].order < before);
            return earlier.find(|&op| !is_held_up(&ops[op]));
        };
        while let Some(&(order, op)) = index.candidates.first() {
            if order >= before {
                break;
            }
            if !is_held_up(&ops[op]) {
                return Some(op);
            }
            index.candidates.pop_first();
        }
        None
    }

    /// Notes that an operation on `page` that may have held up others here has left its queue.
    #[inline]
    pub fn may_go(&mut self, ops: &Ops, page: u32) {
        if let Some(Index { pages, candidates }) = self.index.as_deref_mut() {
            let on_page = pages.get(&page).into_iter().flatten();
            candidates.extend(on_page.map(|&op| (ops[op].order, op)));
        }
    }

    /// Returns the operations, in order.
    pub fn iter<'a>(&self, ops: &'a Ops) -> impl Iterator<Item = u32> + use<'a> {
        let mut op = self.head;
        std::iter::from_fn(move || {
            let this = op;
            (this != NONE).then(|| {
                op = ops[this].next;
                this
            })
        })
    }

    /// Returns `true` if an operation that came before the `order`-th is on `page`.
    #[inline]
    pub fn has_before(&mut self, ops: &Ops, order: u64, page: u32) -> bool {
        if let Some(index) = self.indexed(ops) {
            let on_page = index.pages.get(&page);
            return on_page.is_some_and(|on_page| ops[on_page[0]].order < order);
        }
        let mut earlier = self.iter(ops).map(|op| &ops[op]).take_while(|op| op.order < order);
        earlier.any(|op| op.page == page)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::super::Kind;
    use super::*;

    #[test]
    fn a_long_queue_answers_as_a_plain_search_does() {
        let (mut ops, mut queue) = (Ops::default(), Queue::EMPTY);
        let mut stream = Stream::new(1, "queue");
        let (mut plain, mut taken) = (Vec::<u32>::new(), Vec::<u32>::new());
        let mut held_up = [false; 40];
        let mut with_index = 0;
        for step in 0..20_000u32 {
            let grows = step / 200 % 2 == 0;
            let draw = stream.below(10);
            if let Some(op) = taken.pop_if(|_| draw == 0 && grows) {
                let place = plain.partition_point(|&other| ops[other].order < ops[op].order);
                plain.insert(place, op);
                queue.put_back(&mut ops, op);
            } else if plain.is_empty() || (draw < 8) == grows {
                let op = ops.add(
                    PageOp {
                        order: step.into(),
                        ..PageOp::new(NONE, stream.below(40), Kind::Write)
                    },
                    u64::MAX,
                );
                plain.push(op);
                queue.push(&mut ops, op);
            } else {
                let op = plain.remove(stream.below(plain.len() as u32) as usize);
                queue.take(&mut ops, op);
                taken.push(op);
            }
            assert!(queue.iter(&ops).eq(plain.iter().copied()));
            with_index += u32::from(queue.index.is_some());
            let page = stream.below(40);
            held_up[page as usize] = !held_up[page as usize];
            if !held_up[page as usize] {
                queue.may_go(&ops, page);
            }
            let before = u64::from(stream.below(step + 2));
            let first = queue.first(&ops, before, |op| held_up[op.page as usize]);
            let mut earlier = plain.iter().copied().filter(|&op| ops[op].order < before);
            let is_free = |&op: &u32| !held_up[ops[op].page as usize];
            assert_eq!(first, earlier.clone().find(is_free));
            let found = earlier.any(|op| ops[op].page == page);
            assert_eq!(queue.has_before(&ops, before, page), found);
        }
        assert!(with_index > 5000 && with_index < 15_000, "{with_index}");
    }
}
