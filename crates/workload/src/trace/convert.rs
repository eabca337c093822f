//! Copies a trace of any format into one of our own formats.

use std::path::Path;

use super::error::{Fault, TraceError};
use super::format::native::Declared;
use super::format::{DeviceNumbers, ReadOptions};
use super::reader::{Progress, TraceReader, cancelled};
use super::write::{OutputFormat, PagesOptions, TraceWriter};
use crate::Op;

/// Options of a conversion.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Options for reading the input. By default devices are ranked, as in the normalised copies of
    /// public traces. `DeviceNumbers::Native` keeps their numbers and saves a pass.
    pub read: ReadOptions,
    /// The format to write. `None` takes it from the output's name.
    pub output: Option<OutputFormat>,
    /// Options for writing references to memory.
    pub pages: PagesOptions,
    /// `true` if writes become dirty events, because the trace records changes in a cache.
    pub as_dirty: bool,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let read = ReadOptions { device_numbers: DeviceNumbers::Ranked, ..ReadOptions::default() };
        Self { read, output: None, pages: PagesOptions::default(), as_dirty: false }
    }
}

/// The outcome of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The number of requests written.
    pub requests: u64,
    /// The number of bad lines or records left out.
    pub skipped: u64,
    /// The format that was read.
    pub format: &'static str,
    /// Notes for the user on how the file was read.
    pub notes: Vec<String>,
}

/// Converts a trace, and calls `go_on` with the progress between blocks. Times are kept to the
/// nanosecond, so converting back and forth between our two formats of block traces changes nothing.
///
/// # Errors
/// The reader finds a fault, the output cannot be written, or `go_on` returns `false`
/// ([`Fault::Cancelled`](super::Fault::Cancelled)). The output then does not exist (or is what it was
/// before).
pub fn convert(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &ConvertOptions,
    mut go_on: impl FnMut(&Progress) -> bool,
) -> Result<Converted, TraceError> {
    let (input, output) = (input.as_ref(), output.as_ref());
    // A name without a known format must fail before a pass over a long input.
    let format = match options.output {
        Some(format) => format,
        None => OutputFormat::of(output)?,
    };
    let mut reader = TraceReader::open_with(input, &options.read, &mut go_on)?;
    let mut pages = options.pages;
    if format == OutputFormat::Pages {
        if !reader.format().references {
            let message = format!(
                "found a block trace ({}), expected references to memory: only those are written \
                 to .pages",
                reader.format().name
            );
            return Err(TraceError::new(input, Fault::Option, message)
                .hint("write .flashgc or .csv instead"));
        }
        reader.check_page_size(pages.page_size.into())?;
        // References that were left out already cannot come back.
        pages.filter = pages.filter.max(reader.recorded().map_or(0, |recorded| recorded.filter));
    }
    let declared = declared(&reader);
    let mut writer = TraceWriter::create_with(output, Some(format), pages, declared)?;
    let progress = reader.progress();
    let mut block = Vec::new();
    while reader.next_block(&mut block)? {
        if options.as_dirty {
            let writes = block.iter_mut().filter(|request| request.op == Op::Write);
            writes.for_each(|request| request.op = Op::Dirty);
        }
        writer.write(&block)?;
        if !go_on(&progress) {
            return Err(cancelled(input));
        }
    }
    if let Some(recorded) = reader.recorded() {
        writer.stand_for(recorded.accesses);
    }
    let requests = writer.finish()?;
    let (skipped, notes) = (reader.skipped(), reader.notes());
    Ok(Converted { requests, skipped, format: reader.format().name, notes })
}

/// Returns the properties that a copy of `reader`'s trace declares for all its requests.
pub(super) fn declared(reader: &TraceReader) -> Declared {
    Declared { address_space: reader.address_space(), streams: reader.has_streams() }
}

/// Joins traces one behind the other into `output`, in the format of that name. The times of a later
/// trace follow the end of the one before. Returns the number of requests.
///
/// # Errors
/// The traces have different address spaces, or some have streams and some have not, or a file cannot be
/// read or written. There is no output then.
pub fn join(inputs: &[&Path], output: &Path) -> Result<u64, TraceError> {
    let options = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
    let format = OutputFormat::of(output)?;
    let (mut writer, mut before) = (None, None);
    let (mut begin, mut end) = (0, 0);
    for &input in inputs {
        let mut reader = TraceReader::open(input, &options)?;
        let found = declared(&reader);
        let before = *before.get_or_insert(found);
        if before != found {
            let message = if before.streams == found.streams {
                "found another address space than in the trace before, expected the same drive"
            } else {
                "found streams in this trace or in the one before, expected them in both or none"
            };
            return Err(TraceError::new(input, Fault::Option, message));
        }
        let writer = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(TraceWriter::create_with(
                output,
                Some(format),
                PagesOptions::default(),
                found,
            )?),
        };
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            for request in &mut block {
                request.time_ns += begin;
                end = end.max(request.time_ns);
            }
            writer.write(&block)?;
        }
        begin = end;
    }
    match writer {
        Some(writer) => writer.finish(),
        None => Err(TraceError::new(output, Fault::Option, "found no trace to join")),
    }
}
