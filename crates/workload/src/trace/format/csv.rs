//! The normalised CSV, which the project writes and compares other traces in. Reads lines; writing is in
//! `write`.

use flashgc_base::spec::count;
use flashgc_base::stream::{NO_STREAM, StreamId};

use super::native::Declared;
use super::{Format, Sample, check};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};

/// The first line of a file, and what follows if the times until the answers are known, and if requests have
/// streams.
const HEADER: &str = "time_us,op,offset_bytes,size_bytes,dev";
const ANSWER: &str = ",answer_us";
const STREAM: &str = ",stream";

/// Returns the first line of a file.
pub(crate) fn header(declared: Declared) -> String {
    let answer = if declared.answers { ANSWER } else { "" };
    let stream = if declared.streams { STREAM } else { "" };
    format!("{HEADER}{answer}{stream}")
}

/// Returns the columns that this header declares, and `None` if the line is no header.
fn declared(line: &[u8]) -> Option<Declared> {
    let rest = line.strip_prefix(HEADER.as_bytes())?;
    let after = rest.strip_prefix(ANSWER.as_bytes());
    let (answers, rest) = (after.is_some(), after.unwrap_or(rest));
    let streams = rest == STREAM.as_bytes();
    (streams || rest.is_empty()).then_some(Declared { address_space: None, streams, answers })
}

/// Linux's write life time hints with the streams that the NVMe driver made of them: the number of the
/// hint less one. It left stream 0 to writes without a hint.
const HINTS: [(&[u8], StreamId); 6] = [
    (b"none", NO_STREAM),
    (b"not-set", NO_STREAM),
    (b"short", 1),
    (b"medium", 2),
    (b"long", 3),
    (b"extreme", 4),
];

pub(super) static FORMAT: Format = Format {
    name: "csv",
    summary: "normalised CSV, which `trace convert` writes",
    columns: "time (us, three decimals: exact to the nanosecond), R or W or D (discard) or M \
              (modified in the host's cache, to be written) or C (clean again, M is taken back) or F \
              (flush, of 0 bytes at 0), offset (bytes), size (bytes), device; perhaps stream (0 to 254; \
              nothing, none or not-set: no stream; short, medium, long, extreme: 1 to 4, as Linux's \
              write life time hints); before it perhaps the time until the answer (us; nothing: not known)",
    example: "12816640000000.125,W,8192000,24576,0",
    detection: "the first line time_us,op,offset_bytes,size_bytes,dev, perhaps with \
                ,answer_us and ,stream",
    traps: "programs that rewrite the file through floating point lose the last digits of large \
            times",
    single_device: false,
    references: false,
    sniff: |sample| {
        let header = sample.lines.first().is_some_and(|line| declared(line).is_some());
        if header { super::MARKED } else { 0 }
    },
    open: |input, options| {
        let sample = Sample::new(input.sample(), input.sample_is_all());
        let found = sample.lines.first().and_then(|line| declared(line)).unwrap_or_default();
        match (found.answers, found.streams) {
            (false, false) => super::open_text(Csv::<false, false>::default(), input, options),
            (false, true) => super::open_text(Csv::<false, true>::default(), input, options),
            (true, false) => super::open_text(Csv::<true, false>::default(), input, options),
            (true, true) => super::open_text(Csv::<true, true>::default(), input, options),
        }
    },
};

/// A reader of lines with or without the time until the answer, and a stream. It counts requests that other programs rarely
/// mean.
#[derive(Default)]
struct Csv<const ANSWERS: bool, const STREAMS: bool> {
    /// The number of requests without bytes.
    empty: u64,
    /// The number of requests before byte 0.
    negative: u64,
    flush: Option<Request>,
}

impl<const ANSWERS: bool, const STREAMS: bool> TextFormat for Csv<ANSWERS, STREAMS> {
    const COLUMNS: &'static [&'static str] = match (ANSWERS, STREAMS) {
        (false, false) => &["time_us", "op", "offset_bytes", "size_bytes", "dev"],
        (false, true) => &["time_us", "op", "offset_bytes", "size_bytes", "dev", "stream"],
        (true, false) => &["time_us", "op", "offset_bytes", "size_bytes", "dev", "answer_us"],
        (true, true) => {
            &["time_us", "op", "offset_bytes", "size_bytes", "dev", "answer_us", "stream"]
        }
    };
    const HAS_ANSWERS: bool = ANSWERS;
    const HAS_STREAMS: bool = STREAMS;
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
        let mut took_ns = Request::UNANSWERED;
        if ANSWERS {
            at.comma("a comma after the device")?;
            if !matches!(at.peek(), None | Some(b',')) {
                took_ns =
                    at.time(MICROSECONDS, "a time in microseconds until the answer, or nothing")?;
            }
        }
        let mut stream = NO_STREAM;
        let mut stream_at = at.at;
        if STREAMS {
            at.comma("a comma before the stream")?;
            stream_at = at.at;
            stream = stream_of(&mut at)?;
        }
        at.end("the end of the line after the last column")?;
        if op == Op::Flush {
            if offset != 0 {
                return at.bad(offset_at, "offset 0, as a flush has no place");
            }
            if size > 0 {
                return at.bad(size_at, "0 bytes, as a flush has no data");
            }
            if stream != NO_STREAM {
                return at.bad(stream_at, "no stream, because a flush concerns the whole drive");
            }
            self.flush = Some(Request { took_ns, ..Request::flush(time_ns, device) });
            return Ok(None);
        }
        let request = check(time_ns, op, device, offset, size, size_at)?;
        self.empty += u64::from(size == 0);
        self.negative += u64::from(offset < 0);
        Ok(request.map(|request| Request { stream, took_ns, ..request }))
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

/// Reads the stream in the field at `at`.
#[inline]
fn stream_of(at: &mut Cursor<'_>) -> Result<StreamId, BadField> {
    let start = at.at;
    let field = at.csv_field();
    if field.is_empty() {
        return Ok(NO_STREAM);
    }
    if let Some((_, stream)) = HINTS.iter().find(|(name, _)| *name == field) {
        return Ok(*stream);
    }
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    let is_plain = field.iter().all(u8::is_ascii_digit);
    number.filter(|&stream| is_plain && stream != NO_STREAM).ok_or(BadField::new(
        start,
        "a stream from 0 to 254, nothing, or a write life time hint (none, not-set, short, medium, long \
         or extreme)",
    ))
}
