//! Tencent CBS block traces (2018). Reads lines; knows nothing of files.

use super::{Format, SECTOR, request, scaled};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent cloud block storage (CBS) 2018, thousands of volumes in one stream",
    columns: "timestamp (s), offset (512-B sectors), size (512-B sectors), 0 read or 1 write, \
              volume",
    example: "1538323200,16000,128,0,1000",
    detection: "5 comma-separated whole numbers, the fourth 0 or 1",
    traps: "times have whole seconds only and are kept as they are; use the trace for counting, \
            not for latency",
    sniff: |sample| {
        let lines = super::sniff_lines(Tencent, sample);
        let whole = lines.iter().all(|line| !line.contains(&b'.'));
        if whole { lines.len() } else { 0 }
    },
    ..Format::of_lines::<Tencent>()
};

#[derive(Default)]
struct Tencent;

impl TextFormat for Tencent {
    const COLUMNS: &'static [&'static str] = &["timestamp", "offset", "size", "type", "volume"];
    const COMMA: bool = true;
    const NAMES: &'static [&'static str] =
        &["timestamp_s", "offset_sectors", "size_sectors", "is_write", "volume"];

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let time_ns = at.time(SECONDS, "a timestamp in seconds")?;
        at.comma("a comma after the timestamp")?;
        let offset = scaled(&mut at, SECTOR, "an offset, a whole number of sectors")?;
        at.comma("a comma after the offset")?;
        let size = scaled(&mut at, SECTOR, "a size, a whole number of sectors")?;
        at.comma("a comma after the size")?;
        let bad = BadField::new(at.at, "0 (read) or 1 (write)");
        let op = match at.csv_field() {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(bad),
        };
        at.comma("a comma after the type")?;
        let volume = at.small("a volume number below 2^32")?;
        at.end("the end of the line after the volume")?;
        request(time_ns, op, volume, offset, size)
    }
}
