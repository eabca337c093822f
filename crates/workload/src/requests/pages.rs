//! The commands of any workload as requests of one size, with their own arrival process.

use flashgc_base::snapshot::State;

use super::arrivals::Clock;
use super::{RequestStream, TimedRequest};
use crate::generate::leave_out_trims;
use crate::{Batch, Workload, WorkloadError};

/// A workload of page commands with arrival times.
#[derive(State)]
#[snapshot(named = "requests")]
pub struct PageRequests {
    #[snapshot(state)]
    workload: Box<dyn Workload>,
    #[snapshot(state)]
    clock: Clock,
    /// The number of bytes of a request.
    #[snapshot(skip)]
    bytes: u32,
    /// `true` if a request is a part of a page. The TRIM of such a part discards nothing and is
    /// left out.
    #[snapshot(skip)]
    parts: bool,
    commands: Batch,
}

impl PageRequests {
    /// Makes requests from the commands of `workload`. The page of a command is a place of
    /// `request_size` bytes; pages of the drive have `page_size` bytes. Arrival times come from
    /// `clock`. TRIMs of less than a page are left out, and take no time.
    pub fn new(
        workload: Box<dyn Workload>,
        clock: Clock,
        page_size: u32,
        request_size: u32,
    ) -> Self {
        let parts = request_size < page_size;
        Self { workload, clock, bytes: request_size, parts, commands: Batch::default() }
    }
}

impl RequestStream for PageRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        loop {
            self.workload.fill(&mut self.commands, limit)?;
            let ended = self.commands.pages.is_empty();
            if self.parts {
                leave_out_trims(&mut self.commands);
            }
            if ended || !self.commands.pages.is_empty() {
                break;
            }
        }
        let bytes = self.bytes;
        for (index, &page) in self.commands.pages.iter().enumerate() {
            batch.push(TimedRequest {
                arrival_ns: self.clock.arrival(),
                offset: u64::from(page) * u64::from(bytes),
                bytes,
                op: self.commands.op(index),
                urgent: false,
                stream: self.commands.stream(index),
                goes_on: false,
            });
        }
        Ok(())
    }

    fn fill_commands(
        &mut self,
        batch: &mut Batch,
        page_bytes: u32,
        limit: usize,
    ) -> Result<bool, WorkloadError> {
        if self.bytes != page_bytes {
            return Ok(false);
        }
        self.workload.fill(batch, limit)?;
        Ok(true)
    }
}
