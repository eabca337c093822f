//! What a timed run is made of: its map, its requests, the pieces that it is cut into, and how far it is.

use std::sync::atomic::Ordering;

use flashgc_base::snapshot::State;
use flashgc_base::state;
use flashgc_ftl::{Frontier, Layout, PlaneLayout, Stepwise};
use flashgc_workload::requests::{RequestStream, Space, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::config::Timed;
use crate::config::Resolved;
use crate::counting::DriveError;
use crate::run::{Control, INTERVALS};

/// The requests completed at the ends of the pieces that the run is cut into; one of them is the
/// end of the warm-up.
pub(super) fn targets(timed: &Timed) -> impl Iterator<Item = u64> {
    let (warmup, total) = (timed.warmup, timed.requests);
    let piece = |amount: u64, index: u64, pieces: u64| {
        (u128::from(amount) * u128::from(index) / u128::from(pieces)) as u64
    };
    let before = (1..=INTERVALS / 3).map(move |index| piece(warmup, index, INTERVALS / 3));
    let after = (1..=INTERVALS).map(move |index| warmup + piece(total - warmup, index, INTERVALS));
    before.filter(move |_| warmup > 0).chain(after)
}

pub(super) fn layer(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
) -> Result<Box<dyn Stepwise>, DriveError> {
    let hardware = &timed.settings.hardware;
    let homes = timed.settings.placement.homes(hardware);
    let planes = hardware.all_planes();
    let low = timed.plan.blocks_kept(resolved.geometry.blocks() / planes);
    let layout = PlaneLayout {
        layout: Layout { frontier: Frontier::Pool { low }, ..resolved.layout(index) },
        planes,
        home: &|page| homes[page as usize % homes.len()],
    };
    Ok(resolved.stepwise(layout)?)
}

pub(super) fn open(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
    passes: Option<u64>,
) -> Result<Box<dyn RequestStream>, WorkloadError> {
    let space = Space {
        logical_pages: resolved.geometry.logical_pages(),
        page_size: resolved.config.page_size,
    };
    let requests = resolved.source.requests().expect("a timed drive's workload has requests");
    requests.open(space, seed, timed.plan.arrivals.as_ref(), timed.plan.rate_scale, passes)
}

/// The first so many requests of a stream.
pub(super) struct Limited {
    pub(super) inner: Box<dyn RequestStream>,
    pub(super) left: u64,
}

impl State for Limited {
    state! {
        values: left;
        states: inner;
    }
}

impl RequestStream for Limited {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        let limit = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if limit == 0 {
            batch.clear();
            return Ok(());
        }
        self.inner.fill(batch, limit)?;
        let requests = batch.iter().filter(|request| request.op != Op::Dirty);
        self.left -= requests.count() as u64;
        Ok(())
    }
}

/// How far a run is, in page writes without the clock and requests: close enough for a bar.
pub(super) struct Progress {
    total: u64,
    reported: u64,
    programs: u64,
}

impl Progress {
    pub(super) fn new(timed: &Timed) -> Self {
        Self { total: (timed.precondition + timed.requests).max(1), reported: 0, programs: 0 }
    }

    pub(super) fn report(&mut self, done: u64, programs: u64, control: &Control) {
        let share = u128::from(done.min(self.total)) * u128::from(Control::RUN);
        let parts = (share / u128::from(self.total)) as u64;
        control.done.fetch_add(parts.saturating_sub(self.reported), Ordering::Relaxed);
        control.programs.fetch_add(programs - self.programs, Ordering::Relaxed);
        (self.reported, self.programs) = (self.reported.max(parts), programs);
    }
}
