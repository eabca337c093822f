//! Reads the workload a second time, ahead of the drive, for a placement that must know future
//! writes.

use flashgc_base::snapshot::State;
use flashgc_ftl::{Event, Future};
use flashgc_workload::{Batch, Op, Workload};

/// A second reading of a run's workload.
#[derive(State)]
pub(crate) struct Ahead {
    #[snapshot(state)]
    workload: Box<dyn Workload>,
    #[snapshot(skip)]
    batch: Batch,
}

impl Ahead {
    /// Returns a reading of `workload` from its beginning.
    pub(crate) fn new(workload: Box<dyn Workload>) -> Self {
        Self { workload, batch: Batch::default() }
    }
}

impl Future for Ahead {
    fn next(&mut self, events: &mut Vec<Event>) {
        events.clear();
        while events.is_empty() {
            // An error of the workload ends this reading without a report. The drive meets the same
            // error when it reaches this place, and reports it.
            let went_on = self.workload.fill(&mut self.batch, Batch::DEFAULT_LEN).is_ok();
            if !went_on || self.batch.pages.is_empty() {
                return;
            }
            let Batch { pages, ops, .. } = &self.batch;
            if ops.is_empty() {
                events.extend(pages.iter().map(|&page| Event { page, is_trim: false }));
                continue;
            }
            events.extend(pages.iter().zip(ops).filter_map(|(&page, op)| match op {
                Op::Write => Some(Event { page, is_trim: false }),
                Op::Trim => Some(Event { page, is_trim: true }),
                _ => None,
            }));
        }
    }
}
