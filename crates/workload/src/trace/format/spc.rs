//! SPC traces (UMass: Financial, WebSearch). Reads lines; knows nothing of files.

use super::{Format, SECTOR, operation, request, scaled};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "spc",
    summary: "Storage Performance Council traces (UMass repository: Financial, WebSearch)",
    columns: "ASU, LBA (512-B sectors), size (bytes), R or W in either case, time (s), optional \
              fields",
    example: "0,16000,8192,W,0.550000",
    detection: "5 or more comma-separated columns, the fourth R or W",
    traps: "the LBA counts sectors but the size bytes; each ASU (application storage unit) is an \
            address space, and here a device, of its own",
    ..Format::of_lines::<Spc>()
};

#[derive(Default)]
struct Spc;

impl TextFormat for Spc {
    const COLUMNS: &'static [&'static str] = &["asu", "lba", "size", "opcode", "timestamp"];
    const COMMA: bool = true;
    const NAMES: &'static [&'static str] =
        &["asu", "lba_sectors", "size_bytes", "opcode", "timestamp_s"];
    const MORE_COLUMNS: bool = true;

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let asu = at.small("an ASU number below 2^32")?;
        at.comma("a comma after the ASU")?;
        at.skip_blanks();
        let lba = scaled(&mut at, SECTOR, "an LBA, a whole number of sectors")?;
        at.comma("a comma after the LBA")?;
        at.skip_blanks();
        let size = scaled(&mut at, 1, "a size, a whole number of bytes")?;
        at.comma("a comma after the size")?;
        let bad = BadField::new(at.at, "R or W");
        let op = operation(at.csv_field()).ok_or(bad)?;
        at.comma("a comma after the opcode")?;
        at.skip_blanks();
        let time_ns = at.time(SECONDS, "a time in seconds")?;
        if at.peek().is_some() {
            at.skip_blanks();
            if at.peek().is_some_and(|byte| byte != b',') {
                return at.bad(at.at, "a comma or the end of the line after the time");
            }
        }
        request(time_ns, op, asu, lba, size)
    }
}
