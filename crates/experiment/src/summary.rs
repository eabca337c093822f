//! Combines the runs of one configuration into their result. The result has several parts; each
//! part has its own findings.

mod clock;

use flashgc_base::counts::Counts;
use flashgc_base::naming::{choice, option};
use flashgc_drive::extent::{Length, Warmup};
use flashgc_drive::passes::{Rule, Verdict, level, verdict};
use flashgc_drive::settling::{
    self, FEWEST_REWRITES, Reach, SettlingLevel, left_of_all, most_left_of_all, spread,
};
use flashgc_drive::stats::{Interval, all_equal, half_width95, mean};
use flashgc_ftl::{Counters, Geometry, LayerCounts, Victim};
use flashgc_host::HostSpec;
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::Bytes;
use crate::config::Resolved;
use crate::counted::{Counted, NamedCounts};
use crate::each_run::{EachRun, InPages};
use crate::findings::{self, Finding, MOST_ADVISED};
use crate::finished::{Finished, Remains, Timings};
use crate::hosted::{HostResult, ZombieResult};
use crate::measured::{BATCHES, cut, kept};
use crate::replayed::{Replayed, Samples};
use crate::result::{Course, FullConfig, MapResult, RunResult};
use crate::scale::Scaled;
use crate::steadiness::{Drift, FEWEST_ERASES, Steadiness};
use crate::stream_results::{self, FdpResult, StreamResult};
use crate::swap_results::Swap;
use crate::times::Busy;
use crate::wear::{Lifetime, Wear};
use clock::ClockPart;

/// The share of a drive write that a measured part needs to show a steady state.
const SHORTEST_MEASURED: f64 = 0.1;

/// The share of a drive write below which a warm-up in pages is probably a mistake.
const SHORTEST_WARMUP: f64 = 0.01;

/// The fewest blocks with which the amplification of greedy collections is within 2% of that of a
/// large drive. Measured: with 64 blocks it is 1.7% higher at 7% spare and 1.1% at 28%; with 32
/// blocks 3.9% and 2.2%.
const FEWEST_BLOCKS: u32 = 64;

/// The largest quotient of spare factor and effective spare factor with which amplification is
/// within 2% of that of a large drive. To first order, amplification is inversely proportional to
/// the spare factor.
const MOST_SPARE_LOST: f64 = 1.02;

/// The share of the blocks that may stay without a valid page, and the share of pages that
/// collections may copy meanwhile, before it is told.
const MOST_DEAD: f64 = 0.01;

/// The largest half width of the 95% interval of a steady figure, as a share of the figure.
const MOST_HALF: f64 = 0.05;

/// A function that returns the findings of one part of a result; none if the part does not apply to
/// the runs.
type Part<S> = fn(&S) -> Vec<Finding>;

/// All runs of one configuration, and the estimates from which the parts of the result are made.
struct Summary<'a> {
    resolved: &'a Resolved,
    runs: &'a [Finished],
    interrupted: bool,
    /// The intervals that count, for each run that has a figure.
    measured: Vec<Vec<Interval>>,
    /// The write amplifications of the runs that have one.
    values: Vec<f64>,
    counted: Counted,
    levels: Option<Vec<SettlingLevel>>,
    steadiness: Steadiness,
    /// Half the 95% interval of the mean of `values`.
    half: Option<f64>,
    settling: Option<Settling>,
    /// The finding that the measured part is too short.
    short: Option<Finding>,
    passes: Option<Verdict>,
    trace: Option<Replayed>,
    /// The part of the result that only a clock has.
    clock: Option<ClockPart<'a>>,
}

impl<'a> Summary<'a> {
    /// The parts for runs without a clock, in the order in which results show their findings.
    const PARTS: [Part<Self>; 12] = [
        Self::on_the_end,
        Self::on_unmeasured_runs,
        Self::on_equal_runs,
        Self::on_changes,
        Self::on_length,
        Self::on_reach,
        Self::on_passes,
        Self::on_the_trace,
        Self::on_the_drive,
        Self::on_the_host,
        Self::on_bursts,
        Self::on_streams,
    ];

    fn new(
        resolved: &'a Resolved,
        runs: &'a [Finished],
        timings: Vec<Timings>,
        interrupted: bool,
    ) -> Self {
        // A run stopped in its warm-up has no write amplification and is in no mean.
        let (measured, values): (Vec<Vec<Interval>>, Vec<f64>) = runs
            .iter()
            .map(|run| kept(resolved, &run.measured))
            .map(|intervals| (Interval::amplification(&intervals), intervals))
            .filter(|(value, _)| value.is_finite())
            .map(|(value, intervals)| (intervals, value))
            .unzip();
        let counted = Counted::sum(runs.iter().map(|run| run.counted.clone())).unwrap_or_default();
        let levels = levels(resolved, runs, &measured);
        let mut steadiness =
            steadiness(resolved, runs, &measured, &values, &counted, levels.as_deref());
        let clock = resolved.timed.as_ref().map(|timed| ClockPart::new(timed, timings));
        steadiness.add_paces(&clock.as_ref().map_or_else(Vec::new, ClockPart::paces));
        // Without an erase, write amplification is always 1, so that an interval would mean
        // nothing.
        let is_known = has_erased(runs) && !(resolved.is_trace_in_passes() && interrupted);
        let half = half_width(resolved, &measured, &values, levels.as_deref())
            .filter(|half| half.is_finite() && is_known);
        // With a clock, neither settling nor the length in page writes is tested: the writes before
        // the requests settle the drive, and the length is in requests.
        let settles = resolved.has_no_end() && clock.is_none();
        Self {
            half,
            settling: settles.then(|| Settling::new(resolved, &steadiness, &measured)),
            short: too_short(resolved, runs, &measured).filter(|_| clock.is_none() && !interrupted),
            passes: verdict_of_passes(resolved, runs).filter(|_| clock.is_none()),
            trace: Replayed::new(resolved, runs),
            resolved,
            runs,
            interrupted,
            measured,
            values,
            counted,
            levels,
            steadiness,
            clock,
        }
    }

    /// Returns the figure of each run that has one: with a clock the mean response time, otherwise
    /// write amplification.
    fn figures(&self) -> &[f64] {
        self.clock.as_ref().map_or(&self.values, ClockPart::figures)
    }

    fn has_figure(&self) -> bool {
        self.clock.as_ref().map_or(!self.values.is_empty(), ClockPart::has_figure)
    }

    /// Returns `true` if the runs can reach a steady state. Under a page cache they cannot: the run
    /// is that of a program from its beginning, and may write nothing. A drive that runs until a
    /// failure never settles.
    fn has_steady_state(&self) -> bool {
        self.resolved.swap.is_none() && !self.resolved.until_failure
    }

    /// Returns two changes of write amplification: from the first to the second half of the
    /// measured part, and the part of the transient that is left. A change is `None` if it is no
    /// larger than chance.
    fn changes(&self) -> [Option<Drift>; 2] {
        let moves: fn(&Drift) -> bool = match self.resolved.plan.doubling {
            Some(_) => Drift::moves_after_all,
            None => Drift::moves,
        };
        [self.steadiness.amplification, self.steadiness.transient].map(|it| it.filter(moves))
    }

    fn moves(&self) -> bool {
        self.changes().iter().any(Option::is_some)
    }

    /// Returns half the interval as a share of the figure; `None` if runs do not settle at a level.
    fn known_to(&self) -> Option<f64> {
        self.half.map(|half| half / mean(&self.values)).filter(|_| self.levels.is_some())
    }

    /// Returns `true` if the reach of the measured part is too short: the writes before it may
    /// still affect it.
    fn reaches_too_short(&self) -> bool {
        self.settling.as_ref().is_some_and(|settling| !settling.is_enough())
    }

    /// Returns the share of the programmed pages that went to blocks erased before the measured
    /// part, if that share is too large for a steady state.
    fn burst(&self) -> Option<f64> {
        let erases = self.counted.counters.erases;
        let settles = self.clock.is_some() || self.has_steady_state();
        self.steadiness.burst().filter(|_| settles && erases > 0)
    }

    /// Returns the advice for a run whose steadiness is unknown.
    fn more(&self) -> String {
        more(self.resolved, self.settling.as_ref())
    }

    /// Returns `true` if the figure is known to be steady.
    fn is_steady(&self) -> bool {
        if let Some(clock) = &self.clock {
            return clock.is_steady(self);
        }
        let settles = || match (self.passes, &self.levels) {
            (Some(verdict), _) => verdict == Verdict::Steady,
            (None, Some(_)) => {
                let is_known = self.known_to().is_some_and(|share| share <= MOST_HALF);
                !self.moves() && is_known && !self.reaches_too_short()
            }
            (None, None) => self.steadiness.amplification.is_some_and(|change| change.is_settled()),
        };
        !self.interrupted && self.short.is_none() && self.burst().is_none() && settles()
    }

    /// Returns the findings of all parts, in the order of the parts.
    fn findings(&self) -> Vec<Finding> {
        let parts = match self.clock {
            Some(_) => &Self::CLOCK_PARTS[..],
            None => &Self::PARTS,
        };
        parts.iter().flat_map(|part| part(self)).collect()
    }

    /// Returns the finding for runs that were stopped, or that have no figure.
    fn on_the_end(&self) -> Vec<Finding> {
        let has_clock = self.clock.is_some();
        match (self.has_figure(), self.interrupted) {
            (false, true) => vec![findings::stopped_in_warm_up()],
            (false, false) if has_clock => vec![findings::nothing_arrived()],
            (false, false) if self.resolved.swap.is_none() => vec![findings::nothing_written()],
            (_, false) => Vec::new(),
            (true, true) => vec![findings::interrupted()],
        }
    }

    /// Returns the finding for runs that were stopped in their warm-up, if other runs were not.
    fn on_unmeasured_runs(&self) -> Vec<Finding> {
        let unmeasured = (self.runs.len() - self.figures().len()) as u64;
        let may = self.interrupted && self.has_figure() && unmeasured > 0;
        may.then(|| findings::runs_in_warm_up(unmeasured)).into_iter().collect()
    }

    /// Returns the finding that all runs have the same figure. Without a clock, the figure has an
    /// interval over parts of one run.
    fn on_equal_runs(&self) -> Vec<Finding> {
        let parts = match self.resolved.is_trace_in_passes() {
            true => "the passes".to_string(),
            false => format!("{BATCHES} batches"),
        };
        let parts = Some(&*parts).filter(|_| self.clock.is_none());
        let is_fixed = self.resolved.source.pass().is_some() && !self.resolved.draws();
        let runs = self.figures().len() as u64;
        let equal = all_equal(self.figures());
        equal.then(|| findings::identical_runs(runs, parts, is_fixed)).into_iter().collect()
    }

    /// Returns the finding that the measured part is too short to show a steady state.
    fn on_length(&self) -> Vec<Finding> {
        match &self.clock {
            Some(clock) => clock.on_length(self),
            None => self.short.iter().filter(|_| self.has_steady_state()).cloned().collect(),
        }
    }

    /// Returns the finding that writes used up blocks that were erased before.
    fn on_bursts(&self) -> Vec<Finding> {
        let may = self.clock.is_none() || self.has_figure();
        self.burst().filter(|_| may).map(findings::burst).into_iter().collect()
    }

    /// Returns the finding that the figure still changes, or that a part of the transient is still
    /// in it.
    fn on_changes(&self) -> Vec<Finding> {
        if let Some(clock) = &self.clock {
            return clock.on_changes(self);
        }
        let finding = match self.changes() {
            [Some(change), _] => Some(findings::still_moves(change, self.more())),
            [None, transient] => transient.map(|left| findings::still_settles(left, self.more())),
        };
        finding.into_iter().filter(|_| self.has_steady_state()).collect()
    }

    /// Returns the finding that a figure which does not change is not known precisely enough, or
    /// that the reach of its measured part is too short.
    fn on_reach(&self) -> Vec<Finding> {
        if !self.has_steady_state() || self.short.is_some() || self.moves() {
            return Vec::new();
        }
        if let Some(share) = self.known_to().filter(|&share| share > MOST_HALF) {
            return vec![findings::known_badly(share, self.more())];
        }
        let settling = self.settling.as_ref().filter(|it| !it.is_enough() && has_erased(self.runs));
        settling.map(|settling| settling.finding(self.resolved)).into_iter().collect()
    }

    /// Returns the finding that the passes of a trace do not show a steady state.
    fn on_passes(&self) -> Vec<Finding> {
        let may = self.has_steady_state()
            && !self.interrupted
            && self.short.is_none()
            && !self.values.is_empty();
        let verdict = self.passes.filter(|_| may);
        verdict.and_then(|verdict| doubt(self.resolved, verdict)).into_iter().collect()
    }

    fn on_the_trace(&self) -> Vec<Finding> {
        let only_replays = self.trace.as_ref().and_then(Replayed::only_by_replays);
        only_replays.filter(|_| self.has_steady_state()).into_iter().collect()
    }

    /// Returns the findings that the drive failed, that its warm-up is too short, or that it is
    /// small.
    fn on_the_drive(&self) -> Vec<Finding> {
        let has_figure = self.has_steady_state() && !self.values.is_empty();
        let parts = [
            died_early(self.resolved, self.runs),
            short_warmup(self.resolved),
            small_drive(self.resolved).filter(|_| has_figure),
            self.dead_blocks().filter(|_| has_figure),
            self.resolved.scaled.as_ref().map(|scaled| scaled_drive(self.resolved, scaled)),
        ];
        parts.into_iter().flatten().collect()
    }

    /// Returns the finding that the victim policy leaves blocks without a valid page, and copies pages
    /// of others.
    fn dead_blocks(&self) -> Option<Finding> {
        let dead = self.runs.iter().map(|run| run.dead_blocks).max()?;
        let blocks = u64::from(self.resolved.geometry.blocks());
        let Counters { copied_pages, collections, .. } = self.counted.counters;
        let pages = collections * u64::from(self.resolved.geometry.pages_per_block());
        let copied = copied_pages as f64 / pages.max(1) as f64;
        let is_left = dead as f64 > MOST_DEAD * blocks as f64 && copied > MOST_DEAD;
        // What policies from outside look at is not known.
        let draws = self
            .resolved
            .victim
            .as_ref()
            .is_some_and(|victim| matches!(victim, Victim::Registered(_)) && victim.draws());
        (is_left && draws).then(|| {
            findings::dead_blocks(dead, blocks, copied, self.resolved.config.blocks_together())
        })
    }

    /// Returns the findings on options of a host that have no effect.
    fn on_the_host(&self) -> Vec<Finding> {
        let (host, has_clock) = (self.resolved.host.as_ref(), self.clock.is_some());
        let has_writes_before =
            self.resolved.timed.as_ref().is_none_or(|timed| timed.precondition > 0);
        let warnings =
            |host: &HostSpec| host.warnings(has_writes_before, has_clock).unwrap_or_default();
        host.map(warnings).iter().flatten().map(|text| findings::without_effect(text)).collect()
    }

    fn on_streams(&self) -> Vec<Finding> {
        let totals = self.counted.layer.streams.iter();
        totals.flat_map(|totals| stream_results::findings(self.resolved, totals)).collect()
    }

    /// Makes the result.
    fn result(self) -> RunResult {
        let (findings, steady) = (self.findings(), self.is_steady());
        let Self { resolved, runs, interrupted, measured, values, counted, .. } = self;
        let Self { levels, steadiness, half, trace, clock, .. } = self;
        let Counted { counters, commands, layer, host, .. } = counted;
        let skipped = layer.skipped.map_or(0, |skipped| skipped.pages);
        let LayerCounts {
            packing, levelled, zombies, streams: totals, map_traffic, merges, ..
        } = layer;
        // A write cache may save more programs than collections add, so that amplification is below
        // 1.
        let least = if commands.merged_bytes == 0 { 1.0 } else { 0.0 };
        let left = levels.as_deref().map_or(0.0, left_of_all);
        let work = resolved.work(counters, commands, packing);
        let stripe = resolved.config.stripe();
        let unit = resolved.config.unit();
        let bytes = Bytes::new(&counters, &commands, packing, (unit, stripe), skipped);
        let skipped = (skipped * u64::from(unit)) as f64 / bytes.programmed.max(1) as f64;
        let config = FullConfig::new(resolved);
        let mut result = RunResult {
            in_pages: InPages::new(mean(&values), half, &bytes, stripe, skipped),
            write_amplification: mean(&values),
            write_amplification_ci95: half,
            write_amplification_interval: half
                .map(|half| ((mean(&values) - half).max(least), mean(&values) + half)),
            each_run: EachRun::new(values, runs),
            bytes,
            short_writes: commands.short_writes,
            counters: NamedCounts::new(&counters),
            reads: commands.reads,
            levelling: levelled.as_ref().map(NamedCounts::new),
            wear: Wear::new(resolved, runs),
            lifetime: Lifetime::new(resolved, runs),
            host: host.map(|sum| HostResult::new(sum, resolved.timed.is_some())),
            zombies: zombies.map(|sum| ZombieResult::new(&sum, counters.copied_pages)),
            streams: totals.as_ref().map(StreamResult::all),
            fdp: totals.as_ref().and_then(|totals| FdpResult::of(resolved, runs, totals, &bytes)),
            trace,
            busy: resolved.busy_times().map(|times| Busy::new(&times, &work)),
            timed: None,
            decisions: runs.iter().map(|run| run.decisions).collect(),
            timeline: None,
            samples: Samples::new(resolved, &measured, left, interrupted),
            map: MapResult {
                map_bytes: runs.first().map_or(0, |run| run.map_bytes),
                merges: merges.as_ref().map(NamedCounts::new),
                map_traffic: map_traffic.as_ref().map(NamedCounts::new),
            },
            swap: resolved.swap.as_ref().map(|spec| Swap::new(spec, runs)),
            page_programs_per_second: programs_per_second(runs),
            steady,
            steadiness,
            interrupted,
            findings,
            course: runs.first().map(|run| Course::new(resolved, run)).unwrap_or_default(),
            seed: resolved.config.seed,
            digest: digest(runs),
            config_digest: config_digest(&config),
            blocks_asked: resolved.blocks_asked,
            config,
            version: crate::VERSION.to_string(),
        };
        if let Some(clock) = clock {
            clock.add_to(&mut result);
        }
        result
    }
}

/// Combines the runs of one configuration into a result.
pub(crate) fn summarise(resolved: &Resolved, runs: Vec<Remains>, interrupted: bool) -> RunResult {
    let parts = runs.into_iter().map(|Remains { finished, timings }| (finished, timings));
    let (finished, timings): (Vec<Finished>, Vec<Option<Timings>>) = parts.unzip();
    let timings = timings.into_iter().flatten().collect();
    Summary::new(resolved, &finished, timings, interrupted).result()
}

/// Returns the tests of the measured parts. If all runs are equal, they count as one run.
fn steadiness(
    resolved: &Resolved,
    runs: &[Finished],
    measured: &[Vec<Interval>],
    values: &[f64],
    counted: &Counted,
    levels: Option<&[SettlingLevel]>,
) -> Steadiness {
    let Counted { counters, layer, .. } = counted;
    let apart = if all_equal(values) { &measured[..1] } else { measured };
    let padding = layer.packing.map_or(0, |packing| packing.padding);
    let (programs, merges) = (counters.programs() + padding, layer.merges.is_some());
    let mut tests = Steadiness::new(resolved, apart, programs, counters.erases, merges);
    if let Some(levels) = levels {
        let rewrites = runs.iter().filter_map(|run| run.rewrites);
        tests.add_levels(levels, rewrites.reduce(f64::min));
    }
    tests
}

/// Returns the pages programmed per second of processor time; 0 if no time passed.
fn programs_per_second(runs: &[Finished]) -> f64 {
    let seconds: f64 = runs.iter().map(|run| run.elapsed.as_secs_f64()).sum();
    let programs: u64 = runs.iter().map(|run| run.programs).sum();
    if seconds > 0.0 { programs as f64 / seconds } else { 0.0 }
}

/// Returns the finding that the measured part is too short to show a steady state, even if its
/// figures do not change.
fn too_short(
    resolved: &Resolved,
    runs: &[Finished],
    measured: &[Vec<Interval>],
) -> Option<Finding> {
    let host = |intervals: &Vec<Interval>| {
        intervals.iter().map(|interval| interval.host_pages).sum::<u64>()
    };
    let least = measured.iter().map(host).min()?;
    let drive_writes = least as f64 / f64::from(resolved.geometry.logical_pages());
    let erases = runs.iter().map(|run| run.counted.counters.erases).min().unwrap_or_default();
    if erases >= FEWEST_ERASES && drive_writes >= SHORTEST_MEASURED {
        return None;
    }
    let hint = match &resolved.config.length {
        Length::Writes(text) if !text.contains('x') => {
            format!("{} is twenty drive writes", choice("writes", "20x"))
        }
        length => format!("more {}", option(key(length))),
    };
    Some(findings::too_short(least, drive_writes, erases, hint))
}

/// Returns the finding that drives failed before the end of the run.
fn died_early(resolved: &Resolved, runs: &[Finished]) -> Option<Finding> {
    let ended = runs.iter().filter(|run| run.has_ended()).count();
    (ended > 0 && !resolved.until_failure)
        .then(|| findings::died_early(ended as u64, runs.len() as u64))
}

/// Returns `true` if a block was erased. Calls of the policy do not show that: its victim may be a
/// block that was never used.
fn has_erased(runs: &[Finished]) -> bool {
    runs.iter().any(|run| run.counted.counters.erases > 0)
}

/// Returns the finding that a warm-up in pages is very short: probably the user forgot the `x` of
/// drive writes.
fn short_warmup(resolved: &Resolved) -> Option<Finding> {
    let Ok(Warmup::Pages(pages)) = Warmup::parse(&resolved.config.warmup) else {
        return None;
    };
    let share = pages as f64 / f64::from(resolved.geometry.logical_pages());
    (share < SHORTEST_WARMUP).then(|| findings::short_warm_up(pages, share))
}

/// Returns the finding that the drive stands for a large one.
fn scaled_drive(resolved: &Resolved, scaled: &Scaled) -> Finding {
    let config = &resolved.config;
    let blocks = config.blocks_in(resolved.geometry.blocks());
    findings::scaled_drive(scaled, blocks, config.flash_pages_per_block(), resolved.timed.is_some())
}

/// Returns the finding that the drive is too small to have the amplification of a large one.
pub(crate) fn small_drive(resolved: &Resolved) -> Option<Finding> {
    let is_share = resolved.timed.as_ref().is_some_and(|timed| timed.plan.keeps_share());
    let (kept, spare) = (resolved.blocks_kept_erased(), resolved.geometry.spare_factor());
    // With `enough` blocks, the blocks that are kept reduce the spare factor by no more than the
    // limit.
    let enough = kept + kept * (1.0 - spare) * MOST_SPARE_LOST / ((MOST_SPARE_LOST - 1.0) * spare);
    let together = resolved.config.blocks_together();
    let more = |blocks: u64| match resolved.is_counted {
        true => choice("blocks", blocks * u64::from(together)),
        false => format!("fewer {}, or a larger drive", option("pages_per_block")),
    };
    let hints = [more(FEWEST_BLOCKS.into()), more(enough.ceil() as u64 + 1)];
    small(&resolved.geometry, together, kept, is_share, hints.each_ref().map(String::as_str))
}

/// Returns the finding that a drive of this shape, with `kept` blocks kept erased, does not have
/// the amplification of a large drive: it has too few blocks, or too many of them are kept. Blocks
/// of `geometry` are superblocks of `together` blocks.
/// `is_share` says that the blocks kept are a share of the drive. `more` has two texts of advice:
/// for too few blocks in all, and for too many kept.
pub(crate) fn small(
    geometry: &Geometry,
    together: u32,
    kept: f64,
    is_share: bool,
    more: [&str; 2],
) -> Option<Finding> {
    let (spare, effective) = (geometry.spare_factor(), geometry.effective_spare(kept));
    if geometry.blocks() < FEWEST_BLOCKS {
        return Some(findings::few_blocks(geometry.blocks(), together, more[0]));
    }
    let kept = kept * f64::from(together);
    (spare > MOST_SPARE_LOST * effective)
        .then(|| findings::spare_kept_erased(kept, spare, effective, is_share, more[1]))
}

/// Returns the level of each run with a figure, estimated with the writes before its measured part.
/// `None` for a trace in passes, with a clock, under a page cache, and for a run until a failure.
pub(crate) fn levels(
    resolved: &Resolved,
    runs: &[Finished],
    measured: &[Vec<Interval>],
) -> Option<Vec<SettlingLevel>> {
    if !resolved.has_levels() {
        return None;
    }
    let written = runs
        .iter()
        .filter(|run| Interval::amplification(&kept(resolved, &run.measured)).is_finite());
    let of_run = |(run, measured): (&Finished, &Vec<Interval>)| {
        let before = &run.measured[..cut(resolved, &run.measured)];
        settling::level(&[&run.settling[..], before].concat(), measured)
    };
    written.zip(measured).map(of_run).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// The reach of the measured part of a workload without end, and the reach that shows a steady
/// state.
struct Settling {
    rewrites: Option<f64>,
    /// The page writes of the shortest measured part.
    writes: u64,
    reach: Reach,
}

impl Settling {
    fn new(resolved: &Resolved, steadiness: &Steadiness, measured: &[Vec<Interval>]) -> Self {
        let host =
            |run: &Vec<Interval>| run.iter().map(|interval| interval.host_pages).sum::<u64>();
        let writes = measured.iter().map(host).min().unwrap_or_default();
        Self { rewrites: steadiness.rewrites, writes, reach: resolved.reach() }
    }

    fn is_enough(&self) -> bool {
        self.reach.is_within(self.writes, self.rewrites)
    }

    /// Returns the page writes of a run whose reach is long enough, its warm-up half included.
    fn run_needed(&self) -> f64 {
        self.reach.run_needed(self.writes, self.rewrites) as f64
    }

    /// Returns the finding that the reach is too short. It has no advice if no run could be long
    /// enough.
    fn finding(&self, resolved: &Resolved) -> Finding {
        let pages = f64::from(resolved.geometry.logical_pages());
        let done = Reach { rewrites: self.rewrites.unwrap_or_default(), writes: self.writes };
        let hint = (self.run_needed() <= MOST_ADVISED * pages).then(|| more(resolved, Some(self)));
        findings::cold_pages(done, self.reach, hint)
    }
}

/// Returns the advice for a run whose steadiness is unknown: to leave out its length, or to make
/// the run longer.
fn more(resolved: &Resolved, settling: Option<&Settling>) -> String {
    let pages = f64::from(resolved.geometry.logical_pages());
    let needed = settling.map_or(0.0, |it| it.run_needed() / pages);
    let needed = if needed > MOST_ADVISED { 0.0 } else { needed };
    match &resolved.config.length {
        Length::Settled(_) => {
            let done = settling.map_or(0.0, |it| 2.0 * it.writes as f64 / pages);
            choice("writes", format!("{}x", needed.max(4.0 * done).ceil()))
        }
        length if settling.is_some() && needed <= settling::MOST as f64 => {
            let key = option(key(length));
            match Warmup::parse(&resolved.config.warmup) {
                Ok(Warmup::Auto) => format!("leave out {key}"),
                _ => format!("leave out {key} and {}", option("warmup")),
            }
        }
        length if settling.is_some() => {
            format!("more {}: about {} drive writes", option(key(length)), needed.ceil())
        }
        length => format!("more {}", option(key(length))),
    }
}

/// Returns the half width of the 95% interval of the runs' values. If all runs are equal, they
/// count as one run: the spread between them is 0, which does not show how precise the figure is.
pub(crate) fn half_width(
    resolved: &Resolved,
    measured: &[Vec<Interval>],
    values: &[f64],
    levels: Option<&[SettlingLevel]>,
) -> Option<f64> {
    // A policy with a memory changes slowly: a part of its transient is too small to tell from
    // chance.
    let drifts = resolved.reach().rewrites > FEWEST_REWRITES;
    let left = levels.map_or(0.0, if drifts { most_left_of_all } else { left_of_all });
    match measured {
        [] => None,
        [first, rest @ ..] if rest.is_empty() || all_equal(values) => {
            match resolved.passes_of(first) {
                Some(passes) => level(&passes).map(|level| level.half),
                None if resolved.has_whole_batches(first) => Some(spread(first).hypot(left)),
                None => None,
            }
        }
        _ => Some(half_width95(values).hypot(left)),
    }
}

/// Returns the verdict on the passes of the run that is least settled; `None` if the runs are not
/// measured in passes.
fn verdict_of_passes(resolved: &Resolved, runs: &[Finished]) -> Option<Verdict> {
    if !resolved.is_trace_in_passes() {
        return None;
    }
    let of_run = |run: &Finished| {
        let passes = resolved.passes_of(&kept(resolved, &run.measured));
        passes.map_or(Verdict::TooFew, |passes| verdict(&passes))
    };
    let worst = |verdict: Verdict, other: Verdict| {
        if verdict.rank() > other.rank() { verdict } else { other }
    };
    runs.iter().map(of_run).reduce(worst)
}

/// Returns the finding that the passes do not show a steady state.
fn doubt(resolved: &Resolved, verdict: Verdict) -> Option<Finding> {
    let (passes, more) = match (resolved.plan.rule, &resolved.config.length) {
        (Some(Rule { most, .. }), _) => {
            (format!("after {most} passes"), choice("passes", 4 * most))
        }
        (None, Length::Passes(passes)) if *passes >= Rule::USUAL => {
            (format!("in {passes} passes"), choice("passes", 4 * passes))
        }
        (None, length) => {
            ("in the measured passes".into(), format!("leave out {}", option(key(length))))
        }
    };
    match verdict {
        Verdict::Steady => None,
        Verdict::Moves(level) => {
            Some(findings::passes_move(&passes, level.drift / level.mean, more))
        }
        Verdict::Varies(level) => {
            Some(findings::passes_vary(&passes, level.half / level.mean, more))
        }
        Verdict::TooFew => Some(findings::too_few_passes(more)),
    }
}

/// Returns the key of the option that gave a length.
fn key(length: &Length) -> &'static str {
    match length {
        Length::Writes(_) => "writes",
        Length::Collections(_) => "collections",
        Length::Requests(_) => "requests",
        Length::Passes(_) | Length::Settled(_) => "passes",
        Length::Until(_) => "until",
    }
}

impl Course {
    fn new(resolved: &Resolved, run: &Finished) -> Self {
        let pages = f64::from(resolved.geometry.logical_pages());
        let before = &run.measured[..cut(resolved, &run.measured)];
        let written: u64 =
            run.settling.iter().chain(before).map(|interval| interval.host_pages).sum();
        let mut done = 0;
        let series = run
            .settling
            .iter()
            .chain(&run.measured)
            .map(|interval| {
                done += interval.host_pages;
                (done as f64 / pages, Interval::amplification(&[*interval]))
            })
            .filter(|(_, value)| value.is_finite())
            .collect();
        Self { series, measured_from: written as f64 / pages }
    }
}

impl FullConfig {
    fn new(resolved: &Resolved) -> Self {
        let geometry = &resolved.geometry;
        Self {
            run: resolved.config.clone(),
            logical_pages: geometry.logical_pages().into(),
            physical_pages: resolved.flash_pages(),
            spare_factor: geometry.spare_factor(),
            overprovision: geometry.overprovision(),
            effective_spare: resolved.effective_spare(),
            fitted: resolved.is_fitted,
            scaled: resolved.scaled.clone(),
        }
    }
}

fn config_digest(config: &FullConfig) -> String {
    let text = serde_json::to_string(config).unwrap_or_default();
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

fn digest(runs: &[Finished]) -> String {
    let mut text = String::new();
    for run in runs {
        let counted = &run.counted;
        text.push_str(&format!(
            "|{:x}|{:?}|{:?}",
            run.decisions, counted.counters, counted.commands
        ));
        if let Some(packing) = &counted.layer.packing {
            text.push_str(&format!("|{packing:?}"));
        }
        if let Some(host) = &counted.host {
            text.push_str(&format!("|{host:?}|{:?}", counted.layer.zombies));
        }
        if let Some(swapping) = &counted.swapping {
            text.push_str(&format!("|{swapping:?}"));
        }
        if let Some(life) = &run.life {
            text.push_str(&format!("|{life:?}"));
        }
        if let Some(streams) = &counted.layer.streams {
            text.push_str(&format!("|{streams:?}"));
        }
        if let Some(levelled) = &counted.layer.levelled {
            text.push_str(&format!("|{levelled:?}"));
        }
        if let Some(shrunk) = &run.shrunk {
            text.push_str(&format!("|{shrunk:?}|{:?}", counted.layer.skipped));
        }
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
