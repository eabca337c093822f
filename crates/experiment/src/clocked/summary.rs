//! Puts the timed runs of one configuration together.

use std::collections::BTreeMap;

use flashgc_base::counts::Counts;
use flashgc_base::stream::StreamId;
use flashgc_drive::stats::{half_width95, mean};
use flashgc_ftl::StreamCounts;
use flashgc_timed::metrics::latency::{Latencies, LatencyResult};
use flashgc_timed::{
    ByTenant, CollectionResult, Meter, Overload, SlcCounts, Throughput, TimedResult, Utilisation,
    WorstResult, slowest,
};
use xxhash_rust::xxh3::xxh3_64;

use super::resolve::Timed;
use super::run::TimedRun;
use crate::config::Resolved;
use crate::result::{RunResult, summarise as summarise_counts};
use crate::stream_results::{self, StreamResult};

/// Returns the result of all runs of one configuration.
pub(crate) fn summarise(
    resolved: &Resolved,
    timed: &Timed,
    runs: Vec<TimedRun>,
    interrupted: bool,
) -> RunResult {
    let (mut finished, mut measures) = (Vec::new(), Vec::new());
    let notes: Vec<String> = runs.iter().filter_map(|run| run.note.clone()).collect();
    for run in runs {
        let TimedRun { finished: one, meter, collecting, utilisation, ns, completed, .. } = run;
        finished.push(one);
        measures.push(Measured {
            meter,
            collecting,
            slc: run.slc,
            utilisation,
            ns,
            completed,
            request_ns: run.request_ns,
            overload: run.overload,
        });
    }
    let mut result = summarise_counts(resolved, &finished, interrupted);
    result.timeline = measures.first_mut().and_then(|run| run.meter.take_timeline());
    if let Some(streams) = &mut result.streams {
        measure_streams(streams, &measures);
    }
    if timed.settings.slc.is_some() {
        result.busy = None; // it has only the times of normal cells
    }
    let measured = timed_result(timed, &measures);
    result.warnings = warnings(&result, &measured);
    if let Some(host) = &resolved.host {
        result.warnings.extend(host.warnings(timed.precondition > 0, true).unwrap_or_default());
    }
    let totals = Counts::sum(finished.iter().filter_map(|run| run.counted.layer.streams.clone()));
    result.warnings.extend(totals.iter().flat_map(|all| stream_results::warnings(resolved, all)));
    result.warnings.extend(notes);
    result.digest = digest(&result.digest, &measures);
    result.timed = Some(measured);
    result
}

/// The measurements of a run beside its counts.
struct Measured {
    meter: Meter,
    collecting: CollectionResult,
    slc: Option<SlcCounts>,
    utilisation: Utilisation,
    ns: u64,
    completed: u64,
    request_ns: u128,
    overload: Option<Overload>,
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

/// Returns half the width of the 95% interval of the mean of `values`; `None` for one value.
fn interval(values: &[f64]) -> Option<f64> {
    Some(half_width95(values)).filter(|half| half.is_finite())
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

/// Returns the warnings that a reader should know before using the figures.
fn warnings(result: &RunResult, measured: &TimedResult) -> Vec<String> {
    let mut warnings = Vec::new();
    if measured.latency_us.all.is_none() {
        let what =
            if result.interrupted { "interrupted in the warm-up" } else { "no request arrived" };
        warnings.push(format!("{what}: nothing was measured"));
        return warnings;
    }
    if let Some(overload) = &measured.overload {
        warnings.push(overload.warning(measured.tenants.is_some()));
    }
    if result.counters.host_pages > 0 && result.counters.erases == 0 {
        warnings.push(
            "no block was erased in the measured part, so no request met a collection; hint: \
             --warmup 2x writes the drive full first, or more --requests"
                .to_string(),
        );
    }
    if result.counters.erases > 0
        && !result.steady
        && !result.interrupted
        && measured.overload.is_none()
    {
        warnings.push(
            "write amplification still moves in the measured part; lengthen the warm-up"
                .to_string(),
        );
    }
    if measured.collecting.counts.starved > 0 {
        warnings.push(format!(
            "{} writes waited because no block was erased; hint: a higher --gc-low, or --gc-hard \
             to hold writes back in time",
            measured.collecting.counts.starved
        ));
    }
    warnings
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
