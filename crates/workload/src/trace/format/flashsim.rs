//! FlashSim ASCII traces. Reads lines; knows nothing of files.

use super::simulators::{Line, write_or_read};
use super::{Format, request};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "flashsim",
    summary: "FlashSim ASCII (SPC traces converted for the FlashSim simulator)",
    columns: "time (ms), device, LBA (512-B sectors), size (4-KiB pages), 0 write or 1 read",
    example: "26.200000\t0\t16000\t1\t0",
    detection: "5 columns separated by tabs, times with 6 decimals, sizes that are no multiples \
                of 8",
    traps: "the size counts 4-KiB pages (rounded up by the converter), the LBA counts sectors. If \
            every size is a multiple of 8, the file could also be DiskSim's, and detection asks \
            for --format",
    single_device: false,
    references: false,
    sniff: |sample| {
        let lines = super::sniff_lines(FlashSim, sample);
        if layout(&lines) { lines.len() } else { 0 }
    },
    open: |input, options| super::open_text(FlashSim, input, options),
};

struct FlashSim;

const LINE: Line = Line {
    milliseconds: true,
    sector: ("a blank after the LBA", "an LBA, a whole number of sectors"),
    size: (4096, "a size, a whole number of 4-KiB pages"),
};

/// The layout that FlashSim's converter prints: tabs, and times with six decimals.
pub(super) fn layout(lines: &[&[u8]]) -> bool {
    lines.iter().all(|line| {
        let time = line.split(|&byte| byte == b'\t').next().unwrap_or_default();
        time.iter().rev().position(|&byte| byte == b'.') == Some(6)
            && line.iter().filter(|&&byte| byte == b'\t').count() >= 4
            && !line.contains(&b' ')
    })
}

/// Some size is no multiple of 8, so the sizes are not sectors of whole pages.
pub(super) fn counts_pages(lines: &[&[u8]]) -> bool {
    lines.iter().any(|line| {
        let size = line.split(|&byte| byte == b'\t').nth(3).unwrap_or_default();
        Cursor::new(size).integer("").is_ok_and(|size| size % 8 != 0)
    })
}

impl TextFormat for FlashSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "lba", "pages", "type"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let columns = LINE.read(&mut at)?;
        let op = write_or_read(&mut at)?;
        request(columns.time_ns, op, columns.device, columns.offset, columns.size)
    }
}
