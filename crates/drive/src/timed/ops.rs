//! Page operations: what requests are cut into, and the queues in which they wait at a die.

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

/// Operations that wait, in order, linked through their `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) head: u32,
    tail: u32,
    /// How many of them are urgent.
    pub(super) urgent: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, urgent: 0 };

    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Puts `op` at the end.
    #[inline]
    pub(super) fn push(&mut self, ops: &mut Ops, op: u32) {
        self.urgent += u32::from(ops[op].urgent);
        ops[op].next = NONE;
        match self.tail {
            NONE => self.head = op,
            tail => ops[tail].next = op,
        }
        self.tail = op;
    }

    /// Puts `op` back where its order has it: others may have gone before those that came earlier.
    pub(super) fn put_back(&mut self, ops: &mut Ops, op: u32) {
        self.urgent += u32::from(ops[op].urgent);
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
    }

    /// Takes out `op`, which is in the queue.
    #[inline]
    pub(super) fn take(&mut self, ops: &mut Ops, op: u32) {
        self.urgent -= u32::from(ops[op].urgent);
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
    pub(super) fn has_before(&self, ops: &Ops, order: u64, page: u32) -> bool {
        let mut earlier = self.iter(ops).map(|op| &ops[op]).take_while(|op| op.order < order);
        earlier.any(|op| op.page == page)
    }
}
