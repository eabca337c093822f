//! What is said about traces that cannot be used: one line, with the place and what to try.

mod trace_common;

use std::fs;
use std::io::Read;

use flashgc_workload::trace::format::{FORMATS, find};
use flashgc_workload::trace::{
    Fault, NativeFile, NativeWriter, OnBadLine, PagingOptions, ReadOptions, SourceOptions,
    StatBuilder, TraceError, TraceReader, TraceSource, TraceStat,
};
use trace_common::{corpus, read, reader};

const HINT: &str = "; hint: --on-bad-line skip counts and skips such lines";

fn msr_lines(count: usize) -> String {
    (0..count).map(|i| format!("{},web,0,Write,{},4096,1\n", 1000 + i, i * 4096)).collect()
}

fn error(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

/// The error of a trace whose second line is bad.
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
    // 2^63.
    assert_eq!(
        msr("1,web,0,Write,9223372036854775808,4096,1"),
        format!(
            "memory:2:15: found '9223372036854775808', expected an offset below 2^63 bytes{HINT}"
        )
    );
    // 2^63 - 1 + 1.
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
    // Nothing but the bad line: the error is about the line, not about the format.
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
    // 2^62 bytes are page 2^50 of 4 KiB.
    let text =
        "time_us,op,offset_bytes,size_bytes,dev\n0,W,0,4096,0\n1,W,4611686018427387904,512,0\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, text).unwrap();
    let expected = "request 2: page 1125899906842624 is beyond the 2^43 pages of a device that can \
                    be mapped; hint: check that its offset is in bytes and the format is right, or \
                    use larger pages";
    let error = TraceSource::load(&path, SourceOptions::default()).unwrap_err().to_string();
    assert_eq!(error, format!("{}: {expected}", path.display()));
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
             --format: {names}"
        )
    );
}

#[test]
fn a_file_that_fits_two_formats_is_an_error_that_lists_them() {
    // Whole pages in 512-B sectors or in 4-KiB pages? Nobody can tell.
    let text = "26.214000\t0\t303574\t8\t0\n78.643000\t0\t55596\t16\t1\n";
    assert_eq!(
        error(text),
        "memory: several formats fit: disksim, flashsim; hint: choose one, for example --format \
         disksim"
    );
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
    assert!(open(&zip).contains("found a zip file, expected plain, gzip, zstd, bzip2 or xz"));
}

#[test]
fn a_torn_last_record_is_named() {
    let vscsi = corpus().into_iter().find(|(format, ..)| format == "vscsi1").unwrap().2;
    let torn = &vscsi[..vscsi.len() - 5];
    // Ten records of 32 bytes, the last one torn.
    assert_eq!(
        read(torn).unwrap_err().to_string(),
        "memory: record 10 (byte 288): found 27 bytes, expected a vscsi1 record of 32 bytes: the \
         file is cut off; hint: fetch the file again, or --on-bad-line skip leaves the rest out"
    );
    let options = ReadOptions { on_bad_line: OnBadLine::Skip, ..ReadOptions::default() };
    let mut reader = reader(torn, &options).unwrap();
    let mut block = Vec::new();
    while reader.next_block(&mut block).unwrap() {}
    assert_eq!((reader.skipped(), reader.ignored()), (1, 1));
}

/// A stream of `x` without a line end, which counts what is taken from it.
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
    // 1 GB in one line; the buffers are some 256 KiB.
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
    let mut writer = NativeWriter::new(Vec::new()).unwrap();
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
    // No single flipped bit goes unnoticed.
    for bit in (0..bytes.len() * 8).step_by(997) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.flashgc");
    fs::write(&path, &flipped).unwrap();
    let mut file = NativeFile::open(&path).unwrap();
    let mut out = Vec::new();
    file.read_from(4095, &mut out).unwrap();
    assert_eq!(out, requests[4095..4096]);
    let error = file.read_from(4096, &mut out).unwrap_err().to_string();
    assert!(error.contains(&place) && out.is_empty(), "{error}");
    file.read_from(9999, &mut out).unwrap();
    assert_eq!(out, requests[9999..]);
}

#[test]
fn an_action_is_for_blkparse_only() {
    let options = ReadOptions { blkparse_action: Some('Q'), ..ReadOptions::default() };
    let text = reader(msr_lines(3).as_bytes(), &options).unwrap_err().to_string();
    assert!(text.contains("only applies to blkparse output, found format msr"), "{text}");
}
