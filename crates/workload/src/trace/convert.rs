//! Copies a trace of any format into one of flashgc's own formats.

use std::path::Path;

use flashgc_base::naming::choice;
use flashgc_base::spec::{SpecError, count, suggest};

use super::error::{Fault, TraceError};
use super::format::{DeviceNumbers, ReadOptions};
use super::reader::{Progress, TraceReader, cancelled};
use super::request::Declared;
use super::write::{OutputFormat, PagesOptions, TraceWriter};
use crate::Op;

/// A property of a whole trace that some formats cannot store. Both formats of block traces can
/// store all properties of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// The size of the drive that the trace was recorded from. With it, pages keep their numbers in
    /// a replay.
    DriveSize,
    /// The requests are a program's references to memory.
    References,
}

impl Property {
    /// Returns the word that users type for the property.
    fn word(self) -> &'static str {
        match self {
            Self::DriveSize => "drive-size",
            Self::References => "references",
        }
    }

    /// Reads words separated by commas: `drive-size`, `references`.
    ///
    /// # Errors
    /// A word is unknown.
    pub fn parse(text: &str) -> Result<Vec<Self>, SpecError> {
        let property_of = |word: &str| {
            let known = [Self::DriveSize, Self::References];
            known.into_iter().find(|property| property.word() == word).ok_or_else(|| {
                let shown = word.escape_default();
                let message = format!("found '{shown}', expected drive-size or references");
                SpecError::new(message, suggest(word, known.map(Self::word)))
            })
        };
        text.split(',').map(|word| property_of(word.trim())).collect()
    }

    /// Returns the error that the trace of `reader` has this property, and a file in `format`
    /// cannot store it.
    fn missing(self, reader: &TraceReader, format: OutputFormat) -> TraceError {
        let ending = format.ending();
        let message = match self {
            Self::DriveSize => format!(
                "found the recording of a drive of {}, and {ending} has no place for the size of the \
                 drive, with which pages keep their numbers",
                count(reader.address_space().unwrap_or(0), "byte")
            ),
            Self::References => format!(
                "found references to memory ({}), and {ending} has no place to say so: it would be \
                 read as a block trace",
                reader.format().name
            ),
        };
        TraceError::new(reader.path(), Fault::Option, message)
    }

    /// Returns the properties of `reader`'s trace that a file in `format` cannot store, each with a
    /// format that can.
    fn lost(
        reader: &TraceReader,
        format: OutputFormat,
    ) -> impl Iterator<Item = (Self, OutputFormat)> {
        let is_recorded = reader.address_space().is_some() && format != OutputFormat::Native;
        let is_memory = reader.format().references && format != OutputFormat::Pages;
        let drive = is_recorded.then_some((Self::DriveSize, OutputFormat::Native));
        drive.into_iter().chain(is_memory.then_some((Self::References, OutputFormat::Pages)))
    }
}

/// Options of a conversion.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Options for reading the input. By default flushes are copied, and devices are numbered by
    /// rank, as in the normalised copies of public traces. `DeviceNumbers::Native` keeps the
    /// numbers of devices, and saves a pass over the input.
    pub read: ReadOptions,
    /// The format to write. `None` takes it from the output's name.
    pub output: Option<OutputFormat>,
    /// The page size of references to memory; with `None`, that of the recording or the default.
    pub page_size: Option<u32>,
    /// The filter of references to memory, in pages. If the recording has a larger filter, or this
    /// is `None`, the filter of the recording is used.
    pub filter: Option<u32>,
    /// `true` if writes become dirty events, because the trace records changes in a cache.
    pub as_dirty: bool,
    /// The properties that the copy may lose.
    pub leave_out: Vec<Property>,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let read = ReadOptions {
            device_numbers: DeviceNumbers::Ranked,
            keep_flushes: true,
            ..ReadOptions::default()
        };
        Self {
            read,
            output: None,
            page_size: None,
            filter: None,
            as_dirty: false,
            leave_out: Vec::new(),
        }
    }
}

/// The result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The number of requests written.
    pub requests: u64,
    /// The number of bad lines or records left out.
    pub skipped: u64,
    /// The format that was read.
    pub format: &'static str,
    /// Notes for the user: how the file was read, and how the copy differs.
    pub notes: Vec<String>,
}

/// Converts a trace, and calls `go_on` with the progress between blocks. Every request is copied
/// with its time in nanoseconds, so that conversions between the two formats of block traces lose
/// nothing. A file of references to memory may have fewer requests; a note says so.
///
/// # Errors
/// The reader finds a fault, the output cannot store a property of the trace that may not be lost,
/// the output cannot be written, or `go_on` returns `false`
/// ([`Fault::Cancelled`](super::Fault::Cancelled)). Then the output does not exist, or is unchanged
/// if it existed before.
pub fn convert(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &ConvertOptions,
    mut go_on: impl FnMut(&Progress) -> bool,
) -> Result<Converted, TraceError> {
    let (input, output) = (input.as_ref(), output.as_ref());
    // A wrong name of the output must fail before the pass over a long input.
    let format = match options.output {
        Some(format) => format,
        None => OutputFormat::of(output)?,
    };
    let mut reader = TraceReader::open_with(input, &options.read, &mut go_on)?;
    if format == OutputFormat::Pages && !reader.format().references {
        let message = format!(
            "found a block trace ({}), expected references to memory: only those are written to .pages",
            reader.format().name
        );
        return Err(
            TraceError::new(input, Fault::Option, message).hint("write .flashgc or .csv instead")
        );
    }
    for (property, place) in Property::lost(&reader, format) {
        if !options.leave_out.contains(&property) {
            let hint = format!(
                "write {} instead, or {}",
                place.ending(),
                choice("leave_out", property.word())
            );
            return Err(property.missing(&reader, format).hint(hint));
        }
    }
    let recorded = reader.recorded();
    let pages = PagesOptions {
        page_size: options.page_size.unwrap_or_else(|| {
            recorded.map_or(PagesOptions::default().page_size, |recorded| recorded.page_size as u32)
        }),
        // References that the recording left out cannot be restored.
        filter: options.filter.unwrap_or(0).max(recorded.map_or(0, |recorded| recorded.filter)),
    };
    if format == OutputFormat::Pages {
        reader.check_page_size(pages.page_size.into())?;
    }
    let declared = reader.declared();
    let mut writer = TraceWriter::create_with(output, Some(format), pages, declared)?;
    let progress = reader.progress();
    let (mut read, mut block) = (0, Vec::new());
    while reader.next_block(&mut block)? {
        read += block.len() as u64;
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
    let (skipped, mut notes) = (reader.skipped(), reader.notes());
    notes.extend(reader.renumbered());
    if format == OutputFormat::Pages {
        notes.extend(merged(&reader, pages, read, requests));
    }
    Ok(Converted { requests, skipped, format: reader.format().name, notes })
}

/// Returns a note about the references that a converted file lacks. `reader`'s trace has `read`
/// references, and the file has `written` of them. Returns `None` if it lacks none.
fn merged(reader: &TraceReader, pages: PagesOptions, read: u64, written: u64) -> Option<String> {
    let before = reader.recorded();
    let is_coarser = before.is_none_or(|recorded| recorded.page_size != pages.page_size.into());
    let is_filtered = pages.filter > before.map_or(0, |recorded| recorded.filter);
    if !is_coarser && !is_filtered && read == written {
        return None;
    }
    let mut note = format!("{} became {written}: ", count(read, "reference"));
    note += if is_coarser {
        ".pages has the page of each and not its address and size, and one or two for several in a row \
         to a page"
    } else {
        ".pages has one or two for several in a row to a page"
    };
    if is_filtered {
        let memory = count(pages.filter.into(), "page");
        note += &format!(", and none without effect on an LRU memory of {memory} or more");
    }
    Some(note)
}

/// Joins traces, one after the other, into `output`, in the format of that file's name. The times
/// of a later trace continue after the end of the previous one. Returns the number of requests.
///
/// # Errors
/// The traces have different address spaces, only some of them have streams, the output cannot
/// store a property, or a file cannot be read or written. Then there is no output.
pub fn join(inputs: &[&Path], output: &Path) -> Result<u64, TraceError> {
    let options = ReadOptions {
        device_numbers: DeviceNumbers::Native,
        keep_flushes: true,
        ..ReadOptions::default()
    };
    let format = OutputFormat::of(output)?;
    let (mut writer, mut before) = (None, None);
    let (mut begin, mut end) = (0, 0);
    for &input in inputs {
        let mut reader = TraceReader::open(input, &options)?;
        if let Some((property, place)) = Property::lost(&reader, format).next() {
            let hint = format!("write {} instead", place.ending());
            return Err(property.missing(&reader, format).hint(hint));
        }
        let declared = reader.declared();
        let before: Declared = *before.get_or_insert(declared);
        if before != declared {
            let message = match before.fields.differs(declared.fields) {
                Some(fields) => format!(
                    "found {fields} in this trace or in the one before, expected them in both or none"
                ),
                None => {
                    "found another address space than in the trace before, expected the same drive"
                        .to_owned()
                }
            };
            return Err(TraceError::new(input, Fault::Option, message));
        }
        let writer = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(TraceWriter::create_with(
                output,
                Some(format),
                PagesOptions::default(),
                declared,
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
