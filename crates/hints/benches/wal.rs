//! Measures the decoder of PostgreSQL's log: megabytes of log per second of processor time, on one
//! core.
//!
//! `cargo bench -p flashgc-hints --bench wal [-- SECONDS]` runs it; without `--bench`, as in `cargo
//! test --benches`, it is a smoke run. `FLASHGC_WAL` can name a file of a real log, as in `pg_wal`,
//! or several consecutive ones joined into one file. Each figure is that of the fastest of several
//! repetitions.

use std::time::Duration;

#[expect(dead_code, reason = "only part of it is used here")]
#[path = "../tests/wal/builder.rs"]
mod builder;

use builder::{Block, Content, Log, plain};
use flashgc_hints::wal::Decoder;
use rustix::time::{ClockId, clock_gettime};

/// The number of bytes in a chunk, as a replication client reads them from its socket.
const CHUNK: usize = 128 << 10;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let seconds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(if full { seconds } else { 0.0 });
    let size = if full { 64 << 20 } else { 1 << 20 };
    let small = synthetic(size, &[None]);
    measure("rows of 100 bytes", &small, time);
    let images = synthetic(size, &[None, None, None, Some((6000, 1))]);
    measure("every fourth record with an image", &images, time);
    if let Some(path) = std::env::var_os("FLASHGC_WAL") {
        let bytes = std::fs::read(&path).expect("FLASHGC_WAL names a file that can be read");
        let start = bytes.get(8..16).and_then(|place| place.try_into().ok());
        let start = u64::from_le_bytes(start.expect("FLASHGC_WAL names a log"));
        measure("the log of FLASHGC_WAL", &(start, bytes), time);
    }
}

/// Makes a log of at least `size` bytes. Each record refers to one block. The blocks have the
/// images of `images` in turn.
fn synthetic(size: usize, images: &[Option<(u16, u8)>]) -> (u64, Vec<u8>) {
    let mut log = Log::new(0xD110, 1 << 30);
    for (number, &image) in (0..).zip(images.iter().cycle()) {
        let blocks = vec![Block { image, data: 60, ..plain(number % 9, number) }];
        let main = vec![number as u8; 14];
        log.record(&Content {
            manager: 10,
            blocks,
            main,
            transaction: number,
            ..Content::default()
        });
        if log.bytes.len() >= size {
            break;
        }
    }
    (log.start, log.bytes)
}

/// Decodes a log repeatedly until `time` has passed, and prints the figures.
fn measure(name: &str, (start, bytes): &(u64, Vec<u8>), time: Duration) {
    let (begin, mut best) = (processor(), Duration::MAX);
    loop {
        let (mut decoder, mut at) = (Decoder::new(*start), *start);
        let (mut records, mut references) = (0u64, 0u64);
        let once = processor();
        for chunk in bytes.chunks(CHUNK) {
            let fed = decoder.feed(at, chunk, &mut |record| {
                records += 1;
                references += record.blocks.len() as u64;
            });
            if let Err(error) = fed {
                println!("ended by: {error}");
                break;
            }
            at += chunk.len() as u64;
        }
        best = best.min(processor() - once);
        if processor() - begin >= time {
            let rate = (at - start) as f64 / best.as_secs_f64() / 1e6;
            let each = best.as_secs_f64() * 1e9 / records as f64;
            println!(
                "{rate:7.0} MB/s, {each:4.0} ns a record  {name}: {records} records, {references} \
                 references, {best:?} of processor time"
            );
            return;
        }
    }
}

/// The time that the processor has spent on this process.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
