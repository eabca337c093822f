//! SYSTOR '17 traces (enterprise virtual desktops). Reads lines; knows nothing of files.

use super::{Format, operation, request, scaled};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "systor",
    summary: "SYSTOR '17 virtual desktop traces, one file an hour and LUN",
    columns: "timestamp (s), response time (s), R or W or blank, LUN, offset (bytes), size (bytes)",
    example: "1456095100.100000000,0.000800000,R,0,8192000,131072",
    detection: "6 comma-separated columns, the third R, W or blank",
    traps: "lines with a blank type are no requests and are ignored; the clock is UTC+9; the \
            first line may name the columns",
    ..Format::of_lines::<Systor>()
};

#[derive(Default)]
struct Systor;

impl TextFormat for Systor {
    const COLUMNS: &'static [&'static str] =
        &["timestamp", "response", "type", "lun", "offset", "size"];
    const COMMA: bool = true;
    const NAMES: &'static [&'static str] =
        &["timestamp_s", "response", "type", "lun", "offset_bytes", "size_bytes"];

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let time_ns = at.time(SECONDS, "a timestamp in seconds")?;
        at.comma("a comma after the timestamp")?;
        at.csv_field();
        at.comma("a comma after the response time")?;
        let bad = BadField::new(at.at, "R, W or a blank");
        let word = at.csv_field();
        at.comma("a comma after the type")?;
        let lun = at.small("a LUN below 2^32")?;
        at.comma("a comma after the LUN")?;
        let offset = scaled(&mut at, 1, "an offset, a whole number of bytes")?;
        at.comma("a comma after the offset")?;
        let size = scaled(&mut at, 1, "a size, a whole number of bytes")?;
        at.end("the end of the line after the size")?;
        if word.is_empty() {
            return Ok(None);
        }
        let op = operation(word).ok_or(bad)?;
        request(time_ns, op, lun, offset, size)
    }
}
