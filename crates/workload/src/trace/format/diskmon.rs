//! DiskMon logs (Sysinternals). Reads lines; knows nothing of files.

use super::{Format, SECTOR, operation, request, scaled};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "diskmon",
    summary: "DiskMon logs (Sysinternals, Windows)",
    columns: "sequence number, time (s), duration (s), disk, Read or Write, sector (512 B), \
              sectors",
    example: "2\t0.016300\t0.00038000\t0\tWrite\t16000\t8",
    detection: "7 blank-separated columns, the fifth Read or Write",
    traps: "lines end in a tab and a carriage return; times may go backwards by a little",
    ..Format::of_lines::<DiskMon>()
};

#[derive(Default)]
struct DiskMon;

impl TextFormat for DiskMon {
    const COLUMNS: &'static [&'static str] =
        &["sequence", "time", "duration", "disk", "type", "sector", "length"];
    const COMMA: bool = false;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        at.integer("a sequence number")?;
        at.blank("a blank after the sequence number")?;
        let time_ns = at.time(SECONDS, "a time in seconds")?;
        at.blank("a blank after the time")?;
        at.word();
        at.blank("a blank after the duration")?;
        let disk = at.small("a disk number below 2^32")?;
        at.blank("a blank after the disk")?;
        let bad = BadField::new(at.at, "Read or Write");
        let op = operation(at.word()).ok_or(bad)?;
        at.blank("a blank after the type")?;
        let sector = scaled(&mut at, SECTOR, "a sector number")?;
        at.blank("a blank after the sector")?;
        let length = scaled(&mut at, SECTOR, "a number of sectors")?;
        at.end("the end of the line after the length")?;
        request(time_ns, op, disk, sector, length)
    }
}
