//! The speed of the timed drive, in requests a second of one core. The workload is 4 KiB random
//! writes in steady state on 8 channels and 64 dies, on drives from 16 GB to 1 TB. For comparison,
//! the same run measures the speed of the memory accesses alone.
//!
//! `cargo bench -p flashgc-timed --bench timed` runs it. Options: `-- --smoke` runs a size that
//! takes a second; `-- --gigabytes 64` one size; `-- --requests 1000000` this number of requests,
//! three times; `-- --preemption` semi-preemptive collection; `-- --reads` as many reads as writes;
//! `-- --only-reads` no writes; `-- --outstanding 32` this number of requests at a time instead of
//! 1024; `-- --metered` the measurements of `flashgc run`.

#[path = "../../drive/benches/bare/mod.rs"]
mod bare;
mod tlc;

use std::sync::LazyLock;
use std::time::Instant;

use bare::{Bare, median, writes_with_copies};
use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, PlaneLayout, VictimSpec};
use flashgc_timed::{
    Hardware, Loop, Meter, Observer, Preemption, Silent, TimedDrive, Until, WorstSoFar,
};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, WorkloadError};
use tlc::{OVERPROVISION, PAGES_PER_BLOCK};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| -> Option<u64> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let preemption = match has("--preemption") {
        true => Preemption::Semi { merge: true, pipeline: true },
        false => Preemption::None,
    };
    let sizes = match value("--gigabytes") {
        Some(size) => vec![size * 1_000_000_000],
        None if has("--smoke") => vec![1_000_000_000],
        None => vec![16_000_000_000, 128_000_000_000, 1_000_000_000_000],
    };
    let requests = match value("--requests") {
        Some(requests) => requests,
        None if has("--smoke") => 100_000,
        None => 10_000_000,
    };
    let job = Job {
        reads: match (has("--only-reads"), has("--reads")) {
            (true, _) => Reads::All,
            (_, true) => Reads::Half,
            _ => Reads::None,
        },
        outstanding: value("--outstanding").map_or(1024, |count| count as u32),
        preemption,
        requests,
    };
    println!(
        "{:>8} {:>6} {:>14} {:>9} {:>11} {:>8} {:>12} {:>14}",
        "",
        "ratio",
        "M requests/s",
        "M, limit",
        "M, warm-up",
        "copies",
        "bytes a page",
        "k IOPS, drive"
    );
    for bytes in sizes {
        match has("--metered") {
            true => measure(bytes, job, meter),
            false => measure(bytes, job, |_| Silent),
        }
    }
}

/// The work of a measured drive.
#[derive(Clone, Copy)]
struct Job {
    reads: Reads,
    /// The number of requests at a time.
    outstanding: u32,
    preemption: Preemption,
    requests: u64,
}

/// The requests that are reads; the others are writes.
#[derive(Clone, Copy)]
enum Reads {
    None,
    Half,
    All,
}

/// An endless stream of random requests of 4 KiB.
#[derive(State)]
#[snapshot(refused = "a benchmark is not saved")]
struct Uniform {
    stream: Stream,
    pages: u32,
    reads: Reads,
}

impl RequestStream for Uniform {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        for _ in 0..limit {
            let offset = u64::from(self.stream.below(self.pages)) * 4096;
            let reads = match self.reads {
                Reads::None => false,
                Reads::Half => self.stream.bits() & 1 == 1,
                Reads::All => true,
            };
            let op = if reads { Op::Read } else { Op::Write };
            batch.push(TimedRequest {
                arrival_ns: 0,
                offset,
                bytes: 4096,
                op,
                urgent: false,
                stream: NO_STREAM,
                goes_on: false,
            });
        }
        Ok(())
    }
}

/// Returns the seconds for which this thread has run on a core. If the system does not count them,
/// returns the time since the first call.
fn seconds_on_a_core() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = known.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

/// Returns a meter as `flashgc run` has it.
fn meter(hardware: &Hardware) -> Meter {
    let (dies, planes) = (hardware.all_dies(), hardware.planes);
    Meter::new(0, None, dies, None, WorstSoFar::new(dies, planes, false))
}

fn measure<O: Observer>(bytes: u64, job: Job, observer: impl Fn(&Hardware) -> O) {
    let Job { reads, outstanding, preemption, requests } = job;
    let host = Loop::Closed { threads: outstanding, think_ns: 0 };
    let settings = tlc::settings(host, outstanding, preemption);
    let (hardware, placement) = (settings.hardware, settings.placement);
    let planes = hardware.all_planes();
    let pages = bytes / 4096;
    let blocks = pages as f64 * (1.0 + OVERPROVISION) / f64::from(PAGES_PER_BLOCK);
    let blocks = (blocks as u32).next_multiple_of(planes);
    let geometry = Geometry::new(blocks, PAGES_PER_BLOCK, pages).expect("a valid size");
    let homes = placement.homes(&hardware);
    let layout = PlaneLayout {
        layout: Layout {
            frontier: Frontier::Pool { low: 2 },
            // The drive starts near the steady state, as after many random writes.
            fill: Fill::Random,
            seed: 1,
            ..Layout::new(geometry)
        },
        planes,
        first: 0,
        home: &|page| homes[page as usize % homes.len()],
    };
    let layer = VictimSpec::parse("d-choices:d=10").expect("registered").build(layout);
    let stream = Stream::new(1, "requests");
    let workload = Uniform { stream, pages: pages as u32, reads };
    let mut drive =
        TimedDrive::new(settings, layer.expect("memory"), Box::new(workload), observer(&hardware))
            .expect("the settings above");
    // These writes bring the drive from its random fill to the steady state.
    let mut stream = Stream::new(2, "warm-up");
    let mut batch = vec![0u32; 4096];
    let start = seconds_on_a_core();
    for _ in 0..pages / 4096 {
        batch.iter_mut().for_each(|page| *page = stream.below(pages as u32));
        drive.precondition(&batch).expect("there is room");
    }
    let warm_up = pages as f64 / (seconds_on_a_core() - start);
    let mut rates = Vec::new();
    let before = drive.layer().counters();
    for round in 1..=3 {
        let start = seconds_on_a_core();
        let until = Until { completed: round * requests, time_ns: u64::MAX };
        drive.run(until).expect("there is room");
        rates.push(requests as f64 / (seconds_on_a_core() - start));
    }
    let counted = drive.layer().counters().since(&before);
    let copies = counted.copied_pages as f64 / counted.host_pages.max(1) as f64;
    let memory = drive.layer().memory_bytes() as f64 / pages as f64;
    let simulated = drive.totals().completed as f64 / drive.now() as f64 * 1e6;
    drop(drive);
    let mut bare = Bare::new(&geometry, 0);
    let pages = requests.max(1 << 16);
    let mut light: Vec<f64> = (0..3)
        .map(|_| writes_with_copies(bare.writes(pages), bare.copies(pages), copies))
        .collect();
    let (rate, limit) = (median(&mut rates), median(&mut light));
    println!(
        "{:>5} GB {:>6.3} {:>14.2} {:>9.1} {:>11.1} {copies:>8.2} {memory:>12.2} {simulated:>14.0}",
        bytes / 1_000_000_000,
        rate / limit,
        rate / 1e6,
        limit / 1e6,
        warm_up / 1e6,
    );
}
