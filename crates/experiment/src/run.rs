//! One run: warm-up, then the measured part in intervals. It can be stopped at any batch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flashgc_base::counts::Counts;
use flashgc_base::cpu;
use flashgc_base::snapshot::{State, Value};
use flashgc_drive::counting::{CountingDrive, Drive};
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_drive::passes::Rule;
use flashgc_drive::settling::{SettlingLevel, level};
use flashgc_drive::stats::{Interval, amplifications, drift, exceeds_chance};
use flashgc_host::HostWatch;
use flashgc_timed::WorstResult;
use flashgc_workload::Batch;

use crate::bytes::Written;
use crate::checkpoint::Turns;
use crate::config::Resolved;
use crate::counted::Counted;
use crate::finished::{Finished, Life, Remains};
use crate::measured::{cut, kept};
use crate::worn::{Erases, Worn, tally};

/// The progress and the cancelling of runs, shared between them and their caller.
#[derive(Default)]
pub struct Control {
    /// Is set from outside: every run then stops at its next batch and reports its figures so far.
    pub cancel: AtomicBool,
    /// The parts of runs that are done, [`Control::RUN`] of them a run.
    pub done: AtomicU64,
    /// The pages programmed so far, in all runs together.
    pub programs: AtomicU64,
    /// The slowest request so far of a run with a clock, without the operations of its die.
    pub worst: Mutex<Option<WorstResult>>,
}

impl Control {
    /// The number of parts that one run counts for in `done`.
    pub const RUN: u64 = 1 << 20;

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Keeps `worst` if it is the slowest request of all runs so far.
    pub(crate) fn tell_worst(&self, worst: WorstResult) {
        let mut kept = self.worst.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| kept.response_us < worst.response_us) {
            *kept = Some(WorstResult { operations: Vec::new(), ..worst });
        }
    }
}

/// Is called every few batches by runs on the caller's own thread.
pub type Poll<'a> = &'a mut dyn FnMut();

/// The number of intervals that the warm-up is cut into, for the plot of how the drive settled.
const WARMUP_INTERVALS: u64 = 40;

/// A run that can be lengthened: until its figure is precise enough, or until its drive fails.
pub(crate) trait Lengthened: State + Send + Sized {
    /// The remains of the run when its drive is gone.
    type Done: Value + Into<Remains>;

    /// Prepares the measured part if that is still to be done, then runs a measured part. Returns
    /// `false` if it did not reach the end of that, as it was cancelled or cannot go on.
    fn advance(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<bool, DriveError>;

    /// Returns the number of times that it was advanced, and `true` if it is being advanced once more.
    fn rounds(&self) -> (u32, bool);

    /// Returns `true` if it has been advanced less than `rounds` times.
    fn is_due(&self, rounds: u32) -> bool {
        let (done, under_way) = self.rounds();
        under_way || done < rounds
    }

    /// Returns `true` if it has not settled by the rule of its plan, and must be lengthened.
    fn needs_another(&self, resolved: &Resolved) -> bool;

    /// Returns the level of write amplification in its measured part; `None` without writes, and with a clock.
    fn level(&self, _: &Resolved) -> Option<SettlingLevel> {
        None
    }

    /// Returns `true` if its plan allows no lengthening.
    fn is_longest(&self, resolved: &Resolved) -> bool {
        let longest = resolved.plan.doubling.map(|rule| rule.most);
        let written: u64 = self.measured().iter().map(|interval| interval.host_pages).sum();
        longest.is_some_and(|most| written > most / 2)
    }

    /// Stores a run that has come to its end.
    fn store_done(&self, turns: &mut Turns<'_>) {
        if let (rounds, false) = self.rounds() {
            turns.store(rounds, self);
        }
    }

    /// Returns the intervals measured so far.
    fn measured(&self) -> &[Interval];

    /// Returns `true` if it cannot go on: the drive's life is over, or the workload has ended.
    fn has_ended(&self) -> bool;

    /// Returns `true` if a block was erased in the measured part so far.
    fn has_erased(&self) -> bool;

    /// Returns `true` if the drive may fail if the run goes on.
    fn may_fail(&self) -> bool;

    /// Frees the drive: the run cannot go on, but keeps its counts.
    fn finish(self, resolved: &Resolved) -> Self::Done;
}

/// A run under way.
#[derive(State)]
#[snapshot(named = "run")]
pub(crate) struct Run {
    #[snapshot(state)]
    drive: Box<dyn Drive>,
    #[snapshot(skip)]
    unit: Unit,
    /// The bytes of a page.
    #[snapshot(skip)]
    page_bytes: u32,
    #[snapshot(skip)]
    warmup: Extent,
    settling: Vec<Interval>,
    /// The intervals measured so far.
    measured: Vec<Interval>,
    last: Written,
    /// The wear of the blocks after each interval, if blocks wear out.
    wearing: Vec<Worn>,
    /// The counts of the host, which are saved with the workload.
    #[snapshot(skip)]
    host: Option<HostWatch>,
    /// The counts at the beginning of the measured part.
    at_start: Option<Counted>,
    /// The counts after each interval of the measured part, if only the end shows which intervals
    /// belong to the warm-up.
    after_each: Vec<Counted>,
    /// The number of times that a cold page was written in the measured part; `None` without a watch.
    rewrites: Option<f64>,
    /// The number of times that the run was advanced, each to the end of its length or of the
    /// drive's life.
    rounds: u32,
    /// The parts of the run that were reported as done.
    #[snapshot(skip)]
    reported: u64,
    /// `true` while it is being advanced once more.
    under_way: bool,
    /// The pieces that are done of the warm-up, or of the part that is being measured.
    pieces: u64,
    /// The position at which that part began; `None` between two parts.
    origin: Option<u64>,
    /// The processor time that it took.
    pub(crate) elapsed: Duration,
    /// The processor time of the thread since which `elapsed` is yet to be counted.
    #[snapshot(skip)]
    since: Duration,
}

/// The end of an interval.
enum End {
    /// The interval reached its target.
    Target,
    /// The drive's life ended.
    Life,
    /// The run was told to stop before.
    Cancelled,
}

impl Run {
    pub(crate) fn new(resolved: &Resolved, index: u32) -> Result<Self, DriveError> {
        let layer = resolved.layer(index)?;
        let (workload, watch) = resolved.workload(index)?;
        let drive: Box<dyn Drive> = match &resolved.swap {
            Some(swap) => Box::new(swap.drive(layer, workload)?),
            None => {
                let drive = CountingDrive::new(layer, workload, Batch::DEFAULT_LEN);
                let watched = resolved.has_no_end().then(|| resolved.geometry.logical_pages());
                Box::new(drive.behind_cache(resolved.host.is_some()).watched(watched))
            }
        };
        Ok(Self {
            drive,
            unit: resolved.plan.measured.unit,
            page_bytes: resolved.config.unit(),
            warmup: resolved.plan.warmup,
            settling: Vec::new(),
            measured: Vec::new(),
            last: Written::default(),
            wearing: Vec::new(),
            host: watch,
            at_start: None,
            after_each: Vec::new(),
            rewrites: None,
            rounds: 0,
            reported: 0,
            under_way: false,
            pieces: 0,
            origin: None,
            elapsed: Duration::ZERO,
            since: cpu::time(),
        })
    }

    /// Counts the processor time until now.
    fn lap(&mut self) {
        let now = cpu::time();
        self.elapsed += now - std::mem::replace(&mut self.since, now);
    }

    /// Stores the run as it is.
    fn store(&mut self, turns: &mut Turns<'_>) {
        self.lap();
        turns.store(self.rounds + 1, self);
        self.since = cpu::time();
    }

    fn advance_untimed(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        mut poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<End, DriveError> {
        let plan = &resolved.plan;
        let amount = plan.round(self.rounds);
        let warming = if self.at_start.is_none() { self.warmup.amount } else { 0 };
        let programs = self.drive.layer().counters().programs();
        // The progress counts all units alike: close enough for a progress bar.
        let mut progress = match (&plan.rule, &plan.doubling) {
            (None, None) => Progress::new(warming + amount, 0, programs),
            (Some(_), _) => {
                let done = self.reported.max(u64::from(self.rounds));
                Progress::new(warming + Rule::USUAL * amount, done * amount, programs)
            }
            (None, Some(rule)) => {
                let written = rule.until(self.rounds);
                let needed = rule.reach.run_needed(written / 2, self.rewrites);
                let goal = if self.rounds == 0 || needed > rule.most { 0 } else { needed };
                let total = rule.until(self.rounds + 1).max(goal);
                let mut progress = Progress::new(total, 0, programs);
                progress.reported = self.reported;
                progress
            }
        };
        if self.at_start.is_none() {
            for piece in self.pieces + 1..=WARMUP_INTERVALS {
                let target = pieces(0, self.warmup.amount, piece, WARMUP_INTERVALS);
                let target = Extent { unit: self.warmup.unit, amount: target };
                match self.interval(target, 0, control, &mut poll, &mut progress, turns)? {
                    End::Target => self.pieces = piece,
                    end => return Ok(end),
                }
            }
            self.at_start = Some(self.counted());
            self.drive.rewrites();
        }
        if self.origin.is_none() {
            (self.pieces, self.origin) = (0, Some(self.drive.position(self.unit)));
        }
        let origin = self.origin.unwrap_or_default();
        let done = match (&plan.rule, &plan.doubling) {
            (Some(_), _) => u64::from(self.rounds) * amount,
            (None, Some(rule)) if self.rounds > 0 => rule.until(self.rounds),
            _ => 0,
        };
        let intervals = plan.intervals();
        for piece in self.pieces + 1..=intervals {
            let target = pieces(origin, amount, piece, intervals);
            let target = Extent { unit: self.unit, amount: target };
            let done_before = (warming + done).wrapping_sub(origin);
            let end =
                self.interval(target, done_before, control, &mut poll, &mut progress, turns)?;
            self.reported = progress.reported;
            if resolved.auto_warmup || plan.rule.is_some() || plan.doubling.is_some() {
                self.after_each.push(self.counted());
            }
            match end {
                End::Target => self.pieces = piece,
                end => return Ok(end),
            }
        }
        let again = self.drive.rewrites();
        self.rewrites = match (self.rewrites, again, &plan.doubling) {
            // Twice as many as in half of the writes.
            (Some(before), Some(again), Some(_)) => Some(again.max(2.0 * before)),
            (Some(before), Some(again), None) => Some(before + again),
            (before, again, _) => again.or(before),
        };
        Ok(End::Target)
    }

    fn counted(&self) -> Counted {
        let layer = self.drive.layer();
        Counted {
            counters: layer.counters(),
            commands: self.drive.commands(),
            layer: layer.counts(),
            host: self.host.as_ref().map(HostWatch::counts),
            swapping: self.drive.swapping(),
        }
    }

    /// Runs to `target` and records the interval. Returns the reason why it ended.
    fn interval(
        &mut self,
        target: Extent,
        offset: u64,
        control: &Control,
        poll: &mut Option<Poll<'_>>,
        progress: &mut Progress,
        turns: &mut Turns<'_>,
    ) -> Result<End, DriveError> {
        let mut steps = 0u32;
        let mut report = |drive: &dyn Drive| {
            let position = drive.position(target.unit).min(target.amount).wrapping_add(offset);
            progress.report(position, drive.layer().counters().programs(), control);
        };
        let mut cancelled = control.is_cancelled();
        while !cancelled && self.drive.step(target)? {
            steps += 1;
            if steps.is_multiple_of(16) {
                report(&*self.drive);
                if let Some(poll) = poll {
                    poll();
                }
                cancelled = control.is_cancelled();
                if turns.is_due() && !cancelled {
                    self.store(turns);
                }
            }
        }
        if cancelled {
            // The run is stored before the interval is recorded, as it still goes on.
            self.store(turns);
        }
        report(&*self.drive);
        if let Some(poll) = poll {
            poll();
        }
        let layer = self.drive.layer();
        let now = Written::new(&layer.counters(), self.drive.commands(), layer.counts().packing);
        let interval = now.since(&self.last, self.page_bytes);
        self.last = now;
        match self.at_start {
            None => self.settling.push(interval),
            Some(_) => self.measured.push(interval),
        }
        let layer = self.drive.layer();
        if layer.wear().is_some() && interval.host_pages > 0 {
            self.wearing.push(Worn::of(now.host_pages, layer.blocks().erase_counts()));
        }
        Ok(match (cancelled, self.has_ended()) {
            (true, _) => End::Cancelled,
            (_, true) => End::Life,
            _ => End::Target,
        })
    }
}

impl Lengthened for Run {
    type Done = Finished;

    fn advance(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<bool, DriveError> {
        self.since = cpu::time();
        self.under_way = true;
        let end = self.advance_untimed(resolved, control, poll, turns);
        self.lap();
        let end = end?;
        if !matches!(end, End::Cancelled) {
            self.under_way = false;
            self.rounds += 1;
            self.origin = None;
        }
        Ok(matches!(end, End::Target))
    }

    fn rounds(&self) -> (u32, bool) {
        (self.rounds, self.under_way)
    }

    fn needs_another(&self, resolved: &Resolved) -> bool {
        match (&resolved.plan.rule, &resolved.plan.doubling) {
            (Some(rule), _) => rule.goes_on(&amplifications(&self.measured)),
            (None, Some(rule)) => {
                let measured = kept(resolved, &self.measured);
                let moves = drift(&[measured]).is_some_and(exceeds_chance);
                rule.goes_on(self.last.host_pages, self.level(resolved), self.rewrites, moves)
            }
            (None, None) => false,
        }
    }

    fn level(&self, resolved: &Resolved) -> Option<SettlingLevel> {
        let (before, measured) = self.measured.split_at(cut(resolved, &self.measured));
        level(&[&self.settling[..], before].concat(), measured)
    }

    fn measured(&self) -> &[Interval] {
        &self.measured
    }

    fn has_ended(&self) -> bool {
        self.drive.has_ended()
    }

    fn has_erased(&self) -> bool {
        let erases = self.drive.layer().counters().erases;
        self.at_start.as_ref().is_some_and(|start| erases > start.counters.erases)
    }

    /// Returns `true`: each advance in a run until a failure makes a number of collections, which
    /// wear blocks.
    fn may_fail(&self) -> bool {
        true
    }

    fn finish(mut self, resolved: &Resolved) -> Finished {
        let warmup = match &resolved.plan.rule {
            Some(rule) => {
                let passes = rule.warmup_of(self.rounds as usize);
                self.settling.extend(self.measured.drain(..passes));
                passes
            }
            None => cut(resolved, &self.measured),
        };
        if resolved.plan.doubling.is_some() {
            self.settling.extend(self.measured.drain(..warmup));
        }
        let layer = self.drive.layer();
        let now = layer.counters();
        let erase_counts = layer.blocks().erase_counts();
        let life = layer.wear().map(|wear| Life {
            reserve: wear.reserve(),
            first_failure: self.drive.first_failure(),
            system_failure: wear
                .system_failure()
                .map(|(moment, cause)| ((moment, self.drive.commands()), cause)),
        });
        let all = self.counted();
        // The counts are of the same intervals as write amplification. If a run was stopped in its
        // warm-up, nothing counts.
        let start = match warmup {
            0 => self.at_start.as_ref().unwrap_or(&all),
            warmup => &self.after_each[warmup - 1],
        };
        Finished {
            passes: resolved.plan.rule.map_or(0, |_| u64::from(self.rounds)),
            rewrites: self.rewrites,
            counted: all.since(start),
            map_bytes: layer.map_bytes(),
            programs: now.programs(),
            decisions: layer.decisions(),
            erases: Erases::of(erase_counts),
            tally: tally(erase_counts),
            life,
            failures: layer.wear().map(|wear| wear.failures().to_vec()).unwrap_or_default(),
            wearing: self.wearing,
            settling: self.settling,
            measured: self.measured,
            elapsed: self.elapsed,
        }
    }
}

/// Returns the end of piece `piece` of `count` pieces of `amount` units that begin at `origin`.
pub(crate) fn pieces(origin: u64, amount: u64, piece: u64, count: u64) -> u64 {
    origin + (u128::from(amount) * u128::from(piece) / u128::from(count)) as u64
}

/// The progress of a run: units of its length, and pages programmed.
pub(crate) struct Progress {
    total: u64,
    reported: u64,
    programs: u64,
}

impl Progress {
    /// Returns the progress of `total` units in all. `before` of them and `programs` pages were reported before.
    pub(crate) fn new(total: u64, before: u64, programs: u64) -> Self {
        let mut progress = Self { total: total.max(1), reported: 0, programs };
        progress.reported = progress.parts(before);
        progress
    }

    fn parts(&self, position: u64) -> u64 {
        let share = u128::from(position.min(self.total)) * u128::from(Control::RUN);
        (share / u128::from(self.total)) as u64
    }

    pub(crate) fn report(&mut self, position: u64, programs: u64, control: &Control) {
        let parts = self.parts(position);
        control.done.fetch_add(parts.saturating_sub(self.reported), Ordering::Relaxed);
        control.programs.fetch_add(programs - self.programs, Ordering::Relaxed);
        (self.reported, self.programs) = (self.reported.max(parts), programs);
    }
}
