//! The normalised CSV format, in which the project writes traces and compares other traces with
//! them. This file reads lines; `write` writes them.

use flashgc_base::spec::count;

use super::columns::{Columns, Plan};
use super::{Format, Sample, check};
use crate::Op;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};
use crate::trace::request::{self, CSV_COLUMNS, CSV_DETECTION, FIELDS, Fields, Request};

/// The columns of every file. The columns of optional fields follow.
const COLUMNS: &[&str] = &["time_us", "op", "offset_bytes", "size_bytes", "dev"];

/// Returns the first line of a file.
pub(crate) fn header(fields: Fields) -> String {
    let names: Vec<&str> = COLUMNS.iter().chain(fields.columns()).copied().collect();
    names.join(",")
}

/// Returns the fields of a file with this first line; `None` if the line is not a header.
fn declared(line: &[u8]) -> Option<Fields> {
    let mut rest = line.strip_prefix(header(Fields::NONE).as_bytes())?;
    let mut fields = Fields::NONE;
    for field in FIELDS {
        let behind = field
            .columns
            .iter()
            .try_fold(rest, |rest, name| rest.strip_prefix(b",")?.strip_prefix(name.as_bytes()));
        if let Some(behind) = behind {
            (rest, fields) = (behind, fields.with(field.set));
        }
    }
    rest.is_empty().then_some(fields)
}

pub(super) static FORMAT: Format = Format {
    name: "csv",
    summary: "normalised CSV, which `trace convert` writes",
    columns: CSV_COLUMNS,
    example: "12816640000000.125,W,8192000,24576,0",
    detection: CSV_DETECTION,
    traps: "programs that rewrite the file through floating point lose the last digits of large \
            times",
    single_device: false,
    references: false,
    sniff: |sample| {
        let header = sample
            .lines
            .first()
            .is_some_and(|line| declared(line).is_some() || Plan::of_names(line).is_some());
        if header { super::MARKED } else { 0 }
    },
    open: |input, options| {
        let sample = Sample::new(input.sample(), input.sample_is_all());
        let first = sample.lines.first().copied().unwrap_or_default();
        match (declared(first), Plan::of_names(first)) {
            (None, Some(plan)) => super::open_text(Columns::new(plan), input, options),
            (fields, _) => {
                let fields = fields.unwrap_or_default();
                super::open_text(Csv { fields, ..Csv::default() }, input, options)
            }
        }
    },
};

/// A parser of lines with optional fields after the basic columns. It counts requests that are
/// probably mistakes of another program.
#[derive(Default)]
struct Csv {
    fields: Fields,
    /// The number of requests of 0 bytes.
    empty: u64,
    /// The number of requests that begin before byte 0.
    negative: u64,
    flush: Option<Request>,
}

impl TextFormat for Csv {
    const COLUMNS: &'static [&'static str] = COLUMNS;
    const COMMA: bool = true;

    fn fields(&self) -> Fields {
        self.fields
    }

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let time_ns = at.time(MICROSECONDS, "a time in microseconds")?;
        at.comma("a comma after the time")?;
        let op = match at.peek() {
            Some(b'R') => Op::Read,
            Some(b'W') => Op::Write,
            Some(b'D') => Op::Trim,
            Some(b'M') => Op::Dirty,
            Some(b'C') => Op::Clean,
            Some(b'F') => Op::Flush,
            _ => return at.bad(at.at, "R, W, D, M, C or F"),
        };
        at.at += 1;
        at.comma("a comma after the operation (R, W, D, M, C or F)")?;
        let offset_at = at.at;
        let offset = at.signed("an offset, a whole number of bytes below 2^63")?;
        at.comma("a comma after the offset")?;
        let size_at = at.at;
        let size = at.integer("a size, a whole number of bytes")?;
        at.comma("a comma after the size")?;
        let device = at.small("a device number below 2^32")?;
        let mut request = Request { time_ns, offset, size, device, op, ..Request::default() };
        let mut places = [0; request::COUNT];
        if self.fields != Fields::NONE {
            for (field, place) in FIELDS.iter().zip(&mut places) {
                if self.fields.has(field.set) {
                    *place = (field.read)(&mut at, &mut request)?;
                }
            }
        }
        at.end("the end of the line after the last column")?;
        if op == Op::Flush {
            if offset != 0 {
                return at.bad(offset_at, "offset 0, as a flush has no place");
            }
            if size > 0 {
                return at.bad(size_at, "0 bytes, as a flush has no data");
            }
            for (field, place) in FIELDS.iter().zip(places) {
                if let Some(expected) = field.wrong_for_flush(&request) {
                    return at.bad(place, expected);
                }
            }
            self.flush = Some(request);
            return Ok(None);
        }
        check(time_ns, op, device, offset, size, size_at)?;
        self.empty += u64::from(size == 0);
        self.negative += u64::from(offset < 0);
        Ok(Some(request))
    }

    fn flush(&mut self) -> Option<Request> {
        self.flush.take()
    }

    fn note(&self) -> Option<String> {
        let counts = [(self.empty, "of 0 bytes"), (self.negative, "before byte 0")];
        let parts: Vec<String> = counts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number, "request")))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
