//! SSDSim and MQSim ASCII traces. Reads lines; knows nothing of files.

use super::simulators::{Line, write_or_read};
use super::{Format, SECTOR, request};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "ssdsim",
    summary: "SSDSim and MQSim ASCII",
    columns: "time (ns), device, LBA (512-B sectors), size (sectors), 0 write or 1 read, hash of the \
              content (hexadecimal, may be missing)",
    example: "938500000 4 16000 16 0",
    detection: "5 blank-separated whole numbers, the last 0 or 1, perhaps with a hash behind them",
    traps: "0 is the write, unlike in most formats; hashes of the content are ignored. \
            SSDSim and MQSim themselves do not use the device; a note says so if there are several",
    ..Format::of_lines::<SsdSim>()
};

/// A parser that checks whether there is a second device.
#[derive(Default)]
struct SsdSim {
    device: Option<u32>,
    several: bool,
}

const LINE: Line = Line {
    milliseconds: false,
    sector: ("a blank after the LBA", "an LBA, a whole number of sectors"),
    size: (SECTOR, "a size, a whole number of sectors"),
};

impl TextFormat for SsdSim {
    const COLUMNS: &'static [&'static str] = &["time", "device", "lba", "size", "type"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let columns = LINE.read(&mut at)?;
        let op = write_or_read(&mut at)?;
        at.skip_blanks();
        let hash_at = at.at;
        if !at.word().iter().all(u8::is_ascii_hexdigit) {
            return at.bad(hash_at, "a hash of the content in hexadecimal, or the end of the line");
        }
        at.end("the end of the line after the hash of the content")?;
        self.several |= *self.device.get_or_insert(columns.device) != columns.device;
        request(columns.time_ns, op, columns.device, columns.offset, columns.size)
    }

    fn note(&self) -> Option<String> {
        self.several.then(|| {
            "requests have several devices, each with addresses of its own; SSDSim and MQSim ignore that \
             column and put all requests into one space of addresses"
                .to_owned()
        })
    }
}
