//! Written traces are read back unchanged: flashgc's two formats, conversion, random access.

use crate::trace_common::{corpus, csv, fuzz_folder, read, reader};
use flashgc_workload::Op;
use flashgc_workload::trace::{
    ConvertOptions, Declared, DeviceNumbers, Fault, NativeWriter, PagingOptions, Property,
    ReadOptions, Request, TraceReader, TraceStat, TraceWriter, convert,
};
use proptest::prelude::*;

/// Generates any request that a reader can return: all times, offsets and devices, sizes and steps
/// that are whole sectors or not, and discards larger than other requests may be.
fn request() -> impl Strategy<Value = Request> {
    let time = prop_oneof![0..10_000u64, (0..1u64 << 40).prop_map(|t| t * 1000), any::<u64>()];
    let offset = prop_oneof![
        0..1i64 << 20,
        (0..1i64 << 40).prop_map(|sector| sector * 512),
        any::<i64>().prop_map(|offset| offset >> 1),
    ];
    let size = prop_oneof![
        Just(0u64),
        Just(4096u64),
        0..Request::MAX_TRANSFER,
        (0..1u64 << 22).prop_map(|s| s * 512)
    ];
    let device = prop_oneof![Just(0u32), 0..4u32, any::<u32>()];
    let op =
        prop::sample::select(vec![Op::Write, Op::Read, Op::Trim, Op::Dirty, Op::Clean, Op::Flush]);
    (time, offset, size, device, op, any::<bool>()).prop_map(
        |(time_ns, offset, size, device, op, large)| {
            if op == Op::Flush {
                return Request::flush(time_ns, device);
            }
            let size = if op == Op::Trim && large { size << 20 } else { size };
            Request { time_ns, offset, size, device, op, ..Request::default() }
        },
    )
}

/// Generates requests some of which are sequential, as in real traces.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec((request(), any::<bool>()), 1..300).prop_map(|drawn| {
        let mut requests: Vec<Request> = Vec::new();
        for (mut request, follows) in drawn {
            let last = requests.last().filter(|last| last.op != Op::Flush);
            if let (true, Some(last)) = (follows && request.op != Op::Flush, last) {
                request.offset = last.end();
                request.size = last.size;
                request.device = last.device;
                request.op = last.op;
                if request.offset.checked_add_unsigned(request.size).is_none() {
                    continue;
                }
            }
            requests.push(request);
        }
        requests
    })
}

/// Reads all requests of a trace in memory, including flushes.
fn whole(bytes: &[u8]) -> Vec<Request> {
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    reader(bytes, &options).unwrap().requests().collect::<Result<_, _>>().unwrap()
}

proptest! {
    #[test]
    fn native_bytes_read_back_as_they_were(requests in requests()) {
        let mut writer = NativeWriter::new(Vec::new(), Declared::default()).unwrap();
        for piece in requests.chunks(7) {
            writer.write(piece).unwrap();
        }
        prop_assert_eq!(whole(&writer.finish().unwrap()), requests);
    }

    #[test]
    fn csv_text_reads_back_as_it_was(requests in requests()) {
        prop_assert_eq!(whole(csv(&requests).as_bytes()), requests);
    }
}

#[test]
fn written_files_read_back_in_either_format_and_packing() {
    let folder = tempfile::tempdir().unwrap();
    let expected = std::fs::read_to_string(fuzz_folder().join("expected/csv.csv")).unwrap();
    let requests = read(expected.as_bytes()).unwrap();
    for name in ["a.csv", "a.csv.gz", "a.csv.zst", "a.flashgc", "a.flashgc.gz", "a.flashgc.zst"] {
        let path = folder.path().join(name);
        let mut writer = TraceWriter::create(&path, None).unwrap();
        writer.write(&requests[..4]).unwrap();
        writer.write(&requests[4..]).unwrap();
        assert!(!path.exists(), "{name} appears before it is complete");
        writer.finish().unwrap();
        let reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(reader.requests().collect::<Result<Vec<_>, _>>().unwrap(), requests, "{name}");
        if name == "a.csv" {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6, "nothing else is left");
    let error = TraceWriter::create(folder.path().join("a.txt"), None).err().unwrap();
    assert!(
        error.to_string().contains("expected one that ends in .csv, .flashgc or .pages"),
        "{error}"
    );
}

#[test]
fn every_format_converts_to_both_of_ours_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (format, file, _) in corpus() {
        if format == "packed" {
            continue;
        }
        let input = fuzz_folder().join("corpus").join(&format).join(&file);
        let expected = fuzz_folder().join("expected").join(format!("{format}.csv"));
        let expected = std::fs::read_to_string(expected).unwrap();
        // The expected rows have no flushes.
        let read = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
        let leave_out = vec![Property::References, Property::DriveSize];
        let native = ConvertOptions { read, leave_out, ..ConvertOptions::default() };
        let run = |from: &std::path::Path, to: &str| {
            convert(from, at(to), &native, |_| true).unwrap();
            at(to)
        };
        let binary = run(&input, "a.flashgc");
        let text = run(&binary, "a.csv");
        // The expected rows have no hosts either.
        let found = std::fs::read_to_string(&text).unwrap();
        let columns = |line: &str| line.split(',').take(5).collect::<Vec<_>>().join(",") + "\n";
        assert_eq!(found.lines().map(columns).collect::<String>(), expected, "{format}");
        let direct = run(&input, "b.csv.zst");
        let again = run(&direct, "b.flashgc");
        assert_eq!(std::fs::read(&binary).unwrap(), std::fs::read(&again).unwrap(), "{format}");
        // Ranked device numbers are the same with either format.
        let ranked =
            ConvertOptions { leave_out: native.leave_out.clone(), ..ConvertOptions::default() };
        convert(&input, at("r.flashgc"), &ranked, |_| true).unwrap();
        convert(at("r.flashgc"), at("r.csv"), &ranked, |_| true).unwrap();
        convert(&input, at("s.csv"), &ranked, |_| true).unwrap();
        let ranked = std::fs::read(at("r.csv")).unwrap();
        assert_eq!(ranked, std::fs::read(at("s.csv")).unwrap(), "{format}");
    }
}

#[test]
fn a_conversion_that_stops_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = fuzz_folder().join("corpus/msr/example");
    let output = folder.path().join("out.csv");
    let error = convert(&input, &output, &ConvertOptions::default(), |_| false).unwrap_err();
    assert_eq!(error.fault, Fault::Cancelled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // The bad line is further on in the file.
    let bad = folder.path().join("bad.csv");
    std::fs::write(&bad, "0,web,0,Write,0,4096,1\n1,web,0,Write,0,4096,1\nx\n").unwrap();
    assert!(convert(&bad, &output, &ConvertOptions::default(), |_| true).is_err());
    assert!(!output.exists());
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_through() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let is_link = |name: &str| std::fs::symlink_metadata(at(name)).unwrap().is_symlink();
    let requests = read(b"time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n").unwrap();
    let write = |name: &str| {
        let mut writer = TraceWriter::create(at(name), None).unwrap();
        writer.write(&requests).unwrap();
        writer.finish().unwrap();
    };
    std::fs::write(at("target.csv"), "old").unwrap();
    symlink("target.csv", at("link.csv")).unwrap();
    symlink("new.csv", at("dangling.csv")).unwrap();
    symlink("/dev/null", at("null.csv")).unwrap();
    for name in ["link.csv", "dangling.csv", "null.csv"] {
        write(name);
        assert!(is_link(name), "{name}");
    }
    for name in ["target.csv", "new.csv"] {
        assert!(!is_link(name));
        assert_eq!(read(&std::fs::read(at(name)).unwrap()).unwrap(), requests, "{name}");
    }
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    symlink("b.csv", at("a.csv")).unwrap();
    symlink("a.csv", at("b.csv")).unwrap();
    let error = TraceWriter::create(at("a.csv"), None).err().unwrap().to_string();
    assert!(error.contains("too many symbolic links"), "{error}");
    std::fs::create_dir(at("folder.csv")).unwrap();
    let error = TraceWriter::create(at("folder.csv"), None).err().unwrap().to_string();
    assert!(error.contains("found a folder, expected the name of a file"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_killed_processes_left_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let own = std::process::id();
    // Linux gives processes numbers below 2^22, so no process has these numbers.
    let names = [
        ("a.csv.4194305.partial".to_owned(), old, false),
        ("a.csv.4194306.partial".to_owned(), std::time::SystemTime::now(), true),
        (format!("a.csv.1{}.partial", "0".repeat(20)), old, true),
        ("a.csv.x.partial".to_owned(), old, true),
        ("b.csv.4194305.partial".to_owned(), old, true),
        ("a.csv.4194305".to_owned(), old, true),
        // Process 1 always exists.
        ("a.csv.1.partial".to_owned(), old, true),
    ];
    for (name, modified, _) in &names {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        file.set_modified(*modified).unwrap();
    }
    let writer = TraceWriter::create(folder.path().join("a.csv"), None).unwrap();
    assert!(folder.path().join(format!("a.csv.{own}.partial")).exists());
    drop(writer);
    for (name, _, stays) in &names {
        assert_eq!(folder.path().join(name).exists(), *stays, "{name}");
    }
}

#[test]
fn the_index_of_a_native_file_has_the_place_of_every_block() {
    let requests: Vec<Request> = (0..10_000u64)
        .map(|i| Request {
            time_ns: i * 1000,
            offset: (i * 7919 % 5000 * 4096) as i64,
            size: 4096,
            op: Op::Write,
            ..Request::default()
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.flashgc");
    let mut writer = TraceWriter::create(&path, None).unwrap();
    writer.write(&requests).unwrap();
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (trailer, mut next) = (bytes.len() - 40, 32);
    let index = u64_at(trailer) as usize;
    // There are 10,000 requests in blocks of 4096. The offsets are those in the table of the
    // documentation of formats.
    assert_eq!((u64_at(trailer + 8), u64_at(trailer + 16)), (10_000, 3));
    for block in 0..3 {
        let entry = index + 16 + 24 * block;
        assert_eq!(u64_at(entry), next as u64);
        let header = &bytes[next..next + 32];
        assert_eq!(header[..4], *b"BLK\0");
        assert_eq!(bytes[entry + 8..entry + 24], header[12..28]);
        assert_eq!(u64_at(entry + 8), 4096 * block as u64);
        assert_eq!(u64_at(entry + 16), 4_096_000 * block as u64);
        next += 32 + u32::from_le_bytes(header[4..8].try_into().unwrap()) as usize;
    }
    assert_eq!(next, index);
    // A row has 53 bytes as text; here a request has two bytes of tag and time, and about three of
    // offset.
    assert!(std::fs::metadata(&path).unwrap().len() < 60_000);
}

#[test]
fn statistics_serialise_under_the_names_of_the_design() {
    let input = fuzz_folder().join("corpus/wiscsee/example");
    let reader = TraceReader::open(&input, &ReadOptions::default()).unwrap();
    let stat = TraceStat::of(reader, PagingOptions::default()).unwrap();
    let json = serde_json::to_value(&stat).unwrap();
    // Worked out by hand from the example: 12 requests, of which one lies before the partition and
    // one is a discard; see fuzz/expected/wiscsee.csv.
    for (key, value) in [
        ("requests", 12.0),
        ("reads", 4.0),
        ("writes", 7.0),
        ("discards", 1.0),
        ("write_share", 7.0 / 12.0),
        // These are pages 256 to 258, 0, 2^41, and 259 to 263.
        ("pages_written", 10.0),
        // These are page 256, 16 pages from 17920 on, pages 257 to 259, and page -2.
        ("pages_read", 21.0),
        // Pages 256 to 259 are also written.
        ("pages", 27.0),
        // 1 + 2 + 1 + 1 + 1 + 5 + 1.
        ("page_writes", 12.0),
        ("overwrite", 1.2),
    ] {
        assert_eq!(json[key].as_f64(), Some(value), "{key}");
    }
}
