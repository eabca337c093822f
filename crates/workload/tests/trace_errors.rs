//! Error texts for traces that cannot be used: one line, with the place and the advice.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::trace_common::{corpus, read, reader};
use flashgc_workload::trace::format::{FORMATS, find};
use flashgc_workload::trace::{
    Declared, Fault, NativeWriter, OnBadLine, PagingOptions, ReadOptions, Relations, Request,
    SourceOptions, StatBuilder, TraceError, TraceReader, TraceSource, TraceStat, parse_devices,
};

const HINT: &str = "; hint: on_bad_line=\"skip\" counts and skips such lines";

fn msr_lines(count: usize) -> String {
    (0..count).map(|i| format!("{},web,0,Write,{},4096,1\n", 1000 + i, i * 4096)).collect()
}

fn error(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

/// Returns the error of a trace whose second line is bad.
fn second_line(format: &str, first: &str, second: &str) -> String {
    let format = Some(find(format).unwrap());
    let text = format!("{first}\n{second}\n");
    let reader =
        reader(text.as_bytes(), &ReadOptions { format, ..ReadOptions::default() }).unwrap();
    reader.requests().collect::<Result<Vec<_>, _>>().unwrap_err().to_string()
}

#[test]
fn a_short_line_is_named_with_its_columns() {
    let mut text = msr_lines(1041);
    text += "1041,web,0\n";
    text += &msr_lines(10);
    let expected = "memory:1042:1: found 3 columns, expected 7 \
                    (timestamp,host,disk,type,offset,size,response)";
    assert_eq!(error(&text), format!("{expected}{HINT}"));
    let options = ReadOptions { on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
    let mut reader = reader(text.as_bytes(), &options).unwrap();
    let (mut count, mut block) = (0, Vec::new());
    while reader.next_block(&mut block).unwrap() {
        count += block.len();
    }
    assert_eq!((count, reader.skipped()), (1051, 1));
}

#[test]
fn requests_before_a_bad_line_are_delivered() {
    let text = msr_lines(3) + "x\n" + &msr_lines(4);
    let mut requests = reader(text.as_bytes(), &ReadOptions::default()).unwrap().requests();
    assert_eq!(requests.by_ref().take_while(Result::is_ok).count(), 3);
    assert!(requests.next().is_none());
}

#[test]
fn numbers_out_of_range_are_named() {
    let msr = |line: &str| second_line("msr", "1,web,0,Write,0,4096,1", line);
    // The offset is 2^63.
    assert_eq!(
        msr("1,web,0,Write,9223372036854775808,4096,1"),
        format!(
            "memory:2:15: found '9223372036854775808', expected an offset below 2^63 bytes{HINT}"
        )
    );
    // The end is 2^63 - 1 + 1.
    assert_eq!(
        msr("1,web,0,Write,9223372036854775807,1,1"),
        format!("memory:2:35: found '1', expected offset + size of at most 2^63 bytes{HINT}")
    );
    assert_eq!(
        msr("1,web,0,Write,0,-4096,1"),
        format!("memory:2:17: found '-4096', expected a size, a whole number of bytes{HINT}")
    );
    assert_eq!(
        msr("1,web,0,Write,0,4294967297,1"),
        format!(
            "memory:2:17: found '4294967297', expected a size of at most 4 GiB (only discards may \
             be larger){HINT}"
        )
    );
    assert_eq!(
        msr("1,web,0,Write,99999999999999999999999,1,1"),
        format!(
            "memory:2:15: found '99999999999999999999999', expected an offset, a whole number of \
             bytes{HINT}"
        )
    );
    assert_eq!(
        msr("1,web,0,Erase,0,4096,1"),
        format!("memory:2:9: found 'Erase', expected Read or Write{HINT}")
    );
    // 2^55 sectors are 2^64 bytes.
    assert_eq!(
        second_line("ssdsim", "0 0 0 8 0", "0 0 36028797018963968 8 0"),
        format!("memory:2:5: found '36028797018963968', expected an offset below 2^63 bytes{HINT}")
    );
}

#[test]
fn a_number_out_of_range_does_not_hide_the_format() {
    // The file has only the bad line: the error is about the line, not about the format.
    for (line, column, found) in [
        ("1,web,0,Write,9223372036854775808,4096,1", 15, "9223372036854775808"),
        ("1,web,0,Write,99999999999999999999999,4096,1", 15, "99999999999999999999999"),
        ("1,web,0,Write,-8192,4096,1", 15, "-8192"),
        ("1,web,0,Write,0,-4096,1", 17, "-4096"),
        ("0 0 36028797018963968 8 0", 5, "36028797018963968"),
        ("8,0 1 1 0.5 9 D W 36028797018963968 + 8 [x]", 19, "36028797018963968"),
    ] {
        let text = error(line);
        assert!(text.starts_with(&format!("memory:1:{column}: found '{found}'")), "{text}");
    }
}

#[test]
fn a_bad_line_of_a_compressed_file_may_be_damage() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all((msr_lines(3) + "x\n" + &msr_lines(3)).as_bytes()).unwrap();
    let text = read(&packed.finish().unwrap()).unwrap_err().to_string();
    assert!(text.starts_with("memory:4:1: found 1 column, expected 7"), "{text}");
    let damage = ", but the gzip file may be damaged: check it or fetch it again first";
    assert!(text.ends_with(&format!("{HINT}{damage}")), "{text}");
}

#[test]
fn a_page_beyond_the_map_is_named_with_its_request() {
    // 2^62 bytes are page 2^50 of 4 KiB, which has no number.
    let text =
        "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n1,W,4611686018427387904,512,0\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, text).unwrap();
    let beyond = "is beyond the 2^43 pages of a device that can be mapped";
    let hint = "check that its offset is in bytes and the format is right, or a larger page_size";
    let error = TraceSource::load(&path, SourceOptions::default()).unwrap_err().to_string();
    let expected = format!("request 2: page 1125899906842624 {beyond}");
    assert_eq!(error, format!("{}: {expected}; hint: {hint}", path.display()));
    let requests = read(text.as_bytes()).unwrap();
    let mut builder = StatBuilder::new(PagingOptions::default());
    assert_eq!(builder.add(&requests, |_, _| {}).unwrap_err().to_string(), expected);
}

#[test]
fn requests_that_the_csv_should_not_have_are_counted() {
    let text = "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,0,0\n1,R,-4096,0,0\n2,W,0,512,0\n";
    let mut reader = reader(text.as_bytes(), &ReadOptions::default()).unwrap();
    while reader.next_block(&mut Vec::new()).unwrap() {}
    assert_eq!(reader.notes(), ["2 requests of 0 bytes, 1 request before byte 0"]);
}

#[test]
fn bytes_that_are_no_text_are_escaped() {
    assert_eq!(
        second_line("msr", "1,web,0,Write,0,4096,1", "1,web,0,Write,\0\0\0,4096,1"),
        format!(
            "memory:2:15: found '\\x00\\x00\\x00', expected an offset, a whole number of \
             bytes{HINT}"
        )
    );
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let names = names.join(", ");
    assert_eq!(
        read(b"\0\x01 neither\x07 text nor a trace we know of, and quite long\n")
            .unwrap_err()
            .to_string(),
        format!(
            "memory: no known trace format fits; the file starts with '\\x00\\x01 \
             neither\\x07 text nor a trace we know of,...'; hint: name the format with \
             format: {names}"
        )
    );
}

#[test]
fn a_file_that_fits_two_formats_is_an_error_that_lists_them() {
    let several = "memory: several formats fit: disksim, flashsim; hint: choose \
                   format=\"disksim\" or format=\"flashsim\"; flashgc trace formats disksim describes the first";
    let lines = |separator: &str, decimals: usize, sizes: [u64; 2]| {
        sizes.map(|size| {
            let time = format!("{:.decimals$}", 26.214);
            [time.as_str(), "0", "303574", &size.to_string(), "0\n"].join(separator)
        })
    };
    // A file without marks of FlashSim's converter must be DiskSim's. A file with some or all of
    // them could belong to either, because DiskSim's own traces can have them, too, and sectors
    // cannot be distinguished from pages.
    for separator in ["\t", " "] {
        for decimals in [3, 6] {
            for sizes in [[8, 16], [8, 17]] {
                let marks = [separator == "\t", decimals == 6, sizes[1] % 8 != 0];
                let read = read(lines(separator, decimals, sizes).concat().as_bytes());
                let bytes =
                    |requests: Vec<_>| requests.iter().map(|r: &Request| r.size).sum::<u64>();
                match marks.into_iter().filter(|mark| *mark).count() {
                    0 => assert_eq!(read.map(bytes), Ok(24 * 512)),
                    _ => assert_eq!(read.unwrap_err().to_string(), several, "{marks:?}"),
                }
            }
        }
    }
    // The first line of a format decides, although these lines could also be Alibaba's.
    let header = "time_us,op,offset_bytes,size_bytes,dev\n";
    let text = header.to_owned() + &"7,W,0,4096,3\n".repeat(100);
    assert_eq!(read(text.as_bytes()).unwrap()[0].device, 3);
    // One damaged line does not decide: its type is not one of FlashSim's, but could be flags of
    // DiskSim.
    let text = lines(" ", 6, [8, 17]).concat().repeat(20) + "26.214000 0 1 8 7\n";
    assert_eq!(error(&text), several);
    // Flags with another bit in many lines decide, because FlashSim has no flags.
    let text = lines(" ", 6, [8, 16]).concat() + "26.214000 0 1 8 2\n";
    assert_eq!(read(text.as_bytes()).unwrap().len(), 3);
}

#[test]
fn empty_traces_and_traces_without_writes() {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let load = |path| TraceSource::load(path, SourceOptions::default()).unwrap_err();
    let empty = load(save("empty", ""));
    assert_eq!(empty.fault, Fault::Empty);
    assert!(empty.to_string().ends_with("the trace is empty, expected at least one request"));
    let path = save("rows", "time_us,op,offset_bytes,size_bytes,dev\n");
    let error = load(path).to_string();
    assert!(
        error.contains(": found no requests, expected at least one (skipped: 0 bad lines"),
        "{error}"
    );
    let path = save("reads", "0,R,0,4096,5\n");
    let error = load(path).to_string();
    assert!(error.contains("the trace has no writes (1 read, 0 discards), so there is"), "{error}");
    let path = save("skipped", "a\nb\n");
    let format = Some(find("msr").unwrap());
    let options = ReadOptions { format, on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
    let reader = TraceReader::open(path, &options).unwrap();
    let error = TraceStat::of(reader, PagingOptions::default()).unwrap_err().to_string();
    assert!(error.contains("(skipped: 2 bad lines; no requests: 0 lines)"), "{error}");
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path| {
        TraceReader::open(path, &ReadOptions::default()).unwrap_err().to_string()
    };
    let missing = folder.path().join("missing.csv");
    assert_eq!(
        open(&missing),
        format!(
            "{}: cannot open the trace: No such file or directory; hint: check the path",
            missing.display()
        )
    );
    assert_eq!(
        open(folder.path()),
        format!(
            "{}: found a folder, expected a trace file; hint: name one file in it",
            folder.path().display()
        )
    );
    let zip = folder.path().join("trace.zip");
    fs::write(&zip, b"PK\x03\x04 and so on").unwrap();
    assert!(open(&zip).contains("found a zip file, expected plain, gzip,"));
}

#[test]
fn a_torn_last_record_is_named() {
    let vscsi = corpus().into_iter().find(|(format, ..)| format == "vscsi1").unwrap().2;
    let torn = &vscsi[..vscsi.len() - 5];
    // The file has ten records of 32 bytes, and the last one is incomplete.
    assert_eq!(
        read(torn).unwrap_err().to_string(),
        "memory: record 10 (byte 288): found 27 bytes, expected a vscsi1 record of 32 bytes: the \
         file is cut off; hint: fetch the file again, or on_bad_line=\"skip\" leaves the rest out"
    );
    let options = ReadOptions { on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
    let mut reader = reader(torn, &options).unwrap();
    let mut block = Vec::new();
    while reader.next_block(&mut block).unwrap() {}
    assert_eq!((reader.skipped(), reader.ignored()), (1, 1));
}

/// An endless stream of `x` without a line end. It counts the bytes that were read.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(usize::try_from(self.0).unwrap_or(usize::MAX));
        buffer[..count].fill(b'x');
        self.0 -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_line_without_end_takes_no_memory() {
    // The line has 1 GB; the buffers have about 256 KiB.
    let format = Some(find("msr").unwrap());
    let open = |on_bad_line| {
        let first = std::io::Cursor::new(b"1,web,0,Write,0,4096,1\n".to_vec());
        let stream = Box::new(first.chain(Endless(1 << 30)));
        let options = ReadOptions { format, on_bad_line, ..ReadOptions::default() };
        TraceReader::from_stream("memory", stream, &options).unwrap()
    };
    let text = open(OnBadLine::Stop).requests().last().unwrap().unwrap_err().to_string();
    assert!(text.starts_with("memory:2:1: found a line of more than 262144 bytes"), "{text}");
    let mut reader = open(OnBadLine::Skip);
    let (mut count, mut block) = (0, Vec::new());
    while reader.next_block(&mut block).unwrap() {
        count += block.len();
    }
    assert_eq!((count, reader.skipped()), (1, 1));
}

#[test]
fn a_damaged_native_file_names_the_block_and_the_byte() {
    let mut writer = NativeWriter::new(Vec::new(), Declared::default()).unwrap();
    let requests = read(msr_lines(10_000).as_bytes()).unwrap();
    writer.write(&requests).unwrap();
    let bytes = writer.finish().unwrap();
    assert_eq!(read(&bytes).unwrap(), requests);
    let second = (64..).find(|&at| &bytes[at..at + 4] == b"BLK\0").unwrap();
    let check = |bytes: &[u8], expected: &str| {
        let error: TraceError = read(bytes).unwrap_err();
        assert_eq!(error.fault, Fault::Damaged);
        let hint = "; hint: fetch the file again, or convert its source again";
        assert_eq!(error.to_string(), format!("memory: {expected}{hint}"));
    };
    let mut flipped = bytes.clone();
    flipped[second + 1000] ^= 4;
    let place = format!("block 2 (byte {second})");
    check(&flipped, &format!("{place}: the block's checksum does not fit: the file is damaged"));
    let cut = "found the end of the file, expected more: the file is cut off";
    check(&bytes[..second + 100], &format!("{place}: {cut}"));
    check(&bytes[..second + 10], &format!("{place}: {cut}"));
    check(&bytes[..second], &format!("{place}: {cut}"));
    let index = bytes.windows(4).rposition(|window| window == b"IDX\0").unwrap();
    check(
        &bytes[..bytes.len() - 1],
        &format!(
            "byte {index}: found no trailer, expected 'FGC-END' at the end: the file is cut off"
        ),
    );
    check(&bytes[..index + 20], &format!("byte {index}: the index is cut off"));
    let longer = [bytes.as_slice(), b"x"].concat();
    check(&longer, &format!("byte {index}: found more bytes after the trailer, expected the end"));
    // No single changed bit remains unnoticed.
    for bit in (0..bytes.len() * 8).step_by(997) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn options_of_some_formats_are_refused_for_others() {
    let options = ReadOptions { blkparse_action: Some('Q'), ..ReadOptions::default() };
    assert_eq!(
        reader(msr_lines(3).as_bytes(), &options).unwrap_err().to_string(),
        "memory: blkparse_action only applies to blkparse, blktrace, ftrace, found msr; hint: leave \
         blkparse_action out"
    );
    let line = "8,0 1 1 0.5 9 D W 16 + 8 [x]\n";
    let options = ReadOptions { blkparse_action: Some('X'), ..ReadOptions::default() };
    assert_eq!(
        reader(line.as_bytes(), &options).unwrap_err().to_string(),
        "memory: found action 'X', expected D, Q, C, I, G"
    );
    let relations = Some(table("1/2/3 main 0 -> 0+8192"));
    let options = ReadOptions { relations, ..ReadOptions::default() };
    assert_eq!(
        reader(line.as_bytes(), &options).unwrap_err().to_string(),
        "memory: relations only applies to pg-waldump, found blkparse; hint: leave relations out"
    );
}

fn table(text: &str) -> Arc<Relations> {
    Arc::new(Relations::parse(Path::new("table"), text.as_bytes()).unwrap())
}

#[test]
fn a_line_of_blkparse_is_read_to_its_end() {
    let good = "8,0 1 1 0.5 9 D W 16 + 8 [x]";
    let blkparse = |line: &str| second_line("blkparse", good, &format!("8,0 1 2 0.6 9 D {line}"));
    for (line, column, message) in [
        ("W 16 + 1e9 [x]", 24, "found '1e9', expected a whole number of sectors"),
        ("W 16 + 3.5 [x]", 24, "found '3.5', expected a whole number of sectors"),
        (
            "W 16 + 25",
            26,
            "found nothing, expected [process] after the sectors (the line is cut off)",
        ),
        ("W 16 + 25 [ja", 30, "found nothing, expected [process] at the end (the line is cut off)"),
        ("W NaN + 8 [x]", 19, "found 'NaN', expected a sector number"),
        ("W -5682520 + 8 [x]", 19, "found '-5682520', expected a sector number"),
        ("W", 18, "found nothing, expected a sector number"),
        ("W 16", 21, "found nothing, expected a blank after the sector number"),
        ("W 16 8 [x]", 22, "found '8', expected + and a number of sectors"),
        ("Q 16 + 8 [x]", 17, "found 'Q', expected an RWBS field, for example R, W, DS or FWS"),
    ] {
        assert_eq!(blkparse(line), format!("memory:2:{column}: {message}{HINT}"), "{line}");
    }
    // Events that move no data are not requests: flushes, and SCSI commands with and without their
    // bytes.
    for line in
        ["FN [x]", "FWS 0 + 0 [x]", "R 36 (12 00 24) [x]", "R (12 00 24) [0]", "N 0 + 0 [x]"]
    {
        let text = format!("{good}\n8,0 1 2 0.6 9 D {line}\n");
        assert_eq!(read(text.as_bytes()).map(|all| all.len()), Ok(1), "{line}");
    }
}

#[test]
fn a_line_of_ftrace_is_read_to_its_end() {
    let start = "app-9 [001] d..1. 12.000005: block_rq_issue: 8,0";
    let good = format!("{start} W 4096 () 16 + 8 [x]");
    let ftrace = |line: &str| second_line("ftrace", &good, line);
    for (line, column, message) in [
        ("W 4096 () 16 + 1e9 [x]", 65, "found '1e9', expected a whole number of sectors"),
        ("W 4096 16 + 8 [x]", 57, "found '16', expected a command in parentheses, mostly ()"),
        ("W 4096 () x + 8 [x]", 60, "found 'x', expected a sector number"),
        (
            "W 4096 () 16 + 8",
            66,
            "found nothing, expected [process] after the sectors (the line is cut off)",
        ),
        (
            "ZAS 4096 () 16 + 8 [x]",
            50,
            "found 'ZAS', expected a request whose place is known: a zone append has none yet",
        ),
        ("W () 16 + 8 [x]", 52, "found '()', expected a whole number of bytes"),
    ] {
        let found = ftrace(&format!("{start} {line}"));
        assert_eq!(found, format!("memory:2:{column}: {message}{HINT}"), "{line}");
    }
    let found = ftrace("app-9 [001] d..1. 12: block_rq_issue: 8,0 W 4096 () 16 + 8 [x]");
    let expected = "memory:2:1: found 'app-9', expected TASK-PID [CPU] TIME: EVENT:";
    assert_eq!(found, format!("{expected}{HINT}"));
    // Zones are reset without data. The last line has the form of Linux 6.11.
    for line in ["ZR 0 () 16 + 8 [x]", "WS 8192 () 16 + 16 be,0,4 |32768| [kworker/0:1]"] {
        let text = format!("{good}\n{start} {line}\n");
        let requests = 1 + usize::from(line.starts_with('W'));
        assert_eq!(read(text.as_bytes()).map(|all| all.len()), Ok(requests), "{line}");
    }
    let text = format!("{good}\nCPU:0 [LOST 3 EVENTS]\n");
    let mut reader = reader(text.as_bytes(), &ReadOptions::default()).unwrap();
    while reader.next_block(&mut Vec::new()).unwrap() {}
    let note = "events block_rq_issue (action D) are read; 1 line said that events were lost";
    assert_eq!(reader.notes(), [note]);
}

#[test]
fn what_follows_gzip_data_is_called_by_its_name() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text = msr_lines(300);
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let message = |behind: &[u8]| read(&[&packed, behind].concat()).unwrap_err().to_string();
    let length = text.len();
    for (behind, quoted) in
        [(&b"garbage"[..], "'garbage'"), (b"\0\0x", "'\\x00\\x00x'"), (b"\x1fx", "'\\x1fx'")]
    {
        assert_eq!(
            message(behind),
            format!(
                "memory: the gzip data end after {length} bytes of content, and {quoted} behind them \
                 is no gzip; hint: fetch the file again, or unpack what there is and read that"
            )
        );
    }
    // If a second gzip file is cut off, even in its first two bytes, the error says that.
    assert!(
        message(&packed[..100]).contains("the gzip data are cut off"),
        "{}",
        message(&packed[..100])
    );
    assert!(
        message(&packed[..1]).contains("the gzip data are cut off"),
        "{}",
        message(&packed[..1])
    );
}

#[test]
fn a_table_with_other_separators_is_msr_and_its_faults_are_placed() {
    let first = "1;web;0;Write;0;4096;1";
    let msr = |line: &str| second_line("msr", first, line);
    let offset = "expected an offset, a whole number of bytes";
    assert_eq!(msr("1;web;0;Write;x;4096;1"), format!("memory:2:15: found 'x', {offset}{HINT}"));
    assert_eq!(
        msr("1\tweb\t0\tWrite\tx\t4096\t1"),
        format!("memory:2:15: found 'x', {offset}{HINT}")
    );
    let quoted = "\"1\", \"web\", \"0\", \"Write\", \"x\", \"4096\", \"1\"";
    // The `x` is the 28th byte of the line.
    assert_eq!(msr(quoted), format!("memory:2:28: found 'x\"', {offset}{HINT}"));
    assert!(msr("1;web;0").starts_with("memory:2:1: found 3 columns, expected 7 (timestamp,"));
}

#[test]
fn faults_of_binary_block_traces_name_the_record() {
    let file = |wanted: &str, name: &str| {
        let found = corpus().into_iter().find(|(format, file, _)| format == wanted && file == name);
        found.unwrap().2
    };
    let skip = ReadOptions { on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
    let skipped = |bytes: &[u8]| {
        let mut reader = reader(bytes, &skip).unwrap();
        let (mut count, mut block) = (0, Vec::new());
        while reader.next_block(&mut block).unwrap() {
            count += block.len();
        }
        (count, reader.skipped())
    };
    let rest = "hint: fetch the file again, or on_bad_line=\"skip\" leaves the rest out";
    let (trace, srt) = (file("blktrace", "example"), file("srt", "no_header"));
    // The first record is a message of 48 + 8 bytes, the second a queued request.
    let mut other = trace.clone();
    other[56] = 8;
    assert_eq!(
        read(&other).unwrap_err().to_string(),
        "memory: record 2 (byte 56): found a record of version 8, expected version 7; hint: print it \
         with the blkparse that belongs to it, and read the text"
    );
    assert_eq!(skipped(&other), (0, 1));
    other[59] = 0;
    let magic = "found 0x00617408, expected the magic 0x65617407 of a record";
    assert_eq!(
        read(&other).unwrap_err().to_string(),
        format!("memory: record 2 (byte 56): {magic}; {rest}")
    );
    let cut = "found 47 bytes, expected a blktrace record of 48 bytes: the file is cut off";
    let records = trace.len() - 48;
    let text = read(&trace[..trace.len() - 1]).unwrap_err().to_string();
    assert!(text.ends_with(&format!("(byte {records}): {cut}; {rest}")), "{text}");
    assert_eq!(skipped(&trace[..trace.len() - 1]).1, 1);
    // Sector 2^55 begins at byte 2^64.
    let mut far = trace.clone();
    far[56 + 48 + 16..56 + 48 + 24].copy_from_slice(&(1u64 << 55).to_le_bytes());
    assert_eq!(
        read(&far).unwrap_err().to_string(),
        "memory: record 3 (byte 104): found 36028797018963968 at byte 16 of the record, expected an \
         offset below 2^63 bytes; hint: on_bad_line=\"skip\" counts and skips such records"
    );
    assert_eq!(skipped(&far).1, 1);

    // The header has 18 bytes, so records begin at byte 18.
    let header = b"tracedate\t= \"x\";\n\x0c";
    for (byte, value, message) in [
        (5, 5, "found a record of version 5, expected version 1 to 4"),
        (7, 2, "found a record of type 2, expected type 1 (I/O) or 4 (suspect I/O)"),
        (
            3,
            51,
            "found a length of 51 bytes, expected 52, 4 more in version 4, 4 more for a suspect I/O",
        ),
    ] {
        let mut other = srt.clone();
        other[byte] = value;
        let text = read(&[header, &other[..]].concat()).unwrap_err().to_string();
        assert!(text.starts_with(&format!("memory: record 1 (byte 18): {message}")), "{text}");
    }
    let mut late = srt.clone();
    late[12..16].copy_from_slice(&1_000_000u32.to_be_bytes());
    let text = read(&late).unwrap_err().to_string();
    let expected =
        "found 1000000 at byte 12 of the record, expected less than 1000000 microseconds";
    assert!(text.starts_with(&format!("memory: record 1 (byte 0): {expected}")), "{text}");
    assert_eq!(skipped(&late).1, 1);
}

#[test]
fn files_of_one_cpu_say_so() {
    let trace = corpus().into_iter().find(|(format, ..)| format == "blktrace").unwrap().2;
    let note = |bytes: &[u8]| {
        let mut reader = reader(bytes, &ReadOptions::default()).unwrap();
        while reader.next_block(&mut Vec::new()).unwrap() {}
        reader.notes()
    };
    assert_eq!(note(&trace), ["events with action D are read"]);
    // In the big-endian file, the CPU is the last of four bytes. This sets all events to CPU 0.
    let mut at = 0;
    let mut one = trace;
    while at < one.len() {
        one[at + 43] = 0;
        at += 48 + usize::from(u16::from_be_bytes([one[at + 46], one[at + 47]]));
    }
    let merge =
        "all are of CPU 0: if blktrace wrote files of other CPUs too, merge them with blkparse -d";
    assert_eq!(note(&one), [format!("events with action D are read; {merge}")]);
}

#[test]
fn chosen_devices_without_requests_are_named() {
    let options = ReadOptions { devices: vec![9, 0, 7], ..ReadOptions::default() };
    let mut reader = reader(msr_lines(3).as_bytes(), &options).unwrap();
    let mut block = Vec::new();
    assert!(reader.next_block(&mut block).unwrap() && block.len() == 3);
    assert_eq!(reader.notes(), ["no requests of device 7, 9"]);
}

#[test]
fn devices_are_numbers_or_major_and_minor() {
    assert_eq!(parse_devices("0, 3"), Ok(vec![0, 3]));
    assert_eq!(parse_devices("8:1"), Ok(vec![8 << 20 | 1]));
    for text in ["", "x", "-1", "4294967296", "0,,1", "4096:0", "8:1048576", "8:x"] {
        let error = parse_devices(text).unwrap_err();
        assert!(error.message.contains("expected a device number"), "{error}");
    }
    assert_eq!(parse_devices("8:0,8388608").unwrap_err().message, "device 8388608 is there twice");
}

#[test]
fn relations_of_a_database_are_where_the_table_has_them() {
    let log = "rmgr: Heap len: 1, tx: 1, desc: UPDATE off 1, blkref #0: rel 1663/5/9 blk 1, blkref #1: \
               rel 1663/5/9 fork vm blk 0\n";
    let open = |text: &str, on_bad_line| {
        let relations = Some(table(text));
        let options = ReadOptions { relations, on_bad_line, ..ReadOptions::default() };
        reader(log.as_bytes(), &options).unwrap()
    };
    // Block 1 is bytes 8192 to 16383: 4096 bytes of the first extent and 4096 bytes of the second.
    let text = "1663/5/9 main 0 -> 1048576+12288 4096+8192\n1663/5/9 vm 0 -> 65536+8192\n";
    let made: Vec<_> = open(text, OnBadLine::Stop)
        .requests()
        .map(|request| request.map(|r| (r.offset, r.size, r.device)).unwrap())
        .collect();
    assert_eq!(made, [(1_056_768, 4096, 0), (4096, 4096, 0), (65536, 8192, 0)]);
    let text = "1663/5/9 main 0 -> 1048576+12288\n";
    let error = open(text, OnBadLine::Stop).requests().last().unwrap().unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "memory:1:75: found '1,', expected a block of a relation that the table of relations has{HINT}"
        )
    );
    let mut reader = open(text, OnBadLine::Skip);
    assert!(!reader.next_block(&mut Vec::new()).unwrap());
    assert_eq!(reader.skipped(), 1);
}

#[test]
fn times_of_commits_that_are_none_are_named() {
    let start = "rmgr: Transaction len (rec/tot): 34/34, tx: 1, lsn: 0/1, prev 0/0, desc: ";
    let first = format!("{start}COMMIT 2022-12-01 10:00:02 CET");
    let log = |rest: &str| second_line("pg-waldump", &first, &format!("{start}{rest}"));
    let column = start.len() + "COMMIT ".len() + 1;
    let time = "expected the time of the commit, YYYY-MM-DD HH:MM:SS.UUUUUU ZONE";
    for wrong in ["soon", "2022-12-32 10:00:00 CET", "2022-12-01 10:00"] {
        let found = log(&format!("COMMIT {wrong}"));
        let word = wrong.split(' ').next().unwrap();
        assert_eq!(found, format!("memory:2:{column}: found '{word}', {time}{HINT}"), "{wrong}");
    }
    let back = log("ABORT 2022-12-01 10:00:00.999999 CET");
    let column = column - 1;
    let expected = "found '2022-12-01', expected a commit at most 1 s before those above it";
    assert_eq!(back, format!("memory:2:{column}: {expected}{HINT}"));
    let zone = log("ABORT 2022-12-01 10:00:02 CEST; more");
    let column = column + "2022-12-01 10:00:02 ".len();
    let expected = "the time zone of the first commit (TZ=UTC pg_waldump ... keeps one)";
    assert_eq!(zone, format!("memory:2:{column}: found 'CEST;', expected {expected}{HINT}"));
    // Without a commit, every time is 0, and a note says so.
    let mut reader =
        reader(b"rmgr: Heap desc: X, blkref #0: rel 1/2/3 blk 4\n", &ReadOptions::default())
            .unwrap();
    while reader.next_block(&mut Vec::new()).unwrap() {}
    assert!(reader.notes()[0].ends_with("there is no commit or abort, and all times are 0"));
}

/// The memory for a compressed file is limited, whatever its header requests.
#[test]
fn a_window_without_measure_is_refused() {
    let said = |data: Vec<u8>| {
        let stream = Box::new(std::io::Cursor::new(data));
        match TraceReader::from_stream("memory", stream, &ReadOptions::default()) {
            Ok(reader) => reader.requests().last().unwrap().err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    };
    let lines = msr_lines(3);
    // Makes a frame with a window of 2^(10 + `exponent`) bytes and one raw block.
    let zstd = |exponent: u8| {
        let block = (lines.len() as u32) << 3 | 1;
        let head = [0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
        [&head[..], &block.to_le_bytes()[..3], lines.as_bytes()].concat()
    };
    assert_eq!(said(zstd(17)), None);
    let refused = said(zstd(18)).unwrap();
    assert!(refused.contains("the zstd data are damaged"), "{refused}");
    assert!(refused.contains("hint:") && !refused.contains('\n'), "{refused}");
    // The size of the dictionary is in the header of the first block, after the header of the
    // stream.
    let xz = |dictionary: u8| {
        let mut data = Vec::new();
        let mut encoder = liblzma::write::XzEncoder::new(&mut data, 0);
        std::io::Write::write_all(&mut encoder, lines.as_bytes()).unwrap();
        encoder.finish().unwrap();
        let end = 12 + usize::from(data[12]) * 4;
        assert_eq!(data[14..16], [0x21, 1], "LZMA2 with one byte of options");
        data[16] = dictionary;
        let mut sum = flate2::Crc::new();
        sum.update(&data[12..end]);
        data[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
        data
    };
    assert_eq!(said(xz(30)), None, "2^27 bytes");
    let refused = said(xz(32)).unwrap();
    assert!(refused.contains("xz data are damaged"), "{refused}");
    assert!(refused.contains("hint:") && !refused.contains('\n'), "{refused}");
}
