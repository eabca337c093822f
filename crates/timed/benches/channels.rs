//! The gain in speed if the channels of a drive are simulated separately. The workload is 4 KiB
//! random writes in an open loop, in steady state, on 8 channels and 64 dies. The same requests are
//! simulated in three ways: on the drive as a whole, by channel on one thread, and by channel on
//! several threads. All results must be equal.
//!
//! `cargo bench -p flashgc-timed --bench channels` runs it. Options: `-- --smoke` runs a size that
//! takes a second; `-- --gigabytes 16`, `-- --requests 1000000`, `-- --rate 15000` (requests a
//! second of the drive), `-- --queue-depth 256`, `-- --threads 2`, `-- --rounds 3`, `-- --pages 4`
//! (the most pages of a request).

mod tlc;

use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, PlaneLayout, Stepwise, VictimSpec};
use flashgc_timed::{Channels, Loop, Meter, Preemption, Settings, TimedDrive, Until, WorstSoFar};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Batch, Op, WorkloadError};
use tlc::{OVERPROVISION, PAGES_PER_BLOCK};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str, default: f64| -> f64 {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let is_smoke = has("--smoke");
    let bench = Bench {
        bytes: value("--gigabytes", if is_smoke { 1.0 } else { 16.0 }) as u64 * 1_000_000_000,
        requests: value("--requests", if is_smoke { 50_000.0 } else { 2_000_000.0 }) as u64,
        rate: value("--rate", 15_000.0),
        queue_depth: value("--queue-depth", 65_536.0) as u32,
        pages: value("--pages", 1.0) as u32,
    };
    let threads = value("--threads", 2.0) as usize;
    let rounds = value("--rounds", if is_smoke { 1.0 } else { 3.0 }) as usize;
    let mut fastest = [f64::INFINITY; 3];
    for _ in 0..rounds {
        let ways = [bench.whole(), bench.by_channel(1), bench.by_channel(threads)];
        for (fastest, (seconds, told)) in fastest.iter_mut().zip(&ways) {
            *fastest = fastest.min(*seconds);
            assert_eq!(told, &ways[0].1, "the digits depend on how the drive is simulated");
        }
    }
    let [whole, one, more] = fastest.map(|seconds| bench.requests as f64 / seconds / 1e6);
    println!(
        "{} GB, {} outstanding at most, M requests/s: {whole:.2} as a whole;\n  by channel {one:.2} \
         on one thread ({:.2} times), {more:.2} on {threads} ({:.2} times one)",
        bench.bytes / 1_000_000_000,
        bench.queue_depth,
        one / whole,
        more / one,
    );
}

/// An endless stream of random writes that arrive at random times.
#[derive(State)]
#[snapshot(refused = "a benchmark is not saved")]
struct Random {
    stream: Stream,
    pages: u32,
    most: u32,
    gap_ns: f64,
    now: f64,
}

impl RequestStream for Random {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        for _ in 0..limit {
            let pages = if self.most == 1 { 1 } else { 1 + self.stream.below(self.most) };
            let uniform = (self.stream.bits() >> 11) as f64 / (1u64 << 53) as f64;
            self.now -= self.gap_ns * (1.0 - uniform).ln();
            batch.push(TimedRequest {
                arrival_ns: self.now as u64,
                offset: u64::from(self.stream.below(self.pages + 1 - pages)) * 4096,
                bytes: pages * 4096,
                op: Op::Write,
                urgent: false,
                stream: NO_STREAM,
                goes_on: false,
            });
        }
        Ok(())
    }
}

struct Bench {
    bytes: u64,
    requests: u64,
    rate: f64,
    queue_depth: u32,
    pages: u32,
}

impl Bench {
    fn settings(&self) -> Settings {
        tlc::settings(Loop::Open, self.queue_depth, Preemption::None)
    }

    fn pages(&self) -> u32 {
        (self.bytes / 4096) as u32
    }

    fn layer(&self, settings: &Settings, pages: u32, first: u32) -> Box<dyn Stepwise> {
        let planes = settings.hardware.all_planes();
        let all_planes = self.settings().hardware.all_planes();
        let blocks = f64::from(self.pages()) * (1.0 + OVERPROVISION) / f64::from(PAGES_PER_BLOCK);
        let blocks = (blocks as u32).div_ceil(all_planes) * planes;
        let geometry = Geometry::new(blocks, PAGES_PER_BLOCK, pages.into()).expect("a valid size");
        let homes = settings.placement.homes(&settings.hardware);
        let layout = PlaneLayout {
            layout: Layout {
                frontier: Frontier::Pool { low: 2 },
                fill: Fill::Random,
                seed: 1,
                ..Layout::new(geometry)
            },
            planes,
            first,
            home: &|page| homes[page as usize % homes.len()],
        };
        let policy = VictimSpec::parse("d-choices:d=10").expect("registered");
        policy.build(layout).expect("memory")
    }

    fn requests(&self) -> Box<Random> {
        Box::new(Random {
            stream: Stream::new(1, "requests"),
            pages: self.pages(),
            most: self.pages,
            gap_ns: 1e9 / self.rate,
            now: 0.0,
        })
    }

    fn meter(dies: u32) -> Meter {
        Meter::new(0, None, dies, None, WorstSoFar::new(dies, 1, false))
    }

    /// Returns random pages that bring the drive to its steady state.
    fn warming(&self) -> impl Iterator<Item = Vec<u32>> {
        let (pages, mut stream) = (self.pages(), Stream::new(2, "warm-up"));
        (0..pages / 65_536).map(move |_| (0..65_536).map(|_| stream.below(pages)).collect())
    }

    fn told(meter: &Meter, decisions: u64) -> String {
        let latencies = meter.latencies();
        format!("{:?} {} {decisions}", meter.window(), latencies.sum_ns())
    }

    fn whole(&self) -> (f64, String) {
        let settings = self.settings();
        let meter = Self::meter(settings.hardware.all_dies());
        let layer = self.layer(&settings, self.pages(), 0);
        let drive = TimedDrive::new(settings, layer, self.requests(), meter);
        let mut drive = drive.expect("the settings above");
        self.warming().for_each(|pages| {
            drive.precondition(&pages).expect("there is room");
        });
        let start = Instant::now();
        drive.run(Until { completed: self.requests, ..Until::END }).expect("there is room");
        let seconds = start.elapsed().as_secs_f64();
        let now = drive.now();
        eprintln!(
            "{:.0} requests/s of the drive, {} outstanding at the end",
            self.requests as f64 / now as f64 * 1e9,
            drive.totals().arrived - drive.totals().completed
        );
        drive.observer_mut().finish(now);
        let decisions = drive.layer().decisions();
        (seconds, Self::told(drive.observer(), decisions))
    }

    fn by_channel(&self, threads: usize) -> (f64, String) {
        let settings = self.settings();
        let map = |settings: &Settings, channel: u32, pages: u32| {
            Ok(self.layer(settings, pages, channel * settings.hardware.all_planes()))
        };
        let made =
            Channels::new(&settings, self.pages(), self.requests(), threads, Self::meter, map);
        let mut drive = made.expect("the settings above");
        self.warming().for_each(|pages| {
            let before = Batch { pages, ..Batch::default() };
            drive.precede(&before).expect("there is room");
        });
        let start = Instant::now();
        drive.run(self.requests, u64::MAX).expect("there is room");
        let seconds = start.elapsed().as_secs_f64();
        let decisions = drive.decisions();
        (seconds, Self::told(&drive.measured(), decisions))
    }
}
