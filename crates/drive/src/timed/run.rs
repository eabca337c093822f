//! One timed run: writes without the clock to bring the drive into its state, then requests, of
//! which the first are not measured. Stoppable at any moment.

use std::sync::atomic::Ordering;
use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_ftl::{Counters, Frontier, Layout, PlaneLayout, Stepwise, ZombieCounts};
use flashgc_host::HostCounts;
use flashgc_workload::requests::{RequestStream, Space, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::config::Timed;
use super::drive::{Stop, TimedDrive, Until};
use super::measure::{CollectionResult, Meter, Overload, Totals, Utilisation};
use crate::config::Resolved;
use crate::counting::DriveError;
use crate::metrics::timeline::Timeline;
use crate::run::{Control, Finished, INTERVALS, Poll};
use crate::stats::Interval;
use crate::wear::{Erases, histogram};

/// Requests between two looks at whether to stop.
const BETWEEN_LOOKS: u64 = 8192;
/// Requests without a write of the drive after which none is expected before the clock: more than come
/// between two checkpoints of a database.
const MOST_WITHOUT_WRITE: u64 = 1 << 24;

/// What a timed run has left when its drive is gone.
pub(crate) struct TimedRun {
    /// What every drive counts.
    pub finished: Finished,
    /// What was measured.
    pub meter: Meter,
    /// Collections of the measured part.
    pub collecting: CollectionResult,
    /// How busy everything was in it.
    pub utilisation: Utilisation,
    /// Its nanoseconds.
    pub ns: u64,
    /// Requests completed in it.
    pub completed: u64,
    /// Sum over its time of the requests in the system.
    pub request_ns: u128,
    /// Whether requests came too fast.
    pub overload: Option<Overload>,
}

/// A moment of a drive, of which the differences are measured.
struct Moment {
    now: u64,
    counters: Counters,
    zombies: Option<ZombieCounts>,
    host: Option<HostCounts>,
    totals: Totals,
}

impl Moment {
    fn of(drive: &mut TimedDrive<&mut Meter>) -> Self {
        Self {
            now: drive.now(),
            counters: drive.layer().counters(),
            zombies: drive.layer().zombies(),
            host: drive.host_counts(),
            totals: drive.totals().clone(),
        }
    }
}

/// Makes run number `index` and does all of it, or what there is time for until it is cancelled.
pub(crate) fn run(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
    control: &Control,
    mut poll: Option<Poll<'_>>,
) -> Result<TimedRun, DriveError> {
    let started = Instant::now();
    let seed = resolved.seed(index);
    let timeline = timed.timeline.filter(|_| index == 0);
    let timeline = timeline.map(|(from_ns, to_ns)| Timeline::new(from_ns, to_ns));
    let dies = timed.settings.hardware.all_dies();
    let mut meter = Meter::new(timed.warmup, timed.plan.resolution_ns, dies, timeline);
    let requests = open(resolved, timed, seed, timed.passes)?;
    let requests = Limited { inner: requests, left: timed.requests };
    let layer = layer(resolved, timed, index)?;
    let settings = timed.settings.clone();
    let mut drive = TimedDrive::new(settings, layer, Box::new(requests), &mut meter)
        .map_err(flashgc_ftl::FtlError::from)?;
    if let Some(host) = &resolved.host {
        let (page_size, pages) = (resolved.config.page_size, resolved.geometry.logical_pages());
        let host = host.open_clocked(page_size, pages, seed);
        drive = drive.behind(host.map_err(flashgc_ftl::FtlError::from)?);
    }
    let mut progress = Progress::new(timed);
    let mut look = |drive: &TimedDrive<&mut Meter>, done: u64| {
        progress.report(done, drive.layer().counters().programs(), control);
        if let Some(poll) = &mut poll {
            poll();
        }
        !control.is_cancelled()
    };
    let mut going = precondition(resolved, timed, seed, &mut drive, &mut look)?;
    let mut start = (timed.warmup == 0).then(|| Moment::of(&mut drive));
    let (mut settling, mut measured) = (Vec::new(), Vec::new());
    let mut last = drive.layer().counters();
    let mut stop = Stop::Reached;
    let mut completed = 0;
    for target in targets(timed) {
        while going && stop == Stop::Reached && completed < target {
            let next = target.min(completed + BETWEEN_LOOKS);
            stop = drive.run(Until { completed: next, ..Until::END })?;
            completed = drive.totals().completed;
            going = look(&drive, timed.precondition + completed);
        }
        let now = drive.layer().counters();
        let since = now.since(&last);
        last = now;
        let interval = Interval { host_pages: since.host_pages, programs: since.programs() };
        match start {
            None => settling.push(interval),
            Some(_) => measured.push(interval),
        }
        if completed >= timed.warmup && start.is_none() {
            start = Some(Moment::of(&mut drive));
        }
        if !going || stop != Stop::Reached {
            break;
        }
    }
    let now = drive.now();
    drive.observer_mut().finish(now);
    let end = Moment::of(&mut drive);
    // Cancelled before anything was measured.
    let start = start.unwrap_or_else(|| Moment::of(&mut drive));
    let ns = end.now - start.now;
    let erases: Vec<u32> = (0..drive.layer().planes())
        .flat_map(|plane| drive.layer().blocks(plane).erase_counts().to_vec())
        .collect();
    let reads = end.totals.pages_read - start.totals.pages_read;
    let completed = end.totals.completed - start.totals.completed;
    let finished = Finished {
        counters: end.counters.since(&start.counters),
        reads,
        programs: end.counters.programs(),
        decisions: drive.layer().decisions(),
        erases: Erases::of(&erases),
        histogram: histogram(&erases),
        life: None,
        levelled: None,
        zombies: end.zombies.zip(start.zombies).map(|(end, start)| end.since(&start)),
        failures: Vec::new(),
        host: end.host.zip(start.host).map(|(end, start)| end.since(&start)),
        wearing: Vec::new(),
        merges: None,
        map_traffic: None,
        swapping: None,
        map_bytes: size_of::<u32>() as u64 * u64::from(drive.layer().geometry().logical_pages()),
        settling,
        measured,
        elapsed: started.elapsed(),
    };
    let overload = (stop == Stop::Overload).then(|| overload(&start, &end));
    drop(drive);
    Ok(TimedRun {
        finished,
        meter,
        collecting: CollectionResult::between(&start.totals, &end.totals),
        utilisation: Utilisation::between(&start.totals, &end.totals, ns),
        ns,
        completed,
        request_ns: end.totals.request_ns - start.totals.request_ns,
        overload,
    })
}

/// The requests completed at the ends of the pieces that the run is cut into; one of them is the
/// end of the warm-up.
fn targets(timed: &Timed) -> impl Iterator<Item = u64> {
    let (warmup, total) = (timed.warmup, timed.requests);
    let piece = |amount: u64, index: u64, pieces: u64| {
        (u128::from(amount) * u128::from(index) / u128::from(pieces)) as u64
    };
    let before = (1..=INTERVALS / 3).map(move |index| piece(warmup, index, INTERVALS / 3));
    let after = (1..=INTERVALS).map(move |index| warmup + piece(total - warmup, index, INTERVALS));
    before.filter(move |_| warmup > 0).chain(after)
}

fn layer(resolved: &Resolved, timed: &Timed, index: u32) -> Result<Box<dyn Stepwise>, DriveError> {
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

fn open(
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

/// Makes the writes that come before the requests: those of the same workload, drawn anew. Returns
/// whether to go on.
fn precondition(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
    drive: &mut TimedDrive<&mut Meter>,
    look: &mut impl FnMut(&TimedDrive<&mut Meter>, u64) -> bool,
) -> Result<bool, DriveError> {
    if timed.precondition == 0 {
        return Ok(true);
    }
    // Streams of their own: the requests that follow are those of a run without this.
    let mut stream = open(resolved, timed, Stream::new(seed, "precondition").bits(), None)?;
    let mut requests = Vec::new();
    let mut left = timed.precondition;
    let mut without_write = 0;
    // A workload of reads, or one whose writes all stay in the cache, changes nothing.
    while left > 0 && without_write < MOST_WITHOUT_WRITE {
        stream.fill(&mut requests, BETWEEN_LOOKS as usize)?;
        if requests.is_empty() {
            break;
        }
        let written = drive.prepare(&requests, left)?;
        left -= written;
        without_write = if written == 0 { without_write + requests.len() as u64 } else { 0 };
        if !look(drive, timed.precondition - left) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What overloaded the drive: arrivals a second, and what it served.
fn overload(start: &Moment, end: &Moment) -> Overload {
    let seconds = (end.now - start.now) as f64 / 1e9;
    let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
    Overload {
        offered_per_second: rate(start.totals.arrived, end.totals.arrived),
        sustainable_per_second: rate(start.totals.completed, end.totals.completed),
        outstanding: end.totals.arrived - end.totals.completed,
    }
}

/// The first so many requests of a stream.
struct Limited {
    inner: Box<dyn RequestStream>,
    left: u64,
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
struct Progress {
    total: u64,
    reported: u64,
    programs: u64,
}

impl Progress {
    fn new(timed: &Timed) -> Self {
        Self { total: (timed.precondition + timed.requests).max(1), reported: 0, programs: 0 }
    }

    fn report(&mut self, done: u64, programs: u64, control: &Control) {
        let share = u128::from(done.min(self.total)) * u128::from(Control::RUN);
        let parts = (share / u128::from(self.total)) as u64;
        control.done.fetch_add(parts.saturating_sub(self.reported), Ordering::Relaxed);
        control.programs.fetch_add(programs - self.programs, Ordering::Relaxed);
        (self.reported, self.programs) = (self.reported.max(parts), programs);
    }
}
