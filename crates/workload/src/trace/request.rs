//! A request of a trace, and the declaration of its optional fields: [`FIELDS`].
//!
//! The native format, the normalised CSV, `trace stat`, joins and splits use the declaration.

use flashgc_base::stream::{NO_STREAM, StreamId, named};

use super::parse::{BadField, Cursor, MICROSECONDS, put_digits, put_microseconds};
use crate::Op;

/// One request of a trace, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time at which the host issued the request, in nanoseconds since the trace's own origin;
    /// 0 if the format has no times.
    pub time_ns: u64,
    /// The first byte. It is negative only if the trace counts from the start of a partition and
    /// the host accessed bytes before the partition.
    pub offset: i64,
    /// The number of bytes, which may be 0.
    pub size: u64,
    /// The device, by its number in the trace or as [`DeviceNumbers`](super::DeviceNumbers)
    /// chooses.
    pub device: u32,
    /// The operation.
    pub op: Op,
    /// The stream that the host gives, or [`NO_STREAM`]. A flush has no stream.
    pub stream: StreamId,
    /// The nanoseconds from the request to its answer, or [`UNANSWERED`](Self::UNANSWERED).
    pub took_ns: u64,
    /// The host and the queue from which the request came.
    pub asker: Asker,
    /// The thread of the host's program that sent the request, by its number in the trace; 0 if the
    /// thread is unknown.
    pub thread: u32,
}

/// A host and one of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asker {
    /// The number of the host, from 1 in the order of the hosts' first requests; 0 if the host is
    /// unknown.
    pub host: u8,
    /// The number of the queue; 0 if the front end has no queues.
    pub queue: u8,
}

impl Asker {
    /// The host is unknown.
    pub const UNKNOWN: Self = Self { host: 0, queue: 0 };
    /// The largest number of a host. If there are more hosts, all later hosts share this number.
    pub const MOST_HOSTS: u8 = u8::MAX;
    /// The largest number of a queue.
    pub const MOST_QUEUES: u8 = 252;
}

/// A write of 0 bytes at byte 0 and time 0, without any optional field.
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
            thread: 0,
        }
    }
}

impl Request {
    /// The largest read or write, in bytes (2^32). Real requests are much smaller. A larger one is
    /// a damaged or misread line, and would otherwise fill the memory with pages.
    pub const MAX_TRANSFER: u64 = 1 << 32;

    /// The value of `took_ns` for a request whose answer is unknown.
    pub const UNANSWERED: u64 = u64::MAX;

    /// Makes a flush of all earlier writes. It has no bytes.
    pub fn flush(time_ns: u64, device: u32) -> Self {
        Self { time_ns, device, op: Op::Flush, ..Self::default() }
    }

    /// Returns the first byte after the request. Readers check that it is in range.
    pub fn end(&self) -> i64 {
        self.offset + self.size as i64
    }
}

/// A set of optional fields of requests. Its bits are the flags in the header of the native format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(u16);

impl Fields {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The stream of the request.
    pub const STREAM: Self = Self(1);
    /// The time from the request to its answer.
    pub const ANSWER: Self = Self(2);
    /// The host and its queue.
    pub const HOST: Self = Self(4);
    /// The thread that sent the request.
    pub const THREAD: Self = Self(8);

    /// Returns the fields of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `self` if `is_chosen`, otherwise the empty set.
    #[must_use]
    pub const fn if_any(self, is_chosen: bool) -> Self {
        if is_chosen { self } else { Self::NONE }
    }

    /// Returns `true` if the set has all fields of `other`.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags of the native format.
    pub(crate) const fn flags(self) -> u16 {
        self.0
    }

    /// Returns the fields with these flags; `None` if a flag is not in `known`.
    pub(crate) fn of_flags(flags: u16, known: Self) -> Option<Self> {
        (flags & !known.0 == 0).then_some(Self(flags))
    }

    /// Returns the fields that a version of the native format can store.
    pub(crate) fn known(version: u16) -> Self {
        let known = FIELDS.iter().filter(|field| field.since <= version);
        known.fold(Self::NONE, |known, field| known.with(field.set))
    }

    /// Returns the declarations, in the order of the columns of the normalised CSV.
    pub(crate) fn each(self) -> impl Iterator<Item = &'static Field> {
        FIELDS.iter().filter(move |field| self.has(field.set))
    }

    /// Returns the names of the fields' columns in the normalised CSV.
    pub(crate) fn columns(self) -> impl Iterator<Item = &'static &'static str> {
        self.each().flat_map(|field| field.columns)
    }

    /// Returns the word, for messages, of a field that only one of the sets has; `None` if the sets
    /// are equal.
    pub(crate) fn differs(self, other: Self) -> Option<&'static str> {
        let all = Self(self.0 ^ other.0).each();
        all.min_by_key(|field| field.set.0).map(|field| field.plural)
    }
}

/// The properties that a file declares for all its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The size in bytes of the drive from which the requests were recorded; `None` if there was
    /// none. Only the `flashgc` format stores it.
    pub address_space: Option<u64>,
    /// The optional fields that requests may have. Other fields are not stored.
    pub fields: Fields,
}

/// The declaration of an optional field of requests.
#[derive(Debug)]
pub(crate) struct Field {
    /// The field, as a set of one field.
    pub set: Fields,
    /// The word in messages.
    pub plural: &'static str,
    /// The oldest version of the native format that can store the field.
    pub since: u16,
    /// The form of the field in the native format.
    pub coding: Coding,
    /// A function that returns the value as a number.
    pub get: fn(&Request) -> u64,
    /// A function that sets the value from a number as [`get`](Self::get) returns it. If the number
    /// is no value of the field, `get` returns another number afterwards.
    pub set_to: fn(&mut Request, u64),
    /// The text in messages for a flush that has the field. Such a flush is an error: a flush must
    /// have the default value. `None` if flushes may have the field.
    pub none_of_flush: Option<&'static str>,
    /// The names of the field's columns in the normalised CSV.
    pub columns: &'static [&'static str],
    /// A function that parses the field's columns, each after a comma. It returns the position of
    /// the last one.
    pub read: fn(&mut Cursor<'_>, &mut Request) -> Result<usize, BadField>,
    /// A function that appends the field's columns, each after a comma.
    pub write: fn(&Request, &mut Vec<u8>),
    /// The statistic that counts requests by the field; `None` if there is none.
    pub groups: Option<Groups>,
    /// `true` if the decisions of a replay depend on the field. The digest of a volume then
    /// includes it.
    pub is_replayed: bool,
}

impl Field {
    /// Returns the text for messages if `request`, a flush, has the field although flushes may not.
    pub fn wrong_for_flush(&self, request: &Request) -> Option<&'static str> {
        self.none_of_flush.filter(|_| (self.get)(request) != (self.get)(&Request::default()))
    }
}

/// The form of a field in a block of the native format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Three bytes before a request whose host or queue differs from that of the previous request.
    Change,
    /// A number in groups of seven bits for each request, after the requests.
    Number,
    /// A byte for each request, after all numbers.
    Byte,
}

/// A statistic that counts requests by the value of a field.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The name of the list in `trace stat --json`.
    pub name: &'static str,
    /// The names and the numbers of bits of the parts of the value, with the highest bits first.
    pub keys: &'static [(&'static str, u32)],
    /// The value of requests without the field, as [`Field::get`] returns it.
    pub none: u64,
}

impl Groups {
    /// Returns the parts of a value, each with its name.
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

/// The optional fields, in the order of their columns in the normalised CSV and in the blocks of
/// the native format.
pub(crate) const FIELDS: &[Field] = &[
    Field {
        set: Fields::ANSWER,
        plural: "times of answers",
        since: 6,
        coding: Coding::Number,
        // The number is the nanoseconds plus 1, so that 0 means an unknown answer.
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
        groups: None, // `AnswerStat` has the distribution instead
        is_replayed: false,
    },
    Field {
        set: Fields::THREAD,
        plural: "threads",
        since: 8,
        coding: Coding::Number,
        get: |request| request.thread.into(),
        set_to: |request, value| request.thread = value as u32,
        none_of_flush: None,
        columns: &["thread"],
        read: |at, request| {
            at.comma("a comma before the thread")?;
            let start = at.at;
            if !matches!(at.peek(), None | Some(b',')) {
                request.thread = at.small("a thread, a number below 2^32, or nothing")?;
            }
            Ok(start)
        },
        write: |request, text| {
            text.push(b',');
            if request.thread != 0 {
                put_digits(request.thread.into(), 1, text);
            }
        },
        groups: Some(Groups { name: "threads", keys: &[("thread", 32)], none: 0 }),
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

/// The columns of the normalised CSV, described for users, and the properties by which the format
/// is recognised.
pub(crate) const CSV_COLUMNS: &str = "\
    time (us, three decimals: exact to the nanosecond), R or W or D (discard) or M \
    (modified in the host's cache, to be written) or C (clean again, M is taken back) or F \
    (flush, of 0 bytes at 0), offset (bytes), size (bytes), device; perhaps stream (0 to 254; \
    nothing, none or not-set: no stream; short, medium, long, extreme: 1 to 4, as Linux's \
    write life time hints); before it perhaps the time until the answer (us; nothing: not known), \
    perhaps the thread (a number below 2^32; nothing or 0: not known), and perhaps the \
    number of the queue (0 to 252) and that of the host (0 to 255; 0: not known)";
pub(crate) const CSV_DETECTION: &str = "\
    the first line time_us,op,offset_bytes,size_bytes,dev, perhaps with ,answer_us, ,thread, ,queue,host and ,stream";

/// Linux's write lifetime hints, with the streams that the NVMe driver gave them: the number of the
/// hint minus 1. Stream 0 was left to writes without a hint.
const HINTS: [(&[u8], StreamId); 6] = [
    (b"none", NO_STREAM),
    (b"not-set", NO_STREAM),
    (b"short", 1),
    (b"medium", 2),
    (b"long", 3),
    (b"extreme", 4),
];

/// Parses the stream in the field at `at`.
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
