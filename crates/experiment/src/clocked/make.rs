//! Makes the drive of a run from its configuration.

use std::fs::File;
use std::io::BufWriter;

use flashgc_base::spec::SpecError;
use flashgc_drive::error::DriveError;
use flashgc_ftl::{FtlError, Geometry};
use flashgc_timed::metrics::timeline::Timeline;
use flashgc_timed::metrics::trace_events::{MOST_EVENTS, TraceEvents};
use flashgc_timed::tenants::InTurn;
use flashgc_timed::{
    ByTenant, Channels, Loop, Meter, TimedDrive, TraceFile, WorstSoFar, are_apart,
};
use flashgc_workload::requests::{RequestStream, Requests};

use super::parts::{Limited, layer, layer_of, open, open_lines};
use super::simulated::Simulated;
use crate::clock::Timed;
use crate::config::Resolved;

/// Makes the drive of run number `index`, at its beginning. With `threads`, its channels are
/// simulated separately, by this number of threads, if that is possible.
///
/// # Errors
/// Returns the errors of the map and of the workload.
pub(super) fn drive(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
    threads: Option<usize>,
) -> Result<Simulated, DriveError> {
    if let Some(threads) = threads
        && is_by_channel(resolved, timed, index)
        // If this fails, the drive is made as a whole below, and the error is about the whole
        // drive.
        && let Ok(drive) = by_channel(resolved, timed, index, threads)
    {
        return Ok(Simulated::ByChannel(Box::new(drive)));
    }
    Ok(Simulated::Whole(Box::new(whole(resolved, timed, index)?)))
}

/// The largest mean number of pages per request with which the separate simulation of channels is
/// faster. Each channel gets its part of a request as a separate request: with four pages a
/// request, the gain from two threads is lost.
const MOST_PAGES: f64 = 1.25;

/// Returns `true` if the channels of a drive can be simulated separately. The conditions are:
/// channels that share only the queue, requests of few pages, a map with no state across channels,
/// and no recording of single steps.
fn is_by_channel(resolved: &Resolved, timed: &Timed, index: u32) -> bool {
    let follows_steps = index == 0 && (timed.timeline.is_some() || timed.trace_events.is_some())
        || timed.keeps_operations;
    let (_, heeds_hints) = resolved.hints();
    let requests = resolved.source.requests();
    let pages = requests.and_then(|it| it.pages_a_request(&resolved.space()));
    are_apart(&timed.settings)
        && pages.is_some_and(|pages| pages <= MOST_PAGES)
        && !requests.is_some_and(Requests::have_pieces)
        && !follows_steps
        && !heeds_hints
        && !resolved.is_external()
        && !resolved.has_streams()
        && !resolved.mapping.is_on_flash()
        && resolved.placement.is_none()
        && resolved.levelling.is_none()
        && resolved.lifespan.is_none()
        && resolved.host.is_none()
        && resolved.buffer.is_protected
        && timed.tenants.is_empty()
}

/// Returns a meter for a drive, or a part of it, with this number of dies.
fn meter(timed: &Timed, dies: u32) -> Meter {
    let planes = timed.settings.hardware.planes;
    let worst = WorstSoFar::new(dies, planes, timed.keeps_operations);
    Meter::new(timed.warmup, timed.plan.resolution_ns, dies, None, worst)
}

/// Opens the requests of run number `index`.
fn requests(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
) -> Result<(Box<dyn RequestStream>, u64), DriveError> {
    // A run that may be lengthened has no known last request.
    let is_open_ended = resolved.until_failure || resolved.config.precision.is_some();
    let (passes, left) =
        if is_open_ended { (None, u64::MAX) } else { (timed.passes, timed.requests) };
    if !timed.tenants.is_empty() {
        return Ok((Box::new(InTurn::none()), left));
    }
    let inner = open(resolved, timed, resolved.seed(index), passes)?;
    Ok((Box::new(Limited { inner, left }), left))
}

/// Makes a drive whose channels are simulated separately.
fn by_channel(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
    threads: usize,
) -> Result<Channels, DriveError> {
    let (requests, _) = requests(resolved, timed, index)?;
    let geometry = resolved.geometry;
    let channels = timed.settings.hardware.channels;
    let map = |settings: &_, channel: u32, pages: u32| {
        let part = Geometry::new(
            geometry.blocks() / channels,
            geometry.pages_per_block(),
            u64::from(pages),
        );
        layer_of(resolved, timed, settings, part.map_err(FtlError::from)?, index, channel)
    };
    let pages = geometry.logical_pages();
    Channels::new(&timed.settings, pages, requests, threads, |dies| meter(timed, dies), map)
}

/// Makes a drive that is simulated as a whole.
fn whole(resolved: &Resolved, timed: &Timed, index: u32) -> Result<TimedDrive<Meter>, DriveError> {
    let seed = resolved.seed(index);
    let timeline = timed.timeline.filter(|_| index == 0).map(Timeline::new);
    let trace = timed.trace_events.as_ref().filter(|_| index == 0).map(trace_file).transpose()?;
    let dies = timed.settings.hardware.all_dies();
    let meter = meter(timed, dies)
        .with_timeline(timeline)
        .by_tenant(ByTenant::new(&timed.tenants, resolved.config.unit()))
        .writing(trace);
    let (requests, left) = requests(resolved, timed, index)?;
    let layer = layer(resolved, timed, index)?;
    let mut settings = timed.settings.clone();
    settings.details.failures = settings.details.failures.map(|rule| rule.seeded(seed));
    let mut drive = TimedDrive::new(settings, layer, requests, meter).map_err(FtlError::from)?;
    if !timed.tenants.is_empty() {
        drive = drive.shared_by(open_lines(resolved, timed, seed, left)?);
    }
    if timed.settings.host == Loop::Dependent {
        let requests = resolved.source.requests().expect("a timed drive's workload has requests");
        let waits = requests.waits(resolved.geometry.logical_pages()).map_err(FtlError::from)?;
        drive = drive.waiting(waits.clone(), timed.plan.rate_scale);
    }
    let locate = |page| drive.layer().locate(page);
    if let Some(cache) = resolved.mapping.cache(&resolved.geometry, locate) {
        drive = drive.mapped(cache).map_err(FtlError::from)?;
    }
    if let Some(host) = &resolved.host {
        let (page_size, pages) = (resolved.config.unit(), resolved.geometry.logical_pages());
        let host = host.open_clocked(page_size, pages, seed).map_err(FtlError::from)?;
        drive = drive.behind(host);
    }
    Ok(drive)
}

/// Opens a file of trace events.
fn trace_file((file, from_ns, to_ns): &(String, u64, u64)) -> Result<TraceFile, DriveError> {
    let out = File::create(file).map_err(|error| {
        FtlError::from(SpecError::new(format!("{file}: {error}"), "give another file"))
    })?;
    Ok(TraceEvents::new(BufWriter::new(out), *from_ns, *to_ns, MOST_EVENTS))
}
