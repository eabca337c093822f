//! The lines that trace-driven simulators read: time, device, sector, size and one more column,
//! separated by blanks. Simulators differ in the units of time and size, and in the last column.

use std::collections::HashMap;

use super::{SECTOR, Scaled, scaled};
use crate::Op;
use crate::trace::parse::{BadField, Cursor, MILLISECONDS};

/// The columns of a line of one simulator.
pub(super) struct Line {
    /// `true` if times are milliseconds with a fraction, `false` if they are whole nanoseconds.
    pub milliseconds: bool,
    /// The texts for messages about the separator after the third column, and about that column.
    pub sector: (&'static str, &'static str),
    /// The bytes of one unit of the fourth column, and the text for messages about it.
    pub size: (u64, &'static str),
}

/// The values of the columns before the last one.
pub(super) struct Columns {
    pub time_ns: u64,
    pub device: u32,
    pub offset: Scaled,
    pub size: Scaled,
}

impl Line {
    /// Parses the columns before the last one, and the blank after them.
    #[inline]
    pub(super) fn read(&self, at: &mut Cursor<'_>) -> Result<Columns, BadField> {
        at.skip_blanks();
        let time_ns = if self.milliseconds {
            at.time(MILLISECONDS, "a time in milliseconds")?
        } else {
            at.integer("a time, a whole number of nanoseconds")?
        };
        at.blank(if self.milliseconds {
            "a blank after the time"
        } else {
            "a blank after the time (a whole number of nanoseconds)"
        })?;
        let device = at.small("a device number below 2^32")?;
        at.blank("a blank after the device")?;
        let offset = scaled(at, SECTOR, self.sector.1)?;
        at.blank(self.sector.0)?;
        let size = scaled(at, self.size.0, self.size.1)?;
        at.blank("a blank after the size")?;
        Ok(Columns { time_ns, device, offset, size })
    }
}

/// Parses a column that is 0 for a write and 1 for a read.
#[inline]
pub(super) fn write_or_read(at: &mut Cursor<'_>) -> Result<Op, BadField> {
    let start = at.at;
    let op = match at.word() {
        b"0" => Op::Write,
        b"1" => Op::Read,
        _ => return at.bad(start, "0 (write) or 1 (read)"),
    };
    Ok(op)
}

/// Returns the number of marks of FlashSim's converter in the lines: tabs, times with six decimals,
/// and sizes that are not multiples of 8, hence not sectors of whole pages. DiskSim's own traces
/// can have these marks, too, so they prove nothing.
fn flashsim_telltales(lines: &[&[u8]]) -> usize {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let column = |line: &[u8], number: usize| {
        line.split(blank).filter(|word| !word.is_empty()).nth(number).unwrap_or_default().to_vec()
    };
    let tabs = lines.iter().all(|line| {
        line.iter().filter(|&&byte| byte == b'\t').count() >= 4 && !line.contains(&b' ')
    });
    let decimals = lines
        .iter()
        .all(|line| column(line, 0).iter().rev().position(|&byte| byte == b'.') == Some(6));
    let pages = lines
        .iter()
        .any(|line| Cursor::new(&column(line, 3)).integer("").is_ok_and(|size| size % 8 != 0));
    [tabs, decimals, pages].into_iter().filter(|telltale| *telltale).count()
}

/// Returns two numbers of requests that begin where the previous request on the same device ended:
/// if sizes count sectors, and if they count pages of 4 KiB.
pub(super) fn sequential(lines: &[&[u8]]) -> (usize, usize) {
    let line = Line { milliseconds: true, sector: ("", ""), size: (SECTOR, "") };
    let mut ends: HashMap<u32, (u64, u64)> = HashMap::new();
    let (mut sectors, mut pages) = (0, 0);
    for text in lines {
        let Ok(Columns { device, offset, size, .. }) = line.read(&mut Cursor::new(text)) else {
            continue;
        };
        let end = |unit: u64| offset.value.saturating_add(size.value.saturating_mul(unit));
        if let Some((as_sectors, as_pages)) = ends.insert(device, (end(1), end(8))) {
            sectors += usize::from(as_sectors == offset.value);
            pages += usize::from(as_pages == offset.value);
        }
    }
    (sectors, pages)
}

/// Returns two flags: whether the lines can be DiskSim's, and whether they can be FlashSim's.
/// Sequential requests decide. Without them, lines with no mark of FlashSim must be DiskSim's;
/// other lines can be both.
pub(super) fn explained(lines: &[&[u8]]) -> (bool, bool) {
    match sequential(lines) {
        (sectors, pages) if sectors >= 2 && sectors >= 3 * pages => (true, false),
        (sectors, pages) if pages >= 2 && pages >= 3 * sectors => (false, true),
        _ => (true, flashsim_telltales(lines) > 0),
    }
}
