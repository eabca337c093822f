//! FIU traces (SyLab: IODedup, SRCMap). Reads lines; knows nothing of files.

use super::{Format, SECTOR, Scaled, operation, request, scaled};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "fiu",
    summary: "FIU SyLab traces (IODedup: cheetah, homes, web; SRCMap: online, webmail)",
    columns: "timestamp (ns), process id, process name, LBA (512-B sectors), size (sectors), R \
              or W, major, minor, MD5 of the content (may be missing)",
    example: "89967400000000 100 java main 16000 8 W 6 0 00112233445566778899aabbccddeeff",
    detection: "8 or 9 blank-separated columns, R or W third before the digest, which has 32 \
                digits",
    traps: "process names may hold blanks, so lines are read from the right; the published tar \
            archive in gzip can be read directly",
    ..Format::of_lines::<Fiu>()
};

#[derive(Default)]
struct Fiu;

/// A parser that takes words from the right end of a line.
struct FromRight<'a> {
    line: &'a [u8],
    end: usize,
}

impl<'a> FromRight<'a> {
    /// Takes the last word that is left, with its position. The word is empty if none is left.
    fn word(&mut self) -> Cursor<'a> {
        let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let end = self.line[..self.end].iter().rposition(|b| !blank(b)).map_or(0, |at| at + 1);
        let start = self.line[..end].iter().rposition(blank).map_or(0, |at| at + 1);
        self.end = start;
        Cursor { line: &self.line[..end], at: start }
    }

    fn number(&mut self, unit: u64, expected: &'static str) -> Result<Scaled, BadField> {
        let mut word = self.word();
        let number = scaled(&mut word, unit, expected)?;
        word.end(expected).or(Err(BadField::new(number.at, expected)))?;
        Ok(number)
    }
}

impl TextFormat for Fiu {
    const COLUMNS: &'static [&'static str] =
        &["timestamp", "pid", "process", "lba", "size", "type", "major", "minor"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut words = FromRight { line, end: line.len() };
        let last = words.word();
        let digest = &last.line[last.at..];
        if !(digest.len() == 32 && digest.iter().all(u8::is_ascii_hexdigit)) {
            words.end = line.len();
        }
        let Scaled { value: minor, at, .. } =
            words.number(1, "a minor device number or an MD5 of 32 digits")?;
        let Scaled { value: major, .. } = words.number(1, "a major device number")?;
        let word = words.word();
        let bad = BadField::new(word.at, "R or W");
        let op = operation(&word.line[word.at..]).ok_or(bad)?;
        let size = words.number(SECTOR, "a size, a whole number of sectors")?;
        let offset = words.number(SECTOR, "an LBA, a whole number of sectors")?;
        let mut left = Cursor::new(&line[..words.end]);
        let time_ns = left.integer("a timestamp, a whole number of nanoseconds")?;
        left.blank("a blank after the timestamp")?;
        left.integer("a process id")?;
        left.blank("a process name after the process id")?;
        // The number is packed as in Linux: 12 bits of the major number, 20 bits of the minor
        // number.
        let device = u32::try_from(major << 20 | minor)
            .ok()
            .filter(|_| major < 1 << 12 && minor < 1 << 20)
            .ok_or(BadField::new(at, "a major number below 4096, a minor below 2^20"))?;
        request(time_ns, op, device, offset, size)
    }
}
