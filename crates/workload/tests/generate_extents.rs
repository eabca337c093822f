//! Generators that give their requests sizes: shares of sizes and of zones, the pages that requests
//! cover, and requests that follow each other.

use std::collections::BTreeMap;

use crate::generate_common::spec;
use flashgc_workload::requests::{Arrivals, Requests, Space};
use flashgc_workload::trace::Request;
use flashgc_workload::{Batch, Op};

const PAGE: u32 = 4096;

/// The enterprise workload of JESD219, as in fio's `examples/jesd219.fio`: percentages of sizes.
const JESD219: &str = "zoned:shares=50/5:30/15:20/80,read=0.4,align=4KiB,\
    size=512B:4/1KiB:1/1.5KiB:1/2KiB:1/2.5KiB:1/3KiB:1/3.5KiB:1/4KiB:67/8KiB:10/16KiB:7/32KiB:3/64KiB:3";

const SPECS: [&str; 8] = [
    JESD219,
    "uniform:size=700B:1/5000B:2,align=100B,trim=0.2",
    "uniform:size=8KiB,read=0.3",
    "uniform:size=3KiB-30KiB,trim=0.3,read=0.1",
    "sequential:size=1B:1/4097B:1/12KiB:1,stream=3",
    "0.4*sequential:to=0.5,size=6KiB + 0.6*zipf:theta=0.9,from=0.5,size=512B:1/32KiB:1,align=512B",
    "0.5*uniform:read=1 + 0.5*uniform:align=8KiB,size=4KiB",
    "hotcold:f=0.2,r=0.8,size=20KiB,align=1KiB,trim=0.5",
];

/// Returns the first `count` requests on `pages` pages.
fn requests(text: &str, pages: u32, seed: u64, count: usize) -> Vec<Request> {
    let mut extents = spec(text).open_extents(pages, PAGE, PAGE, seed).unwrap();
    (0..count).map(|_| extents.next_request()).collect()
}

#[test]
fn jesd219_has_its_shares_of_sizes_zones_and_reads() {
    // 2^18 pages are 1 GiB.
    let (count, pages) = (1_000_000, 1 << 18);
    let drawn = requests(JESD219, pages, 1, count);
    let percent =
        |of: &dyn Fn(&Request) -> bool| drawn.iter().filter(|it| of(it)).count() as f64 / 1e4;
    let near = |what: &str, found: f64, expected: f64| {
        assert!((found - expected).abs() < 0.1, "{what}: {found}%, expected {expected}%");
    };
    let sizes = [512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16384, 32768, 65536];
    let shares = [4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 67.0, 10.0, 7.0, 3.0, 3.0];
    for (size, share) in sizes.into_iter().zip(shares) {
        near(&format!("{size} bytes"), percent(&|it| it.size == size), share);
    }
    let bytes = f64::from(pages) * f64::from(PAGE);
    let within = |from: f64, to: f64| {
        percent(&|it| (from * bytes..to * bytes).contains(&(it.offset as f64)))
    };
    near("first 5%", within(0.0, 0.05), 50.0);
    near("next 15%", within(0.05, 0.2), 30.0);
    near("last 80%", within(0.2, 1.0), 20.0);
    near("reads", percent(&|it| it.op == Op::Read), 40.0);
    near("writes", percent(&|it| it.op == Op::Write), 60.0);
    // Reads have the same sizes: 67% of 40%.
    near("reads of 4 KiB", percent(&|it| it.op == Op::Read && it.size == 4096), 26.8);
    assert!(drawn.iter().all(|it| it.offset % 4096 == 0));
}

/// A command: its operation, its page, and the bytes of the page that it leaves unchanged.
type Command = (Op, u32, u32);

/// Returns the commands of a request, counted byte by byte, and whether each belongs to the request
/// of the command before it.
fn by_the_book(request: &Request) -> Vec<(Command, bool)> {
    let mut covered = BTreeMap::new();
    for byte in request.offset as u64..request.end() as u64 {
        *covered.entry((byte / u64::from(PAGE)) as u32).or_insert(0) += 1;
    }
    let mut commands = Vec::new();
    for (page, bytes) in covered {
        let missing = PAGE - bytes;
        match request.op {
            Op::Trim if missing > 0 => continue,
            Op::Write => commands.push(((Op::Write, page, missing), !commands.is_empty())),
            op => commands.push(((op, page, 0), !commands.is_empty())),
        }
    }
    commands
}

#[test]
fn commands_are_the_pages_that_requests_cover_for_any_limits() {
    for text in SPECS {
        let drawn = requests(text, 1003, 7, 3000);
        let expected: Vec<(Command, bool)> = drawn.iter().flat_map(by_the_book).collect();
        let streams = text.contains("stream=3");
        for limits in [&[1][..], &[3], &[4096], &[5, 700, 2, 511]] {
            let mut workload = spec(text).open_sized(1003, PAGE, PAGE, 7).unwrap();
            let (mut found, mut limits) = (Vec::new(), limits.iter().cycle());
            let mut batch = Batch { wants_joints: true, ..Batch::default() };
            while found.len() < 3000 {
                let limit = *limits.next().unwrap();
                workload.fill(&mut batch, limit).unwrap();
                assert_eq!(batch.pages.len(), limit);
                assert!(batch.short.is_sorted_by(|one, next| one.0 < next.0));
                let begin = found.len();
                for (number, &page) in batch.pages.iter().enumerate() {
                    let joint = batch.joints.contains(&(number as u32));
                    found.push(((batch.op(number), page, 0), joint));
                    assert_eq!(batch.stream(number) == 3, streams);
                }
                for &(command, bytes) in &batch.short {
                    found[begin + command as usize].0.2 = bytes;
                }
            }
            let count = found.len().min(expected.len());
            assert!(count >= 3000 && found[..count] == expected[..count], "{text}, {limits:?}");
        }
    }
}

#[test]
fn requests_begin_at_their_boundaries_and_stay_in_their_part() {
    for (text, align, part) in [
        ("uniform:size=12KiB", 12288, 0..1003),
        ("uniform:size=512B:1/64KiB:1", 512, 0..1003),
        ("uniform:size=4KiB-64KiB", 4096, 0..1003),
        ("uniform:size=6000B,align=1000B,from=0.5", 1000, 502..1003),
        ("zipf:theta=0.99,size=512B:1/64KiB:9,to=0.1,align=8KiB", 8192, 0..100),
    ] {
        let drawn = requests(text, 1003, 3, 20_000);
        let (from, to) = (part.start * i64::from(PAGE), part.end * i64::from(PAGE));
        assert!(drawn.iter().all(|it| it.offset % align == 0), "{text}");
        assert!(drawn.iter().all(|it| from <= it.offset && it.end() <= to), "{text}");
        // Requests reach the first and the last byte at which one may begin or end.
        let (first, last) =
            (drawn.iter().map(|it| it.offset).min(), drawn.iter().map(Request::end).max());
        assert_eq!(first, Some((from + align - 1) / align * align), "{text}");
        assert!(last.unwrap() > to - align.max(4096), "{text}");
    }
}

#[test]
fn a_range_has_each_multiple_as_often() {
    let drawn = requests("uniform:size=4KiB-64KiB,to=0.9", 1 << 18, 1, 160_000);
    let mut counts = [0; 17];
    drawn.iter().for_each(|it| counts[(it.size / 4096) as usize] += 1);
    // The standard deviation of each count is 97.
    assert!(counts[0] == 0 && counts[1..].iter().all(|count| (9_600..10_400).contains(count)));
}

#[test]
fn a_sequential_request_begins_where_the_last_one_ended() {
    let drawn = requests("sequential:size=1536B:1/8KiB:1", 10, 1, 200);
    let mut passes = 0;
    for pair in drawn.windows(2) {
        if pair[1].offset == 0 {
            passes += 1;
            // Not even the smallest size fits behind the last request of a pass.
            assert!(pair[0].end() + 1536 > 40960);
        } else {
            assert_eq!(pair[1].offset, pair[0].end());
        }
    }
    assert!(passes > 10);
    // By hand: two requests of 5000 bytes from boundaries of 4 KiB end at 13192 and leave no room
    // on four pages for a third.
    let drawn = requests("sequential:size=5000B,align=4KiB", 4, 1, 3);
    assert_eq!(drawn.iter().map(|it| it.offset).collect::<Vec<_>>(), [0, 8192, 0]);
}

#[test]
fn every_part_of_a_mixture_has_its_own_sizes() {
    let text = "0.25*uniform:to=0.5,size=1KiB + 0.75*uniform:from=0.5,read=1";
    let mut extents = spec(text).open_extents(1000, PAGE, 8192, 1).unwrap();
    let drawn: Vec<Request> = (0..40_000).map(|_| extents.next_request()).collect();
    let half = 500 * i64::from(PAGE);
    let (small, large): (Vec<Request>, Vec<Request>) =
        drawn.into_iter().partition(|it| it.offset < half);
    assert!((9_600..10_400).contains(&small.len()), "{}", small.len());
    assert!(small.iter().all(|it| it.size == 1024 && it.op == Op::Write));
    assert!(large.iter().all(|it| it.size == 8192 && it.op == Op::Read));
}

#[test]
fn a_drive_with_a_clock_gets_the_same_requests() {
    for text in SPECS {
        let space = Space { logical_pages: 1003, page_size: PAGE, request_size: PAGE };
        let arrivals = Arrivals::parse("periodic:mean=1us").unwrap();
        let source = Requests::parse(text).unwrap();
        let expected = requests(text, 1003, 5, 1000);
        for limit in [1, 3, 700] {
            let mut stream = source.open(space, 5, Some(&arrivals), 1.0, None).unwrap();
            let (mut found, mut batch) = (Vec::new(), Vec::new());
            while found.len() < 1000 {
                stream.fill(&mut batch, limit).unwrap();
                assert_eq!(batch.len(), limit);
                found.append(&mut batch);
            }
            for (number, (found, expected)) in (1..).zip(found.iter().zip(&expected)) {
                assert_eq!(found.arrival_ns, 1000 * number);
                assert_eq!(
                    (found.offset as i64, found.end() as i64),
                    (expected.offset, expected.end())
                );
                assert_eq!((found.op, found.stream), (expected.op, expected.stream));
                assert!(!found.goes_on);
            }
        }
    }
}

#[test]
fn the_number_of_pages_of_each_request_is_known_if_it_is_the_same() {
    let pages = |text: &str, request| spec(text).pages_of_each(PAGE, request);
    assert_eq!(pages("uniform", 512), Some(1));
    assert_eq!(pages("uniform", 8192), Some(2));
    assert_eq!(pages("uniform:size=16KiB,align=4KiB", PAGE), Some(4));
    assert_eq!(pages("uniform:size=512B", PAGE), Some(1));
    assert_eq!(pages("uniform:size=5KiB,align=4KiB", PAGE), Some(2));
    assert_eq!(pages("uniform:size=5KiB:1/8KiB:1,align=4KiB", PAGE), Some(2));
    assert_eq!(pages("uniform:size=5KiB,align=1KiB", PAGE), None);
    assert_eq!(pages("uniform:size=5KiB,align=4KiB,trim=0.5", PAGE), None);
    assert_eq!(pages(JESD219, PAGE), None);
    assert_eq!(pages("0.5*uniform:size=8KiB + 0.5*uniform", PAGE), None);
    for (text, count) in [("uniform:size=5KiB,align=4KiB", 2), ("uniform:size=512B", 1)] {
        let drawn = requests(text, 100, 1, 100);
        assert!(drawn.iter().all(|it| by_the_book(it).len() == count), "{text}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_in_one_line() {
    let any = |text: &str| match Requests::parse(text).unwrap() {
        Requests::Pages(spec) => spec,
        _ => unreachable!("a generator"),
    };
    let refused = |text: &str, pages, request| {
        let error = any(text).open_sized(pages, PAGE, request, 1).err().unwrap().to_string();
        assert!(!error.contains('\n'));
        error
    };
    assert_eq!(
        refused("uniform:size=16KiB", 3, PAGE),
        "uniform:read=0,trim=0,size=16KiB: no request of 16384 bytes that begins at a multiple of 16384 \
         bytes fits in 12288 bytes; hint: a smaller size or align, set from and to further apart, or use a \
         larger drive"
    );
    assert!(refused("uniform:size=512B", 1 << 31, PAGE).contains("too many to draw from"));
    assert_eq!(
        refused("uniform:size=8KiB", 100, 512),
        "request_size 512B does not go with size= in every generator, which gives each request its size; \
         hint: leave request_size out"
    );
    assert!(
        refused("0.5*uniform:size=8KiB + 0.5*tpcc:page=4KiB", 1 << 20, 8192)
            .contains("single pages")
    );
    assert!(refused("tpcc:page=4KiB,size=8KiB", 1 << 20, PAGE).contains("single pages"));
    assert!(
        any("0.5*uniform:size=8KiB + 0.5*tpcc:page=4KiB,warehouses=1")
            .open_sized(1 << 20, PAGE, PAGE, 1)
            .is_ok()
    );
    assert!(refused("uniform:trim=1,size=5KiB", 100, PAGE).contains("only TRIMs"));
    assert!(any("uniform:trim=1,size=5KiB,align=4KiB").open_sized(100, PAGE, PAGE, 1).is_ok());
    assert!(any("uniform:trim=1,size=8KiB,align=1B").open_sized(100, PAGE, PAGE, 1).is_ok());
    assert!(
        spec("uniform:size=4KiB").open(100, 1).err().unwrap().to_string().contains("whole pages")
    );
    let stride = Requests::parse("sequential:stride=2,size=8KiB").unwrap_err().to_string();
    assert!(stride.contains("a request begins where the last one ended"), "{stride}");
}

#[test]
fn the_text_of_a_spec_has_its_sizes_and_parses_back() {
    for text in SPECS {
        let said = spec(text).to_string();
        assert!(said.contains("size="), "{said}");
        assert_eq!(spec(&said).to_string(), said);
    }
    assert_eq!(spec("uniform").to_string(), "uniform:read=0,trim=0");
}
