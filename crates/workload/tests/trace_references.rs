//! References to memory: the output of lackey, flashgc's own format, and the filter that leaves out
//! references without effect on a large enough memory.

use std::path::Path;

use crate::trace_common::{read, reader};
use flashgc_base::rng::Stream;
use flashgc_workload::trace::{
    ConvertOptions, Declared, Fault, Numbering, PagesOptions, PagingOptions, ReadOptions, Recorded,
    Replay, Request, SourceOptions, TraceReader, TraceSource, TraceStat, TraceWriter, convert,
};
use flashgc_workload::{Batch, Op, Workload};

fn access(op: Op, offset: i64, size: u64) -> Request {
    Request { offset, size, op, ..Request::default() }
}

/// Writes `requests` to a file. Returns its references (page, `true` for a write) and the
/// properties of the recording.
fn written(requests: &[Request], pages: PagesOptions) -> (Vec<(u64, bool)>, Recorded) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pages");
    let mut writer = TraceWriter::create_with(&path, None, pages, Declared::default()).unwrap();
    for part in requests.chunks(100) {
        writer.write(part).unwrap();
    }
    let kept = writer.finish().unwrap();
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(reader.format().name, "pages");
    let (mut references, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        for request in &block {
            assert_eq!(request.size, u64::from(pages.page_size));
            let page = request.offset as u64 / u64::from(pages.page_size);
            references.push((page, request.op == Op::Write));
        }
    }
    assert_eq!(kept, references.len() as u64);
    (references, reader.recorded().unwrap())
}

/// Returns the events of an LRU memory of `capacity` pages: each page that enters, and each page
/// that is evicted, with `true` if it was written. The memory is a simple list.
fn lru(references: &[(u64, bool)], capacity: usize) -> Vec<(u64, Option<bool>)> {
    let (mut memory, mut events): (Vec<(u64, bool)>, _) = (Vec::new(), Vec::new());
    for &(page, write) in references {
        let mut dirty = write;
        match memory.iter().position(|&(other, _)| other == page) {
            Some(at) => dirty |= memory.remove(at).1,
            None => {
                if memory.len() == capacity {
                    let (gone, dirty) = memory.remove(0);
                    events.push((gone, Some(dirty)));
                }
                events.push((page, None));
            }
        }
        memory.push((page, dirty));
    }
    // The pages in memory at the end are compared, too: each must be dirty in both cases or in
    // neither.
    events.extend(memory.into_iter().map(|(page, dirty)| (page, Some(dirty))));
    events
}

/// Generates references with loops, a hot set that moves, and far jumps.
fn made_up(seed: u64) -> Vec<(u64, bool)> {
    let mut rng = Stream::new(seed, "references");
    (0..6000u64)
        .map(|step| {
            let page = match rng.below(8) {
                0 => u64::from(rng.below(300)),
                1..=3 => step / 40 % 50 + u64::from(rng.below(4)),
                4 => step % 17,
                _ => 100 + step / 500 * 7 + u64::from(rng.below(9)),
            };
            (page, rng.below(5) == 0)
        })
        .collect()
}

#[test]
fn filtered_references_are_the_same_to_every_lru_memory_that_is_large_enough() {
    for seed in 1..=6 {
        let all = made_up(seed);
        let requests: Vec<Request> = all
            .iter()
            .map(|&(page, write)| {
                access(if write { Op::Write } else { Op::Read }, page as i64 * 512, 8)
            })
            .collect();
        let mut before = usize::MAX;
        for filter in [0, 1, 2, 5, 16, 40] {
            let (kept, recorded) = written(&requests, PagesOptions { page_size: 512, filter });
            assert_eq!(recorded, Recorded { page_size: 512, filter, accesses: 6000 });
            assert!(kept.len() <= before, "a deeper filter leaves out more");
            before = kept.len();
            for larger in [0, 1, 3, 20, 100] {
                let capacity = (filter.max(1) + larger) as usize;
                let (found, expected) = (lru(&kept, capacity), lru(&all, capacity));
                assert!(found == expected, "seed {seed}, filter {filter}, memory {capacity}");
            }
        }
        // The filter leaves out more than half of the references. It leaves out all that it may: a
        // memory that is smaller than the filter's shows a difference.
        let (kept, _) = written(&requests, PagesOptions { page_size: 512, filter: 40 });
        assert!(kept.len() < all.len() / 2, "{} of {}", kept.len(), all.len());
        assert_ne!(lru(&kept, 5), lru(&all, 5));
    }
}

#[test]
fn references_worked_by_hand_through_the_filter() {
    let letters = |text: &str| -> Vec<Request> {
        text.bytes()
            .map(|byte| {
                let op = if byte.is_ascii_uppercase() { Op::Write } else { Op::Read };
                access(op, i64::from(byte.to_ascii_lowercase() - b'a') * 512, 1)
            })
            .collect()
    };
    let kept = |text: &str, filter: u32| -> String {
        let (references, _) = written(&letters(text), PagesOptions { page_size: 512, filter });
        references
            .iter()
            .map(|&(page, write)| {
                let letter = char::from(b'a' + page as u8);
                if write { letter.to_ascii_uppercase() } else { letter }
            })
            .collect()
    };
    // Capital letters are writes. Without a filter, a run of references becomes one reference, or a
    // read and a write.
    assert_eq!(kept("aaabbBBbbaAa", 0), "abBaA");
    assert_eq!(kept("AAaab", 0), "Ab");
    // Fewer than two other pages lie between the first and the last of three `a`, so the middle one
    // is left out.
    assert_eq!(kept("ababab", 2), "abab");
    // Two other pages (b and c) lie between the first and the third `a`, so the second one stays.
    // Then only c lies between, so the second `a` of "caca" is left out, and the two c become one.
    assert_eq!(kept("abacacab", 2), "abacab");
    assert_eq!(kept("abacacab", 3), "abcab");
    // The write of a reference that is left out moves to the next reference that is kept. The first
    // write after a read stays in its place.
    assert_eq!(kept("abAbAba", 2), "abAbA");
}

#[test]
fn an_access_across_a_page_boundary_touches_both_pages() {
    let text = b" L 000007fc,8\n S 000007f8,8\n";
    let requests = read(text).unwrap();
    let (references, _) = written(&requests, PagesOptions { page_size: 2048, filter: 0 });
    assert_eq!(references, [(0, false), (1, false), (0, true)]);
}

#[test]
fn pages_of_a_program_are_numbered_as_asked_and_must_fit_the_swap_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program.lackey");
    std::fs::write(&path, "I  00403000,4\n S 1fff000758,8\n M 00005ffc,8\nI  00403004,4\n")
        .unwrap();
    let load = |numbering| {
        let paging = PagingOptions { numbering: Some(numbering), ..PagingOptions::default() };
        TraceSource::load(&path, SourceOptions { paging, ..SourceOptions::default() }).unwrap()
    };
    // By address, the data come after the code: pages 5, 6, 403, 1fff000.
    let mut by_address = load(Numbering::Address).open(64, Replay::Passes(1)).unwrap();
    let mut batch = Batch::default();
    by_address.fill(&mut batch, 100).unwrap();
    assert_eq!(batch.pages, [2, 3, 0, 1, 2]);
    let source = load(Numbering::FirstTouch);
    assert_eq!(source.logical_pages(64), 64);
    let mut replay = source.open(64, Replay::Passes(1)).unwrap();
    replay.fill(&mut batch, 100).unwrap();
    // The access that modifies memory crosses from page 5 to page 6, which have the numbers 2 and
    // 3.
    assert_eq!(batch.pages, [0, 1, 2, 3, 0]);
    assert_eq!(batch.ops, [Op::Read, Op::Write, Op::Write, Op::Write, Op::Read]);
    let error = source.open(3, Replay::Endless).err().unwrap();
    assert_eq!(error.fault, Fault::Option);
    assert!(
        error.to_string().ends_with(
            "found references to 4 distinct pages, beyond the swap space of 3 pages; hint: use a \
             swap space of at least 4 pages"
        ),
        "{error}"
    );
}

#[test]
fn conversion_keeps_what_is_left_out_and_what_it_stands_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let text: String = made_up(1)
        .iter()
        .map(|&(page, write)| format!(" {} {:08x},4\n", if write { 'S' } else { 'L' }, page * 2048))
        .collect();
    std::fs::write(file("a.lackey"), text).unwrap();
    let to = |from: &Path, name: &str, page_size, filter| {
        let options = ConvertOptions {
            page_size: Some(page_size),
            filter: Some(filter),
            ..ConvertOptions::default()
        };
        convert(from, file(name), &options, |_| true)
    };
    to(&file("a.lackey"), "a.pages", 2048, 4).unwrap();
    to(&file("a.pages"), "b.pages.zst", 4096, 2).unwrap();
    to(&file("a.lackey"), "c.pages", 4096, 0).unwrap();
    let load = |name: &str| {
        let mut reader = TraceReader::open(file(name), &ReadOptions::default()).unwrap();
        let (mut references, mut block) = (Vec::new(), Vec::new());
        while reader.next_block(&mut block).unwrap() {
            references.extend(block.iter().map(|r| (r.offset as u64 / 4096, r.op == Op::Write)));
        }
        (references, reader.recorded().unwrap())
    };
    let (twice, recorded) = load("b.pages.zst");
    assert_eq!(recorded, Recorded { page_size: 4096, filter: 4, accesses: 6000 });
    let (once, _) = load("c.pages");
    assert!(twice.len() < once.len());
    for capacity in [4, 10, 60] {
        assert!(lru(&twice, capacity) == lru(&once, capacity), "{capacity}");
    }
    // Pages smaller than those recorded can no longer be distinguished.
    let error = to(&file("b.pages.zst"), "d.pages", 2048, 0).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "found a page size of 2048 bytes, expected at least the 4096 bytes of the recording; \
             hint: page_size=\"4096B\", or record again"
        ),
        "{error}"
    );
    let block_trace = file("block.csv");
    std::fs::write(&block_trace, "time_us,op,offset_bytes,size_bytes,dev\n1.000,W,0,4096,0\n")
        .unwrap();
    let error = to(&block_trace, "e.pages", 2048, 0).unwrap_err().to_string();
    assert!(error.contains("found a block trace (csv), expected references to memory"), "{error}");
}

#[test]
fn statistics_of_references_say_the_working_set() {
    let text = "I  00001000,4\n L 00001800,4\n S 00002000,4\nI  00001004,4\n";
    let paging = PagingOptions { page_size: 2048, ..PagingOptions::default() };
    let stat =
        TraceStat::of(reader(text.as_bytes(), &ReadOptions::default()).unwrap(), paging).unwrap();
    assert_eq!((stat.read_as.format.as_str(), stat.requests, stat.pages), ("lackey", 4, 3));
    assert_eq!(stat.write_share, 0.25);
    // There are four requests, and each is its own window.
    assert_eq!(stat.working_set.unwrap().pages, [1, 1, 1, 1]);
    assert_eq!(stat.recorded, None);
    let block_trace = b"time_us,op,offset_bytes,size_bytes,dev\n1.000,W,0,4096,0\n";
    let stat =
        TraceStat::of(reader(block_trace, &ReadOptions::default()).unwrap(), paging).unwrap();
    assert_eq!(stat.working_set, None);
}

#[test]
fn what_is_no_reference_is_an_error_with_its_line() {
    let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let good = "I  00001000,4\n L 00001800,4\n";
    let third = |line: &str, expected: &str| {
        let error = error(&format!("{good}{line}\n"));
        assert!(error.starts_with(&format!("memory:3:{expected}")), "{error}");
    };
    third(" X 00001800,4", "2: found 'X', expected I, L, S or M");
    third(" S zz,4", "4: found 'zz,4', expected an address, a hexadecimal number below 2^63");
    third(" S 10", "6: found nothing, expected a comma after the address");
    third(" S ffffffffffffffff,4", "4: found 'ffffffffffffffff,4', expected an address");
    third(" S 7fffffffffffffff,4", "21: found '4', expected offset + size of at most 2^63 bytes");
    // The program's own output between the references is skipped and counted only if the option is
    // given.
    let options = ReadOptions {
        on_bad_line: flashgc_workload::trace::OnBadLine::Skip,
        ..ReadOptions::default()
    };
    let mut mixed = reader(format!("{good}hello, world\n").as_bytes(), &options).unwrap();
    let mut block = Vec::new();
    while mixed.next_block(&mut block).unwrap() {}
    assert_eq!(mixed.skipped(), 1);
    assert!(error("hello\nworld\n").contains("no known trace format fits"));
}

#[test]
fn damage_to_a_file_of_pages_is_found() {
    let references: Vec<Request> =
        (0..500).map(|i| access(Op::Write, (i * 7919 % 1000) * 2048, 8)).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pages");
    let mut writer = TraceWriter::create(&path, None).unwrap();
    writer.write(&references).unwrap();
    writer.finish().unwrap();
    let good = std::fs::read(&path).unwrap();
    assert_eq!(read(&good).unwrap().len(), 500);
    for cut in [8, 31, 32, 40, 64, 100, good.len() - 33, good.len() - 1] {
        assert!(read(&good[..cut]).is_err(), "cut at {cut}");
    }
    for byte in 0..good.len() {
        let mut bad = good.clone();
        bad[byte] ^= 0x10;
        assert!(read(&bad).is_err(), "byte {byte} flipped");
    }
    let error = read(&[good.as_slice(), b"x"].concat()).unwrap_err().to_string();
    assert!(error.contains("found more bytes after the end"), "{error}");
}
