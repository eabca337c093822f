//! SSDSim and MQSim ASCII traces. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "ssdsim",
    summary: "SSDSim and MQSim ASCII",
    columns: "time (ns), device, LBA (512-B sectors), size (sectors), 0 write or 1 read",
    example: "938500000 4 16000 16 0",
    detection: "5 blank-separated whole numbers, the last 0 or 1",
    traps: "0 is the write, unlike in most formats",
    single_device: false,
    sniff: |sample| super::sniff_text(SsdSim, sample),
    open: |input, options| super::open_text(SsdSim, input, options),
};

struct SsdSim;

impl TextFormat for SsdSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "lba", "size", "type"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let time_ns = at.integer("a time, a whole number of nanoseconds")?;
        at.blank("a blank after the time (a whole number of nanoseconds)")?;
        let device = at.small("a device number below 2^32")?;
        at.blank("a blank after the device")?;
        let lba_at = at.at;
        let lba = at.integer("an LBA, a whole number of sectors")?;
        at.blank("a blank after the LBA")?;
        let size_at = at.at;
        let size = at.integer("a size, a whole number of sectors")?;
        at.blank("a blank after the size")?;
        let bad = BadField::new(at.at, "0 (write) or 1 (read)");
        let op = match at.word() {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err(bad),
        };
        at.end("the end of the line after the type")?;
        let offset = Scaled { value: lba, unit: SECTOR, at: lba_at };
        request(time_ns, op, device, offset, Scaled { value: size, unit: SECTOR, at: size_at })
    }
}
