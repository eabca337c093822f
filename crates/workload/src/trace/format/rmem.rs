//! Swap logs of remote-memory studies (rmem). Reads lines; knows nothing of files.

use super::{Format, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "rmem",
    summary: "rmem swap logs (remote memory under Spark and others)",
    columns: "batch, time (us; negative for a page-in), first page, pages, page size (bytes)",
    example: "50000 1432159700000000 2000 1 4096",
    detection: "5 blank-separated whole numbers, the last a page size",
    traps: "the sign of the time is the operation: minus reads (page-in), plus writes (page-out)",
    single_device: true,
    ..Format::of_lines::<Rmem>()
};

#[derive(Default)]
struct Rmem;

impl TextFormat for Rmem {
    const COLUMNS: &'static [&'static str] = &["batch", "time", "page", "pages", "page_size"];
    const COMMA: bool = false;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        at.integer("a batch number")?;
        at.blank("a blank after the batch number")?;
        let time_at = at.at;
        let op = if at.peek() == Some(b'-') {
            at.at += 1;
            Op::Read
        } else {
            Op::Write
        };
        let time_ns = at
            .integer("a time, a whole number of microseconds")?
            .checked_mul(1000)
            .ok_or(BadField::new(time_at, "a time below 2^64 nanoseconds"))?;
        at.blank("a blank after the time")?;
        let page_at = at.at;
        let page = at.integer("a page number")?;
        at.blank("a blank after the page number")?;
        let count_at = at.at;
        let count = at.integer("a number of pages")?;
        at.blank("a blank after the number of pages")?;
        let unit_at = at.at;
        let unit = at.integer("a page size")?;
        at.end("the end of the line after the page size")?;
        if !unit.is_power_of_two() || !(512..=1 << 30).contains(&unit) {
            return at.bad(unit_at, "a page size, a power of two from 512");
        }
        let offset = Scaled { value: page, unit, at: page_at };
        request(time_ns, op, 0, offset, Scaled { value: count, unit, at: count_at })
    }
}
