//! Page operations: what requests are cut into, and the queues in which they wait at a die.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// No operation, request or die.
pub(super) const NONE: u32 = u32::MAX;

/// What a page operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    /// A whole page is written.
    Write,
    /// Part of a page is written: it is read before.
    Modify,
    Trim,
}

/// One page of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageOp {
    /// In the order of dispatch: what observers know it by.
    pub(super) number: u64,
    /// In the order in which they came to their dies.
    pub(super) order: u64,
    /// Its request, or [`NONE`] for one of the write cache.
    pub(super) request: u32,
    pub(super) page: u32,
    /// Where it is served; for a write where it goes.
    pub(super) plane: u32,
    pub(super) kind: Kind,
    pub(super) urgent: bool,
    /// It has been counted as waiting for an erased block.
    pub(super) starved: bool,
    /// The next in its queue, or in the chain of those that are served together.
    pub(super) next: u32,
    /// Until it is served: what its die had been held by collections when it came. From then on:
    /// how much of its waiting time that was.
    pub(super) blocked_ns: u64,
    pub(super) bus_ns: u64,
    pub(super) cell_ns: u64,
}

/// All page operations in the drive; their places are used again.
#[derive(Default)]
pub(super) struct Ops {
    places: Vec<PageOp>,
    free: Vec<u32>,
    /// How many there have been.
    count: u64,
    /// How many have come to their dies.
    pub(super) sent: u64,
}

impl Ops {
    /// Numbers and keeps `op`.
    #[inline]
    pub(super) fn add(&mut self, mut op: PageOp) -> u32 {
        op.number = self.count;
        self.count += 1;
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = op;
            return place;
        }
        self.places.push(op);
        self.places.len() as u32 - 1
    }

    /// Forgets the operation at `place`.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) -> PageOp {
        self.free.push(place);
        self.places[place as usize]
    }
}

impl std::ops::Index<u32> for Ops {
    type Output = PageOp;

    #[inline]
    fn index(&self, place: u32) -> &PageOp {
        &self.places[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut PageOp {
        &mut self.places[place as usize]
    }
}

/// A queue of this length keeps an index of its pages; one of half of it does without again.
const WORTH_AN_INDEX: u32 = 64;

/// Operations that wait, in order, linked through their `next`.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) head: u32,
    tail: u32,
    len: u32,
    /// How many of them are urgent.
    pub(super) urgent: u32,
    /// Of a long queue: the operations on each page, in order.
    pages: Option<Box<HashMap<u32, Vec<u32>>>>,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0, urgent: 0, pages: None };

    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Puts `op` at the end.
    #[inline]
    pub(super) fn push(&mut self, ops: &mut Ops, op: u32) {
        ops[op].next = NONE;
        match self.tail {
            NONE => self.head = op,
            tail => ops[tail].next = op,
        }
        self.tail = op;
        self.came(ops, op);
    }

    /// Puts `op` back where its order has it: others may have gone before those that came earlier.
    pub(super) fn put_back(&mut self, ops: &mut Ops, op: u32) {
        let order = ops[op].order;
        let (mut before, mut after) = (NONE, self.head);
        while after != NONE && ops[after].order < order {
            (before, after) = (after, ops[after].next);
        }
        ops[op].next = after;
        match before {
            NONE => self.head = op,
            before => ops[before].next = op,
        }
        if after == NONE {
            self.tail = op;
        }
        self.came(ops, op);
    }

    /// Takes out `op`, which is in the queue.
    #[inline]
    pub(super) fn take(&mut self, ops: &mut Ops, op: u32) {
        let after = ops[op].next;
        if self.head == op {
            self.head = after;
            if after == NONE {
                self.tail = NONE;
            }
        } else {
            let mut before = self.head;
            while ops[before].next != op {
                before = ops[before].next;
            }
            ops[before].next = after;
            if after == NONE {
                self.tail = before;
            }
        }
        ops[op].next = NONE;
        self.len -= 1;
        self.urgent -= u32::from(ops[op].urgent);
        if self.pages.is_some() {
            self.forget(ops, op);
        }
    }

    /// Counts an operation that has come.
    #[inline]
    fn came(&mut self, ops: &Ops, op: u32) {
        self.len += 1;
        self.urgent += u32::from(ops[op].urgent);
        if self.pages.is_some() || self.len >= WORTH_AN_INDEX {
            self.index(ops, op);
        }
    }

    /// Adds an operation that has come to the index; makes it where there is none.
    #[cold]
    fn index(&mut self, ops: &Ops, op: u32) {
        if let Some(pages) = &mut self.pages {
            let on_page = pages.entry(ops[op].page).or_default();
            let place = on_page.partition_point(|&other| ops[other].order < ops[op].order);
            on_page.insert(place, op);
            return;
        }
        let mut pages = HashMap::<u32, Vec<u32>>::new();
        self.iter(ops).for_each(|op| pages.entry(ops[op].page).or_default().push(op));
        self.pages = Some(Box::new(pages));
    }

    /// Takes an operation out of the index, and the index away where the queue has become short.
    #[cold]
    fn forget(&mut self, ops: &Ops, op: u32) {
        if self.len <= WORTH_AN_INDEX / 2 {
            self.pages = None;
        }
        let Some(pages) = &mut self.pages else { return };
        if let Entry::Occupied(mut on_page) = pages.entry(ops[op].page) {
            on_page.get_mut().retain(|&other| other != op);
            if on_page.get().is_empty() {
                on_page.remove();
            }
        }
    }

    /// The operations, in order.
    pub(super) fn iter<'a>(&self, ops: &'a Ops) -> impl Iterator<Item = u32> + use<'a> {
        let mut op = self.head;
        std::iter::from_fn(move || {
            let this = op;
            (this != NONE).then(|| {
                op = ops[this].next;
                this
            })
        })
    }

    /// Whether one that came before the `order`-th is on `page`.
    #[inline]
    pub(super) fn has_before(&self, ops: &Ops, order: u64, page: u32) -> bool {
        if let Some(pages) = &self.pages {
            return pages.get(&page).is_some_and(|on_page| ops[on_page[0]].order < order);
        }
        let mut earlier = self.iter(ops).map(|op| &ops[op]).take_while(|op| op.order < order);
        earlier.any(|op| op.page == page)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::rng::Stream;

    use super::*;

    const OP: PageOp = PageOp {
        number: 0,
        order: 0,
        request: NONE,
        page: 0,
        plane: 0,
        kind: Kind::Write,
        urgent: false,
        starved: false,
        next: NONE,
        blocked_ns: 0,
        bus_ns: 0,
        cell_ns: 0,
    };

    #[test]
    fn a_long_queue_knows_its_pages_as_a_plain_search_does() {
        let (mut ops, mut queue) = (Ops::default(), Queue::EMPTY);
        let mut stream = Stream::new(1, "queue");
        let (mut plain, mut taken) = (Vec::<u32>::new(), Vec::<u32>::new());
        let mut with_index = 0;
        for step in 0..20_000u32 {
            let grows = step / 200 % 2 == 0;
            let draw = stream.below(10);
            if let Some(op) = taken.pop_if(|_| draw == 0 && grows) {
                let place = plain.partition_point(|&other| ops[other].order < ops[op].order);
                plain.insert(place, op);
                queue.put_back(&mut ops, op);
            } else if plain.is_empty() || (draw < 8) == grows {
                let op = ops.add(PageOp { page: stream.below(40), order: step.into(), ..OP });
                plain.push(op);
                queue.push(&mut ops, op);
            } else {
                let op = plain.remove(stream.below(plain.len().min(3) as u32) as usize);
                queue.take(&mut ops, op);
                taken.push(op);
            }
            assert!(queue.iter(&ops).eq(plain.iter().copied()));
            assert_eq!(queue.pages.is_some(), {
                let long = plain.len() as u32 >= WORTH_AN_INDEX;
                long || (queue.pages.is_some() && plain.len() as u32 > WORTH_AN_INDEX / 2)
            });
            with_index += u32::from(queue.pages.is_some());
            let (page, order) = (stream.below(40), u64::from(stream.below(step + 2)));
            let before = |&&op: &&u32| ops[op].page == page && ops[op].order < order;
            assert_eq!(queue.has_before(&ops, order, page), plain.iter().find(before).is_some());
        }
        assert!(with_index > 5000 && with_index < 15_000, "{with_index}");
    }
}
