//! fio I/O logs (`write_iolog`), versions 1, 2 and 3. Reads lines; knows nothing of files.

use std::collections::HashMap;

use super::{Format, Sample, request, scaled};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT_V1: Format = Format {
    name: "fio1",
    summary: "fio iolog version 1",
    columns: "0 read or 1 write or 2 trim, offset (bytes), length (bytes)",
    example: "1, 4096, 4096",
    detection: "3 comma-separated whole numbers, the first 0, 1 or 2",
    traps: "there are no times: all are 0",
    single_device: true,
    references: false,
    sniff: |sample| super::sniff_text(V1, sample),
    open: |input, options| super::open_text(V1, input, options),
};

pub(super) static FORMAT_V2: Format = Format {
    name: "fio2",
    summary: "fio iolog version 2",
    columns: "file, action (add, open, close; wait with ms; read, write, trim, sync, datasync \
              with offset and length in bytes)",
    example: "/dev/sdb write 8192 4096",
    detection: "the first line `fio version 2 iolog`",
    traps: "the number of a wait is the milliseconds from the start of the log to its end, as fio replays it \
            (read_iolog_get in its iolog.c), and a wait for a time that has passed ends at once. \
            Devices number the files in order of appearance",
    single_device: false,
    references: false,
    sniff: |sample| sniff(b"fio version 2 iolog", sample),
    open: |input, options| super::open_text(Iolog::<2>::default(), input, options),
};

pub(super) static FORMAT_V3: Format = Format {
    name: "fio3",
    summary: "fio iolog version 3 (fio 3.31 and later)",
    columns: "time (us), file, action, offset (bytes), length (bytes)",
    example: "15 /dev/sdb read 0 4096",
    detection: "the first line `fio version 3 iolog`",
    traps: "there is no wait action; times are since the start of the log. Devices number the \
            files in order of appearance",
    single_device: false,
    references: false,
    sniff: |sample| sniff(b"fio version 3 iolog", sample),
    open: |input, options| super::open_text(Iolog::<3>::default(), input, options),
};

/// Returns `true` for the first line of a log of version `VERSION`.
fn is_first<const VERSION: u8>(line: &[u8]) -> bool {
    let words = line.trim_ascii().strip_prefix(b"fio version ");
    words.and_then(|words| words.strip_suffix(b" iolog")) == Some(&[b'0' + VERSION])
}

fn sniff(header: &[u8], sample: &Sample) -> usize {
    let first = sample.lines.first().copied().unwrap_or_default();
    if first.trim_ascii() == header { super::MARKED } else { 0 }
}

struct V1;

impl TextFormat for V1 {
    const COLUMNS: &'static [&'static str] = &["rw", "offset", "length"];
    const COMMA: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let bad = BadField::new(at.at, "0 (read), 1 (write) or 2 (trim)");
        let op = match at.csv_field() {
            b"0" => Op::Read,
            b"1" => Op::Write,
            b"2" => Op::Trim,
            _ => return Err(bad),
        };
        at.comma("a comma after the operation")?;
        at.skip_blanks();
        let offset = scaled(&mut at, 1, "an offset, a whole number of bytes")?;
        at.comma("a comma after the offset")?;
        at.skip_blanks();
        let size = scaled(&mut at, 1, "a length, a whole number of bytes")?;
        at.end("the end of the line after the length")?;
        request(0, op, 0, offset, size)
    }
}

/// The parser of versions 2 and 3.
#[derive(Default)]
struct Iolog<const VERSION: u8> {
    files: HashMap<Vec<u8>, u32>,
    /// The time at which the last wait ended, in microseconds (version 2).
    waited_us: u64,
}

impl<const VERSION: u8> Iolog<VERSION> {
    fn file(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.files.get(name) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.insert(name.to_owned(), number);
        number
    }
}

impl<const VERSION: u8> TextFormat for Iolog<VERSION> {
    const COLUMNS: &'static [&'static str] =
        if VERSION == 2 { &["file", "action"] } else { &["time", "file", "action"] };
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        // Every job of `numjobs` begins its own log in the same file.
        if line.starts_with(b"fio version ") && is_first::<VERSION>(line) {
            return Ok(None);
        }
        at.skip_blanks();
        let start = at.at;
        let mut time_us = self.waited_us;
        if VERSION == 3 {
            time_us = at.integer("a time, a whole number of microseconds")?;
            at.blank("a blank after the time")?;
        }
        let name = at.word();
        at.blank("a blank after the file name")?;
        let action_at = at.at;
        let op = match at.word() {
            b"add" | b"open" | b"close" => {
                self.file(name);
                return Ok(None);
            }
            b"sync" | b"datasync" => return Ok(None),
            b"wait" if VERSION == 2 => None,
            b"read" => Some(Op::Read),
            b"write" => Some(Op::Write),
            b"trim" => Some(Op::Trim),
            _ => {
                return at
                    .bad(action_at, "add, open, close, wait, read, write, trim, sync or datasync");
            }
        };
        at.blank("an offset and a length after the action")?;
        let offset = scaled(&mut at, 1, "an offset, a whole number of bytes")?;
        let Some(op) = op else {
            let bad = BadField::new(offset.at, "a wait until less than 2^64 us");
            self.waited_us = self.waited_us.max(offset.value.checked_mul(1000).ok_or(bad)?);
            return Ok(None);
        };
        at.blank("a length after the offset")?;
        let size = scaled(&mut at, 1, "a length, a whole number of bytes")?;
        at.end("the end of the line after the length")?;
        let time_ns = time_us
            .checked_mul(1000)
            .ok_or(BadField::new(start, "a time below 2^64 nanoseconds"))?;
        let device = self.file(name);
        request(time_ns, op, device, offset, size)
    }
}
