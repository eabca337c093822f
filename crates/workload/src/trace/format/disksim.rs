//! DiskSim ASCII traces. Reads lines; knows nothing of files.

use super::simulators::{Line, explained};
use super::{Format, SECTOR, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII (also the input of the MSR SSD extension)",
    columns: "time (ms), device, block (512 B), size (blocks), flags (hexadecimal, bit 0: read)",
    example: "12.345 0 4096 8 1",
    detection: "5 blank-separated columns, a time with a fraction first, and requests that follow each \
                other by sectors or none of FlashSim's marks",
    traps: "flags are hexadecimal; 1 is a read and 0 a write. FlashSim's traces look the same but \
            count 4-KiB pages: where no runs of requests tell, detection asks for --format",
    sniff: |sample| {
        let lines = super::sniff_lines(DiskSim, sample);
        let fraction = lines.iter().any(|line| line.contains(&b'.'));
        // Flags other than that of a read are rare.
        let plain = lines
            .iter()
            .filter(|line| matches!(line.trim_ascii_end(), [.., b' ' | b'\t', b'0' | b'1']));
        let flagged = 2 * plain.count() >= lines.len();
        if fraction && flagged && explained(&lines).0 { lines.len() } else { 0 }
    },
    ..Format::of_lines::<DiskSim>()
};

#[derive(Default)]
struct DiskSim;

const LINE: Line = Line {
    milliseconds: true,
    sector: ("a blank after the block number", "a block number"),
    size: (SECTOR, "a number of blocks"),
};

impl TextFormat for DiskSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "block", "size", "flags"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let columns = LINE.read(&mut at)?;
        let flags_at = at.at;
        let flags = at.word();
        let hex = flags.strip_prefix(b"0x").unwrap_or(flags);
        let valid = (1..=8).contains(&hex.len()) && hex.iter().all(u8::is_ascii_hexdigit);
        if !valid {
            return at.bad(flags_at, "hexadecimal flags");
        }
        at.end("the end of the line after the flags")?;
        let last = char::from(hex[hex.len() - 1]).to_digit(16).unwrap_or(0);
        let op = if last & 1 == 1 { Op::Read } else { Op::Write };
        request(columns.time_ns, op, columns.device, columns.offset, columns.size)
    }
}
