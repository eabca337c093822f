//! The speed of the page caches, in references a second of one core. Each figure is the fastest of
//! several repetitions.
//!
//! `cargo bench -p flashgc-host [-- SECONDS]` runs it. Without `--bench`, as in `cargo test
//! --benches`, it is a short trial run.

use std::time::{Duration, Instant};

use flashgc_base::rng::Stream;
use flashgc_host::{PageCache, PageCacheSpec, page_caches};

/// The cases: the name, the pages of the swap space, the pages of the cache, and a divisor `n`:
/// nine in ten references go to 1/`n` of the swap space.
const CASES: [(&str, u32, u32, u32); 3] = [
    ("all hits, 2 K of 2 K pages", 2048, 2048, 1),
    ("4 MiB of 64 MiB, hot half of the cache", 32_768, 2048, 32),
    ("64 MiB of 1 GiB, hot half of the cache", 524_288, 32_768, 32),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let seconds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(0.5);
    let time = Duration::from_secs_f64(if full { seconds } else { 0.0 });
    for (name, pages, capacity, hot) in CASES {
        let mut rng = Stream::new(1, "references");
        let references: Vec<(u32, bool)> = (0..1 << 20)
            .map(|_| {
                let within = if rng.below(10) < 9 { pages / hot } else { pages };
                (rng.below(within), rng.below(4) == 0)
            })
            .collect();
        for info in page_caches() {
            let spec = PageCacheSpec::parse(info.name).expect("a known policy");
            let mut cache = spec.build(pages, capacity).expect("enough pages");
            let (rate, hits) = measure(cache.as_mut(), &references, time);
            println!(
                "{rate:7.1} M references/s, {:4.1}% hits  {}, {name}",
                100.0 * hits,
                info.name
            );
        }
    }
}

/// Returns the speed in millions of references a second, and the share of hits.
fn measure(cache: &mut dyn PageCache, references: &[(u32, bool)], time: Duration) -> (f64, f64) {
    let mut best = 0.0f64;
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        let mut hits = 0u64;
        for &(page, write) in references {
            if cache.touch(page, write) {
                hits += 1;
            } else {
                std::hint::black_box(cache.make_room());
                cache.insert(page, write);
            }
        }
        best = best.max(references.len() as f64 / start.elapsed().as_secs_f64() / 1e6);
        if begin.elapsed() >= time {
            return (best, hits as f64 / references.len() as f64);
        }
    }
}
