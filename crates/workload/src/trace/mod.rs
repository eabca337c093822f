//! Block traces and references to memory: readers for many formats, statistics, the dense page
//! map, replay, conversion.
//!
//! A [`TraceReader`] turns a file of any format in [`format::FORMATS`], compressed or not, into
//! [`Request`]s. [`TraceStat`] counts them, [`TraceSource`] replays them as page commands, and
//! [`convert`] writes them in one of our own formats. Nothing here knows of drives.

mod address_map;
mod convert;
mod detect;
mod error;
pub mod format;
mod given;
mod input;
mod lines;
mod locality;
mod parse;
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
pub use convert::{ConvertOptions, Converted, convert, join};
pub use error::{Fault, Place, TraceError};
pub use format::native::{NativeFile, NativeWriter};
pub use given::GivenPages;
pub use lines::Recorded;
pub use reader::{
    DeviceNumbers, OnBadLine, Progress, ReadOptions, Requests, TraceReader, parse_devices,
};
pub use relations::Relations;
pub use replay::{Replay, Replayer};
pub use source::{Kinds, SourceOptions, TraceSource};
pub use split::{By, SplitOptions, Splitter, Volume, Volumes};
pub use stat::{StatBuilder, StreamStat, TraceStat};
pub use working_set::WorkingSets;
pub use write::{Declared, OutputFormat, PagesOptions, TraceWriter, discard_unfinished};

pub(crate) use error::quote;
pub(crate) use input::Input;
pub(crate) use stat::map_full;

use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::Op;

/// One request of a trace, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When the host issued it: nanoseconds since the trace's own origin (0 if the format has no
    /// times).
    pub time_ns: u64,
    /// First byte. Negative only where a trace counts from the start of a partition and the host
    /// touched what lies before it.
    pub offset: i64,
    /// Number of bytes; may be 0.
    pub size: u64,
    /// The device: the number that the trace gives it, or see [`DeviceNumbers`].
    pub device: u32,
    /// What is done.
    pub op: Op,
    /// The stream that the host names, [`NO_STREAM`] if none. A flush has none.
    pub stream: StreamId,
}

impl Request {
    /// Largest read or write, in bytes (2^32). No real request comes near; a larger one is a
    /// damaged or misread line, and would otherwise fill the memory with pages.
    pub const MAX_TRANSFER: u64 = 1 << 32;

    /// A flush of everything that the host has written before: it has no bytes.
    pub fn flush(time_ns: u64, device: u32) -> Self {
        Self { time_ns, offset: 0, size: 0, device, op: Op::Flush, stream: NO_STREAM }
    }

    /// The first byte after the request. Readers make sure that it fits.
    pub fn end(&self) -> i64 {
        self.offset + self.size as i64
    }
}
