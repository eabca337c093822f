//! The normalised CSV, which the project writes and compares other traces in. Reads lines; writing is in
//! `write`.

use flashgc_base::spec::count;
use flashgc_base::stream::{NO_STREAM, StreamId};

use super::columns::{Columns, Plan};
use super::native::Declared;
use super::{Format, ReadOptions, Sample, check};
use crate::Op;
use crate::trace::error::TraceError;
use crate::trace::input::Input;
use crate::trace::lines::{Decoder, TextFormat};
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};
use crate::trace::{Asker, Request};

/// The first line of a file, and what follows if the times until the answers are known, if hosts are, and if
/// requests have streams.
const HEADER: &str = "time_us,op,offset_bytes,size_bytes,dev";
const ANSWER: &str = ",answer_us";
const HOST: &str = ",queue,host";
const STREAM: &str = ",stream";

/// Returns the first line of a file.
pub(crate) fn header(declared: Declared) -> String {
    let answer = if declared.answers { ANSWER } else { "" };
    let host = if declared.hosts { HOST } else { "" };
    let stream = if declared.streams { STREAM } else { "" };
    format!("{HEADER}{answer}{host}{stream}")
}

/// Returns the columns that this header declares, and `None` if the line is no header.
fn declared(line: &[u8]) -> Option<Declared> {
    let rest = line.strip_prefix(HEADER.as_bytes())?;
    let after = rest.strip_prefix(ANSWER.as_bytes());
    let (answers, rest) = (after.is_some(), after.unwrap_or(rest));
    let after = rest.strip_prefix(HOST.as_bytes());
    let (hosts, rest) = (after.is_some(), after.unwrap_or(rest));
    let streams = rest == STREAM.as_bytes();
    let found = Declared { address_space: None, streams, answers, hosts };
    (streams || rest.is_empty()).then_some(found)
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
              write life time hints); before it perhaps the time until the answer (us; nothing: not known), and perhaps the \
              number of the queue (0 to 252) and that of the host (0 to 255; 0: not known)",
    example: "12816640000000.125,W,8192000,24576,0",
    detection: "the first line time_us,op,offset_bytes,size_bytes,dev, perhaps with \
                ,answer_us, ,queue,host and ,stream",
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
        if let (None, Some(plan)) = (declared(first), Plan::of_names(first)) {
            return super::open_text(Columns::new(plan), input, options);
        }
        let found = declared(first).unwrap_or_default();
        match found.hosts {
            false => with_hosts::<false>(found, input, options),
            true => with_hosts::<true>(found, input, options),
        }
    },
};

/// Opens a file with the columns that it declares.
fn with_hosts<const HOSTS: bool>(
    found: Declared,
    input: Input,
    options: &ReadOptions,
) -> Result<Box<dyn Decoder>, TraceError> {
    match (found.answers, found.streams) {
        (false, false) => super::open_text(Csv::<false, HOSTS, false>::default(), input, options),
        (false, true) => super::open_text(Csv::<false, HOSTS, true>::default(), input, options),
        (true, false) => super::open_text(Csv::<true, HOSTS, false>::default(), input, options),
        (true, true) => super::open_text(Csv::<true, HOSTS, true>::default(), input, options),
    }
}

/// Returns the names of all columns, and how many a file with these has.
const fn columns(answers: bool, hosts: bool, streams: bool) -> ([&'static str; 9], usize) {
    let mut names = ["time_us", "op", "offset_bytes", "size_bytes", "dev", "", "", "", ""];
    let mut count = 5;
    if answers {
        names[count] = "answer_us";
        count += 1;
    }
    if hosts {
        names[count] = "queue";
        names[count + 1] = "host";
        count += 2;
    }
    if streams {
        names[count] = "stream";
        count += 1;
    }
    (names, count)
}

/// A reader of lines with or without the time until the answer, a queue and a host, and a stream. It counts
/// requests that other programs rarely mean.
#[derive(Default)]
struct Csv<const ANSWERS: bool, const HOSTS: bool, const STREAMS: bool> {
    /// The number of requests without bytes.
    empty: u64,
    /// The number of requests before byte 0.
    negative: u64,
    flush: Option<Request>,
}

impl<const ANSWERS: bool, const HOSTS: bool, const STREAMS: bool> Csv<ANSWERS, HOSTS, STREAMS> {
    const NAMES: ([&'static str; 9], usize) = columns(ANSWERS, HOSTS, STREAMS);
}

impl<const ANSWERS: bool, const HOSTS: bool, const STREAMS: bool> TextFormat
    for Csv<ANSWERS, HOSTS, STREAMS>
{
    const COLUMNS: &'static [&'static str] = Self::NAMES.0.split_at(Self::NAMES.1).0;
    const HAS_ANSWERS: bool = ANSWERS;
    const HAS_HOSTS: bool = HOSTS;
    const HAS_STREAMS: bool = STREAMS;
    const COMMA: bool = true;

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
        let mut took_ns = Request::UNANSWERED;
        if ANSWERS {
            at.comma("a comma after the device")?;
            if !matches!(at.peek(), None | Some(b',')) {
                took_ns =
                    at.time(MICROSECONDS, "a time in microseconds until the answer, or nothing")?;
            }
        }
        let mut asker = Asker::UNKNOWN;
        if HOSTS {
            at.comma("a comma before the queue")?;
            asker.queue = number_of(&mut at, Asker::MOST_QUEUES, "a queue from 0 to 252")?;
            at.comma("a comma before the host")?;
            asker.host = number_of(&mut at, Asker::MOST_HOSTS, "a host from 0 to 255")?;
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
            self.flush = Some(Request { took_ns, asker, ..Request::flush(time_ns, device) });
            return Ok(None);
        }
        let request = check(time_ns, op, device, offset, size, size_at)?;
        self.empty += u64::from(size == 0);
        self.negative += u64::from(offset < 0);
        Ok(request.map(|request| Request { stream, took_ns, asker, ..request }))
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

/// Reads a number from 0 to `most` in the field at `at`.
#[inline]
fn number_of(at: &mut Cursor<'_>, most: u8, expected: &'static str) -> Result<u8, BadField> {
    let start = at.at;
    let number = at.small(expected)?;
    u8::try_from(number).ok().filter(|number| *number <= most).ok_or(BadField::new(start, expected))
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
