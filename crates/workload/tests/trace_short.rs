//! Writes of less than a page in replays: every byte that the trace writes to pages of the drive is
//! counted once, in any batch size, from memory and from the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::trace_common;
use flashgc_workload::trace::{
    Fault, Kinds, Numbering, Paging, PagingOptions, ReadOptions, Replay, Replayer, Request,
    SourceOptions, TraceReader, TraceSource, TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};
use proptest::prelude::*;

const PAGINGS: [Paging; 4] =
    [Paging::Covered, Paging::Rounded, Paging::Floor, Paging::RoundedFloor];

fn save(folder: &tempfile::TempDir, requests: &[Request]) -> PathBuf {
    let path = folder.path().join("trace.flashgc");
    let mut writer = TraceWriter::create(&path, None).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    path
}

fn write(offset: i64, size: u64) -> Request {
    Request { offset, size, op: Op::Write, ..Request::default() }
}

/// Returns the commands of a replay, drawn in batches of sizes that alternate between `limits`:
/// operation, page, and the bytes of the page that a write leaves unchanged.
fn drain(mut replay: Replayer, limits: &[usize]) -> Vec<(Op, u32, u32)> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for limit in limits.iter().cycle() {
        replay.fill(&mut batch, *limit).unwrap();
        let begin = all.len();
        for (i, &page) in batch.pages.iter().enumerate() {
            all.push((batch.ops.get(i).copied().unwrap_or(Op::Write), page, 0));
        }
        assert!(batch.short.is_sorted_by(|one, next| one.0 < next.0), "{:?}", batch.short);
        for &(command, bytes) in &batch.short {
            let (op, _, missing) = &mut all[begin + command as usize];
            assert_eq!((*op, bytes > 0), (Op::Write, true));
            *missing = bytes;
        }
        if batch.pages.is_empty() {
            break;
        }
    }
    all
}

/// Returns the pages of a request by the definition, with the number of its bytes on each page.
fn pieces(request: &Request, options: &PagingOptions) -> Vec<((u32, i64), u64)> {
    let page = options.page_size as i64;
    let start = request.offset + i64::from(options.alignment_offset);
    let end = start + request.size as i64;
    let (first, mut pieces) = (start.div_euclid(page), Vec::new());
    if options.paging.rounds() && request.op != Op::Trim {
        for number in 0..request.size.div_ceil(page as u64) {
            let bytes = (request.size - number * page as u64).min(page as u64);
            pieces.push(((request.device, first + number as i64), bytes));
        }
        return pieces;
    }
    for number in first..=end.div_euclid(page) {
        let bytes = end.min((number + 1) * page) - start.max(number * page);
        if bytes == page || (bytes > 0 && request.op != Op::Trim) {
            pieces.push(((request.device, number), bytes as u64));
        }
    }
    pieces
}

fn reference(
    requests: &[Request],
    kinds: Kinds,
    options: &PagingOptions,
    logical_pages: u32,
) -> Vec<(Op, u32, u32)> {
    let touched = requests.iter().filter(|request| request.op != Op::Trim);
    let mut pages: Vec<_> =
        touched.flat_map(|request| pieces(request, options)).map(|(page, _)| page).collect();
    pages.sort_unstable();
    pages.dedup();
    let numbers: HashMap<_, u32> = pages.into_iter().zip(0..).collect();
    let mut commands = Vec::new();
    for request in requests.iter().filter(|request| kinds.keep(request.op)) {
        for (page, bytes) in pieces(request, options) {
            if let Some(&number) = numbers.get(&page).filter(|&&number| number < logical_pages) {
                let missing = if request.op == Op::Write { options.page_size - bytes } else { 0 };
                commands.push((request.op, number, missing as u32));
            }
        }
    }
    commands
}

#[test]
fn what_a_write_leaves_of_its_pages_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let replay = |requests: &[Request], paging, alignment_offset| {
        let paging = PagingOptions { paging, alignment_offset, ..PagingOptions::default() };
        let options = SourceOptions { paging, ..SourceOptions::default() };
        let source = TraceSource::load(save(&folder, requests), options).unwrap();
        let replay = source.open(source.logical_pages(1), Replay::Passes(1)).unwrap();
        let all: Vec<_> =
            drain(replay, &[4096]).iter().map(|&(_, page, left)| (page, left)).collect();
        (all, source.stat().short_write_share, source.stat().written_bytes)
    };
    let requests = [
        write(0, 8192),    // pages 0 and 1, both whole
        write(512, 1024),  // bytes 512..1536 of page 0: 3072 are left
        write(3584, 4608), // the last 512 bytes of page 0, and page 1
        write(4096, 4608), // page 1, and 512 bytes of page 2
        write(4000, 8288), // 96 bytes of page 0, pages 1 and 2
        write(4000, 0),
    ];
    let (all, share, bytes) = replay(&requests, Paging::Covered, 0);
    let covered = [
        (0, 0),
        (1, 0),
        (0, 3072),
        (0, 3584),
        (1, 0),
        (1, 0),
        (2, 3584),
        (0, 4000),
        (1, 0),
        (2, 0),
    ];
    assert_eq!((all.as_slice(), share), (covered.as_slice(), 0.4));
    assert_eq!(bytes, 8192 + 1024 + 4608 + 4608 + 8288);
    // Rounded, the requests have 2, 1, 2, 2 and 3 pages, from pages 0, 0, 0, 1 and 0 on. The bytes
    // left unchanged are in the last page.
    let (all, share, _) = replay(&requests, Paging::Rounded, 0);
    let rounded = [
        (0, 0),
        (1, 0),
        (0, 3072),
        (0, 0),
        (1, 3584),
        (1, 0),
        (2, 3584),
        (0, 0),
        (1, 0),
        (2, 4000),
    ];
    assert_eq!((all.as_slice(), share), (rounded.as_slice(), 0.4));
    // The partition starts 512 bytes before a page, so bytes 3584..7680 are exactly page 1.
    assert_eq!(replay(&[write(3584, 4096)], Paging::Covered, 512).0, [(0, 0)]);
    // A page is written in eight pieces of 512 bytes: eight writes, each of which leaves 3584 bytes
    // unchanged.
    let pieces: Vec<Request> = (0..8).map(|piece| write(512 * piece, 512)).collect();
    assert_eq!(replay(&pieces, Paging::Covered, 0), (vec![(0, 3584); 8], 1.0, 4096));
}

#[test]
fn reads_and_discards_of_parts_of_pages_are_not_short() {
    let folder = tempfile::tempdir().unwrap();
    let of = |op, offset, size| Request { op, ..write(offset, size) };
    let requests = [write(0, 8192), of(Op::Read, 100, 200), of(Op::Trim, 100, 8092)];
    let source = TraceSource::load(save(&folder, &requests), SourceOptions::default()).unwrap();
    let all = drain(source.open(2, Replay::Passes(1)).unwrap(), &[1]);
    let expected = [(Op::Write, 0, 0), (Op::Write, 1, 0), (Op::Read, 0, 0), (Op::Trim, 1, 0)];
    assert_eq!(all, expected);
    assert_eq!(source.stat().short_write_share, 0.0);
}

#[test]
fn short_writes_and_flushes_of_a_long_file_are_those_from_memory() {
    // A pass has more page commands than a replay expands at once. Two of the three pages of each
    // write are short: only a part of the page is written.
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<Request> = (0..30_000)
        .flat_map(|i| [write(i * 7919 % 1000 * 4096 + 512, 10_000), Request::flush(0, 0)])
        .collect();
    let path = save(&folder, &requests);
    let draw = |memory_limit| {
        let read = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
        let options = SourceOptions { read, memory_limit, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        assert_eq!(source.in_memory(), memory_limit > 0);
        let mut replay = source.open(source.logical_pages(1), Replay::Passes(2)).unwrap();
        let (mut batch, mut all, mut done) = (Batch::default(), Batch::default(), 0);
        loop {
            replay.fill(&mut batch, 1000).unwrap();
            all.pages.extend_from_slice(&batch.pages);
            all.short.extend(batch.short.iter().map(|&(command, bytes)| (done + command, bytes)));
            all.flushes.extend(batch.flushes.iter().map(|before| done + before));
            done += batch.pages.len() as u32;
            if batch.pages.is_empty() {
                return (all.pages, all.short, all.flushes);
            }
        }
    };
    let (kept, streamed) = (draw(SourceOptions::MEMORY_LIMIT), draw(0));
    assert_eq!((kept.0.len(), kept.1.len(), kept.2.len()), (180_000, 120_000, 60_000));
    // Bytes 512 to 10512 are written: 512 bytes of the first page and 1776 of the last are
    // unchanged. A flush comes after the third page.
    assert_eq!((&kept.1[..3], &kept.2[..2]), (&[(0, 512), (2, 1776), (3, 512)][..], &[3, 6][..]));
    assert!(kept == streamed);
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![4 => Just(Op::Write), 2 => Just(Op::Read), 1 => Just(Op::Trim)];
    let sectors = |range: std::ops::Range<i64>| range.prop_map(|sector| 512 * sector);
    let offset = prop_oneof![-20_000..200_000i64, sectors(-40..400)];
    let size = prop_oneof![0..40_000u64, (0..80u64).prop_map(|sectors| 512 * sectors)];
    let one = (op, 0..3u32, offset, size);
    let one = one.prop_map(|(op, device, offset, size)| Request {
        offset,
        size,
        device,
        op,
        ..Request::default()
    });
    prop::collection::vec(one, 1..60)
}

proptest! {
    #[test]
    fn short_writes_equal_the_reference_from_memory_and_from_the_file(
        requests in requests(),
        kinds in prop_oneof![Just(Kinds::All), Just(Kinds::Changes), Just(Kinds::Writes)],
        paging in prop::sample::select(PAGINGS.to_vec()),
        page_size in prop_oneof![Just(512u64), Just(4096), Just(16384)],
        alignment_offset in prop_oneof![Just(0u32), Just(512), Just(777)],
        block in 1..8u32,
        limits in prop_oneof![
            Just(vec![1]), Just(vec![3]), Just(vec![4096]), prop::collection::vec(1..50usize, 1..5)
        ],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = save(&folder, &requests);
        for memory_limit in [0, SourceOptions::MEMORY_LIMIT] {
            let numbering = Some(Numbering::Address);
            let paging = PagingOptions { page_size, alignment_offset, numbering, paging };
            let options = SourceOptions { kinds, memory_limit, paging, ..SourceOptions::default() };
            let source = match TraceSource::load(&path, options) {
                Ok(source) => source,
                Err(error) => {
                    prop_assert_eq!(error.fault, Fault::Empty);
                    continue;
                }
            };
            let pages = source.logical_pages(block);
            let once = reference(&requests, kinds, &paging, pages);
            if pages == 0 || once.is_empty() {
                continue;
            }
            let replay = source.open(pages, Replay::Passes(2)).unwrap();
            let expected = [once.clone(), once].concat();
            prop_assert_eq!(drain(replay, &limits), expected);
        }
    }
}

/// Checks that one pass of a trace writes as many bytes as its requests. This is checked with every
/// page on the drive, and with room for half of the pages, where only the bytes on that half count.
fn bytes_are_those_of_the_requests(path: &Path, read: &ReadOptions) {
    let requests: Vec<Request> = match TraceReader::open(path, read) {
        Ok(reader) => reader.requests().map_while(Result::ok).collect(),
        Err(_) => return,
    };
    let name = path.display();
    for paging in PAGINGS {
        let paging = PagingOptions { paging, ..PagingOptions::default() };
        let read = read.clone();
        let options = SourceOptions { read, paging, ..SourceOptions::default() };
        let Ok(source) = TraceSource::load(path, options) else { continue };
        if source.stat().has_references() {
            continue;
        }
        let bytes = |pages: u32| -> u64 {
            let mut replay = source.open(pages, Replay::Passes(1)).unwrap();
            let (mut bytes, mut batch) = (0, Batch::default());
            loop {
                if replay.fill(&mut batch, 5000).is_err() || batch.pages.is_empty() {
                    return bytes;
                }
                let reads = batch.ops.iter().filter(|&&op| op != Op::Write).count();
                bytes += (batch.pages.len() - reads) as u64 * paging.page_size;
                bytes -= batch.short.iter().map(|&(_, missing)| u64::from(missing)).sum::<u64>();
            }
        };
        let all = source.map().len() as u32;
        assert_eq!(bytes(all), source.stat().written_bytes, "{name}, {paging:?}");
        let writes = || requests.iter().filter(|request| request.op == Op::Write);
        assert_eq!(bytes(all), writes().map(|request| request.size).sum::<u64>(), "{name}");
        let half = all.div_ceil(2);
        let on_half = |((device, page), bytes)| {
            source.map().get(device, page).filter(|&number| number < half).map(|_| bytes)
        };
        let kept = writes().flat_map(|write| pieces(write, &paging)).filter_map(on_half);
        assert_eq!(bytes(half), kept.sum::<u64>(), "{name}, {paging:?}, half of its pages");
    }
}

#[test]
fn a_pass_over_a_fixture_writes_the_bytes_of_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name, bytes) in trace_common::corpus() {
        let path = folder.path().join(format!("{format}-{name}"));
        std::fs::write(&path, bytes).unwrap();
        bytes_are_those_of_the_requests(&path, &ReadOptions::default());
    }
}

#[test]
fn a_pass_over_a_public_trace_writes_the_bytes_of_its_requests() {
    let Some(folder) = std::env::var_os("FLASHGC_TRACES") else { return };
    let mut checked = 0;
    for folder in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        let path = folder.join(format!("{name}.csv.zst"));
        if path.exists() {
            bytes_are_those_of_the_requests(&path, &ReadOptions::default());
            checked += 1;
        }
    }
    assert!(checked > 0, "no trace in FLASHGC_TRACES");
}
