//! The requests of generators that give them sizes, with an arrival process.

use flashgc_base::snapshot::State;

use super::arrivals::Clock;
use super::{RequestStream, TimedRequest};
use crate::WorkloadError;
use crate::generate::Extents;

/// Requests with sizes and arrival times.
#[derive(State)]
#[snapshot(named = "requests with sizes and times")]
pub(super) struct SizedRequests {
    #[snapshot(state)]
    extents: Extents,
    #[snapshot(state)]
    clock: Clock,
}

impl SizedRequests {
    pub fn new(extents: Extents, clock: Clock) -> Self {
        Self { extents, clock }
    }
}

impl RequestStream for SizedRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        for _ in 0..limit {
            let request = self.extents.next_request();
            batch.push(TimedRequest {
                arrival_ns: self.clock.arrival(),
                offset: request.offset as u64,
                bytes: request.size as u32,
                op: request.op,
                urgent: false,
                stream: request.stream,
                goes_on: false,
            });
        }
        Ok(())
    }
}
