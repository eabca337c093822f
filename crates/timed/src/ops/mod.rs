//! Page operations: what a request needs of one page. The front end makes them, and removes them
//! when they are done. In between, each room sets the fields that the next room needs.
//!
//! They wait in queues, in order. A long queue gets an index when it is searched.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use flashgc_base::snapshot::{State, Value};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Stands for no operation, no request or no die.
pub const NONE: u32 = u32::MAX;
/// The value of [`PageOp::request`] for an operation on a translation page. Requests of the host
/// have values below [`BUFFER`].
pub const MAP: u32 = NONE - 1;
/// The value of [`PageOp::request`] for an operation that programs data which have waited too long
/// in a page buffer.
pub const BUFFER: u32 = NONE - 2;

/// The kind of a page operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Kind {
    Read,
    /// A whole page is written.
    Write,
    /// A part of a page is written; the page is read before.
    Modify,
    Trim,
    /// The page buffers of a plane are programmed. [`PageOp::page`] is the number of the plane.
    Flush,
    /// A hint that the host will overwrite the page. This kind and those below wait for a map entry
    /// and do not go to a die.
    Hint,
    /// A hint that also applies to writes of the page which are under way: their data will be
    /// overwritten.
    Tell,
    /// The host takes a hint back.
    Clean,
}

/// An operation that a request needs of one page, with its progress.
#[derive(Clone, Copy, Debug, Value)]
pub struct PageOp {
    /// The number of the operation in the order in which operations were sent to dies.
    pub order: u64,
    /// The place of the request. [`NONE`] marks an operation of the write cache, [`MAP`] one on a
    /// translation page, and [`BUFFER`] one on data in a page buffer.
    pub request: u32,
    pub page: u32,
    /// The plane that serves the operation.
    pub plane: u32,
    pub kind: Kind,
    pub urgent: bool,
    /// `true` if the operation was counted as one that waited for an erased block.
    pub starved: bool,
    /// `true` if the operation met a collection: a collection was under way on its die when the
    /// operation arrived there or was done, or it held the die in between.
    pub met_collection: bool,
    /// `true` for a write that shares a collection's copy of its page, and for a read that gets a
    /// part of its page from the write cache.
    pub is_merged: bool,
    /// `true` for a write that has its physical page, and for a flush that has begun.
    pub is_programmed: bool,
    /// `true` if the operation reads from or writes to an SLC block.
    pub in_slc: bool,
    /// The next operation in the queue, or in the chain of operations that are served together.
    pub next: u32,
    /// The previous operation in the queue.
    pub prev: u32,
    /// For a write, the number of bytes of the page that the host does not write. For a flush, the
    /// number of flash pages that are still to be programmed.
    pub missing: u32,
    /// While the operation waits: the nanoseconds for which collections had held its die when it
    /// arrived there. After that: the nanoseconds for which it waited for collections.
    pub blocked_ns: u64,
    pub bus_ns: u64,
    pub cell_ns: u64,
}

impl PageOp {
    /// Returns an operation that was not sent to a die yet.
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

    /// Returns `true` if the operation needs no erased page.
    #[inline]
    pub fn takes_no_page(&self) -> bool {
        matches!(self.kind, Kind::Trim | Kind::Flush)
    }

    /// Returns `true` if the operation writes its page.
    #[inline]
    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Modify)
    }
}

/// The numbers that observers get for an operation.
#[derive(Clone, Copy, Debug, Value)]
struct Numbers {
    /// The number in the order of dispatch. An operation of the write cache has the number of the
    /// write whose data it programs.
    op: u64,
    /// The number of the operation's request.
    request: u64,
}

/// All page operations in the drive. The place of an operation that was removed is used again.
#[derive(Default, State)]
pub struct Ops {
    places: Vec<PageOp>,
    /// The numbers of the operations. They are in a separate list, as only observers need them.
    numbers: Vec<Numbers>,
    free: Vec<u32>,
    /// The number of operations made so far.
    count: u64,
    /// The number of operations sent to dies so far.
    sent: u64,
}

impl Ops {
    /// Gives `op` the next number and keeps it. Its request has the number `request`. Returns its
    /// place.
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

    /// Frees the place of an operation. It can still be read until the next operation is added.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        debug_assert!((place as usize) < self.places.len());
        self.free.push(place);
    }

    /// Takes the next number in the order in which operations are sent to dies.
    #[inline]
    pub fn send(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// Returns the number of operations sent to dies so far.
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

    /// Notes that the operation at `place`, of the write cache, programs the data of write
    /// `number`.
    pub fn holds_data_of(&mut self, place: u32, number: u64) {
        debug_assert!(!self[place].is_programmed, "what is programmed takes no other data");
        self.numbers[place as usize].op = number;
    }

    /// Returns the operations of a chain, which are served together, from the first on.
    #[inline]
    pub fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |op: u32| Some(op).filter(|&op| op != NONE);
        std::iter::successors(Some(first), move |&op| present(self[op].next))
    }

    /// Gives all operations of a chain the times of the first.
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

/// A queue of at least this length gets an index when it is searched. It loses the index at half
/// this length.
const WORTH_AN_INDEX: u32 = 64;

/// A queue of operations, in order. They are linked by their fields `next` and `prev`.
#[derive(Clone, Debug, Value)]
pub struct Queue {
    pub head: u32,
    tail: u32,
    len: u32,
    /// The number of urgent operations in the queue.
    pub urgent: u32,
    /// The index, if the queue is long and has been searched.
    index: Option<Box<Index>>,
}

/// The index of a long queue, which makes searches fast.
#[derive(Clone, Debug, Default, Value)]
struct Index {
    /// The operations on each page, in order.
    pages: HashMap<u32, Vec<u32>>,
    /// The order and the place of each operation that may be free to go. An operation that must
    /// wait is taken out, and put in again when an operation that it may wait for has left.
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

    /// Puts `op` back at the place that its order gives it.
    pub fn put_back(&mut self, ops: &mut Ops, op: u32) {
        let order = ops[op].order;
        let (mut before, mut after) = (NONE, self.head);
        while after != NONE && ops[after].order < order {
            (before, after) = (after, ops[after].next);
        }
        self.link(ops, before, op, after);
    }

    /// Puts `op` between `before` and `after`.
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

    /// Links two operations as neighbours in the queue. [`NONE`] stands for an end of the queue.
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

    /// Returns the index, if the queue is long. Makes it if it is missing.
    #[inline]
    fn indexed(&mut self, ops: &Ops) -> Option<&mut Index> {
        if self.index.is_none() && self.len >= WORTH_AN_INDEX {
            let mut index = Index::default();
            self.iter(ops).for_each(|op| index.add(ops, op));
            self.index = Some(Box::new(index));
        }
        self.index.as_deref_mut()
    }

    /// Returns the first operation that need not wait and whose order is below `before`.
    /// `is_held_up` says if an operation must wait for another one. When that other one leaves,
    /// call [`Queue::may_go`].
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

    /// Notes that an operation on `page` has left its queue, so that operations on the page that
    /// waited for it may be free to go.
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

    /// Returns `true` if the queue has an operation on `page` whose order is below `order`.
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

/// The operations that wait at each die, in the order in which they arrived there. Each die has a
/// queue of reads, and a queue of all other operations. Dies that a superblock joins share one queue of
/// these other operations: that of the first of them, their *lead*.
///
/// It knows that operations on one page keep their order. It does not know blocks, times and rules.
#[derive(State)]
pub struct DieQueues {
    #[snapshot(table)]
    reads: Vec<Queue>,
    /// The writes, TRIMs and flushes.
    #[snapshot(table)]
    writes: Vec<Queue>,
    /// The lead of each die; empty if each die is its own.
    #[snapshot(skip)]
    leads: Vec<u32>,
    /// The dies of each lead; none for a die that is no lead.
    #[snapshot(skip)]
    led: Vec<Vec<u32>>,
}

impl DieQueues {
    /// Returns empty queues of `dies` dies. `leads` has the lead of each die, or nothing if each die
    /// is its own.
    pub fn new(dies: u32, leads: Vec<u32>) -> Self {
        let queues = || (0..dies).map(|_| Queue::EMPTY).collect();
        let mut led = vec![Vec::new(); leads.len()];
        for (die, &lead) in (0..).zip(&leads) {
            led[lead as usize].push(die);
        }
        Self { reads: queues(), writes: queues(), leads, led }
    }

    /// Returns the die whose queue has the writes of `die`.
    #[inline(always)]
    fn lead(&self, die: u32) -> usize {
        let lead = if self.leads.is_empty() { die } else { self.leads[die as usize] };
        lead as usize
    }

    #[inline]
    fn queue(&mut self, die: u32, kind: Kind) -> &mut Queue {
        if kind == Kind::Read {
            return &mut self.reads[die as usize];
        }
        let lead = self.lead(die);
        &mut self.writes[lead]
    }

    /// Puts `op` at the end of its queue.
    #[inline(always)]
    pub fn push(&mut self, ops: &mut Ops, die: u32, op: u32) {
        self.queue(die, ops[op].kind).push(ops, op);
    }

    /// Takes `op` out of its queue.
    #[inline(always)]
    pub fn take(&mut self, ops: &mut Ops, die: u32, op: u32) {
        if ops[op].kind == Kind::Read {
            return self.reads[die as usize].take(ops, op);
        }
        let lead = self.lead(die);
        self.writes[lead].take(ops, op);
        if self.leads.is_empty() {
            return self.reads[lead].may_go(ops, ops[op].page);
        }
        for &die in &self.led[lead] {
            self.reads[die as usize].may_go(ops, ops[op].page);
        }
    }

    /// Moves `op`, a read, from the queue of one die to its place in that of another.
    pub fn pass_on(&mut self, ops: &mut Ops, op: u32, from: u32, to: u32) {
        debug_assert!(ops[op].kind == Kind::Read && from != to);
        self.reads[from as usize].take(ops, op);
        self.reads[to as usize].put_back(ops, op);
    }

    /// Puts `op`, a write or a flush, back into its queue at the place that its order gives it.
    pub fn put_back(&mut self, ops: &mut Ops, die: u32, op: u32) {
        debug_assert!(matches!(ops[op].kind, Kind::Write | Kind::Flush));
        let lead = self.lead(die);
        self.writes[lead].put_back(ops, op);
    }

    /// Returns `true` if nothing waits at `die`, nor in the queue of writes that it shares.
    #[inline]
    pub fn is_empty(&self, die: u32) -> bool {
        self.reads[die as usize].is_empty() && self.writes[self.lead(die)].is_empty()
    }

    /// Returns the oldest read, or [`NONE`].
    #[inline]
    pub fn oldest_read(&self, die: u32) -> u32 {
        self.reads[die as usize].head
    }

    /// Returns the oldest write, TRIM or flush, or [`NONE`].
    #[inline]
    pub fn oldest_write(&self, die: u32) -> u32 {
        self.writes[self.lead(die)].head
    }

    /// Returns the oldest operation of the queue of this kind, or [`NONE`].
    pub fn oldest(&self, die: u32, kind: Kind) -> u32 {
        if kind == Kind::Read { self.oldest_read(die) } else { self.oldest_write(die) }
    }

    /// Returns the first read whose order is below `before` and that need not wait for an earlier
    /// write of its page.
    #[inline]
    pub fn first_read(&mut self, ops: &Ops, die: u32, before: u64) -> Option<u32> {
        let lead = self.lead(die);
        let (reads, writes) = (&mut self.reads[die as usize], &mut self.writes[lead]);
        if writes.is_empty() {
            let head = Some(reads.head).filter(|&op| op != NONE);
            return head.filter(|&op| ops[op].order < before);
        }
        reads.first(ops, before, |op| writes.has_before(ops, op.order, op.page))
    }

    /// Returns `true` if an earlier read of the page of `op` waits.
    #[inline]
    pub fn read_before(&mut self, ops: &Ops, die: u32, op: u32) -> bool {
        let PageOp { order, page, .. } = ops[op];
        if self.leads.is_empty() {
            return self.reads[die as usize].has_before(ops, order, page);
        }
        let Self { reads, leads, led, .. } = self;
        let mut all = led[leads[die as usize] as usize].iter();
        all.any(|&die| reads[die as usize].has_before(ops, order, page))
    }

    /// Takes the reads of `page` that need not wait for an earlier write, from all dies that share the
    /// writes of `die`. Returns each with its die, in order.
    pub fn take_reads(&mut self, ops: &mut Ops, die: u32, page: u32) -> Vec<(u32, u32)> {
        let (lead, mut taken) = (self.lead(die), Vec::new());
        let Self { reads: queues, led, .. } = self;
        for &number in &led[lead] {
            let reads = &mut queues[number as usize];
            if reads.is_empty() || !reads.has_before(ops, u64::MAX, page) {
                continue;
            }
            let writes = &mut self.writes[lead];
            let is_free =
                |&op: &u32| ops[op].page == page && !writes.has_before(ops, ops[op].order, page);
            let free: Vec<u32> = reads.iter(ops).filter(is_free).collect();
            for op in free {
                reads.take(ops, op);
                taken.push((op, number));
            }
        }
        taken.sort_by_key(|&(op, _)| ops[op].order);
        taken
    }

    /// Returns `true` if an earlier write or TRIM of the page of `op` waits.
    #[inline]
    pub fn write_before(&mut self, ops: &Ops, die: u32, op: u32) -> bool {
        let PageOp { order, page, .. } = ops[op];
        let lead = self.lead(die);
        self.writes[lead].has_before(ops, order, page)
    }

    /// Returns the first urgent write that waits at `die`, for which `is_meant` returns `true`, and
    /// before which no operation on the same page waits.
    pub fn urgent_write(
        &mut self,
        ops: &Ops,
        die: u32,
        is_meant: impl Fn(&PageOp) -> bool,
    ) -> Option<u32> {
        let lead = self.lead(die);
        let (reads, writes) = (&mut self.reads[die as usize], &mut self.writes[lead]);
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
