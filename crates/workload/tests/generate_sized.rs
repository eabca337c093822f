//! Generators with requests that differ in size from a page. The requests are the draws of the same
//! generator over as many slots as requests fit side by side.

use crate::generate_common::{draw_ops, spec};
use flashgc_base::stream::NO_STREAM;
use flashgc_workload::generate::generators;
use flashgc_workload::requests::{Arrivals, Requests, Space, TimedRequest};
use flashgc_workload::{Batch, Op, Workload};

const PAGE: u32 = 4096;
const SPECS: [&str; 5] = [
    "uniform",
    "uniform:read=0.3,trim=0.2",
    "zipf:theta=0.99,read=0.5",
    "0.6*sequential + 0.4*uniform:trim=0.5",
    "hotcold:f=0.2,r=0.8",
];

/// A command: its operation, its page, and the bytes of the page that it leaves unchanged.
type Command = (Op, u32, u32);

/// Returns the first `commands` commands, drawn in batches of sizes that alternate between
/// `limits`.
fn drain(mut workload: Box<dyn Workload>, limits: &[usize], commands: usize) -> Vec<Command> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for limit in limits.iter().cycle() {
        let left: usize = commands - all.len();
        workload.fill(&mut batch, left.min(*limit)).unwrap();
        if left == 0 {
            break;
        }
        assert!((1..=*limit).contains(&batch.pages.len()));
        assert!(batch.ops.is_empty() || batch.ops.len() == batch.pages.len());
        let begin = all.len();
        for (i, &page) in batch.pages.iter().enumerate() {
            all.push((batch.ops.get(i).copied().unwrap_or(Op::Write), page, 0));
        }
        assert!(batch.short.is_sorted_by(|one, next| one.0 < next.0));
        for &(command, bytes) in &batch.short {
            all[begin + command as usize].2 = bytes;
        }
    }
    all
}

/// Returns the operation and the slot of the first requests over `slots` slots.
fn slots(text: &str, slots: u32, seed: u64, count: usize) -> Vec<(Op, u32)> {
    let (pages, mut ops) = draw_ops(text, slots, seed, count);
    ops.resize(pages.len(), Op::Write);
    ops.into_iter().zip(pages).collect()
}

/// Returns the commands of `slots` by the definition, one by one.
fn by_the_book(slots: &[(Op, u32)], request: u32) -> Vec<Command> {
    let mut commands = Vec::new();
    for &(op, slot) in slots {
        let (begin, end) =
            (u64::from(slot) * u64::from(request), (u64::from(slot) + 1) * u64::from(request));
        for page in begin / u64::from(PAGE)..end.div_ceil(u64::from(PAGE)) {
            let (first, last) = (page * u64::from(PAGE), (page + 1) * u64::from(PAGE));
            let missing = PAGE - (end.min(last) - begin.max(first)) as u32;
            match op {
                Op::Trim if missing > 0 => {}
                Op::Write => commands.push((op, page as u32, missing)),
                _ => commands.push((op, page as u32, 0)),
            }
        }
    }
    commands
}

#[test]
fn requests_are_those_drawn_over_their_places_for_any_limits() {
    for text in SPECS {
        // 1003 pages have 8024 slots of 512 bytes, 250 slots of four pages, and 10 slots of 100
        // pages.
        for (request, places) in
            [(512, 8024), (2048, 2006), (8192, 501), (4 * PAGE, 250), (100 * PAGE, 10)]
        {
            let drawn = slots(text, places, 7, 6000);
            let expected = by_the_book(&drawn, request);
            let count = expected.len().min(5000);
            for limits in [&[1][..], &[3], &[4096], &[5, 700, 2, 511]] {
                let workload = spec(text).open_sized(1003, PAGE, request, 7).unwrap();
                let found = drain(workload, limits, count);
                assert!(found == expected[..count], "{text}, {request} bytes, {limits:?}");
            }
        }
    }
}

#[test]
fn the_bytes_of_small_requests_by_hand() {
    // Slots 0 to 7 follow each other, four on a page. A write of one leaves three quarters of its
    // page unchanged.
    let workload = spec("sequential").open_sized(2, PAGE, 1024, 1).unwrap();
    let page = |page| (Op::Write, page, 3072);
    let expected = [0, 0, 0, 0, 1, 1, 1, 1, 0].map(page);
    assert_eq!(drain(workload, &[4], 9), expected);
    // Requests have two pages, and the drive five: the last page is never addressed.
    let workload = spec("sequential").open_sized(5, PAGE, 8192, 1).unwrap();
    assert_eq!(drain(workload, &[3], 6), [0, 1, 2, 3, 0, 1].map(|page| (Op::Write, page, 0)));
}

#[test]
fn a_request_of_a_page_is_the_page_workload() {
    for info in generators().iter().filter(|info| info.params.iter().all(|p| p.default.is_some())) {
        let text = match info.name {
            "tpcc" => "tpcc:warehouses=1,page=64MiB",
            name => name,
        };
        let open = || spec(text).open(5000, 3).unwrap();
        let sized = || spec(text).open_sized(5000, PAGE, PAGE, 3).unwrap();
        assert_eq!(drain(sized(), &[4096], 20_000), drain(open(), &[4096], 20_000), "{text}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("counts.csv");
    std::fs::write(&table, "LBA,Frequency\n0,1\n4096,2\n").unwrap();
    let frequency = format!("frequency:path={}", table.display());
    let refused = |text: &str, pages, request| {
        let error = spec(text).open_sized(pages, PAGE, request, 1).err().unwrap().to_string();
        assert!(!error.contains('\n'));
        error
    };
    let neither = "expected a divisor or a multiple of the page of 4096 bytes; hint: \
                   request_size=\"4096B\" is one page";
    for request in [6000, 0, 4095, 3 * 512] {
        let error = refused("uniform", 10, request);
        assert_eq!(error, format!("request_size: found {request} bytes, {neither}"));
    }
    assert_eq!(
        refused("uniform", 1 << 31, 512),
        "8 requests a page on 2147483648 pages are too many to draw from, expected at most 2^32 - 1; \
         hint: a larger request_size, or fewer blocks"
    );
    assert_eq!(
        refused("uniform", 3, 4 * PAGE),
        "found requests of 4 pages on a drive of 3 pages; hint: a smaller request_size, or more \
         blocks"
    );
    let places = "expected one page of 4096 bytes, because this workload names single pages; \
                  hint: request_size=\"4096B\"";
    for (text, name) in [
        (frequency.as_str(), "frequency"),
        ("tpcc:warehouses=1,page=4KiB", "tpcc"),
        ("0.5*uniform + 0.5*tpcc:warehouses=1,page=4KiB", "tpcc"),
    ] {
        for request in [2048, 8192] {
            let error = refused(text, 1 << 20, request);
            assert_eq!(error, format!("{name}: found requests of {request} bytes, {places}"));
        }
    }
    let Requests::Pages(trims) = Requests::parse("uniform:trim=1").unwrap() else { panic!() };
    let error = trims.open_sized(10, PAGE, 512, 1).err().unwrap().to_string();
    assert!(
        error.contains("only TRIMs, and a TRIM of 512 bytes of a page of 4096 bytes"),
        "{error}"
    );
    assert!(trims.open_sized(10, PAGE, PAGE, 1).is_ok());
    assert!(refused("uniform", 0, 512).contains("at least 1 logical page"));
}

#[test]
fn timed_requests_are_the_same_bytes_as_the_commands() {
    for text in SPECS {
        for (request, places) in [(512, 800), (PAGE, 100), (3 * PAGE, 33)] {
            let source = Requests::parse(text).unwrap();
            let space = Space { logical_pages: 100, page_size: PAGE, request_size: request };
            let arrivals = Arrivals::parse("periodic:mean=1us").unwrap();
            let mut drawn = slots(text, places, 5, 3000);
            if request < PAGE {
                drawn.retain(|&(op, _)| op != Op::Trim);
            }
            let expected: Vec<TimedRequest> = drawn
                .iter()
                .zip(1..)
                .map(|(&(op, slot), number)| TimedRequest {
                    arrival_ns: 1000 * number,
                    offset: u64::from(slot) * u64::from(request),
                    bytes: request,
                    op,
                    urgent: false,
                    stream: NO_STREAM,
                    goes_on: false,
                })
                .collect();
            for limit in [1, 3, 700] {
                let mut stream = source.open(space, 5, Some(&arrivals), 1.0, None).unwrap();
                let (mut found, mut batch) = (Vec::new(), Vec::new());
                while found.len() < 1000 {
                    stream.fill(&mut batch, limit).unwrap();
                    assert!((1..=limit).contains(&batch.len()));
                    found.extend_from_slice(&batch);
                }
                assert!(found[..1000] == expected[..1000], "{text}, {request} bytes, {limit}");
            }
        }
    }
}
