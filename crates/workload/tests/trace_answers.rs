//! Times of answers in both of flashgc's formats of block traces, and through all copies of traces.

use std::path::Path;

use flashgc_base::stream::NO_STREAM;
use flashgc_workload::Op;
use flashgc_workload::trace::{
    Asker, ConvertOptions, Declared, Fields, PagesOptions, PagingOptions, ReadOptions, Request,
    Tally, TraceReader, TraceStat, TraceWriter, convert, join,
};
use proptest::prelude::*;

/// The kind, the time since the previous request, the page, the time until the answer, the stream,
/// and the host and queue.
type Drawn = (u8, u64, u64, Option<u64>, u8, (u8, u8));

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let took = prop::option::of(0..1u64 << 50);
    let one = (0..5u8, 0..1u64 << 40, 0..100u64, took, 0..4u8, (0..3u8, 0..3u8));
    prop::collection::vec(one, 1..300).prop_map(|drawn| {
        let mut time_ns = 0;
        let of = |(op, gap, page, took, stream, (host, queue)): Drawn| {
            time_ns += gap;
            let took_ns = took.unwrap_or(Request::UNANSWERED);
            let asker = Asker { host, queue };
            if op == 4 {
                return Request { took_ns, asker, ..Request::flush(time_ns, 0) };
            }
            Request {
                time_ns,
                offset: (page * 4096) as i64,
                size: 4096,
                op: [Op::Read, Op::Write, Op::Trim, Op::Dirty][usize::from(op)],
                stream: if stream == 3 { NO_STREAM } else { stream },
                took_ns,
                asker,
                ..Request::default()
            }
        };
        drawn.into_iter().map(of).collect()
    })
}

fn write(path: &Path, requests: &[Request], streams: bool, hosts: bool) {
    let fields = Fields::STREAM.if_any(streams).with(Fields::HOST.if_any(hosts));
    let declared = Declared { address_space: None, fields: fields.with(Fields::ANSWER) };
    let mut writer =
        TraceWriter::create_with(path, None, PagesOptions::default(), declared).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
}

fn read(path: &Path) -> (Vec<Request>, bool) {
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let mut reader = TraceReader::open(path, &options).unwrap();
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        all.extend_from_slice(&block);
    }
    (all, reader.declared().fields.has(Fields::ANSWER))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answers_and_hosts_survive_every_copy(
        requests in requests(), streams in any::<bool>(), hosts in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let kept: Vec<Request> = requests
            .iter()
            .map(|one| Request {
                stream: if streams { one.stream } else { NO_STREAM },
                asker: if hosts { one.asker } else { Asker::UNKNOWN },
                ..*one
            })
            .collect();
        for (one, other) in [("a.flashgc", "b.csv"), ("c.csv", "d.flashgc.zst")] {
            write(&path(one), &requests, streams, hosts);
            prop_assert_eq!(read(&path(one)), (kept.clone(), true));
            convert(path(one), path(other), &ConvertOptions::default(), |_| true).unwrap();
            prop_assert_eq!(read(&path(other)), (kept.clone(), true));
        }
        join(&[&path("a.flashgc"), &path("a.flashgc")], &path("e.flashgc")).unwrap();
        let (joined, _) = read(&path("e.flashgc"));
        prop_assert!(joined[kept.len()..].iter().zip(&kept).all(|(a, b)| (a.took_ns, a.asker) == (b.took_ns, b.asker)));
        // Checks the version of the file, and the bytes that hosts need in it.
        let bytes = std::fs::read(path("a.flashgc")).unwrap();
        prop_assert_eq!(bytes[8], if hosts { 7 } else { 6 });
        write(&path("f.flashgc"), &kept, streams, !hosts);
        let others = std::fs::metadata(path("f.flashgc")).unwrap().len();
        let mut before = Asker::UNKNOWN;
        let changes = kept.iter().filter(|one| std::mem::replace(&mut before, one.asker) != one.asker);
        prop_assert_eq!(bytes.len() as u64, others + 3 * changes.count() as u64);
    }
}

#[test]
fn a_copy_has_answers_if_its_source_has_some() {
    let folder = tempfile::tempdir().unwrap();
    let (with, without) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    std::fs::write(
        &with,
        "time_us,op,offset_bytes,size_bytes,dev,answer_us\n1,W,0,4096,0,2.5\n2,F,0,0,0,\n",
    )
    .unwrap();
    std::fs::write(&without, "time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,0\n").unwrap();
    let (requests, has_answers) = read(&with);
    let took: Vec<u64> = requests.iter().map(|request| request.took_ns).collect();
    assert_eq!((took, has_answers), (vec![2500, Request::UNANSWERED], true));
    let (requests, has_answers) = read(&without);
    assert_eq!((requests[0].took_ns, has_answers), (Request::UNANSWERED, false));
    let error = join(&[&with, &without], &folder.path().join("c.csv")).unwrap_err();
    assert!(error.to_string().contains("found times of answers in this trace"), "{error}");
    std::fs::write(&with, "time_us,op,offset_bytes,size_bytes,dev,answer_us\n1,W,0,4096,0,soon\n")
        .unwrap();
    let error = TraceReader::open(&with, &ReadOptions::default())
        .and_then(|mut reader| reader.next_block(&mut Vec::new()))
        .unwrap_err();
    assert!(
        error.to_string().contains("expected a time in microseconds until the answer"),
        "{error}"
    );
}

#[test]
fn times_until_answers_are_counted_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let lines =
        "1,W,0,4096,0,2\n2,W,0,4096,0,4\n3,R,0,4096,0,\n4,F,0,0,0,7\n5,R,0,4096,0,900000000\n";
    std::fs::write(&path, format!("time_us,op,offset_bytes,size_bytes,dev,answer_us\n{lines}"))
        .unwrap();
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let reader = TraceReader::open(&path, &options).unwrap();
    let stat = TraceStat::of(reader, PagingOptions::default()).unwrap();
    let found: Vec<_> = stat
        .served
        .answers
        .iter()
        .map(|one| (one.kind, one.requests, one.p50_us.round()))
        .collect();
    // Fifteen minutes are stored, to three digits.
    let minutes = (found[0].2 - 9e8).abs() / 9e8;
    assert!(minutes < 1e-3, "{found:?}");
    assert_eq!(found[1..], [("write", 2, 2.0), ("flush", 1, 7.0)]);
    assert_eq!((found[0].0, found[0].1), ("read", 1));
    assert!((stat.served.answers[1].mean_us - 3.0).abs() < 0.01);
}

#[test]
fn requests_are_counted_by_host_and_queue() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let header = "time_us,op,offset_bytes,size_bytes,dev,queue,host";
    let lines =
        "1,W,0,4096,0,1,1\n2,R,0,4096,0,2,1\n3,F,0,0,0,2,1\n4,W,0,8192,0,1,2\n5,D,0,4096,0,0,0\n";
    std::fs::write(&path, format!("{header}\n{lines}")).unwrap();
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let reader = TraceReader::open(&path, &options).unwrap();
    assert!(reader.declared().fields == Fields::HOST);
    let stat = TraceStat::of(reader, PagingOptions::default()).unwrap();
    let found = stat.served.groups["hosts"].iter().map(|group| {
        let [("host", host), ("queue", queue)] = group.keys[..] else { panic!("{group:?}") };
        let Tally { requests, writes, written_bytes, flushes } = group.tally;
        ((host, queue), requests, writes, written_bytes, flushes)
    });
    let expected = [
        ((0, 0), 1, 0, 0, 0),
        ((1, 1), 1, 1, 4096, 0),
        ((1, 2), 1, 0, 0, 1),
        ((2, 1), 1, 1, 8192, 0),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    for (line, expected) in
        [("1,W,0,1,0,253,1", "a queue from 0 to 252"), ("1,W,0,1,0,1,256", "a host from 0 to 255")]
    {
        std::fs::write(&path, format!("{header}\n{line}\n")).unwrap();
        let error = TraceReader::open(&path, &options)
            .and_then(|mut reader| reader.next_block(&mut Vec::new()))
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let plain = folder.path().join("b.csv");
    std::fs::write(&path, format!("{header}\n1,W,0,4096,0,1,1\n")).unwrap();
    std::fs::write(&plain, "time_us,op,offset_bytes,size_bytes,dev\n1,W,0,4096,0\n").unwrap();
    let error = join(&[&path, &plain], &folder.path().join("c.csv")).unwrap_err();
    assert!(
        error.to_string().contains("found hosts in this trace or in the one before"),
        "{error}"
    );
}

#[test]
fn requests_are_counted_by_thread_and_wrong_threads_are_refused_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let header = "time_us,op,offset_bytes,size_bytes,dev,answer_us,thread";
    let lines = "1,W,0,4096,0,5,7\n2,R,0,4096,0,,4294967295\n3,F,0,0,0,2,7\n4,D,0,4096,0,1,\n";
    std::fs::write(&path, format!("{header}\n{lines}")).unwrap();
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let reader = TraceReader::open(&path, &options).unwrap();
    assert!(reader.declared().fields == Fields::ANSWER.with(Fields::THREAD));
    let stat = TraceStat::of(reader, PagingOptions::default()).unwrap();
    let found = stat.served.groups["threads"].iter().map(|group| {
        let [("thread", thread)] = group.keys[..] else { panic!("{group:?}") };
        (thread, group.tally.requests, group.tally.flushes)
    });
    let expected = [(0, 1, 0), (7, 1, 1), (4_294_967_295, 1, 0)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // Copies keep threads, in version 8 of the native format.
    let (native, back) = (folder.path().join("b.flashgc"), folder.path().join("c.csv"));
    convert(&path, &native, &ConvertOptions::default(), |_| true).unwrap();
    assert_eq!(std::fs::read(&native).unwrap()[8], 8);
    assert_eq!(read(&native).0, read(&path).0);
    convert(&native, &back, &ConvertOptions::default(), |_| true).unwrap();
    assert_eq!(read(&back).0, read(&path).0);
    for wrong in ["4294967296", "-1", "main"] {
        std::fs::write(&path, format!("{header}\n1,W,0,4096,0,5,7\n2,W,0,4096,0,5,{wrong}\n"))
            .unwrap();
        let error = TraceReader::open(&path, &options)
            .and_then(|mut reader| reader.next_block(&mut Vec::new()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(":3:16: "), "{error}");
        assert!(error.contains("expected a thread, a number below 2^32, or nothing"), "{error}");
    }
}
