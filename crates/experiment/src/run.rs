//! One run: the writes before the clock if there is one, the warm-up, then the measured part in
//! intervals. A run can be stopped between any two steps. It can be lengthened until its figure is
//! precise enough, or until its drive fails.

use std::time::Duration;

use flashgc_base::counts::Counts;
use flashgc_base::cpu;
use flashgc_base::mutants;
use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::{Extent, INTERVALS, Unit};
use flashgc_drive::passes::Rule;
use flashgc_drive::settling::{SettlingLevel, level};
use flashgc_drive::stats::{Interval, amplifications, drift, exceeds_chance};

use crate::bytes::Written;
use crate::checkpoint::Turns;
use crate::config::Resolved;
use crate::control::{Caller, Progress};
use crate::counted::Counted;
use crate::driver::Driver;
use crate::finished::{Finished, Life, Remains};
use crate::measured::{cut, kept};
use crate::worn::{Erases, Worn, tally};

/// The number of intervals of the warm-up, for the plot of how the drive settles.
const WARMUP_INTERVALS: u64 = 40;

/// A run that has begun, with its drive.
pub(crate) struct Run {
    driver: Driver,
    unit: Unit,
    /// The bytes of a mapping unit.
    page_bytes: u32,
    warmup: Extent,
    /// `true` if the writes before the clock are done.
    is_prepared: bool,
    settling: Vec<Interval>,
    /// The intervals measured so far.
    measured: Vec<Interval>,
    last: Written,
    /// The wear of the blocks after each interval; empty if blocks do not wear out.
    wearing: Vec<Worn>,
    /// The counts at the beginning of the measured part.
    at_start: Option<Counted>,
    /// The counts after each interval of the measured part. They are kept if only the end of the
    /// run shows which intervals belong to the warm-up.
    after_each: Vec<Counted>,
    /// The number of times that a cold page was written in the measured part; `None` if that is not
    /// watched.
    rewrites: Option<f64>,
    /// The number of rounds that the run has completed: its first length and each lengthening. A
    /// round ends early if the drive's life ends.
    rounds: u32,
    /// The progress that was reported to the caller.
    progress: Progress,
    /// `true` while a round of the run is not completed.
    under_way: bool,
    /// The number of intervals done in the warm-up, or in the current round of the measured part.
    pieces: u64,
    /// The position in the workload at which the current round began; `None` between two rounds,
    /// and with a clock.
    origin: Option<u64>,
    /// The processor time that the run has taken so far.
    pub(crate) elapsed: Duration,
    /// The processor time of the thread when `elapsed` was last updated.
    since: Duration,
}

/// Saves and restores the values in the order of existing files: the values that only a run with a
/// clock has stand between those that every run has.
impl State for Run {
    fn save(&self, to: &mut Writer<'_>) {
        let mut pieces = self.pieces;
        match &self.driver {
            Driver::Counting(..) => {
                to.section("run");
                self.settling.put(to);
                self.measured.put(to);
                self.last.put(to);
                self.wearing.put(to);
                self.at_start.put(to);
                self.after_each.put(to);
                self.rewrites.put(to);
            }
            Driver::Clocked(clock) => {
                to.section("timed run");
                self.is_prepared.put(to);
                clock.is_unsettled.put(to);
                let (now, totals) = &clock.start;
                self.at_start.clone().map(|counted| (*now, counted, totals.clone())).put(to);
                self.settling.put(to);
                self.measured.put(to);
                clock.paces.put(to);
                clock.paced.put(to);
                self.wearing.put(to);
                self.last.put(to);
                clock.stop.put(to);
                clock.completed.put(to);
                pieces = if self.under_way { pieces } else { 0 };
            }
        }
        (self.rounds, self.under_way, pieces).put(to);
        if let Driver::Counting(..) = self.driver {
            self.origin.put(to);
        }
        self.elapsed.put(to);
        self.driver.save(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        match &mut self.driver {
            Driver::Counting(..) => {
                from.section("run")?;
                (self.settling, self.measured, self.last, self.wearing) = Value::take(from)?;
                (self.at_start, self.after_each, self.rewrites) = Value::take(from)?;
                (self.rounds, self.under_way, self.pieces, self.origin) = Value::take(from)?;
            }
            Driver::Clocked(clock) => {
                from.section("timed run")?;
                (self.is_prepared, clock.is_unsettled) = Value::take(from)?;
                if let Some((now, counted, totals)) = Value::take(from)? {
                    (self.at_start, clock.start) = (Some(counted), (now, totals));
                }
                (self.settling, self.measured, clock.paces, clock.paced) = Value::take(from)?;
                (self.wearing, self.last, clock.stop, clock.completed) = Value::take(from)?;
                (self.rounds, self.under_way, self.pieces) = Value::take(from)?;
            }
        }
        self.elapsed = Value::take(from)?;
        self.driver.restore(from)
    }
}

/// The reason for the end of an interval.
enum End {
    /// The interval reached its target.
    Target,
    /// The life of the drive ended, or the workload did.
    Life,
    /// The run was cancelled before it reached the target.
    Cancelled,
}

impl Run {
    /// Makes run number `index`, at its beginning. With `threads`, the channels of a drive with a
    /// clock may be simulated separately, by this number of threads.
    pub(crate) fn new(
        resolved: &Resolved,
        index: u32,
        threads: Option<usize>,
    ) -> Result<Self, DriveError> {
        let since = cpu::time();
        Ok(Self {
            driver: Driver::new(resolved, index, threads)?,
            unit: resolved.plan.measured.unit,
            page_bytes: resolved.config.unit(),
            warmup: resolved.plan.warmup,
            is_prepared: resolved.timed.is_none(),
            settling: Vec::new(),
            measured: Vec::new(),
            last: Written::default(),
            wearing: Vec::new(),
            at_start: None,
            after_each: Vec::new(),
            rewrites: None,
            rounds: 0,
            progress: Progress::default(),
            under_way: false,
            pieces: 0,
            origin: None,
            elapsed: Duration::ZERO,
            since,
        })
    }

    /// Adds the processor time since the last call to `elapsed`.
    fn lap(&mut self) {
        let now = cpu::time();
        self.elapsed += now - std::mem::replace(&mut self.since, now);
    }

    /// Stores the run in its current state.
    fn store(&mut self, caller: &mut Caller<'_, '_>) {
        self.lap();
        caller.turns.store(self.rounds + 1, self);
        self.since = cpu::time();
    }

    /// Reports in the middle of an interval that `done` units are done. Stores the run if a
    /// checkpoint is due or the run is cancelled. Returns `false` if the run is cancelled.
    fn look(&mut self, done: u64, caller: &mut Caller<'_, '_>) -> bool {
        self.report(done, caller);
        let goes_on = !caller.control.is_cancelled();
        if !goes_on || caller.turns.is_due() {
            self.store(caller);
        }
        goes_on
    }

    fn report(&mut self, done: u64, caller: &mut Caller<'_, '_>) {
        self.progress.report(done, self.driver.counters().programs(), caller.control);
        if let Driver::Clocked(clock) = &mut self.driver
            && let Some(worst) = clock.new_worst()
        {
            caller.control.tell_worst(worst);
        }
        caller.poll();
    }

    /// Prepares the measured part if that was not done yet, then runs one round of it. Returns
    /// `false` if the round did not reach its target, because the run was cancelled or cannot
    /// continue.
    pub(crate) fn advance(
        &mut self,
        resolved: &Resolved,
        caller: &mut Caller<'_, '_>,
    ) -> Result<bool, DriveError> {
        self.since = cpu::time();
        if !std::mem::replace(&mut self.under_way, true) {
            self.pieces = 0;
        }
        let end = self.advance_untimed(resolved, caller);
        self.lap();
        let end = end?;
        if !matches!(end, End::Cancelled) {
            self.under_way = false;
            self.rounds += 1;
            self.origin = None;
        }
        Ok(matches!(end, End::Target))
    }

    fn advance_untimed(
        &mut self,
        resolved: &Resolved,
        caller: &mut Caller<'_, '_>,
    ) -> Result<End, DriveError> {
        let plan = &resolved.plan;
        let amount = plan.round(self.rounds);
        let before = resolved.timed.as_ref().map_or(0, |timed| timed.precondition);
        let warming = if self.at_start.is_none() { self.warmup.amount } else { 0 };
        let programs = self.driver.counters().programs();
        // Units of all kinds count the same here, which is precise enough for a progress bar.
        let reported = self.progress.reported;
        self.progress = match (&plan.rule, &plan.doubling) {
            (None, None) => Progress::new(before + warming + amount, 0, programs),
            (Some(_), _) => {
                let done = reported.max(u64::from(self.rounds));
                Progress::new(warming + Rule::USUAL * amount, done * amount, programs)
            }
            (None, Some(rule)) => {
                let written = rule.until(self.rounds);
                let needed = rule.reach.run_needed(written / 2, self.rewrites);
                let goal = if self.rounds == 0 || needed > rule.most { 0 } else { needed };
                let total = rule.until(self.rounds + 1).max(goal);
                let mut progress = Progress::new(total, 0, programs);
                progress.reported = reported;
                progress
            }
        };
        if !self.is_prepared {
            while let Some(done) = self.driver.prepare(before)? {
                if !self.look(done, caller) {
                    return Ok(End::Cancelled);
                }
            }
            self.is_prepared = true;
            self.last = Written::of(&self.driver.counted());
        }
        if self.at_start.is_none() {
            let Extent { unit, amount } = self.warmup;
            let count = match self.driver {
                Driver::Counting(..) => WARMUP_INTERVALS,
                Driver::Clocked(_) if amount == 0 => 0,
                Driver::Clocked(_) => INTERVALS / 3,
            };
            for piece in self.pieces + 1..=count {
                let target = Extent { unit, amount: pieces(0, amount, piece, count) };
                match self.interval(target, before, caller)? {
                    End::Target => self.pieces = piece,
                    end => return Ok(end),
                }
            }
            self.pieces = 0;
            self.at_start = Some(self.driver.counted());
            self.driver.begin();
        }
        let origin = match &self.driver {
            Driver::Counting(..) => {
                *self.origin.get_or_insert_with(|| self.driver.position(self.unit))
            }
            Driver::Clocked(_) => self.warmup.amount + u64::from(self.rounds) * amount,
        };
        let done = match (&plan.rule, &plan.doubling) {
            (Some(_), _) => u64::from(self.rounds) * amount,
            (None, Some(rule)) if self.rounds > 0 => rule.until(self.rounds),
            _ => 0,
        };
        let intervals = plan.intervals();
        for piece in self.pieces + 1..=intervals {
            let target = pieces(origin, amount, piece, intervals);
            let target = Extent { unit: self.unit, amount: target };
            let done_before = (before + warming + done).wrapping_sub(origin);
            let end = self.interval(target, done_before, caller)?;
            if resolved.auto_warmup || plan.rule.is_some() || plan.doubling.is_some() {
                self.after_each.push(self.driver.counted());
            }
            match end {
                End::Target => self.pieces = piece,
                end => return Ok(end),
            }
        }
        let again = self.driver.rewrites();
        self.rewrites = match (self.rewrites, again, &plan.doubling) {
            // The first half of the writes had `before` rewrites, so all of them have at least
            // twice as many.
            (Some(before), Some(again), Some(_)) => Some(again.max(2.0 * before)),
            (Some(before), Some(again), None) => Some(before + again),
            (before, again, _) => again.or(before),
        };
        Ok(End::Target)
    }

    /// Runs to `target` and records the interval. Returns the reason for its end.
    fn interval(
        &mut self,
        target: Extent,
        offset: u64,
        caller: &mut Caller<'_, '_>,
    ) -> Result<End, DriveError> {
        let done =
            |driver: &Driver| driver.position(target.unit).min(target.amount).wrapping_add(offset);
        let mut going = !caller.control.is_cancelled();
        if !going {
            self.store(caller);
        }
        while going && self.driver.step(target)? {
            going = self.look(done(&self.driver), caller);
        }
        self.report(done(&self.driver), caller);
        let counted = self.driver.counted();
        let now = Written::of(&counted);
        let interval = now.since(&self.last, self.page_bytes);
        self.last = now;
        match self.at_start {
            None => self.settling.push(interval),
            Some(_) => self.measured.push(interval),
        }
        if let Driver::Clocked(clock) = &mut self.driver {
            clock.end_interval(self.at_start.is_some());
        }
        if interval.host_pages > 0 && self.driver.wear().is_some() {
            self.wearing.push(Worn::of(now.host_pages, &self.driver.erase_counts()));
        }
        Ok(match (going, self.has_ended()) {
            (false, _) => End::Cancelled,
            (_, true) => End::Life,
            _ => End::Target,
        })
    }

    /// Returns `true` if a round is under way, or if the run has completed fewer than `rounds`
    /// rounds.
    pub(crate) fn is_due(&self, rounds: u32) -> bool {
        self.under_way || self.rounds < rounds
    }

    /// Returns `true` if the run has not settled by the rule of its plan, and must be lengthened.
    pub(crate) fn needs_another(&self, resolved: &Resolved) -> bool {
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

    /// Returns the level of write amplification in the measured part; `None` if nothing was
    /// written.
    pub(crate) fn level(&self, resolved: &Resolved) -> Option<SettlingLevel> {
        let (before, measured) = self.measured.split_at(cut(resolved, &self.measured));
        level(&[&self.settling[..], before].concat(), measured)
    }

    /// Returns `true` if the plan does not allow another lengthening.
    pub(crate) fn is_longest(&self, resolved: &Resolved) -> bool {
        let longest = resolved.plan.doubling.map(|rule| rule.most);
        let written: u64 = self.measured.iter().map(|interval| interval.host_pages).sum();
        longest.is_some_and(|most| written > most / 2)
    }

    /// Stores a run that has ended.
    pub(crate) fn store_done(&self, turns: &mut Turns<'_>) {
        if !self.under_way {
            turns.store(self.rounds, self);
        }
    }

    /// Returns the intervals measured so far.
    pub(crate) fn measured(&self) -> &[Interval] {
        &self.measured
    }

    /// Returns `true` if the run cannot continue: the drive's life or the workload has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.driver.has_ended()
    }

    /// Returns `true` if a block was erased in the measured part so far. Only erases wear blocks.
    pub(crate) fn has_erased(&self) -> bool {
        let erases = self.driver.erases();
        self.at_start.as_ref().is_some_and(|start| erases > start.counters.erases)
    }

    /// Frees the drive and returns the figures of the run. The run cannot continue afterwards.
    pub(crate) fn finish(mut self, resolved: &Resolved) -> Remains {
        // With assertions, as in the tests, every run is audited. Only a wrong engine may fail.
        debug_assert_eq!(self.driver.audit().err().filter(|_| mutants::is_right()), None);
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
        let all = self.driver.counted();
        let erase_counts = self.driver.erase_counts();
        let first_failure = self.driver.first_failure();
        let wear = self.driver.wear();
        let failures = wear.map(|wear| wear.failures().to_vec()).unwrap_or_default();
        let shrunk = wear.and_then(|wear| wear.shrunk());
        let life = wear.map(|wear| Life {
            reserve: wear.reserve(),
            first_failure,
            system_failure: wear
                .system_failure()
                .map(|(moment, cause)| ((moment, all.commands), cause)),
        });
        // The counts cover the same intervals as write amplification. If a run was stopped in its
        // warm-up, all counts are 0.
        let start = match warmup {
            0 => self.at_start.as_ref().unwrap_or(&all),
            warmup => &self.after_each[warmup - 1],
        };
        let finished = Finished {
            passes: resolved.plan.rule.map_or(0, |_| u64::from(self.rounds)),
            rewrites: self.rewrites,
            counted: all.since(start),
            map_bytes: self.driver.map_bytes(),
            programs: all.counters.programs(),
            decisions: self.driver.decisions(),
            dead_blocks: self.driver.dead_blocks(),
            erases: Erases::of(&erase_counts),
            tally: tally(&erase_counts),
            life,
            shrunk,
            failures,
            wearing: self.wearing,
            settling: self.settling,
            measured: self.measured,
            elapsed: self.elapsed,
        };
        let timings = match self.driver {
            Driver::Counting(..) => None,
            Driver::Clocked(clock) => {
                Some(clock.finish(resolved, self.at_start.is_some(), &finished.settling))
            }
        };
        Remains { finished, timings }
    }
}

/// Returns the end of piece number `piece`, if `amount` units from `origin` on are cut into `count`
/// pieces.
fn pieces(origin: u64, amount: u64, piece: u64, count: u64) -> u64 {
    origin + (u128::from(amount) * u128::from(piece) / u128::from(count)) as u64
}
