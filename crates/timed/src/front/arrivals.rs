//! The workload's requests, one by one.

use flashgc_base::snapshot::State;
use flashgc_ftl::Stepwise;
use flashgc_workload::WorkloadError;
use flashgc_workload::requests::{RequestStream, TimedRequest};

use super::shape::Shape;

/// The number of requests that the workload is asked for at a time.
const BATCH: usize = 256;
/// The number of requests whose map entries are fetched at once, as long before they are taken: side by
/// side, so that none waits alone for the translation of its address.
const AHEAD: usize = 32;

/// The requests of the workload in order. The next one can be looked at.
///
/// It knows the arrival time that each asks for, and nothing of its later way.
#[derive(State)]
pub struct Arrivals {
    #[snapshot(state)]
    stream: Box<dyn RequestStream>,
    batch: Vec<TimedRequest>,
    /// The number of requests of `batch` that are taken.
    taken: usize,
    has_more: bool,
    /// The numbers of the requests of `batch`; empty if they are numbered as they come.
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

    /// Adds a request, behind those that were pushed before, in place of a workload.
    pub fn push(&mut self, request: TimedRequest, number: u64) {
        if self.taken == self.batch.len() {
            self.batch.clear();
            self.numbers.clear();
            self.taken = 0;
        }
        self.batch.push(request);
        self.numbers.push(number);
    }

    /// Returns the number of the request that was taken, if it was pushed.
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

    /// Returns the next request, which stays there.
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

    /// Prefetches the map entries of the requests of the batch from `first` on.
    #[inline(never)]
    fn fetch_ahead(&self, map: &dyn Stepwise, shape: &Shape, first: usize) {
        for ahead in self.batch.iter().skip(first).take(AHEAD) {
            map.prefetch(shape.page_of(ahead.offset) as u32);
        }
    }

    /// Prefetches the data of the pages that the next requests write over, whose map entries were fetched
    /// before.
    #[inline(never)]
    fn fetch_old(&self, map: &dyn Stepwise, shape: &Shape) {
        for next in self.batch.iter().skip(self.taken).take(AHEAD) {
            map.prefetch_old(shape.page_of(next.offset) as u32);
        }
    }
}
