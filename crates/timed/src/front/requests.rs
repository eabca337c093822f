//! Requests: their arrivals from the workload, the pages that they touch, and the requests that the
//! drive works on.

use std::ops::Range;

use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{FtlError, FtlErrorKind, Stepwise};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::dependent::NOBODY;
use crate::ops::Kind;

/// The number of requests that are read from the workload at a time.
const BATCH: usize = 256;
/// The distance in requests at which map entries are prefetched. It is also the number of requests
/// whose other data are prefetched together: such fetches overlap, so that cache misses cost less.
const AHEAD: usize = 32;

/// The bit that marks the number of a part of a request. There are such parts if each channel is
/// simulated alone and several channels serve the request.
pub const PART: u64 = 1 << 63;

/// The party that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Party {
    /// The workload.
    Workload,
    /// The request at this place waits for the command of the host's cache.
    Request(u32),
    /// The host's cache sent the command by itself, and no request waits for it.
    Cache,
    /// The command holds only hints.
    Hints,
}

/// A request that waits for its place in the queue depth.
#[derive(Clone, Copy, Value)]
pub struct WaitingRequest {
    pub request: TimedRequest,
    pub number: u64,
    pub arrived: u64,
    pub party: Party,
    /// The number of hints that the request carries.
    pub hints: u32,
    /// `true` if this is a further piece of the request before it. The first piece has the place in
    /// the queue.
    pub joins: bool,
    /// The number of the request in a recording whose requests wait for answers; else [`NOBODY`].
    pub waited: u64,
}

impl WaitingRequest {
    /// Makes a whole request, without a number and without hints, that is not in a recording.
    pub fn new(request: TimedRequest, arrived: u64, party: Party) -> Self {
        let (number, waited) = (u64::MAX, NOBODY);
        Self { request, number, arrived, party, hints: 0, joins: false, waited }
    }
}

/// A request that the drive or the host's cache works on.
#[derive(Clone, Copy, Value)]
pub struct Request {
    pub request: TimedRequest,
    pub number: u64,
    pub arrived: u64,
    /// The time at which the request got its place in the queue of the drive, in nanoseconds.
    pub dispatched: u64,
    /// The time at which the drive began the request, in nanoseconds.
    pub began: u64,
    /// The number of page operations or commands of the cache that are not done yet.
    pub left: u32,
    pub met_collection: bool,
    pub party: Party,
    /// The number of the request in a recording whose requests wait for answers; else [`NOBODY`].
    pub waited: u64,
}

/// The time of a page operation by cause, without the time in queues. Also the operation's plane,
/// if a die has served it.
#[derive(Clone, Copy, Default, Value)]
pub(super) struct Times {
    pub(super) plane: Option<u32>,
    pub(super) blocked_ns: u64,
    pub(super) bus_ns: u64,
    pub(super) cell_ns: u64,
}

impl Times {
    /// Returns these times with `ns` more for the link to the host, which counts as a bus.
    pub(super) fn with_link(self, ns: u64) -> Self {
        Self { bus_ns: self.bus_ns + ns, ..self }
    }
}

/// All requests under way. The place of a request that is done is used again.
#[derive(Default, Value)]
pub struct Requests {
    places: Vec<Request>,
    free: Vec<u32>,
}

impl Requests {
    /// Keeps a request that has `left` parts, with its times of dispatch and begin. Returns its
    /// place.
    #[inline(always)]
    pub fn keep(
        &mut self,
        waiting: &WaitingRequest,
        (dispatched, began): (u64, u64),
        left: u32,
    ) -> u32 {
        let WaitingRequest { request, number, arrived, party, waited, .. } = *waiting;
        debug_assert!(!waiting.joins, "a piece is kept with its request");
        let entry = Request {
            request,
            number,
            arrived,
            dispatched,
            began,
            left,
            met_collection: false,
            party,
            waited,
        };
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = entry;
            return place;
        }
        self.places.push(entry);
        self.places.len() as u32 - 1
    }

    /// Lets the request at `place` wait for `more` further parts.
    pub fn waits_for(&mut self, place: u32, more: u32) {
        self.places[place as usize].left += more;
    }

    /// Adds a further piece, which has `left` parts, to the request at `place`.
    pub fn join(&mut self, place: u32, piece: &TimedRequest, left: u32) {
        self.waits_for(place, left);
        let whole = &mut self.places[place as usize].request;
        whole.bytes = whole.bytes.saturating_add(piece.bytes);
    }

    /// Ends a part of the request at `place`. `met` is `true` if the part met a collection. Returns
    /// `true` if it was the last part.
    #[inline]
    pub fn part_done(&mut self, place: u32, met: bool) -> bool {
        let request = &mut self.places[place as usize];
        debug_assert!(request.left > 0, "a request is completed once");
        request.met_collection |= met;
        request.left -= 1;
        request.left == 0
    }

    /// Frees the place of a request that is done. It can still be read until the next request is
    /// kept.
    #[inline]
    pub fn forget(&mut self, place: u32) {
        debug_assert!(self.places[place as usize].left == 0);
        self.free.push(place);
    }
}

impl std::ops::Index<u32> for Requests {
    type Output = Request;

    #[inline]
    fn index(&self, place: u32) -> &Request {
        &self.places[place as usize]
    }
}

/// The requests of the workload in order.
///
/// It knows the arrival time of each request. It does not know what the drive does with it.
#[derive(State)]
pub struct Arrivals {
    #[snapshot(state)]
    stream: Box<dyn RequestStream>,
    batch: Vec<TimedRequest>,
    /// The number of requests of `batch` that were taken.
    taken: usize,
    has_more: bool,
    /// The numbers of the requests of `batch`, if they were pushed; else empty, and the front end
    /// numbers requests as they arrive.
    numbers: Vec<u64>,
    /// The number of the request taken last.
    number: Option<u64>,
}

impl Arrivals {
    pub fn new(stream: Box<dyn RequestStream>) -> Self {
        Self {
            stream,
            batch: Vec::with_capacity(BATCH),
            taken: 0,
            has_more: true,
            numbers: Vec::new(),
            number: None,
        }
    }

    /// Adds a request after those that were pushed before. The drive then has no workload.
    pub fn push(&mut self, request: TimedRequest, number: u64) {
        if self.taken == self.batch.len() {
            self.batch.clear();
            self.numbers.clear();
            self.taken = 0;
        }
        self.batch.push(request);
        self.numbers.push(number);
    }

    /// Returns the number of the request taken last, if it was pushed.
    #[inline]
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Prefetches the map entries of the requests that are next.
    pub fn fetch_first(&self, map: &dyn Stepwise, shape: &Shape) {
        self.fetch_ahead(map, shape, self.taken);
    }

    /// Returns `true` if the workload has another request.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns the next request and does not take it.
    ///
    /// # Errors
    /// The errors of the workload.
    #[inline(always)]
    pub fn peek(
        &mut self,
        map: &dyn Stepwise,
        shape: &Shape,
    ) -> Result<Option<&TimedRequest>, WorkloadError> {
        if self.taken == self.batch.len() {
            self.refill(map, shape)?;
        }
        Ok(self.batch.get(self.taken))
    }

    /// Takes the next request.
    ///
    /// # Errors
    /// The errors of the workload.
    #[inline(always)]
    pub fn take(
        &mut self,
        map: &dyn Stepwise,
        shape: &Shape,
    ) -> Result<Option<TimedRequest>, WorkloadError> {
        let Some(&next) = self.peek(map, shape)? else { return Ok(None) };
        if let Some(ahead) = self.batch.get(self.taken + AHEAD) {
            map.prefetch(shape.page_of(ahead.offset) as u32);
        }
        if self.taken.is_multiple_of(AHEAD) {
            self.fetch_old(map, shape);
        }
        self.number = self.numbers.get(self.taken).copied();
        self.taken += 1;
        if self.taken == self.batch.len() {
            self.refill(map, shape)?;
        }
        Ok(Some(next))
    }

    /// Reads the next requests from the workload.
    #[inline(never)]
    fn refill(&mut self, map: &dyn Stepwise, shape: &Shape) -> Result<(), WorkloadError> {
        self.stream.fill(&mut self.batch, BATCH)?;
        self.taken = 0;
        self.has_more = !self.batch.is_empty();
        self.fetch_ahead(map, shape, 0);
        Ok(())
    }

    /// Prefetches the map entries of [`AHEAD`] requests of the batch, from number `first` on.
    #[inline(never)]
    fn fetch_ahead(&self, map: &dyn Stepwise, shape: &Shape, first: usize) {
        for ahead in self.batch.iter().skip(first).take(AHEAD) {
            map.prefetch(shape.page_of(ahead.offset) as u32);
        }
    }

    /// Prefetches the simulation's data about the old copies of the pages that the next requests
    /// write or discard. The map entries of these pages were prefetched before.
    #[inline(never)]
    fn fetch_old(&self, map: &dyn Stepwise, shape: &Shape) {
        let next = self.batch.iter().skip(self.taken).take(AHEAD);
        for next in next.filter(|next| next.op != Op::Read) {
            map.prefetch_old(shape.page_of(next.offset) as u32);
        }
    }
}

/// The rule that divides requests into pages: the size of a page and the number of logical pages.
pub struct Shape {
    page_bytes: u32,
    logical_pages: u32,
}

impl Shape {
    /// Returns the rule for a drive of `logical_pages` pages of `page_bytes` bytes.
    pub fn new(page_bytes: u32, logical_pages: u32) -> Self {
        Self { page_bytes, logical_pages }
    }

    /// Returns the number of bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Returns this rule with `logical_pages` logical pages.
    pub fn with_pages(&self, logical_pages: u32) -> Self {
        Self { logical_pages, ..*self }
    }

    /// Returns the number of logical pages.
    pub fn pages(&self) -> u32 {
        self.logical_pages
    }

    /// Returns the pages that a request touches. A discard touches only pages that it covers as a
    /// whole.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn pages_of(&self, request: &TimedRequest) -> Result<Range<u32>, FtlError> {
        let (begin, end) = (request.offset, request.end());
        let (first, last) = (self.page_of(begin), self.page_of(end.max(begin + 1) - 1));
        if last >= u64::from(self.logical_pages) {
            let page = u32::try_from(last).unwrap_or(u32::MAX);
            return Err(FtlErrorKind::OutOfRange { page, logical_pages: self.logical_pages }.into());
        }
        let (first, last) = (first as u32, last as u32);
        if request.op != Op::Trim {
            return Ok(first..last + 1);
        }
        let covers = |page| u32::from(self.covers(request, page));
        Ok(first + 1 - covers(first)..last + covers(last))
    }

    /// Returns the kind of the operation that a request needs of one of its pages.
    pub fn kind_of(&self, request: &TimedRequest, page: u32) -> Kind {
        match request.op {
            Op::Read => Kind::Read,
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => Kind::Trim,
            Op::Write if self.covers(request, page) => Kind::Write,
            Op::Write => Kind::Modify,
        }
    }

    /// Returns a request that does `op` on a whole page.
    pub fn request_on(&self, op: Op, page: u32) -> TimedRequest {
        let offset = u64::from(page) * u64::from(self.page_bytes);
        TimedRequest {
            arrival_ns: 0,
            offset,
            bytes: self.page_bytes,
            op,
            urgent: false,
            stream: NO_STREAM,
            goes_on: false,
        }
    }

    /// Returns the number of the page that has this byte of the drive.
    #[inline]
    pub fn page_of(&self, byte: u64) -> u64 {
        if self.page_bytes.is_power_of_two() {
            return byte >> self.page_bytes.trailing_zeros();
        }
        byte / u64::from(self.page_bytes)
    }

    /// Returns the range of bytes within `page` that a request touches. The request must touch the
    /// page.
    pub fn bytes_in(&self, request: &TimedRequest, page: u32) -> Range<u32> {
        let bytes = u64::from(self.page_bytes);
        let first = u64::from(page) * bytes;
        let begin = request.offset.saturating_sub(first);
        let end = (request.end() - first).min(bytes);
        begin as u32..end as u32
    }

    /// Returns the number of bytes of a page that are not in `bytes`.
    pub fn missing(&self, bytes: &Range<u32>) -> u32 {
        self.page_bytes - (bytes.end - bytes.start)
    }

    /// Returns `true` if a request covers all of `page`.
    fn covers(&self, request: &TimedRequest, page: u32) -> bool {
        let bytes = u64::from(self.page_bytes);
        let first = u64::from(page) * bytes;
        first >= request.offset && first + bytes <= request.end()
    }
}
