//! A trace as a workload: the preprocessing of the d-choices paper, and the same commands from
//! memory and from the file, in any batch size.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use flashgc_workload::trace::{
    Fault, Kinds, Numbering, Paging, PagingOptions, Replay, Request, SourceOptions, TraceSource,
    TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};
use proptest::prelude::*;

fn save(folder: &tempfile::TempDir, requests: &[Request]) -> PathBuf {
    let path = folder.path().join("trace.flashgc");
    let mut writer = TraceWriter::create(&path, None).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    path
}

fn request(op: Op, device: u32, first: i64, pages: u64) -> Request {
    Request { offset: first * 4096, size: pages * 4096, device, op, ..Request::default() }
}

/// Returns all commands of a replay, drawn in batches of sizes that alternate between `limits`.
fn drain(mut replay: impl Workload, limits: &[usize], most: usize) -> Vec<(Op, u32)> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for limit in limits.iter().cycle() {
        replay.fill(&mut batch, *limit).unwrap();
        assert!(batch.pages.len() <= *limit);
        assert!(batch.ops.is_empty() || batch.ops.len() == batch.pages.len());
        for (i, &page) in batch.pages.iter().enumerate() {
            all.push((batch.ops.get(i).copied().unwrap_or(Op::Write), page));
        }
        if batch.pages.is_empty() || all.len() >= most {
            break;
        }
    }
    all
}

/// Returns the commands of a replay by the definition, computed with a dictionary and lists.
fn reference(
    requests: &[Request],
    kinds: Kinds,
    numbering: Numbering,
    logical_pages: u32,
) -> Vec<(Op, u32)> {
    let pages = |request: &Request| -> Vec<(u32, i64)> {
        let (start, end) = (request.offset, request.offset + request.size as i64);
        if request.size == 0 {
            return Vec::new();
        }
        let whole = |page: &i64| {
            request.op != Op::Trim || (page * 4096 >= start && (page + 1) * 4096 <= end)
        };
        let touched = start.div_euclid(4096)..(end + 4095).div_euclid(4096);
        touched.filter(whole).map(|page| (request.device, page)).collect()
    };
    let mut numbers = HashMap::new();
    for request in requests.iter().filter(|request| request.op != Op::Trim) {
        for page in pages(request) {
            let next = numbers.len() as u32;
            numbers.entry(page).or_insert(next);
        }
    }
    if numbering == Numbering::Address {
        let mut addresses: Vec<(u32, i64)> = numbers.keys().copied().collect();
        addresses.sort_unstable();
        numbers = addresses.into_iter().zip(0..).collect();
    }
    let mut commands = Vec::new();
    for request in requests.iter().filter(|request| kinds.keep(request.op)) {
        for page in pages(request) {
            if let Some(&number) = numbers.get(&page).filter(|&&number| number < logical_pages) {
                commands.push((request.op, number));
            }
        }
    }
    commands
}

#[test]
fn the_preprocessing_of_the_d_choices_paper() {
    // Worked out by hand: pages 10, 11 and 12 of device 0 and page 10 of device 1 are numbered 0,
    // 1, 2, 3 in the order of first access. With two pages a block, all four are kept; with three,
    // the last one is left out.
    let folder = tempfile::tempdir().unwrap();
    let path = save(
        &folder,
        &[
            request(Op::Write, 0, 10, 2),
            request(Op::Read, 0, 11, 2),
            request(Op::Write, 1, 10, 1),
            request(Op::Write, 0, 12, 1),
        ],
    );
    let paging = PagingOptions {
        paging: Paging::Floor,
        numbering: Some(Numbering::FirstTouch),
        ..PagingOptions::default()
    };
    let options = SourceOptions { paging, ..SourceOptions::default() };
    let source = TraceSource::load(path, options).unwrap();
    use Op::{Read, Write};
    let one_pass = [(Write, 0), (Write, 1), (Read, 1), (Read, 2), (Write, 3), (Write, 2)];
    assert_eq!(source.logical_pages(2), 4);
    assert_eq!(source.logical_pages(3), 3);
    assert_eq!(source.logical_pages(5), 0);
    assert_eq!(source.page_requests(), 6);
    assert_eq!(source.map().addresses(), [(0, 10), (0, 11), (0, 12), (1, 10)]);
    let replay = |pages, replay| drain(source.open(pages, replay).unwrap(), &[4], 1000);
    assert_eq!(replay(4, Replay::Passes(1)), one_pass);
    assert_eq!(replay(4, Replay::Passes(0)), []);
    let five: Vec<_> = one_pass.into_iter().filter(|&(_, page)| page < 3).collect();
    assert_eq!(replay(3, Replay::Passes(1)), five);
    // A pass has 5 commands, so at least 6 commands are two whole passes.
    assert_eq!(replay(3, Replay::AtLeast(6)), [five.clone(), five.clone()].concat());
    assert_eq!(replay(3, Replay::AtLeast(5)), five);
    assert_eq!(replay(4, Replay::Endless).len(), 1000 / 6 * 6 + 4);
    let error = source.open(0, Replay::Endless).err().unwrap();
    assert_eq!(error.fault, Fault::Option);
    // A drive may be larger than its trace.
    assert_eq!(replay(5, Replay::Passes(1)), one_pass);
}

#[test]
fn a_trace_has_room_for_all_its_pages_and_neighbours_stay_neighbours() {
    // The pages are 12, 10 and 11 of device 0 and 10 of device 1, in this order. Numbered by
    // address they are 2, 0, 1 and 3.
    let folder = tempfile::tempdir().unwrap();
    let path = save(
        &folder,
        &[request(Op::Write, 0, 12, 1), request(Op::Write, 0, 10, 2), request(Op::Read, 1, 10, 1)],
    );
    for memory_limit in [0, SourceOptions::MEMORY_LIMIT] {
        let options = SourceOptions { memory_limit, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        assert_eq!([1, 2, 3, 5].map(|block| source.logical_pages(block)), [4, 4, 6, 5]);
        let all = drain(source.open(6, Replay::Passes(1)).unwrap(), &[9], 100);
        assert_eq!(all, [(Op::Write, 2), (Op::Write, 0), (Op::Write, 1), (Op::Read, 3)]);
    }
}

#[test]
fn writes_alone_carry_no_operations() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(&folder, &[request(Op::Write, 0, 0, 3), request(Op::Read, 0, 0, 9)]);
    let options = SourceOptions { kinds: Kinds::Writes, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options).unwrap();
    assert_eq!((source.map().len(), source.stat().page_reads), (9, 9));
    let mut batch = Batch::default();
    let mut replay = source.open(9, Replay::Passes(1)).unwrap();
    replay.fill(&mut batch, 100).unwrap();
    assert_eq!((batch.pages.as_slice(), batch.ops.len()), ([0, 1, 2].as_slice(), 0));
    // A drive that is too small for the written pages would never get a command.
    let path = save(&folder, &[request(Op::Read, 0, 0, 4), request(Op::Write, 0, 9, 1)]);
    let options = SourceOptions { kinds: Kinds::Writes, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options).unwrap();
    let error = source.open(4, Replay::Endless).unwrap().fill(&mut batch, 10).unwrap_err();
    assert!(error.0.contains("has no command for its first 4 logical pages"), "{error}");
}

#[test]
fn a_discard_before_the_first_access_frees_the_page_in_later_passes() {
    let folder = tempfile::tempdir().unwrap();
    let requests = [
        request(Op::Trim, 0, 0, 1 << 30),
        request(Op::Write, 0, 7, 1),
        request(Op::Write, 0, 5, 1),
    ];
    let path = save(&folder, &requests);
    for memory_limit in [0, SourceOptions::MEMORY_LIMIT] {
        let options = SourceOptions { memory_limit, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        assert_eq!(source.in_memory(), memory_limit > 0);
        let all = drain(source.open(2, Replay::Passes(1)).unwrap(), &[9], 100);
        // Page 5 has the number 0.
        assert_eq!(all, [(Op::Trim, 0), (Op::Trim, 1), (Op::Write, 1), (Op::Write, 0)]);
    }
}

#[test]
fn many_replays_run_from_one_source() {
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<Request> =
        (0..5000).map(|i| request(Op::Write, 0, i * 7919 % 1000, 2)).collect();
    let source = TraceSource::load(save(&folder, &requests), SourceOptions::default()).unwrap();
    let expected = reference(&requests, Kinds::All, Numbering::Address, 1000);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3)
            .map(|_| {
                let replay = source.open(1000, Replay::Passes(1)).unwrap();
                scope.spawn(move || drain(replay, &[512], usize::MAX))
            })
            .collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), expected);
        }
    });
}

#[test]
fn a_file_that_changes_under_a_streamed_replay_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(&folder, &[request(Op::Write, 0, 0, 4)]);
    let options = SourceOptions { memory_limit: 0, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options).unwrap();
    save(&folder, &[request(Op::Write, 0, 2, 4)]);
    let mut batch = Batch::default();
    let error = source.open(4, Replay::Passes(1)).unwrap().fill(&mut batch, 10).unwrap_err();
    assert!(error.0.contains("the trace has changed since it was first read"), "{error}");
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![4 => Just(Op::Write), 2 => Just(Op::Read), 1 => Just(Op::Trim)];
    let one = (op, 0..3u32, -20_000..200_000i64, 0..40_000u64);
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
    fn replays_equal_the_reference_from_memory_and_from_the_file(
        requests in requests(),
        kinds in prop_oneof![Just(Kinds::All), Just(Kinds::Changes), Just(Kinds::Writes)],
        numbering in prop_oneof![Just(Numbering::Address), Just(Numbering::FirstTouch)],
        paging in prop_oneof![Just(Paging::Covered), Just(Paging::Floor)],
        block in 1..8u32,
        limits in prop::collection::vec(1..50usize, 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = save(&folder, &requests);
        for memory_limit in [0, SourceOptions::MEMORY_LIMIT] {
            let numbering = Some(numbering);
            let paging = PagingOptions { numbering, paging, ..PagingOptions::default() };
            let options = SourceOptions { kinds, memory_limit, paging, ..SourceOptions::default() };
            let source = match TraceSource::load(&path, options) {
                Ok(source) => source,
                Err(error) => {
                    prop_assert_eq!(error.fault, Fault::Empty);
                    prop_assert!(requests.iter().all(|r| r.op != Op::Write || r.size == 0));
                    continue;
                }
            };
            let pages = source.logical_pages(block);
            let once = reference(&requests, kinds, source.numbering(), pages);
            if pages == 0 || once.is_empty() {
                continue;
            }
            let replay = source.open(pages, Replay::Passes(2)).unwrap();
            let expected = [once.clone(), once.clone()].concat();
            prop_assert_eq!(drain(replay, &limits, usize::MAX), expected);
            // The replay that is read ahead of the drive has only the writes and discards.
            let changes: Vec<_> = once.into_iter().filter(|(op, _)| *op != Op::Read).collect();
            if changes.is_empty() {
                continue;
            }
            prop_assert_eq!(source.changes().is_some(), memory_limit > 0);
            prop_assert!(source.changes().is_none_or(|read| read >= changes.len() as u64));
            let found = drain(source.open_changes(pages).unwrap(), &limits, 2 * changes.len());
            prop_assert!(found.len() >= 2 * changes.len());
            let expected: Vec<_> = changes.iter().copied().cycle().take(found.len()).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn statistics_equal_a_count_by_hand(requests in requests()) {
        let folder = tempfile::tempdir().unwrap();
        let path = save(&folder, &requests);
        let options = Default::default();
        let reader = flashgc_workload::trace::TraceReader::open(&path, &options).unwrap();
        let stat =
            flashgc_workload::trace::TraceStat::of(reader, PagingOptions::default()).unwrap();
        let mut pages: HashMap<Op, Vec<(u32, i64)>> = HashMap::new();
        for r in &requests {
            let touched = r.offset.div_euclid(4096)..(r.end() + 4095).div_euclid(4096);
            let touched = if r.size == 0 { 0..0 } else { touched };
            pages.entry(r.op).or_default().extend(touched.map(|page| (r.device, page)));
        }
        let of = |op| pages.get(&op).cloned().unwrap_or_default();
        let distinct = |pages: Vec<(u32, i64)>| pages.into_iter().collect::<HashSet<_>>().len();
        prop_assert_eq!(stat.page_writes, of(Op::Write).len() as u64);
        prop_assert_eq!(stat.pages_written, distinct(of(Op::Write)) as u64);
        prop_assert_eq!(stat.pages_read, distinct(of(Op::Read)) as u64);
        let all = [of(Op::Write), of(Op::Read)].concat();
        prop_assert_eq!(stat.page_requests, all.len() as u64);
        prop_assert_eq!(stat.pages, distinct(all) as u64);
    }
}
