//! The formats, one file each, and the list of them. The list feeds detection, help, the
//! documentation's check and the tests; a new format needs its file and its line here.

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

/// A trace format, with the information that people need to recognise and read it.
#[derive(Debug)]
pub struct Format {
    /// The name that people type after `--format`.
    pub name: &'static str,
    /// The writer of the format, in one line.
    pub summary: &'static str,
    /// The columns or fields, left to right, with their units.
    pub columns: &'static str,
    /// A made-up line of the format; empty for binary formats.
    pub example: &'static str,
    /// The marks that detection looks for.
    pub detection: &'static str,
    /// The surprises of the format; empty if there are none.
    pub traps: &'static str,
    /// `true` if a file holds one device only, numbered 0.
    pub single_device: bool,
    /// `true` if requests are a program's references to memory, not a host's to a drive.
    pub references: bool,
    /// Scores the start of a file: 0 if it does not fit, else the number of lines or records that do, or
    /// `MARKED`.
    pub(crate) sniff: fn(&Sample) -> usize,
    pub(crate) open: Open,
}

impl Format {
    /// The format of lines without marks of their own, of several devices' requests. Its texts are empty.
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

/// The score of a file with a format's own mark, a first line or magic bytes. It beats any number of
/// lines.
const MARKED: usize = usize::MAX;

type Open = fn(Input, &ReadOptions) -> Result<Box<dyn Decoder>, TraceError>;

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// The number that a request's device gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceNumbers {
    /// The number in the trace (disk, LUN, volume, ASU).
    #[default]
    Native,
    /// The rank, from 0, among all devices of the trace, sorted by the text of their native numbers (so
    /// 10 comes before 2), as in the normalised copies of public traces. Ranking reads the file once
    /// more, unless the format has a single device. Traces in our own formats keep their numbers.
    Ranked,
}

/// Options for reading a trace.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None` detects it.
    pub format: Option<&'static Format>,
    /// The treatment of bad lines.
    pub on_bad_line: OnBadLine,
    /// The native numbers of the devices to read; empty for all.
    pub devices: Vec<u32>,
    /// The numbers that devices get.
    pub device_numbers: DeviceNumbers,
    /// The action that is read from Linux block traces, one of
    /// [`ACTIONS`]; `None` chooses.
    pub blkparse_action: Option<char>,
    /// The columns of the trace's lines, in place of a format.
    pub columns: Option<Arc<Layout>>,
    /// The places of a database's relations on its disk, for logs of `pg_waldump`.
    pub relations: Option<Arc<Relations>>,
    /// The treatment of times that go back.
    pub disorder: Disorder,
    /// `true` if flushes are among the requests. Else they are counted and left out.
    pub keep_flushes: bool,
}

/// Every format, the most common ones first.
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
    /// `true` if the file has no more.
    pub is_all: bool,
    pub lines: Vec<&'a [u8]>,
    /// Whole lines from the middle and from the end of the file, if they are known.
    pub later: Vec<u8>,
}

impl<'a> Sample<'a> {
    /// The number of lines that tell formats apart. A few hundred take no time.
    const LINES: usize = 300;

    pub fn new(bytes: &'a [u8], is_all: bool) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // The last line of a sample may be cut; it is only used if there is no other.
        let cut = if is_all { None } else { memchr::memrchr(b'\n', text) };
        let lines = text[..cut.unwrap_or(text.len())]
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .take(Self::LINES)
            .collect();
        Self { bytes, is_all, lines, later: Vec::new() }
    }
}

/// Scores a text format: half of the lines must parse, and some must be requests.
fn sniff_text<F: TextFormat>(format: F, sample: &Sample) -> usize {
    sniff_lines(format, sample).len()
}

/// Returns the sample's lines that are requests in this format; none if most lines do not parse.
fn sniff_lines<'a, F: TextFormat>(mut format: F, sample: &Sample<'a>) -> Vec<&'a [u8]> {
    let (mut good, mut bad) = (Vec::new(), 0);
    let mut ignored = 0;
    for (number, line) in sample.lines.iter().enumerate() {
        match read_line(&mut format, line) {
            Ok(Some(_)) => good.push(*line),
            // A number out of range is an error of that line, not a sign of another format.
            Err(bad) if bad.range && has_columns(&format, line) => good.push(*line),
            Ok(None) => ignored += 1,
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) if format.is_names(line) => {}
            // Names that are not this format's are evidence against it, whatever the shape below them.
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

/// A number with its unit in bytes and its place in the line.
#[derive(Clone, Copy)]
pub(crate) struct Scaled {
    pub value: u64,
    pub unit: u64,
    pub at: usize,
}

/// Reads a whole number of units.
#[inline]
fn scaled(at: &mut Cursor<'_>, unit: u64, expected: &'static str) -> Result<Scaled, BadField> {
    let start = at.at;
    Ok(Scaled { value: at.integer(expected)?, unit, at: start })
}

const SECTOR: u64 = 512;

/// The bounds of offsets and sizes in every format, as messages name them.
const OFFSET_FITS: &str = "an offset below 2^63 bytes";
const END_FITS: &str = "offset + size of at most 2^63 bytes";
const TRANSFER_FITS: &str = "a size of at most 4 GiB (only discards may be larger)";

/// Makes a request and checks that it lies inside 2^63 bytes.
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

/// Makes a request like [`request`], from an offset that may be negative.
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

/// Returns the operation that a word or letter names.
#[inline]
pub(crate) fn operation(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" => Some(Op::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" => Some(Op::Write),
        b"D" | b"d" | b"T" | b"Discard" | b"discard" | b"Trim" | b"trim" => Some(Op::Trim),
        _ => None,
    }
}

/// Returns the operation that a word names, with or without blanks around it.
pub fn operation_of(word: &str) -> Option<Op> {
    operation(word.trim().as_bytes())
}

/// Returns the operation of a SCSI command. `None` if it moves no data, or if its blocks are not in the
/// command itself (UNMAP).
pub(crate) fn scsi_operation(opcode: u16) -> Option<Op> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // The last three are WRITE AND VERIFY, which writes as WRITE does.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        _ => None,
    }
}
