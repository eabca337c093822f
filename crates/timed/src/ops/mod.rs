//! Page operations: the parts of requests. The front end makes and forgets them. On their way
//! through the other rooms each room notes on them the facts that the next needs.
//!
//! They wait in queues, in order. A queue has an index if it is long and searched.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use flashgc_base::snapshot::{State, Value};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// No operation, request or die.
pub const NONE: u32 = u32::MAX;
/// The request of a page operation on a page of the map. Those of the host are below [`BUFFER`].
pub const MAP: u32 = NONE - 1;
/// The request of an operation that programs data which have waited too long in a page buffer.
pub const BUFFER: u32 = NONE - 2;

/// The kind of a page operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Kind {
    Read,
    /// A whole page is written.
    Write,
    /// Part of a page is written: it is read before.
    Modify,
    Trim,
    /// The page buffers of a plane are programmed; the plane is the page of the operation.
    Flush,
    /// A hint of the host that it will write the page. This and the kinds below wait for a map entry and
    /// come to no die.
    Hint,
    /// A hint that holds for writes under way, too: their data will be dead soon.
    Tell,
    /// A hint that is taken back.
    Clean,
}

/// One page of a request.
#[derive(Clone, Copy, Debug, Value)]
pub struct PageOp {
    /// The order in which operations came to their dies.
    pub order: u64,
    /// The request, or [`NONE`] for an operation of the write cache, or [`MAP`], or [`BUFFER`].
    pub request: u32,
    pub page: u32,
    /// The plane where it is served; a write goes there.
    pub plane: u32,
    pub kind: Kind,
    pub urgent: bool,
    /// `true` if it has been counted as waiting for an erased block.
    pub starved: bool,
    /// `true` if it met a collection: one was under way on its die when it came there or was done, or
    /// held the die between.
    pub met_collection: bool,
    /// `true` for a write that shares the move of its page, or a read that has a part of its page from
    /// the write cache.
    pub is_merged: bool,
    /// `true` for a write that has its physical page.
    pub is_programmed: bool,
    /// `true` if the cells are those of an SLC block.
    pub in_slc: bool,
    /// The next operation in its queue, or in the chain of those that are served together.
    pub next: u32,
    /// The operation before it in its queue.
    pub prev: u32,
    /// The number of bytes of a write's page that the host does not write, or of a flush's flash pages
    /// that are still to be programmed.
    pub missing: u32,
    /// The time for which collections had held its die when it came, until it is served. From then on,
    /// their part of its waiting time.
    pub blocked_ns: u64,
    pub bus_ns: u64,
    pub cell_ns: u64,
}

impl PageOp {
    /// Returns an operation that is still to be sent to a die.
    pub fn new(request: u32, page: u32, kind: Kind) -> Self {
        Self {
            order: 0,
            request,
            page,
            plane: 0,
            kind,
            urgent: false,
            starved: false,
            met_collection: false,
            is_merged: false,
            is_programmed: false,
            in_slc: false,
            next: NONE,
            prev: NONE,
            missing: 0,
            blocked_ns: 0,
            bus_ns: 0,
            cell_ns: 0,
        }
    }

    /// Returns `true` if it needs no erased page.
    #[inline]
    pub fn takes_no_page(&self) -> bool {
        matches!(self.kind, Kind::Trim | Kind::Flush)
    }

    /// Returns `true` if it gives its page new data.
    #[inline]
    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Modify)
    }
}

/// The numbers by which observers know an operation.
#[derive(Clone, Copy, Debug, Value)]
struct Numbers {
    /// The number in the order of dispatch. An operation of the write cache has that of the write whose
    /// data it holds.
    op: u64,
    /// The number of its request.
    request: u64,
}

/// All page operations in the drive; their places are used again.
#[derive(Default, State)]
pub struct Ops {
    places: Vec<PageOp>,
    /// The numbers of the operations. They have a list of their own, since only observers look at them.
    numbers: Vec<Numbers>,
    free: Vec<u32>,
    /// The number of operations that there have been.
    count: u64,
    /// The number of operations that have come to their dies.
    sent: u64,
}

impl Ops {
    /// Numbers and keeps `op`, whose request has the number `request`.
    #[inline(always)]
    pub fn add(&mut self, op: PageOp, request: u64) -> u32 {
        let numbers = Numbers { op: self.count, request };
        self.count += 1;
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = op;
            self.numbers[place as usize] = numbers;
            return place;
        }
        self.places.push(op);
        self.numbers.push(numbers);
        self.places.len() as u32 - 1
    }

    /// Forgets the operation at `place`.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        debug_assert!((place as usize) < self.places.len());
        self.free.push(place);
    }

    /// Takes the next number in the order in which operations come to their dies.
    #[inline]
    pub fn send(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// Returns the number of operations that have come to their dies.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of the operation at `place`.
    #[inline]
    pub fn number(&self, place: u32) -> u64 {
        self.numbers[place as usize].op
    }

    /// Returns the number of the request of the operation at `place`.
    #[inline]
    pub fn request_number(&self, place: u32) -> u64 {
        self.numbers[place as usize].request
    }

    /// Notes that the operation at `place`, of the write cache, holds the data of write `number`.
    pub fn holds_data_of(&mut self, place: u32, number: u64) {
        debug_assert!(!self[place].is_programmed, "what is programmed takes no other data");
        self.numbers[place as usize].op = number;
    }

    /// Returns the operations that go together, from the first of them.
    #[inline]
    pub fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |op: u32| Some(op).filter(|&op| op != NONE);
        std::iter::successors(Some(first), move |&op| present(self[op].next))
    }

    /// Gives each operation of a chain the times of the first.
    pub fn share_times(&mut self, first: u32) {
        let PageOp { bus_ns, cell_ns, next, .. } = self[first];
        let mut op = next;
        while op != NONE {
            self[op].bus_ns = bus_ns;
            self[op].cell_ns = cell_ns;
            op = self[op].next;
        }
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
pub struct DieQueues {
    #[snapshot(table)]
    dies: Vec<Line>,
}

impl DieQueues {
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
