//! Alibaba cloud block traces (2020). Reads lines; knows nothing of files.

use super::{Format, operation, request, scaled};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};

pub(super) static FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba block traces 2020, 1000 virtual disks in one stream",
    columns: "device, R or W, offset (bytes), length (bytes), timestamp (us)",
    example: "419,W,8192000,16384,1577808000000100",
    detection: "5 comma-separated columns, the second R or W",
    traps: "many devices are mixed; --devices 3,419 reads some of them",
    ..Format::of_lines::<Alibaba>()
};

#[derive(Default)]
struct Alibaba;

impl TextFormat for Alibaba {
    const COLUMNS: &'static [&'static str] = &["device", "opcode", "offset", "length", "timestamp"];
    const COMMA: bool = true;
    const NAMES: &'static [&'static str] =
        &["device", "opcode", "offset_bytes", "length_bytes", "timestamp_us"];

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let device = at.small("a device number below 2^32")?;
        at.comma("a comma after the device")?;
        let bad = BadField::new(at.at, "R or W");
        let op = operation(at.csv_field()).ok_or(bad)?;
        at.comma("a comma after the opcode")?;
        let offset = scaled(&mut at, 1, "an offset, a whole number of bytes")?;
        at.comma("a comma after the offset")?;
        let size = scaled(&mut at, 1, "a length, a whole number of bytes")?;
        at.comma("a comma after the length")?;
        let time_ns = at.time(MICROSECONDS, "a timestamp in microseconds")?;
        at.end("the end of the line after the timestamp")?;
        request(time_ns, op, device, offset, size)
    }
}
