//! One timed run: writes without the clock to bring the drive into its state, then requests, of
//! which the first are not measured. Stoppable at any moment.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Counters, Frontier, FtlError, Layout, Levelled, MapTraffic, PlaneLayout, Stepwise, ZombieCounts,
};
use flashgc_host::HostCounts;
use flashgc_workload::requests::{RequestStream, Space, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::config::Timed;
use super::drive::{Stop, TimedDrive, Until};
use super::measure::{CollectionResult, Meter, Overload, Totals, Utilisation};
use crate::config::Resolved;
use crate::counting::DriveError;
use crate::metrics::timeline::Timeline;
use crate::run::{Control, Finished, INTERVALS, Lengthened, Life, Poll};
use crate::stats::Interval;
use crate::wear::{Erases, Worn, histogram};

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
    levelled: Option<Levelled>,
    zombies: Option<ZombieCounts>,
    map_traffic: Option<MapTraffic>,
    host: Option<HostCounts>,
    totals: Totals,
}

impl Moment {
    fn of(drive: &mut TimedDrive<Meter>) -> Self {
        Self {
            now: drive.now(),
            counters: drive.counters(),
            levelled: drive.layer().levelled(),
            // A map on flash heeds no hints.
            zombies: drive.layer().zombies().filter(|_| drive.map_traffic().is_none()),
            map_traffic: drive.map_traffic(),
            host: drive.host_counts(),
            totals: drive.totals().clone(),
        }
    }
}

/// A timed run under way.
pub(crate) struct ClockedRun {
    drive: TimedDrive<Meter>,
    seed: u64,
    /// Preconditioning is done, or was stopped.
    is_prepared: bool,
    start: Option<Moment>,
    settling: Vec<Interval>,
    measured: Vec<Interval>,
    wearing: Vec<Worn>,
    last: Counters,
    /// Requests completed that the run is to come to, and that it has come to.
    target: u64,
    completed: u64,
    stop: Stop,
    elapsed: Duration,
}

impl ClockedRun {
    /// Run number `index`, at its beginning.
    pub(crate) fn new(resolved: &Resolved, timed: &Timed, index: u32) -> Result<Self, DriveError> {
        let started = Instant::now();
        let seed = resolved.seed(index);
        let timeline = timed.timeline.filter(|_| index == 0);
        let timeline = timeline.map(|(from_ns, to_ns)| Timeline::new(from_ns, to_ns));
        let dies = timed.settings.hardware.all_dies();
        let meter = Meter::new(timed.warmup, timed.plan.resolution_ns, dies, timeline);
        // A run that may be lengthened knows no last request.
        let is_open_ended = resolved.until_failure || resolved.config.precision.is_some();
        let (passes, left) =
            if is_open_ended { (None, u64::MAX) } else { (timed.passes, timed.requests) };
        let requests = Limited { inner: open(resolved, timed, seed, passes)?, left };
        let layer = layer(resolved, timed, index)?;
        let mut drive = TimedDrive::new(timed.settings.clone(), layer, Box::new(requests), meter)
            .map_err(FtlError::from)?;
        let locate = |page| drive.layer().locate(page);
        if let Some(cache) = resolved.mapping.cache(&resolved.geometry, locate) {
            drive = drive.mapped(cache).map_err(FtlError::from)?;
        }
        if let Some(host) = &resolved.host {
            let (page_size, pages) = (resolved.config.page_size, resolved.geometry.logical_pages());
            let host = host.open_clocked(page_size, pages, seed).map_err(FtlError::from)?;
            drive = drive.behind(host);
        }
        Ok(Self {
            drive,
            seed,
            is_prepared: false,
            start: None,
            settling: Vec::new(),
            measured: Vec::new(),
            wearing: Vec::new(),
            last: Counters::default(),
            target: timed.warmup,
            completed: 0,
            stop: Stop::Reached,
            elapsed: started.elapsed(),
        })
    }

    /// Does what comes before the measured part if it is still to come, then the requests of a
    /// measured part, in [`INTERVALS`] pieces. Returns whether it came to the end of them: not if it
    /// was cancelled, or the drive or the workload ended.
    pub(crate) fn advance(
        &mut self,
        resolved: &Resolved,
        timed: &Timed,
        control: &Control,
        poll: Option<Poll<'_>>,
    ) -> Result<bool, DriveError> {
        let started = Instant::now();
        let result = self.advance_untimed(resolved, timed, control, poll);
        self.elapsed += started.elapsed();
        result
    }

    fn advance_untimed(
        &mut self,
        resolved: &Resolved,
        timed: &Timed,
        control: &Control,
        mut poll: Option<Poll<'_>>,
    ) -> Result<bool, DriveError> {
        let programs = self.drive.layer().counters().programs();
        let mut progress = Progress::new(timed, self.completed, programs);
        let mut look = |drive: &TimedDrive<Meter>, done: u64| {
            progress.report(done, drive.layer().counters().programs(), control);
            if let Some(poll) = &mut poll {
                poll();
            }
            !control.is_cancelled()
        };
        if !std::mem::replace(&mut self.is_prepared, true) {
            let going = precondition(resolved, timed, self.seed, &mut self.drive, &mut look)?;
            self.last = self.drive.counters();
            let warmup = timed.warmup;
            if !going {
                return Ok(false);
            }
            let pieces = if warmup > 0 { INTERVALS / 3 } else { 0 };
            for piece in 1..=pieces {
                if !self.interval(part(warmup, piece, pieces), timed, &mut look)? {
                    return Ok(false);
                }
            }
            self.start = Some(Moment::of(&mut self.drive));
        }
        let (from, amount) = (self.target, timed.requests - timed.warmup);
        self.target += amount;
        for piece in 1..=INTERVALS {
            if !self.interval(from + part(amount, piece, INTERVALS), timed, &mut look)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on until so many requests are completed, and records the interval. Returns whether it came
    /// there.
    fn interval(
        &mut self,
        target: u64,
        timed: &Timed,
        look: &mut impl FnMut(&TimedDrive<Meter>, u64) -> bool,
    ) -> Result<bool, DriveError> {
        let mut going = true;
        while going && self.stop == Stop::Reached && self.completed < target {
            let next = target.min(self.completed + BETWEEN_LOOKS);
            self.stop = self.drive.run(Until { completed: next, ..Until::END })?;
            self.completed = self.drive.totals().completed;
            going = look(&self.drive, timed.precondition + self.completed);
        }
        let now = self.drive.counters();
        let layer = self.drive.layer();
        let since = now.since(&self.last);
        self.last = now;
        let interval = Interval { host_pages: since.host_pages, programs: since.programs() };
        match self.start {
            None => self.settling.push(interval),
            Some(_) => self.measured.push(interval),
        }
        if layer.wear().is_some() && since.host_pages > 0 {
            self.wearing.push(Worn::of(now.host_pages, &erases(layer)));
        }
        Ok(going && self.stop == Stop::Reached)
    }

    /// Frees the drive: the run cannot go on, but keeps what it counted.
    pub(crate) fn finish(self) -> TimedRun {
        let Self { mut drive, start, stop, elapsed, .. } = self;
        let now = drive.now();
        drive.observer_mut().finish(now);
        let end = Moment::of(&mut drive);
        // Cancelled before anything was measured.
        let start = start.unwrap_or_else(|| Moment::of(&mut drive));
        let ns = end.now - start.now;
        let layer = drive.layer();
        let erases = erases(layer);
        let reads = end.totals.pages_read;
        let life = layer.wear().map(|wear| Life {
            reserve: wear.reserve(),
            first_failure: wear.first_failure().zip(drive.reads_at_first_failure()),
            system_failure: wear.system_failure().map(|(moment, cause)| ((moment, reads), cause)),
        });
        let finished = Finished {
            counters: end.counters.since(&start.counters),
            reads: reads - start.totals.pages_read,
            programs: end.counters.programs(),
            decisions: layer.decisions(),
            erases: Erases::of(&erases),
            histogram: histogram(&erases),
            life,
            levelled: end.levelled.zip(start.levelled).map(|(end, start)| end.since(&start)),
            zombies: end.zombies.zip(start.zombies).map(|(end, start)| end.since(&start)),
            failures: layer.wear().map(|wear| wear.failures().to_vec()).unwrap_or_default(),
            host: end.host.zip(start.host).map(|(end, start)| end.since(&start)),
            wearing: self.wearing,
            merges: None,
            map_traffic: end
                .map_traffic
                .zip(start.map_traffic)
                .map(|(end, start)| end.since(&start)),
            swapping: None,
            map_bytes: drive.map_bytes(),
            settling: self.settling,
            measured: self.measured,
            elapsed,
        };
        TimedRun {
            finished,
            collecting: CollectionResult::between(&start.totals, &end.totals),
            utilisation: Utilisation::between(&start.totals, &end.totals, ns),
            ns,
            completed: end.totals.completed - start.totals.completed,
            request_ns: end.totals.request_ns - start.totals.request_ns,
            overload: (stop == Stop::Overload).then(|| overload(&start, &end)),
            meter: drive.into_observer(),
        }
    }
}

impl Lengthened for ClockedRun {
    fn measured(&self) -> &[Interval] {
        &self.measured
    }

    fn has_ended(&self) -> bool {
        self.stop != Stop::Reached
    }

    fn has_erased(&self) -> bool {
        self.start.as_ref().is_some_and(|start| self.last.erases > start.counters.erases)
    }
}

/// The end of piece `piece` of `count` pieces of `amount` requests.
fn part(amount: u64, piece: u64, count: u64) -> u64 {
    (u128::from(amount) * u128::from(piece) / u128::from(count)) as u64
}

/// Erase counts of all blocks of the drive.
fn erases(layer: &dyn Stepwise) -> Vec<u32> {
    let planes = (0..layer.planes()).map(|plane| layer.blocks(plane).erase_counts());
    planes.flatten().copied().collect()
}

fn layer(resolved: &Resolved, timed: &Timed, index: u32) -> Result<Box<dyn Stepwise>, DriveError> {
    let hardware = &timed.settings.hardware;
    let homes = timed.settings.placement.homes(hardware);
    let planes = hardware.all_planes();
    let low = timed.plan.blocks_kept(resolved.geometry.blocks() / planes);
    let below = resolved.mapping.geometry_below(&resolved.geometry);
    let layout = PlaneLayout {
        layout: Layout {
            geometry: below.map_err(FtlError::from)?,
            frontier: Frontier::Pool { low },
            ..resolved.layout(index)
        },
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
/// whether nobody stopped it.
fn precondition(
    resolved: &Resolved,
    timed: &Timed,
    seed: u64,
    drive: &mut TimedDrive<Meter>,
    look: &mut impl FnMut(&TimedDrive<Meter>, u64) -> bool,
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
        let ended = drive.layer().has_ended();
        if !look(drive, timed.precondition - left) || ended {
            return Ok(!ended);
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
    /// Of a run that has completed so many requests and programmed so many pages.
    fn new(timed: &Timed, completed: u64, programs: u64) -> Self {
        // What was done in earlier rounds counts, but moves the bar no more.
        let total = (timed.precondition + timed.requests).max(completed).max(1);
        Self { total, reported: 0, programs }
    }

    fn report(&mut self, done: u64, programs: u64, control: &Control) {
        let share = u128::from(done.min(self.total)) * u128::from(Control::RUN);
        let parts = (share / u128::from(self.total)) as u64;
        control.done.fetch_add(parts.saturating_sub(self.reported), Ordering::Relaxed);
        control.programs.fetch_add(programs - self.programs, Ordering::Relaxed);
        (self.reported, self.programs) = (self.reported.max(parts), programs);
    }
}
