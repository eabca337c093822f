//! VMware vSCSI binary traces (CloudPhysics), versions 1 and 2. Decodes records of fixed size.

use super::{Format, SECTOR, Sample, Scaled, request, scsi_operation};
use crate::trace::Request;
use crate::trace::error::{Fault, Place, TraceError};
use crate::trace::input::Input;
use crate::trace::lines::Decoder;
use crate::trace::parse::BadField;
use crate::trace::reader::{OnBadLine, ReadOptions};

pub(super) static FORMAT_V1: Format = Format {
    name: "vscsi1",
    summary: "vSCSI binary, version 1 (CloudPhysics)",
    columns: "little-endian records of 32 bytes: u32 serial number, u32 length (bytes), u32 \
              scatter-gather elements, u16 SCSI command, u16 version (high byte 1), u64 LBN (512 \
              B), u64 time (us)",
    example: "",
    detection: "the version of the first records, at byte 14 of 32, is 1, with a known SCSI \
                command",
    traps: "commands other than reads and writes are passed over; guests with a 63-sector \
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
    traps: "commands other than reads and writes are passed over",
    single_device: true,
    references: false,
    sniff: |sample| sniff::<V2>(sample),
    open: open::<V2>,
};

/// Where a version keeps its fields.
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

#[inline]
fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

#[inline]
fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from(u16_at(record, at)) | u32::from(u16_at(record, at + 2)) << 16
}

#[inline]
fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at)) | u64::from(u32_at(record, at + 4)) << 32
}

#[inline]
fn parse<L: Layout>(record: &[u8]) -> Result<Option<Request>, BadField> {
    if record[L::COMMAND + 3] != L::VERSION {
        return Err(BadField::new(L::COMMAND + 2, "the version of the other records"));
    }
    let Some(op) = scsi_operation(u16_at(record, L::COMMAND)) else { return Ok(None) };
    let time_ns = u64_at(record, L::TIME)
        .checked_mul(1000)
        .ok_or(BadField::new(L::TIME, "a time below 2^64 nanoseconds"))?;
    let offset = Scaled { value: u64_at(record, L::LBN), unit: SECTOR, at: L::LBN };
    let size = Scaled { value: u32_at(record, L::LENGTH).into(), unit: 1, at: L::LENGTH };
    request(time_ns, op, 0, offset, size)
}

/// Records of the sample that are requests, if most of them are.
fn sniff<L: Layout>(sample: &Sample) -> usize {
    let records = sample.bytes.chunks_exact(L::RECORD).take(300);
    let total = records.len();
    let good = records.filter(|record| matches!(parse::<L>(record), Ok(Some(_)))).count();
    if good * 2 > total { good } else { 0 }
}

fn open<L: Layout>(input: Input, options: &ReadOptions) -> Result<Box<dyn Decoder>, TraceError> {
    Ok(Box::new(Records::<L> {
        input,
        on_bad_line: options.on_bad_line,
        buffer: vec![0; L::RECORD * RECORDS],
        record: 0,
        skipped: 0,
        ignored: 0,
        layout: std::marker::PhantomData,
    }))
}

/// Records read at a time.
const RECORDS: usize = 4096;

struct Records<L> {
    input: Input,
    on_bad_line: OnBadLine,
    buffer: Vec<u8>,
    /// Records read so far.
    record: u64,
    skipped: u64,
    ignored: u64,
    layout: std::marker::PhantomData<L>,
}

impl<L: Layout> Records<L> {
    fn error(&self, fault: Fault, message: String, hint: &str) -> TraceError {
        let byte = self.record * L::RECORD as u64;
        TraceError::new(&self.input.path, fault, message)
            .at(Place::Record { record: self.record + 1, byte })
            .hint(hint)
    }
}

impl<L: Layout> Decoder for Records<L> {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        let before = out.len();
        while out.len() == before {
            let filled = self.input.fill(&mut self.buffer)?;
            if filled == 0 {
                return Ok(false);
            }
            let records = self.buffer[..filled].chunks_exact(L::RECORD);
            let torn = records.remainder().len();
            out.reserve(records.len());
            for record in records {
                match parse::<L>(record) {
                    Ok(Some(request)) => out.push(request),
                    Ok(None) => self.ignored += 1,
                    Err(_) if self.on_bad_line == OnBadLine::Skip => self.skipped += 1,
                    Err(bad) => {
                        let found = match bad.at {
                            at if at == L::TIME || at == L::LBN => u64_at(record, at),
                            at if at == L::LENGTH => u32_at(record, at).into(),
                            _ => record[L::COMMAND + 3].into(),
                        };
                        let message = format!(
                            "found {found} at byte {} of the record, expected {}",
                            bad.at, bad.expected
                        );
                        let hint = "--on-bad-line skip counts and skips such records";
                        return Err(self.error(Fault::BadRecord, message, hint));
                    }
                }
                self.record += 1;
            }
            if torn > 0 {
                if self.on_bad_line == OnBadLine::Stop {
                    let message = format!(
                        "found {torn} bytes, expected a {} record of {} bytes: the file is cut off",
                        L::NAME,
                        L::RECORD
                    );
                    let hint = "fetch the file again, or --on-bad-line skip leaves the rest out";
                    return Err(self.error(Fault::Damaged, message, hint));
                }
                self.skipped += 1;
            }
        }
        Ok(true)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn ignored(&self) -> u64 {
        self.ignored
    }

    fn position(&self) -> u64 {
        self.input.position
    }
}
