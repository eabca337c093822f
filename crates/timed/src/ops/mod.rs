//! Page operations: the parts of requests. The front end makes and forgets them. On their way
//! through the other rooms each room notes on them the facts that the next needs.

use flashgc_base::snapshot::{State, Value};

mod queue;
mod waiting;

pub use queue::Queue;
pub use waiting::Waiting;

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
    /// The numbers, beside the operations, as only observers look at them.
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
