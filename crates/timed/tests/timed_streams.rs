//! Tests of streams: each page of a request has the stream of its own address, as on the counting
//! drive, before the clock starts and after.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{Counters, Fill, Frontier, Geometry, Layout, PlacementSpec, VictimSpec};
use flashgc_timed::{Loop, Settings, TimedDrive, Until};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, RangedRequests, StreamRanges};

use crate::timed_common::{
    Listed, PAGE, Recorder, paper_hardware, request, settings, sorted_layer,
};

const PLACEMENT: &str = "fdp:handles=2";

fn geometry() -> Geometry {
    Geometry::with_spare(100, 16, 0.2).unwrap()
}

/// Returns ranges in which the first fifth of the pages has stream 0, and the rest has stream 1.
fn ranges() -> Arc<StreamRanges> {
    let all = u64::from(geometry().logical_pages()) * u64::from(PAGE);
    let border = u64::from(geometry().logical_pages() / 5) * u64::from(PAGE);
    let table = format!("0, {border}, 0\n{border}, {all}, 1\n");
    Arc::new(StreamRanges::parse(Path::new("table"), table.as_bytes()).unwrap())
}

/// Returns requests of up to 60 pages, each with its pages. Many lie in both ranges.
fn requests(count: usize) -> Vec<(TimedRequest, Vec<u32>)> {
    let pages = geometry().logical_pages();
    let mut rng = Stream::new(3, "requests");
    let mut next = || {
        let first = if rng.below(2) == 0 { rng.below(pages / 4) } else { rng.below(pages - 60) };
        let count = 1 + rng.below(60);
        let op = if rng.below(10) == 0 { Op::Trim } else { Op::Write };
        let bytes = count * PAGE;
        (TimedRequest { bytes, ..request(0, op, first) }, (first..first + count).collect())
    };
    (0..count).map(|_| next()).collect()
}

/// Runs the requests on the counting drive, with the stream of each page. Returns its counts and
/// the digest of its decisions.
fn counted(requests: &[(TimedRequest, Vec<u32>)]) -> (Counters, u64) {
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        streams: true,
        placement: PlacementSpec::parse(PLACEMENT).unwrap(),
        fill: Fill::Random,
        seed: 7,
        ..Layout::new(geometry())
    };
    let mut layer = VictimSpec::parse("greedy").unwrap().build(layout).unwrap();
    for (request, pages) in requests {
        for &page in pages {
            if request.op == Op::Trim {
                layer.trim(&[page]).unwrap();
                continue;
            }
            let stream = ranges().of(u64::from(page) * u64::from(PAGE)).unwrap_or(NO_STREAM);
            layer.streams().unwrap().name(&[page], &[stream]).unwrap();
            layer.write(&[page]).unwrap();
        }
    }
    (layer.counters(), layer.decisions())
}

/// Returns the requests with streams, cut into pieces where the stream changes.
fn named(requests: Vec<TimedRequest>) -> Vec<TimedRequest> {
    let mut stream = RangedRequests::new(Box::new(Listed::new(requests)), ranges(), PAGE);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        stream.fill(&mut batch, 100).unwrap();
        if batch.is_empty() {
            return all;
        }
        all.append(&mut batch);
    }
}

fn timed(requests: Vec<TimedRequest>) -> TimedDrive<Recorder> {
    // The host sends one request at a time, and the drive is idle in between.
    let host = Loop::Closed { threads: 1, think_ns: 1_000_000_000 };
    let mut settings = Settings { host, ..settings(paper_hardware()) };
    settings.collecting.low += PlacementSpec::parse(PLACEMENT).unwrap().kept_for_copies();
    settings.collecting.high = settings.collecting.low;
    let layer = sorted_layer(&settings, geometry(), ("greedy", PLACEMENT), Fill::Random, 2);
    let requests = Box::new(Listed::new(requests));
    TimedDrive::new(settings, layer, requests, Recorder::default()).unwrap()
}

#[test]
fn each_page_of_a_request_has_the_stream_of_its_own_address() {
    let all = requests(3000);
    let each = all.iter().map(|(request, _)| *request).collect();
    let each = named(each);
    let expected = counted(&all);
    assert!(each.len() > all.len(), "some requests are in pieces");
    assert!(expected.0.copied_pages > 1000 && expected.0.trimmed_pages > 1000, "{expected:?}");
    let mut before = timed(Vec::new());
    before.prepare(&each, u64::MAX).unwrap();
    assert_eq!((before.counters(), before.layer().decisions()), expected, "before the clock");
    let mut with = timed(each);
    with.run(Until::END).unwrap();
    assert_eq!((with.counters(), with.layer().decisions()), expected, "with the clock");
}
