//! Measures for every generator how many nanoseconds a command takes, in batches of the default
//! length, on one core.
//!
//! `cargo bench -p flashgc-workload --bench generators [-- SECONDS]` runs it. Without `--bench`, as
//! in `cargo test --benches`, it is a smoke run. Each figure is from the fastest of several
//! repetitions.

use std::time::{Duration, Instant};

use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Workload};

const SPECS: &[&str] = &[
    "uniform",
    "hotcold:f=0.2,r=0.8",
    "classes:pages=1/9/90,shares=60/30/10,scatter=no",
    "classes:pages=1/9/90,shares=60/30/10",
    "classes:pages=1/9/90,shares=60/30/10,run=64",
    "classes:pages=1/9/90,shares=60/30/10,scatter=no,burst=16",
    "skew:h=20",
    "skew:h=50",
    "zipf:theta=0.5,scatter=no",
    "zipf:theta=0.99,scatter=no",
    "zipf:theta=0.99",
    "zipf:theta=1",
    "zipf:theta=1.2",
    "zipf:theta=3",
    "normal:hot=0.15",
    "normal:hot=0.35",
    "sequential",
    "sequential:stride=8",
    "phases",
    "tpcc",
    "uniform:read=0.3,trim=0.01",
    "0.7*zipf:theta=0.9 + 0.3*sequential",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let seconds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(0.3);
    let time = Duration::from_secs_f64(if full { seconds } else { 0.0 });
    let mut specs: Vec<String> = SPECS.iter().map(|spec| spec.to_string()).collect();
    match std::env::var("FLASHGC_TRACES") {
        Ok(folder) => {
            specs.push(format!("frequency:path={folder}/msr_write_freq/mds_0.csv.zst"));
        }
        Err(_) => println!("FLASHGC_TRACES is not set: no frequency table"),
    }
    println!("{:>9} {:>9}  ns a command", "2^20", "10^8");
    for text in specs {
        let spec = GeneratorSpec::parse(&text).expect("a known workload");
        let cost = |pages| measure(&mut *spec.open(pages, 1).expect("enough pages"), time);
        println!("{:9.3} {:9.3}  {text}", cost(1 << 20), cost(100_000_000));
    }
}

/// Returns the nanoseconds per command in the fastest repetition.
fn measure(workload: &mut dyn Workload, time: Duration) -> f64 {
    let mut batch = Batch::default();
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    loop {
        let batches = 256;
        let start = Instant::now();
        for _ in 0..batches {
            workload.fill(&mut batch, Batch::DEFAULT_LEN).expect("generators do not fail");
            std::hint::black_box(&batch);
        }
        let commands = (batches * Batch::DEFAULT_LEN) as f64;
        best = best.min(start.elapsed().as_nanos() as f64 / commands);
        if begin.elapsed() >= time {
            return best;
        }
    }
}
