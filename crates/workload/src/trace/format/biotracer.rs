//! BIOtracer logs of Android phones. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "biotracer",
    summary: "BIOtracer logs (eMMC of Android phones, for example Nexus 5)",
    columns: "LBA (512-B sectors), sectors, bytes, type (bit 0: write), four times (s): generated, \
              fetched, issued, finished",
    example: "16000 96 49152 5 1398396800.168 1398396800.169 1398396800.170 1398396800.172",
    detection: "8 blank-separated columns of which the last four are times with a fraction",
    traps: "bit 2 of the type marks synchronous requests; the size is taken from the bytes column, \
            which the sectors must match; the time is the first of the four",
    single_device: true,
    ..Format::of_lines::<BioTracer>()
};

#[derive(Default)]
struct BioTracer;

impl TextFormat for BioTracer {
    const COLUMNS: &'static [&'static str] =
        &["lba", "sectors", "bytes", "type", "generated", "fetched", "issued", "finished"];
    const COMMA: bool = false;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let lba_at = at.at;
        let lba = at.integer("an LBA, a whole number of sectors")?;
        at.blank("a blank after the LBA")?;
        let sectors = at.integer("a number of sectors")?;
        at.blank("a blank after the sectors")?;
        let bytes_at = at.at;
        let bytes = at.integer("a number of bytes")?;
        if sectors.checked_mul(SECTOR) != Some(bytes) {
            return at.bad(bytes_at, "512 times the number of sectors");
        }
        at.blank("a blank after the bytes")?;
        let kind = at.small("a type, a whole number")?;
        at.blank("a blank after the type")?;
        let time_ns = at.time(SECONDS, "a time in seconds")?;
        for _ in 0..3 {
            at.blank("four times in seconds")?;
            at.time(SECONDS, "a time in seconds")?;
        }
        at.end("the end of the line after the last time")?;
        let op = if kind & 1 == 1 { Op::Write } else { Op::Read };
        let offset = Scaled { value: lba, unit: SECTOR, at: lba_at };
        request(time_ns, op, 0, offset, Scaled { value: bytes, unit: 1, at: bytes_at })
    }
}
