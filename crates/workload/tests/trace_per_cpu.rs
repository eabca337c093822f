//! Captures in which the streams of the CPUs lie one after the other are replayed in the order of
//! time.

use std::path::Path;

use flashgc_workload::Op;
use flashgc_workload::trace::{ReadOptions, Request, TraceReader};

/// An event: its CPU, its time in nanoseconds, and the first of the 8 sectors written.
type Event = (u32, u64, u64);

/// Returns the events of `cpus` CPUs, one CPU after the other.
fn events(cpus: u32, each: u64) -> Vec<Event> {
    let event = |cpu: u32, i: u64| {
        (cpu, 1_000_000 + i * 100_000 + u64::from(cpu) * 37_000, i * 7919 % 500 * 8)
    };
    (0..cpus).flat_map(|cpu| (0..each).map(move |i| event(cpu, i))).collect()
}

fn written(format: &str, events: &[Event]) -> Vec<u8> {
    let line = |(number, (cpu, ns, sector)): (usize, &Event)| {
        let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        match format {
            "blkparse" => format!("  8,0  {cpu} {number} {time}   100  D   W {sector} + 8 [app]\n")
                .into_bytes(),
            "ftrace" => {
                let event = "block_rq_issue: 8,0 W 4096 ()";
                format!("  app [x]-100 [{cpu:03}] d..1. {time}: {event} {sector} + 8 [app]\n")
                    .into_bytes()
            }
            _ => {
                let mut record = Vec::new();
                record.extend(0x6561_7407u32.to_le_bytes());
                record.extend((number as u32).to_le_bytes());
                record.extend(ns.to_le_bytes());
                record.extend(sector.to_le_bytes());
                record.extend(4096u32.to_le_bytes());
                record.extend((1u32 << 17 | 7).to_le_bytes());
                record.extend(100u32.to_le_bytes());
                record.extend((8u32 << 20).to_le_bytes());
                record.extend(cpu.to_le_bytes());
                record.extend([0; 4]);
                record
            }
        }
    };
    events.iter().enumerate().flat_map(line).collect()
}

fn read(path: &Path, bytes: &[u8]) -> (Vec<Request>, String) {
    std::fs::write(path, bytes).unwrap();
    let mut reader = TraceReader::open(path, &ReadOptions::default()).unwrap();
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        all.extend_from_slice(&block);
    }
    (all, reader.notes().join("; "))
}

#[test]
fn streams_of_each_cpu_are_merged_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture");
    // The larger captures are longer than the part that is read first.
    for (cpus, each) in [(2, 300), (3, 200), (2, 6000)] {
        let mut merged = events(cpus, each);
        merged.sort_by_key(|event| event.1);
        for format in ["blkparse", "ftrace", "blktrace"] {
            let joined = written(format, &events(cpus, each));
            let (found, note) = read(&path, &joined);
            let right = read(&path, &written(format, &merged));
            assert_eq!(found.len() as u64, u64::from(cpus) * each, "{format}");
            assert_eq!(found, right.0, "{format}");
            assert!(
                note.contains(&format!("the streams of {cpus} CPUs lie one after the other")),
                "{note}"
            );
            assert!(!right.1.contains("the streams of"), "{}", right.1);
            let packed = zstd::encode_all(joined.as_slice(), 1).unwrap();
            assert_eq!(read(&path, &packed).0, found, "{format}");
        }
    }
}

#[test]
fn whoever_reads_can_stop_before_all_is_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture");
    std::fs::write(&path, written("blkparse", &events(2, 30_000))).unwrap();
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    let mut block = Vec::new();
    for _ in 0..5 {
        assert!(reader.next_block(&mut block).unwrap());
        assert_eq!(block, []);
    }
    assert!(reader.progress().read() < reader.progress().total / 2);
}

#[test]
fn other_steps_back_are_left_to_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture");
    let one = events(1, 300);
    // In these captures, no streams of CPUs lie one after the other: two captures of one CPU, a CPU
    // whose own clock goes back, and a CPU whose events are from another day.
    let twice = [one.clone(), one.clone()].concat();
    let mut jumped = events(2, 300);
    jumped[450].1 = 1_000_000;
    let mut days = events(2, 300);
    days[..300].iter_mut().for_each(|event| event.1 += 86_400_000_000_000);
    for (events, name) in [(twice, "twice"), (jumped, "jumped"), (days, "days")] {
        for format in ["blkparse", "ftrace", "blktrace"] {
            let (found, note) = read(&path, &written(format, &events));
            let in_file: Vec<u64> = events.iter().map(|event| event.1).collect();
            assert_eq!(found.iter().map(|request| request.time_ns).collect::<Vec<_>>(), in_file);
            assert!(!note.contains("the streams of"), "{format} {name}: {note}");
        }
    }
    assert!(
        read(&path, &written("blkparse", &one)).0.iter().all(|request| request.op == Op::Write)
    );
}
