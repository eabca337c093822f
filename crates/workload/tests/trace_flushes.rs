//! Flush commands of traces: the lines and records that mean a flush, and the place of the flush in
//! a replay.

use std::path::PathBuf;

use crate::trace_common;
use flashgc_workload::requests::{Arrivals, RequestStream, TimedTrace};
use flashgc_workload::trace::{
    Kinds, PagingOptions, ReadOptions, Replay, Request, SourceOptions, TraceError, TraceReader,
    TraceSource, TraceStat, TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};
use proptest::prelude::*;

fn keeping() -> ReadOptions {
    ReadOptions { keep_flushes: true, ..ReadOptions::default() }
}

/// Returns the operations, first sectors and times (us) of a trace in memory, including flushes.
fn kept(bytes: &[u8]) -> Vec<(Op, i64, u64)> {
    let reader = trace_common::reader(bytes, &keeping()).unwrap();
    let requests: Result<Vec<Request>, TraceError> = reader.requests().collect();
    let requests = requests.unwrap();
    let flushes = || requests.iter().filter(|request| request.op == Op::Flush);
    assert!(flushes().all(|flush| (flush.offset, flush.size) == (0, 0)));
    // Without flushes, the requests are the same, in the same order, and flushes are counted.
    let mut reader = trace_common::reader(bytes, &ReadOptions::default()).unwrap();
    let (mut without, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        without.extend_from_slice(&block);
    }
    assert_eq!(reader.flushes(), flushes().count() as u64);
    let asked = requests.iter().copied().filter(|request| request.op != Op::Flush);
    assert_eq!(without, asked.collect::<Vec<_>>());
    requests.iter().map(|r| (r.op, r.offset / 512, r.time_ns / 1000)).collect()
}

#[test]
fn flushes_of_blkparse_by_hand() {
    use Op::{Flush, Read, Write};
    let text = "\
  8,0    1        1     0.000001000   100  D   W 8 + 8 [app]
  8,0    1        2     0.000002000   100  D  FN [app]
  8,0    1        3     0.000003000   100  D FWS 16 + 8 [app]
  8,0    1        4     0.000004000   100  D  FF 0 + 0 [app]
  8,0    1        5     0.000005000   100  D FWS 0 + 0 [app]
  8,0    1        6     0.000006000   100  D WFS 24 + 8 [app]
  8,0    1        7     0.000007000   100  D FWFSM 32 + 8 [app]
  8,0    1        8     0.000008000   100  D  RF 40 + 8 [app]
  8,0    1        9     0.000009000   100  D   N 0 + 0 [app]
  8,0    1       10     0.000010000   100  Q  FN [app]
  8,0    1       11     0.000011000   100  D  WS [app]
";
    let expected = [
        (Write, 8, 1),
        (Flush, 0, 2),
        (Flush, 0, 3), // F before W: the flush comes first
        (Write, 16, 3),
        (Flush, 0, 4),
        (Flush, 0, 5),
        (Write, 24, 6), // FUA: the write, then a flush
        (Flush, 0, 6),
        (Flush, 0, 7), // both flushes
        (Write, 32, 7),
        (Flush, 0, 7),
        (Read, 40, 8), // a read with FUA has no flush; N, other actions and 0 sectors give nothing
    ];
    assert_eq!(kept(text.as_bytes()), expected);
    let stat = |options: &ReadOptions| {
        let reader = trace_common::reader(text.as_bytes(), options).unwrap();
        TraceStat::of(reader, PagingOptions::default()).unwrap()
    };
    let stats = stat(&ReadOptions::default());
    // 5 of 11 lines are requests. The others, with and without flushes, are not.
    assert_eq!(
        (stats.requests, stats.writes, stats.flushes, stats.others.ignored_lines),
        (5, 4, 7, 6)
    );
    assert_eq!(stat(&keeping()), stats);
    // A device that is not read has no flushes.
    let options = ReadOptions { devices: vec![3], ..keeping() };
    let mut reader = trace_common::reader(text.as_bytes(), &options).unwrap();
    let mut block = Vec::new();
    while reader.next_block(&mut block).unwrap() {
        assert_eq!(block, []);
    }
    assert_eq!(reader.flushes(), 0);
}

#[test]
fn flushes_of_ftrace_by_hand() {
    use Op::{Flush, Write};
    let text = "\
     app-100     [003] d..1.  1.000001: block_rq_issue: 8,0 W 4096 () 8 + 8 [app]
     app-100     [003] d..1.  1.000002: block_rq_issue: 8,0 FF 0 () 0 + 0 [app]
     app-100     [003] d..1.  1.000003: block_rq_issue: 8,0 WFS 4096 () 16 + 8 [app]
";
    let expected = [
        (Write, 8, 1_000_001),
        (Flush, 0, 1_000_002),
        (Write, 16, 1_000_003),
        (Flush, 0, 1_000_003),
    ];
    assert_eq!(kept(text.as_bytes()), expected);
}

#[test]
fn flushes_of_blktrace_by_hand() {
    use Op::{Flush, Read, Write};
    // The categories of blktrace_api.h are in the upper half: read, write, flush, FUA. The action
    // is issue, 7.
    let (read, write, flush, fua) = (1u32 << 16, 1 << 17, 1 << 18, 1 << 31);
    let mut bytes = Vec::new();
    for (us, sector, size, action) in [
        (1u64, 8u64, 4096u32, write),
        (2, 0, 0, flush),
        (3, 16, 4096, flush | write),
        (4, 24, 4096, write | fua),
        (5, 32, 4096, read | fua),
        (6, 0, 0, write),
        (7, 40, 4096, flush | write | fua),
    ] {
        let mut record = [0; 48];
        record[..4].copy_from_slice(&0x6561_7407u32.to_le_bytes());
        record[8..16].copy_from_slice(&(1000 * us).to_le_bytes());
        record[16..24].copy_from_slice(&sector.to_le_bytes());
        record[24..28].copy_from_slice(&size.to_le_bytes());
        record[28..32].copy_from_slice(&(action | 1 << 22 | 7).to_le_bytes());
        record[36..40].copy_from_slice(&(8u32 << 20).to_le_bytes());
        bytes.extend_from_slice(&record);
    }
    let expected = [
        (Write, 8, 1),
        (Flush, 0, 2),
        (Flush, 0, 3),
        (Write, 16, 3),
        (Write, 24, 4),
        (Flush, 0, 4),
        (Read, 32, 5),
        (Flush, 0, 7),
        (Write, 40, 7),
        (Flush, 0, 7),
    ];
    assert_eq!(kept(&bytes), expected);
}

#[test]
fn our_own_formats_keep_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let one = |op, time_ns, offset, size| Request {
        time_ns,
        offset,
        size,
        device: 2,
        op,
        ..Request::default()
    };
    let requests = [
        one(Op::Dirty, 5, 0, 512),
        Request::flush(7, 2),
        one(Op::Write, 7, 512, 512),
        Request::flush(6, 0),
        one(Op::Read, 1000, 1024, 4096),
    ];
    for name in ["trace.csv", "trace.flashgc", "trace.flashgc.zst"] {
        let path = folder.path().join(name);
        let mut writer = TraceWriter::create(&path, None).unwrap();
        writer.write(&requests).unwrap();
        writer.finish().unwrap();
        let read: Result<Vec<Request>, _> =
            TraceReader::open(&path, &keeping()).unwrap().requests().collect();
        assert_eq!(read.unwrap(), requests, "{name}");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(kept(&bytes).len(), 5, "{name}");
    }
    for (line, expected) in [
        ("1.000,F,0,512,0", "found '512', expected 0 bytes, as a flush has no data"),
        ("1.000,F,4096,0,0", "found '4096', expected offset 0, as a flush has no place"),
    ] {
        let text = format!("time_us,op,offset_bytes,size_bytes,dev\n{line}\n");
        let error = trace_common::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn save(folder: &tempfile::TempDir, requests: &[Request]) -> PathBuf {
    let path = folder.path().join("trace.flashgc");
    let mut writer = TraceWriter::create(&path, None).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    path
}

/// Returns the page commands of a replay and, as `None`, its flushes, drawn in batches of sizes
/// that alternate between `limits`.
fn drain(mut replay: impl Workload, limits: &[usize]) -> Vec<Option<(Op, u32)>> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for limit in limits.iter().cycle() {
        replay.fill(&mut batch, *limit).unwrap();
        let mut flushes = batch.flushes.iter().peekable();
        for (i, &page) in batch.pages.iter().enumerate() {
            while flushes.next_if_eq(&&(i as u32)).is_some() {
                all.push(None);
            }
            all.push(Some((batch.ops.get(i).copied().unwrap_or(Op::Write), page)));
        }
        if batch.pages.is_empty() {
            assert!(flushes.clone().all(|&before| before == 0));
            all.extend(flushes.map(|_| None));
            break;
        }
        assert_eq!(flushes.next(), None, "a flush behind the last command of a batch");
    }
    all
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![
        3 => Just(Op::Write), 1 => Just(Op::Read), 1 => Just(Op::Trim), 3 => Just(Op::Flush)
    ];
    let one = (op, 0..40i64, 1..6u64).prop_map(|(op, page, pages)| match op {
        Op::Flush => Request::flush(0, 0),
        op => Request { offset: 4096 * page, size: 4096 * pages, op, ..Request::default() },
    });
    prop::collection::vec(one, 1..60)
}

proptest! {
    #[test]
    fn a_flush_keeps_its_place_among_the_commands_that_are_left(
        requests in requests(),
        kinds in prop_oneof![Just(Kinds::All), Just(Kinds::Changes), Just(Kinds::Writes)],
        share in 1..=4u32,
        limits in prop_oneof![
            Just(vec![1]), Just(vec![3]), Just(vec![4096]), prop::collection::vec(1..50usize, 1..5)
        ],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = save(&folder, &requests);
        for memory_limit in [0, SourceOptions::MEMORY_LIMIT] {
            let options =
                SourceOptions { kinds, memory_limit, read: keeping(), ..SourceOptions::default() };
            let Ok(source) = TraceSource::load(&path, options) else { continue };
            // Some drives are too small for the last pages.
            let logical_pages = (source.map().len() as u32 * share / 4).max(1);
            let mut once = Vec::new();
            for request in &requests {
                if request.op == Op::Flush {
                    once.push(None);
                } else if kinds.keep(request.op) {
                    let first = request.offset / 4096;
                    let pages = first..first + (request.size / 4096) as i64;
                    let numbers = pages.filter_map(|page| source.map().get(0, page));
                    let here = numbers.filter(|&number| number < logical_pages);
                    once.extend(here.map(|number| Some((request.op, number))));
                }
            }
            if once.iter().all(Option::is_none) {
                continue;
            }
            let replay = source.open(logical_pages, Replay::Passes(3)).unwrap();
            let expected = [once.clone(), once.clone(), once].concat();
            prop_assert_eq!(drain(replay, &limits), expected);
            // Without `keep_flushes` there are no flushes.
            let options = SourceOptions { kinds, memory_limit, ..SourceOptions::default() };
            let source = TraceSource::load(&path, options).unwrap();
            let found = drain(source.open(logical_pages, Replay::Passes(1)).unwrap(), &limits);
            prop_assert!(found.iter().all(Option::is_some));
        }
    }
}

#[test]
fn timed_flushes_have_the_times_of_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let write = |time_ns, page: i64| Request {
        time_ns,
        offset: 4096 * page,
        size: 4096,
        op: Op::Write,
        ..Request::default()
    };
    let requests = [write(100, 0), Request::flush(150, 0), write(300, 5), Request::flush(300, 0)];
    let path = save(&folder, &requests);
    let paging = PagingOptions::default();
    let load = |read| TimedTrace::load(&path, &read, paging, |_| true).unwrap();
    let trace = load(keeping());
    assert_eq!((trace.requests_on(2), trace.stat().requests, trace.stat().flushes), (2, 2, 2));
    let draw = |mut stream: Box<dyn RequestStream>| {
        let mut batch = Vec::new();
        stream.fill(&mut batch, 100).unwrap();
        let each = batch.iter().map(|r| (r.op, r.arrival_ns, r.offset, r.bytes));
        each.collect::<Vec<_>>()
    };
    use Op::{Flush, Write};
    let open = |clock| Box::new(trace.open(2, Some(1), 1.0, clock).unwrap());
    assert_eq!(
        draw(open(None)),
        [(Write, 0, 0, 4096), (Flush, 50, 0, 0), (Write, 200, 4096, 4096), (Flush, 200, 0, 0)]
    );
    // With an arrival process, a flush arrives with the previous request and takes no arrival of
    // its own.
    let clock = Arrivals::parse("periodic:mean=1us").unwrap().open(1);
    assert_eq!(
        draw(open(Some(clock))),
        [
            (Write, 1000, 0, 4096),
            (Flush, 1000, 0, 0),
            (Write, 2000, 4096, 4096),
            (Flush, 2000, 0, 0)
        ]
    );
    let without = load(ReadOptions::default());
    assert_eq!((without.requests().len(), without.stat().flushes), (2, 2));
}
