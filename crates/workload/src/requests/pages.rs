//! Page commands of any workload as requests of one page each, which arrive by a process of their
//! own.

use flashgc_base::snapshot::State;
use flashgc_base::state;

use super::arrivals::Clock;
use super::{RequestStream, TimedRequest};
use crate::{Batch, Op, Workload, WorkloadError};

/// A workload of page commands with arrival times.
pub struct PageRequests {
    workload: Box<dyn Workload>,
    clock: Clock,
    page_size: u32,
    commands: Batch,
}

impl PageRequests {
    /// The commands of `workload` on pages of `page_size` bytes, arriving by `clock`.
    pub fn new(workload: Box<dyn Workload>, clock: Clock, page_size: u32) -> Self {
        Self { workload, clock, page_size, commands: Batch::default() }
    }
}

impl State for PageRequests {
    state! {
        named: "requests";
        values: commands;
        states: workload, clock;
        fixed: page_size;
    }
}

impl RequestStream for PageRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        self.workload.fill(&mut self.commands, limit)?;
        let bytes = self.page_size;
        for (index, &page) in self.commands.pages.iter().enumerate() {
            batch.push(TimedRequest {
                arrival_ns: self.clock.arrival(),
                offset: u64::from(page) * u64::from(bytes),
                bytes,
                op: self.commands.ops.get(index).copied().unwrap_or(Op::Write),
                urgent: false,
            });
        }
        Ok(())
    }
}
