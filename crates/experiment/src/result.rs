//! The result of a run: write amplification with its interval, counts, and all that is needed to make
//! it again.

use flashgc_base::counts::Counts;
use flashgc_base::naming::{Names, choice, option};
use flashgc_drive::extent::{Length, Warmup};
use flashgc_drive::passes::{Rule, Verdict, level, verdict};
use flashgc_drive::settling::{self, Level, Reach, left_of_all, spread};
use flashgc_drive::stats::{Interval, all_equal, half_width95, mean};
use flashgc_ftl::{Counters, Geometry, LayerCounts, Levelled, MapTraffic, Merges};
use flashgc_timed::TimedResult;
use flashgc_timed::metrics::timeline::Timeline;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::Bytes;
use crate::config::Resolved;
use crate::counted::{Counted, Named};
use crate::each_run::{EachRun, InPages, number};
use crate::findings::{self, Finding, MOST_ADVISED};
use crate::finished::Finished;
use crate::hosted::{HostResult, ZombieResult};
use crate::measured::{BATCHES, cut, kept};
use crate::options::RunConfig;
use crate::replayed::{Replayed, Samples};
use crate::steadiness::{Drift, FEWEST_ERASES, Steadiness};
use crate::stream_results::{self, FdpResult, StreamResult};
use crate::swap_results::Swap;
use crate::times::{Busy, Work};
use crate::wear::{Lifetime, Wear};

/// The share of a drive write below which a measured part does not show a steady state.
const SHORTEST_MEASURED: f64 = 0.1;

/// The share of a drive write below which a warm-up given as a number of pages is likely a slip.
const SHORTEST_WARMUP: f64 = 0.01;

/// The result of all runs of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The bytes programmed per byte written by the host, as the mean over the runs.
    #[serde(deserialize_with = "number")]
    pub write_amplification: f64,
    /// Half the width of its 95% confidence interval, over the runs (Student's t). With one run, or if
    /// all are alike, it is over the passes of a trace, or over 20 batches of another workload. `None`
    /// if there is not enough to tell it from.
    pub write_amplification_ci95: Option<f64>,
    /// The interval itself, from least to most. It begins at 1 if half its width would reach further,
    /// as amplification is never below; or at 0 if a write cache merges writes.
    #[serde(default)]
    pub write_amplification_interval: Option<(f64, f64)>,
    /// The figures of each run.
    #[serde(flatten)]
    pub each_run: EachRun,
    /// Write amplification in mapping units.
    #[serde(flatten)]
    pub in_pages: InPages,
    /// The bytes written in the measured parts of all runs, by cause.
    #[serde(default)]
    pub bytes: Bytes,
    /// The writes of less than a mapping unit in the measured parts of all runs.
    #[serde(default)]
    pub short_writes: u64,
    /// The counts of the map in the measured parts of all runs. All counts of pages are in mapping units,
    /// and all counts below are of those parts, unless they name others.
    #[serde(flatten)]
    pub counters: Named<Counters>,
    /// The pages read by the host.
    pub reads: u64,
    /// The cost of wear levelling, which the counts above include; `None` without it.
    #[serde(default)]
    pub levelling: Option<Named<Levelled>>,
    /// The number and the evenness of the erases of blocks since the drives were made; `None` if no
    /// run began.
    pub wear: Option<Wear>,
    /// The lifetime of the drives; `None` if blocks bear any number of erases.
    #[serde(default)]
    pub lifetime: Option<Lifetime>,
    /// The counts of the host; `None` without one.
    #[serde(default)]
    pub host: Option<HostResult>,
    /// The counts of zombies; `None` if neither policy nor placement asks for them.
    #[serde(default)]
    pub zombies: Option<ZombieResult>,
    /// The cost of each stream; `None` if writes name none.
    #[serde(default)]
    pub streams: Option<Vec<StreamResult>>,
    /// The log of flexible data placement; `None` without it.
    #[serde(default)]
    pub fdp: Option<FdpResult>,
    /// The trace and its replays; `None` for generators.
    #[serde(default)]
    pub trace: Option<Replayed>,
    /// The time that the flash was busy; `None` without times.
    #[serde(default)]
    pub busy: Option<Busy>,
    /// The response times and all else that only a drive with a clock has; `None` without one.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedResult>,
    /// A digest of the decisions of each run; the document does not have them.
    #[serde(skip)]
    pub decisions: Vec<u64>,
    /// The single operations, if they were asked for; the document does not have them.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
    /// The samples that comparisons pair.
    #[serde(default)]
    pub samples: Samples,
    /// The cost of the map.
    #[serde(flatten)]
    pub map: MapResult,
    /// The swap traffic; `None` without a page cache.
    #[serde(default)]
    pub swap: Option<Swap>,
    /// The pages programmed a second of one core, warm-up included. Only this figure differs from
    /// machine to machine.
    pub page_programs_per_second: f64,
    /// `true` if write amplification, and with a clock the time for a request, had stopped moving in the
    /// measured part, and the drive did not live on blocks that were erased before.
    pub steady: bool,
    /// The tests behind it.
    #[serde(default)]
    pub steadiness: Steadiness,
    /// `true` if the runs were stopped before their end.
    pub interrupted: bool,
    /// The claims that a reader should know before using the figure.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The course of the first run.
    #[serde(flatten)]
    pub course: Course,
    /// The seed of the first run.
    pub seed: u64,
    /// The digest of every decision and of every count, with a clock of every time: runs with equal digests
    /// are equal. Names are not in it: the digest is the same for a trace under any path and in any
    /// compression, and for a policy in Python and its built-in twin.
    pub digest: String,
    /// The digest of the configuration as it is recorded here, with its names.
    #[serde(default)]
    pub config_digest: String,
    /// The blocks that were asked for, or that the pages of a trace need, if the drive has more so
    /// that every plane has an equal number.
    #[serde(default)]
    pub blocks_asked: Option<u32>,
    /// The configuration in full.
    pub config: FullConfig,
    /// The version of flashgc.
    pub version: String,
}

/// The cost of the map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapResult {
    /// The bytes that a controller needs in its memory for the map; 0 if no run began.
    #[serde(default)]
    pub map_bytes: u64,
    /// The counts of merges of log blocks; `None` for a mapping that has none.
    #[serde(default)]
    pub merges: Option<Named<Merges>>,
    /// The traffic of a map on flash; `None` for a map in memory.
    #[serde(default)]
    pub map_traffic: Option<Named<MapTraffic>>,
}

/// The course of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The drive writes done, and the write amplification of the
    /// interval.
    pub series: Vec<(f64, f64)>,
    /// The drive writes before its measured part.
    #[serde(default)]
    pub measured_from: f64,
}

impl RunResult {
    /// Returns the figure that ranks results; less is better. It is write amplification; with a page
    /// cache the time that flash spends on I/O; with a clock the mean response time in microseconds.
    /// NaN if there is no figure.
    pub fn figure(&self) -> f64 {
        if let Some(timed) = &self.timed {
            return timed.latency_us.all.as_ref().map_or(f64::NAN, |all| all.all.mean);
        }
        match &self.swap {
            Some(swap) if swap.run_values.is_empty() => f64::NAN,
            Some(swap) => swap.io_seconds,
            None => self.write_amplification,
        }
    }

    /// Returns the figure of each run.
    pub fn figures(&self) -> &[f64] {
        match (&self.timed, &self.swap) {
            (Some(timed), _) => &timed.mean_us_runs,
            (None, Some(swap)) => &swap.run_values,
            (None, None) => &self.each_run.run_values,
        }
    }

    /// Returns the findings as lines of text.
    pub fn said(&self) -> Vec<String> {
        self.findings.iter().map(Finding::text).collect()
    }

    /// Names the options in the findings as `names` has them.
    pub fn name_options(&mut self, names: &dyn Names) {
        self.findings.iter_mut().for_each(|finding| finding.name_options(names));
    }

    /// Returns half the 95% interval of the figure; `None` if there is not enough to tell it from.
    pub fn figure_ci95(&self) -> Option<f64> {
        match (&self.timed, &self.swap) {
            (Some(timed), _) => timed.mean_us_ci95,
            (None, Some(_)) => None,
            (None, None) => self.write_amplification_ci95,
        }
    }
}

/// The resolved configuration and the drive's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FullConfig {
    /// The configuration as typed, with specs written out in full.
    #[serde(flatten)]
    pub run: RunConfig,
    /// The logical capacity in pages.
    pub logical_pages: u64,
    /// The pages of flash.
    pub physical_pages: u64,
    /// The spare factor: exactly 1 - U/N.
    pub spare_factor: f64,
    /// The overprovisioning: exactly (N - U)/U.
    pub overprovision: f64,
    /// The spare factor that collections have: without the blocks that stay erased.
    #[serde(default)]
    pub effective_spare: f64,
    /// `true` if nobody gave the size of the drive or the pages of its blocks: they were chosen for the pages
    /// of a trace.
    #[serde(default)]
    pub fitted: bool,
}

/// The fewest blocks with which the amplification of greedy collections is within 2% of a large drive's:
/// measured, 64 blocks are 1.7% above at 7% spare and 1.1% at 28%, 32 blocks 3.9% and 2.2%.
const FEWEST_BLOCKS: u32 = 64;

/// The largest spare factor over the effective one with which amplification is within 2% of a large drive's:
/// to first order amplification is in inverse proportion to the spare factor.
const MOST_SPARE_LOST: f64 = 1.02;

/// The largest half of an interval of a steady figure, as a share of it.
const MOST_HALF: f64 = 0.05;

/// Puts the runs of one configuration together.
pub(crate) fn summarise(resolved: &Resolved, runs: &[Finished], interrupted: bool) -> RunResult {
    // A run stopped in its warm-up has no figure and is part of no mean.
    let (measured, values): (Vec<Vec<Interval>>, Vec<f64>) = runs
        .iter()
        .map(|run| kept(resolved, &run.measured))
        .map(|intervals| (Interval::amplification(&intervals), intervals))
        .filter(|(value, _)| value.is_finite())
        .map(|(value, intervals)| (intervals, value))
        .unzip();
    let mut said = Vec::new();
    // Under a page cache a run is that of a program, from its beginning, and may write nothing at all.
    let in_steady_state = resolved.swap.is_none() && !resolved.until_failure;
    if values.is_empty() && (interrupted || resolved.swap.is_none()) {
        said.push(if interrupted {
            findings::stopped_in_warm_up()
        } else {
            findings::nothing_written()
        });
    }
    if interrupted && !values.is_empty() {
        said.push(findings::interrupted());
    }
    if interrupted && !values.is_empty() && values.len() < runs.len() {
        said.push(findings::runs_in_warm_up((runs.len() - values.len()) as u64));
    }
    let alike = all_equal(&values);
    let is_trace = resolved.is_trace_in_passes();
    if alike {
        let is_fixed = resolved.source.pass().is_some() && !resolved.draws();
        let parts = if is_trace { "the passes".to_string() } else { format!("{BATCHES} batches") };
        said.push(findings::identical_runs(values.len() as u64, &parts, is_fixed));
    }
    let counted = Counted::sum(runs.iter().map(|run| run.counted.clone())).unwrap_or_default();
    let Counted { counters, asked, layer, host, .. } = counted;
    let one = if alike { &measured[..1] } else { &measured[..] };
    let levels = levels(resolved, runs, &measured);
    let mut steadiness = {
        let padding = layer.packing.map_or(0, |packing| packing.padding);
        let (programs, erases) = (counters.programs() + padding, counters.erases);
        Steadiness::new(resolved, one, programs, erases, layer.merges.is_some())
    };
    if let Some(levels) = &levels {
        let rewrites = runs.iter().filter_map(|run| run.rewrites);
        steadiness.add_levels(levels, rewrites.reduce(f64::min));
    }
    let steadiness = steadiness;
    let change = steadiness.amplification;
    // Without an erase the figure is always 1: its steadiness shows nothing.
    let half = half_width(resolved, &measured, &values, levels.as_deref())
        .filter(|half| half.is_finite() && has_erased(runs) && !(is_trace && interrupted));
    let settling = resolved.has_no_end().then(|| Settling::new(resolved, &steadiness, &measured));
    let moved: fn(&Drift) -> bool = match resolved.plan.doubling {
        Some(_) => Drift::moves_after_all,
        None => Drift::moves,
    };
    // A dying drive never settles.
    if in_steady_state {
        let more = || more(resolved, settling.as_ref());
        let moves = change.filter(moved).map(|change| findings::still_moves(change, more()));
        let transient = steadiness.transient.filter(moved);
        said.extend(moves.or_else(|| Some(findings::still_settles(transient?, more()))));
    }
    // A drive with a clock was brought into its state before, and its length is in requests.
    let has_length = resolved.timed.is_none() && !interrupted;
    let short = too_short(resolved, runs, &measured).filter(|_| has_length);
    said.extend(short.iter().filter(|_| in_steady_state).cloned());
    let moves = [change, steadiness.transient].iter().flatten().any(moved);
    let known_to = half.map(|half| half / mean(&values)).filter(|_| levels.is_some());
    let known_badly = known_to.filter(|&share| share > MOST_HALF);
    let is_calm = in_steady_state && short.is_none() && !moves;
    if let Some(share) = known_badly.filter(|_| is_calm) {
        said.push(findings::known_badly(share, more(resolved, settling.as_ref())));
    } else if let Some(settling) =
        settling.as_ref().filter(|it| is_calm && !it.is_enough() && has_erased(runs))
    {
        said.push(settling.finding(resolved));
    }
    let passes = verdict_of_passes(resolved, runs);
    if let Some(doubt) = passes.and_then(|verdict| doubt(resolved, verdict))
        && in_steady_state
        && !interrupted
        && short.is_none()
        && !values.is_empty()
    {
        said.push(doubt);
    }
    let trace = Replayed::new(resolved, runs);
    let only_replays = trace.as_ref().and_then(Replayed::only_by_replays);
    said.extend(only_replays.filter(|_| in_steady_state && resolved.timed.is_none()));
    said.extend(died_early(resolved, runs));
    said.extend(short_warmup(resolved));
    said.extend(small_drive(resolved).filter(|_| in_steady_state && !values.is_empty()));
    if let Some(host) = &resolved.host {
        let idle = host.warnings(true, false).unwrap_or_default();
        said.extend(idle.iter().map(|text| findings::without_effect(text)));
    }
    let burst = steadiness.burst().filter(|_| in_steady_state && counters.erases > 0);
    said.extend(burst.map(findings::burst));
    let LayerCounts { packing, levelled, zombies, streams: totals, map_traffic, merges, .. } =
        layer;
    said.extend(totals.iter().flat_map(|totals| stream_results::findings(resolved, totals)));
    // A write cache may keep more from the flash than collections add.
    let least = if asked.merged_bytes == 0 { 1.0 } else { 0.0 };
    let left = levels.as_deref().map_or(0.0, left_of_all);
    let samples = Samples::new(resolved, &measured, left, interrupted);
    let work = Work { counters, asked, packing, units_per_page: resolved.buffer.units_per_page };
    let seconds: f64 = runs.iter().map(|run| run.elapsed.as_secs_f64()).sum();
    let programs: u64 = runs.iter().map(|run| run.programs).sum();
    let geometry = &resolved.geometry;
    let config = FullConfig {
        run: resolved.config.clone(),
        logical_pages: geometry.logical_pages().into(),
        physical_pages: geometry.physical_pages(),
        spare_factor: geometry.spare_factor(),
        overprovision: geometry.overprovision(),
        effective_spare: resolved.effective_spare(),
        fitted: resolved.is_fitted,
    };
    let bytes = Bytes::new(&counters, &asked, packing, resolved.config.unit());
    RunResult {
        in_pages: InPages::new(mean(&values), half, &bytes),
        write_amplification: mean(&values),
        write_amplification_ci95: half,
        write_amplification_interval: half
            .map(|half| ((mean(&values) - half).max(least), mean(&values) + half)),
        each_run: EachRun::new(values, runs),
        bytes,
        short_writes: asked.short_writes,
        counters: Named::new(&counters),
        reads: asked.reads,
        levelling: levelled.as_ref().map(Named::new),
        wear: Wear::new(resolved, runs),
        lifetime: Lifetime::new(resolved, runs),
        host: host.map(|sum| HostResult::new(sum, resolved.timed.is_some())),
        zombies: zombies.map(|sum| ZombieResult::new(&sum, counters.copied_pages)),
        streams: totals.as_ref().map(StreamResult::all),
        fdp: totals.as_ref().and_then(|totals| FdpResult::of(resolved, runs, totals, &bytes)),
        trace,
        busy: resolved.times.as_ref().map(|times| Busy::new(times, &work)),
        timed: None,
        decisions: runs.iter().map(|run| run.decisions).collect(),
        timeline: None,
        samples,
        map: MapResult {
            map_bytes: runs.first().map_or(0, |run| run.map_bytes),
            merges: merges.as_ref().map(Named::new),
            map_traffic: map_traffic.as_ref().map(Named::new),
        },
        swap: resolved.swap.as_ref().map(|spec| Swap::new(spec, runs)),
        page_programs_per_second: if seconds > 0.0 { programs as f64 / seconds } else { 0.0 },
        steady: !interrupted
            && short.is_none()
            && burst.is_none()
            && match passes {
                Some(verdict) => verdict == Verdict::Steady,
                None if levels.is_some() => {
                    !moves
                        && known_to.is_some_and(|share| share <= MOST_HALF)
                        && settling.as_ref().is_none_or(Settling::is_enough)
                }
                None => change.is_some_and(|change| change.is_settled()),
            },
        steadiness,
        interrupted,
        findings: said,
        course: runs.first().map(|run| Course::new(resolved, run)).unwrap_or_default(),
        seed: resolved.config.seed,
        digest: digest(runs),
        config_digest: config_digest(&config),
        blocks_asked: resolved.blocks_asked,
        config,
        version: crate::VERSION.to_string(),
    }
}

/// Returns the finding of a measured part that is too short to show a steady state, however calm it
/// looks.
fn too_short(
    resolved: &Resolved,
    runs: &[Finished],
    measured: &[Vec<Interval>],
) -> Option<Finding> {
    let host = |intervals: &Vec<Interval>| intervals.iter().map(|one| one.host_pages).sum::<u64>();
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

/// Returns the finding of drives whose life was shorter than the run.
fn died_early(resolved: &Resolved, runs: &[Finished]) -> Option<Finding> {
    let ended = runs.iter().filter(|run| run.has_ended()).count();
    (ended > 0 && !resolved.until_failure)
        .then(|| findings::died_early(ended as u64, runs.len() as u64))
}

/// Returns `true` if garbage was collected at all. Calls of the policy do not show it: a victim may be
/// a block that was never used.
fn has_erased(runs: &[Finished]) -> bool {
    runs.iter().any(|run| run.counted.counters.erases > 0)
}

/// Returns the finding of a warm-up in pages that is next to none: its `x` was probably forgotten.
fn short_warmup(resolved: &Resolved) -> Option<Finding> {
    let Ok(Warmup::Pages(pages)) = Warmup::parse(&resolved.config.warmup) else {
        return None;
    };
    let share = pages as f64 / f64::from(resolved.geometry.logical_pages());
    (share < SHORTEST_WARMUP).then(|| findings::short_warm_up(pages, share))
}

/// Returns the finding of a drive that is too small for the amplification of a large one.
pub(crate) fn small_drive(resolved: &Resolved) -> Option<Finding> {
    let is_share = resolved.timed.as_ref().is_some_and(|timed| timed.plan.keeps_share());
    let (kept, spare) = (resolved.blocks_kept_erased(), resolved.geometry.spare_factor());
    // So many blocks that those kept leave the spare factor what it is, within its limit.
    let enough = kept + kept * (1.0 - spare) * MOST_SPARE_LOST / ((MOST_SPARE_LOST - 1.0) * spare);
    let more = |blocks: u64| match resolved.is_counted {
        true => choice("blocks", blocks),
        false => format!("fewer {}, or a larger drive", option("pages_per_block")),
    };
    let hints = [more(FEWEST_BLOCKS.into()), more(enough.ceil() as u64 + 1)];
    small(&resolved.geometry, kept, is_share, hints.each_ref().map(String::as_str))
}

/// Returns the finding of a drive of this shape that keeps `kept` blocks erased, if these or all of them are
/// too few or too many for the amplification of a large drive. With `is_share` those kept are a share of it.
/// `more` is the advice that gives it enough blocks, and enough beside those kept.
pub(crate) fn small(
    geometry: &Geometry,
    kept: f64,
    is_share: bool,
    more: [&str; 2],
) -> Option<Finding> {
    let (spare, effective) = (geometry.spare_factor(), geometry.effective_spare(kept));
    if geometry.blocks() < FEWEST_BLOCKS {
        return Some(findings::few_blocks(geometry.blocks(), more[0]));
    }
    (spare > MOST_SPARE_LOST * effective)
        .then(|| findings::spare_kept_erased(kept, spare, effective, is_share, more[1]))
}

/// Returns the level of each run with a figure, by the writes before its measured part. `None` for a trace in
/// passes, with a clock, and where a run is that of a program or of a life.
pub(crate) fn levels(
    resolved: &Resolved,
    runs: &[Finished],
    measured: &[Vec<Interval>],
) -> Option<Vec<Level>> {
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

/// The measured part of a workload without end, beside the reach that shows a steady state.
struct Settling {
    rewrites: Option<f64>,
    /// Page writes of the shortest measured part.
    writes: u64,
    reach: Reach,
}

impl Settling {
    fn new(resolved: &Resolved, steadiness: &Steadiness, measured: &[Vec<Interval>]) -> Self {
        let host = |run: &Vec<Interval>| run.iter().map(|one| one.host_pages).sum::<u64>();
        let writes = measured.iter().map(host).min().unwrap_or_default();
        Self { rewrites: steadiness.rewrites, writes, reach: resolved.reach() }
    }

    fn is_enough(&self) -> bool {
        self.reach.is_within(self.writes, self.rewrites)
    }

    /// Returns the page writes of a run that reaches far enough, its first half included.
    fn run_needed(&self) -> f64 {
        self.reach.run_needed(self.writes, self.rewrites) as f64
    }

    /// Returns the finding that it does not reach far enough. What no run shows has no advice.
    fn finding(&self, resolved: &Resolved) -> Finding {
        let pages = f64::from(resolved.geometry.logical_pages());
        let done = Reach { rewrites: self.rewrites.unwrap_or_default(), writes: self.writes };
        let hint = (self.run_needed() <= MOST_ADVISED * pages).then(|| more(resolved, Some(self)));
        findings::cold_pages(done, self.reach, hint)
    }
}

/// Returns the advice for a run that is not known to be steady: its length that shall be left out, or be longer.
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

/// Returns the half width of the 95% interval of the runs' values. Runs that are all alike count as
/// one run: their spread is 0 whatever the spread of the figure is.
pub(crate) fn half_width(
    resolved: &Resolved,
    measured: &[Vec<Interval>],
    values: &[f64],
    levels: Option<&[Level]>,
) -> Option<f64> {
    let left = levels.map_or(0.0, left_of_all);
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

/// Returns the verdict of the passes of the run that is the least settled; `None` if the runs are not
/// measured in passes.
fn verdict_of_passes(resolved: &Resolved, runs: &[Finished]) -> Option<Verdict> {
    if !resolved.is_trace_in_passes() {
        return None;
    }
    let of_run = |run: &Finished| {
        let passes = resolved.passes_of(&kept(resolved, &run.measured));
        passes.map_or(Verdict::TooFew, |passes| verdict(&passes))
    };
    let worst = |one: Verdict, other: Verdict| if one.rank() > other.rank() { one } else { other };
    runs.iter().map(of_run).reduce(worst)
}

/// Returns the finding of passes that do not show a steady state.
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
        let written: u64 = run.settling.iter().chain(before).map(|one| one.host_pages).sum();
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

fn config_digest(config: &FullConfig) -> String {
    let text = serde_json::to_string(config).unwrap_or_default();
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

fn digest(runs: &[Finished]) -> String {
    let mut text = String::new();
    for run in runs {
        let counted = &run.counted;
        text.push_str(&format!("|{:x}|{:?}|{:?}", run.decisions, counted.counters, counted.asked));
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
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
