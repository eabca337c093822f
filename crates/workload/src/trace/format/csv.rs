//! The normalised CSV that the project writes and other traces are compared in. Reads lines;
//! writing is in `write`.

use flashgc_base::spec::count;

use super::{Format, check};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};

/// The first line of every file.
pub(crate) const HEADER: &str = "time_us,op,offset_bytes,size_bytes,dev";

pub(super) static FORMAT: Format = Format {
    name: "csv",
    summary: "normalised CSV, which `trace convert` writes",
    columns: "time (us, three decimals: exact to the nanosecond), R or W or D (discard) or M \
              (modified in the host's cache, to be written) or C (clean again, M is taken back) or F \
              (flush, of 0 bytes at 0), offset (bytes), size (bytes), device",
    example: "12816640000000.125,W,8192000,24576,0",
    detection: "the first line time_us,op,offset_bytes,size_bytes,dev",
    traps: "programs that rewrite the file through floating point lose the last digits of large \
            times",
    single_device: false,
    references: false,
    sniff: |sample| {
        let header = sample.lines.first().is_some_and(|line| *line == HEADER.as_bytes());
        if header { super::MARKED } else { 0 }
    },
    open: |input, options| super::open_text(Csv::default(), input, options),
};

/// Counts what other programs mostly do not mean.
#[derive(Default)]
struct Csv {
    /// Requests of no bytes.
    empty: u64,
    /// Requests before byte 0.
    negative: u64,
    flush: Option<Request>,
}

impl TextFormat for Csv {
    const COLUMNS: &'static [&'static str] =
        &["time_us", "op", "offset_bytes", "size_bytes", "dev"];
    const COMMA: bool = true;

    #[inline]
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
        at.end("the end of the line after the device")?;
        if op == Op::Flush {
            if offset != 0 {
                return at.bad(offset_at, "offset 0, as a flush has no place");
            }
            if size > 0 {
                return at.bad(size_at, "0 bytes, as a flush has no data");
            }
            self.flush = Some(Request::flush(time_ns, device));
            return Ok(None);
        }
        let request = check(time_ns, op, device, offset, size, size_at)?;
        self.empty += u64::from(size == 0);
        self.negative += u64::from(offset < 0);
        Ok(request)
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
