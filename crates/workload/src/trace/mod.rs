//! Block traces and references to memory: readers of many formats, statistics, the dense page map,
//! replay, conversion.
//!
//! A [`TraceReader`] turns a file of any format in [`format::FORMATS`], compressed or not, into
//! [`Request`]s. [`TraceStat`] counts them, [`TraceSource`] replays them as page commands, and
//! [`convert`] writes them in one of our own formats. Nothing here knows of drives.

mod address_map;
mod convert;
mod detect;
mod disorder;
mod error;
mod evidence;
pub mod format;
mod given;
mod input;
pub mod layout;
mod lines;
mod locality;
mod names;
mod owned;
mod parse;
mod per_cpu;
mod reader;
mod relations;
mod replay;
mod reuse;
mod source;
mod split;
mod stat;
mod tar;
mod window;
mod working_set;
mod write;

pub use address_map::{AddressMap, MapFull, Numbering, PageRange, Paging, PagingOptions, Unmapped};
pub use convert::{ConvertOptions, Converted, Property, convert, join};
pub use disorder::Disorder;
pub use error::{Fault, Place, TraceError, smaller_blocks};
pub use format::native::{Declared, NativeFile, NativeWriter};
pub use format::{DeviceNumbers, ReadOptions, operation_of};
pub use given::GivenPages;
pub use input::is_compressed;
pub use lines::{OnBadLine, Recorded};
pub use names::column_meaning;
pub use owned::{Change, Owned, tag};
pub use reader::{Progress, Requests, TraceReader, parse_devices};
pub use relations::Relations;
pub use replay::{Changes, Kinds, Replay, Replayer};
pub use source::{SourceOptions, TraceSource};
pub use split::{By, SplitOptions, Splitter, Volume, Volumes};
pub use stat::{
    AnswerStat, HostStat, Notes, OtherLines, ReadAs, ServedStat, StatBuilder, StreamStat, TimeStat,
    TraceStat, map_full,
};
pub use working_set::WorkingSets;
pub use write::{OutputFormat, PagesOptions, TraceWriter, discard_unfinished};

pub(crate) use error::quote;
pub(crate) use input::Input;

use flashgc_base::stream::{NO_STREAM, StreamId};

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
    /// The device, by its number in the trace or as [`DeviceNumbers`] chooses.
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

impl Request {
    /// The largest read or write, in bytes (2^32). No real request comes near. A larger one is a damaged
    /// or misread line, and would otherwise fill the memory with pages.
    pub const MAX_TRANSFER: u64 = 1 << 32;

    /// The time until the answer of a request of which no answer is known.
    pub const UNANSWERED: u64 = u64::MAX;

    /// Makes a flush of everything that the host has written before. It has no bytes.
    pub fn flush(time_ns: u64, device: u32) -> Self {
        Self {
            time_ns,
            offset: 0,
            size: 0,
            device,
            op: Op::Flush,
            stream: NO_STREAM,
            took_ns: Self::UNANSWERED,
            asker: Asker::UNKNOWN,
        }
    }

    /// Returns the first byte after the request. Readers make sure that it fits.
    pub fn end(&self) -> i64 {
        self.offset + self.size as i64
    }
}
