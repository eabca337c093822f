//! The parts of a timed run: the map and the requests.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_drive::error::DriveError;
use flashgc_ftl::{Frontier, FtlError, Geometry, Layout, PlaneLayout, Stepwise};
use flashgc_timed::tenants::{InPart, InTurn, Tenant};
use flashgc_timed::{Lines, Settings};
use flashgc_workload::requests::{RequestStream, Space, TimedRequest};
use flashgc_workload::{FlushingRequests, RangedRequests, WorkloadError};

use crate::clock::Timed;
use crate::config::Resolved;

/// Makes the map of a drive.
pub(super) fn layer(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
) -> Result<Box<dyn Stepwise>, DriveError> {
    let below = resolved.mapping.geometry_below(&resolved.geometry);
    let geometry = below.map_err(FtlError::from)?;
    layer_of(resolved, timed, &timed.settings, geometry, index, 0)
}

/// Makes the map of a drive, or of one channel. `settings` and `geometry` describe the drive or the
/// channel; `number` is the number of channels before it.
pub(super) fn layer_of(
    resolved: &Resolved,
    timed: &Timed,
    settings: &Settings,
    geometry: Geometry,
    index: u32,
    number: u32,
) -> Result<Box<dyn Stepwise>, DriveError> {
    let hardware = &settings.hardware;
    let homes = settings.placement.homes_in_groups(hardware, resolved.placement.groups());
    let planes = hardware.all_planes();
    let all_planes = timed.settings.hardware.all_planes();
    let low = timed.plan.blocks_kept(resolved.geometry.blocks() / all_planes);
    let layout = PlaneLayout {
        layout: Layout { geometry, frontier: Frontier::Pool { low }, ..resolved.layout(index) },
        planes,
        first: number * planes,
        home: &|page| homes[page as usize % homes.len()],
    };
    Ok(resolved.stepwise(layout)?)
}

/// Opens the requests of the tenants as separate queues, which end when `left` requests have
/// arrived in all.
pub(super) fn open_lines(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
    left: u64,
) -> Result<Lines, WorkloadError> {
    let Timed { tenants, weights, plan, .. } = timed;
    let streams = open_tenants(resolved, tenants, plan.rate_scale, seed)?;
    Ok(Lines::new(tenants, streams, *weights, resolved.config.unit(), left))
}

/// Opens the requests of every tenant in one run with this seed, at their places on the drive.
///
/// The first tenant draws the random numbers that a single host would draw. The other tenants draw
/// from their own streams.
///
/// # Errors
/// The errors of the workloads.
fn open_tenants(
    resolved: &Resolved,
    tenants: &[Tenant],
    rate_scale: f64,
    seed: u64,
) -> Result<Vec<Box<dyn RequestStream>>, WorkloadError> {
    let unit = resolved.config.unit();
    let each = tenants.iter().zip(resolved.source.tenants()).enumerate();
    each.map(|(number, (tenant, requests))| {
        let Tenant { spec, pages, .. } = tenant;
        let seed = match number {
            0 => seed,
            _ => Stream::new(seed, &format!("tenant {}", spec.name)).bits(),
        };
        let space = Space {
            logical_pages: pages.end - pages.start,
            page_size: unit,
            request_size: spec.request_size.unwrap_or(unit),
        };
        let arrivals = spec.arrivals.as_ref();
        let mut inner = requests.open(space, seed, arrivals, rate_scale, None)?;
        if let Some(every) = resolved.config.flush_every {
            inner = Box::new(FlushingRequests::new(inner, every, unit));
        }
        let begin = u64::from(pages.start) * u64::from(unit);
        let stream: Box<dyn RequestStream> =
            Box::new(InPart::new(inner, &spec.name, begin, space.bytes()));
        Ok(match &resolved.streams {
            Some(ranges) => Box::new(RangedRequests::new(stream, Arc::clone(ranges), unit)),
            None => stream,
        })
    })
    .collect()
}

/// Opens the requests that bring a drive into its state before a run. Reads of a trace are left out
/// if they change nothing: a trace may have three writes in 100,000 requests.
pub(super) fn open_before(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
) -> Result<Box<dyn RequestStream>, WorkloadError> {
    // Reads change the state of a host's cache and of the cache of a map on flash.
    let needs_all =
        resolved.host.is_some() || resolved.mapping.is_on_flash() || !timed.tenants.is_empty();
    let requests = resolved.source.requests().filter(|_| !needs_all);
    match requests.and_then(|requests| requests.without_reads(&resolved.space())) {
        Some(changes) => {
            let stream = changes.open(resolved.space(), seed, None, 1.0, None)?;
            Ok(dressed(resolved, stream))
        }
        None => open(resolved, timed, seed, None),
    }
}

/// Opens the requests of a run. If there are tenants, these requests are the writes before the
/// clock, and the tenants take turns.
pub(super) fn open(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
    passes: Option<u64>,
) -> Result<Box<dyn RequestStream>, WorkloadError> {
    if !timed.tenants.is_empty() {
        let streams = open_tenants(resolved, &timed.tenants, timed.plan.rate_scale, seed)?;
        return Ok(Box::new(InTurn::new(streams, &timed.tenants)));
    }
    let requests = resolved.source.requests().expect("a timed drive's workload has requests");
    let arrivals = timed.plan.arrivals.as_ref();
    let rate_scale = timed.plan.rate_scale;
    let stream = requests.open(resolved.space(), seed, arrivals, rate_scale, passes)?;
    Ok(dressed(resolved, stream))
}

/// Adds the streams by address and the host's flushes to `stream`.
fn dressed(resolved: &Resolved, mut stream: Box<dyn RequestStream>) -> Box<dyn RequestStream> {
    // The pages of a host's cache get their streams when they leave the cache.
    if let Some(ranges) = resolved.streams.as_ref().filter(|_| resolved.host.is_none()) {
        stream = Box::new(RangedRequests::new(stream, Arc::clone(ranges), resolved.config.unit()));
    }
    match resolved.config.flush_every {
        Some(every) => Box::new(FlushingRequests::new(stream, every, resolved.config.unit())),
        None => stream,
    }
}

/// The first `left` requests of a stream. Hints and flush commands do not count, and the pieces of
/// a request count once. The stream ends directly after the last request: later hints and flushes
/// are left out, as in a run without a clock.
#[derive(State)]
pub(super) struct Limited {
    #[snapshot(state)]
    pub(super) inner: Box<dyn RequestStream>,
    pub(super) left: u64,
}

impl RequestStream for Limited {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        let limit = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if limit == 0 {
            batch.clear();
            return Ok(());
        }
        self.inner.fill(batch, limit)?;
        let ends = batch.iter().enumerate().filter(|(_, request)| request.is_last_piece());
        let (requests, end) = ends.fold((0, 0), |(count, _), (at, _)| (count + 1, at + 1));
        self.left -= requests;
        if self.left == 0 {
            batch.truncate(end);
        }
        Ok(())
    }
}
