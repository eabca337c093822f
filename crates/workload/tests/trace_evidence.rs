//! A file is read only with evidence: names in a first line, units that fit the figures, and
//! sequential requests.

use crate::trace_common::{read, reader};
use flashgc_workload::Op;
use flashgc_workload::trace::{Fault, ReadOptions, Request, TraceReader, format};

/// The requests of a small trace: whole pages of 4 KiB in some order, reads and writes, and times
/// that grow.
fn requests() -> Vec<(u64, bool, u64, u64)> {
    (0..40u64).map(|i| (58 + 37 * i, i % 3 == 0, i * 7 % 23 * 4096, (1 + i % 2) * 4096)).collect()
}

fn file(header: &str, line: impl Fn((u64, bool, u64, u64)) -> String) -> Vec<u8> {
    let lines: Vec<String> = requests().into_iter().map(line).collect();
    format!("{header}{}\n", lines.join("\n")).into_bytes()
}

fn totals(requests: &[Request]) -> [u64; 4] {
    let of = |op| requests.iter().filter(move |request| request.op == op);
    let bytes = |op| of(op).map(|request| request.size).sum::<u64>();
    let devices: std::collections::BTreeSet<u32> = requests.iter().map(|r| r.device).collect();
    [of(Op::Read).count() as u64, bytes(Op::Read), bytes(Op::Write), devices.len() as u64]
}

fn right() -> [u64; 4] {
    let bytes = |read| requests().iter().filter(|r| r.1 == read).map(|r| r.3).sum::<u64>();
    [requests().iter().filter(|request| request.1).count() as u64, bytes(true), bytes(false), 1]
}

#[test]
fn names_decide_whatever_their_order_case_quotes_and_units() {
    let letter = |read| if read { "R" } else { "W" };
    let files = [
        file("time_us,op,offset_bytes,size_bytes,device\n", |(time, read, offset, size)| {
            format!("{time},{},{offset},{size},0", letter(read))
        }),
        file("time_us,offset_bytes,size_bytes,is_read,dev\n", |(time, read, offset, size)| {
            format!("{time},{offset},{size},{},0", u8::from(read))
        }),
        file(
            "\"Size (sectors)\"; \"Op\"; \"Offset [KiB]\"; \"Time (ms)\"; note\n",
            |(time, read, offset, size)| {
                let (sectors, kib) = (size / 512, offset / 1024);
                let op = if read { "Read" } else { "WRITE" };
                format!("{sectors}; \"{op}\"; {kib}; {}.{:03}; x", time / 1000, time % 1000)
            },
        ),
        file("time_us device offset_bytes size_bytes is_read\n", |(time, read, offset, size)| {
            format!("{time} 0  {offset} {size}\t{}", u8::from(read))
        }),
        file("# time_s\tis_write\tlba_sectors\tlength_bytes\r\n", |(time, read, offset, size)| {
            format!("0.{time:06}\t{}\t{}\t{size}\r", u8::from(!read), offset / 512)
        }),
    ];
    for bytes in files {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let all = read(&bytes).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((all.len(), totals(&all)), (40, right()), "{text}");
        assert_eq!((all[1].time_ns, all[1].offset), (95_000, 7 * 4096), "{text}");
    }
}

#[test]
fn names_without_units_or_of_other_columns_are_refused_and_the_advice_works() {
    for header in [
        "time,op,offset,size,dev\n",
        "op,time,offset,size,dev\n",
        "Timestamp,Size,Offset,IOType,Volume\n",
        "time_us,offset_bytes,size_bytes,is_read,volume,lun\n",
    ] {
        let columns = header.split(',').count() - 5;
        let bytes = file(header, |(time, read, offset, size)| {
            format!("{time},{offset},{size},{},0{}", u8::from(read), ",1".repeat(columns))
        });
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.fault, Fault::Format, "{error}");
        let text = error.to_string();
        assert!(text.contains("the columns that the first line names"), "{text}");
        assert!(text.contains("time_ms,op,offset_sectors,size_bytes,dev"), "{text}");
    }
    let advised =
        file("time_ms,op,offset_sectors,size_bytes,dev\n", |(time, read, offset, size)| {
            format!("{time},{},{},{size},0", if read { "R" } else { "W" }, offset / 512)
        });
    assert_eq!(totals(&read(&advised).unwrap()), right());
    // Even if the user names a format, it is not used for a file with names of other columns.
    let options =
        ReadOptions { format: Some(format::find("alibaba").unwrap()), ..ReadOptions::default() };
    let own = file("time_us,op,offset_bytes,size_bytes,device\n", |(time, _, offset, size)| {
        format!("{time},W,{offset},{size},0")
    });
    let found = reader(&own, &options).unwrap().requests().next().unwrap().unwrap_err();
    assert!(found.to_string().contains("the first line names other columns"), "{found}");
}

#[test]
fn figures_that_no_drive_has_refuse_a_shape_and_warn_where_it_is_named() {
    let files = [
        // Milliseconds, device, bytes, bytes: the columns of DiskSim, but with units that are 512
        // times smaller.
        (
            "disksim",
            "as if they were bytes",
            file("", |(time, read, offset, size)| {
                format!("{time}.5 0 {} {size} {}", offset * 64, u8::from(read))
            }),
        ),
        // The file has sectors in columns where Alibaba has bytes.
        (
            "alibaba",
            "bytes on average",
            file("", |(time, _, offset, size)| format!("0,W,{offset},{},{time}", size / 512)),
        ),
        // The time is the first column, where Alibaba has the device.
        (
            "alibaba",
            "are of 40 devices",
            file("", |(time, _, offset, size)| format!("{time},W,{offset},{size},0")),
        ),
        // The size and the offset are exchanged.
        (
            "tencent",
            "bytes on average",
            file("", |(time, _, offset, size)| {
                format!("{time},{},{},1,0", size / 512, (offset << 10) / 512)
            }),
        ),
    ];
    for (name, figure, bytes) in files {
        let error = read(&bytes).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(figure), "{text}");
        assert!(text.contains(&format!("hint: if it is {name} all the same")), "{text}");
        let options =
            ReadOptions { format: Some(format::find(name).unwrap()), ..ReadOptions::default() };
        let named = reader(&bytes, &options).unwrap();
        assert!(named.notes().iter().any(|note| note.contains(figure)), "{:?}", named.notes());
    }
}

#[test]
fn a_file_of_one_moment_is_read() {
    for (name, header) in [("alibaba", ""), ("csv", "time_us,op,offset_bytes,size_bytes,dev\n")] {
        let bytes = file(header, |(_, read, offset, size)| {
            let op = if read { "R" } else { "W" };
            match name {
                "alibaba" => format!("{},{op},{offset},{size},1577808000000000", offset / 4096 % 5),
                _ => format!("0,{op},{offset},{size},{}", offset / 4096 % 5),
            }
        });
        let reader = reader(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!((reader.format().name, reader.notes()), (name, vec![]));
    }
}

#[test]
fn the_middle_and_the_end_of_a_file_are_evidence_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("joined.csv");
    for (unit, is_right) in [(512, true), (1, false)] {
        // The columns are those of Tencent. After the first 10,000 lines, the units may be bytes
        // instead of sectors.
        let line = |i: u64| {
            let unit = if i < 10_000 { 512 } else { unit };
            let (time, offset, size) = (1_538_323_200 + i / 100, i * 7919 % 5000 * 4096, 1 + i % 4);
            format!("{time},{},{},{},{}\n", offset / unit, size * 4096 / unit, i % 2, 1000 + i % 9)
        };
        std::fs::write(&path, (0..40_000).map(line).collect::<String>()).unwrap();
        let options = ReadOptions::default();
        let opened = TraceReader::open(&path, &options);
        assert_eq!(opened.is_ok(), is_right);
        let evidence = TraceReader::evidence(&path, &options).unwrap();
        assert_eq!(evidence[0], "looked at the start, the middle and the end of the file");
        let tencent =
            evidence.iter().find(|said| said.starts_with("tencent: 300 of 300 lines")).unwrap();
        assert_eq!(tencent.ends_with("nothing speaks against it"), is_right, "{tencent}");
        if let Err(error) = opened {
            assert!(error.to_string().contains("bytes on average"), "{error}");
        }
        // The end of a compressed file is known only when it is read.
        let packed = zstd::encode_all(std::fs::File::open(&path).unwrap(), 1).unwrap();
        let mut packed = reader(&packed, &options).unwrap();
        assert_eq!(packed.notes(), [""; 0]);
        let mut block = Vec::new();
        while packed.next_block(&mut block).unwrap() {}
        let notes = packed.notes();
        assert_eq!(notes.is_empty(), is_right, "{notes:?}");
        let said = "is this tencent? further on requests have";
        assert!(is_right || notes[0].starts_with(said), "{notes:?}");
    }
}

#[test]
fn columns_are_said_with_their_units() {
    let columns = |text: &str| reader(text.as_bytes(), &ReadOptions::default()).unwrap().columns();
    assert_eq!(
        columns("0,W,8192,4096,1577808000000000\n"),
        "column 1 as device, column 2 as operation, column 3 as offset in bytes, column 4 as size in \
         bytes, column 5 as time in microseconds"
    );
    assert_eq!(
        columns("Size (sectors);Op;Offset [KiB];Time (ms)\n8;R;16;1.5\n"),
        "column 4 ('Time (ms)') as time in milliseconds, column 2 ('Op') as operation, column 3 ('Offset \
         [KiB]') as offset in KiB, column 1 ('Size (sectors)') as size in sectors of 512 bytes"
    );
    assert!(
        columns("12.345 0 4096 8 1\n12.5 0 4104 8 1\n12.6 0 4112 8 0\n").contains("size (blocks)")
    );
}

#[test]
fn runs_of_requests_tell_sectors_from_pages() {
    for (unit, name) in [(1, "disksim"), (8, "flashsim")] {
        let mut sector = 1000;
        let lines = (0..40u64).map(|i| {
            let (first, size) = (sector, 5 + i % 7);
            sector += size * unit;
            format!("{i}.668454\t30\t{first}\t{size}\t{}\n", i % 2)
        });
        let text: String = lines.collect();
        let reader = reader(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(reader.format().name, name);
    }
}
