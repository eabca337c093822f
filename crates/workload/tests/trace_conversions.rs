//! Conversions keep every request of every format, in every format that is written, or name in one
//! line the property that the copy cannot store.

use std::path::{Path, PathBuf};

use crate::trace_common::{corpus, fuzz_folder};
use flashgc_base::stream::NO_STREAM;
use flashgc_workload::Op;
use flashgc_workload::trace::{
    ConvertOptions, Declared, DeviceNumbers, Fault, Fields, Notes, OtherLines, PagesOptions,
    PagingOptions, Property, ReadAs, ReadOptions, Request, TraceError, TraceReader, TraceStat,
    TraceWriter, convert, format, join,
};

/// The extensions of block traces: each format that is written, with each compression.
const BLOCKS: [&str; 6] = ["csv", "csv.gz", "csv.zst", "flashgc", "flashgc.gz", "flashgc.zst"];
const REFERENCES: [&str; 3] = ["pages", "pages.gz", "pages.zst"];

fn keeping() -> ReadOptions {
    ReadOptions { keep_flushes: true, ..ReadOptions::default() }
}

fn native() -> ConvertOptions {
    let read = ReadOptions { device_numbers: DeviceNumbers::Native, ..keeping() };
    ConvertOptions { read, ..ConvertOptions::default() }
}

/// Returns all requests of a trace, flushes and hints among them.
fn requests(path: &Path) -> Vec<Request> {
    let all = TraceReader::open(path, &keeping()).unwrap().requests();
    all.collect::<Result<_, _>>().unwrap()
}

/// Returns the statistics of a trace, without properties of the file: its format, its compression,
/// notes, and lines that are not requests.
fn stat(path: &Path, page_size: u64) -> TraceStat {
    let reader = TraceReader::open(path, &ReadOptions::default()).unwrap();
    let paging = PagingOptions { page_size, ..PagingOptions::default() };
    TraceStat {
        read_as: ReadAs::default(),
        notes: Notes::default(),
        others: OtherLines::default(),
        ..TraceStat::of(reader, paging).unwrap()
    }
}

/// Writes a trace with everything that requests can have: each operation, flushes, streams, times
/// in nanoseconds that go back, several devices, and sizes and offsets that are not whole pages.
fn rich(folder: &Path, ending: &str, declared: Declared) -> PathBuf {
    let one = |time_ns, op, offset, size, device, stream| Request {
        time_ns,
        offset,
        size,
        device,
        op,
        stream: if declared.fields.has(Fields::STREAM) { stream } else { NO_STREAM },
        ..Request::default()
    };
    let requests = [
        one(1_234_567, Op::Write, 512, 5000, 2, 3),
        Request::flush(1_234_568, 2),
        one(1_234_001, Op::Read, 0, 4096, 10, NO_STREAM),
        one(2_000_001, Op::Trim, 8192, 1 << 33, 2, 0),
        one(2_000_001, Op::Dirty, 4096, 4096, 10, NO_STREAM),
        one(2_000_002, Op::Clean, 4096, 4096, 10, NO_STREAM),
        one(3_000_003, Op::Write, 12288, 1, 10, 254),
        Request::flush(3_000_003, 0),
        one(3_000_004, Op::Write, 100, 0, 2, NO_STREAM),
    ];
    let path = folder.join(format!("rich.{ending}"));
    let mut writer =
        TraceWriter::create_with(&path, None, PagesOptions::default(), declared).unwrap();
    writer.write(&requests).unwrap();
    writer.finish().unwrap();
    assert_eq!(self::requests(&path), requests, "{ending}");
    path
}

/// Converts `input` to a file with this extension in `folder`.
fn to(
    input: &Path,
    folder: &Path,
    ending: &str,
    options: &ConvertOptions,
) -> Result<PathBuf, TraceError> {
    let output = folder.join(format!("copy.{ending}"));
    convert(input, &output, options, |_| true).map(|_| output)
}

fn refused(input: &Path, folder: &Path, ending: &str) -> String {
    let output = folder.join(format!("refused.{ending}"));
    let error = convert(input, &output, &native(), |_| true).unwrap_err();
    assert_eq!(error.fault, Fault::Option);
    assert!(!output.exists());
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text.strip_prefix(&format!("{}: ", input.display())).unwrap().to_owned()
}

#[test]
fn every_format_is_copied_whole_to_every_format_that_is_written_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for (name, file, _) in corpus() {
        let Ok(format) = format::find(&name) else { continue };
        seen.push(format.name);
        let input = fuzz_folder().join("corpus").join(&name).join(&file);
        if format.references {
            for ending in BLOCKS {
                let found = refused(&input, folder.path(), ending);
                let ending = ending.split('.').next().unwrap();
                let expected = format!(
                    "found references to memory ({name}), and .{ending} has no place to say so: it \
                     would be read as a block trace; hint: write .pages instead, or \
                     leave_out=\"references\""
                );
                assert_eq!(found, expected);
            }
            continue;
        }
        let (whole, counted) = (requests(&input), stat(&input, 4096));
        assert_eq!(whole.iter().filter(|r| r.op == Op::Flush).count() as u64, counted.flushes);
        for ending in BLOCKS {
            let options = &native();
            let copy = to(&input, folder.path(), ending, options).unwrap();
            assert_eq!(requests(&copy), whole, "{name} to {ending}");
            assert_eq!(stat(&copy, 4096), counted, "{name} to {ending}");
            let back = if ending.starts_with("csv") { "flashgc" } else { "csv" };
            let back = to(&copy, folder.path(), back, options).unwrap();
            assert_eq!(requests(&back), whole, "{name} to {ending} and back");
        }
        for ending in REFERENCES {
            let expected = format!(
                "found a block trace ({name}), expected references to memory: only those are written \
                 to .pages; hint: write .flashgc or .csv instead"
            );
            assert_eq!(refused(&input, folder.path(), ending), expected);
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), format::FORMATS.len(), "{seen:?}");
}

#[test]
fn all_that_a_request_has_is_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    for streams in [false, true] {
        let declared = Declared { fields: Fields::STREAM.if_any(streams), ..Declared::default() };
        for from in BLOCKS {
            let input = rich(folder.path(), from, declared);
            let (whole, counted) = (requests(&input), stat(&input, 512));
            assert_eq!((counted.flushes, counted.devices, counted.discards), (2, 2, 1));
            assert_eq!(counted.streams.len(), if streams { 4 } else { 0 });
            for ending in BLOCKS {
                let copy = to(&input, folder.path(), ending, &ConvertOptions::default()).unwrap();
                assert_eq!(requests(&copy), whole, "{from} to {ending}");
                assert_eq!(stat(&copy, 512), counted, "{from} to {ending}");
            }
            for ending in REFERENCES {
                let found = refused(&input, folder.path(), ending);
                assert!(found.starts_with("found a block trace ("), "{found}");
            }
        }
    }
}

#[test]
fn a_write_with_fua_is_a_write_and_a_flush_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("fua.txt");
    let text = "\
  8,0    1        1     0.000001000   100  D   W 8 + 8 [app]
  8,0    1        2     0.000002007   100  D  FN [app]
  8,0    1        3     0.000003000   100  D WFS 24 + 9 [app]
  8,0    1        4     0.000004000   100  D FWS 16 + 8 [app]
";
    std::fs::write(&input, text).unwrap();
    for ending in BLOCKS {
        let copy = to(&input, folder.path(), ending, &native()).unwrap();
        let found: Vec<(Op, i64, u64, u64)> =
            requests(&copy).iter().map(|r| (r.op, r.offset, r.size, r.time_ns)).collect();
        let expected = [
            (Op::Write, 4096, 4096, 1000),
            (Op::Flush, 0, 0, 2007),
            (Op::Write, 12288, 4608, 3000),
            (Op::Flush, 0, 0, 3000),
            (Op::Flush, 0, 0, 4000),
            (Op::Write, 8192, 4096, 4000),
        ];
        assert_eq!(found, expected, "{ending}");
        assert_eq!(stat(&copy, 4096), stat(&input, 4096), "{ending}");
    }
}

#[test]
fn the_size_of_a_recorded_drive_is_left_out_only_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let declared = Declared { address_space: Some(1 << 30), ..Declared::default() };
    let input = rich(folder.path(), "flashgc", declared);
    let copy = to(&input, folder.path(), "flashgc.zst", &native()).unwrap();
    assert_eq!(stat(&copy, 4096), stat(&input, 4096));
    assert_eq!(stat(&copy, 4096).address_space_bytes, Some(1 << 30));
    assert_eq!(
        refused(&input, folder.path(), "csv.gz"),
        "found the recording of a drive of 1073741824 bytes, and .csv has no place for the size of the \
         drive, with which pages keep their numbers; hint: write .flashgc instead, or \
         leave_out=\"drive-size\""
    );
    let error = join(&[&input, &input], &folder.path().join("joined.csv")).unwrap_err();
    assert!(error.to_string().ends_with("; hint: write .flashgc instead"), "{error}");
    let options = ConvertOptions { leave_out: vec![Property::DriveSize], ..native() };
    let copy = to(&input, folder.path(), "csv", &options).unwrap();
    assert_eq!(requests(&copy), requests(&input));
}

#[test]
fn properties_are_named_by_words() {
    use Property::{DriveSize, References};
    assert_eq!(Property::parse("drive-size, references").unwrap(), [DriveSize, References]);
    let error = Property::parse("drive-sise").unwrap_err().to_string();
    assert!(error.contains("found 'drive-sise', expected drive-size or references"), "{error}");
}

#[test]
fn joined_traces_keep_their_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let input = rich(folder.path(), "csv", Declared::default());
    let output = folder.path().join("joined.flashgc");
    assert_eq!(join(&[&input, &input], &output).unwrap(), 18);
    let (once, twice) = (stat(&input, 4096), stat(&output, 4096));
    assert_eq!((twice.requests, twice.flushes), (2 * once.requests, 2 * once.flushes));
}

#[test]
fn devices_that_get_other_numbers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("volumes.csv");
    let notes = |text: &str, options: &ConvertOptions| {
        std::fs::write(&input, text).unwrap();
        convert(&input, folder.path().join("copy.csv"), options, |_| true).unwrap().notes
    };
    // The columns of Alibaba are device, operation, offset, length and time.
    let two = "2,W,0,4096,1\n10,W,0,4096,2\n2,R,4096,4096,3\n10,R,0,4096,4\n";
    let found = notes(two, &ConvertOptions::default());
    assert_eq!(
        found
            .iter()
            .map(|note| flashgc_base::naming::said(note, &flashgc_base::naming::Keywords))
            .collect::<Vec<_>>(),
        [
            "2 devices are 0 to 1 of the copy, in the order of their numbers as text: device 10 is 0, \
             for example (native_devices keeps the numbers, and the order of pages)"
        ]
    );
    assert!(notes(two, &native()).is_empty());
    let one = "7,W,0,4096,1\n7,W,0,4096,2\n7,R,4096,4096,3\n7,R,0,4096,4\n";
    let found = notes(one, &ConvertOptions::default());
    assert!(found[0].starts_with("device 7 is device 0 of the copy ("), "{found:?}");
    let ranked = "0,W,0,4096,1\n1,W,0,4096,2\n0,R,4096,4096,3\n1,R,0,4096,4\n";
    assert!(notes(ranked, &ConvertOptions::default()).is_empty());
}

#[test]
fn references_keep_their_pages_and_what_else_is_left_out_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("program.lackey");
    std::fs::write(&input, "I  00001000,4\nI  00001004,4\n S 000017fe,4\n L 00003000,8\n").unwrap();
    let pages_of = |stat: &TraceStat| (stat.pages, stat.pages_written, stat.pages_read);
    let output = folder.path().join("program.pages.gz");
    let converted = convert(&input, &output, &ConvertOptions::default(), |_| true).unwrap();
    // Worked out by hand, in pages of 2 KiB: pages 2, 2, 2 and 3 are written, then 6. The reads of
    // page 2 become one.
    assert_eq!(
        converted.notes,
        [
            "4 references became 4: .pages has the page of each and not its address and size, and one or \
             two for several in a row to a page"
        ]
    );
    let (before, after) = (stat(&input, 2048), stat(&output, 2048));
    assert_eq!(pages_of(&after), pages_of(&before));
    assert_eq!(after.recorded.unwrap().accesses, before.requests);
    assert_eq!(after.recorded.unwrap().filter, 0);
    // A conversion of a recording to another recording leaves nothing out unless an option says so.
    for ending in REFERENCES {
        let copy = folder.path().join(format!("copy.{ending}"));
        let converted = convert(&output, &copy, &ConvertOptions::default(), |_| true).unwrap();
        assert!(converted.notes.is_empty());
        assert_eq!(stat(&copy, 2048), after);
        assert_eq!(requests(&copy), requests(&output));
    }
    let small = ConvertOptions { page_size: Some(512), ..ConvertOptions::default() };
    let fine = folder.path().join("fine.pages");
    convert(&input, &fine, &small, |_| true).unwrap();
    let copy = folder.path().join("coarse.pages");
    let kept = convert(&fine, &copy, &ConvertOptions::default(), |_| true).unwrap();
    assert!(kept.notes.is_empty());
    assert_eq!(stat(&copy, 4096), stat(&fine, 4096));
    let coarse =
        ConvertOptions { page_size: Some(4096), filter: Some(3), ..ConvertOptions::default() };
    let converted = convert(&fine, &copy, &coarse, |_| true).unwrap();
    assert!(
        converted.notes[0].ends_with(
            ": .pages has the page of each and not its address and size, and one or two for several in a \
             row to a page, and none without effect on an LRU memory of 3 pages or more"
        ),
        "{:?}",
        converted.notes
    );
}
