//! FlashSim ASCII traces. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MILLISECONDS};

pub(super) static FORMAT: Format = Format {
    name: "flashsim",
    summary: "FlashSim ASCII (SPC traces converted for the FlashSim simulator)",
    columns: "time (ms), device, LBA (512-B sectors), size (4-KiB pages), 0 write or 1 read",
    example: "26.200000\t0\t16000\t1\t0",
    detection: "5 columns separated by tabs, times with 6 decimals, sizes that are no multiples \
                of 8",
    traps: "the size counts 4-KiB pages (rounded up by the converter) while the LBA counts \
            sectors. Where every size is a multiple of 8 the file may as well be DiskSim's: then \
            detection asks for --format",
    single_device: false,
    sniff: |sample| {
        let lines = super::sniff_lines(FlashSim, sample);
        if layout(&lines) { lines.len() } else { 0 }
    },
    open: |input, options| super::open_text(FlashSim, input, options),
};

struct FlashSim;

const PAGE: u64 = 4096;

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
        at.skip_blanks();
        let time_ns = at.time(MILLISECONDS, "a time in milliseconds")?;
        at.blank("a blank after the time")?;
        let device = at.small("a device number below 2^32")?;
        at.blank("a blank after the device")?;
        let lba_at = at.at;
        let lba = at.integer("an LBA, a whole number of sectors")?;
        at.blank("a blank after the LBA")?;
        let size_at = at.at;
        let size = at.integer("a size, a whole number of 4-KiB pages")?;
        at.blank("a blank after the size")?;
        let bad = BadField::new(at.at, "0 (write) or 1 (read)");
        let op = match at.word() {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err(bad),
        };
        at.end("the end of the line after the type")?;
        let offset = Scaled { value: lba, unit: SECTOR, at: lba_at };
        request(time_ns, op, device, offset, Scaled { value: size, unit: PAGE, at: size_at })
    }
}
