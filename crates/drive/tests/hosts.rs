//! A drive behind a host: its decisions do not depend on the batches of commands and hints, and the
//! gain from a hint shows.

use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{Frontier, Geometry, Layout, PlacementSpec, VictimSpec};
use flashgc_host::HostSpec;
use flashgc_workload::generate::GeneratorSpec;

fn drive(victim: &str, placement: &str, hints: &str, batch: usize) -> CountingDrive {
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        placement: PlacementSpec::parse(placement).unwrap(),
        seed: 1,
        ..Layout::new(Geometry::with_spare(200, 16, 0.15).unwrap())
    };
    let pages = layout.geometry.logical_pages();
    let layer = VictimSpec::parse(victim).unwrap().build(layout).unwrap();
    let application = GeneratorSpec::parse("hotcold:f=0.1,r=0.9,read=0.2,trim=0.02").unwrap();
    let host = HostSpec::parse("page-cache:size=800KiB,rate=1000,speed=800", hints).unwrap();
    let host = host.open(application.open(pages, 5).unwrap(), 4096, pages, 5).unwrap();
    CountingDrive::new(layer, Box::new(host), batch)
}

#[test]
fn decisions_and_stops_do_not_depend_on_how_commands_and_hints_are_batched() {
    for hints in ["piggyback", "dsm:ranges=5", "perfect:lost=0.2,wrong=0.1,late=30"] {
        for (victim, placement) in [
            ("z-greedy", "none"),
            ("z-cost-benefit", "dac:zombie-block=yes"),
            ("greedy", "dac:zombie-block=yes"),
        ] {
            for target in [
                Extent { unit: Unit::Writes, amount: 9_001 },
                Extent { unit: Unit::Commands, amount: 10_007 },
                Extent { unit: Unit::Collections, amount: 403 },
            ] {
                let run = |batch: usize| {
                    let mut drive = drive(victim, placement, hints, batch);
                    while drive.step(target).unwrap() {}
                    let layer = drive.layer();
                    layer.audit().unwrap();
                    let counted = (layer.decisions(), layer.counters(), drive.asked().reads);
                    (
                        counted,
                        layer.counts().zombies.map(|zombies| (zombies.marked, zombies.copied)),
                    )
                };
                let whole = run(4096);
                let (marked, _) = whole.1.expect("zombies are kept");
                assert!(marked > 1000, "{marked}");
                for batch in [1, 7, 100] {
                    assert_eq!(run(batch), whole, "{hints} {victim} {placement} {target:?}");
                }
            }
        }
    }
}

#[test]
fn hints_spare_copies_of_zombies() {
    let copies = |hints: &str| {
        let mut drive = drive("z-greedy", "dac:zombie-block=yes", hints, 4096);
        while drive.step(Extent { unit: Unit::Writes, amount: 60_000 }).unwrap() {}
        drive.layer().counters().copied_pages
    };
    let (told, untold) = (copies("perfect"), copies("none"));
    assert!((told as f64) < 0.97 * untold as f64, "{told} {untold}");
}
