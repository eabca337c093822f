//! VMware vSCSI binary traces (CloudPhysics), versions 1 and 2. Decodes records of fixed size;
//! knows nothing of files.

use std::marker::PhantomData;

use super::records::{BadValue, ByteOrder, RecordFormat, Records};
use super::{Format, SECTOR, Sample, Scaled, request, scsi_operation};
use crate::trace::Request;
use crate::trace::error::TraceError;
use crate::trace::format::ReadOptions;
use crate::trace::input::Input;
use crate::trace::lines::Decoder;
use crate::trace::parse::BadField;

pub(super) static FORMAT_V1: Format = Format {
    name: "vscsi1",
    summary: "vSCSI binary, version 1 (CloudPhysics)",
    columns: "little-endian records of 32 bytes: u32 serial number, u32 length (bytes), u32 \
              scatter-gather elements, u16 SCSI command, u16 version (high byte 1), u64 LBN (512 \
              B), u64 time (us)",
    example: "",
    detection: "the version of the first records, at byte 14 of 32, is 1, with a known SCSI \
                command",
    traps: "commands other than reads and writes are ignored; guests with a 63-sector \
            partition need 512 bytes added to every offset to be aligned (--alignment-offset 512B)",
    single_device: true,
    references: false,
    sniff: |sample| sniff::<V1>(sample),
    open: open::<V1>,
};

pub(super) static FORMAT_V2: Format = Format {
    name: "vscsi2",
    summary: "vSCSI binary, version 2 (CloudPhysics)",
    columns: "little-endian records of 40 bytes: u16 SCSI command, u16 version (high byte 2), \
              u32 serial number, u32 length (bytes), u32 scatter-gather elements, u64 LBN (512 \
              B), u64 time (us), u64 response time (us)",
    example: "",
    detection: "the version of the first records, at byte 2 of 40, is 2, with a known SCSI \
                command",
    traps: "commands other than reads and writes are ignored",
    single_device: true,
    references: false,
    sniff: |sample| sniff::<V2>(sample),
    open: open::<V2>,
};

/// The offsets of a record's fields in one version, in bytes.
trait Layout: Send + 'static {
    const NAME: &'static str;
    const VERSION: u8;
    const RECORD: usize;
    const COMMAND: usize;
    const LENGTH: usize;
    const LBN: usize;
    const TIME: usize;
}

struct V1;

impl Layout for V1 {
    const NAME: &'static str = "vscsi1";
    const VERSION: u8 = 1;
    const RECORD: usize = 32;
    const COMMAND: usize = 12;
    const LENGTH: usize = 4;
    const LBN: usize = 16;
    const TIME: usize = 24;
}

struct V2;

impl Layout for V2 {
    const NAME: &'static str = "vscsi2";
    const VERSION: u8 = 2;
    const RECORD: usize = 40;
    const COMMAND: usize = 0;
    const LENGTH: usize = 8;
    const LBN: usize = 16;
    const TIME: usize = 24;
}

const ORDER: ByteOrder = ByteOrder::Little;

#[inline]
fn parse<L: Layout>(record: &[u8]) -> Result<Option<Request>, BadField> {
    if record[L::COMMAND + 3] != L::VERSION {
        return Err(BadField::new(L::COMMAND + 2, "the version of the other records"));
    }
    let Some(op) = scsi_operation(ORDER.u16_at(record, L::COMMAND)) else { return Ok(None) };
    let time_ns = ORDER
        .u64_at(record, L::TIME)
        .checked_mul(1000)
        .ok_or(BadField::new(L::TIME, "a time below 2^64 nanoseconds"))?;
    let offset = Scaled { value: ORDER.u64_at(record, L::LBN), unit: SECTOR, at: L::LBN };
    let size = Scaled { value: ORDER.u32_at(record, L::LENGTH).into(), unit: 1, at: L::LENGTH };
    request(time_ns, op, 0, offset, size)
}

/// Returns the number of records of the sample that are requests; 0 if most records are not.
fn sniff<L: Layout>(sample: &Sample) -> usize {
    let records = sample.bytes.chunks_exact(L::RECORD).take(300);
    let total = records.len();
    let good = records.filter(|record| matches!(parse::<L>(record), Ok(Some(_)))).count();
    if good * 2 > total { good } else { 0 }
}

fn open<L: Layout>(input: Input, options: &ReadOptions) -> Result<Box<dyn Decoder>, TraceError> {
    Records::open(input, Vscsi::<L>(PhantomData), options.on_bad_line, 0)
}

/// The parser of the records of one version.
struct Vscsi<L>(PhantomData<L>);

impl<L: Layout> RecordFormat for Vscsi<L> {
    const NAME: &'static str = L::NAME;
    const LEAST: usize = L::RECORD;

    fn length(&self, _: &[u8]) -> Result<usize, BadValue> {
        Ok(L::RECORD)
    }

    fn parse(&mut self, record: &[u8]) -> Result<Option<Request>, BadField> {
        parse::<L>(record)
    }

    fn number(&self, record: &[u8], at: usize) -> u64 {
        match at {
            at if at == L::TIME || at == L::LBN => ORDER.u64_at(record, at),
            at if at == L::LENGTH => ORDER.u32_at(record, at).into(),
            _ => record[L::COMMAND + 3].into(),
        }
    }
}
