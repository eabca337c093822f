//! The state of a drive as JSON.

use flashgc_base::counts::{Count, Listed};
use flashgc_device::{Opened, PAGE, Report, Usage};
use flashgc_experiment::stream_results::{FdpResult, Log, StreamResult};
use flashgc_front::health::{Health, SPARE_THRESHOLD, Written};
use flashgc_front::meter::{Latencies, LatencyKind};
use flashgc_front::nvme::uuid_text;
use flashgc_front::pace::Paced;
use flashgc_ftl::{Counters, Handles, ZombieCounts};
use flashgc_timed::{Worst, WorstResult};
use serde_json::{Map, Value, json};

/// Returns the latencies of one kind of commands as JSON, in microseconds.
pub(crate) fn latency(latencies: &Latencies) -> Value {
    let Latencies { count, mean, p50, p90, p99, p999, max } = latencies;
    json!({
        "count": count, "mean": mean, "p50": p50, "p90": p90, "p99": p99, "p999": p999, "max": max,
    })
}

/// Returns latencies as JSON, by the names of their kinds.
pub(crate) fn by_kind(all: &[Latencies; 4]) -> Value {
    let named =
        LatencyKind::ALL.map(|(name, kind)| (name.to_string(), latency(&all[kind as usize])));
    Value::Object(named.into_iter().collect())
}

/// Returns the measurements of a drive with a clock as JSON. `slowest` are its slowest requests.
pub(crate) fn of_pace(paced: &Paced, slowest: &[Worst]) -> Value {
    let Paced { slower, lateness, at_once, failed, is_valid, comes_first, .. } = paced;
    let Paced { simulated, measured, work, .. } = paced;
    json!({
        "slower": slower,
        "answers": lateness.answers,
        "late": lateness.late,
        "late_for_data": lateness.late_for_data,
        "late_share": lateness.late as f64 / lateness.answers.max(1) as f64,
        "lateness_us": latency(&lateness.latencies),
        "at_once_us": latency(at_once),
        "is_valid": is_valid,
        "comes_first": comes_first,
        "failed": failed,
        "simulated_us": by_kind(simulated),
        "measured_us": by_kind(measured),
        "host_pages": work.host_pages,
        "copied_pages": work.copied_pages,
        "host_bytes": work.host_bytes,
        "write_amplification": (work.host_bytes > 0)
            .then(|| work.programmed_bytes as f64 / work.host_bytes as f64),
        "collections": work.collections,
        "erases": work.erases,
        "suspended_programs": work.suspended_programs,
        "suspended_erases": work.suspended_erases,
        "hinted_pages": work.hinted_pages,
        "told_pages": work.told_pages,
        "overtaken_pages": work.overtaken_pages,
        "hint_commands": work.hint_commands,
        "worst": slowest.iter().map(|worst| WorstResult::of(worst, 0)).collect::<Vec<_>>(),
    })
}

/// Returns a drive's report as JSON, with names from the SMART log (02h) and the OCP log (C0h).
pub(crate) fn of_drive(
    report: &Report,
    handles: Option<Handles>,
    latencies: &[(&str, Latencies)],
) -> Value {
    let page = PAGE as u64;
    let geometry = report.geometry;
    let blocks = u64::from(geometry.blocks());
    let health = Health::of(report);
    let latency_us: Map<String, Value> = latencies
        .iter()
        .map(|(name, latencies)| ((*name).to_string(), latency(latencies)))
        .collect();
    json!({
        "uuid": uuid_text(report.uuid),
        "capacity_bytes": u64::from(geometry.logical_pages()) * page,
        "page_bytes": page,
        "blocks": blocks,
        "pages_per_block": geometry.pages_per_block(),
        "spare_factor": geometry.spare_factor(),
        "effective_spare": geometry.effective_spare(report.kept_erased.into()),
        "blocks_kept_erased": report.kept_erased,
        "durability": report.durability.name(),
        "write_amplification": Written::of(report).amplification(),
        "read_only": report.read_only,
        "gives_room_back": report.gives_room_back,
        "write_amplification_with_parity": report
            .stripe
            .and_then(|_| Written::of(report).amplification_with_parity()),
        "parity": report.stripe.map(|parts| format!("1/{parts}")),
        "free_blocks": report.free_blocks,
        "mapped_pages": report.mapped_pages,
        "streams": report.streams.as_ref().map(StreamResult::all),
        "fdp": report.streams.as_ref().zip(handles).map(|(totals, handles)| {
            let Written { host, media, erased, .. } = Written::of(report);
            FdpResult::new(handles, totals, Log { host, media, erased })
        }),
        "zombie_pages": report.zombies.map(|zombies| zombies.known),
        "decisions": format!("{:016x}", report.decisions),
        "recovery": report.recovery.map(|recovery| {
            json!({ "records": recovery.records, "skipped": recovery.skipped })
        }),
        "smart": {
            "critical_warning": health.critical_warning,
            "available_spare": health.available_spare,
            "available_spare_threshold": SPARE_THRESHOLD,
            "percentage_used": health.percentage_used,
            "data_units_read": health.data_units_read,
            "data_units_written": health.data_units_written,
            "host_read_commands": health.host_reads,
            "host_write_commands": health.host_writes,
            "controller_busy_time": health.busy_minutes,
            "power_cycles": health.power_cycles,
            "power_on_hours": health.power_on_hours,
            "unsafe_shutdowns": health.unsafe_shutdowns,
            "media_errors": health.media_errors,
        },
        "ocp": {
            "physical_media_units_written": health.media_bytes_written,
            "physical_media_units_read": health.media_bytes_read,
            "bad_user_nand_blocks": health.bad_blocks,
            "user_data_erase_count_max": health.most_erases,
            "user_data_erase_count_min": health.least_erases,
            "nand_avg_erase_count": health.mean_erases,
            "percent_free_blocks": health.percent_free_blocks,
            "incomplete_shutdowns": health.unsafe_shutdowns,
            "unaligned_io": health.unaligned,
        },
        "counters": counters_of(report),
        "latency_us": latency_us,
    })
}

/// Returns the counts of a drive since it was made, and its counts since it was opened.
pub(crate) fn counters_of(report: &Report) -> Map<String, Value> {
    let zombies = report.zombies.unwrap_or_default();
    let mut all = Map::new();
    all.extend(named(&report.counters).chain(named(&report.usage)));
    all.extend(named(&zombies).chain(named(&report.opened)));
    all.insert("host_pages_read".into(), json!(report.usage.read_bytes / PAGE as u64));
    let parity = Written::of(report).parity / PAGE as u64;
    all.insert("parity_pages_written".into(), json!(parity));
    all
}

/// Returns the declared counts of a drive's state as JSON: the name of each, its text and its unit.
pub fn counts() -> Value {
    let all = [Counters::list(), Usage::list(), ZombieCounts::list(), Opened::list()].concat();
    let count = |&Count { stat, text, unit, .. }: &Count| json!([stat, text, unit]);
    json!(all.iter().map(count).collect::<Vec<_>>())
}

/// Returns counts with the names that they have in the state of a drive.
fn named<T: Listed>(counts: &T) -> impl Iterator<Item = (String, Value)> {
    T::list().into_iter().zip(counts.numbers()).map(|(count, number)| {
        let value = if count.unit == "ns" { json!(number as f64 / 1e9) } else { json!(number) };
        (count.stat.to_string(), value)
    })
}
