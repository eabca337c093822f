//! The part of a result that only a clock has: response times, and the findings about them.

use std::collections::BTreeMap;

use flashgc_base::counts::Counts;
use flashgc_base::naming::{choice, option};
use flashgc_base::stream::StreamId;
use flashgc_drive::extent::Length;
use flashgc_drive::stats::{MOST_DRIFT, all_equal, half_width95, mean};
use flashgc_ftl::{Counters, StreamCounts};
use flashgc_timed::metrics::latency::{Figures, Latencies, LatencyResult};
use flashgc_timed::{
    ByTenant, Hardware, Joined, Loop, Overload, PowerLimit, Refused, Settings, Suspension,
    Throughput, TimedResult, Utilisation, WorstResult, slowest,
};
use xxhash_rust::xxh3::xxh3_64;

use super::{Part, Summary};
use crate::clock::Timed;
use crate::findings::{self, Apart, Finding};
use crate::finished::{Pace, Timings};
use crate::options::RunConfig;
use crate::result::RunResult;
use crate::steadiness::{Drift, FEWEST_ERASES, Steadiness};
use crate::stream_results::StreamResult;

/// The share of programs that are executed together, below which multi-plane operations have next
/// to no effect.
const LEAST_JOINED: f64 = 0.01;

/// The factor by which dies may work longer than with all planes together, before it is told.
const MOST_APART: f64 = 1.2;

/// The share of the time that dies are busy, above which their time decides how many requests the
/// drive completes.
const LEAST_BUSY: f64 = 0.5;

/// The share by which the mean response time may differ from the recorded one, before it is told
/// that the waits of a recording's host are guesses.
const LIKE_RECORDED: f64 = 0.1;

/// The share of requests without a thread below which nothing is said of their waits.
const FEW_GUESSED: f64 = 0.01;

/// The number of rounds of collections that a test of steadiness needs.
const FEWEST_ROUNDS: f64 = 20.0;

/// A write cache is filling if the pages it holds grow by more than this share of the written
/// pages.
const MOST_FILLED: f64 = 0.1;

/// The part of a result that only a clock has.
pub(super) struct ClockPart<'a> {
    timed: &'a Timed,
    runs: Vec<Timings>,
    result: TimedResult,
    /// The finding that the write cache was filling; `None` if it was not.
    filling: Option<Finding>,
}

impl<'a> Summary<'a> {
    /// The parts for runs with a clock, in the order in which results show their findings.
    pub(super) const CLOCK_PARTS: [Part<Self>; 14] = [
        Self::on_the_end,
        |summary| summary.on_clock(ClockPart::on_load),
        Self::on_changes,
        Self::on_bursts,
        |summary| summary.on_clock(ClockPart::on_starved_writes),
        Self::on_unmeasured_runs,
        Self::on_length,
        |summary| summary.on_clock(ClockPart::on_the_writes_before),
        |summary| summary.on_clock(ClockPart::on_operations),
        Self::on_equal_runs,
        Self::on_the_drive,
        Self::on_the_host,
        Self::on_streams,
        |summary| summary.on_clock(ClockPart::on_trace_events),
    ];

    fn on_clock(&self, part: fn(&ClockPart<'a>, &Self) -> Vec<Finding>) -> Vec<Finding> {
        self.clock.as_ref().map_or_else(Vec::new, |clock| part(clock, self))
    }

    /// Returns the number of runs that wrote pages, at least 1. Means are taken over these runs.
    fn writing_runs(&self) -> f64 {
        self.values.len().max(1) as f64
    }
}

impl<'a> ClockPart<'a> {
    pub(super) fn new(timed: &'a Timed, runs: Vec<Timings>) -> Self {
        let result = timed_result(timed, &runs);
        let filling = filled(&runs, timed.settings.write_cache);
        Self { timed, runs, result, filling }
    }

    /// Returns the mean response time of each run that has one.
    pub(super) fn figures(&self) -> &[f64] {
        &self.result.mean_us_runs
    }

    pub(super) fn has_figure(&self) -> bool {
        self.result.latency_us.all.is_some()
    }

    pub(super) fn paces(&self) -> Vec<&[Pace]> {
        self.runs.iter().map(|run| &run.paces[..]).collect()
    }

    /// Adds the figures of the clock to `result`.
    pub(super) fn add_to(mut self, result: &mut RunResult) {
        result.timeline = self.runs.first_mut().and_then(|run| run.meter.take_timeline());
        if let Some(streams) = &mut result.streams {
            measure_streams(streams, &self.runs);
        }
        if self.timed.settings.slc.is_some() {
            result.busy = None; // it has only the times of normal cells
        }
        result.each_run.by_run.extend(by_run(&self.runs));
        result.digest = digest(&result.digest, &self.runs);
        result.timed = Some(self.result);
    }

    /// Returns `true` if neither amplification nor the time for a request changes in the measured
    /// part, and blocks were erased for what was written. Without an erase, nothing shows that
    /// writes are steady.
    pub(super) fn is_steady(&self, summary: &Summary<'_>) -> bool {
        let Steadiness { amplification, pace, .. } = summary.steadiness;
        let counters = &summary.counted.counters;
        let writes_are = counters.host_pages == 0
            || counters.erases > 0
                && amplification.is_some_and(|change| change.is_settled())
                && summary.burst().is_none();
        let is_known = self.few_rounds(summary).is_none()
            && few_erases(summary).is_none()
            && self.filling.is_none()
            && self.unsettled(summary).is_none();
        writes_are
            && is_known
            && !summary.interrupted
            && pace.is_none_or(|change| change.is_settled())
    }

    /// Returns the findings that requests arrive too fast, and that none met a collection.
    fn on_load(&self, summary: &Summary<'_>) -> Vec<Finding> {
        let Counters { host_pages, erases, .. } = summary.counted.counters;
        let overload = self.result.overload.as_ref().map(|overload| {
            // This is computed only for an overload, because it reads every request of the trace.
            let resolved = summary.resolved;
            let pages = resolved.geometry.logical_pages();
            let requests = resolved.source.requests();
            let may_wait = requests.is_some_and(|requests| requests.waits(pages).is_ok());
            findings::overload(overload, self.result.tenants.is_some(), may_wait)
        });
        let no_erase = (host_pages > 0 && erases == 0).then(|| findings::no_erase(host_pages));
        let findings = overload.into_iter().chain(no_erase);
        findings.filter(|_| self.has_figure()).collect()
    }

    /// Returns `true` if the runs have a finding that is graver than one on their length: they were
    /// stopped, or requests queued up.
    fn has_graver(&self, summary: &Summary<'_>) -> bool {
        summary.interrupted || self.result.overload.is_some()
    }

    /// Returns the findings that amplification or the time for a request changes, or is not known
    /// precisely enough.
    pub(super) fn on_changes(&self, summary: &Summary<'_>) -> Vec<Finding> {
        if self.has_graver(summary) || !self.has_figure() {
            return Vec::new();
        }
        let Counters { host_pages: writes, erases, .. } = summary.counted.counters;
        let Steadiness { amplification, pace, .. } = summary.steadiness;
        let pace = pace.filter(|_| writes == 0 || erases > 0);
        // Writes that only went to a write cache have no amplification.
        let moves = erases > 0 && writes > 0 && amplification.is_none_or(|change| change.moves());
        let figures = [
            ("write amplification", amplification.filter(|_| erases > 0)),
            ("the time for a request", pace),
        ];
        let unknown = figures.into_iter().find_map(|(name, change)| {
            let change = change.filter(Drift::is_unknown)?;
            let more = more_requests(&summary.resolved.config, change);
            Some(findings::steadiness_unknown(name, change, more))
        });
        let moves = moves.then(|| findings::still_moves_with_a_clock(amplification));
        let pace = pace.filter(Drift::moves).map(findings::pace_moves);
        [moves, pace, unknown].into_iter().flatten().collect()
    }

    /// Returns the finding that writes waited for an erased block.
    fn on_starved_writes(&self, _: &Summary<'_>) -> Vec<Finding> {
        let (starved, may) = (self.result.collecting.counts.starved, self.has_figure());
        let paces = self.timed.settings.collecting.paces_writes;
        (starved > 0 && may).then(|| findings::starved(starved, paces)).into_iter().collect()
    }

    /// Returns the findings that there were too few rounds of collections, or too few erases.
    pub(super) fn on_length(&self, summary: &Summary<'_>) -> Vec<Finding> {
        let rounds = self.few_rounds(summary).map(findings::few_rounds);
        let erases = few_erases(summary).map(findings::few_erases);
        let findings = rounds.into_iter().chain(erases);
        findings.filter(|_| !self.has_graver(summary)).collect()
    }

    /// Returns the findings that the writes before the requests did not settle the drive, or ended
    /// early.
    fn on_the_writes_before(&self, summary: &Summary<'_>) -> Vec<Finding> {
        let pages = f64::from(summary.resolved.geometry.logical_pages());
        let unsettled = self.unsettled(summary).map(|(written, needed)| {
            findings::not_settled_before(written as f64 / pages, needed as f64 / pages)
        });
        let wanted = self.timed.precondition;
        let cut = self.runs.iter().filter_map(|run| run.cut).max_by_key(|cut| cut.left);
        // A workload that never writes changes nothing before the clock starts, nor after it.
        let cut = cut.filter(|cut| cut.left < wanted);
        let cut = cut.map(|cut| findings::warm_up_cut(wanted - cut.left, wanted, cut.drawn));
        unsettled.into_iter().chain(cut).collect()
    }

    /// Returns the page writes before the requests, and an estimate of the page writes that would
    /// have settled the drive, from the run that needs most. `None` if nothing was erased: reads do
    /// not need a settled drive, and writes get another finding.
    fn unsettled(&self, summary: &Summary<'_>) -> Option<(u64, u64)> {
        let runs = self.runs.iter().filter_map(|run| run.unsettled);
        runs.max_by_key(|&(_, needed)| needed).filter(|_| summary.counted.counters.erases > 0)
    }

    /// Returns the number of rounds of collections in a unit, if it is below [`FEWEST_ROUNDS`] and
    /// the marks differ. In one round, a unit fills the blocks between its two marks.
    fn few_rounds(&self, summary: &Summary<'_>) -> Option<f64> {
        let Settings { collecting, hardware, .. } = &self.timed.settings;
        let counters = &summary.counted.counters;
        if collecting.high <= collecting.low || counters.erases == 0 || counters.host_pages == 0 {
            return None;
        }
        let units = f64::from(hardware.all_planes() / collecting.unit.planes(hardware));
        let block = summary.resolved.geometry.pages_per_block();
        let round = f64::from((collecting.high - collecting.low + 1) * block);
        let rounds = counters.host_pages as f64 / (summary.writing_runs() * units * round);
        (rounds < FEWEST_ROUNDS).then_some(rounds)
    }

    /// Returns the findings on operations that the drive did in another way than its options
    /// suggest.
    fn on_operations(&self, summary: &Summary<'_>) -> Vec<Finding> {
        if !self.has_figure() {
            return Vec::new();
        }
        let suspended = self.result.suspension.as_ref().and_then(findings::suspended_no_more);
        let lost = self.result.failures.as_ref().and_then(findings::reads_lost);
        let waits = self.waits_guessed(summary);
        [suspended, lost, self.filling.clone(), self.planes_apart(summary), waits]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the finding that requests of a recording may come at other times than its host would
    /// send them to this drive.
    fn waits_guessed(&self, summary: &Summary<'_>) -> Option<Finding> {
        if self.timed.settings.host != Loop::Dependent {
            return None;
        }
        let resolved = summary.resolved;
        let requests = resolved.source.requests()?;
        let waits = requests.waits(resolved.geometry.logical_pages()).ok()?;
        let LatencyResult { read, write, .. } = &self.result.latency_us;
        let kinds = [read, write].into_iter().flatten();
        let (sum, number) = kinds.fold((0.0, 0.0), |(sum, number), kind| {
            let requests = kind.all.requests as f64;
            (sum + kind.all.mean * requests, number + requests)
        });
        let guessed = f64::from(waits.guessed()) / f64::from(waits.len().max(1));
        let times = sum / number / waits.mean_us();
        let is_off = (times - 1.0).abs() > LIKE_RECORDED && guessed > FEW_GUESSED;
        (is_off && times.is_finite()).then(|| findings::waits_guessed(guessed, times))
    }

    /// Returns the finding that operations on the planes of a die came one after another.
    fn planes_apart(&self, summary: &Summary<'_>) -> Option<Finding> {
        let Settings { hardware, multi_plane, .. } = &self.timed.settings;
        let joined = Joined::sum(self.runs.iter().map(|run| run.joined)).unwrap_or_default();
        let counters = &summary.counted.counters;
        let programs = counters.programs();
        let share = if programs > 0 { joined.units as f64 / programs as f64 } else { 0.0 };
        let read = summary.counted.layer.packing.map(|packing| packing.pages_read);
        let factor = time_apart(hardware, counters, read, &joined);
        let is_slowed = factor > MOST_APART && self.result.utilisation.die > LEAST_BUSY;
        (is_slowed || *multi_plane && share < LEAST_JOINED && programs > 0).then(|| {
            let erases = [joined.erases, counters.erases];
            let apart = Apart { share, programs, erases, factor };
            findings::planes_apart(&apart, *multi_plane)
        })
    }

    fn on_trace_events(&self, _: &Summary<'_>) -> Vec<Finding> {
        let notes = self.runs.iter().filter_map(|run| run.note.as_deref());
        notes.map(findings::trace_events).collect()
    }
}

/// Returns the mean erases of a run, if there are some but too few.
fn few_erases(summary: &Summary<'_>) -> Option<f64> {
    let counters = &summary.counted.counters;
    let erases = counters.erases as f64 / summary.writing_runs();
    let is_few = erases > 0.0 && erases < FEWEST_ERASES as f64;
    (is_few && counters.host_pages > 0).then_some(erases)
}

/// Adds the response times of each stream.
fn measure_streams(streams: &mut Vec<StreamResult>, runs: &[Timings]) {
    let mut latencies = BTreeMap::<StreamId, Latencies>::new();
    for (&stream, of_run) in runs.iter().flat_map(|run| run.meter.streams()) {
        latencies.entry(stream).or_default().add(of_run);
    }
    for (stream, latencies) in latencies {
        let LatencyResult { read, write, .. } = latencies.result();
        let place = match streams.iter().position(|result| result.stream == Some(stream)) {
            Some(place) => place,
            None => {
                let place =
                    streams.iter().take_while(|result| result.stream < Some(stream)).count();
                streams.insert(place, StreamResult::new(Some(stream), &StreamCounts::default()));
                place
            }
        };
        streams[place].read_us = read.map(|side| side.all);
        streams[place].write_us = write.map(|side| side.all);
    }
}

fn timed_result(timed: &Timed, runs: &[Timings]) -> TimedResult {
    let mut latencies = Latencies::default();
    for run in runs {
        latencies.add(run.meter.latencies());
    }
    let mean_us_runs: Vec<f64> = runs
        .iter()
        .map(|run| run.meter.latencies())
        .filter(|latencies| latencies.requests() > 0)
        .map(|latencies| latencies.sum_ns() as f64 / latencies.requests() as f64 / 1e3)
        .collect();
    let ns: u64 = runs.iter().map(|run| run.ns).sum();
    let seconds = ns as f64 / 1e9;
    let rate = |amount: u64| if ns > 0 { amount as f64 / seconds } else { 0.0 };
    let bytes = |index: usize| runs.iter().map(|run| run.meter.bytes()[index]).sum::<u64>();
    let ran: Vec<&Utilisation> =
        runs.iter().filter(|run| run.ns > 0).map(|run| &run.utilisation).collect();
    let hardware = &timed.settings.hardware;
    let (channels, dies) = (hardware.channels, hardware.all_dies());
    let over_time = runs.first().and_then(|run| {
        let (_, end) = run.meter.window()?;
        Some(run.meter.series().result(end, channels, dies, dies))
    });
    let refused = runs.iter().fold(Refused::default(), |sum, run| sum.and(run.meter.refused()));
    let request_ns: u128 = runs.iter().map(|run| run.request_ns).sum();
    TimedResult {
        latency_us: latencies.result(),
        mean_us_ci95: interval(&mean_us_runs),
        mean_us_runs,
        time_share: latencies.shares(),
        throughput: Throughput {
            requests_per_second: rate(runs.iter().map(|run| run.completed).sum()),
            read_bytes_per_second: rate(bytes(1)),
            write_bytes_per_second: rate(bytes(0)),
        },
        utilisation: if ran.is_empty() { Utilisation::default() } else { Utilisation::mean(&ran) },
        collecting: Counts::sum(runs.iter().map(|run| run.collecting)).unwrap_or_default(),
        suspension: Suspension::of(&timed.settings.suspend, refused),
        power: timed.settings.power_limit.map(|limit| {
            let counts = Counts::sum(runs.iter().map(|run| run.power)).unwrap_or_default();
            PowerLimit::new(limit, &counts, dies, ns)
        }),
        failures: timed
            .settings
            .details
            .failures
            .map(|_| Counts::sum(runs.iter().map(|run| run.failures)).unwrap_or_default()),
        slc: Counts::sum(runs.iter().filter_map(|run| run.slc)),
        tenants: (!timed.tenants.is_empty()).then(|| {
            ByTenant::results(&timed.tenants, runs.iter().map(|run| run.meter.tenants()), seconds)
        }),
        over_time: over_time.unwrap_or_default(),
        simulated_seconds: seconds,
        requests_in_system: if ns > 0 { request_ns as f64 / ns as f64 } else { 0.0 },
        overload: overload(runs),
        worst: worst(runs),
    }
}

/// Returns the figures, by name, that every run has; empty for a single run.
fn by_run(runs: &[Timings]) -> BTreeMap<String, Vec<f64>> {
    let mut by_name = BTreeMap::<String, Vec<f64>>::new();
    if runs.len() < 2 {
        return by_name;
    }
    for run in runs.iter().filter(|run| run.ns > 0) {
        let LatencyResult { all, read, write, trim, .. } = run.meter.latencies().result();
        for (kind, side) in [("all", all), ("read", read), ("write", write), ("trim", trim)] {
            let Some(Figures { mean, p50, p90, p99, p99_9, p99_99, .. }) = side.map(|it| it.all)
            else {
                continue;
            };
            let figures = [
                ("mean", mean),
                ("p50", p50),
                ("p90", p90),
                ("p99", p99),
                ("p99_9", p99_9),
                ("p99_99", p99_99),
            ];
            for (figure, value) in figures {
                by_name.entry(format!("{kind}_{figure}_us")).or_default().push(value);
            }
        }
        let rate = run.completed as f64 / (run.ns as f64 / 1e9);
        by_name.entry("requests_per_second".to_owned()).or_default().push(rate);
    }
    by_name.retain(|_, values| values.len() == runs.len());
    by_name
}

/// Returns half the width of the 95% interval of the mean of `values`; `None` for one value, and if
/// all values are equal, because such runs count as one.
fn interval(values: &[f64]) -> Option<f64> {
    Some(half_width95(values)).filter(|half| half.is_finite() && !all_equal(values))
}

/// Returns the slowest request of each kind over all runs. Of equally slow requests, the first is
/// returned.
fn worst(runs: &[Timings]) -> Vec<WorstResult> {
    slowest(runs.iter().map(|run| run.meter.worst()))
}

/// Returns the overload of the runs that had one: the means of the rates, and the most requests
/// that waited.
fn overload(runs: &[Timings]) -> Option<Overload> {
    let all: Vec<Overload> = runs.iter().filter_map(|run| run.overload).collect();
    let over =
        |figure: &dyn Fn(&Overload) -> f64| mean(&all.iter().map(figure).collect::<Vec<_>>());
    Some(Overload {
        outstanding: all.iter().map(|overload| overload.outstanding).max()?,
        offered_per_second: over(&|overload| overload.offered_per_second),
        sustainable_per_second: over(&|overload| overload.sustainable_per_second),
        is_cut_short: all.iter().any(|overload| overload.is_cut_short),
    })
}

/// Returns the advice for a change that is not known precisely enough: a number of requests with
/// which the interval excludes a change of 5%. The interval falls with the root of the requests.
/// The number has a margin.
fn more_requests(config: &RunConfig, change: Drift) -> String {
    let too_wide = (change.drift.abs() + change.ci95) / MOST_DRIFT;
    match config.length {
        Length::Requests(requests) => {
            choice("requests", (requests as f64 * 3.0 * too_wide * too_wide).ceil())
        }
        _ => format!("more {}", option("requests")),
    }
}

/// Returns how many times as long as with all planes of a die together the dies worked on programs,
/// copies and erases. `joined` has the operations that went together with others: in the best case with
/// those of all other planes. Collections read `pages_read` flash pages; `None` if a flash page is a
/// unit.
fn time_apart(
    hardware: &Hardware,
    counters: &Counters,
    pages_read: Option<u64>,
    joined: &Joined,
) -> f64 {
    let planes = f64::from(hardware.planes);
    let [in_page, in_program] =
        [hardware.units_per_page, hardware.units_per_program()].map(f64::from);
    let [read, program, erase, transfer] =
        [hardware.read_ns, hardware.program_ns, hardware.erase_ns, hardware.transfer_ns]
            .map(|ns| ns as f64);
    let second = hardware.second_ns.map(|ns| ns as f64);
    let (program, passes) = second.map_or((program, 1.0), |second| (program + second, 2.0));
    let units = counters.programs() as f64;
    let (pages, programs) = (units / in_page, units / in_program);
    let copies = pages_read.unwrap_or(counters.copied_pages) as f64;
    let erases = counters.erases as f64;
    let share =
        |joined: u64, all: f64| if all > 0.0 { (joined as f64 / all).min(1.0) } else { 0.0 };
    let joined =
        [share(joined.units, units), share(joined.reads, copies), share(joined.erases, erases)];
    let time = |[programmed, read_out, erased]: [f64; 3]| {
        let in_cells = |ns: f64, joined: f64| ns * (1.0 - joined + joined / planes);
        pages * passes * transfer
            + programs * in_cells(program, programmed)
            + copies * (transfer + in_cells(read, read_out))
            + erases * in_cells(erase, erased)
    };
    let together = time([1.0; 3]);
    if together > 0.0 { time(joined) / together } else { 1.0 }
}

/// Returns the finding that a write cache of `capacity` pages was filling: it holds more pages at
/// the end than at the beginning, by more than [`MOST_FILLED`] of the pages written.
fn filled(runs: &[Timings], capacity: u32) -> Option<Finding> {
    let written: u64 = runs.iter().map(|run| run.cached.written).sum();
    let waits = runs.iter().map(|run| run.cached.waits).sum();
    let [from, to] = [0, 1].map(|end| runs.iter().map(|run| run.cached.held[end]).sum::<u64>());
    let grown = to.saturating_sub(from);
    (grown as f64 > MOST_FILLED * written as f64)
        .then(|| findings::writes_in_cache(written, grown, waits, capacity))
}

fn digest(counts: &str, runs: &[Timings]) -> String {
    let mut text = counts.to_string();
    for run in runs {
        let latencies = run.meter.latencies();
        let (requests, sum) = (latencies.requests(), latencies.sum_ns());
        text.push_str(&format!("|{requests}|{sum}|{}|{:?}", run.ns, run.collecting));
        if let Some(slc) = run.slc {
            text.push_str(&format!("|{slc:?}"));
        }
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::Members;

    use super::*;

    #[test]
    fn the_time_of_planes_on_their_own_is_that_of_all_operations() {
        let hardware = Hardware {
            channels: 1,
            ways: 1,
            dies: 1,
            planes: 4,
            page_bytes: 16 * 1024,
            units_per_page: 4,
            pages_per_program: 1,
            members: Members::ONE,
            read_ns: 60,
            program_ns: 500,
            second_ns: None,
            erase_ns: 5000,
            transfer_ns: 10,
            command_ns: 0,
        };
        let counters =
            Counters { host_pages: 300, copied_pages: 100, erases: 2, ..Counters::default() };
        // 100 pages are programmed, 40 read and 2 blocks erased.
        let alone = 100.0 * 510.0 + 40.0 * 70.0 + 2.0 * 5000.0;
        let together = 100.0 * 135.0 + 40.0 * 25.0 + 2.0 * 1250.0;
        let factor = |units: u64, reads: u64, erases: u64| {
            time_apart(&hardware, &counters, Some(40), &Joined { units, reads, erases })
        };
        let none = Joined::default();
        assert!((factor(0, 0, 0) - alone / together).abs() < 1e-12);
        // A program that goes with three others takes a quarter of 500.
        let half = alone - 50.0 * 375.0;
        assert!((factor(200, 0, 0) - half / together).abs() < 1e-12);
        // Half of the reads and both erases take a quarter of 60 and of 5000, too.
        let most = half - 20.0 * 45.0 - 2.0 * 3750.0;
        assert!((factor(200, 20, 2) - most / together).abs() < 1e-12);
        assert!((factor(400, 40, 2) - 1.0).abs() < 1e-12);
        // Without pages of several units, each copy reads a page.
        let large = Hardware { units_per_page: 1, ..hardware };
        let alone = 400.0 * 510.0 + 100.0 * 70.0 + 2.0 * 5000.0;
        let together = 400.0 * 135.0 + 100.0 * 25.0 + 2.0 * 1250.0;
        let found = time_apart(&large, &counters, None, &none);
        assert!((found - alone / together).abs() < 1e-12);
        assert_eq!(time_apart(&hardware, &Counters::default(), None, &none), 1.0);
    }
}
