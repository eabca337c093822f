//! Tests that a request means the same on both drives: a timed drive of one die makes the same
//! decisions and counts as the counting drive. Requests are writes, reads and discards of 1 to 64
//! pages with streams, some in two pieces. They may begin and end within a page. In some cases a
//! flush follows after a fixed number of page writes.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{
    Counters, Fill, Frontier, Geometry, Layout, Packing, PageBuffer, PlacementSpec, VictimSpec,
};
use flashgc_timed::{Hardware, Loop, Settings, TimedDrive, Until};
use flashgc_workload::requests::TimedRequest;
use flashgc_workload::{Batch, Flushing, FlushingRequests, Op, Workload, WorkloadError};

use crate::timed_common::{Listed, PAGE, Recorder, paper_hardware, request, settings, unit_layer};

/// Returns the pages that a request touches; for a discard, those that it covers as a whole.
fn pages_of(request: &TimedRequest) -> std::ops::Range<u32> {
    let page = u64::from(PAGE);
    let (first, behind) = match request.op {
        Op::Trim => (request.offset.div_ceil(page), request.end() / page),
        _ => (request.offset / page, request.end().div_ceil(page)),
    };
    first as u32..(behind as u32).max(first as u32)
}

/// A workload that cuts listed requests into commands on pages, as a trace does.
struct Commands {
    requests: Vec<TimedRequest>,
    next: usize,
}

impl State for Commands {
    fn save(&self, to: &mut Writer<'_>) {
        to.refuse(Fault::new("a list of requests is not saved"));
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Err(Fault::new("a list of requests is not saved"))
    }
}

impl Workload for Commands {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        let mut goes_on = false;
        while let Some(request) = self.requests.get(self.next) {
            let pages = pages_of(request);
            // A batch only has whole requests.
            if !goes_on && batch.pages.len() + 2 * 64 > limit.max(128) {
                break;
            }
            let first = batch.pages.len() as u32 + u32::from(!goes_on);
            batch.ops.extend(pages.clone().map(|_| request.op));
            batch.streams.extend(pages.clone().map(|_| request.stream));
            batch.pages.extend(pages);
            batch.joints.extend(first..batch.pages.len() as u32);
            goes_on = request.goes_on;
            self.next += 1;
        }
        Ok(())
    }
}

fn drawn(count: usize, pages: u32, seed: u64) -> Vec<TimedRequest> {
    let mut rng = Stream::new(seed, "requests");
    let mut all = Vec::new();
    while all.len() < count {
        let most = if rng.below(4) == 0 { 64 } else { 6 };
        let length = 1 + rng.below(most);
        let pages = if rng.below(2) == 0 { pages / 4 } else { pages };
        let first = rng.below(pages - length);
        let (before, behind) = match rng.below(3) {
            0 => (rng.below(PAGE), rng.below(PAGE)),
            _ => (0, 0),
        };
        let op =
            [Op::Write, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Read][rng.below(6) as usize];
        let bytes = (length * PAGE - before).saturating_sub(behind).max(1);
        let stream = [0, 1, NO_STREAM][rng.below(3) as usize];
        let whole = TimedRequest { bytes, stream, ..request(0, op, first) };
        let whole = TimedRequest { offset: whole.offset + u64::from(before), ..whole };
        if op == Op::Write && length > 3 && rng.below(2) == 0 {
            // The request has two pieces; the second half is at another address.
            let half = (length / 2) * PAGE - before;
            let other = rng.below(pages - length);
            all.push(TimedRequest { bytes: half, goes_on: true, ..whole });
            all.push(TimedRequest { bytes: bytes - half, ..request(0, op, other) });
            all.last_mut().unwrap().stream = stream;
            continue;
        }
        all.push(whole);
    }
    all
}

type Counted = (Counters, u64, Option<Packing>);

#[test]
fn a_request_is_the_same_on_both_drives() {
    let geometry = Geometry::with_spare(120, 16, 0.3).unwrap();
    let cases = [
        ("greedy", "none", 1, 0),
        ("d-choices:d=4", "none", 4, 7),
        ("greedy", "none", 4, 1),
        ("cost-benefit", "none", 4, 20),
        ("cost-benefit", "dac:regions=2", 4, 0),
        ("greedy", "fdp:handles=2", 4, 0),
        ("fifo", "sepbit", 1, 0),
        ("greedy", "fdp:handles=2", 1, 0),
    ];
    for (seed, (policy, placement, units, every)) in (1..).zip(cases) {
        let context = format!("{policy} {placement}, {units} units, a flush behind {every}");
        let spec = PlacementSpec::parse(placement).unwrap();
        let requests = drawn(3000, geometry.logical_pages(), seed);
        let is_protected = every == 0;
        let buffer = PageBuffer {
            units_per_page: units,
            planes: 1,
            pages_per_program: 1,
            is_protected,
            second_pass: None,
        };
        let layout = Layout {
            frontier: Frontier::Pool { low: 2 },
            streams: spec.needs_streams(),
            placement: spec.clone(),
            buffer,
            fill: Fill::Random,
            seed: 7,
            ..Layout::new(geometry)
        };
        let mut counting = VictimSpec::parse(policy).unwrap().build(layout).unwrap();
        let commands = Box::new(Commands { requests: requests.clone(), next: 0 });
        let mut commands: Box<dyn Workload> = match every {
            0 => commands,
            every => Box::new(Flushing::new(commands, every)),
        };
        let mut batch = Batch::default();
        loop {
            commands.fill(&mut batch, 512).unwrap();
            let mut flushes = batch.flushes.iter().peekable();
            for (number, &page) in (0..).zip(&batch.pages) {
                while flushes.next_if_eq(&&number).is_some() {
                    counting.flush();
                }
                if let Some(streams) = counting.streams() {
                    streams.name(&[page], &[batch.stream(number as usize)]).unwrap();
                }
                match batch.op(number as usize) {
                    Op::Write => counting.write(&[page]).unwrap(),
                    Op::Trim => counting.trim(&[page]).unwrap(),
                    _ => {}
                }
            }
            flushes.for_each(|_| counting.flush());
            if batch.pages.is_empty() {
                break;
            }
        }
        let expected: Counted =
            (counting.counters(), counting.decisions(), counting.counts().packing);

        let hardware =
            Hardware { page_bytes: PAGE * units, units_per_page: units, ..paper_hardware() };
        // The host sends one request at a time, and the drive is idle in between.
        let host = Loop::Closed { threads: 1, think_ns: 1_000_000_000 };
        let mut settings = Settings { host, ..settings(hardware) };
        settings.collecting.low += spec.kept_for_copies();
        settings.collecting.high = settings.collecting.low;
        let layer =
            unit_layer(&settings, geometry, (policy, placement), Fill::Random, 2, is_protected);
        let listed = Box::new(Listed::new(requests));
        let stream: Box<dyn flashgc_workload::requests::RequestStream> = match every {
            0 => listed,
            every => Box::new(FlushingRequests::new(listed, every, PAGE)),
        };
        let mut timed = TimedDrive::new(settings, layer, stream, Recorder::default()).unwrap();
        timed.run(Until::END).unwrap();
        let layer = timed.layer();
        let found: Counted = (layer.counters(), layer.decisions(), layer.counts().packing);
        assert_eq!(found, expected, "{context}");
        assert!(expected.0.copied_pages > 1000, "{context}: {expected:?}");
        assert_eq!(expected.2.is_some_and(|packing| packing.padding > 0), every > 0, "{context}");
    }
}
