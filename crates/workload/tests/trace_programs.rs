//! Special cases of programs that write traces: requeued requests, waits, joined logs.

use std::io::Write;

use crate::trace_common::{read, reader, row};
use flashgc_workload::Op;
use flashgc_workload::trace::{ReadOptions, Request};

fn rows(requests: &[Request]) -> Vec<String> {
    requests.iter().map(row).collect()
}

/// Three requests: one is issued, given back and issued again; one grows by a merge before it is
/// issued again; and one is written again by the host.
const ISSUES: [(&str, u64, u64); 9] = [
    ("D", 0, 8),
    ("R", 0, 8),
    ("D", 0, 8),
    ("C", 0, 8),
    ("D", 64, 8),
    ("R", 64, 8),
    ("D", 64, 24),
    ("D", 0, 8),
    ("D", 0, 16),
];

const EXPECTED: [&str; 5] = [
    "1.000,W,0,4096,8388608",
    "5.000,W,32768,4096,8388608",
    "7.000,W,36864,8192,8388608",
    "8.000,W,0,4096,8388608",
    "9.000,W,0,8192,8388608",
];

#[test]
fn a_request_that_was_given_back_counts_once() {
    let text: String = (1..)
        .zip(ISSUES)
        .map(|(i, (action, sector, sectors))| {
            format!("  8,0    0 {i} 0.00000{i}000   100  {action}   W {sector} + {sectors} [app]\n")
        })
        .collect();
    let ftrace: String = (1..)
        .zip(ISSUES)
        .map(|(i, (action, sector, sectors))| {
            let event = match action {
                "D" => format!("block_rq_issue: 8,0 W {} ()", sectors * 512),
                "R" => "block_rq_requeue: 8,0 W ()".to_owned(),
                _ => "block_rq_complete: 8,0 W ()".to_owned(),
            };
            format!("  app-100 [003] d..1. 0.00000{i}: {event} {sector} + {sectors} [0]\n")
        })
        .collect();
    let blktrace: Vec<u8> = (1u64..)
        .zip(ISSUES)
        .flat_map(|(i, (action, sector, sectors))| {
            let code: u32 = match action {
                "D" => 7,
                "R" => 6,
                _ => 8,
            };
            let mut record = Vec::new();
            record.extend(0x6561_7407u32.to_le_bytes());
            record.extend((i as u32).to_le_bytes());
            record.extend((i * 1000).to_le_bytes());
            record.extend(sector.to_le_bytes());
            record.extend((sectors as u32 * 512).to_le_bytes());
            record.extend((1u32 << 17 | code).to_le_bytes());
            record.extend(100u32.to_le_bytes());
            record.extend((8u32 << 20).to_le_bytes());
            record.extend([0; 8]);
            record
        })
        .collect();
    for (name, bytes) in
        [("blkparse", text.as_bytes()), ("ftrace", ftrace.as_bytes()), ("blktrace", &blktrace)]
    {
        let mut reader = reader(bytes, &ReadOptions::default()).unwrap();
        assert_eq!(reader.format().name, name);
        let mut all = Vec::new();
        assert!(reader.next_block(&mut all).unwrap());
        assert_eq!(rows(&all), EXPECTED, "{name}");
        let note = reader.notes().join(" ");
        assert!(
            note.contains("2 second issues of a request that was given back"),
            "{name}: {note}"
        );
    }
    // Only issues are repeated after a requeue; other actions occur once.
    let options = ReadOptions { blkparse_action: Some('C'), ..ReadOptions::default() };
    let completed = reader(text.as_bytes(), &options).unwrap().requests().count();
    assert_eq!(completed, 1);
}

#[test]
fn write_zeroes_of_older_kernels_are_writes() {
    let text = "8,0 1 1 0.5 9 D N 16 + 8 [x]\n8,0 1 2 0.6 9 D N 0 (12 00 ..) [x]\n\
                8,0 1 3 0.7 9 D N 0 + 0 [x]\n8,0 1 4 0.8 9 D R 16 + 8 [x]\n";
    let all = read(text.as_bytes()).unwrap();
    assert_eq!(all.iter().map(|request| request.op).collect::<Vec<_>>(), [Op::Write, Op::Read]);
    assert_eq!((all[0].offset, all[0].size), (8192, 4096));
}

#[test]
fn waits_of_fio_end_so_many_milliseconds_after_the_start() {
    let log = "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf wait 1500 0\nf write 4096 4096\n\
               f wait 1500 0\nf write 8192 4096\nf wait 700 0\nf wait 3000 0\nf write 12288 4096\nf close\n";
    let times: Vec<u64> =
        read(log.as_bytes()).unwrap().iter().map(|r| r.time_ns / 1_000_000).collect();
    assert_eq!(times, [0, 1500, 1500, 3000]);
}

#[test]
fn several_devices_of_a_simulator_are_said() {
    let text = |device: u64| format!("100 0 16000 16 0\n200 {device} 16 16 1\n");
    for (device, several) in [(0, false), (4, true)] {
        let mut reader = reader(text(device).as_bytes(), &ReadOptions::default()).unwrap();
        assert!(reader.next_block(&mut Vec::new()).unwrap());
        let noted = reader.notes().iter().any(|note| note.contains("SSDSim and MQSim ignore"));
        assert_eq!(noted, several, "{device}");
    }
}

#[test]
fn the_processes_of_blkparse_are_no_requests() {
    let text = "  8,0    0  1  0.000001000   100  D   W 0 + 8 [app]\n\
                app (100)\n Reads Queued:           0,        0KiB\n Write Dispatches:       1\n\n\
                kworker/0:1 (7)\n Reads Queued:           0,        0KiB\n\n\
                CPU0 (8,0):\n Reads Queued:           0,        0KiB\n";
    assert_eq!(rows(&read(text.as_bytes()).unwrap()), ["1.000,W,0,4096,8388608"]);
    let cut = "  8,0    0  1  0.000001000   100  D   W 0 + 8 [app]\n  8,0    0\n";
    assert!(read(cut.as_bytes()).unwrap_err().to_string().contains("memory:2:"));
}

#[test]
fn joined_files_with_their_names_and_comments_are_one_trace() {
    let systor = |hour: u64| {
        format!(
            "Timestamp,Response,IOType,LUN,Offset,Size\n145609510{hour}.000000000,0.0001,W,{hour},0,4096\n\
             # of this hour\n145609510{hour}.5,0.0001,R,{hour},4096,8192\n"
        )
    };
    let own =
        |time: u64| format!("time_us,op,offset_bytes,size_bytes,dev\n{time}.000,W,0,4096,3\n");
    let named = |time: u64| format!("time_ms,is_read,size_sectors,offset_bytes\n{time},0,8,4096\n");
    let fio = |size: u64| {
        format!("fio version 3 iolog\n12 f add\n60 f open\n100 f write 0 {size}\n200 f close\n")
    };
    for (name, text, requests) in [
        ("systor", systor(1) + &systor(2), 4),
        ("csv", own(1) + &own(2), 2),
        ("csv", named(1) + &named(2) + "\n" + &named(3), 3),
        ("fio3", fio(4096) + &fio(8192), 2),
        (
            "msr",
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                 128166400000000000,web,0,Read,8192000,24576,113700\n"
                .repeat(3),
            3,
        ),
    ] {
        let reader = reader(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(reader.format().name, name);
        let all: Result<Vec<Request>, _> = reader.requests().collect();
        assert_eq!(all.unwrap_or_else(|error| panic!("{error}")).len(), requests, "{text}");
    }
    // Names of other columns in the middle of a file are a bad line.
    let text = own(1) + "time_us,op,size_bytes,offset_bytes,dev\n2.000,W,0,4096,3\n";
    assert!(read(text.as_bytes()).unwrap_err().to_string().starts_with("memory:3:"));
}

#[test]
fn text_of_windows_and_old_packings_are_read() {
    let text = "time_us,op,offset_bytes,size_bytes,dev,note\r\n1.000,W,0,4096,3,\u{fc}\u{1f4be}\r\n                2.000,R,4096,8192,3,\r\n";
    let expected = read(text.as_bytes()).unwrap();
    assert_eq!(expected.len(), 2);
    let long = text.to_owned() + &"3.000,W,0,4096,3,\u{1f4be}\r\n".repeat(9000);
    for text in [text, &long] {
        let expected = read(text.as_bytes()).unwrap();
        let halves = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        assert_eq!(read(&halves(u16::to_le_bytes)).unwrap(), expected);
        assert_eq!(read(&halves(u16::to_be_bytes)).unwrap(), expected);
        let torn = halves(u16::to_le_bytes);
        let error = read(&torn[..torn.len() - 1]).unwrap_err().to_string();
        assert!(error.contains("utf-16 data are cut off"), "{error}");
        let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
        let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(text.as_bytes()).unwrap();
        assert_eq!(read(&encoder.finish().unwrap()).unwrap(), expected);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        let padded = [packed.as_slice(), &[0; 5000]].concat();
        assert_eq!(read(&padded).unwrap(), expected);
        let twice = [padded.as_slice(), &packed].concat();
        assert_eq!(read(&twice).unwrap().len(), 2 * expected.len());
        let garbage = [padded.as_slice(), b"more"].concat();
        let error = read(&garbage).unwrap_err().to_string();
        assert!(error.contains("behind them is no gzip"), "{error}");
    }
}

#[test]
fn files_handed_over_by_mistake_get_an_answer_of_their_own() {
    for (bytes, found, advice) in [
        (
            &b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"[..],
            "Git LFS",
            "git lfs pull",
        ),
        (b"\n<!DOCTYPE html>\n<html></html>\n", "a web page", "download"),
        (b"\x7fELF\x02\x01\x01", "a program", "trace record"),
        (b"PERFILE2\0\0", "a recording of perf", "perf script"),
        (b"\x17\x08\x44tracing6\0", "a trace.dat", "trace-cmd report"),
        (b"PK\x03\x04abc", "a zip file", "unpack it"),
        (b"Rar!\x1a\x07\0", "a rar file", "unpack it"),
    ] {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(found) && error.contains(advice), "{error}");
    }
}
