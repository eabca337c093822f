//! Measures the speed at which traces are read and replayed, on one core. It is compared with a
//! pass that only finds the line ends of the same file: no reader of text can be faster.
//!
//! `cargo bench -p flashgc-workload --bench trace_readers` generates a trace of 200 MB in a
//! temporary folder. Without `--bench`, as in `cargo test --benches`, the trace has 2 MB, for a
//! smoke test.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use flashgc_workload::trace::{
    Kinds, PagingOptions, ReadOptions, Replay, Request, SourceOptions, TraceReader, TraceSource,
    TraceStat, TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};

/// Generates requests like those of an MSR volume: four of five are writes, and a third follow the
/// previous request. The others are spread over 64 GiB with a hot tenth. Sizes are 512 B to 64 KiB.
fn generate(count: usize) -> Vec<Request> {
    let mut state = 1u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    };
    let mut requests: Vec<Request> = Vec::with_capacity(count);
    let mut time = 128_166_372_003_061_600u64;
    for _ in 0..count {
        time += random(200_000);
        let size = [512, 4096, 4096, 4096, 8192, 16_384, 65_536][random(7) as usize];
        let span = if random(10) < 7 { 1 << 22 } else { 1 << 27 };
        let offset = match requests.last() {
            Some(last) if random(3) == 0 => last.end(),
            _ => random(span) as i64 * 512,
        };
        let op = if random(5) == 0 { Op::Read } else { Op::Write };
        requests.push(Request { time_ns: time * 100, offset, size, op, ..Request::default() });
    }
    requests
}

fn msr(requests: &[Request], path: &Path) {
    let mut out = std::io::BufWriter::new(File::create(path).unwrap());
    for request in requests {
        let op = if request.op == Op::Write { "Write" } else { "Read" };
        let (ticks, response) = (request.time_ns / 100, request.time_ns % 100_000);
        let (offset, size) = (request.offset, request.size);
        writeln!(out, "{ticks},prxy,0,{op},{offset},{size},{response}").unwrap();
    }
}

fn vscsi(requests: &[Request], path: &Path) {
    let mut out = std::io::BufWriter::new(File::create(path).unwrap());
    for (serial, request) in (0u32..).zip(requests) {
        let command: u16 = if request.op == Op::Write { 0x2a } else { 0x28 };
        let words = [serial, request.size as u32, 1, 0x0100 << 16 | u32::from(command)];
        words.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
        out.write_all(&(request.offset as u64 / 512).to_le_bytes()).unwrap();
        out.write_all(&(request.time_ns / 1000).to_le_bytes()).unwrap();
    }
}

/// Returns the best of three runs, which is least disturbed by other work of the machine.
fn best(mut run: impl FnMut() -> u64) -> (f64, u64) {
    let mut best = f64::INFINITY;
    let mut count = 0;
    for _ in 0..3 {
        let start = Instant::now();
        count = black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best, count)
}

fn report(what: &str, bytes: u64, seconds: f64, count: u64, light: f64) {
    let rate = bytes as f64 / seconds / 1e6;
    let requests = count as f64 / seconds / 1e6;
    println!("{what:<28} {rate:>9.0} MB/s {requests:>8.1} M/s   {:>6.2} x", seconds / light);
}

/// Reads the file and finds the line ends. No reader of text can be faster.
fn line_ends(path: &Path) -> u64 {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 256 << 10];
    let mut lines = 0;
    loop {
        let count = file.read(&mut buffer).unwrap();
        if count == 0 {
            return lines;
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..count]).count() as u64;
    }
}

fn decode(path: &Path) -> u64 {
    let mut reader = TraceReader::open(path, &ReadOptions::default()).unwrap();
    let (mut count, mut block) = (0, Vec::new());
    while reader.next_block(&mut block).unwrap() {
        count += black_box(&block).len() as u64;
    }
    count
}

fn write(requests: &[Request], path: &Path) {
    let mut writer = TraceWriter::create(path, None).unwrap();
    requests.chunks(4096).for_each(|piece| writer.write(piece).unwrap());
    writer.finish().unwrap();
}

fn replay(source: &TraceSource) -> u64 {
    let mut workload = source.open(source.logical_pages(64), Replay::Passes(1)).unwrap();
    let (mut batch, mut count) = (Batch::default(), 0);
    loop {
        workload.fill(&mut batch, Batch::DEFAULT_LEN).unwrap();
        count += black_box(&batch).pages.len() as u64;
        if batch.pages.is_empty() {
            return count;
        }
    }
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    // A line of the generated CSV has about 56 bytes.
    let requests = generate(if full { 3_600_000 } else { 36_000 });
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    msr(&requests, &at("msr"));
    vscsi(&requests, &at("vscsi"));
    for name in ["a.csv", "a.flashgc", "a.csv.zst", "a.csv.gz"] {
        write(&requests, &at(name));
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();

    println!(
        "reading, in bytes of the file and in requests; last column: times a memchr pass over"
    );
    println!("the same file\n");
    for (what, name) in [
        ("msr", "msr"),
        ("csv", "a.csv"),
        ("csv.zst", "a.csv.zst"),
        ("csv.gz", "a.csv.gz"),
        ("vscsi1", "vscsi"),
        ("flashgc", "a.flashgc"),
    ] {
        let path = at(name);
        let (light, _) = best(|| line_ends(&path));
        let (seconds, count) = best(|| decode(&path));
        assert_eq!(count, requests.len() as u64);
        report(what, size(&path), seconds, count, light);
    }

    println!("\nstatistics and replay of the msr file; last column: times a memchr pass over it\n");
    let path = at("msr");
    let (light, _) = best(|| line_ends(&path));
    let (seconds, count) = best(|| {
        let reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
        TraceStat::of(reader, PagingOptions::default()).unwrap().page_requests
    });
    report("trace stat, page requests", size(&path), seconds, count, light);
    for (what, kinds, memory_limit) in [
        ("replay from memory", Kinds::All, SourceOptions::MEMORY_LIMIT),
        ("replay of writes", Kinds::Writes, SourceOptions::MEMORY_LIMIT),
        ("replay from the file", Kinds::All, 0),
    ] {
        let options = SourceOptions { kinds, memory_limit, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        let (seconds, count) = best(|| replay(&source));
        report(what, size(&path), seconds, count, light);
        if memory_limit > 0 && kinds == Kinds::All {
            let map = source.map();
            let bytes = map.memory_bytes() as f64 / map.len() as f64;
            println!("{:<28} {bytes:>9.1} bytes a page, {} pages", "address map", map.len());
        }
    }
}
