//! SRT traces of HP Labs (cello 1992 and others). Decodes records; knows nothing of files.

use super::records::{BadValue, ByteOrder, RecordFormat, Records, fetch_again, leave_out_the_rest};
use super::{Format, SECTOR, Sample, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::TraceError;
use crate::trace::format::ReadOptions;
use crate::trace::input::Input;
use crate::trace::lines::Decoder;
use crate::trace::parse::BadField;

pub(super) static FORMAT: Format = Format {
    name: "srt",
    summary: "HP Labs SRT binary, record versions 1 to 4 (cello 1992 and others)",
    columns: "a text header with a tracedate line that ends with a form feed (may be missing), then \
              big-endian u32 fields: bytes in the record, version * 65536 + type (1 I/O, 4 suspect \
              I/O), time (s), time (us), start and stop of the I/O (us after that time), size \
              (bytes), sector (512 B), device, driver, cylinder, flags (bit 0: read), origin; from \
              version 4 the length of the queue; of a suspect I/O its error flags",
    example: "",
    detection: "a text header with a tracedate line and a form feed, or a first record of 52 to 60 \
                bytes of a known version and type",
    traps: "the layout is the one that DiskSim reads, and so is the unit of sectors, 512 bytes. \
            Suspect I/Os are ignored, as there. Times are since the start of the trace. The \
            device is the device number without its lowest 8 bits, which name a partition: sectors \
            count from the start of the disk. Versions from 5 on (later cello traces) have other \
            fields, of which no description is public, and are refused",
    single_device: false,
    references: false,
    sniff,
    open,
};

/// The offsets of a record's fields, in bytes.
const ID: usize = 4;
const SECONDS: usize = 8;
const MICROSECONDS: usize = 12;
const SIZE: usize = 24;
const SECTOR_AT: usize = 28;
const DEVICE: usize = 32;
const FLAGS: usize = 44;

/// The types of records.
const IO: u32 = 1;
const SUSPECT: u32 = 4;
/// The bit that marks a read.
const READ: u32 = 1;

struct Srt;

/// Returns the big-endian number of four bytes at `at`.
fn u32_at(record: &[u8], at: usize) -> u32 {
    ByteOrder::Big.u32_at(record, at)
}

impl RecordFormat for Srt {
    const NAME: &'static str = "srt";
    const LEAST: usize = 52;

    fn length(&self, head: &[u8]) -> Result<usize, BadValue> {
        let (length, id) = (u32_at(head, 0), u32_at(head, ID));
        let (version, kind) = (id >> 16, id & 0xffff);
        if !(1..=4).contains(&version) {
            return Err(BadValue {
                value: format!("a record of version {version}"),
                expected: "version 1 to 4",
                hint: format!("convert the trace with HP's tools, or {}", leave_out_the_rest()),
            });
        }
        if ![IO, SUSPECT].contains(&kind) {
            return Err(BadValue {
                value: format!("a record of type {kind}"),
                expected: "type 1 (I/O) or 4 (suspect I/O)",
                hint: fetch_again(),
            });
        }
        let whole = Self::LEAST + 4 * (usize::from(version == 4) + usize::from(kind == SUSPECT));
        if length as usize != whole {
            return Err(BadValue {
                value: format!("a length of {length} bytes"),
                expected: "52, 4 more in version 4, 4 more for a suspect I/O",
                hint: fetch_again(),
            });
        }
        Ok(whole)
    }

    fn parse(&mut self, record: &[u8]) -> Result<Option<Request>, BadField> {
        if u32_at(record, ID) & 0xffff == SUSPECT {
            return Ok(None);
        }
        let microseconds = u32_at(record, MICROSECONDS);
        if microseconds >= 1_000_000 {
            return Err(BadField::new(MICROSECONDS, "less than 1000000 microseconds"));
        }
        let time_ns =
            u64::from(u32_at(record, SECONDS)) * 1_000_000_000 + u64::from(microseconds) * 1000;
        let op = if u32_at(record, FLAGS) & READ != 0 { Op::Read } else { Op::Write };
        let sector = u32_at(record, SECTOR_AT).into();
        let offset = Scaled { value: sector, unit: SECTOR, at: SECTOR_AT };
        let size = Scaled { value: u32_at(record, SIZE).into(), unit: 1, at: SIZE };
        request(time_ns, op, u32_at(record, DEVICE) >> 8, offset, size)
    }

    fn number(&self, record: &[u8], at: usize) -> u64 {
        u32_at(record, at).into()
    }
}

/// Returns the length of the header in bytes, with the form feed that ends it; `None` if there is
/// no header.
fn header(sample: &[u8]) -> Option<usize> {
    const FORM_FEED: u8 = 0x0c;
    let end = memchr::memchr(FORM_FEED, sample)?;
    memchr::memmem::find(&sample[..end], b"tracedate").map(|_| end + 1)
}

fn sniff(sample: &Sample) -> usize {
    match header(sample.bytes) {
        // A header of an unsupported version also counts, so that opening the file gives the right
        // error.
        Some(_) => super::MARKED,
        None => super::records::sniff(Srt, sample.bytes),
    }
}

fn open(input: Input, options: &ReadOptions) -> Result<Box<dyn Decoder>, TraceError> {
    let records = header(input.sample()).unwrap_or(0);
    Records::open(input, Srt, options.on_bad_line, records)
}
