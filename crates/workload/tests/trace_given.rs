//! Traces whose pages keep their numbers from their drive, and recordings, which have the size of
//! that drive.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::trace_common::csv;
use flashgc_workload::requests::{RequestStream, TimedTrace};
use flashgc_workload::trace::{
    ConvertOptions, Declared, Fault, NativeWriter, Numbering, Paging, PagingOptions, Property,
    ReadOptions, Replay, Request, SourceOptions, TraceError, TraceReader, TraceSource, TraceStat,
    convert,
};
use flashgc_workload::{Batch, Op, Workload};
use proptest::prelude::*;

const PAGE: u64 = 4096;

fn declared(address_space: u64) -> Declared {
    Declared { address_space: Some(address_space), ..Declared::default() }
}

fn on(op: Op, page: i64, pages: u64) -> Request {
    Request { offset: page * PAGE as i64, size: pages * PAGE, op, ..Request::default() }
}

fn write(page: i64) -> Request {
    on(Op::Write, page, 1)
}

/// Writes requests as CSV or, with `address_space`, as the recording of a drive of that many bytes.
fn save(folder: &Path, requests: &[Request], address_space: Option<u64>) -> PathBuf {
    if let Some(bytes) = address_space {
        let path = folder.join("recording.flashgc");
        let mut writer = NativeWriter::new(Vec::new(), declared(bytes)).unwrap();
        writer.write(requests).unwrap();
        std::fs::write(&path, writer.finish().unwrap()).unwrap();
        return path;
    }
    let path = folder.join("trace.csv");
    std::fs::write(&path, csv(requests)).unwrap();
    path
}

fn load(path: &Path, paging: PagingOptions, memory_limit: u64) -> Result<TraceSource, TraceError> {
    TraceSource::load(path, SourceOptions { paging, memory_limit, ..SourceOptions::default() })
}

fn given() -> PagingOptions {
    PagingOptions { numbering: Some(Numbering::Given), ..PagingOptions::default() }
}

fn timed(path: &Path, paging: PagingOptions) -> Result<TimedTrace, TraceError> {
    TimedTrace::load(path, &ReadOptions::default(), paging, |_| true)
}

/// Returns the commands and hints of a replay in order.
fn replayed(source: &TraceSource, pages: u32, passes: u64, limit: usize) -> Vec<(Op, u32)> {
    let mut replay = source.open(pages, Replay::Passes(passes)).unwrap();
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    loop {
        replay.fill(&mut batch, limit).unwrap();
        if batch.pages.is_empty() {
            return all;
        }
        let mut hints = batch.hints.iter().peekable();
        for (index, &page) in batch.pages.iter().enumerate() {
            while let Some(hint) = hints.next_if(|hint| hint.before as usize == index) {
                let op = if hint.is_taken_back { Op::Clean } else { Op::Dirty };
                all.push((op, hint.page));
            }
            all.push((batch.ops.get(index).copied().unwrap_or(Op::Write), page));
        }
    }
}

#[test]
fn a_page_is_the_logical_page_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    // The first request discards the whole drive. Pages 3, 4 and 9 are accessed later, the other
    // pages never.
    let requests = [
        on(Op::Trim, 0, 1 << 30),
        on(Op::Write, 3, 2),
        write(9),
        on(Op::Dirty, 4, 3),
        on(Op::Clean, 2, 2),
        on(Op::Read, 9, 1),
        on(Op::Trim, 4, 100),
        Request { time_ns: 1000, ..write(3) },
    ];
    let path = save(folder.path(), &requests, None);
    use Op::{Clean, Dirty, Read, Trim, Write};
    let commands = [
        (Trim, 3),
        (Trim, 4),
        (Trim, 9),
        (Write, 3),
        (Write, 4),
        (Write, 9),
        (Dirty, 4),
        (Clean, 3),
        (Read, 9),
        (Trim, 4),
        (Trim, 9),
        (Write, 3),
    ];
    for memory in [0, 1 << 20] {
        let source = load(&path, given(), memory).unwrap();
        assert_eq!((source.in_memory(), source.numbering()), (memory > 0, Numbering::Given));
        let pages = source.given().unwrap();
        assert_eq!((pages.least(), pages.recorded(), source.stat().pages), (10, None, 3));
        assert_eq!((source.logical_pages(1), source.logical_pages(8)), (10, 16));
        for limit in [1, 3, 100] {
            let twice = [commands, commands].concat();
            assert_eq!(replayed(&source, 10, 2, limit), twice, "{memory} {limit}");
            assert_eq!(replayed(&source, 4000, 1, limit), commands, "{memory} {limit}");
        }
    }
    let trace = timed(&path, given()).unwrap();
    assert_eq!((trace.given().unwrap().least(), trace.logical_pages(8)), (10, 16));
    let (mut replay, mut batch) = (trace.open(4000, Some(1), 1.0, None).unwrap(), Vec::new());
    replay.fill(&mut batch, 100).unwrap();
    let whole = |request: &flashgc_workload::requests::TimedRequest| {
        (request.op, request.offset / PAGE, u64::from(request.bytes) / PAGE)
    };
    let expected = [
        (Trim, 3, 2),
        (Trim, 9, 1),
        (Write, 3, 2),
        (Write, 9, 1),
        (Dirty, 4, 1),
        (Clean, 3, 1),
        (Read, 9, 1),
        (Trim, 4, 1),
        (Trim, 9, 1),
        (Write, 3, 1),
    ];
    assert_eq!(batch.iter().map(whole).collect::<Vec<_>>(), expected);
}

#[test]
fn what_cannot_keep_its_number_is_refused_with_its_request() {
    let folder = tempfile::tempdir().unwrap();
    let other = Request { device: 7, ..on(Op::Trim, 2, 1) };
    let before = Request { offset: -512, size: 1024, ..write(0) };
    let far = Request { offset: (u32::MAX as i64) * PAGE as i64, ..write(0) };
    for (wrong, said) in [
        (
            other,
            "request 3: found device 7 after device 0, expected one: pages keep their numbers; \
             hint: choose one device, as devices=0, or numbering=\"address\"",
        ),
        (
            before,
            "request 3: found offset -512, expected none before byte 0: pages keep their numbers; hint: \
             numbering=\"address\"",
        ),
        (
            far,
            "request 3: found page 4294967295, expected one below 2^32 - 1: pages keep their numbers; \
             hint: numbering=\"address\"",
        ),
    ] {
        // A flush is not a request and has no number.
        let flush = Request::flush(0, 3);
        let path = save(folder.path(), &[write(1), flush, write(2), wrong, write(1)], None);
        let expected = format!("{}: {said}", path.display());
        for memory in [0, 1 << 20] {
            let error = load(&path, given(), memory).unwrap_err();
            assert_eq!((error.to_string(), error.fault), (expected.clone(), Fault::Option));
        }
        let error = timed(&path, given()).unwrap_err();
        assert_eq!((error.to_string(), error.fault), (expected, Fault::Option));
        // Without given numbers, such traces are replayed.
        load(&path, PagingOptions::default(), 0).unwrap();
    }
    // Pages before byte 0 or far beyond the drive that are only discarded or hinted are left out,
    // because they are never accessed.
    let discards = [on(Op::Trim, -1, 3), on(Op::Dirty, -2, 4), on(Op::Clean, 1 << 40, 1), write(1)];
    let source = load(&save(folder.path(), &discards, None), given(), 1 << 20).unwrap();
    assert_eq!(replayed(&source, 2, 1, 9), [(Op::Trim, 1), (Op::Dirty, 1), (Op::Write, 1)]);
    // The alignment offset is applied before pages are checked.
    let paging = PagingOptions { alignment_offset: 512, ..given() };
    let source = load(&save(folder.path(), &[before], None), paging, 0).unwrap();
    assert_eq!(replayed(&source, 9, 1, 9), [(Op::Write, 0)]);
    for paging in [Paging::Floor, Paging::RoundedFloor] {
        let paging = PagingOptions { paging, ..given() };
        let path = save(folder.path(), &[write(1)], None);
        let said = "paging=\"floor\" leaves out the last pages of a trace, and with numbering=\"given\" the \
                    drive has all of them; hint: paging=\"covered\", or numbering=\"address\"";
        let error = load(&path, paging, 0).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {said}", path.display()));
        assert_eq!(timed(&path, paging).unwrap_err(), error);
    }
}

#[test]
fn the_request_that_goes_farthest_says_how_large_a_drive_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let requests = [write(5), on(Op::Trim, 90, 10), on(Op::Read, 6, 2), write(7), write(1)];
    let source = load(&save(folder.path(), &requests, None), given(), 0).unwrap();
    let pages = source.given().unwrap();
    pages.check(8).unwrap();
    // The third request is the first one on page 7.
    assert_eq!(
        pages.check(7).unwrap_err().to_string(),
        "request 3 of the trace (offset 24576) is on logical page 7, and the drive has 7 logical pages, \
         numbered from 0; hint: give more blocks, or numbering=\"address\""
    );
}

#[test]
fn a_recording_says_of_what_drive_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let requests = [write(9), write(3)];
    let path = save(folder.path(), &requests, Some(100 * PAGE + 1));
    // Pages keep their numbers unless the options have another numbering.
    let source = load(&path, PagingOptions::default(), 0).unwrap();
    assert_eq!(source.given().unwrap().recorded(), Some(100));
    assert_eq!(replayed(&source, 100, 1, 9), [(Op::Write, 9), (Op::Write, 3)]);
    assert_eq!(timed(&path, PagingOptions::default()).unwrap().given().unwrap().least(), 10);
    let asked = Some(Numbering::Address);
    let paging = PagingOptions { numbering: asked, ..PagingOptions::default() };
    let source = load(&path, paging, 0).unwrap();
    assert_eq!((source.given().is_none(), source.logical_pages(1)), (true, 2));
    let read = ReadOptions::default();
    let stat = |path: &Path| {
        let reader = TraceReader::open(path, &read).unwrap();
        TraceStat::of(reader, PagingOptions::default()).unwrap().address_space_bytes
    };
    assert_eq!(stat(&path), Some(100 * PAGE + 1));
    // A copy in the same format keeps the address space; other formats cannot store it.
    let options = ConvertOptions { leave_out: vec![Property::DriveSize], ..Default::default() };
    for (name, expected) in
        [("a.flashgc", stat(&path)), ("a.flashgc.zst", stat(&path)), ("a.csv", None)]
    {
        let copy = folder.path().join(name);
        convert(&path, &copy, &options, |_| true).unwrap();
        assert_eq!(stat(&copy), expected, "{name}");
    }
    let back = folder.path().join("b.flashgc");
    convert(folder.path().join("a.csv"), &back, &ConvertOptions::default(), |_| true).unwrap();
    assert_eq!(stat(&back), None);
    let source = load(&back, PagingOptions::default(), 0).unwrap();
    assert_eq!(source.numbering(), Numbering::Address);
}

#[test]
fn the_address_space_is_eight_bytes_of_the_header_and_under_its_checksum() {
    let bytes = NativeWriter::new(Vec::new(), declared(0x1234)).unwrap().finish().unwrap();
    let mut header = vec![0; 32];
    header[..8].copy_from_slice(b"\x89FGC\r\n\x1a\n");
    (header[8], header[13]) = (4, 0x10);
    (header[16], header[17]) = (0x34, 0x12);
    let sum = crc32fast::hash(&header[..28]).to_le_bytes();
    header[28..].copy_from_slice(&sum);
    assert_eq!(bytes[..32], header);
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), &[write(1)], Some(1 << 20));
    let mut damaged = std::fs::read(&path).unwrap();
    damaged[20] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let error = TraceReader::open(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.message.contains("the header's checksum does not fit"), "{error}");
}

proptest! {
    /// The reference is the set of all pages that are accessed at some time.
    #[test]
    fn replays_have_the_pages_that_are_accessed_by_their_numbers(
        drawn in prop::collection::vec((0..5usize, 0..1000u64, 0..9000u64), 1..60),
        limit in 1..50usize,
        memory_limit in prop_oneof![Just(0), Just(1 << 20)],
    ) {
        let ops = [Op::Write, Op::Read, Op::Trim, Op::Dirty, Op::Clean];
        let requests: Vec<Request> = drawn
            .iter()
            .map(|&(op, at, size)| Request {
                offset: (at * 512) as i64, size, op: ops[op], ..write(0)
            })
            .chain([write(124)])
            .collect();
        let pages = |request: &Request| -> Vec<u32> {
            let (start, end) = (request.offset as u64, request.end() as u64);
            if request.size == 0 {
                return Vec::new();
            }
            let whole = |page: &u64| {
                request.op != Op::Trim || (page * PAGE >= start && (page + 1) * PAGE <= end)
            };
            (start / PAGE..end.div_ceil(PAGE)).filter(whole).map(|page| page as u32).collect()
        };
        let is_access = |request: &&Request| matches!(request.op, Op::Write | Op::Read);
        let accessed: HashSet<u32> = requests.iter().filter(is_access).flat_map(pages).collect();
        let commands = requests.iter().flat_map(|request| {
            let known = pages(request).into_iter().filter(|page| accessed.contains(page));
            known.map(|page| (request.op, page))
        });
        let commands: Vec<(Op, u32)> = commands.collect();
        let folder = tempfile::tempdir().unwrap();
        let source = load(&save(folder.path(), &requests, None), given(), memory_limit).unwrap();
        prop_assert_eq!(replayed(&source, 200, 1, limit), commands);
    }
}
