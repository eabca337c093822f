//! Times of answers in both formats of block traces, and through everything that copies traces.

use std::path::Path;

use flashgc_base::stream::NO_STREAM;
use flashgc_workload::Op;
use flashgc_workload::trace::{
    ConvertOptions, Declared, NativeFile, PagesOptions, PagingOptions, ReadOptions, Request,
    TraceReader, TraceStat, TraceWriter, convert, join,
};
use proptest::prelude::*;

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0..5u8, 0..1u64 << 40, 0..100u64, prop::option::of(0..1u64 << 50), 0..4u8);
    prop::collection::vec(one, 1..300).prop_map(|drawn| {
        let mut time_ns = 0;
        let of = |(op, gap, page, took, stream): (u8, u64, u64, Option<u64>, u8)| {
            time_ns += gap;
            let took_ns = took.unwrap_or(Request::UNANSWERED);
            if op == 4 {
                return Request { took_ns, ..Request::flush(time_ns, 0) };
            }
            Request {
                time_ns,
                offset: (page * 4096) as i64,
                size: 4096,
                device: 0,
                op: [Op::Read, Op::Write, Op::Trim, Op::Dirty][usize::from(op)],
                stream: if stream == 3 { NO_STREAM } else { stream },
                took_ns,
            }
        };
        drawn.into_iter().map(of).collect()
    })
}

fn write(path: &Path, requests: &[Request], streams: bool) {
    let declared = Declared { address_space: None, streams, answers: true };
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
    (all, reader.has_answers())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answers_survive_every_copy(requests in requests(), streams in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let kept: Vec<Request> = requests
            .iter()
            .map(|one| Request { stream: if streams { one.stream } else { NO_STREAM }, ..*one })
            .collect();
        for (one, other) in [("a.flashgc", "b.csv"), ("c.csv", "d.flashgc.zst")] {
            write(&path(one), &requests, streams);
            prop_assert_eq!(read(&path(one)), (kept.clone(), true));
            convert(path(one), path(other), &ConvertOptions::default(), |_| true).unwrap();
            prop_assert_eq!(read(&path(other)), (kept.clone(), true));
        }
        let mut file = NativeFile::open(path("a.flashgc")).unwrap();
        let mut block = Vec::new();
        file.read_from(0, &mut block).unwrap();
        prop_assert_eq!(&block, &kept);
        join(&[&path("a.flashgc"), &path("a.flashgc")], &path("e.flashgc")).unwrap();
        let (joined, _) = read(&path("e.flashgc"));
        prop_assert!(joined[kept.len()..].iter().zip(&kept).all(|(a, b)| a.took_ns == b.took_ns));
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
    let found: Vec<_> =
        stat.answers.iter().map(|one| (one.kind, one.requests, one.p50_us.round())).collect();
    // Fifteen minutes are kept, to three digits.
    let minutes = (found[0].2 - 9e8).abs() / 9e8;
    assert!(minutes < 1e-3, "{found:?}");
    assert_eq!(found[1..], [("write", 2, 2.0), ("flush", 1, 7.0)]);
    assert_eq!((found[0].0, found[0].1), ("read", 1));
    assert!((stat.answers[1].mean_us - 3.0).abs() < 0.01);
}
