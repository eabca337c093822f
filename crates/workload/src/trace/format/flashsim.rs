//! FlashSim ASCII traces. Reads lines; knows nothing of files.

use super::simulators::{Line, explained, write_or_read};
use super::{Format, request};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "flashsim",
    summary: "FlashSim ASCII (SPC traces converted for the FlashSim simulator)",
    columns: "time (ms), device, LBA (512-B sectors), size (4-KiB pages), 0 write or 1 read",
    example: "26.200000\t0\t16000\t1\t0",
    detection: "5 blank-separated columns, a time with a fraction first, and requests that follow each \
                other by pages, the last column 0 or 1",
    traps: "the size counts 4-KiB pages (rounded up by the converter), the LBA counts sectors. DiskSim's \
            traces look the same: tabs, six decimals and sizes that are no multiples of 8 are marks of \
            FlashSim's converter, but no proof. If they are there and no runs of requests tell, \
            detection asks for --format",
    sniff: |sample| {
        let lines = super::sniff_lines(FlashSim, sample);
        let fraction = lines.iter().any(|line| line.contains(&b'.'));
        if fraction && explained(&lines).1 { lines.len() } else { 0 }
    },
    ..Format::of_lines::<FlashSim>()
};

#[derive(Default)]
struct FlashSim;

const LINE: Line = Line {
    milliseconds: true,
    sector: ("a blank after the LBA", "an LBA, a whole number of sectors"),
    size: (4096, "a size, a whole number of 4-KiB pages"),
};

impl TextFormat for FlashSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "lba", "pages", "type"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let columns = LINE.read(&mut at)?;
        let op = write_or_read(&mut at)?;
        at.end("the end of the line after the type")?;
        request(columns.time_ns, op, columns.device, columns.offset, columns.size)
    }
}
