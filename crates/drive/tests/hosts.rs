//! A drive behind a host: its decisions do not depend on the batches of commands and hints, and the
//! gain from a hint shows.

use flashgc_base::snapshot::State;
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{Frontier, Geometry, Layout, PlacementSpec, VictimSpec};
use flashgc_host::HostSpec;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op, Workload, WorkloadError};

/// An application with hot and cold pages. One part of it writes in no stream, the other in stream
/// 1.
const APPLICATION: &str = "0.6*hotcold:f=0.1,r=0.9,read=0.2,trim=0.02,stream=1 + \
                           0.4*hotcold:f=0.1,r=0.9,read=0.2,trim=0.02";

fn drive(victim: &str, placement: &str, hints: &str, batch: usize) -> CountingDrive {
    let layout = Layout {
        streams: true,
        frontier: Frontier::Pool { low: 2 },
        placement: PlacementSpec::parse(placement).unwrap(),
        seed: 1,
        ..Layout::new(Geometry::with_spare(200, 16, 0.15).unwrap())
    };
    let pages = layout.geometry.logical_pages();
    let layer = VictimSpec::parse(victim).unwrap().build(layout).unwrap();
    let application = GeneratorSpec::parse(APPLICATION).unwrap();
    let host = HostSpec::parse("page-cache:size=800KiB,rate=1000,speed=800", hints).unwrap();
    let host = host.with_streams(true, None);
    let host = host.open(application.open(pages, 5).unwrap(), 4096, pages, 5).unwrap();
    CountingDrive::new(layer, Box::new(host), batch).behind_cache(true)
}

#[test]
fn a_position_in_commands_is_one_of_the_application_and_not_of_its_cache() {
    // A cache that is asked for one command at a time shows which requests it has served by then.
    let requests = |batch: usize, amount: u64| {
        let mut drive = drive("greedy", "none", "none", batch);
        while drive.step(Extent { unit: Unit::Commands, amount }).unwrap() {}
        assert_eq!(drive.position(Unit::Commands), amount);
        (drive.layer().counters(), drive.commands().reads)
    };
    let pages = Geometry::with_spare(200, 16, 0.15).unwrap().logical_pages();
    for amount in [1, 300, 5_000, 10_007] {
        // The same cache without a drive: the commands that it sends for the same number of
        // requests.
        let application = GeneratorSpec::parse(APPLICATION).unwrap().open(pages, 5).unwrap();
        let first = Box::new(First { inner: application, left: amount as usize });
        let spec = HostSpec::parse("page-cache:size=800KiB,rate=1000,speed=800", "none").unwrap();
        let mut host = spec.open(first, 4096, pages, 5).unwrap();
        let (mut batch, mut writes, mut reads) = (Batch::default(), 0, 0);
        loop {
            host.fill(&mut batch, 100).unwrap();
            if batch.pages.is_empty() {
                break;
            }
            writes += batch.ops.iter().filter(|&&op| op == Op::Write).count() as u64;
            reads += batch.ops.iter().filter(|&&op| op == Op::Read).count() as u64;
        }
        assert!(amount < 5000 || writes + reads < amount * 9 / 10, "the cache spares commands");
        for batch in [1, 7, 4096] {
            let (counters, read) = requests(batch, amount);
            assert_eq!((counters.host_pages, read), (writes, reads), "{amount} {batch}");
        }
    }
}

/// A workload of the first `left` requests of another one.
#[derive(State)]
#[snapshot(refused = "a part of a workload is not saved")]
struct First {
    inner: Box<dyn Workload>,
    left: usize,
}

impl Workload for First {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        let limit = limit.min(self.left);
        self.left -= limit;
        match limit {
            0 => batch.clear(),
            limit => self.inner.fill(batch, limit)?,
        }
        Ok(())
    }
}

#[test]
fn decisions_and_stops_do_not_depend_on_how_commands_and_hints_are_batched() {
    for hints in
        ["piggyback", "dsm:ranges=5", "perfect:lost=0.2,wrong=0.1,late=30", "oracle:horizon=0.1"]
    {
        for (victim, placement) in [
            ("z-greedy", "none"),
            ("z-cost-benefit", "dac:zombie-block=yes"),
            ("greedy", "dac:zombie-block=yes"),
            ("z-greedy", "fdp:handles=2"),
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
                    let position = drive.position(Unit::Commands);
                    let counted =
                        (layer.decisions(), layer.counters(), drive.commands().reads, position);
                    (
                        counted,
                        layer.counts().zombies.map(|zombies| (zombies.marked, zombies.copied)),
                        layer.counts().streams,
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
