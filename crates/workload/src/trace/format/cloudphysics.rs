//! CloudPhysics CSV: the text form of vSCSI traces. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Sample, Scaled, operation, request, scsi_operation};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::names::bare;
use crate::trace::parse::{BadField, Cursor, MICROSECONDS};

pub(super) static FORMAT: Format = Format {
    name: "cloudphysics",
    summary: "CloudPhysics CSV (the text form of vSCSI traces)",
    columns: "version, time (us), SCSI command (hexadecimal), length (bytes), LBN (512 B); a \
              first line of names may give another order",
    example: "1,5600000000000,2a,512,16000",
    detection: "5 comma-separated columns with a SCSI read or write command third, or a first \
                line that names a time, a command, a length and an LBN",
    traps: "other columns are ignored; names understood: time, timestamp, ts; cmd, command, \
            op, opcode; len, length, size; lbn, lba",
    single_device: true,
    references: false,
    sniff: |sample| super::sniff_text(CloudPhysics::new(sample), sample),
    open: |input, options| {
        let format = {
            let sample = Sample::new(input.sample(), input.sample_is_all());
            CloudPhysics::new(&sample)
        };
        super::open_text(format, input, options)
    },
};

/// The index of each column.
#[derive(PartialEq, Eq)]
struct CloudPhysics {
    time: usize,
    command: usize,
    length: usize,
    block: usize,
    columns: usize,
}

impl CloudPhysics {
    fn new(sample: &Sample) -> Self {
        let default = Self { time: 1, command: 2, length: 3, block: 4, columns: 5 };
        sample.lines.first().and_then(|first| Self::of_names(first)).unwrap_or(default)
    }

    /// Returns the columns that a line of names has; `None` if a column that is needed is missing.
    fn of_names(first: &[u8]) -> Option<Self> {
        let names: Vec<Vec<u8>> =
            first.split(|&byte| byte == b',').map(|name| bare(name).to_ascii_lowercase()).collect();
        let find = |known: &[&str]| {
            names.iter().position(|name| known.iter().any(|known| known.as_bytes() == name))
        };
        Some(Self {
            time: find(&["time", "timestamp", "ts"])?,
            command: find(&["cmd", "command", "op", "opcode"])?,
            length: find(&["len", "length", "size"])?,
            block: find(&["lbn", "lba"])?,
            columns: names.len(),
        })
    }
}

/// Parses a hexadecimal SCSI command (with or without `0x`), or a word.
fn command(field: &[u8]) -> Result<Option<Op>, ()> {
    let hex = field.strip_prefix(b"0x").unwrap_or(field);
    let code = std::str::from_utf8(hex).ok().filter(|hex| hex.len() == 2);
    match code.and_then(|hex| u16::from_str_radix(hex, 16).ok()) {
        Some(code) => Ok(scsi_operation(code)),
        None => operation(field).map(Some).ok_or(()),
    }
}

impl TextFormat for CloudPhysics {
    const COLUMNS: &'static [&'static str] = &["version", "time", "cmd", "len", "lbn"];
    const COMMA: bool = true;
    const MORE_COLUMNS: bool = true;

    fn is_names(&self, line: &[u8]) -> bool {
        Self::of_names(line).is_some_and(|columns| columns == *self)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let (mut time_ns, mut op, mut length, mut block) = (0, None, None, None);
        for column in 0..self.columns {
            if column > 0 {
                at.comma("a comma and another column")?;
            }
            at.skip_blanks();
            let start = at.at;
            if column == self.time {
                time_ns = at.time(MICROSECONDS, "a time in microseconds")?;
            } else if column == self.command {
                let bad = BadField::new(start, "a SCSI command, two hexadecimal digits");
                op = command(at.csv_field()).or(Err(bad))?;
            } else if column == self.length {
                let value = at.integer("a length, a whole number of bytes")?;
                length = Some(Scaled { value, unit: 1, at: start });
            } else if column == self.block {
                let value = at.integer("an LBN, a whole number of sectors")?;
                block = Some(Scaled { value, unit: SECTOR, at: start });
            } else {
                at.csv_field();
            }
        }
        at.end("the end of the line after the last column")?;
        match (op, block, length) {
            (Some(op), Some(block), Some(length)) => request(time_ns, op, 0, block, length),
            _ => Ok(None),
        }
    }
}
