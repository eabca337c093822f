//! Drives behind the cache of a host, with and without a clock: the cache keeps the streams of
//! writes.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_drive::source::{Source, TimedSource};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{HostConfig, RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Requests;

/// Two tenants on halves of the drive, with and without streams.
const NAMED: &str =
    "0.7*uniform:to=0.5,stream=1,read=0.2 + 0.3*uniform:from=0.5,stream=0,trim=0.01";
const BARE: &str = "0.7*uniform:to=0.5,read=0.2 + 0.3*uniform:from=0.5,trim=0.01";

fn config(hints: &str, clock: bool) -> RunConfig {
    let cache = "page-cache:size=400KiB,rate=1000,speed=800,expire=100ms,writeback=50ms";
    RunConfig {
        blocks: Some(160),
        pages_per_block: Some(16),
        spare: 0.2,
        victim: if hints == "none" { "greedy" } else { "z-greedy" }.into(),
        frontier: if clock { RunConfig::default().frontier } else { "pool:low=2".into() },
        host: Some(HostConfig { cache: cache.into(), hints: hints.into() }),
        workload: NAMED.into(),
        times: Some("read=25us,program=200us,erase=1.5ms,transfer=10us".into()),
        timed: clock.then(|| TimedConfig {
            arrivals: Some("closed:threads=2".into()),
            ..TimedConfig::default()
        }),
        // The writes before the clock go through the cache, too.
        warmup: "1x".into(),
        length: Length::Requests(6000),
        ..RunConfig::default()
    }
}

fn resolved(config: &RunConfig) -> Resolved {
    let workload = config.workload.clone();
    let source: Arc<dyn Source> = match config.timed {
        Some(_) => Arc::new(TimedSource::new(workload, Requests::parse(&config.workload).unwrap())),
        None => Arc::new(GeneratorSpec::parse(&workload).unwrap()),
    };
    Resolved::new(config, source, None).map_err(|error| error.to_string()).unwrap()
}

fn run(config: &RunConfig) -> RunResult {
    simulate(&[resolved(config)], 1, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0)
}

fn facts(result: &RunResult) -> String {
    let RunResult { counters, host, zombies, reads, decisions, .. } = result;
    format!("{decisions:?} {counters:?} {host:?} {zombies:?} {reads}")
}

#[test]
fn streams_come_through_the_cache_named_by_writes_or_by_addresses() {
    let folder = tempfile::tempdir().unwrap();
    for (hints, clock) in
        [("none", false), ("none", true), ("perfect", false), ("perfect", true), ("oracle", false)]
    {
        let named = config(hints, clock);
        let pages = resolved(&named).geometry.logical_pages();
        assert_eq!(pages % 2, 0);
        let (half, end) = (pages / 2 * 4096, u64::from(pages) * 4096);
        let path = folder.path().join("streams.csv").display().to_string();
        std::fs::write(&path, format!("0, {half}, 1\n{half}, {end}, 0\n")).unwrap();
        let ranged =
            RunConfig { workload: BARE.into(), streams: Some(path), ..config(hints, clock) };
        let without = RunConfig { workload: BARE.into(), ..config(hints, clock) };
        for placement in ["none", "fdp:handles=2"] {
            let of =
                |config: &RunConfig| RunConfig { placement: placement.into(), ..config.clone() };
            let (one, other) = (run(&of(&named)), run(&of(&ranged)));
            assert_eq!(facts(&one), facts(&other), "{hints} {clock} {placement}");
            assert_eq!((&one.streams, &one.fdp), (&other.streams, &other.fdp));
            let streams = one.streams.as_ref().unwrap();
            let written = |stream| {
                let it = streams.iter().find(|it| it.stream == stream);
                it.map_or(0, |it| it.counts.host_pages)
            };
            // Seven tenths of the requests, four fifths of them writes, go to half of the pages.
            let (large, small) = (written(Some(1)), written(Some(0)));
            assert!(large > small && small > 500, "{hints} {clock}: {large} {small}");
            assert_eq!((large + small, written(None)), (one.counters.host_pages, 0));
            // A placement that ignores streams makes the same decisions as without streams.
            if placement == "none" {
                assert_eq!(facts(&run(&without)), facts(&one), "{hints} {clock}");
            } else {
                assert_eq!(one.fdp.as_ref().unwrap().events.invalid_placement_identifier, 0);
            }
        }
    }
}
