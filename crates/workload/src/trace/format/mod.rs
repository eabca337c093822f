//! The formats, one in each file, and the list of them. Detection, help, the check of the
//! documentation and the tests use the list. A new format needs its file and its line in the list.

pub mod native;

mod alibaba;
mod biotracer;
mod blkparse;
mod blktrace;
mod cloudphysics;
pub(crate) mod columns;
mod csv;
mod diskmon;
mod disksim;
pub(crate) mod events;
mod fio;
mod fiu;
mod flashsim;
mod ftrace;
mod lackey;
mod msr;
pub(crate) mod pages;
mod pg_waldump;
pub(crate) mod records;
mod rmem;
mod simulators;
mod spc;
mod srt;
mod ssdsim;
mod systor;
mod tencent;
mod vscsi;
mod wiscsee;

use std::sync::Arc;

use flashgc_base::spec::{SpecError, suggest};

use super::disorder::Disorder;
use super::error::TraceError;
use super::input::Input;
use super::layout::Layout;
use super::lines::{
    Decoder, OnBadLine, TextDecoder, TextFormat, has_columns, is_header, read_line,
};
use super::parse::{BadField, Cursor};
use super::relations::Relations;
use super::request::Request;
use crate::Op;

pub(crate) use csv::header as csv_header;
pub use events::ACTIONS;

/// A trace format, with the information that users need to recognise and read it.
#[derive(Debug)]
pub struct Format {
    /// The name that users type after `--format`.
    pub name: &'static str,
    /// The program that writes the format, in one line.
    pub summary: &'static str,
    /// The columns or fields, left to right, with their units.
    pub columns: &'static str,
    /// An invented line of the format; empty for binary formats.
    pub example: &'static str,
    /// The properties that detection looks for.
    pub detection: &'static str,
    /// The pitfalls of the format; empty if there are none.
    pub traps: &'static str,
    /// `true` if a file has only one device, with number 0.
    pub single_device: bool,
    /// `true` if requests are a program's references to memory, not requests of a host.
    pub references: bool,
    /// Scores the start of a file: 0 if it does not fit, otherwise the number of lines or records
    /// that fit, or `MARKED`.
    pub(crate) sniff: fn(&Sample) -> usize,
    pub(crate) open: Open,
}

impl Format {
    /// The format of lines that the parser `F` reads, without a mark and with several devices. Its
    /// texts are empty.
    const fn of_lines<F: TextFormat + Default>() -> Self {
        Self {
            name: "",
            summary: "",
            columns: "",
            example: "",
            detection: "",
            traps: "",
            single_device: false,
            references: false,
            sniff: |sample| sniff_text(F::default(), sample),
            open: |input, options| open_text(F::default(), input, options),
        }
    }
}

/// The score of a file that has the mark of a format: a first line, or magic bytes. It is higher
/// than any number of lines.
const MARKED: usize = usize::MAX;

type Open = fn(Input, &ReadOptions) -> Result<Box<dyn Decoder>, TraceError>;

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// The numbers that devices get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceNumbers {
    /// The number in the trace (of the disk, LUN, volume or ASU).
    #[default]
    Native,
    /// The rank among all devices of the trace, from 0. Devices are sorted by the text of their
    /// native numbers, so that 10 comes before 2, as in the normalised copies of public traces.
    /// Ranking needs another pass over the file, unless the format has a single device. Traces in
    /// flashgc's own formats keep their numbers.
    Ranked,
}

/// Options for reading a trace.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None` detects it.
    pub format: Option<&'static Format>,
    /// The choice of what to do with bad lines.
    pub on_bad_line: OnBadLine,
    /// The native numbers of the devices to read; empty for all.
    pub devices: Vec<u32>,
    /// The choice of the numbers that devices get.
    pub device_numbers: DeviceNumbers,
    /// The action that is read from Linux block traces, one of [`ACTIONS`]; with `None`, the reader
    /// chooses.
    pub blkparse_action: Option<char>,
    /// The columns of the trace's lines, instead of a format.
    pub columns: Option<Arc<Layout>>,
    /// The places of a database's relations on its disk, for output of `pg_waldump`.
    pub relations: Option<Arc<Relations>>,
    /// The choice of what to do if times go back.
    pub disorder: Disorder,
    /// `true` if flushes are kept among the requests. Otherwise they are counted and left out.
    pub keep_flushes: bool,
}

/// All formats, with the most common ones first.
pub static FORMATS: &[&Format] = &[
    &msr::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &systor::FORMAT,
    &fiu::FORMAT,
    &spc::FORMAT,
    &blkparse::FORMAT,
    &blktrace::FORMAT,
    &ftrace::FORMAT,
    &fio::FORMAT_V1,
    &fio::FORMAT_V2,
    &fio::FORMAT_V3,
    &vscsi::FORMAT_V1,
    &vscsi::FORMAT_V2,
    &cloudphysics::FORMAT,
    &disksim::FORMAT,
    &ssdsim::FORMAT,
    &flashsim::FORMAT,
    &diskmon::FORMAT,
    &rmem::FORMAT,
    &biotracer::FORMAT,
    &srt::FORMAT,
    &wiscsee::FORMAT,
    &lackey::FORMAT,
    &pg_waldump::FORMAT,
    &csv::FORMAT,
    &native::FORMAT,
    &pages::FORMAT,
];

/// Returns the format called `name`. An unknown name is an error that suggests the nearest one.
pub fn find(name: &str) -> Result<&'static Format, SpecError> {
    FORMATS.iter().find(|format| format.name == name).copied().ok_or_else(|| {
        SpecError::new(
            format!("unknown trace format '{}'", name.escape_default()),
            suggest(name, FORMATS.iter().map(|format| format.name)),
        )
    })
}

/// The start of a file, cut into lines if it is text.
pub(crate) struct Sample<'a> {
    pub bytes: &'a [u8],
    /// `true` if the sample is the whole file.
    pub is_all: bool,
    pub lines: Vec<&'a [u8]>,
    /// Whole lines from the middle and from the end of the file; empty if they are not known.
    pub later: Vec<u8>,
}

impl<'a> Sample<'a> {
    /// The number of lines that detection uses. A few hundred take almost no time.
    const LINES: usize = 300;

    pub fn new(bytes: &'a [u8], is_all: bool) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // The last line of a sample may be incomplete, so it is used only if there is no other.
        let cut = if is_all { None } else { memchr::memrchr(b'\n', text) };
        let lines = text[..cut.unwrap_or(text.len())]
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .take(Self::LINES)
            .collect();
        Self { bytes, is_all, lines, later: Vec::new() }
    }
}

/// Scores a text format: half of the lines must parse, and some of them must be requests.
fn sniff_text<F: TextFormat>(format: F, sample: &Sample) -> usize {
    sniff_lines(format, sample).len()
}

/// Returns the sample's lines that are requests in this format; an empty list if most lines do not
/// parse.
fn sniff_lines<'a, F: TextFormat>(mut format: F, sample: &Sample<'a>) -> Vec<&'a [u8]> {
    let (mut good, mut bad) = (Vec::new(), 0);
    let mut ignored = 0;
    for (number, line) in sample.lines.iter().enumerate() {
        match read_line(&mut format, line) {
            Ok(Some(_)) => good.push(*line),
            // A number out of range is an error of that line, not evidence of another format.
            Err(bad) if bad.range && has_columns(&format, line) => good.push(*line),
            Ok(None) => ignored += 1,
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) if format.is_names(line) => {}
            // If the names are not those of this format, they are evidence against it, even if the
            // lines below fit.
            Err(_) if number == 0 && F::COMMA && is_header::<F>(line) => return Vec::new(),
            Err(_) => bad += 1,
        }
    }
    if good.len() + ignored >= bad { good } else { Vec::new() }
}

fn open_text<F: TextFormat>(
    format: F,
    input: Input,
    options: &ReadOptions,
) -> Result<Box<dyn Decoder>, TraceError> {
    Ok(Box::new(TextDecoder::new(input, format, options.on_bad_line)))
}

/// A number, the bytes of its unit, and its position in the line.
#[derive(Clone, Copy)]
pub(crate) struct Scaled {
    pub value: u64,
    pub unit: u64,
    pub at: usize,
}

/// Parses a whole number of units.
#[inline]
fn scaled(at: &mut Cursor<'_>, unit: u64, expected: &'static str) -> Result<Scaled, BadField> {
    let start = at.at;
    Ok(Scaled { value: at.integer(expected)?, unit, at: start })
}

const SECTOR: u64 = 512;

/// The limits of offsets and sizes in every format, as error messages name them.
const OFFSET_FITS: &str = "an offset below 2^63 bytes";
const END_FITS: &str = "offset + size of at most 2^63 bytes";
const TRANSFER_FITS: &str = "a size of at most 4 GiB (only discards may be larger)";

/// Makes a request and checks that it ends at or below byte 2^63.
#[inline]
pub(crate) fn request(
    time_ns: u64,
    op: Op,
    device: u32,
    offset: Scaled,
    size: Scaled,
) -> Result<Option<Request>, BadField> {
    let first = offset
        .value
        .checked_mul(offset.unit)
        .and_then(|bytes| i64::try_from(bytes).ok())
        .ok_or(BadField::range(offset.at, OFFSET_FITS))?;
    let bytes = size.value.checked_mul(size.unit).ok_or(BadField::range(size.at, END_FITS))?;
    check(time_ns, op, device, first, bytes, size.at)
}

/// Makes a request like [`request`], but allows a negative offset.
#[inline]
pub(crate) fn check(
    time_ns: u64,
    op: Op,
    device: u32,
    offset: i64,
    size: u64,
    size_at: usize,
) -> Result<Option<Request>, BadField> {
    if offset.checked_add_unsigned(size).is_none() {
        return Err(BadField::range(size_at, END_FITS));
    }
    if size > Request::MAX_TRANSFER && op != Op::Trim {
        return Err(BadField::range(size_at, TRANSFER_FITS));
    }
    Ok(Some(Request { time_ns, offset, size, device, op, ..Request::default() }))
}

/// Returns the operation that a word or letter means.
#[inline]
pub(crate) fn operation(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" => Some(Op::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" => Some(Op::Write),
        b"D" | b"d" | b"T" | b"Discard" | b"discard" | b"Trim" | b"trim" => Some(Op::Trim),
        _ => None,
    }
}

/// Returns the operation that a word means, with or without blanks around it.
pub fn operation_of(word: &str) -> Option<Op> {
    operation(word.trim().as_bytes())
}

/// Returns the operation of a SCSI command; `None` if it moves no data, or if its blocks are not in
/// the command itself (UNMAP).
pub(crate) fn scsi_operation(opcode: u16) -> Option<Op> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // The last three codes are WRITE AND VERIFY, which writes like WRITE.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        _ => None,
    }
}
