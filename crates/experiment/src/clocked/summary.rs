//! Puts the timed runs of one configuration together.

use std::collections::BTreeMap;

use flashgc_base::counts::Counts;
use flashgc_base::naming::{choice, option};
use flashgc_base::stream::StreamId;
use flashgc_drive::extent::Length;
use flashgc_drive::stats::{MOST_DRIFT, all_equal, half_width95, mean};
use flashgc_ftl::StreamCounts;
use flashgc_timed::metrics::latency::{Figures, Latencies, LatencyResult};
use flashgc_timed::{
    ByTenant, CollectionResult, Meter, Overload, Preemption, Refused, Settings, SlcCounts,
    Suspension, Throughput, TimedResult, Utilisation, WorstResult, slowest,
};
use xxhash_rust::xxh3::xxh3_64;

use super::run::{Cached, TimedRun};
use crate::clock::Timed;
use crate::config::Resolved;
use crate::findings::{self, Finding};
use crate::finished::Pace;
use crate::options::RunConfig;
use crate::result::RunResult;
use crate::steadiness::{Drift, FEWEST_ERASES, Steadiness};
use crate::stream_results::StreamResult;
use crate::summary::Summary;

/// The share of programs below which multi-plane operations join next to nothing.
const LEAST_JOINED: f64 = 0.01;

/// The rounds of collections below which nothing shows whether amplification is steady.
const FEWEST_ROUNDS: f64 = 20.0;

/// The share of the written pages above which a write cache that holds them more at the end is filling.
const MOST_FILLED: f64 = 0.1;

/// Returns the result of all runs of one configuration.
pub(crate) fn summarise(
    resolved: &Resolved,
    timed: &Timed,
    runs: Vec<TimedRun>,
    interrupted: bool,
) -> RunResult {
    let (mut finished, mut measures) = (Vec::new(), Vec::new());
    let unsettled = runs.iter().filter_map(|run| run.unsettled).max_by_key(|&(_, needed)| needed);
    let cut = runs.iter().filter_map(|run| run.cut).max_by_key(|cut| cut.left);
    let notes: Vec<String> = runs.iter().filter_map(|run| run.note.clone()).collect();
    for run in runs {
        let TimedRun { finished: one, meter, collecting, utilisation, ns, completed, .. } = run;
        finished.push(one);
        measures.push(Measured {
            meter,
            collecting,
            joined_programs: run.joined_programs,
            cached: run.cached,
            slc: run.slc,
            utilisation,
            ns,
            completed,
            request_ns: run.request_ns,
            overload: run.overload,
            paces: run.paces,
        });
    }
    let summary = Summary::new(resolved, &finished, interrupted);
    let [of_drive, of_streams] = [summary.on_the_drive(), summary.on_streams()];
    let of_host = summary.on_the_host(timed.precondition > 0);
    let measured = timed_result(timed, &measures);
    let of_equal_runs = summary.on_equal(&measured.mean_us_runs, None);
    let mut result = summary.result();
    // Reads do not ask for it, and writes that erase no block have a finding of their own.
    let unsettled = unsettled.filter(|_| result.counters.erases > 0);
    result.timeline = measures.first_mut().and_then(|run| run.meter.take_timeline());
    if let Some(streams) = &mut result.streams {
        measure_streams(streams, &measures);
    }
    if timed.settings.slc.is_some() {
        result.busy = None; // it has only the times of normal cells
    }
    result.each_run.by_run.extend(by_run(&measures));
    let paces: Vec<&[Pace]> = measures.iter().map(|run| &run.paces[..]).collect();
    result.steadiness.add_paces(&paces);
    let few = few_rounds(resolved, timed, &result);
    let erases = few_erases(&result);
    let filling = filled(&measures, timed.settings.write_cache);
    let is_known = few.is_none() && erases.is_none() && filling.is_none();
    result.steady = is_steady(&result) && is_known && unsettled.is_none();
    let pages = resolved.geometry.logical_pages();
    // Only an overload asks for it, and it looks at every request of the trace.
    let may_wait = measured.overload.is_some()
        && resolved.source.requests().is_some_and(|requests| requests.waits(pages).is_ok());
    let paces = timed.settings.collecting.paces_writes;
    let unmeasured = finished.len() - measured.mean_us_runs.len();
    result.findings = told(&result, &measured, may_wait, paces);
    if interrupted && measured.latency_us.all.is_some() && unmeasured > 0 {
        result.findings.push(findings::runs_in_warm_up(unmeasured as u64));
    }
    // A run that was stopped, or in which requests queue up, has a graver finding.
    if !interrupted && measured.overload.is_none() {
        result.findings.extend(few.map(findings::few_rounds));
        result.findings.extend(erases.map(findings::few_erases));
    }
    let drive_writes = |count: u64| count as f64 / f64::from(pages);
    result.findings.extend(unsettled.map(|(written, needed)| {
        findings::not_settled_before(drive_writes(written), drive_writes(needed))
    }));
    // A workload that never writes changes nothing, before the clock or after.
    let cut = cut.filter(|cut| cut.left < timed.precondition);
    result.findings.extend(cut.map(|cut| {
        findings::warm_up_cut(timed.precondition - cut.left, timed.precondition, cut.drawn)
    }));
    if measured.latency_us.all.is_some() {
        result.findings.extend(told_of_the_drive(timed, &result, &measured, &measures, filling));
    }
    for of_counts in [of_equal_runs.into_iter().collect(), of_drive, of_host, of_streams] {
        result.findings.extend(of_counts);
    }
    result.findings.extend(notes.iter().map(|text| findings::trace_events(text)));
    result.digest = digest(&result.digest, &measures);
    result.timed = Some(measured);
    result
}

/// The measurements of a run beside its counts.
struct Measured {
    meter: Meter,
    collecting: CollectionResult,
    joined_programs: u64,
    cached: Cached,
    slc: Option<SlcCounts>,
    utilisation: Utilisation,
    ns: u64,
    completed: u64,
    request_ns: u128,
    overload: Option<Overload>,
    paces: Vec<Pace>,
}

/// Adds the response times of each stream.
fn measure_streams(streams: &mut Vec<StreamResult>, runs: &[Measured]) {
    let mut latencies = BTreeMap::<StreamId, Latencies>::new();
    for (&stream, of_run) in runs.iter().flat_map(|run| run.meter.streams()) {
        latencies.entry(stream).or_default().add(of_run);
    }
    for (stream, latencies) in latencies {
        let LatencyResult { read, write, .. } = latencies.result();
        let place = match streams.iter().position(|one| one.stream == Some(stream)) {
            Some(place) => place,
            None => {
                let place = streams.iter().take_while(|one| one.stream < Some(stream)).count();
                streams.insert(place, StreamResult::new(Some(stream), &StreamCounts::default()));
                place
            }
        };
        streams[place].read_us = read.map(|side| side.all);
        streams[place].write_us = write.map(|side| side.all);
    }
}

fn timed_result(timed: &Timed, runs: &[Measured]) -> TimedResult {
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

/// Returns the figures of each run that every run has; none of a single run.
fn by_run(runs: &[Measured]) -> BTreeMap<String, Vec<f64>> {
    let mut made = BTreeMap::<String, Vec<f64>>::new();
    if runs.len() < 2 {
        return made;
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
                made.entry(format!("{kind}_{figure}_us")).or_default().push(value);
            }
        }
        let rate = run.completed as f64 / (run.ns as f64 / 1e9);
        made.entry("requests_per_second".to_owned()).or_default().push(rate);
    }
    made.retain(|_, values| values.len() == runs.len());
    made
}

/// Returns half the width of the 95% interval of the mean of `values`; `None` for one value, and if all are equal:
/// such runs count as one.
fn interval(values: &[f64]) -> Option<f64> {
    Some(half_width95(values)).filter(|half| half.is_finite() && !all_equal(values))
}

/// Returns the slowest request of each kind over all runs; of equally slow ones the first.
fn worst(runs: &[Measured]) -> Vec<WorstResult> {
    slowest(runs.iter().map(|run| run.meter.worst()))
}

/// Returns the overload of the runs that had one: the means, and the most requests that waited.
fn overload(runs: &[Measured]) -> Option<Overload> {
    let all: Vec<Overload> = runs.iter().filter_map(|run| run.overload).collect();
    let over =
        |figure: &dyn Fn(&Overload) -> f64| mean(&all.iter().map(figure).collect::<Vec<_>>());
    Some(Overload {
        outstanding: all.iter().map(|one| one.outstanding).max()?,
        offered_per_second: over(&|one| one.offered_per_second),
        sustainable_per_second: over(&|one| one.sustainable_per_second),
        is_cut_short: all.iter().any(|one| one.is_cut_short),
    })
}

/// Returns `true` if neither amplification nor the time for a request moves in the measured part, as far as
/// there is one, and the drive erased what it wrote to. Without an erase nothing shows that writes are steady.
fn is_steady(result: &RunResult) -> bool {
    let Steadiness { amplification, pace, .. } = result.steadiness;
    let writes_are = match result.counters.host_pages {
        0 => true,
        _ => {
            result.counters.erases > 0
                && amplification.is_some_and(|one| one.is_settled())
                && result.steadiness.burst().is_none()
        }
    };
    writes_are && !result.interrupted && pace.is_none_or(|one| one.is_settled())
}

/// Returns the erases of a run, on average, if there are some and too few.
fn few_erases(result: &RunResult) -> Option<f64> {
    let erases = result.counters.erases as f64 / result.each_run.run_values.len().max(1) as f64;
    let is_few = erases > 0.0 && erases < FEWEST_ERASES as f64;
    (is_few && result.counters.host_pages > 0).then_some(erases)
}

/// Returns the rounds of collections from mark to mark in a unit, if the marks are apart and the rounds
/// fewer than [`FEWEST_ROUNDS`]. In a round a unit takes as many pages as it erases beyond its mark.
fn few_rounds(resolved: &Resolved, timed: &Timed, result: &RunResult) -> Option<f64> {
    let Settings { collecting, hardware, .. } = &timed.settings;
    let counters = &result.counters;
    if collecting.high <= collecting.low || counters.erases == 0 || counters.host_pages == 0 {
        return None;
    }
    let units = f64::from(hardware.all_planes() / collecting.unit.planes(hardware));
    let round =
        f64::from((collecting.high - collecting.low + 1) * resolved.geometry.pages_per_block());
    let runs = result.each_run.run_values.len().max(1) as f64;
    let rounds = counters.host_pages as f64 / (runs * units * round);
    (rounds < FEWEST_ROUNDS).then_some(rounds)
}

/// Returns the findings of which a reader should know before using the figures.
fn told(result: &RunResult, measured: &TimedResult, may_wait: bool, paces: bool) -> Vec<Finding> {
    if measured.latency_us.all.is_none() {
        return vec![if result.interrupted {
            findings::stopped_in_warm_up()
        } else {
            findings::nothing_arrived()
        }];
    }
    let mut said = Vec::new();
    if result.interrupted {
        said.push(findings::interrupted());
    }
    if let Some(overload) = &measured.overload {
        said.push(findings::overload(overload, measured.tenants.is_some(), may_wait));
    }
    if result.counters.host_pages > 0 && result.counters.erases == 0 {
        said.push(findings::no_erase(result.counters.host_pages));
    }
    let (erases, writes) = (result.counters.erases, result.counters.host_pages);
    let Steadiness { amplification, pace, .. } = result.steadiness;
    if !result.interrupted && measured.overload.is_none() {
        // What only a write cache took has no amplification.
        if erases > 0 && writes > 0 && amplification.is_none_or(|one| one.moves()) {
            said.push(findings::still_moves_with_a_clock(amplification));
        }
        if let Some(pace) = pace.filter(|pace| pace.moves() && (writes == 0 || erases > 0)) {
            said.push(findings::pace_moves(pace));
        }
        let figures = [
            ("write amplification", amplification.filter(|_| erases > 0)),
            ("the time for a request", pace.filter(|_| writes == 0 || erases > 0)),
        ];
        said.extend(figures.into_iter().find_map(|(name, one)| {
            let change = one.filter(Drift::is_unknown)?;
            Some(findings::steadiness_unknown(
                name,
                change,
                more_requests(&result.config.run, change),
            ))
        }));
    }
    let burst = result.steadiness.burst().filter(|_| erases > 0);
    said.extend(burst.map(findings::burst));
    if measured.collecting.counts.starved > 0 {
        said.push(findings::starved(measured.collecting.counts.starved, paces));
    }
    said
}

/// Returns the advice for a change that is known too badly: this many requests that its interval, which falls with
/// their root, leaves out 5%, and twice as many more.
fn more_requests(config: &RunConfig, change: Drift) -> String {
    let too_wide = (change.drift.abs() + change.ci95) / MOST_DRIFT;
    match config.length {
        Length::Requests(requests) => {
            choice("requests", (requests as f64 * 3.0 * too_wide * too_wide).ceil())
        }
        _ => format!("more {}", option("requests")),
    }
}

/// Returns the findings on what the drive did otherwise than its options may suggest.
fn told_of_the_drive(
    timed: &Timed,
    result: &RunResult,
    measured: &TimedResult,
    runs: &[Measured],
    filling: Option<Finding>,
) -> Vec<Finding> {
    let settings = &timed.settings;
    let mut said: Vec<Finding> =
        measured.suspension.iter().filter_map(findings::suspended_no_more).collect();
    said.extend(filling);
    if settings.multi_plane {
        let units = u64::from(settings.hardware.units_per_page);
        let joined = runs.iter().map(|run| run.joined_programs).sum::<u64>() * units;
        let (programs, erases) = (result.counters.programs(), result.counters.erases);
        if joins_nothing(joined, programs) {
            let gives_way = settings.collecting.preemption != Preemption::None;
            said.push(findings::planes_apart(joined, programs, erases, gives_way));
        }
    }
    said
}

/// Returns `true` if of `programs` programs so few were `joined` that multi-plane operations do next to
/// nothing.
fn joins_nothing(joined: u64, programs: u64) -> bool {
    (joined as f64) < LEAST_JOINED * programs as f64
}

/// Returns the finding that a write cache of `capacity` pages was filling, if it holds more pages at the end by
/// more than [`MOST_FILLED`] of those that were written.
fn filled(runs: &[Measured], capacity: u32) -> Option<Finding> {
    let written: u64 = runs.iter().map(|run| run.cached.written).sum();
    let waits = runs.iter().map(|run| run.cached.waits).sum();
    let [from, to] = [0, 1].map(|end| runs.iter().map(|run| run.cached.held[end]).sum::<u64>());
    let grown = to.saturating_sub(from);
    (grown as f64 > MOST_FILLED * written as f64)
        .then(|| findings::writes_in_cache(written, grown, waits, capacity))
}

fn digest(counts: &str, runs: &[Measured]) -> String {
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
    use super::*;

    #[test]
    fn one_in_a_hundred_is_something() {
        assert!(joins_nothing(0, 1));
        assert!(joins_nothing(99, 10_000));
        assert!(!joins_nothing(100, 10_000));
        assert!(!joins_nothing(0, 0));
    }
}
