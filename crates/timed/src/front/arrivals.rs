//! The workload's requests, one by one.

use flashgc_base::snapshot::State;
use flashgc_base::state;
use flashgc_ftl::Stepwise;
use flashgc_workload::WorkloadError;
use flashgc_workload::requests::{RequestStream, TimedRequest};

use super::shape::Shape;

/// Requests asked of the workload at a time.
const BATCH: usize = 256;
/// Requests whose map entries are fetched at once, as long before they are taken: side by side, so
/// that none waits alone for the translation of its address.
const AHEAD: usize = 32;

/// The requests of the workload in their order, the next of which can be looked at.
///
/// It knows when each wants to arrive, and nothing of its later way.
pub struct Arrivals {
    stream: Box<dyn RequestStream>,
    batch: Vec<TimedRequest>,
    /// Requests of `batch` that are taken.
    taken: usize,
    has_more: bool,
    /// The numbers of the requests of `batch`; empty where they are numbered as they come.
    numbers: Vec<u64>,
    /// That of the request taken last.
    number: Option<u64>,
}

impl State for Arrivals {
    state! {
        values: batch, taken, has_more, numbers, number;
        states: stream;
    }
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

    /// Another request, behind those that were pushed before, in place of a workload.
    pub fn push(&mut self, request: TimedRequest, number: u64) {
        if self.taken == self.batch.len() {
            self.batch.clear();
            self.numbers.clear();
            self.taken = 0;
        }
        self.batch.push(request);
        self.numbers.push(number);
    }

    /// The number of the request that was taken, where it was pushed.
    #[inline]
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Asks for the map entries of the requests that are next.
    pub fn fetch_first(&self, map: &dyn Stepwise, shape: &Shape) {
        self.fetch_ahead(map, shape, self.taken);
    }

    /// Whether the workload has another request.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The next request, which stays there.
    ///
    /// # Errors
    /// Those of the workload.
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
    /// Those of the workload.
    #[inline(always)]
    pub fn take(
        &mut self,
        map: &dyn Stepwise,
        shape: &Shape,
    ) -> Result<Option<TimedRequest>, WorkloadError> {
        let Some(&next) = self.peek(map, shape)? else { return Ok(None) };
        if self.taken.is_multiple_of(AHEAD) {
            self.fetch_ahead(map, shape, self.taken + AHEAD);
            self.fetch_old(map, shape);
        }
        self.number = self.numbers.get(self.taken).copied();
        self.taken += 1;
        if self.taken == self.batch.len() {
            self.refill(map, shape)?;
        }
        Ok(Some(next))
    }

    /// Asks the workload for the next requests.
    #[inline(never)]
    fn refill(&mut self, map: &dyn Stepwise, shape: &Shape) -> Result<(), WorkloadError> {
        self.stream.fill(&mut self.batch, BATCH)?;
        self.taken = 0;
        self.has_more = !self.batch.is_empty();
        self.fetch_ahead(map, shape, 0);
        Ok(())
    }

    /// Asks for the map entries of the requests of the batch from `first` on.
    #[inline(never)]
    fn fetch_ahead(&self, map: &dyn Stepwise, shape: &Shape, first: usize) {
        for ahead in self.batch.iter().skip(first).take(AHEAD) {
            map.prefetch(shape.page_of(ahead.offset) as u32);
        }
    }

    /// Asks for the data of the pages that the next requests write over, whose map entries were asked for
    /// before.
    #[inline(never)]
    fn fetch_old(&self, map: &dyn Stepwise, shape: &Shape) {
        for next in self.batch.iter().skip(self.taken).take(AHEAD) {
            map.prefetch_old(shape.page_of(next.offset) as u32);
        }
    }
}
