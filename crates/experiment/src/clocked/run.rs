//! One timed run: writes without the clock to bring the drive into its state, then requests, the first
//! of which are not measured. It can be stopped at any moment.

use std::time::Duration;

use flashgc_base::counts::Counts;
use flashgc_base::cpu;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::INTERVALS;
use flashgc_drive::preparation::Preparation;
use flashgc_drive::settling::Reach;
use flashgc_drive::stats::Interval;
use flashgc_timed::{CollectionResult, Overload, Stop, Totals, Utilisation, WorstResult};
use flashgc_workload::Op;
use flashgc_workload::requests::RequestStream;

use super::make;
use super::parts::open_before;
use super::simulated::Simulated;
use crate::bytes::Written;
use crate::checkpoint::Turns;
use crate::clock::Timed;
use crate::config::Resolved;
use crate::counted::Counted;
use crate::finished::{Cached, Cut, Finished, Life, Pace, TimedFinished, Timings};
use crate::run::{Control, Lengthened, Poll, Progress, pieces};
use crate::worn::{Erases, Worn, tally};

/// The number of requests in a row that may write nothing to the drive before the clock. After more, no write is
/// expected: a database makes fewer requests between two checkpoints.
const MOST_WITHOUT_WRITE: u64 = 1 << 24;

/// Returns the most requests that are drawn for `pages` page writes before the clock: a thousand for each. The most
/// ever take half a minute.
fn most_before(pages: u64) -> u64 {
    pages.saturating_mul(1000).clamp(1 << 24, 1 << 30)
}

/// The requests in the system at the last arrival above which a run was overloaded, if they are also
/// more than a share of all: this is no burst, since it is the end of the run.
const LEAST_BEHIND: u64 = 1000;
const SHARE_BEHIND: u64 = 10;

/// The time and the counts of a drive at one moment; differences of moments are measured.
#[derive(Value)]
struct Moment {
    now: u64,
    counted: Counted,
    totals: Totals,
}

impl Moment {
    fn of(drive: &mut Simulated) -> Self {
        let counted = Counted {
            counters: drive.counters(),
            commands: drive.commands(),
            layer: drive.counts(),
            host: drive.whole().and_then(|drive| drive.host_counts()),
            swapping: None,
        };
        Self { now: drive.now(), counted, totals: drive.totals() }
    }
}

/// A timed run under way.
#[derive(State)]
#[snapshot(named = "timed run")]
pub(crate) struct ClockedRun {
    #[snapshot(state)]
    drive: Simulated,
    #[snapshot(state)]
    precondition: Option<Precondition>,
    /// `true` if the writes before the clock are made.
    is_prepared: bool,
    /// `true` if the drive had not settled at the end of these.
    is_unsettled: bool,
    start: Option<Moment>,
    settling: Vec<Interval>,
    measured: Vec<Interval>,
    paces: Vec<Pace>,
    /// The requests completed at the end of the last interval, and its time.
    paced: Pace,
    wearing: Vec<Worn>,
    last: Written,
    /// The bytes of a mapping unit.
    #[snapshot(skip)]
    unit: u32,
    /// The number of the run.
    #[snapshot(skip)]
    index: u32,
    /// The reach of the writes before the clock that shows a steady state; `None` for a trace, whose parts differ.
    #[snapshot(skip)]
    reach: Option<Reach>,
    stop: Stop,
    completed: u64,
    /// The number of advances of the run, each to its end or to the drive's.
    rounds: u32,
    /// `true` while it is being advanced once more.
    under_way: bool,
    /// The pieces that are done of the warm-up, or of the part that is being measured.
    pieces: u64,
    /// The processor time that it took.
    pub(crate) elapsed: Duration,
    /// The processor time of the thread since which `elapsed` is yet to be counted.
    #[snapshot(skip)]
    since: Duration,
}

/// The writes that come before the requests: those of the same workload, with other random numbers.
#[derive(State)]
struct Precondition {
    #[snapshot(state)]
    stream: Box<dyn RequestStream>,
    left: u64,
    without_write: u64,
    /// The requests so far.
    drawn: u64,
    /// The course of write amplification, and the counts at the end of its last interval.
    course: Preparation,
    last: Written,
}

/// Is called between two steps of a run with its progress; `false` stops the run.
type Look<'a> = &'a mut dyn FnMut(&mut ClockedRun, u64) -> bool;

impl ClockedRun {
    /// Makes run number `index`, at its beginning. With `threads`, its channels may be simulated one by
    /// one, by this number of threads.
    pub(crate) fn new(
        resolved: &Resolved,
        timed: &Timed,
        index: u32,
        threads: Option<usize>,
    ) -> Result<Self, DriveError> {
        let since = cpu::time();
        let drive = make::drive(resolved, timed, index, threads)?;
        Self::of(resolved, timed, index, drive, since)
    }

    /// Returns run number `index` of `drive`, which is new.
    pub(super) fn of(
        resolved: &Resolved,
        timed: &Timed,
        index: u32,
        drive: Simulated,
        since: Duration,
    ) -> Result<Self, DriveError> {
        let precondition = match timed.precondition {
            0 => None,
            left => {
                // It draws from streams of its own: the requests that follow are those of a run without
                // it.
                let seed = Stream::new(resolved.seed(index), "precondition").bits();
                let stream = open_before(resolved, timed, seed)?;
                Some(Precondition {
                    stream,
                    left,
                    without_write: 0,
                    drawn: 0,
                    course: Preparation::new(resolved.geometry.logical_pages()),
                    last: Written::default(),
                })
            }
        };
        Ok(Self {
            drive,
            precondition,
            is_prepared: false,
            is_unsettled: false,
            start: None,
            settling: Vec::new(),
            measured: Vec::new(),
            paces: Vec::new(),
            paced: Pace::default(),
            wearing: Vec::new(),
            last: Written::default(),
            unit: resolved.config.unit(),
            index,
            reach: resolved.has_no_end().then(|| resolved.reach()),
            stop: Stop::Reached,
            completed: 0,
            rounds: 0,
            under_way: false,
            pieces: 0,
            elapsed: Duration::ZERO,
            since,
        })
    }

    /// Counts the processor time until now.
    fn lap(&mut self) {
        let now = cpu::time();
        self.elapsed += now - std::mem::replace(&mut self.since, now);
    }

    /// Prepares the measured part if that is still to be done, then runs its requests in [`INTERVALS`]
    /// pieces. Returns `false` if it was told to stop.
    fn advance_untimed(&mut self, timed: &Timed, look: Look<'_>) -> Result<bool, DriveError> {
        if !self.prepare(timed, look)? {
            return Ok(false);
        }
        let warmup = timed.warmup;
        if self.start.is_none() {
            let count = if warmup > 0 { INTERVALS / 3 } else { 0 };
            for piece in self.pieces + 1..=count {
                if !self.interval(pieces(0, warmup, piece, count), timed, look)? {
                    return Ok(false);
                }
                if self.stop != Stop::Reached {
                    return Ok(true);
                }
                self.pieces = piece;
            }
            self.pieces = 0;
            self.start = Some(Moment::of(&mut self.drive));
        }
        let amount = timed.requests - warmup;
        let from = warmup + u64::from(self.rounds) * amount;
        for piece in self.pieces + 1..=INTERVALS {
            if !self.interval(pieces(from, amount, piece, INTERVALS), timed, look)? {
                return Ok(false);
            }
            if self.stop != Stop::Reached {
                return Ok(true);
            }
            self.pieces = piece;
        }
        Ok(true)
    }

    /// Makes the writes that come before the requests. Returns `false` if it was told to stop.
    fn prepare(&mut self, timed: &Timed, look: Look<'_>) -> Result<bool, DriveError> {
        let mut requests = Vec::new();
        // A workload of reads, or one whose writes all stay in the cache, changes nothing.
        while let Some(writes) = &mut self.precondition
            && writes.left > 0
            && writes.without_write < MOST_WITHOUT_WRITE
            && writes.drawn < most_before(timed.precondition)
            && !self.drive.has_ended()
        {
            let most = writes.course.interval().min(self.drive.between_looks());
            writes.stream.fill(&mut requests, most as usize)?;
            if requests.is_empty() {
                break;
            }
            let written = self.drive.prepare(&requests, writes.left)?;
            for request in requests.iter().filter(|request| request.op == Op::Write) {
                writes.course.touched().add_pages(self.drive.shape().pages_of(request)?);
            }
            writes.left -= written;
            writes.drawn += requests.len() as u64;
            writes.without_write =
                if written == 0 { writes.without_write + requests.len() as u64 } else { 0 };
            let done = timed.precondition - writes.left;
            self.settle(timed.settles);
            if !look(self, done) {
                return Ok(false);
            }
        }
        if !std::mem::replace(&mut self.is_prepared, true) {
            if self.precondition.is_some() {
                self.drive.rest()?;
            }
            self.last = self.written();
            self.paced = Pace { requests: 0, ns: self.drive.now() };
        }
        Ok(true)
    }

    /// Records an interval of the writes before the clock when it is complete, and ends them once the drive has
    /// settled, if that is their end.
    fn settle(&mut self, is_end: bool) {
        let now = self.written();
        let reach = self.reach;
        let Some(writes) = &mut self.precondition else { return };
        let since = now.since(&writes.last, self.unit);
        if since.host_pages < writes.course.interval() && writes.left > 0 {
            return;
        }
        writes.last = now;
        if (writes.course.add(since) || writes.left == 0) && (is_end || reach.is_some()) {
            self.is_unsettled = !writes.course.has_settled(reach.unwrap_or(Reach::NONE));
            if is_end && !self.is_unsettled {
                writes.left = 0;
            }
        }
    }

    fn written(&mut self) -> Written {
        let (commands, packing) = (self.drive.commands(), self.drive.counts().packing);
        Written::new(&self.drive.counters(), commands, packing)
    }

    /// Goes on until `target` requests are completed, and records the interval. Returns `false` if it
    /// was told to stop.
    fn interval(&mut self, target: u64, timed: &Timed, look: Look<'_>) -> Result<bool, DriveError> {
        let mut going = true;
        while going && self.stop == Stop::Reached && self.completed < target {
            let next = target.min(self.completed + self.drive.between_looks());
            self.stop = self.drive.run(target, next)?;
            self.completed = self.drive.completed();
            going = look(self, timed.precondition + self.completed);
        }
        let now = self.written();
        let interval = now.since(&self.last, self.unit);
        self.last = now;
        match self.start {
            None => self.settling.push(interval),
            Some(_) => {
                self.measured.push(interval);
                if !self.drive.has_open_loop() {
                    let requests = self.completed - self.paced.requests;
                    self.paces.push(Pace { requests, ns: self.drive.now() - self.paced.ns });
                }
            }
        }
        self.paced = Pace { requests: self.completed, ns: self.drive.now() };
        let host_pages = self.drive.counters().host_pages;
        let wears = self.drive.whole().is_some_and(|drive| drive.layer().wear().is_some());
        if wears && interval.host_pages > 0 {
            self.wearing.push(Worn::of(host_pages, &erases(&mut self.drive)));
        }
        Ok(going)
    }
}

impl Lengthened for ClockedRun {
    type Done = TimedFinished;

    fn advance(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        mut poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<bool, DriveError> {
        let timed = resolved.timed.as_ref().expect("a drive with a clock");
        self.since = cpu::time();
        self.under_way = true;
        let programs = self.drive.counters().programs();
        // The progress counts page writes without the clock and requests alike: close enough for a progress bar.
        let total = (timed.precondition + timed.requests).max(self.completed);
        let mut progress = Progress::new(total, 0, programs);
        let mut changes_before = 0;
        let mut look = |run: &mut Self, done: u64| {
            progress.report(done, run.drive.counters().programs(), control);
            if let Some((changes, slowest)) = run.drive.slowest_since(changes_before) {
                changes_before = changes;
                control.tell_worst(WorstResult::of(&slowest, run.index));
            }
            if let Some(poll) = &mut poll {
                poll();
            }
            let goes_on = !control.is_cancelled();
            if !goes_on || turns.is_due() {
                // The time is counted before the interval is recorded, as it still goes on.
                run.lap();
                turns.store(run.rounds + 1, run);
                run.since = cpu::time();
            }
            goes_on
        };
        let going = self.advance_untimed(timed, &mut look);
        self.lap();
        let going = going?;
        if going {
            self.under_way = false;
            self.rounds += 1;
            self.pieces = 0;
        }
        Ok(going && self.stop == Stop::Reached)
    }

    fn rounds(&self) -> (u32, bool) {
        (self.rounds, self.under_way)
    }

    fn measured(&self) -> &[Interval] {
        &self.measured
    }

    fn has_ended(&self) -> bool {
        self.stop != Stop::Reached
    }

    fn has_erased(&self) -> bool {
        let erases = self.drive.erases();
        self.start.as_ref().is_some_and(|start| erases > start.counted.counters.erases)
    }

    /// Returns `true` if a block was erased: only erases wear blocks.
    fn may_fail(&self) -> bool {
        self.has_erased()
    }

    /// Returns `false`: a drive with a clock replays a trace a given number of times.
    fn needs_another(&self, _: &Resolved) -> bool {
        false
    }

    fn finish(self, resolved: &Resolved) -> TimedFinished {
        let Self { mut drive, start, stop, elapsed, precondition, .. } = self;
        let now = drive.now();
        let is_open = drive.has_open_loop();
        let note = drive.whole().and_then(|drive| {
            drive.observer_mut().finish(now);
            drive.observer_mut().end_trace(now)
        });
        let end = Moment::of(&mut drive);
        // The run may have been cancelled before anything was measured.
        let start = start.unwrap_or_else(|| Moment::of(&mut drive));
        let ns = end.now - start.now;
        let erases = erases(&mut drive);
        let (mut life, mut failures) = (None, Vec::new());
        if let Some(drive) = drive.whole()
            && let Some(wear) = drive.layer().wear()
        {
            failures = wear.failures().to_vec();
            life = Some(Life {
                reserve: wear.reserve(),
                first_failure: wear.first_failure().zip(drive.commands_at_first_failure()),
                system_failure: wear
                    .system_failure()
                    .map(|(moment, cause)| ((moment, end.counted.commands), cause)),
            });
        }
        let finished = Finished {
            passes: 0,
            rewrites: None,
            counted: end.counted.since(&start.counted),
            programs: end.counted.counters.programs(),
            decisions: drive.decisions(),
            erases: Erases::of(&erases),
            tally: tally(&erases),
            life,
            failures,
            wearing: self.wearing,
            map_bytes: drive.map_bytes(),
            settling: self.settling,
            measured: self.measured,
            elapsed,
        };
        // Nobody looked at the requests before the measured ones.
        let unseen = || Preparation::unseen(resolved.geometry.logical_pages(), &finished.settling);
        let unsettled = match (&precondition, self.reach) {
            (Some(writes), reach) if self.is_unsettled => {
                Some(writes.course.left(reach.unwrap_or(Reach::NONE)))
            }
            (None, Some(reach)) => Some(unseen().left(reach)),
            _ => None,
        };
        let wanted = resolved.timed.as_ref().map_or(0, |timed| timed.precondition);
        // A drive whose life ended, or a run that was stopped, is no such workload.
        let hardly_writes = |writes: &Precondition| {
            writes.without_write >= MOST_WITHOUT_WRITE || writes.drawn >= most_before(wanted)
        };
        let cut = precondition.filter(|writes| writes.left > 0);
        let cut = cut.filter(hardly_writes);
        let cut = cut.map(|Precondition { left, drawn, .. }| Cut { left, drawn });
        let timings = Timings {
            collecting: CollectionResult::between(&start.totals, &end.totals),
            joined_programs: end.totals.joined_programs - start.totals.joined_programs,
            cached: Cached::between(&start.totals, &end.totals),
            slc: end.totals.slc.since(&start.totals.slc),
            utilisation: Utilisation::between(&start.totals, &end.totals, ns),
            ns,
            completed: end.totals.completed - start.totals.completed,
            request_ns: end.totals.request_ns - start.totals.request_ns,
            overload: match stop {
                Stop::Overload => Some(overload(&start, &end)),
                _ => left_behind(&end.totals, now, is_open),
            },
            paces: self.paces,
            unsettled,
            cut,
            note,
            meter: drive.measured(),
        };
        TimedFinished { finished, timings }
    }
}

/// Returns the erase counts of all blocks of the drive.
fn erases(drive: &mut Simulated) -> Vec<u32> {
    let mut erases = Vec::new();
    drive.each_map(|map| {
        let planes = (0..map.planes()).map(|plane| map.blocks(plane).erase_counts());
        erases.extend(planes.flatten());
    });
    erases
}

/// Returns the overload of the drive: the arrivals a second, and the requests served a second.
fn overload(start: &Moment, end: &Moment) -> Overload {
    let seconds = (end.now - start.now) as f64 / 1e9;
    let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
    Overload {
        offered_per_second: rate(start.totals.arrived, end.totals.arrived),
        sustainable_per_second: rate(start.totals.completed, end.totals.completed),
        outstanding: end.totals.arrived - end.totals.completed,
        is_cut_short: true,
    }
}

/// Returns the overload of a run that came to its end, if enough of its requests were in the system at
/// the last arrival to show that it was far behind. Rates are of the whole run.
fn left_behind(totals: &Totals, now: u64, is_open: bool) -> Option<Overload> {
    let outstanding = totals.at_last_arrival;
    let is_behind = outstanding > LEAST_BEHIND && outstanding > totals.arrived / SHARE_BEHIND;
    let rate = |amount: u64, ns: u64| amount as f64 * 1e9 / ns.max(1) as f64;
    (is_open && is_behind).then(|| Overload {
        offered_per_second: rate(totals.arrived, totals.last_arrival_ns),
        sustainable_per_second: rate(totals.completed, now),
        outstanding,
        is_cut_short: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(outstanding: u64, arrived: u64, is_open: bool) -> Option<Overload> {
        let totals = Totals {
            at_last_arrival: outstanding,
            arrived,
            completed: arrived,
            last_arrival_ns: 2_000_000_000,
            ..Totals::default()
        };
        left_behind(&totals, 4_000_000_000, is_open)
    }

    #[test]
    fn a_run_is_left_behind_by_more_than_a_thousand_requests_and_more_than_a_tenth() {
        assert_eq!(behind(1000, 2000, true), None);
        assert!(behind(1001, 2000, true).is_some());
        assert_eq!(behind(1001, 10_010, true), None);
        assert!(behind(1002, 10_010, true).is_some());
        // A closed loop waits for its drive and sends no faster.
        assert_eq!(behind(1500, 2000, false), None);
        // 3000 come in 2 s and are served in 4 s.
        let overload = behind(1500, 3000, true).unwrap();
        assert_eq!((overload.offered_per_second, overload.sustainable_per_second), (1500.0, 750.0));
        assert_eq!((overload.outstanding, overload.is_cut_short), (1500, false));
    }
}
