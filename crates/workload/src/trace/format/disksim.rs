//! DiskSim ASCII traces. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, MILLISECONDS};

pub(super) static FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII (also the input of the MSR SSD extension)",
    columns: "time (ms), device, block (512 B), size (blocks), flags (hexadecimal, bit 0: read)",
    example: "12.345 0 4096 8 1",
    detection: "5 blank-separated columns, a time with a fraction first, and not FlashSim's layout",
    traps: "flags are hexadecimal; 1 is a read and 0 a write. FlashSim's traces look the same but \
            count 4-KiB pages",
    single_device: false,
    sniff: |sample| {
        let lines = super::sniff_lines(DiskSim, sample);
        let fraction = lines.iter().any(|line| line.contains(&b'.'));
        let flashsim = super::flashsim::layout(&lines) && super::flashsim::counts_pages(&lines);
        if fraction && !flashsim { lines.len() } else { 0 }
    },
    open: |input, options| super::open_text(DiskSim, input, options),
};

struct DiskSim;

impl TextFormat for DiskSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "block", "size", "flags"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let time_ns = at.time(MILLISECONDS, "a time in milliseconds")?;
        at.blank("a blank after the time")?;
        let device = at.small("a device number below 2^32")?;
        at.blank("a blank after the device")?;
        let block_at = at.at;
        let block = at.integer("a block number")?;
        at.blank("a blank after the block number")?;
        let size_at = at.at;
        let size = at.integer("a number of blocks")?;
        at.blank("a blank after the size")?;
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
        let offset = Scaled { value: block, unit: SECTOR, at: block_at };
        request(time_ns, op, device, offset, Scaled { value: size, unit: SECTOR, at: size_at })
    }
}
