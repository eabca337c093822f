//! Tests of wear: drives with a clock whose blocks wear out end at the same write as the counting
//! drive, and lose no data.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Levelling, Lifespan, PlacementSpec,
    PlaneLayout, VictimSpec,
};
use flashgc_timed::{Hardware, Loop, Settings, Silent, Stop, TimedDrive, Until};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::{Listed, US, paper_hardware, request, settings};

/// Returns hot and cold writes: 90% of them go to a tenth of the pages.
fn writes(count: usize, pages: u32) -> Vec<TimedRequest> {
    let mut stream = Stream::new(5, "writes");
    let mut page = || {
        let page = stream.below(pages);
        if stream.below(10) < 9 { page / 10 } else { page }
    };
    (0..count).map(|_| request(0, Op::Write, page())).collect()
}

fn worn(endurance: &str, ends_at: EndOfLife, geometry: Geometry) -> Layout {
    Layout {
        frontier: Frontier::Pool { low: 2 },
        lifespan: Some(Lifespan { endurance: Endurance::parse(endurance).unwrap(), ends_at }),
        fill: Fill::Random,
        seed: 7,
        ..Layout::new(geometry)
    }
}

#[test]
fn one_die_dies_at_the_same_write_as_the_counting_drive() {
    let geometry = Geometry::with_spare(80, 16, 0.2).unwrap();
    let requests = writes(400_000, geometry.logical_pages());
    let levelled = Some(Levelling { threshold: 4, interval: 5 });
    let cases = [
        ("greedy", "none", "30", EndOfLife::SystemFailure, None),
        ("greedy", "none", "normal:mean=40,cv=0.3", EndOfLife::SystemFailure, None),
        ("greedy", "none", "normal:mean=40,cv=0.3", EndOfLife::FirstFailure, None),
        ("d-choices", "none", "weibull:scale=40,shape=3", EndOfLife::SystemFailure, levelled),
        ("cost-benefit", "dac", "normal:mean=40,cv=0.3", EndOfLife::SystemFailure, None),
    ];
    for (policy, placement, endurance, ends_at, levelling) in cases {
        let context = format!("{policy} {placement} {endurance} {ends_at:?} {levelling:?}");
        let spec = PlacementSpec::parse(placement).unwrap();
        let layout =
            Layout { placement: spec.clone(), levelling, ..worn(endurance, ends_at, geometry) };
        let mut counting = VictimSpec::parse(policy).unwrap().build(layout.clone()).unwrap();
        let pages: Vec<u32> =
            requests.iter().map(|request| (request.offset / 4096) as u32).collect();
        let written = counting.write_until(&pages, u64::MAX).unwrap();
        assert!(counting.has_ended() && written < pages.len(), "{context}: lives too long");

        let host = Loop::Closed { threads: 1, think_ns: 1 };
        let mut settings = Settings { host, ..settings(paper_hardware()) };
        settings.collecting.low += spec.kept_for_copies();
        settings.collecting.high += spec.kept_for_copies();
        let map = VictimSpec::parse(policy).unwrap();
        let map = map.build(PlaneLayout::one(layout)).unwrap();
        let stream = Box::new(Listed::new(requests.clone()));
        let mut timed = TimedDrive::new(settings, map, stream, Silent).unwrap();
        assert_eq!(timed.run(Until::END).unwrap(), Stop::WornOut, "{context}");
        let (layer, wear) = (timed.layer(), timed.layer().wear().unwrap());
        assert_eq!(layer.counters(), counting.counters(), "{context}");
        assert_eq!(layer.decisions(), counting.decisions(), "{context}");
        assert_eq!(layer.counts().levelled, counting.counts().levelled, "{context}");
        let counted = counting.wear().unwrap();
        assert_eq!(wear.first_failure(), counted.first_failure(), "{context}");
        assert_eq!(wear.system_failure(), counted.system_failure(), "{context}");
        assert_eq!(wear.failures(), counted.failures(), "{context}");
        assert_eq!(
            timed.commands_at_first_failure().map(|commands| commands.reads),
            Some(0),
            "{context}"
        );
        layer.audit().unwrap();
        // A drive whose life has ended does not run again.
        assert_eq!(timed.run(Until::END).unwrap(), Stop::WornOut, "{context}");
    }
}

#[test]
fn a_drive_of_many_dies_ends_with_all_that_it_has_completed() {
    let hardware = Hardware { channels: 2, dies: 2, transfer_ns: 5 * US, ..paper_hardware() };
    let geometry = Geometry::with_spare(4 * 40, 16, 0.25).unwrap();
    let mut settings = Settings {
        host: Loop::Closed { threads: 16, think_ns: 0 },
        queue_depth: 16,
        ..settings(hardware)
    };
    settings.collecting.low = 2;
    let homes = settings.placement.homes(&hardware);
    let layout = PlaneLayout {
        layout: worn("normal:mean=30,cv=0.2", EndOfLife::SystemFailure, geometry),
        planes: 4,
        first: 0,
        home: &|page| homes[page as usize % homes.len()],
    };
    let map = VictimSpec::parse("greedy").unwrap().build(layout).unwrap();
    let stream = Box::new(Listed::new(writes(400_000, geometry.logical_pages())));
    let mut timed = TimedDrive::new(settings, map, stream, Silent).unwrap();
    assert_eq!(timed.run(Until::END).unwrap(), Stop::WornOut);
    let completed = timed.totals().completed;
    let layer = timed.layer();
    layer.audit().unwrap();
    let wear = layer.wear().unwrap();
    // In the plane that ended the drive's life, one more block was bad than the plane had in
    // reserve.
    assert!(wear.bad_blocks() > wear.reserve() / 4, "{} bad blocks", wear.bad_blocks());
    // All completed writes are on flash. Only writes under way may be there in addition.
    let host_pages = layer.counters().host_pages;
    assert!((completed..=completed + 16).contains(&host_pages), "{completed} of {host_pages}");
    for page in 0..geometry.logical_pages() {
        assert!(layer.locate(page).is_some(), "page {page} is lost");
    }
}
