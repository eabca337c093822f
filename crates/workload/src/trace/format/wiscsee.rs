//! Summaries of blkparse output that WiscSee writes. Reads lines; knows nothing of files.

use super::{Format, check, operation};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "wiscsee",
    summary: "WiscSee's digest of blkparse output",
    columns: "process id, action (D or C), read or write or discard, offset (bytes), size (bytes), \
              time (s), time since the previous (s), synchronous (True or False)",
    example: "100 D discard 8192000 4096 0.023600000 0.000160000 False",
    detection: "8 blank-separated columns, the third read, write or discard",
    traps: "offsets count from the partition's start, so a request before it has a negative one. \
            Lines with action C repeat their D line and are ignored",
    single_device: true,
    ..Format::of_lines::<WiscSee>()
};

#[derive(Default)]
struct WiscSee;

impl TextFormat for WiscSee {
    const COLUMNS: &'static [&'static str] =
        &["pid", "action", "operation", "offset", "size", "time", "gap", "sync"];
    const COMMA: bool = false;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        at.integer("a process id")?;
        at.blank("a blank after the process id")?;
        let action_at = at.at;
        let action = at.word();
        at.blank("a blank after the action")?;
        let bad = BadField::new(at.at, "read, write or discard");
        let op = operation(at.word()).ok_or(bad)?;
        at.blank("a blank after the operation")?;
        let offset = at.signed("an offset, a whole number of bytes")?;
        at.blank("a blank after the offset")?;
        let size_at = at.at;
        let size = at.integer("a size, a whole number of bytes")?;
        at.blank("a blank after the size")?;
        let time_ns = at.time(SECONDS, "a time in seconds")?;
        at.blank("a blank after the time")?;
        at.word();
        at.blank("a blank after the gap")?;
        at.word();
        at.end("the end of the line after True or False")?;
        match action {
            b"D" => check(time_ns, op, 0, offset, size, size_at),
            b"C" => Ok(None),
            _ => at.bad(action_at, "D or C"),
        }
    }
}
