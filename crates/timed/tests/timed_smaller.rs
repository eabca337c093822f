//! Superblocks that go on without their bad blocks, on a drive with a clock: it decides as the counting drive
//! does, and a die does nothing for a superblock that its blocks have left.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Lifespan, Members, PageBuffer,
    PlacementSpec, PlaneLayout, Shrinking, VictimSpec,
};
use flashgc_timed::{Hardware, Loop, Place, Settings, Stop, TimedDrive, Until, Work};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::{
    Checker, Listed, PAGE, Recorder, US, layout_of, map_of, paper_hardware, request, settings,
};

const BLOCKS: u32 = 20;
const ROWS: u32 = 6;

/// A drive of superblocks over dies.
#[derive(Clone, Copy, Debug)]
struct Shape {
    dies: u32,
    /// The parts of the parity.
    parts: Option<u32>,
    planes: u32,
    /// The flash pages of a program.
    pages: u32,
}

impl Shape {
    fn members(self) -> Members {
        Members::new(self.dies, self.parts)
    }

    /// The settings, and the layout of the one plane of the map. A flash page of a plane has 2 units.
    fn drive(self, victim: &str, placement: &str, seed: u64) -> (Settings, Layout) {
        let Self { dies, planes, pages, .. } = self;
        let hardware = Hardware {
            channels: if dies > 1 { 2 } else { 1 },
            dies: dies.div_ceil(2),
            page_bytes: 2 * PAGE * planes,
            units_per_page: 2 * planes,
            pages_per_program: pages,
            members: self.members(),
            transfer_ns: 2 * u64::from(planes) * US,
            ..paper_hardware()
        };
        let all = ROWS * dies * 2 * planes * pages;
        let b = all - self.parts.map_or(0, |parts| all / parts);
        let spec = PlacementSpec::parse(placement).unwrap();
        let geometry = Geometry::with_spare(BLOCKS, b, 0.45).unwrap();
        let settings = settings(hardware);
        let layout = layout_of(&settings, geometry, placement, Fill::Empty, 2, true);
        let layout = Layout {
            placement: spec,
            buffer: PageBuffer { planes, ..layout.buffer },
            blocks_together: dies * planes,
            shrinking: Some(Shrinking { members: self.members(), least: 0.5 }),
            lifespan: Some(Lifespan {
                endurance: Endurance::parse("normal:mean=12,cv=0.5").unwrap(),
                ends_at: EndOfLife::SystemFailure,
            }),
            frontier: Frontier::Pool { low: 2 },
            seed,
            ..layout
        };
        assert!(VictimSpec::parse(victim).is_ok());
        (settings, layout)
    }

    /// The erases after which each die leaves each superblock: that of its last plane or, with parity, of its
    /// first.
    fn leaves(self, layout: &Layout) -> Vec<Vec<u32>> {
        let blocks = BLOCKS * self.dies * self.planes;
        let mut stream = Stream::new(layout.seed, "endurance");
        let limits = layout.lifespan.unwrap().endurance.limits(blocks, &mut stream);
        let of_die = |planes: &[u32]| match self.parts {
            Some(_) => *planes.iter().min().unwrap(),
            None => *planes.iter().max().unwrap(),
        };
        let of_dies: Vec<u32> = limits.chunks(self.planes as usize).map(of_die).collect();
        of_dies.chunks(self.dies as usize).map(<[u32]>::to_vec).collect()
    }
}

const SHAPES: [Shape; 5] = [
    Shape { dies: 1, parts: None, planes: 4, pages: 1 },
    Shape { dies: 4, parts: None, planes: 1, pages: 1 },
    Shape { dies: 4, parts: None, planes: 2, pages: 3 },
    Shape { dies: 4, parts: Some(4), planes: 2, pages: 1 },
    Shape { dies: 4, parts: Some(16), planes: 4, pages: 1 },
];

/// Returns hot and cold writes: 90% of them go to a tenth of the pages.
fn writes(count: usize, pages: u32) -> Vec<TimedRequest> {
    let mut stream = Stream::new(5, "writes");
    let mut page = || {
        let page = stream.below(pages);
        if stream.below(10) < 9 { page / 10 } else { page }
    };
    (0..count).map(|_| request(0, Op::Write, page())).collect()
}

#[test]
fn smaller_superblocks_over_all_dies_decide_as_the_counting_drive_to_the_end_of_life() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        for (victim, placement) in [
            ("greedy", "none"),
            ("fifo", "none"),
            ("random", "dac:regions=2"),
            ("cost-benefit", "multilog:levels=2"),
        ] {
            let context = format!("{shape:?} {victim} {placement}");
            let (mut settings, layout) = shape.drive(victim, placement, index as u64);
            let kept = layout.placement.kept_for_copies();
            settings.collecting.low += kept;
            settings.collecting.high += kept;
            settings.host = Loop::Closed { threads: 1, think_ns: 1 };
            let requests = writes(400_000, layout.geometry.logical_pages());
            let pages: Vec<u32> =
                requests.iter().map(|request| (request.offset / u64::from(PAGE)) as u32).collect();
            let spec = VictimSpec::parse(victim).unwrap();
            let mut counting = spec.build(layout.clone()).unwrap();
            let written = counting.write_until(&pages, u64::MAX).unwrap();
            assert!(counting.has_ended() && written < pages.len(), "{context}: lives too long");
            let map = spec.build(PlaneLayout::one(layout.clone())).unwrap();
            let stream = Box::new(Listed::new(requests));
            let mut timed = TimedDrive::new(settings, map, stream, Recorder::default()).unwrap();
            assert_eq!(timed.run(Until::END).unwrap(), Stop::WornOut, "{context}");
            let layer = timed.layer();
            layer.audit().unwrap();
            assert_eq!(layer.counters(), counting.counters(), "{context}");
            assert_eq!(layer.decisions(), counting.decisions(), "{context}");
            assert_eq!(layer.counts().skipped, counting.counts().skipped, "{context}");
            let (wear, counted) = (layer.wear().unwrap(), counting.wear().unwrap());
            assert_eq!(wear.shrunk(), counted.shrunk(), "{context}");
            assert!(counted.shrunk().unwrap().superblocks > 2, "{context}: {counted:?}");
            assert_eq!(wear.first_failure(), counted.first_failure(), "{context}");
            assert_eq!(wear.system_failure(), counted.system_failure(), "{context}");
        }
    }
}

#[test]
fn a_die_does_nothing_for_superblocks_that_its_blocks_have_left() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        let (mut settings, layout) = shape.drive("greedy", "none", index as u64);
        settings.host = Loop::Closed { threads: 1, think_ns: 1 };
        let leaves = shape.leaves(&layout);
        let logical_pages = layout.geometry.logical_pages();
        let requests = writes(18 * logical_pages as usize, logical_pages);
        let unit_ns = settings.hardware.transfer_ns / u64::from(settings.hardware.units_per_page);
        let of_program = u64::from(settings.hardware.units_per_program());
        let map = VictimSpec::parse("greedy").unwrap();
        let map = map.build(PlaneLayout::one(layout.clone())).unwrap();
        let stream = Box::new(Listed::new(requests));
        let mut timed = TimedDrive::new(settings, map, stream, Recorder::default()).unwrap();
        // Until the requests end, or the drive's life does.
        timed.run(Until::END).unwrap();
        let layer = timed.layer();
        let blocks = layer.blocks(0);
        let spans = &timed.observer().spans;
        let count = |die: u32, place: Place, work: Work| {
            let is_it = |span: &&flashgc_timed::Span| {
                (span.die, span.place, span.work) == (die, place, work)
            };
            spans.iter().filter(is_it).count() as u64
        };
        let mut all_programs = 0;
        for member in 0..shape.dies {
            // Members go from channel to channel.
            let die = if shape.dies > 1 { member % 2 * (shape.dies / 2) + member / 2 } else { 0 };
            let of_die = |block: u32| leaves[block as usize][member as usize];
            let erased = |block: u32| blocks.erase_count(block).min(of_die(block));
            let erases: u64 = (0..BLOCKS).map(|block| u64::from(erased(block))).sum();
            // The requests may end before the last erase.
            let counted = count(die, Place::Cells, Work::Erase);
            assert!(
                counted == erases || counted + 1 == erases,
                "{shape:?}, die {die}: {counted} {erases}"
            );
            // A superblock that is full has been filled once more than it was erased.
            let has = |block: &u32| blocks.erase_count(*block) < of_die(*block);
            let full = (0..BLOCKS).filter(|&block| blocks.is_candidate(block)).filter(has).count();
            let of_full = u64::from(ROWS) * (erases + full as u64);
            let programs = count(die, Place::Cells, Work::Program);
            // Two superblocks are open, and programs of one that is full may be under way.
            let rows = u64::from(ROWS);
            let (least, most) = (of_full - rows, of_full + 2 * rows);
            assert!((least..=most).contains(&programs), "{shape:?}, die {die}: {programs} {least}");
            all_programs += programs;
        }
        let of_bus =
            |span: &&flashgc_timed::Span| span.place == Place::Bus && span.work == Work::Program;
        let bus: u64 = spans.iter().filter(of_bus).map(|it| it.end_ns - it.begin_ns).sum();
        let data = layer.counters().programs();
        match shape.parts {
            // Each unit of data goes over the bus once, but those that wait in the buffer.
            None => {
                let moved = bus / unit_ns;
                let buffered = 16 * of_program;
                assert!(moved <= data && data <= moved + buffered, "{shape:?}: {moved} {data}");
            }
            // Programs are whole ones, with data or parity on each of the planes.
            Some(_) => assert_eq!(bus, all_programs * of_program * unit_ns, "{shape:?}"),
        }
        let shrunk = layer.wear().unwrap().shrunk().unwrap();
        assert!(shrunk.superblocks > 2, "{shape:?}: {shrunk:?}");
    }
}

#[test]
fn every_read_is_current_where_superblocks_lose_blocks() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        let (mut settings, layout) = shape.drive("greedy", "none", index as u64);
        settings.host = Loop::Closed { threads: 24, think_ns: 0 };
        settings.queue_depth = 24;
        let pages = layout.geometry.logical_pages();
        let mut stream = Stream::new(9, "requests");
        let requests: Vec<TimedRequest> = (0..40 * pages)
            .map(|_| {
                let page = stream.below(pages) * stream.below(pages) / pages;
                let op = [Op::Write, Op::Write, Op::Read, Op::Read, Op::Trim];
                let op = op[stream.below(5).min(4 - u32::from(stream.below(8) > 0)) as usize];
                request(0, op, page)
            })
            .collect();
        let map = map_of(&settings, "greedy", layout);
        let checker = Checker::new(&*map);
        let source = Box::new(Listed::new(requests.clone()));
        let mut timed = TimedDrive::new(settings, map, source, checker).unwrap();
        let stop = timed.run(Until::END).unwrap();
        timed.layer().audit().unwrap();
        let shrunk = timed.layer().wear().unwrap().shrunk().unwrap();
        assert!(shrunk.superblocks > 1, "{shape:?}: {shrunk:?}");
        if stop != Stop::WornOut {
            timed.observer().check_end(timed.layer(), requests.len());
        }
        assert!(timed.observer().reads_checked > 2000);
    }
}
