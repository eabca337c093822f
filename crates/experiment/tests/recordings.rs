//! Recordings of a drive: a replay repeats the drive's commands one by one, with hints and
//! cancelled hints. A drive must have the pages in the recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashgc_base::snapshot::{Reader, State, Writer};
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Length, Unit};
use flashgc_drive::source::{Source, TimedSource, TraceReplay};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{RunConfig, TimedConfig, TraceConfig};
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_ftl::{Fill, FtlError, PlacementSpec, Translation, couples};
use flashgc_timed::{Loop, Settings, Silent, TimedDrive, Until};
use flashgc_workload::Op;
use flashgc_workload::requests::{Requests, TimedTrace};
use flashgc_workload::trace::{
    Declared, NativeWriter, Numbering, PagingOptions, ReadOptions, Replay, Request, SourceOptions,
    TraceSource,
};
use proptest::prelude::*;

use crate::timed_common::{paper_hardware, settings, sorted_layer};

const PAGE: u64 = 4096;
/// The logical pages: 64 blocks of 8 pages, a quarter of them spare.
const PAGES: u32 = 384;

fn config(victim: &str, placement: &str) -> RunConfig {
    RunConfig {
        blocks: Some(64),
        pages_per_block: Some(8),
        spare: 0.25,
        victim: victim.into(),
        placement: placement.into(),
        frontier: "pool:low=2".into(),
        fill: "empty".into(),
        warmup: "0".into(),
        length: Length::Passes(1),
        ..RunConfig::default()
    }
}

/// A command or hint of a host: an operation on consecutive pages, with the first page and the
/// number of pages.
type Step = (Op, u32, u32);

/// Generates mostly writes, hints and cancelled hints, of a few pages each. The last step is a
/// write, because hints after the last command have no effect.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let op = prop_oneof![
        8 => Just(Op::Write),
        4 => Just(Op::Dirty),
        3 => Just(Op::Clean),
        1 => Just(Op::Trim),
        1 => Just(Op::Read),
    ];
    let page = prop_oneof![3 => 0..60u32, 1 => 0..PAGES];
    let one = (op, page, 1..5u32).prop_map(|(op, page, count)| (op, page, count.min(PAGES - page)));
    prop::collection::vec(one, 800..1500).prop_map(|mut steps| {
        steps.push((Op::Write, 0, 1));
        steps
    })
}

fn requests(steps: &[Step]) -> Vec<Request> {
    let request = |(time, &(op, page, count)): (u64, &Step)| Request {
        time_ns: 1000 * time,
        offset: (u64::from(page) * PAGE) as i64,
        size: u64::from(count) * PAGE,
        op,
        ..Request::default()
    };
    (0..).zip(steps).map(request).collect()
}

/// Records a drive that gets `steps`, and returns the path of the recording.
fn record(folder: &Path, steps: &[Step]) -> PathBuf {
    let path = folder.join("drive.flashgc");
    let mut writer = NativeWriter::new(
        Vec::new(),
        Declared { address_space: Some(u64::from(PAGES) * PAGE), ..Declared::default() },
    )
    .unwrap();
    writer.write(&requests(steps)).unwrap();
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

/// Returns all decisions and counts of a layer, and the state of every page.
fn state(layer: &dyn Translation) -> String {
    layer.audit().unwrap();
    let places: Vec<_> = (0..PAGES).map(|page| layer.locate(page)).collect();
    format!(
        "{:?} {:?} {:?} {places:?}",
        layer.decisions(),
        layer.counters(),
        layer.counts().zombies
    )
}

/// Returns the layer of `config` after `steps`, which are executed page by page.
fn one_by_one(config: &RunConfig, steps: &[Step]) -> Box<dyn Translation> {
    let uniform = flashgc_workload::generate::GeneratorSpec::parse("uniform").unwrap();
    let length = Length::Writes("1x".into());
    let config = RunConfig { workload: "uniform".into(), length, ..config.clone() };
    let mut layer = Resolved::new(&config, Arc::new(uniform), None).unwrap().layer(0).unwrap();
    for &(op, first, count) in steps {
        for page in first..first + count {
            match op {
                Op::Write => layer.write(&[page]).unwrap(),
                Op::Trim => layer.trim(&[page]).unwrap(),
                Op::Dirty => layer.hints().unwrap().hint(&[page]).unwrap(),
                Op::Clean => layer.hints().unwrap().cancel(&[page]).unwrap(),
                Op::Read | Op::Flush => {}
            }
        }
    }
    layer
}

/// Returns the policies that use zombies, each with its placement.
fn that_use_zombies() -> Vec<(&'static str, &'static str)> {
    let named = ["zgc-gd", "zgc-cb"];
    let found = couples().iter().filter(|one| named.contains(&one.name));
    found.map(|one| (one.victim, one.placement)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_replay_does_what_the_drive_did_one_by_one(
        steps in steps(),
        batch in prop_oneof![1..20usize, Just(4096)],
        memory_limit in prop_oneof![Just(0), Just(SourceOptions::MEMORY_LIMIT)],
        stop in 0..500u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = record(folder.path(), &steps);
        let options = SourceOptions { memory_limit, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        prop_assert_eq!(source.numbering(), Numbering::Given);
        for (victim, placement) in that_use_zombies() {
            let config = config(victim, placement);
            let expected = state(&*one_by_one(&config, &steps));
            let drive = || {
                let layer = one_by_one(&config, &[]);
                let replay = source.open(PAGES, Replay::Passes(1)).unwrap();
                CountingDrive::new(layer, Box::new(replay), batch)
            };
            let run = |drive: &mut CountingDrive, amount| {
                while drive.step(Extent { unit: Unit::Commands, amount }).unwrap() {}
            };
            let mut first = drive();
            run(&mut first, stop);
            // Another process continues from this state.
            let mut again = drive();
            let mut bytes = Vec::new();
            let mut to = Writer::new(&mut bytes);
            first.save(&mut to);
            to.finish().unwrap();
            let mut source = bytes.as_slice();
            again.restore(&mut Reader::new(&mut source, bytes.len() as u64)).unwrap();
            for mut drive in [first, again] {
                run(&mut drive, u64::MAX);
                prop_assert_eq!(&state(drive.layer()), &expected, "{} {}", victim, placement);
            }
        }
    }

    #[test]
    fn with_a_clock_it_does_so_too_where_nothing_overlaps(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = record(folder.path(), &steps);
        let (read, paging) = (ReadOptions::default(), PagingOptions::default());
        let trace = TimedTrace::load(&path, &read, paging, |_| true).unwrap();
        for (victim, placement) in that_use_zombies() {
            let expected = state(&*one_by_one(&config(victim, placement), &steps));
            let kept = PlacementSpec::parse(placement).unwrap().kept_for_copies();
            let host = Loop::Closed { threads: 1, think_ns: 1 };
            let mut settings = Settings { host, ..settings(paper_hardware()) };
            settings.collecting.low += kept;
            settings.collecting.high += kept;
            let geometry = flashgc_ftl::Geometry::new(64, 8, PAGES.into()).unwrap();
            let layer = sorted_layer(&settings, geometry, (victim, placement), Fill::Empty, 2);
            let replay = trace.open(PAGES, Some(1), 1.0, None).unwrap();
            let mut drive = TimedDrive::new(settings, layer, Box::new(replay), Silent).unwrap();
            drive.run(Until::END).unwrap();
            let layer = drive.layer();
            layer.audit().unwrap();
            let found = (layer.decisions(), layer.counters(), layer.counts().zombies);
            let found = format!("{:?} {:?} {:?}", found.0, found.1, found.2);
            prop_assert!(expected.starts_with(&found), "{} {}: {} {}", victim, placement, found, expected);
        }
    }
}

#[test]
fn a_hint_that_is_taken_back_leaves_no_zombie() {
    let steps = [
        (Op::Write, 0, 8),
        (Op::Dirty, 0, 6),
        (Op::Clean, 1, 3),
        (Op::Dirty, 2, 1),
        (Op::Write, 0, 1),
    ];
    let folder = tempfile::tempdir().unwrap();
    let source =
        TraceSource::load(record(folder.path(), &steps), SourceOptions::default()).unwrap();
    let layer = one_by_one(&config("z-greedy", "none"), &[]);
    let replay = source.open(PAGES, Replay::Passes(1)).unwrap();
    let mut drive = CountingDrive::new(layer, Box::new(replay), 4096);
    while drive.step(Extent { unit: Unit::Commands, amount: u64::MAX }).unwrap() {}
    // Hints name pages 0 to 5. Those of 1 to 3 are cancelled, and page 2 gets another hint. Page 0
    // is then written.
    let zombies = drive.layer().counts().zombies.unwrap();
    assert_eq!((zombies.marked, zombies.overwritten, zombies.known), (7, 1, 3));
}

/// Returns the runs of a counting drive and of a drive with a clock on the trace at `path`.
fn both(config: &RunConfig, path: &Path) -> [Result<Resolved, FtlError>; 2] {
    let workload = path.to_str().unwrap().to_string();
    let numbering = config.trace.numbering.as_deref().map(|name| Numbering::parse(name).unwrap());
    let paging = PagingOptions { numbering, ..PagingOptions::default() };
    let options = SourceOptions { paging, ..SourceOptions::default() };
    let replay = TraceReplay::load(&workload, options, |_| 8, |_| true).unwrap();
    let counting = RunConfig { workload: workload.clone(), ..config.clone() };
    let read = ReadOptions::default();
    let trace = TimedTrace::load(path, &read, paging, |_| true).unwrap();
    let requests = Requests::Trace(Box::new(trace));
    let timed = RunConfig {
        times: Some("read=25us,program=200us,erase=1.5ms,transfer=10us".into()),
        warmup: "0%".into(),
        timed: Some(TimedConfig::default()),
        ..counting.clone()
    };
    let source: Arc<dyn Source> = Arc::new(replay);
    let clocked: Arc<dyn Source> = Arc::new(TimedSource::new(workload, requests));
    [Resolved::new(&counting, source, None), Resolved::new(&timed, clocked, None)]
}

#[test]
fn the_drive_says_how_many_pages_there_are() {
    let folder = tempfile::tempdir().unwrap();
    // Hints are not requests, so the run has both writes.
    let hints = [(Op::Dirty, 383, 1), (Op::Clean, 383, 1), (Op::Clean, 7, 2)];
    let steps = [&[(Op::Write, 383, 1)], hints.as_slice(), &[(Op::Write, 7, 2)]].concat();
    let path = record(folder.path(), &steps);
    for resolved in both(&config("greedy", "none"), &path) {
        let resolved = resolved.unwrap();
        assert_eq!(resolved.geometry.logical_pages(), PAGES);
        assert_eq!(resolved.config.trace.numbering.as_deref(), Some("given"));
        let result = simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None)
            .unwrap()
            .remove(0);
        assert_eq!((result.counters.host_pages, result.config.run.blocks), (3, Some(64)));
    }
    // A larger drive is accepted. On a smaller one, the request with the highest page is beyond its
    // end.
    let larger = RunConfig { blocks: Some(65), ..config("greedy", "none") };
    assert!(both(&larger, &path).iter().all(Result::is_ok));
    let smaller = RunConfig { blocks: Some(63), ..config("greedy", "none") };
    for resolved in both(&smaller, &path) {
        assert_eq!(
            resolved.err().unwrap().to_string(),
            "request 1 of the trace (offset 1568768) is on logical page 383, and the drive has 378 \
             logical pages, numbered from 0; hint: give more blocks, or numbering=\"address\""
        );
    }
    // With numbering by address, the pages fit on the smallest drive.
    let numbering = Some("address".to_string());
    let trace = TraceConfig { numbering, ..TraceConfig::default() };
    let pages = RunConfig { pages_per_block: Some(8), trace, ..smaller };
    for resolved in both(&pages, &path) {
        assert_eq!(resolved.unwrap().config.trace.numbering.as_deref(), Some("address"));
    }
}

#[test]
fn without_blocks_an_error_says_how_many_the_drive_has() {
    let folder = tempfile::tempdir().unwrap();
    let steps = [(Op::Write, 100, 1)];
    let recording = record(folder.path(), &steps);
    let csv = folder.path().join("trace.csv");
    std::fs::write(&csv, "time_us,op,offset_bytes,size_bytes,dev\n0.000,W,409600,4096,0\n")
        .unwrap();
    let given = TraceConfig { numbering: Some("given".into()), ..TraceConfig::default() };
    let frontier = "single".to_string();
    let base = RunConfig { blocks: None, frontier, ..config("greedy", "none") };
    let missing = "the number of blocks is missing, and the pages of the trace keep the numbers that they \
                   have on a drive of";
    for (path, spare, pages, blocks) in [
        (&recording, 0.25, "384 logical pages", 64),
        // 53 blocks have 8 * 53 * 0.9 = 381.6, rounded to 382 pages; 54 blocks have 389.
        (&recording, 0.1, "384 logical pages", 54),
        (&csv, 0.25, "at least 101 logical pages", 17),
        // 15 blocks have 8 * 15 * 0.84 = 100.8, rounded to 101 pages.
        (&csv, 0.16, "at least 101 logical pages", 15),
    ] {
        let config = RunConfig { spare, trace: given.clone(), ..base.clone() };
        let hint = format!("hint: blocks={blocks} at spare factor {spare}");
        for resolved in both(&config, path) {
            assert_eq!(resolved.err().unwrap().to_string(), format!("{missing} {pages}; {hint}"));
        }
        let config = RunConfig { blocks: Some(blocks), ..config };
        for resolved in both(&config, path) {
            resolved.expect("the hint works");
        }
        let config = RunConfig { blocks: Some(blocks - 1), ..config };
        let logical_pages = if path == &csv { 101 } else { 384 };
        let [smaller, _] = both(&config, path);
        assert!(smaller.map_or(true, |smaller| smaller.geometry.logical_pages() < logical_pages));
    }
    // A trace without given numbers gets its own numbering, and needs only the pages in it.
    let config = RunConfig { blocks: None, spare: 0.25, ..config("greedy", "none") };
    let error = both(&config, &csv)[0].as_ref().err().unwrap().to_string();
    assert!(error.starts_with("the workload addresses 8 pages, expected at least two"), "{error}");
}
