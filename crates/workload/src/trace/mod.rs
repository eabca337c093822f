//! Block traces and references to memory: readers of many formats, statistics, the page map, replay
//! and conversion.
//!
//! A [`TraceReader`] reads a file of any format in [`format::FORMATS`], compressed or not, as
//! [`Request`]s. [`TraceStat`] counts them, [`TraceSource`] replays them as page commands, and
//! [`convert`] writes them in one of flashgc's own formats. Nothing here knows of drives.
//!
//! # Adding a field of a recording
//!
//! 1. In `request.rs`, a field of [`Request`] with its value in `Request::default`, a constant of
//!    [`Fields`] with the next bit, and an entry of `FIELDS`: the word in messages, the version of
//!    the native format, its coding, the columns of the normalised CSV with their reader and
//!    writer, the statistic, and whether replays depend on it. `CSV_COLUMNS` and `CSV_DETECTION` in
//!    the same file describe the columns.
//! 2. Its source: `crates/device/src/recording.rs`, or the reader of a format that has it.
//! 3. Tests like those of hosts in `crates/workload/tests/trace_answers.rs`, and a file of
//!    `fuzz/make_corpus.py`.
//! 4. `docs/trace-formats.md`, the change log, and `make docs`.
//!
//! Both of flashgc's formats, `trace stat --json`, conversions, joins, splits and volumes use the
//! declaration. The tables of `flashgc trace stat` are in `python/flashgc/command/show/trace.py` and
//! `python/flashgc/results/trace.py`.

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
mod request;
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
pub use format::native::NativeWriter;
pub use format::{DeviceNumbers, ReadOptions, operation_of};
pub use given::GivenPages;
pub use input::is_compressed;
pub use lines::{OnBadLine, Recorded};
pub use names::column_meaning;
pub use owned::{Change, Owned, tag};
pub use reader::{Progress, ReadRequests, TraceReader, parse_devices};
pub use relations::Relations;
pub use replay::{Changes, Kinds, Replay, Replayer};
pub use request::{Asker, Declared, Fields, Request};
pub use source::{SourceOptions, TraceSource};
pub use split::{By, SplitOptions, Splitter, Volume, Volumes};
pub use stat::{
    AnswerStat, GroupStat, Notes, OtherLines, ReadAs, ServedStat, StatBuilder, StreamStat, Tally,
    TimeStat, TraceStat, map_full,
};
pub use working_set::WorkingSets;
pub use write::{OutputFormat, PagesOptions, TraceWriter, discard_unfinished};

pub(crate) use error::quote;
pub(crate) use input::Input;
pub(crate) use reader::cancelled;
