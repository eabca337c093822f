//! The streams of the requests of a trace: read, counted, replayed and converted.

use std::path::{Path, PathBuf};

use crate::trace_common::{read, reader};
use flashgc_base::stream::NO_STREAM;
use flashgc_workload::requests::{RequestStream, TimedTrace};
use flashgc_workload::trace::{
    ConvertOptions, Declared, Fields, NativeWriter, OnBadLine, OtherLines, PagesOptions,
    PagingOptions, ReadAs, ReadOptions, Replay, Request, SourceOptions, StreamStat, TraceReader,
    TraceSource, TraceStat, TraceWriter, convert, format, join,
};
use flashgc_workload::{Batch, Op, Workload};
use proptest::prelude::*;

const HEADER: &str = "time_us,op,offset_bytes,size_bytes,dev,stream\n";

/// A trace that accesses pages 2, 3, 4, 7 and 9, which become 0 to 4. One write covers three pages,
/// the last one in part. One discard covers an accessed page, and another covers none.
const MIXED: &str = "0.000,W,8192,10000,0,3\n\
                     1.000,R,28672,4096,0,0\n\
                     2.000,W,28672,4096,0,\n\
                     3.000,D,8192,4096,0,254\n\
                     3.000,D,40960,4096,0,9\n\
                     4.000,M,28672,4096,0,5\n\
                     5.000,F,0,0,0,\n\
                     6.000,W,36864,512,0,3\n";

fn save(folder: &Path, rows: &str) -> PathBuf {
    let path = folder.join("trace.csv");
    std::fs::write(&path, format!("{HEADER}{rows}")).unwrap();
    path
}

fn streams(rows: &str) -> Vec<u8> {
    let requests = read(format!("{HEADER}{rows}").as_bytes()).unwrap();
    requests.iter().map(|request| request.stream).collect()
}

#[test]
fn a_stream_is_a_number_or_a_hint_of_linux_or_none() {
    let named: String =
        ["", "none", "not-set", "short", "medium", "long", "extreme", "0", "7", "254"]
            .map(|stream| format!("0,W,0,4096,0,{stream}\n"))
            .concat();
    assert_eq!(streams(&named), [NO_STREAM, NO_STREAM, NO_STREAM, 1, 2, 3, 4, 0, 7, 254]);
    assert_eq!(streams("0,R,0,4096,0, 3 \r\n0,F,0,0,0,none\n0,C,0,1,0,2"), [3, 2]);
    // A byte-order mark and compression change nothing.
    let text = format!("\u{feff}{HEADER}{MIXED}");
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for bytes in [text.as_bytes(), &packed] {
        let reader = reader(bytes, &ReadOptions::default()).unwrap();
        assert!(reader.declared().fields.has(Fields::STREAM));
        assert_eq!(reader.requests().nth(3).unwrap().unwrap().stream, 254);
    }
    let plain = "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n";
    let without = reader(plain.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(without.declared().fields, Fields::NONE);
    assert_eq!(read(plain.as_bytes()).unwrap()[0].stream, NO_STREAM);
}

#[test]
fn what_is_no_stream_is_refused_with_its_place() {
    let expected = "a stream from 0 to 254, nothing, or a write life time hint (none, not-set, short, \
                    medium, long or extreme)";
    let columns = "time_us,op,offset_bytes,size_bytes,dev,stream";
    for (line, place, message) in [
        ("0,W,0,4096,0,255", "3:14", format!("found '255', expected {expected}")),
        ("0,W,0,4096,0,300", "3:14", format!("found '300', expected {expected}")),
        ("0,W,0,4096,0,-1", "3:14", format!("found '-1', expected {expected}")),
        ("0,W,0,4096,0,+1", "3:14", format!("found '+1', expected {expected}")),
        ("0,W,0,4096,0,Long", "3:14", format!("found 'Long', expected {expected}")),
        ("0,W,0,4096,0,1 2", "3:14", format!("found '1 2', expected {expected}")),
        (
            "0,F,0,0,0,1",
            "3:11",
            "found '1', expected no stream, because a flush concerns the whole drive".into(),
        ),
        ("0,W,0,4096,0", "3:1", format!("found 5 columns, expected 6 ({columns})")),
        ("0,W,0,4096,0,1,2", "3:1", format!("found 7 columns, expected 6 ({columns})")),
    ] {
        let text = format!("{HEADER}0,W,0,4096,0,1\n{line}\n");
        let found = read(text.as_bytes()).unwrap_err().to_string();
        let hint = "on_bad_line=\"skip\" counts and skips such lines";
        assert_eq!(found, format!("memory:{place}: {message}; hint: {hint}"), "{line}");
        let options = ReadOptions { on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
        let mut reader = reader(text.as_bytes(), &options).unwrap();
        let mut block = Vec::new();
        assert!(reader.next_block(&mut block).unwrap());
        assert_eq!((block.len(), reader.skipped()), (1, 1), "{line}");
    }
    // A column that the header does not name is an error.
    let text = "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0,1\n";
    let found = read(text.as_bytes()).unwrap_err().to_string();
    assert!(found.starts_with("memory:2:1: found 6 columns, expected 5 (time_us,"), "{found}");
    let other = "time_us,op,offset_bytes,size_bytes,dev,streams\n0,W,0,4096,0,1\n";
    let csv = Some(format::find("csv").unwrap());
    let options = ReadOptions { format: csv, ..ReadOptions::default() };
    let found = reader(other.as_bytes(), &options).unwrap().requests().next().unwrap().unwrap_err();
    let start = "memory:1:1: the first line names other columns, 'time_us,op,";
    assert!(found.to_string().starts_with(start), "{found}");
}

fn stat(path: &Path) -> TraceStat {
    let reader = TraceReader::open(path, &ReadOptions::default()).unwrap();
    TraceStat::of(reader, PagingOptions::default()).unwrap()
}

#[test]
fn requests_and_bytes_of_each_stream_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let one = |stream, requests, writes, written_bytes| StreamStat {
        stream,
        requests,
        writes,
        written_bytes,
    };
    // Worked out by hand. The dirty event and the flush are not requests.
    assert_eq!(
        stat(&save(folder.path(), MIXED)).streams,
        [
            one(Some(0), 1, 0, 0),
            one(Some(3), 2, 2, 10_512),
            one(Some(9), 1, 0, 0),
            one(Some(254), 1, 0, 0),
            one(None, 1, 1, 4096),
        ]
    );
    let all = stat(&save(folder.path(), "0,W,0,100,0,1\n1,W,0,50,0,1\n"));
    assert_eq!(all.streams, [one(Some(1), 2, 2, 150)]);
    let none = stat(&save(folder.path(), "0,W,0,100,0,\n0,M,0,100,0,4\n"));
    assert!(!none.has_streams() && none.streams.is_empty());
}

/// Returns the operation, page and stream of all commands, drawn in batches of `limit`.
fn drain(source: &TraceSource, pages: u32, replay: Replay, limit: usize) -> Vec<(Op, u32, u8)> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    let mut commands = source.open(pages, replay).unwrap();
    loop {
        commands.fill(&mut batch, limit).unwrap();
        if batch.pages.is_empty() {
            return all;
        }
        assert!(batch.streams.is_empty() || batch.streams.len() == batch.pages.len());
        let each = batch.pages.iter().enumerate();
        all.extend(each.map(|(at, &page)| (batch.op(at), page, batch.stream(at))));
    }
}

#[test]
fn a_replay_names_the_stream_of_every_command() {
    use Op::{Read, Trim, Write};
    let folder = tempfile::tempdir().unwrap();
    let pass = [
        (Write, 0, 3),
        (Write, 1, 3),
        (Write, 2, 3),
        (Read, 3, 0),
        (Write, 3, NO_STREAM),
        (Trim, 0, 254),
        (Write, 4, 3),
    ];
    // The second trace begins with commands that have no stream. Its first discard frees a page
    // that is accessed only later, so the commands are decoded again.
    let late = "0,W,0,4096,0,\n1,D,4096,4096,0,8\n2,W,4096,4096,0,6\n";
    let late_pass = [(Write, 0, NO_STREAM), (Trim, 1, 8), (Write, 1, 6)];
    for (rows, pages, pass) in [(MIXED, 5, &pass[..]), (late, 2, &late_pass)] {
        let path = save(folder.path(), rows);
        for memory_limit in [SourceOptions::MEMORY_LIMIT, 0] {
            let options = SourceOptions { memory_limit, ..SourceOptions::default() };
            let source = TraceSource::load(&path, options).unwrap();
            assert_eq!(source.in_memory(), memory_limit > 0);
            assert!(source.stat().has_streams());
            for limit in [1, 2, 3, 4096] {
                let twice = drain(&source, pages, Replay::Passes(2), limit);
                assert_eq!(twice, [pass, pass].concat(), "{limit}");
                // A drive that lacks the page in the middle of the first write leaves out the pages
                // after it, too.
                let kept: Vec<_> = pass.iter().copied().filter(|one| one.1 < 1).collect();
                assert_eq!(drain(&source, 1, Replay::Passes(1), limit), kept, "{limit}");
            }
        }
    }
}

#[test]
fn a_replay_with_times_names_the_stream_of_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), MIXED);
    let (read, paging) =
        (ReadOptions { keep_flushes: true, ..ReadOptions::default() }, PagingOptions::default());
    let trace = TimedTrace::load(&path, &read, paging, |_| true).unwrap();
    assert!(trace.stat().has_streams());
    let (mut batch, mut found) = (Vec::new(), Vec::new());
    let mut requests = trace.open(5, Some(1), 1.0, None).unwrap();
    loop {
        requests.fill(&mut batch, 3).unwrap();
        if batch.is_empty() {
            break;
        }
        found.extend(batch.iter().map(|one| (one.op, one.offset / 4096, one.stream)));
    }
    use Op::{Dirty, Flush, Read, Trim, Write};
    assert_eq!(
        found,
        [
            (Write, 0, 3),
            (Read, 3, 0),
            (Write, 3, NO_STREAM),
            (Trim, 0, 254),
            (Dirty, 3, 5),
            (Flush, 0, NO_STREAM),
            (Write, 4, 3),
        ]
    );
    // Each piece of a request has the request's stream: pages 1, 0 and 2 in the order of first
    // touch.
    let rows = "0,W,4096,4096,0,\n1,W,0,12288,0,7\n";
    let first_touch = PagingOptions {
        numbering: Some(flashgc_workload::trace::Numbering::FirstTouch),
        ..PagingOptions::default()
    };
    let path = save(folder.path(), rows);
    let trace = TimedTrace::load(&path, &read, first_touch, |_| true).unwrap();
    let streams: Vec<_> = trace.requests().iter().map(|one| one.stream).collect();
    assert_eq!(streams, [NO_STREAM, 7, 7, 7]);
}

#[test]
fn conversions_keep_streams() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = save(folder.path(), MIXED);
    let read = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let options = ConvertOptions { read, ..ConvertOptions::default() };
    let copy = |from: &Path, to: &str| convert(from, at(to), &options, |_| true).map(drop);
    copy(&path, "a.flashgc.zst").unwrap();
    copy(&at("a.flashgc.zst"), "b.flashgc").unwrap();
    copy(&at("b.flashgc"), "c.csv").unwrap();
    assert_eq!(std::fs::read_to_string(at("c.csv")).unwrap(), format!("{HEADER}{MIXED}"));
    assert_eq!(
        TraceStat {
            read_as: ReadAs::default(),
            others: OtherLines::default(),
            ..stat(&at("a.flashgc.zst"))
        },
        TraceStat { read_as: ReadAs::default(), others: OtherLines::default(), ..stat(&path) }
    );
    // The version shows whether there are streams. A file without streams still has version 4.
    assert_eq!(std::fs::read(at("b.flashgc")).unwrap()[8], 5);
    std::fs::write(at("d.csv"), "time_us,op,offset_bytes,size_bytes,dev\n0.000,W,0,1,0\n").unwrap();
    copy(&at("d.csv"), "e.flashgc").unwrap();
    assert_eq!(std::fs::read(at("e.flashgc")).unwrap()[8], 4);
    // The traces are joined, one after the other.
    assert_eq!(join(&[&at("b.flashgc"), &path], &at("f.csv")).unwrap(), 16);
    let text = std::fs::read_to_string(at("f.csv")).unwrap();
    assert!(
        text.starts_with(HEADER)
            && text.contains("\n6.000,W,36864,512,0,3\n6.000,W,8192,10000,0,3\n")
    );
    let found = join(&[&path, &at("d.csv")], &at("g.csv")).unwrap_err().to_string();
    assert!(
        found.ends_with(
            "found streams in this trace or in the one before, expected them in both or none"
        ),
        "{found}"
    );
    // References to memory have no fields.
    for (fields, name) in [
        (Fields::STREAM, "streams"),
        (Fields::ANSWER, "times of answers"),
        (Fields::HOST, "hosts"),
        (Fields::THREAD, "threads"),
    ] {
        let (path, declared) = (at("h.pages"), Declared { fields, ..Declared::default() });
        let refused = TraceWriter::create_with(&path, None, PagesOptions::default(), declared);
        assert_eq!(
            refused.err().unwrap().to_string(),
            format!(
                "{}: found requests with {name}, and .pages has no place for {name}; hint: write \
                 .flashgc or .csv instead",
                path.display()
            )
        );
    }
}

proptest! {
    #[test]
    fn native_bytes_keep_the_stream_of_every_request(
        drawn in prop::collection::vec((0..6u8, 0..1u64 << 20, any::<u8>()), 1..9000),
    ) {
        let ops = [Op::Write, Op::Read, Op::Trim, Op::Dirty, Op::Clean];
        let requests: Vec<Request> = drawn.iter().map(|&(op, at, stream)| {
            let Some(&op) = ops.get(usize::from(op)) else { return Request::flush(at, 0) };
            Request { time_ns: at, offset: at as i64, size: at, op, stream, ..Request::default() }
        }).collect();
        let declared = Declared { fields: Fields::STREAM, ..Declared::default() };
        let mut writer = NativeWriter::new(Vec::new(), declared).unwrap();
        writer.write(&requests).unwrap();
        let bytes = writer.finish().unwrap();
        let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
        let found = reader(&bytes, &options).unwrap().requests();
        prop_assert_eq!(found.collect::<Result<Vec<_>, _>>().unwrap(), requests);
    }
}
