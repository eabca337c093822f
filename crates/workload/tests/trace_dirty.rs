//! Dirty and clean events: hints of a replay and cancelled hints, in flashgc's own formats and in
//! the text of a write-ahead log.

use std::path::Path;

use crate::trace_common::{read, row};
use flashgc_workload::requests::{Arrivals, RequestStream, TimedRequest, TimedTrace};
use flashgc_workload::trace::{
    ConvertOptions, PagingOptions, ReadOptions, Replay, SourceOptions, TraceSource, convert,
};
use flashgc_workload::{Batch, Op, Workload};

const HEADER: &str = "time_us,op,offset_bytes,size_bytes,dev\n";

/// Returns the CSV for a text such as `w7 m3 c3 r1 d2`. Each word is one page of 512 bytes.
fn csv(events: &str) -> String {
    let mut text = HEADER.to_owned();
    for (time, word) in events.split_whitespace().enumerate() {
        let page: u64 = word[1..].parse().unwrap();
        text += &format!("{time}.000,{},{},512,0\n", word[..1].to_uppercase(), page * 512);
    }
    text
}

fn load(path: &Path, memory_limit: u64) -> TraceSource {
    let paging = PagingOptions { page_size: 512, ..PagingOptions::default() };
    TraceSource::load(path, SourceOptions { paging, memory_limit, ..SourceOptions::default() })
        .unwrap()
}

/// Returns the commands and hints of a replay in order, drawn in batches of `limit`.
fn replayed(source: &TraceSource, pages: u32, passes: u64, limit: usize) -> String {
    let mut replay = source.open(pages, Replay::Passes(passes)).unwrap();
    let (mut batch, mut words) = (Batch::default(), Vec::new());
    loop {
        replay.fill(&mut batch, limit).unwrap();
        if batch.pages.is_empty() {
            return words.join(" ");
        }
        for (index, page) in batch.pages.iter().enumerate() {
            let before = batch.hints.iter().filter(|hint| hint.before as usize == index);
            words.extend(before.map(|hint| {
                format!("{}{}", if hint.is_taken_back { "c" } else { "m" }, hint.page)
            }));
            let op = batch.ops.get(index).copied().unwrap_or(Op::Write);
            words.push(format!("{}{page}", ["w", "r", "d", "m"][op as usize]));
        }
    }
}

#[test]
fn dirty_events_are_hints_before_the_request_that_follows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // Pages are numbered by address: 5 is 0, 7 is 1, 8 is 2, 9 is 3. Page 6 has no number. The
    // event of page 9 comes before its first write, but counts. The last two events come before the
    // next pass.
    std::fs::write(&path, csv("m9 w5 w7 m6 m5 m7 r9 m5 w5 d7 w7 w8 m9 m8")).unwrap();
    let pass = "m3 w0 w1 m0 m1 r3 m0 w0 d1 w1 w2";
    for memory in [0, 1 << 20] {
        let source = load(&path, memory);
        assert_eq!(source.in_memory(), memory > 0);
        assert_eq!((source.stat().dirty, source.stat().requests, source.stat().pages), (7, 7, 4));
        for limit in [1, 2, 3, 5, 100] {
            assert_eq!(replayed(&source, 4, 1, limit), pass, "{memory} {limit}");
            assert_eq!(replayed(&source, 4, 2, limit), format!("{pass} m3 m2 {pass}"));
            // On a drive of three pages, the commands and hints beyond it are left out.
            let small = "w0 w1 m0 m1 m0 w0 d1 w1 w2";
            assert_eq!(replayed(&source, 3, 1, limit), small);
            assert_eq!(replayed(&source, 2, 1, limit), "w0 w1 m0 m1 m0 w0 d1 w1");
        }
    }
}

#[test]
fn clean_events_take_hints_back_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // Pages are numbered by address: 5 is 0, 7 is 1, 9 is 2. Page 6 has no number. Between two
    // commands and at the beginning of any batch, hints and cancelled hints keep their order.
    std::fs::write(&path, csv("w5 w7 m5 c6 m7 c5 m5 r9 c7 c7 m7 d7 c5 w5 c9 m9")).unwrap();
    let pass = "w0 w1 m0 m1 c0 m0 r2 c1 c1 m1 d1 c0 w0";
    for memory in [0, 1 << 20] {
        let source = load(&path, memory);
        let stat = source.stat();
        assert_eq!((stat.dirty, stat.clean, stat.requests, stat.pages), (5, 6, 5, 3));
        for limit in [1, 2, 3, 100] {
            assert_eq!(
                replayed(&source, 3, 2, limit),
                format!("{pass} c2 m2 {pass}"),
                "{memory} {limit}"
            );
            let small = "w0 m0 c0 m0 c0 w0";
            assert_eq!(replayed(&source, 1, 1, limit), small, "{memory} {limit}");
        }
    }
}

#[test]
fn with_times_they_come_among_the_requests_and_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // Pages are numbered in order of address: 5 is 0, 7 is 1, 9 is 2. Page 6 is never read or
    // written.
    std::fs::write(&path, csv("m9 w5 w7 m6 m5 r9 m7 c5 c6")).unwrap();
    let read = ReadOptions::default();
    let paging = PagingOptions { page_size: 512, ..PagingOptions::default() };
    let trace = TimedTrace::load(&path, &read, paging, |_| true).unwrap();
    assert_eq!((trace.requests_on(3), trace.requests_on(2)), (3, 2));
    let replayed = |pages: u32, passes: u64, limit: usize, clock: Option<&str>| {
        let clock = clock.map(|text| Arrivals::parse(text).unwrap().open(1));
        let mut replay = trace.open(pages, Some(passes), 1.0, clock).unwrap();
        let (mut batch, mut words) = (Vec::new(), Vec::new());
        loop {
            replay.fill(&mut batch, limit).unwrap();
            if batch.is_empty() {
                return words.join(" ");
            }
            let word = |one: &TimedRequest| {
                assert_eq!(one.bytes, 512);
                let letter = ["w", "r", "d", "m", "f", "c"][one.op as usize];
                format!("{letter}{}@{}", one.offset / 512, one.arrival_ns / 1000)
            };
            words.extend(batch.iter().map(word));
        }
    };
    for limit in [1, 2, 100] {
        // Each entry has its time in microseconds. The next replay begins one mean gap of the three
        // requests, 7 / 2, after the end.
        let once = "m2@0 w0@1 w1@2 m0@4 r2@5 m1@6 c0@7";
        let twice = format!("{once} m2@10 w0@11 w1@12 m0@14 r2@15 m1@16 c0@17");
        assert_eq!(replayed(3, 1, limit, None), once);
        assert_eq!(replayed(3, 2, limit, None), twice);
        assert_eq!(replayed(2, 1, limit, None), "w0@1 w1@2 m0@4 m1@6 c0@7");
        // If requests arrive at other times, a hint arrives with the previous request.
        let every_ms = Some("periodic:mean=1ms");
        let expected = "m2@0 w0@1000 w1@2000 m0@2000 r2@3000 m1@3000 c0@3000";
        assert_eq!(replayed(3, 1, limit, every_ms), expected);
    }
}

#[test]
fn hints_between_what_is_read_at_a_time_are_not_lost() {
    // The trace has more commands than are expanded ahead, and a dirty event before each.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let words: Vec<String> = (0..100_000).map(|i| format!("m{0} w{0}", i % 7)).collect();
    std::fs::write(&path, csv(&words.join(" "))).unwrap();
    let (kept, streamed) = (load(&path, 1 << 30), load(&path, 0));
    let expected = words.join(" ");
    for limit in [4096, 1000] {
        assert!(replayed(&kept, 7, 1, limit) == expected);
        assert!(replayed(&streamed, 7, 1, limit) == expected);
    }
}

#[test]
fn our_formats_keep_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let text = csv("w5 m5 r7 d5 m7 m0 c7");
    std::fs::write(file("a.csv"), &text).unwrap();
    let options = ConvertOptions::default();
    convert(file("a.csv"), file("b.flashgc"), &options, |_| true).unwrap();
    convert(file("b.flashgc"), file("c.csv"), &options, |_| true).unwrap();
    assert_eq!(std::fs::read_to_string(file("c.csv")).unwrap(), text);
    // Writes become dirty events.
    let options = ConvertOptions { as_dirty: true, ..ConvertOptions::default() };
    convert(file("a.csv"), file("d.csv"), &options, |_| true).unwrap();
    assert_eq!(std::fs::read_to_string(file("d.csv")).unwrap(), csv("m5 m5 r7 d5 m7 m0 c7"));
}

#[test]
fn files_of_earlier_versions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.flashgc");
    let crc = |bytes: &[u8]| crc32fast::hash(bytes).to_le_bytes();
    let write = |words: &str| {
        std::fs::write(folder.path().join("t.csv"), csv(words)).unwrap();
        let options = ConvertOptions::default();
        convert(folder.path().join("t.csv"), &path, &options, |_| true).unwrap();
        std::fs::read(&path).unwrap()
    };
    let version = |mut bytes: Vec<u8>, number| {
        assert_eq!(bytes[8], 4);
        bytes[8] = number;
        let sum = crc(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum);
        bytes
    };
    // Without dirty events and flushes, only the header differs, in one byte and its checksum.
    let requests = write("w5 r7 d5 w0");
    for number in [1, 2, 3] {
        assert_eq!(read(&version(requests.clone(), number)).unwrap(), read(&requests).unwrap());
    }
    // Version 3 has dirty events, but no clean ones.
    let dirty = write("m5");
    assert_eq!(read(&version(dirty.clone(), 3)).unwrap(), read(&dirty).unwrap());
    let error = read(&version(write("c5"), 3)).unwrap_err();
    assert!(error.message.contains("make no sense"), "{error}");
    // In version 2, the tag of a dirty event has no kind after it. The tag is the first byte of the
    // payload, byte 64 of the file. The payload is one byte shorter; its block and the trailer have
    // the new length and checksums.
    let mut old = version(dirty.clone(), 2);
    assert_eq!((old[64] & 3, old.remove(65)), (3, 0));
    old[36] -= 1;
    let payload = usize::from(old[36]);
    let sum = crc(&[&old[32..60], &old[64..64 + payload]].concat());
    old[60..64].copy_from_slice(&sum);
    let trailer = old.len() - 40;
    old[trailer] -= 1;
    let sum = crc(&old[trailer..trailer + 28]);
    old[trailer + 28..trailer + 32].copy_from_slice(&sum);
    let requests = read(&old).unwrap();
    assert_eq!((requests.len(), requests[0].op), (1, Op::Dirty));
    assert_eq!(requests, read(&dirty).unwrap());
}

/// Records of a pgbench run on PostgreSQL 15, made for this project: the first one, and a commit.
const WAL: &str = "\
rmgr: Heap        len (rec/tot):     54/    54, tx:        735, lsn: 0/02DCD148, prev 0/02DCD020, \
desc: LOCK off 47: xid 735: flags 0x01 LOCK_ONLY EXCL_LOCK , blkref #0: rel 1663/5/16396 blk 1336
rmgr: Heap        len (rec/tot):    171/   171, tx:        735, lsn: 0/02DCD180, prev 0/02DCD148, \
desc: UPDATE off 47 xmax 735 flags 0x03 ; new off 43 xmax 0, blkref #0: rel 1663/5/16396 blk 3278, \
blkref #1: rel 1663/5/16396 blk 1336
rmgr: Btree       len (rec/tot):     64/    64, tx:        735, lsn: 0/02DCD230, prev 0/02DCD180, \
desc: INSERT_LEAF off 293, blkref #0: rel 1663/5/16404 blk 224
rmgr: Transaction len (rec/tot):     34/    34, tx:        735, lsn: 0/02DCD350, prev 0/02DCD300, \
desc: COMMIT 2026-11-21 19:47:29.144195 UTC
";

#[test]
fn a_write_ahead_log_says_which_blocks_are_changed() {
    // The blocks have 8192 bytes: 1336, 3278 and 1336 of the table, and 224 of its index.
    let rows: Vec<String> = read(WAL.as_bytes()).unwrap().iter().map(row).collect();
    let expected = [(1336, 0), (3278, 0), (1336, 0), (224, 1)]
        .map(|(block, device)| format!("0.000,W,{},8192,{device}", block * 8192));
    assert_eq!(rows, expected);
}

#[test]
fn a_damaged_log_is_one_line() {
    let first = WAL.lines().next().unwrap();
    let fault =
        |changed: String| read(format!("{WAL}{changed}\n").as_bytes()).unwrap_err().to_string();
    for (from, to, said) in [
        ("rmgr: Heap", "mgr: Heap", "expected a record, which starts with rmgr:"),
        ("#0: rel", "#x: rel", "expected the number of a block reference"),
        ("#0: rel", "#0; rel", "expected ': rel TABLESPACE/DATABASE/FILE blk NUMBER'"),
        ("blk 1336", "blok 1336", "expected ': rel TABLESPACE/DATABASE/FILE blk NUMBER'"),
        ("blk 1336", "blk x", "expected a block number"),
        ("blk 1336", "blk 1336x", "expected the end of the block number"),
        ("blk 1336", "blk 4294967296", "expected a block number below 2^32"),
    ] {
        let error = fault(first.replacen(from, to, 1));
        assert!(error.starts_with("memory:5:") && error.contains(said), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
