//! One run: warm-up, then the measured part in intervals, stoppable at any batch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use flashgc_base::snapshot::{State, Value};
use flashgc_base::{state, value};
use flashgc_drive::asked::Asked;
use flashgc_drive::counting::{CountingDrive, Drive};
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_drive::passes::Rule;
use flashgc_drive::stats::{Interval, amplifications};
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::{Counters, Levelled, MapTraffic, Merges, Packing, StreamTotals, ZombieCounts};
use flashgc_host::{HostCounts, HostWatch};
use flashgc_timed::WorstResult;
use flashgc_workload::Batch;

use crate::bytes::Written;
use crate::checkpoint::Turns;
use crate::config::Resolved;
use crate::finished::{Finished, Life};
use crate::measured::cut;
use crate::worn::{Erases, Worn, tally};

/// Shared between the runs and their caller.
#[derive(Default)]
pub struct Control {
    /// Set from outside: every run stops at its next batch and reports its figures so far.
    pub cancel: AtomicBool,
    /// Parts of runs that are done, [`Control::RUN`] of them a run.
    pub done: AtomicU64,
    /// Pages programmed so far, in all runs together.
    pub programs: AtomicU64,
    /// The slowest request so far of a run with a clock, without the operations of its die.
    pub worst: Mutex<Option<WorstResult>>,
}

impl Control {
    /// Parts that one run counts for in `done`.
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

/// Called every few batches by runs on the caller's own thread.
pub type Poll<'a> = &'a mut dyn FnMut();

/// Intervals that the warm-up is cut into, for the plot of how the drive settled.
const WARMUP_INTERVALS: u64 = 40;

/// A run that can be lengthened: until its figure is precise enough, or until its drive fails.
pub(crate) trait Lengthened: State + Send + Sized {
    /// The remains of the run when its drive is gone.
    type Done: Value;

    /// Prepares the measured part if that is still to be done, then runs a measured part. Returns
    /// whether it reached the end of that: not if it was cancelled, or cannot go on.
    fn advance(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<bool, DriveError>;

    /// Whether it is still to be advanced to have been so `rounds` times.
    fn is_due(&self, rounds: u32) -> bool;

    /// Whether the passes that it has done have not settled by `rule`.
    fn needs_another(&self, rule: &Rule) -> bool;

    /// Stores a run that has come to its end.
    fn store_done(&self, turns: &mut Turns<'_>);

    /// Intervals measured so far.
    fn measured(&self) -> &[Interval];

    /// Whether it can go on no more: the drive's life is over, or the workload.
    fn has_ended(&self) -> bool;

    /// Whether a block was erased in the measured part so far.
    fn has_erased(&self) -> bool;

    /// Whether the drive may fail if the run goes on.
    fn may_fail(&self) -> bool;

    /// Frees the drive: the run cannot go on, but keeps its counts.
    fn finish(self, resolved: &Resolved) -> Self::Done;
}

/// A run under way.
pub(crate) struct Run {
    drive: Box<dyn Drive>,
    unit: Unit,
    /// Bytes a page.
    page_bytes: u32,
    warmup: Extent,
    settling: Vec<Interval>,
    /// Intervals measured so far.
    measured: Vec<Interval>,
    last: Written,
    /// How worn the blocks were after each interval, where blocks wear out.
    wearing: Vec<Worn>,
    host: Option<HostWatch>,
    /// What had been counted when the measured part began.
    at_start: Option<Counted>,
    /// The same after each interval of the measured part, where only the end tells which of them are
    /// warm-up.
    after_each: Vec<Counted>,
    /// How many times the run was advanced, to the end of that or of the drive's life.
    rounds: u32,
    /// It is being advanced once more.
    under_way: bool,
    /// Pieces that are done of the warm-up, or of the part that is being measured.
    pieces: u64,
    /// Where that part began; `None` between two.
    origin: Option<u64>,
    elapsed: Duration,
    /// Since when that counts.
    since: Instant,
}

/// The host's counts are those of the workload.
impl State for Run {
    state! {
        named: "run";
        values: settling, measured, last, wearing, at_start, after_each, rounds, under_way,
            pieces, origin, elapsed;
        states: drive;
        fixed: unit, page_bytes, warmup, host, since;
    }
}

/// How an interval ended.
enum End {
    /// At its target.
    Target,
    /// With the drive's life.
    Life,
    /// Before, because the run was told to stop.
    Cancelled,
}

/// The counts of a drive since it was made, and of the host before it.
struct Counted {
    counters: Counters,
    asked: Asked,
    packing: Option<Packing>,
    levelled: Option<Levelled>,
    zombies: Option<ZombieCounts>,
    streams: Option<StreamTotals>,
    host: Option<HostCounts>,
    merges: Option<Merges>,
    map_traffic: Option<MapTraffic>,
    swapping: Option<Swapping>,
}

/// The counts between two moments, where there are any.
macro_rules! since {
    ($now:expr, $then:expr) => {
        $now.as_ref().zip($then.as_ref()).map(|(now, then)| now.since(then))
    };
}

impl Value for Counted {
    value!(
        counters,
        asked,
        packing,
        levelled,
        zombies,
        streams,
        host,
        merges,
        map_traffic,
        swapping
    );
}

impl Counted {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            counters: self.counters.since(&earlier.counters),
            asked: self.asked.since(&earlier.asked),
            packing: since!(self.packing, earlier.packing),
            levelled: since!(self.levelled, earlier.levelled),
            zombies: since!(self.zombies, earlier.zombies),
            streams: since!(self.streams, earlier.streams),
            host: since!(self.host, earlier.host),
            merges: since!(self.merges, earlier.merges),
            map_traffic: since!(self.map_traffic, earlier.map_traffic),
            swapping: since!(self.swapping, earlier.swapping),
        }
    }
}

impl Run {
    pub(crate) fn new(resolved: &Resolved, index: u32) -> Result<Self, DriveError> {
        let layer = resolved.layer(index)?;
        let (workload, watch) = resolved.workload(index)?;
        let drive: Box<dyn Drive> = match &resolved.swap {
            Some(swap) => Box::new(swap.drive(layer, workload)?),
            None => Box::new(CountingDrive::new(layer, workload, Batch::DEFAULT_LEN)),
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
            rounds: 0,
            under_way: false,
            pieces: 0,
            origin: None,
            elapsed: Duration::ZERO,
            since: Instant::now(),
        })
    }

    /// Counts the time until now.
    fn lap(&mut self) {
        let now = Instant::now();
        self.elapsed += now - std::mem::replace(&mut self.since, now);
    }

    /// Stores the run as it is.
    fn store(&mut self, turns: &mut Turns<'_>) {
        self.lap();
        turns.store(self.rounds + 1, self);
        self.since = Instant::now();
    }

    fn advance_untimed(
        &mut self,
        resolved: &Resolved,
        control: &Control,
        mut poll: Option<Poll<'_>>,
        turns: &mut Turns<'_>,
    ) -> Result<End, DriveError> {
        let plan = &resolved.plan;
        let amount = plan.measured.amount;
        let warming = if self.at_start.is_none() { self.warmup.amount } else { 0 };
        // Progress counts units as if they were all alike: close enough for a bar.
        let mut progress = match &plan.rule {
            None => Progress::new(warming + amount, 0),
            Some(_) => {
                Progress::new(warming + Rule::USUAL * amount, u64::from(self.rounds) * amount)
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
        }
        if self.origin.is_none() {
            (self.pieces, self.origin) = (0, Some(self.drive.position(self.unit)));
        }
        let origin = self.origin.unwrap_or_default();
        let done = plan.rule.map_or(0, |_| u64::from(self.rounds) * amount);
        let intervals = plan.intervals();
        for piece in self.pieces + 1..=intervals {
            let target = pieces(origin, amount, piece, intervals);
            let target = Extent { unit: self.unit, amount: target };
            let done_before = (warming + done).wrapping_sub(origin);
            let end =
                self.interval(target, done_before, control, &mut poll, &mut progress, turns)?;
            if resolved.auto_warmup || plan.rule.is_some() {
                self.after_each.push(self.counted());
            }
            match end {
                End::Target => self.pieces = piece,
                end => return Ok(end),
            }
        }
        Ok(End::Target)
    }

    fn counted(&self) -> Counted {
        let layer = self.drive.layer();
        Counted {
            counters: layer.counters(),
            asked: self.drive.asked(),
            packing: layer.packing(),
            levelled: layer.levelled(),
            zombies: layer.zombies(),
            streams: layer.stream_totals().cloned(),
            host: self.host.as_ref().map(HostWatch::counts),
            merges: layer.merges(),
            map_traffic: layer.map_traffic(),
            swapping: self.drive.swapping(),
        }
    }

    /// Runs to `target` and records the interval. Returns whether it came there.
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
        let mut programs = self.drive.layer().counters().programs();
        let mut report = |drive: &dyn Drive| {
            let now = drive.layer().counters().programs();
            control.programs.fetch_add(now - programs, Ordering::Relaxed);
            programs = now;
            let position = drive.position(target.unit).min(target.amount).wrapping_add(offset);
            progress.report(position, control);
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
            // Before the interval is recorded: it goes on.
            self.store(turns);
        }
        report(&*self.drive);
        if let Some(poll) = poll {
            poll();
        }
        let layer = self.drive.layer();
        let now = Written::new(&layer.counters(), self.drive.asked(), layer.packing());
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
        self.since = Instant::now();
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

    fn is_due(&self, rounds: u32) -> bool {
        self.under_way || self.rounds < rounds
    }

    fn needs_another(&self, rule: &Rule) -> bool {
        rule.goes_on(&amplifications(&self.measured))
    }

    fn store_done(&self, turns: &mut Turns<'_>) {
        if !self.under_way {
            turns.store(self.rounds, self);
        }
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

    /// It goes on until so many collections are done.
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
        let layer = self.drive.layer();
        let now = layer.counters();
        let erase_counts = layer.blocks().erase_counts();
        let life = layer.wear().map(|wear| Life {
            reserve: wear.reserve(),
            first_failure: self.drive.first_failure(),
            system_failure: wear
                .system_failure()
                .map(|(moment, cause)| ((moment, self.drive.asked()), cause)),
        });
        let all = self.counted();
        // The counts are of the intervals that write amplification is of. Of a run that was stopped
        // in its warm-up nothing counts.
        let start = match warmup {
            0 => self.at_start.as_ref().unwrap_or(&all),
            warmup => &self.after_each[warmup - 1],
        };
        let counted = all.since(start);
        Finished {
            passes: resolved.plan.rule.map_or(0, |_| u64::from(self.rounds)),
            counters: counted.counters,
            asked: counted.asked,
            packing: counted.packing,
            levelled: counted.levelled,
            zombies: counted.zombies,
            streams: counted.streams,
            host: counted.host,
            merges: counted.merges,
            map_traffic: counted.map_traffic,
            swapping: counted.swapping,
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

/// The end of piece `piece` of `count` pieces of `amount` units that begin at `origin`.
fn pieces(origin: u64, amount: u64, piece: u64, count: u64) -> u64 {
    origin + (u128::from(amount) * u128::from(piece) / u128::from(count)) as u64
}

struct Progress {
    total: u64,
    reported: u64,
}

impl Progress {
    /// Of `total` units in all, of which so many were reported before.
    fn new(total: u64, before: u64) -> Self {
        let mut progress = Self { total: total.max(1), reported: 0 };
        progress.reported = progress.parts(before);
        progress
    }

    fn parts(&self, position: u64) -> u64 {
        let share = u128::from(position.min(self.total)) * u128::from(Control::RUN);
        (share / u128::from(self.total)) as u64
    }

    fn report(&mut self, position: u64, control: &Control) {
        let parts = self.parts(position);
        if parts > self.reported {
            control.done.fetch_add(parts - self.reported, Ordering::Relaxed);
            self.reported = parts;
        }
    }
}
