//! One timed run: writes without the clock to bring the drive into its state, then requests, of
//! which the first are not measured. Stoppable at any moment.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::{state, value};
use flashgc_ftl::{Counters, ZombieCounts};
use flashgc_host::HostCounts;
use flashgc_workload::requests::RequestStream;

use super::config::Timed;
use super::drive::{Stop, TimedDrive, Until};
use super::measure::{CollectionResult, Meter, Overload, Totals, Utilisation};
use super::parts::{Limited, Progress, layer, open, targets};
use crate::checkpoint::{Keeper, Turns};
use crate::config::Resolved;
use crate::counting::DriveError;
use crate::metrics::timeline::Timeline;
use crate::run::{Control, Finished, Poll};
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

impl Value for Moment {
    value!(now, counters, zombies, host, totals);
}

impl Value for TimedRun {
    value!(finished, meter, collecting, utilisation, ns, completed, request_ns, overload);
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

/// Makes run number `index` and does all of it, or what there is time for until it is cancelled. It
/// goes on from what `keeper` has of it.
pub(crate) fn run(
    resolved: &Resolved,
    timed: &Timed,
    index: u32,
    control: &Control,
    mut poll: Option<Poll<'_>>,
    keeper: Option<&Keeper>,
) -> Result<TimedRun, DriveError> {
    if let Some(keeper) = keeper
        && let Some(done) = keeper.done(index)?
    {
        control.done.fetch_add(Control::RUN, Ordering::Relaxed);
        return Ok(done);
    }
    let since = Instant::now();
    let timeline = timed.timeline.filter(|_| index == 0);
    let timeline = timeline.map(|(from_ns, to_ns)| Timeline::new(from_ns, to_ns));
    let dies = timed.settings.hardware.all_dies();
    let mut meter = Meter::new(timed.warmup, timed.plan.resolution_ns, dies, timeline);
    let mut run = Run::new(resolved, timed, index, &mut meter, since)?;
    if let Some(keeper) = keeper {
        keeper.restore(index, &mut run)?;
    }
    let mut progress = Progress::new(timed);
    let mut turns = Turns::new(keeper, index);
    let mut look = |run: &mut Run<'_>, done: u64| {
        progress.report(done, run.drive.layer().counters().programs(), control);
        if let Some(poll) = &mut poll {
            poll();
        }
        let goes_on = !control.is_cancelled();
        if !goes_on || turns.is_due() {
            run.lap();
            turns.store(1, run);
            run.since = Instant::now();
        }
        goes_on
    };
    let goes_on = run.precondition(timed, &mut look)? && run.measure(timed, &mut look)?;
    let left = run.finish();
    let left = left.with(meter);
    if let Some(keeper) = keeper
        && goes_on
    {
        keeper.keep_done(index, &left);
    }
    Ok(left)
}

/// A run under way.
struct Run<'a> {
    drive: TimedDrive<&'a mut Meter>,
    precondition: Option<Precondition>,
    /// The writes before the clock are made.
    is_prepared: bool,
    start: Option<Moment>,
    settling: Vec<Interval>,
    measured: Vec<Interval>,
    last: Counters,
    stop: Stop,
    completed: u64,
    /// Pieces of the run that are done.
    pieces: usize,
    elapsed: Duration,
    /// Since when that counts.
    since: Instant,
}

impl State for Run<'_> {
    state! {
        named: "timed run";
        values: is_prepared, start, settling, measured, last, stop, completed, pieces, elapsed;
        states: drive, precondition;
        fixed: since;
    }
}

/// The writes that come before the requests: those of the same workload, drawn anew.
struct Precondition {
    stream: Box<dyn RequestStream>,
    left: u64,
    without_write: u64,
}

impl State for Precondition {
    state! { values: left, without_write; states: stream; }
}

/// Called between two steps of a run, with how far it is; false means stop.
type Look<'a> = &'a mut dyn FnMut(&mut Run<'_>, u64) -> bool;

impl<'a> Run<'a> {
    fn new(
        resolved: &Resolved,
        timed: &Timed,
        index: u32,
        meter: &'a mut Meter,
        since: Instant,
    ) -> Result<Self, DriveError> {
        let seed = resolved.seed(index);
        let requests = open(resolved, timed, seed, timed.passes)?;
        let requests = Limited { inner: requests, left: timed.requests };
        let layer = layer(resolved, timed, index)?;
        let settings = timed.settings.clone();
        let mut drive = TimedDrive::new(settings, layer, Box::new(requests), meter)
            .map_err(flashgc_ftl::FtlError::from)?;
        if let Some(host) = &resolved.host {
            let (page_size, pages) = (resolved.config.page_size, resolved.geometry.logical_pages());
            let host = host.open_clocked(page_size, pages, seed);
            drive = drive.behind(host.map_err(flashgc_ftl::FtlError::from)?);
        }
        let precondition = match timed.precondition {
            0 => None,
            left => {
                // Streams of their own: the requests that follow are those of a run without this.
                let seed = Stream::new(seed, "precondition").bits();
                let stream = open(resolved, timed, seed, None)?;
                Some(Precondition { stream, left, without_write: 0 })
            }
        };
        Ok(Self {
            drive,
            precondition,
            is_prepared: false,
            start: None,
            settling: Vec::new(),
            measured: Vec::new(),
            last: Counters::default(),
            stop: Stop::Reached,
            completed: 0,
            pieces: 0,
            elapsed: Duration::ZERO,
            since,
        })
    }

    /// Counts the time until now.
    fn lap(&mut self) {
        let now = Instant::now();
        self.elapsed += now - std::mem::replace(&mut self.since, now);
    }

    /// Makes the writes that come before the requests. Returns whether to go on.
    fn precondition(&mut self, timed: &Timed, look: Look<'_>) -> Result<bool, DriveError> {
        let mut requests = Vec::new();
        // A workload of reads, or one whose writes all stay in the cache, changes nothing.
        while let Some(writes) = &mut self.precondition
            && writes.left > 0
            && writes.without_write < MOST_WITHOUT_WRITE
        {
            writes.stream.fill(&mut requests, BETWEEN_LOOKS as usize)?;
            if requests.is_empty() {
                break;
            }
            let written = self.drive.prepare(&requests, writes.left)?;
            writes.left -= written;
            writes.without_write =
                if written == 0 { writes.without_write + requests.len() as u64 } else { 0 };
            let done = timed.precondition - writes.left;
            if !look(self, done) {
                return Ok(false);
            }
        }
        if !std::mem::replace(&mut self.is_prepared, true) {
            self.start = (timed.warmup == 0).then(|| Moment::of(&mut self.drive));
            self.last = self.drive.layer().counters();
        }
        Ok(true)
    }

    /// Serves the requests. Returns whether it was not told to stop.
    fn measure(&mut self, timed: &Timed, look: Look<'_>) -> Result<bool, DriveError> {
        let mut going = true;
        for target in targets(timed).skip(self.pieces) {
            while going && self.stop == Stop::Reached && self.completed < target {
                let next = target.min(self.completed + BETWEEN_LOOKS);
                self.stop = self.drive.run(Until { completed: next, ..Until::END })?;
                self.completed = self.drive.totals().completed;
                going = look(self, timed.precondition + self.completed);
            }
            let now = self.drive.layer().counters();
            let since = now.since(&self.last);
            self.last = now;
            let interval = Interval { host_pages: since.host_pages, programs: since.programs() };
            match self.start {
                None => self.settling.push(interval),
                Some(_) => self.measured.push(interval),
            }
            if self.completed >= timed.warmup && self.start.is_none() {
                self.start = Some(Moment::of(&mut self.drive));
            }
            self.pieces += 1;
            if !going || self.stop != Stop::Reached {
                break;
            }
        }
        Ok(going)
    }

    /// What is left when the drive is gone.
    fn finish(mut self) -> Left {
        self.lap();
        let Self { mut drive, start, stop, settling, measured, elapsed, .. } = self;
        let now = drive.now();
        drive.observer_mut().finish(now);
        let end = Moment::of(&mut drive);
        // Cancelled before anything was measured.
        let start = start.unwrap_or_else(|| Moment::of(&mut drive));
        let erases: Vec<u32> = (0..drive.layer().planes())
            .flat_map(|plane| drive.layer().blocks(plane).erase_counts().to_vec())
            .collect();
        let overload = (stop == Stop::Overload).then(|| overload(&start, &end));
        let pages = u64::from(drive.layer().geometry().logical_pages());
        let finished = Finished {
            counters: end.counters.since(&start.counters),
            reads: end.totals.pages_read - start.totals.pages_read,
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
            map_bytes: size_of::<u32>() as u64 * pages,
            settling,
            measured,
            elapsed,
        };
        Left { finished, start, end, overload }
    }
}

/// What is left of a run without what its meter has measured.
struct Left {
    finished: Finished,
    start: Moment,
    end: Moment,
    overload: Option<Overload>,
}

impl Left {
    fn with(self, meter: Meter) -> TimedRun {
        let Self { finished, start, end, overload } = self;
        let ns = end.now - start.now;
        TimedRun {
            finished,
            meter,
            collecting: CollectionResult::between(&start.totals, &end.totals),
            utilisation: Utilisation::between(&start.totals, &end.totals, ns),
            ns,
            completed: end.totals.completed - start.totals.completed,
            request_ns: end.totals.request_ns - start.totals.request_ns,
            overload,
        }
    }
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
