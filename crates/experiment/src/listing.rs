//! Lists of all that a user can choose, from the registries of the other crates.

use std::any::type_name;

use flashgc_base::counts::{Count, Listed};
use flashgc_base::described::{Described, Field};
use flashgc_base::spec::{Documented, Kind, Param};
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::endurance::endurance_laws;
use flashgc_ftl::frontier::frontiers;
use flashgc_ftl::levelling::wear_levellings;
use flashgc_ftl::mapping::MappingInfo;
use flashgc_ftl::placement::PlacementInfo;
use flashgc_ftl::{
    Counters, Fill, Levelled, MapTraffic, Merges, StreamCounts, ZombieCounts, allocation_policies,
    couples, mappings, placement_policies, schemes, victim_policies,
};
use flashgc_host::{HintCounts, HostPages, HostWaits, hint_ways, page_caches, write_back_caches};
use flashgc_timed::metrics::latency::{Figures, LatencyResult, SideLatency, TimeShare, TimeShares};
use flashgc_timed::metrics::series::{SeriesResult, SideSeries};
use flashgc_timed::tenants::KEYS;
use flashgc_timed::{
    CollectionResult, FailureCounts, HeldResult, OperationResult, Overload, PowerLimit, SlcCounts,
    Suspension, TenantResult, Throughput, TimedResult, Utilisation, WorstResult,
};
use flashgc_workload::generate::generators;
use flashgc_workload::requests::arrivals::arrivals;
use flashgc_workload::requests::request_generators;
use flashgc_workload::trace::{
    AnswerStat, OtherLines, ReadAs, Recorded, ServedStat, StreamStat, TimeStat, TraceStat,
    WorkingSets,
};
use serde_json::{Value, json};

use crate::bytes::Bytes;
use crate::each_run::{EachRun, InPages};
use crate::hosted::{HostResult, ZombieResult};
use crate::options::{ALTERNATIVES, OptionInfo, Section, Words};
use crate::replayed::{Replayed, Samples};
use crate::result::{Course, MapResult, RunResult};
use crate::steadiness::{Drift, Snia, Steadiness};
use crate::stream_results::{FdpEvents, FdpResult, HandleResult, StreamResult};
use crate::swap_results::Swap;
use crate::times::Busy;
use crate::wear::{Lifetime, Milestone, Wear, WearPoint};
use crate::worn::Erases;

/// Lists entries whose documentation is in their source file.
macro_rules! documented {
    ($list:expr) => {
        $list
            .iter()
            .map(|info| entry(info.name, &info.summary(), &info.doc(), info.params))
            .collect::<Vec<_>>()
    };
}

/// Lists entries that have only a summary.
macro_rules! summarised {
    ($list:expr) => {
        $list
            .iter()
            .map(|info| entry(info.name, info.summary, info.summary, info.params))
            .collect::<Vec<_>>()
    };
}

/// Returns all named choices with their parameters and documentation.
pub fn everything() -> Value {
    json!({
        "policies": documented!(victim_policies()),
        "frontiers": summarised!(frontiers()),
        "allocations": allocation_policies().iter().map(|info| entry(
            info.name, &info.summary(), &info.doc(), &[])).collect::<Vec<_>>(),
        "wear_levellings": documented!(wear_levellings()),
        "placements": placement_policies().iter().map(placement).collect::<Vec<_>>(),
        "caches": documented!(write_back_caches()),
        "hints": summarised!(hint_ways()),
        "schemes": couples().iter().map(|info| json!({
            "name": info.name,
            "summary": info.summary,
            "victim": info.victim,
            "placement": info.placement,
        })).collect::<Vec<_>>(),
        "mappings": mappings().iter().map(mapping).collect::<Vec<_>>(),
        "vm_schemes": summarised!(schemes()),
        "page_caches": documented!(page_caches()),
        "endurances": summarised!(endurance_laws()),
        "generators": documented!(generators()),
        "request_generators": documented!(request_generators()),
        "arrivals": arrivals().iter().map(|info| entry(
            info.name, info.summary, info.doc, info.params)).collect::<Vec<_>>(),
        "counts": counts(),
        "fills": Fill::names().collect::<Vec<_>>(),
    })
}

/// Returns the declared counts of results, by the names of their Python classes.
fn counts() -> Value {
    fn named<T: Listed>(name: &str) -> Value {
        let kind = type_name::<T>();
        let count = |&Count { name, text, words, .. }: &Count| json!({ "name": name, "text": text, "words": words });
        json!({
            "name": name,
            "type": kind.rsplit("::").next(),
            "text": T::TEXT,
            "counts": T::list().iter().map(count).collect::<Vec<_>>(),
        })
    }
    json!([
        named::<Counters>("Counters"),
        named::<Levelled>("Levelling"),
        named::<MapTraffic>("MapTraffic"),
        named::<Merges>("MergeCounts"),
        named::<ZombieCounts>("ZombieCounts"),
        named::<StreamCounts>("StreamCounts"),
        named::<HostPages>("HostPages"),
        named::<HostWaits>("HostWaits"),
        named::<HintCounts>("Hints"),
        named::<Swapping>("SwapCounts"),
        named::<CollectionResult>("Collecting"),
        named::<SlcCounts>("Slc"),
        named::<FailureCounts>("ReadFailures"),
    ])
}

/// Returns the parts of results and of the statistics of traces, by the Python module that has
/// them. Each part has the name of its Python class. The fields of a part without a name belong to
/// the part that contains it.
pub fn parts() -> Value {
    fn named<T: Described>(name: &str) -> Value {
        let field = |&Field { name, kind, text, is_flat, is_optional }: &Field| json!({ "name": name, "type": kind, "text": text, "flat": is_flat, "optional": is_optional });
        json!({
            "name": name,
            "type": type_name::<T>().rsplit("::").next(),
            "text": T::TEXT,
            "fields": T::FIELDS.iter().map(field).collect::<Vec<_>>(),
        })
    }
    json!({
        "run": [
            named::<Bytes>("Bytes"),
            named::<Drift>("Drift"),
            named::<Snia>("Snia"),
            named::<Steadiness>("Steadiness"),
            named::<Samples>("Samples"),
            named::<Erases>("Erases"),
            named::<WearPoint>("WearPoint"),
            named::<Wear>("Wear"),
            named::<EachRun>(""),
            named::<InPages>(""),
            named::<MapResult>(""),
            named::<Course>(""),
            named::<RunResult>("Result"),
        ],
        "life": [
            named::<Busy>("Busy"),
            named::<Milestone>("Milestone"),
            named::<Lifetime>("Lifetime"),
        ],
        "host": [
            named::<Swap>("Swap"),
            named::<HostResult>("HostTraffic"),
            named::<ZombieResult>("Zombies"),
            named::<StreamResult>("Stream"),
            named::<HandleResult>("Handle"),
            named::<FdpEvents>("FdpEvents"),
            named::<FdpResult>("Fdp"),
        ],
        "clock": [
            named::<Figures>("Figures"),
            named::<SideLatency>("Latency"),
            named::<LatencyResult>("Latencies"),
            named::<TimeShare>("TimeShare"),
            named::<TimeShares>("TimeShares"),
            named::<Throughput>("Throughput"),
            named::<Utilisation>("Utilisation"),
            named::<Suspension>("Suspension"),
            named::<PowerLimit>("PowerLimit"),
            named::<SideSeries>("Traffic"),
            named::<SeriesResult>("OverTime"),
            named::<Overload>("Overload"),
            named::<HeldResult>("WorstCollection"),
            named::<OperationResult>("WorstOperation"),
            named::<WorstResult>("Worst"),
            named::<TenantResult>("Tenant"),
            named::<TimedResult>("Timing"),
        ],
        "trace": [
            named::<Replayed>("Replayed"),
            named::<Recorded>("Recorded"),
            named::<WorkingSets>("WorkingSets"),
            named::<StreamStat>("StreamStat"),
            named::<AnswerStat>("AnswerStat"),
            named::<ReadAs>(""),
            named::<TimeStat>(""),
            named::<OtherLines>(""),
            named::<ServedStat>(""),
            named::<TraceStat>("TraceStat"),
        ],
    })
}

/// Returns the sections of an experiment and their options, in the order in which help lists them.
pub fn options() -> Value {
    json!({
        "sections": Section::ALL.iter().map(|section| json!({
            "name": section.name(),
            "summary": section.summary(),
        })).collect::<Vec<_>>(),
        "alternatives": ALTERNATIVES.iter().map(|(keys, _)| keys.iter().filter_map(|key| {
            crate::options::find(key).map(OptionInfo::path)
        }).collect::<Vec<_>>()).collect::<Vec<_>>(),
        "tenant": KEYS.iter().map(|key| json!({
            "name": key.name,
            "metavar": key.metavar,
            "default": key.default,
            "example": key.example,
            "help": key.help,
        })).collect::<Vec<_>>(),
        "options": crate::options::options().iter().map(|info| option(info)).collect::<Vec<_>>(),
    })
}

fn option(info: &OptionInfo) -> Value {
    let (words, list) = match info.words {
        Words::None => (Vec::new(), ""),
        Words::Fixed(words) => (words(), ""),
        Words::Listed(list) => (Vec::new(), list),
    };
    json!({
        "section": info.section.name(),
        "key": info.key,
        "flag": info.flag_name(),
        "kind": info.kind,
        "metavar": info.metavar,
        "default": info.default,
        "cases": info.cases.iter().map(|(case, value)| json!({
            "name": case,
            "words": case.words(),
            "value": value,
        })).collect::<Vec<_>>(),
        "help": info.help,
        "example": info.example,
        "needs_unit": info.needs_unit,
        "range": info.range,
        "drives": info.drives.name(),
        "instead": info.instead,
        "stored": info.unstored.is_none(),
        "of_clock": info.is_of_clock(),
        "once": info.once,
        "several": info.several,
        "listing": info.listing,
        "words": words,
        "list": list,
        "holder": info.holder,
        "field": info.field,
    })
}

fn placement(info: &PlacementInfo) -> Value {
    let mut entry = entry(info.name, &info.summary(), &info.doc(), info.params);
    entry["needs_future"] = info.needs_future.into();
    entry["needs_streams"] = info.needs_streams.into();
    entry["bytes_a_page"] = info.bytes_a_page().into();
    entry
}

fn mapping(info: &MappingInfo) -> Value {
    let mut entry = entry(info.name, &info.summary(), &info.doc(), info.params);
    entry["has_victims"] = info.has_victims.into();
    entry
}

fn entry(name: &str, summary: &str, doc: &str, params: &[Param]) -> Value {
    json!({
        "name": name,
        "summary": summary,
        "doc": doc,
        "params": params.iter().map(|param| json!({
            "name": param.name,
            "values": values(&param.kind),
            "default": param.default,
            "help": param.help,
        })).collect::<Vec<_>>(),
    })
}

/// Returns the values that a parameter takes, as a text.
fn values(kind: &Kind) -> String {
    match *kind {
        Kind::Integer { min, max } if max >= u64::from(u32::MAX / 2) => format!("{min} or more"),
        Kind::Integer { min, max } => format!("{min} to {max}"),
        Kind::Real { min, max } if max.is_finite() => format!("{min} to {max}"),
        Kind::Real { min, .. } => format!("{min} or more"),
        Kind::Word(words) => words.join(", "),
        Kind::Text => "text".to_string(),
    }
}
