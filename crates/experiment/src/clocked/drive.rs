//! The drive with a clock of one run. First, writes without the clock bring the drive into the
//! state in which it is measured. Then it executes the requests and gathers the figures of the
//! clock.

use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_drive::error::DriveError;
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
use crate::clock::Timed;
use crate::config::Resolved;
use crate::counted::Counted;
use crate::finished::{Cached, Cut, Pace, Timings};

/// The number of requests in a row, before the clock starts, that may write nothing to the drive.
/// After that, no more writes are expected: a database makes fewer requests between two
/// checkpoints.
const MOST_WITHOUT_WRITE: u64 = 1 << 24;

/// Returns the maximum number of requests that are drawn for `pages` page writes before the clock
/// starts: a thousand for each page, within limits. The upper limit takes half a minute.
fn most_before(pages: u64) -> u64 {
    pages.saturating_mul(1000).clamp(1 << 24, 1 << 30)
}

/// A run was overloaded if, at the last arrival, more than this number of requests were in the
/// system, and more than one in [`SHARE_BEHIND`] of all arrivals. A burst leaves fewer.
const LEAST_BEHIND: u64 = 1000;
/// See [`LEAST_BEHIND`].
const SHARE_BEHIND: u64 = 10;

/// A drive with a clock. The run that owns it saves the public fields.
#[derive(State)]
pub(crate) struct Clocked {
    #[snapshot(state)]
    pub(crate) drive: Simulated,
    #[snapshot(state)]
    precondition: Option<Precondition>,
    /// `true` if the drive had not settled at the end of the writes before the clock.
    #[snapshot(skip)]
    pub(crate) is_unsettled: bool,
    /// The time and the totals at the beginning of the measured part.
    #[snapshot(skip)]
    pub(crate) start: (u64, Totals),
    #[snapshot(skip)]
    pub(crate) paces: Vec<Pace>,
    /// The number of requests completed by the end of the last interval, and the time of that end.
    #[snapshot(skip)]
    pub(crate) paced: Pace,
    #[snapshot(skip)]
    pub(crate) stop: Stop,
    #[snapshot(skip)]
    pub(crate) completed: u64,
    /// The bytes of a mapping unit.
    #[snapshot(skip)]
    unit: u32,
    /// The number of the run, from 0.
    #[snapshot(skip)]
    index: u32,
    /// `true` if the writes before the clock end when the drive has settled.
    #[snapshot(skip)]
    settles: bool,
    /// The reach that the writes before the clock need to show a steady state; `None` for a trace,
    /// whose parts differ.
    #[snapshot(skip)]
    reach: Option<Reach>,
    /// The number of changes in the list of slowest requests that the caller has seen.
    #[snapshot(skip)]
    changes: u64,
}

/// The writes before the clock: the same workload as the requests, with other random numbers.
#[derive(State)]
struct Precondition {
    #[snapshot(state)]
    stream: Box<dyn RequestStream>,
    left: u64,
    without_write: u64,
    /// The number of requests drawn so far.
    drawn: u64,
    /// Write amplification in the intervals of these writes so far.
    course: Preparation,
    /// The counts at the end of the last interval.
    last: Written,
}

impl Precondition {
    /// Draws some requests and lets the drive execute them. Returns the number of requests and that of
    /// the pages that the drive has written.
    fn go_on(&mut self, drive: &mut Simulated) -> Result<(u64, u64), DriveError> {
        let limit = self.course.interval().min(drive.between_looks()) as usize;
        let touched = self.course.touched();
        if let Some((commands, written)) =
            drive.prepare_at_once(&mut *self.stream, limit, self.left)?
        {
            let writes = commands.pages.iter().enumerate();
            for (_, &page) in writes.filter(|&(index, _)| commands.op(index) == Op::Write) {
                touched.add_pages(page..page + 1);
            }
            return Ok((commands.pages.len() as u64, written));
        }
        let mut requests = Vec::new();
        self.stream.fill(&mut requests, limit)?;
        let written = match requests.is_empty() {
            true => 0,
            false => drive.prepare(&requests, self.left)?,
        };
        for request in requests.iter().filter(|request| request.op == Op::Write) {
            touched.add_pages(drive.shape().pages_of(request)?);
        }
        Ok((requests.len() as u64, written))
    }
}

impl Clocked {
    /// Makes the drive of run number `index`, at its beginning. With `threads`, its channels may be
    /// simulated separately, by this number of threads.
    pub(crate) fn new(
        resolved: &Resolved,
        timed: &Timed,
        index: u32,
        threads: Option<usize>,
    ) -> Result<Self, DriveError> {
        let drive = make::drive(resolved, timed, index, threads)?;
        let precondition = match timed.precondition {
            0 => None,
            left => {
                // These writes have their own random streams, so that the requests after them are
                // the same as in a run without them.
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
            is_unsettled: false,
            start: (0, Totals::default()),
            paces: Vec::new(),
            paced: Pace::default(),
            stop: Stop::Reached,
            completed: 0,
            unit: resolved.config.unit(),
            index,
            settles: timed.settles,
            reach: resolved.has_no_end().then(|| resolved.reach()),
            changes: 0,
        })
    }

    /// Makes some of the `pages` writes before the clock. Returns the number of writes done so far,
    /// or `None` when all are done.
    pub(crate) fn prepare(&mut self, pages: u64) -> Result<Option<u64>, DriveError> {
        // The writes end early if the requests change nothing: with a workload of reads, or if the
        // cache takes all writes.
        if let Some(writes) = &mut self.precondition
            && writes.left > 0
            && writes.without_write < MOST_WITHOUT_WRITE
            && writes.drawn < most_before(pages)
            && !self.drive.has_ended()
        {
            let (drawn, written) = writes.go_on(&mut self.drive)?;
            if drawn > 0 {
                writes.left -= written;
                writes.drawn += drawn;
                writes.without_write = if written == 0 { writes.without_write + drawn } else { 0 };
                let done = pages - writes.left;
                self.settle();
                return Ok(Some(done));
            }
        }
        if self.precondition.is_some() {
            self.drive.rest()?;
        }
        self.paced = Pace { requests: 0, ns: self.drive.now() };
        Ok(None)
    }

    /// Records an interval of the writes before the clock if the interval is complete. Ends these
    /// writes if `settles` is set and the drive has settled.
    fn settle(&mut self) {
        let now = Written::of(&self.counted());
        let (reach, is_end) = (self.reach, self.settles);
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

    /// Continues until the next check whether to stop, or until `target` requests are completed.
    /// Returns `false` if the drive cannot continue or has completed `target` requests.
    pub(crate) fn step(&mut self, target: u64) -> Result<bool, DriveError> {
        if self.has_ended() || self.completed >= target {
            return Ok(false);
        }
        let next = target.min(self.completed + self.drive.between_looks());
        self.stop = self.drive.run(target, next)?;
        self.completed = self.drive.completed();
        Ok(true)
    }

    /// Notes the beginning of the measured part.
    pub(crate) fn begin(&mut self) {
        self.start = (self.drive.now(), self.drive.totals());
    }

    /// Notes the end of an interval. `is_measured` is `false` in the warm-up.
    pub(crate) fn end_interval(&mut self, is_measured: bool) {
        let now = Pace { requests: self.completed, ns: self.drive.now() };
        if is_measured && !self.drive.has_open_loop() {
            let requests = now.requests - self.paced.requests;
            self.paces.push(Pace { requests, ns: now.ns - self.paced.ns });
        }
        self.paced = now;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.stop != Stop::Reached
    }

    pub(crate) fn counted(&mut self) -> Counted {
        Counted {
            counters: self.drive.counters(),
            commands: self.drive.commands(),
            layer: self.drive.counts(),
            host: self.drive.whole().and_then(|drive| drive.host_counts()),
            swapping: None,
        }
    }

    /// Returns the slowest request so far, if it has changed since the last call.
    pub(crate) fn new_worst(&mut self) -> Option<WorstResult> {
        let (changes, slowest) = self.drive.slowest_since(self.changes)?;
        self.changes = changes;
        Some(WorstResult::of(&slowest, self.index))
    }

    /// Returns the erase counts of all blocks of the drive.
    pub(crate) fn erase_counts(&mut self) -> Vec<u32> {
        let mut erases = Vec::new();
        self.drive.each_map(|map| {
            let planes = (0..map.planes()).map(|plane| map.blocks(plane).erase_counts());
            erases.extend(planes.flatten());
        });
        erases
    }

    /// Returns the number of blocks without a valid page that may be collected.
    pub(crate) fn dead_blocks(&mut self) -> u64 {
        let mut dead = 0;
        self.drive.each_map(|map| {
            dead += (0..map.planes()).map(|plane| map.blocks(plane).dead_blocks()).sum::<u64>();
        });
        dead
    }

    /// Returns the figures of the clock, and frees the drive. `has_begun` is `false` if the run was
    /// cancelled before its measured part. `settling` are the intervals of its warm-up.
    pub(crate) fn finish(
        self,
        resolved: &Resolved,
        has_begun: bool,
        settling: &[Interval],
    ) -> Timings {
        let Self { mut drive, start, stop, precondition, .. } = self;
        let now = drive.now();
        let is_open = drive.has_open_loop();
        let note = drive.whole().and_then(|drive| {
            drive.observer_mut().finish(now);
            drive.observer_mut().end_trace(now)
        });
        let end = drive.totals();
        let (begin, start) = if has_begun { start } else { (now, end.clone()) };
        let ns = now - begin;
        // Without writes before the clock, only the warm-up shows whether the drive has settled.
        let unseen = || Preparation::unseen(resolved.geometry.logical_pages(), settling);
        let unsettled = match (&precondition, self.reach) {
            (Some(writes), reach) if self.is_unsettled => {
                Some(writes.course.left(reach.unwrap_or(Reach::NONE)))
            }
            (None, Some(reach)) => Some(unseen().left(reach)),
            _ => None,
        };
        let wanted = resolved.timed.as_ref().map_or(0, |timed| timed.precondition);
        // The writes also end early if the drive's life ends or the run is stopped. Only a workload
        // that hardly writes is reported here.
        let hardly_writes = |writes: &Precondition| {
            writes.without_write >= MOST_WITHOUT_WRITE || writes.drawn >= most_before(wanted)
        };
        let cut = precondition.filter(|writes| writes.left > 0);
        let cut = cut.filter(hardly_writes);
        let cut = cut.map(|Precondition { left, drawn, .. }| Cut { left, drawn });
        Timings {
            collecting: CollectionResult::between(&start, &end),
            joined: end.joined.since(&start.joined),
            cached: Cached::between(&start, &end),
            slc: end.slc.since(&start.slc),
            utilisation: Utilisation::between(&start, &end, ns),
            power: end.power.since(&start.power),
            failures: end.failures.since(&start.failures),
            ns,
            completed: end.completed - start.completed,
            request_ns: end.request_ns - start.request_ns,
            overload: match stop {
                Stop::Overload => Some(overload(&start, &end, ns)),
                _ => left_behind(&end, now, is_open),
            },
            paces: self.paces,
            unsettled,
            cut,
            note,
            meter: drive.measured(),
        }
    }
}

/// Returns the overload of the drive: arrivals a second, and requests served a second.
fn overload(start: &Totals, end: &Totals, ns: u64) -> Overload {
    let seconds = ns as f64 / 1e9;
    let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
    Overload {
        offered_per_second: rate(start.arrived, end.arrived),
        sustainable_per_second: rate(start.completed, end.completed),
        outstanding: end.arrived - end.completed,
        is_cut_short: true,
    }
}

/// Returns the overload of a run that was not cut short: at the last arrival, more requests were in
/// the system than [`LEAST_BEHIND`] and [`SHARE_BEHIND`] allow. Rates are those of the whole run.
/// `None` for other runs, and if requests do not arrive at their own times (`is_open`).
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
        // A closed loop waits for its drive, so it is never overloaded.
        assert_eq!(behind(1500, 2000, false), None);
        // 3000 requests arrive in 2 s and are served in 4 s.
        let overload = behind(1500, 3000, true).unwrap();
        assert_eq!((overload.offered_per_second, overload.sustainable_per_second), (1500.0, 750.0));
        assert_eq!((overload.outstanding, overload.is_cut_short), (1500, false));
    }
}
