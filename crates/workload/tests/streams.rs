//! The streams of writes: streams by generator, with parts of the drive, and streams by address.

use std::path::Path;
use std::sync::Arc;

use crate::generate_common::{draw, spec};
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::stream::NO_STREAM;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{RequestStream, Requests, Space, TimedRequest};
use flashgc_workload::{Batch, Op, Ranged, RangedRequests, StreamRanges, Workload, WorkloadError};
use proptest::prelude::*;

/// A command: its operation, page and stream.
type Command = (Op, u32, u8);

/// Returns the first `commands` commands, drawn in batches of sizes that alternate between
/// `limits`.
fn drain(mut workload: Box<dyn Workload>, limits: &[usize], commands: usize) -> Vec<Command> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for limit in limits.iter().cycle() {
        workload.fill(&mut batch, (commands - all.len()).min(*limit)).unwrap();
        if batch.pages.is_empty() {
            break;
        }
        assert!(batch.streams.is_empty() || batch.streams.len() == batch.pages.len());
        let each = batch.pages.iter().enumerate();
        all.extend(each.map(|(at, &page)| (batch.op(at), page, batch.stream(at))));
    }
    all
}

/// Returns the commands of a workload over `pages` pages. They must be the same for all batch
/// sizes.
fn commands(text: &str, pages: u32) -> Vec<Command> {
    let open = || spec(text).open(pages, 1).unwrap();
    let one = drain(open(), &[4096], 3000);
    assert_eq!(one, drain(open(), &[700, 1, 1024, 3], 3000), "{text}");
    one
}

fn ranges(text: &str) -> StreamRanges {
    StreamRanges::parse(Path::new("streams.csv"), text.as_bytes()).unwrap()
}

#[test]
fn tenants_work_side_by_side_and_name_their_writes() {
    let text = "0.5*uniform:to=0.5,stream=0,read=0.3,trim=0.1 + 0.3*sequential:from=0.5,stream=254 + \
                0.2*sequential:from=0.9";
    let found = commands(text, 100);
    let mut last = [50, 90];
    for &(op, page, stream) in &found {
        match page {
            0..50 => assert_eq!(stream, 0),
            _ => {
                assert_eq!(op, Op::Write);
                // The last two parts overlap. A write belongs to the second of them if it has no
                // stream.
                let who = usize::from(stream == NO_STREAM);
                assert_eq!(page, last[who]);
                assert!(stream == [254, NO_STREAM][who]);
                last[who] = if page == 99 { [50, 90][who] } else { page + 1 };
            }
        }
    }
    for op in [Op::Write, Op::Read, Op::Trim] {
        assert!(found.iter().any(|one| one.0 == op && one.1 < 50), "{op:?}");
    }
}

#[test]
fn a_stream_changes_no_draw() {
    for (plain, named, stream) in [
        ("zipf", "zipf:stream=7", 7),
        ("uniform:read=0.4,trim=0.1", "uniform:stream=0,read=0.4,trim=0.1", 0),
        ("tpcc:warehouses=1", "tpcc:warehouses=1,stream=3", 3),
        (
            "0.5*uniform:read=0.2 + 0.5*hotcold:f=0.2,r=0.8",
            "0.5*uniform:read=0.2,stream=9 + 0.5*hotcold:f=0.2,r=0.8,stream=9",
            9,
        ),
        ("0.5*uniform + 0.5*normal", "0.5*uniform:stream=9 + 0.5*normal:stream=9", 9),
    ] {
        let expected: Vec<Command> = commands(plain, 20_000)
            .into_iter()
            .map(|(op, page, none)| {
                assert_eq!(none, NO_STREAM);
                (op, page, stream)
            })
            .collect();
        assert!(commands(named, 20_000) == expected, "{named}");
    }
}

#[test]
fn without_streams_no_batch_has_any() {
    let mut batch = Batch { streams: vec![3], ..Batch::default() };
    spec("uniform:read=0.5").open(100, 1).unwrap().fill(&mut batch, 10).unwrap();
    assert!(batch.streams.is_empty());
}

#[test]
fn a_part_begins_and_ends_at_the_nearest_page() {
    // 0.25 of 10 pages are 2.5, rounded to 3; 0.75 are 7.5, rounded to 8.
    let shifted: Vec<u32> = draw("uniform", 5, 1, 500).iter().map(|page| page + 3).collect();
    assert_eq!(draw("uniform:from=0.25,to=0.75", 10, 1, 500), shifted);
    assert_eq!(draw("sequential:from=70%", 10, 1, 4), [7, 8, 9, 7]);
    // 0.29 is no exact binary number: 0.29 of 100 pages are still 29, and adjacent parts share a
    // border.
    assert_eq!(draw("sequential:to=0.29", 100, 1, 30)[28..], [28, 0]);
    assert_eq!(draw("sequential:from=0.29,to=0.3", 100, 1, 2), [29, 29]);
}

#[test]
fn requests_of_other_sizes_stay_on_the_whole_pages_of_a_part() {
    let pages_of = |text: &str, request: u32, count: usize| {
        let workload = spec(text).open_sized(12, 4096, request, 1).unwrap();
        drain(workload, &[5, 2], count)
    };
    // The part is pages 3 to 5, with two requests on each; its end, 0.52, is at page 6.24.
    let halves = pages_of("sequential:from=0.25,to=0.52,stream=4", 2048, 7);
    let pages: Vec<u32> = halves.iter().map(|one| one.1).collect();
    assert_eq!(pages, [3, 3, 4, 4, 5, 5, 3]);
    assert!(halves.iter().all(|one| one.2 == 4));
    // The part is pages 2 to 11; the requests of four pages inside it begin at pages 4 and 8.
    let quads = pages_of("sequential:from=0.2,stream=4", 4 * 4096, 10);
    let pages: Vec<u32> = quads.iter().map(|one| one.1).collect();
    assert_eq!(pages, [4, 5, 6, 7, 8, 9, 10, 11, 4, 5]);
    assert!(quads.iter().all(|one| one.2 == 4));
    // TRIMs of parts of pages are left out, and the other commands keep their streams.
    let text = "0.5*uniform:to=0.5,stream=1,trim=0.5 + 0.5*uniform:from=0.5,stream=2,read=0.5";
    for request in [1024, 4096, 3 * 4096] {
        let found = pages_of(text, request, 2000);
        assert_eq!(found.iter().any(|one| one.0 == Op::Trim), request >= 4096);
        for &(_, page, stream) in &found {
            let expected = if page < 6 { 1 } else { 2 };
            assert_eq!(stream, expected);
        }
    }
    // No request of four pages lies completely on pages 5 to 9.
    let error = spec("uniform:from=0.4,to=0.8").open_sized(12, 4096, 4 * 4096, 1).err().unwrap();
    assert_eq!(
        error.to_string(),
        "uniform:read=0,trim=0,from=0.4,to=0.8: no request fits in its part of a drive of 12 logical \
         pages; hint: set from and to further apart, or use a larger drive"
    );
}

#[test]
fn texts_leave_out_what_is_not_asked_for_and_parse_back() {
    for (text, canonical) in [
        ("uniform", "uniform:read=0,trim=0"),
        ("uniform:stream=none,from=0%,to=1.0", "uniform:read=0,trim=0"),
        ("uniform:stream=0,to=50%", "uniform:read=0,trim=0,stream=0,to=0.5"),
        (
            "0.5*uniform:from=0.5 + 0.5*tpcc:stream=254",
            "0.5*uniform:read=0,trim=0,from=0.5 + 0.5*tpcc:warehouses=0,page=16KiB,fill=1,stream=254",
        ),
    ] {
        let spec = spec(text);
        assert_eq!(spec.to_string(), canonical);
        assert_eq!(GeneratorSpec::parse(canonical).unwrap().to_string(), canonical);
        assert_eq!(spec.has_streams(), canonical.contains("stream"));
    }
}

#[test]
fn faults_of_the_parameters_name_what_to_try() {
    let error = |text: &str| GeneratorSpec::parse(text).unwrap_err().to_string();
    for text in ["255", "-1", "01", "red", ""] {
        assert_eq!(
            error(&format!("zipf:stream={text}")),
            format!(
                "zipf: stream={text} is not a whole number from 0 to 254, or none; hint: stream of the \
                 writes, from 0 to 254, for example stream=0"
            )
        );
    }
    assert_eq!(
        error("zipf:from=0.5,to=0.5"),
        "zipf: found from=0.5 and to=0.5, expected from below to; hint: they are the two ends of its \
         part of the drive, for example from=0.5,to=1"
    );
    let none = spec("uniform:from=0.5,to=0.501").open(100, 1).err().unwrap().to_string();
    assert!(none.contains("no request fits in its part of a drive of 100 logical pages"), "{none}");
}

#[test]
fn a_table_of_frequencies_on_a_part_does_not_say_how_large_the_drive_is() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("counts.csv");
    std::fs::write(&table, "LBA,Frequency\n0,1\n4096,2\n").unwrap();
    let text = |more: &str| spec(&format!("frequency:path={}{more}", table.display()));
    assert_eq!(text("").fixed_pages(), Some(2));
    assert_eq!(text(",stream=1").fixed_pages(), Some(2));
    assert_eq!(text(",from=0.5").fixed_pages(), None);
    let found = drain(text(",from=0.5").open(4, 1).unwrap(), &[100], 100);
    assert!(found.iter().all(|one| (2..4).contains(&one.1)));
    let error = text(",from=0.5").open(3, 1).err().unwrap().to_string();
    assert!(error.contains("the table has 2 pages, the drive 1"), "{error}");
}

#[test]
fn the_first_line_that_holds_a_byte_names_its_stream() {
    let found = ranges("0, 4096, 1\n\n 8192,12288 ,0\r\n0,16384,2\n16384, 16385, 254");
    for (byte, stream) in [
        (0, Some(1)),
        (4095, Some(1)),
        (4096, Some(2)),
        (8191, Some(2)),
        (8192, Some(0)),
        (12287, Some(0)),
        (12288, Some(2)),
        (16383, Some(2)),
        (16384, Some(254)),
        (16385, None),
        (u64::MAX, None),
    ] {
        assert_eq!(found.of(byte), stream, "byte {byte}");
    }
    assert_eq!(ranges("10,20,3").of(9), None);
}

proptest! {
    #[test]
    fn a_table_is_what_its_lines_say_one_by_one(
        lines in prop::collection::vec((0u64..40, 1u64..20, 0u8..5), 1..12)
    ) {
        let text: String = lines
            .iter()
            .map(|(start, length, stream)| format!("{start},{},{stream}\n", start + length))
            .collect();
        let table = ranges(&text);
        for byte in 0..70 {
            let first =
                lines.iter().find(|(start, length, _)| (*start..start + length).contains(&byte));
            prop_assert_eq!(table.of(byte), first.map(|line| line.2));
        }
    }
}

#[test]
fn faults_of_a_table_have_their_place() {
    let error = |text: &str| {
        StreamRanges::parse(Path::new("s.csv"), text.as_bytes()).unwrap_err().to_string()
    };
    let hint = "; hint: a line is START, END, STREAM in bytes, for example 0, 1073741824, 0";
    for (text, expected) in [
        ("0,1,0\n0, 4k, 1\n", "s.csv:2:4: found '4k', expected the first byte behind the range"),
        ("x,1,0", "s.csv:1:1: found 'x', expected the first byte of a range"),
        ("5, 5, 0", "s.csv:1:4: found the end 5, expected one behind the start 5"),
        ("0,1,255", "s.csv:1:5: found '255', expected a stream from 0 to 254"),
        ("0,1,", "s.csv:1:5: found '', expected a stream from 0 to 254"),
        ("0,1 ", "s.csv:1:4: found 2 columns, expected 3 (START, END, STREAM)"),
        ("0,1,2, 3", "s.csv:1:8: found 4 columns, expected 3 (START, END, STREAM)"),
        (
            "18446744073709551616,1,0",
            "s.csv:1:1: found '18446744073709551616', expected the first byte of a range",
        ),
        ("0,+1,0", "s.csv:1:3: found '+1', expected the first byte behind the range"),
        ("\n", "s.csv: found no range, expected at least one line"),
    ] {
        assert_eq!(error(text), format!("{expected}{hint}"));
    }
    let missing = StreamRanges::open(Path::new("none.csv")).unwrap_err().to_string();
    assert!(missing.starts_with("none.csv: cannot read the ranges of streams"), "{missing}");
}

#[test]
fn ranges_name_the_writes_of_any_workload() {
    // Pages 0 to 24 have stream 1. Page 30 begins inside a range, page 40 does not.
    let table = Arc::new(ranges(&format!(
        "0,{},1\n{},{},2\n{},{},3",
        25 * 4096,
        30 * 4096,
        30 * 4096 + 1,
        40 * 4096 + 1,
        41 * 4096
    )));
    let stream = |page| match page {
        0..25 => 1,
        30 => 2,
        _ => NO_STREAM,
    };
    for (text, own) in [("uniform:read=0.4,trim=0.1", NO_STREAM), ("uniform:stream=9", 9)] {
        let plain = commands(text, 100);
        let ranged = Ranged::new(spec(text).open(100, 1).unwrap(), Arc::clone(&table), 4096);
        let found = drain(Box::new(ranged), &[7, 600], 3000);
        for (&(op, page, _), found) in plain.iter().zip(found) {
            let named = if stream(page) == NO_STREAM { own } else { stream(page) };
            assert_eq!(found, (op, page, named));
        }
    }
}

#[test]
fn requests_with_times_have_the_streams_of_their_generator_and_of_their_pages() {
    let space = Space { logical_pages: 100, page_size: 4096, request_size: 2048 };
    let text = "0.5*uniform:to=0.5,stream=5,read=0.3,trim=0.2 + 0.5*uniform:from=0.5";
    let source = Requests::parse(text).unwrap();
    let open = || source.open(space, 1, None, 1.0, None).unwrap();
    let (mut plain, mut found) = (Vec::new(), Vec::new());
    open().fill(&mut plain, 2000).unwrap();
    // Requests are halves of pages. The first byte of a page decides, so page 61 does not get the
    // stream of its second half.
    let table = Arc::new(ranges(&format!(
        "{},{},6\n{},{},7",
        60 * 4096,
        61 * 4096,
        61 * 4096 + 2048,
        62 * 4096
    )));
    RangedRequests::new(open(), table, 4096).fill(&mut found, 2000).unwrap();
    for (plain, found) in plain.iter().zip(&found) {
        let stream = match plain.offset {
            0..204_800 => 5,
            245_760 | 247_808 => 6,
            _ => NO_STREAM,
        };
        assert_eq!(plain.stream, if stream == 6 { NO_STREAM } else { stream });
        assert_eq!((found.offset, found.op, found.stream), (plain.offset, plain.op, stream));
    }
    assert!(found.iter().any(|request| request.stream == 6));
}

#[test]
fn a_write_to_pages_of_several_streams_is_in_pieces() {
    struct One(Option<TimedRequest>);
    impl State for One {
        fn save(&self, _: &mut Writer<'_>) {}

        fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
            Ok(())
        }
    }
    impl RequestStream for One {
        fn fill(&mut self, batch: &mut Vec<TimedRequest>, _: usize) -> Result<(), WorkloadError> {
            batch.clear();
            batch.extend(self.0.take());
            Ok(())
        }
    }
    let whole = TimedRequest {
        arrival_ns: 7,
        offset: 100,
        bytes: 5 * 4096,
        op: Op::Write,
        urgent: false,
        stream: 3,
        goes_on: false,
    };
    // Pages 2 and 3 get the stream of the range; pages 0, 1, 4 and 5 keep the stream of the
    // request.
    let table = Arc::new(ranges(&format!("{},{},6", 2 * 4096, 4 * 4096)));
    for (op, expected) in [
        (Op::Write, vec![(100, 8092, 3), (8192, 8192, 6), (16384, 4196, 3)]),
        (Op::Read, vec![(100, 20480, 3)]),
    ] {
        let one = Box::new(One(Some(TimedRequest { op, ..whole })));
        let mut stream = RangedRequests::new(one, table.clone(), 4096);
        let mut found = Vec::new();
        let mut batch = Vec::new();
        loop {
            // A batch has one piece.
            stream.fill(&mut batch, 1).unwrap();
            if batch.is_empty() {
                break;
            }
            assert_eq!((batch.len(), batch[0].arrival_ns), (1, 7));
            found.append(&mut batch);
        }
        let pieces: Vec<_> = found.iter().map(|one| (one.offset, one.bytes, one.stream)).collect();
        assert_eq!(pieces, expected);
        let last = found.len() - 1;
        assert!(found.iter().enumerate().all(|(at, one)| one.goes_on == (at < last)));
    }
}
