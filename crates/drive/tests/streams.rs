//! Streams of writes on the drive that counts: each write has its own stream, however commands are
//! batched.

use std::collections::BTreeMap;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{Frontier, Geometry, Layout, PlacementSpec, StreamTotals, VictimSpec};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op};

/// Parts that write the same pages in different streams, and one without a stream that reads and
/// TRIMs.
const WORKLOAD: &str = "0.5*hotcold:f=0.1,r=0.9,stream=0 + 0.3*uniform:stream=3 + \
                        0.1*uniform:stream=7,to=0.5 + 0.1*uniform:read=0.3,trim=0.3";
const WRITES_ALONE: &str = "0.6*hotcold:f=0.02,r=0.9,stream=1 + 0.4*uniform:to=0.1";
const REQUESTS: u64 = 40_000;

fn geometry() -> Geometry {
    Geometry::with_spare(200, 16, 0.15).unwrap()
}

fn layout(placement: &str) -> Layout {
    Layout {
        frontier: if placement == "none" { Frontier::Double } else { Frontier::Pool { low: 2 } },
        placement: PlacementSpec::parse(placement).unwrap(),
        streams: true,
        ..Layout::new(geometry())
    }
}

/// Returns the decisions and counts of a drive that is asked for `batch` commands at a time.
fn driven(workload: &str, placement: &str, batch: usize) -> (u64, StreamTotals) {
    let layer = VictimSpec::parse("greedy").unwrap().build(layout(placement)).unwrap();
    let source = GeneratorSpec::parse(workload).unwrap();
    let source = source.open(geometry().logical_pages(), 1).unwrap();
    let mut drive = CountingDrive::new(layer, source, batch);
    while drive.step(Extent { unit: Unit::Commands, amount: REQUESTS }).unwrap() {}
    drive.layer().audit().unwrap();
    (drive.layer().decisions(), drive.layer().counts().streams.unwrap().clone())
}

/// Returns the decisions and counts of the same commands, executed one by one.
fn one_by_one(workload: &str, placement: &str) -> (u64, StreamTotals) {
    let mut layer = VictimSpec::parse("greedy").unwrap().build(layout(placement)).unwrap();
    let source = GeneratorSpec::parse(workload).unwrap();
    let mut source = source.open(geometry().logical_pages(), 1).unwrap();
    let mut batch = Batch::default();
    source.fill(&mut batch, REQUESTS as usize).unwrap();
    for command in 0..batch.pages.len() {
        let page = [batch.pages[command]];
        match batch.op(command) {
            Op::Write => {
                let named = layer.streams().unwrap().name(&page, &[batch.stream(command)]);
                assert_eq!(named.unwrap(), 1);
                layer.write(&page).unwrap();
            }
            Op::Trim => layer.trim(&page).unwrap(),
            _ => {}
        }
    }
    (layer.decisions(), layer.counts().streams.unwrap().clone())
}

#[test]
fn every_write_is_of_its_own_stream_however_commands_are_batched() {
    for workload in [WORKLOAD, WRITES_ALONE] {
        for placement in ["none", "dac", "fdp:handles=4", "fdp:handles=2,persistent=2"] {
            let expected = one_by_one(workload, placement);
            for batch in [1, 7, 500, 4096] {
                assert_eq!(driven(workload, placement, batch), expected, "{placement} {batch}");
            }
        }
    }
}

#[test]
fn what_streams_wrote_is_what_the_workload_says() {
    let source = GeneratorSpec::parse(WORKLOAD).unwrap();
    let mut source = source.open(geometry().logical_pages(), 1).unwrap();
    let mut batch = Batch::default();
    source.fill(&mut batch, REQUESTS as usize).unwrap();
    let mut written = BTreeMap::<StreamId, u64>::new();
    for command in (0..batch.pages.len()).filter(|&command| batch.op(command) == Op::Write) {
        *written.entry(batch.stream(command)).or_default() += 1;
    }
    assert_eq!(written.keys().copied().collect::<Vec<_>>(), [0, 3, 7, NO_STREAM]);
    let (_, totals) = driven(WORKLOAD, "none", 4096);
    for (entry, counts) in (0..).zip(&totals.streams) {
        assert_eq!(counts.host_pages, written.get(&entry).copied().unwrap_or(0), "{entry}");
    }
}
