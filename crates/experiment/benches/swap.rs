//! Measures the page references a second that go through a page cache and the translation layer
//! below it, on one core.
//!
//! `cargo bench -p flashgc-experiment --bench swap` runs it; `-- --smoke` runs a size that takes a
//! second.

use std::sync::Arc;
use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_drive::extent::{Length, Pass};
use flashgc_drive::source::Source;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{RunConfig, SwapConfig};
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::requests::Space;
use flashgc_workload::{Batch, Op, Workload, WorkloadError};

/// The number of page references in the recording that the benchmark replays.
const RECORDED: usize = 1 << 20;
/// The number of pages of the working set.
const WORKING_SET: u32 = 2400;
/// The number of references after which an eighth of the working set is replaced by other pages.
const PHASE: u32 = 50_000;

/// The references of a program whose working set moves, or uniform references.
#[derive(Clone, State)]
#[snapshot(refused = "a benchmark is not saved")]
struct Recorded {
    pages: Arc<Vec<u32>>,
    ops: Arc<Vec<Op>>,
    at: usize,
}

impl Recorded {
    fn new(pages: u32, local: bool) -> Self {
        let mut rng = Stream::new(1, "references");
        let mut refer = |index: u32| {
            if !local {
                return rng.below(pages);
            }
            // Two places are drawn and the smaller one is taken, so that pages early in the working
            // set are accessed more often.
            let place = rng.below(WORKING_SET).min(rng.below(WORKING_SET));
            (index / PHASE * (WORKING_SET / 8) + place * 7) % pages
        };
        let touched: Vec<u32> = (0..RECORDED as u32).map(&mut refer).collect();
        let op = |_| if rng.below(10) < 3 { Op::Write } else { Op::Read };
        let ops: Vec<Op> = (0..RECORDED).map(op).collect();
        Self { pages: touched.into(), ops: ops.into(), at: 0 }
    }
}

impl Workload for Recorded {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        let end = RECORDED.min(self.at + limit);
        batch.clear();
        batch.pages.extend_from_slice(&self.pages[self.at..end]);
        batch.ops.extend_from_slice(&self.ops[self.at..end]);
        self.at = end % RECORDED;
        Ok(())
    }
}

impl Source for Recorded {
    fn canonical(&self) -> String {
        "recorded".to_string()
    }

    fn fixed_pages(&self, _: u32) -> Option<u32> {
        None
    }

    fn pass(&self) -> Option<Pass> {
        None
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    fn open(&self, _: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        Ok(Box::new(self.clone()))
    }
}

fn main() {
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    let references = if smoke { 200_000 } else { 40_000_000 };
    // The swap space is 50 MB, in blocks of 64 pages of 2 KiB; the memory is 4 MiB.
    let (data, b) = (400u32, 64u32);
    for local in [true, false] {
        let source: Arc<dyn Source> = Arc::new(Recorded::new(data * b, local));
        println!("{}", if local { "a working set that moves" } else { "uniform references" });
        for (mapping, scheme) in [
            ("page", "du-gc"),
            ("page", "da-gc"),
            ("bast:log_blocks=32,log_only=yes", "du-gc"),
            ("fast:log_blocks=32,log_only=yes", "du-gc"),
            ("fast:log_blocks=32,log_only=yes", "lda-gc5"),
            ("fast:log_blocks=128,log_only=yes", "du-gc"),
            ("fast:log_blocks=128,log_only=yes", "lda-gc5"),
        ] {
            let config = RunConfig {
                blocks: Some(data + 129),
                pages_per_block: Some(b),
                page_size: 2048,
                spare: 1.0 - f64::from(data) / f64::from(data + 129),
                mapping: mapping.into(),
                victim: "greedy".into(),
                frontier: "pool:low=2".into(),
                swap: Some(SwapConfig {
                    cache_pages: 2048,
                    policy: "3-region".into(),
                    scheme: scheme.into(),
                }),
                workload: source.canonical(),
                warmup: "0".into(),
                length: Length::Requests(references),
                ..RunConfig::default()
            };
            let resolved = Resolved::new(&config, source.clone(), None).expect("it can be made");
            let start = Instant::now();
            let results =
                simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None);
            let seconds = start.elapsed().as_secs_f64();
            let swap = results.expect("it runs").remove(0).swap.expect("there is a page cache");
            println!(
                "  {mapping:<34} {scheme:<8} {:6.1} M references/s, {:4.1}% misses, {:4.1}% swapped out",
                references as f64 / seconds / 1e6,
                100.0 * (1.0 - swap.counts.hits as f64 / references as f64),
                100.0 * swap.counts.swap_outs as f64 / references as f64
            );
        }
    }
}
