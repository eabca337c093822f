//! A trace of many volumes is split into the requests of each volume, with any amount of memory.

use flashgc_workload::Op;
use flashgc_workload::trace::{
    Asker, By, Declared, Fault, Fields, NativeWriter, ReadOptions, Request, SplitOptions, Splitter,
    TraceError, TraceReader, Volumes,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn options(by: By, memory: usize) -> SplitOptions {
    let read = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    SplitOptions { read, by, memory }
}

fn native(folder: &Path, name: &str, requests: &[Request], streams: bool) -> PathBuf {
    let path = folder.join(name);
    let fields = Fields::STREAM.with(Fields::HOST).if_any(streams);
    let declared = Declared { fields, ..Declared::default() };
    let mut writer = NativeWriter::new(std::fs::File::create(&path).unwrap(), declared).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    path
}

fn split(paths: &[PathBuf], folder: &Path, options: SplitOptions) -> Result<Volumes, TraceError> {
    let mut splitter = Splitter::new(folder, options)?;
    for path in paths {
        splitter.add(path, |_| true)?;
    }
    splitter.finish()
}

/// Returns the requests of a volume, read from the file that is written for it.
fn requests_of(volumes: &Volumes, index: usize, folder: &Path) -> Vec<Request> {
    let path = folder.join(format!("volume-{index}.flashgc"));
    volumes.write(index, &path).unwrap();
    let read = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    TraceReader::open(path, &read).unwrap().requests().collect::<Result<_, _>>().unwrap()
}

fn request() -> impl Strategy<Value = Request> {
    let op = prop::sample::select(vec![Op::Write, Op::Read, Op::Trim, Op::Dirty, Op::Flush]);
    let device = prop_oneof![0..4u32, Just(u32::MAX), any::<u32>()];
    (0..1u64 << 40, 0..1i64 << 40, 0..1u64 << 20, device, op, 0..4u8, 0..3u8).prop_map(
        |(time_ns, offset, size, device, op, stream, host)| match op {
            Op::Flush => {
                Request { asker: Asker { host, queue: 7 }, ..Request::flush(time_ns, device) }
            }
            _ => Request {
                time_ns,
                offset,
                size,
                device,
                op,
                stream,
                asker: Asker { host, queue: 1 },
                ..Request::default()
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_volume_has_its_requests_in_their_order(
        requests in prop::collection::vec(request(), 1..400),
        memory in prop_oneof![Just(0usize), 1..4096usize, Just(SplitOptions::MEMORY)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = native(folder.path(), "all.flashgc", &requests, true);
        let volumes = split(&[path], folder.path(), options(By::Volume, memory)).unwrap();
        let mut numbers: Vec<u32> = requests.iter().map(|request| request.device).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let found: Vec<u32> = volumes.list().iter().map(|volume| volume.number).collect();
        prop_assert_eq!(&found, &numbers);
        for (index, volume) in volumes.list().iter().enumerate() {
            let own: Vec<Request> =
                requests.iter().copied().filter(|one| one.device == volume.number).collect();
            prop_assert_eq!(&requests_of(&volumes, index, folder.path()), &own);
            let count = |op| own.iter().filter(|request| request.op == op).count() as u64;
            let counts = (volume.reads, volume.writes, volume.discards);
            prop_assert_eq!(counts, (count(Op::Read), count(Op::Write), count(Op::Trim)));
            // Split alone, and with any memory, the volume is the same.
            let alone = native(folder.path(), "alone.flashgc", &own, true);
            let alone = split(&[alone], folder.path(), options(By::Volume, 64)).unwrap();
            prop_assert_eq!(alone.list()[0].digest, volume.digest);
        }
    }
}

fn write(time_ns: u64, offset: i64, device: u32) -> Request {
    Request { time_ns, offset, size: 4096, device, op: Op::Write, ..Request::default() }
}

#[test]
fn a_volume_longer_than_a_block_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Request> =
        (0..20_000u32).map(|at| write(at.into(), i64::from(at) * 4096, at % 2)).collect();
    let path = native(folder.path(), "all.flashgc", &all, false);
    let volumes = split(&[path], folder.path(), options(By::Volume, 1 << 20)).unwrap();
    for index in 0..2 {
        let own: Vec<Request> =
            all.iter().copied().filter(|one| one.device == index as u32).collect();
        assert_eq!(requests_of(&volumes, index, folder.path()), own);
    }
}

#[test]
fn any_field_of_a_request_changes_the_digest() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |request: Request| {
        let path = native(folder.path(), "one.flashgc", &[request], true);
        split(&[path], folder.path(), options(By::Volume, 0)).unwrap().list()[0].digest
    };
    let one = Request { stream: 1, ..write(1000, 8192, 7) };
    let mut digests = vec![
        digest(one),
        digest(Request { time_ns: 2000, ..one }),
        digest(Request { offset: 4096, ..one }),
        digest(Request { size: 8192, ..one }),
        digest(Request { device: 8, ..one }),
        digest(Request { op: Op::Read, ..one }),
        digest(Request { stream: 2, ..one }),
    ];
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 7);
}

#[test]
fn by_volume_goes_on_in_the_next_file_and_by_file_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let first = native(folder.path(), "a.flashgc", &[write(10, 0, 1), write(20, 0, 2)], false);
    let second = native(folder.path(), "b.flashgc", &[write(5, 4096, 1)], false);
    let paths = [first, second];
    let volumes = split(&paths, folder.path(), options(By::Volume, 0)).unwrap();
    // The second file begins before the end of the first, so its times are moved to follow it: 20 +
    // 5.
    assert_eq!(requests_of(&volumes, 0, folder.path()), [write(10, 0, 1), write(25, 4096, 1)]);
    assert_eq!(volumes.list().len(), 2);
    let files = split(&paths, folder.path(), options(By::File, 0)).unwrap();
    assert_eq!(requests_of(&files, 0, folder.path()), [write(10, 0, 1), write(20, 0, 2)]);
    assert_eq!(requests_of(&files, 1, folder.path()), [write(5, 4096, 1)]);
}

#[test]
fn the_spool_has_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let apart = tempfile::tempdir().unwrap();
    let path = native(apart.path(), "a.flashgc", &[write(0, 0, 1), write(0, 0, 2)], false);
    let volumes = split(&[path], folder.path(), options(By::Volume, 0)).unwrap();
    assert!(volumes.bytes() > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn references_to_memory_and_a_stop_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let lackey = folder.path().join("lackey.txt");
    std::fs::write(&lackey, "I  04000000,4\n S 1ffefff0,8\n L 04200000,8\n".repeat(20)).unwrap();
    let error = split(&[lackey], folder.path(), options(By::Volume, 0)).unwrap_err();
    assert!(error.message.starts_with("found references to memory (lackey)"), "{error}");
    let path = native(folder.path(), "a.flashgc", &[write(0, 0, 1)], false);
    let mut splitter = Splitter::new(folder.path(), options(By::Volume, 0)).unwrap();
    assert_eq!(splitter.add(&path, |_| false).unwrap_err().fault, Fault::Cancelled);
}
