//! A request of a trace, and the declaration of the fields that not every trace has: [`FIELDS`].
//!
//! The native format, the normalised CSV, `trace stat`, joins and splits go by the declaration.

use flashgc_base::stream::{NO_STREAM, StreamId, named};

use super::parse::{BadField, Cursor, MICROSECONDS, put_digits, put_microseconds};
use crate::Op;

/// One request of a trace, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time at which the host issued the request: nanoseconds since the trace's own origin (0 if the
    /// format has no times).
    pub time_ns: u64,
    /// The first byte. It is negative only if a trace counts from the start of a partition and the host
    /// touched bytes before that.
    pub offset: i64,
    /// The number of bytes, which may be 0.
    pub size: u64,
    /// The device, by its number in the trace or as [`DeviceNumbers`](super::DeviceNumbers) chooses.
    pub device: u32,
    /// The operation.
    pub op: Op,
    /// The stream that the host names, or [`NO_STREAM`]. A flush has none.
    pub stream: StreamId,
    /// The nanoseconds until its answer, or [`UNANSWERED`](Self::UNANSWERED).
    pub took_ns: u64,
    /// The host and the queue that it came from.
    pub asker: Asker,
}

/// A host and one of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asker {
    /// The number of the host, from 1 in the order of their first requests; 0 if no host is known.
    pub host: u8,
    /// The number of the queue; 0 if the front end has none.
    pub queue: u8,
}

impl Asker {
    /// No host is known.
    pub const UNKNOWN: Self = Self { host: 0, queue: 0 };
    /// The largest number of a host: that of all later ones, too.
    pub const MOST_HOSTS: u8 = u8::MAX;
    /// The largest number of a queue.
    pub const MOST_QUEUES: u8 = 252;
}

/// A write of no bytes at byte 0 and time 0, of which no field is known that a trace may lack.
impl Default for Request {
    #[inline]
    fn default() -> Self {
        Self {
            time_ns: 0,
            offset: 0,
            size: 0,
            device: 0,
            op: Op::Write,
            stream: NO_STREAM,
            took_ns: Self::UNANSWERED,
            asker: Asker::UNKNOWN,
        }
    }
}

impl Request {
    /// The largest read or write, in bytes (2^32). No real request comes near. A larger one is a damaged
    /// or misread line, and would otherwise fill the memory with pages.
    pub const MAX_TRANSFER: u64 = 1 << 32;

    /// The time until the answer of a request of which no answer is known.
    pub const UNANSWERED: u64 = u64::MAX;

    /// Makes a flush of everything that the host has written before. It has no bytes.
    pub fn flush(time_ns: u64, device: u32) -> Self {
        Self { time_ns, device, op: Op::Flush, ..Self::default() }
    }

    /// Returns the first byte after the request. Readers make sure that it fits.
    pub fn end(&self) -> i64 {
        self.offset + self.size as i64
    }
}

/// A set of fields that requests may have. Its bits are the flags in the header of the native format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(u16);

impl Fields {
    /// No field.
    pub const NONE: Self = Self(0);
    /// The stream.
    pub const STREAM: Self = Self(1);
    /// The time until the answer.
    pub const ANSWER: Self = Self(2);
    /// The host and its queue.
    pub const HOST: Self = Self(4);

    /// Returns the fields of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `self` if `is_chosen`, and no field otherwise.
    #[must_use]
    pub const fn if_any(self, is_chosen: bool) -> Self {
        if is_chosen { self } else { Self::NONE }
    }

    /// Returns `true` if all of `other` are among the fields.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags of the native format.
    pub(crate) const fn flags(self) -> u16 {
        self.0
    }

    /// Returns the fields with these flags; `None` if a flag is none of `known`.
    pub(crate) fn of_flags(flags: u16, known: Self) -> Option<Self> {
        (flags & !known.0 == 0).then_some(Self(flags))
    }

    /// Returns the fields that a version of the native format has a place for.
    pub(crate) fn known(version: u16) -> Self {
        let known = FIELDS.iter().filter(|field| field.since <= version);
        known.fold(Self::NONE, |known, field| known.with(field.set))
    }

    /// Returns the declarations, in the order of the columns of the normalised CSV.
    pub(crate) fn each(self) -> impl Iterator<Item = &'static Field> {
        FIELDS.iter().filter(move |field| self.has(field.set))
    }

    /// Returns the names of their columns in the normalised CSV.
    pub(crate) fn columns(self) -> impl Iterator<Item = &'static &'static str> {
        self.each().flat_map(|field| field.columns)
    }

    /// Returns the word in messages for a field of one set alone; `None` if the sets are the same.
    pub(crate) fn differs(self, other: Self) -> Option<&'static str> {
        let all = Self(self.0 ^ other.0).each();
        all.min_by_key(|field| field.set.0).map(|field| field.plural)
    }
}

/// The properties that a file declares for all its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The bytes of the drive that the requests were recorded from, if they were. Only the `flashgc`
    /// format keeps them.
    pub address_space: Option<u64>,
    /// The fields that requests may have. Others are left out.
    pub fields: Fields,
}

/// The declaration of a field that requests may have.
#[derive(Debug)]
pub(crate) struct Field {
    /// The field alone, as a set.
    pub set: Fields,
    /// The word in messages.
    pub plural: &'static str,
    /// The oldest version of the native format that has a place for it.
    pub since: u16,
    /// The form in which the native format has it.
    pub coding: Coding,
    /// Returns the value as a number.
    pub get: fn(&Request) -> u64,
    /// Sets the value to that of a number which [`get`](Self::get) returned.
    pub set_to: fn(&mut Request, u64),
    /// The text in messages for a flush that has the field, if a flush has none. It then has the value of a
    /// request made anew.
    pub none_of_flush: Option<&'static str>,
    /// The names of its columns in the normalised CSV.
    pub columns: &'static [&'static str],
    /// Reads its columns, each behind a comma. Returns the place of the last.
    pub read: fn(&mut Cursor<'_>, &mut Request) -> Result<usize, BadField>,
    /// Appends its columns, each behind a comma.
    pub write: fn(&Request, &mut Vec<u8>),
    /// The statistic that counts requests by it, if there is one.
    pub groups: Option<Groups>,
    /// `true` if the decisions of a replay depend on it. It is in the digest of a volume then.
    pub is_replayed: bool,
}

impl Field {
    /// Returns the text in messages if `request`, a flush, has the field and may not.
    pub fn wrong_for_flush(&self, request: &Request) -> Option<&'static str> {
        self.none_of_flush.filter(|_| (self.get)(request) != (self.get)(&Request::default()))
    }
}

/// The form of a field in a block of the native format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Three bytes in front of a request whose host or queue is not that of the request before.
    Change,
    /// A number in seven-bit groups for each request, behind the requests.
    Number,
    /// A byte for each request, behind all numbers.
    Byte,
}

/// A statistic that counts the requests of each value of a field.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The name of the list in `trace stat --json`.
    pub name: &'static str,
    /// The names and bits of the numbers that make the value, the highest bits first.
    pub keys: &'static [(&'static str, u32)],
    /// The value of requests that have none, as [`Field::get`] returns it.
    pub none: u64,
}

impl Groups {
    /// Returns the numbers that make a value, each with its name.
    pub fn parts(&self, mut value: u64) -> Vec<(&'static str, u64)> {
        let part = |&(name, bits): &(&'static str, u32)| {
            let part = value & ((1 << bits) - 1);
            value >>= bits;
            (name, part)
        };
        let mut parts: Vec<_> = self.keys.iter().rev().map(part).collect();
        parts.reverse();
        parts
    }
}

/// The number of fields.
pub(crate) const COUNT: usize = FIELDS.len();

/// The fields, in the order of their columns in the normalised CSV and in the blocks of the native format.
pub(crate) const FIELDS: &[Field] = &[
    Field {
        set: Fields::ANSWER,
        plural: "times of answers",
        since: 6,
        coding: Coding::Number,
        // One more than the nanoseconds, so that 0 is an answer that is not known.
        get: |request| request.took_ns.wrapping_add(1),
        set_to: |request, value| request.took_ns = value.wrapping_sub(1),
        none_of_flush: None,
        columns: &["answer_us"],
        read: |at, request| {
            at.comma("a comma after the device")?;
            let start = at.at;
            if !matches!(at.peek(), None | Some(b',')) {
                let expected = "a time in microseconds until the answer, or nothing";
                request.took_ns = at.time(MICROSECONDS, expected)?;
            }
            Ok(start)
        },
        write: |request, text| {
            text.push(b',');
            if request.took_ns != Request::UNANSWERED {
                put_microseconds(request.took_ns, text);
            }
        },
        groups: None, // `AnswerStat` has its distribution
        is_replayed: false,
    },
    Field {
        set: Fields::HOST,
        plural: "hosts",
        since: 7,
        coding: Coding::Change,
        get: |request| u16::from_be_bytes([request.asker.host, request.asker.queue]).into(),
        set_to: |request, value| {
            let [host, queue] = (value as u16).to_be_bytes();
            request.asker = Asker { host, queue };
        },
        none_of_flush: None,
        columns: &["queue", "host"],
        read: |at, request| {
            at.comma("a comma before the queue")?;
            request.asker.queue = at.byte(Asker::MOST_QUEUES, "a queue from 0 to 252")?;
            at.comma("a comma before the host")?;
            let start = at.at;
            request.asker.host = at.byte(Asker::MOST_HOSTS, "a host from 0 to 255")?;
            Ok(start)
        },
        write: |request, text| {
            for number in [request.asker.queue, request.asker.host] {
                text.push(b',');
                put_digits(number.into(), 1, text);
            }
        },
        groups: Some(Groups { name: "hosts", keys: &[("host", 8), ("queue", 8)], none: 0 }),
        is_replayed: false,
    },
    Field {
        set: Fields::STREAM,
        plural: "streams",
        since: 5,
        coding: Coding::Byte,
        get: |request| request.stream.into(),
        set_to: |request, value| request.stream = value as StreamId,
        none_of_flush: Some("no stream, because a flush concerns the whole drive"),
        columns: &["stream"],
        read: |at, request| {
            at.comma("a comma before the stream")?;
            let start = at.at;
            request.stream = stream_of(at)?;
            Ok(start)
        },
        write: |request, text| {
            text.push(b',');
            if let Some(stream) = named(request.stream) {
                put_digits(stream.into(), 1, text);
            }
        },
        groups: Some(Groups { name: "streams", keys: &[("stream", 8)], none: NO_STREAM as u64 }),
        is_replayed: true,
    },
];

/// The columns of the normalised CSV, for people, and the marks by which it is recognised.
pub(crate) const CSV_COLUMNS: &str = "\
    time (us, three decimals: exact to the nanosecond), R or W or D (discard) or M \
    (modified in the host's cache, to be written) or C (clean again, M is taken back) or F \
    (flush, of 0 bytes at 0), offset (bytes), size (bytes), device; perhaps stream (0 to 254; \
    nothing, none or not-set: no stream; short, medium, long, extreme: 1 to 4, as Linux's \
    write life time hints); before it perhaps the time until the answer (us; nothing: not known), and perhaps the \
    number of the queue (0 to 252) and that of the host (0 to 255; 0: not known)";
pub(crate) const CSV_DETECTION: &str = "\
    the first line time_us,op,offset_bytes,size_bytes,dev, perhaps with ,answer_us, ,queue,host and ,stream";

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
