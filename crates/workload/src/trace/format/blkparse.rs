//! The text that `blkparse` prints. Reads lines; knows nothing of files.

use super::{Format, SECTOR, Sample, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "blkparse",
    summary: "text output of blkparse (Linux blktrace), default layout",
    columns: "major,minor, CPU, sequence number, time (s.ns), process id, action, RWBS, sector \
              (512 B), +, sectors, [process]",
    example: "  8,0    3       11     0.009500000   100  D   W 16000 + 56 [app]",
    detection: "lines that start major,minor and have a time, an action and an RWBS field",
    traps: "each request appears once per action (queued, issued, completed, ...): only one action \
            is read, D (issued to the device) or else Q (queued) or else C (completed), whichever \
            the first lines have; the reader's option blkparse_action chooses. Flushes (no \
            sectors), messages and the summary at the end are passed over. The device is major * \
            2^20 + minor",
    single_device: false,
    references: false,
    sniff: |sample| super::sniff_text(Blkparse::new(None, sample), sample),
    open: |input, options| {
        let format = {
            let sample = Sample::new(input.sample(), input.sample_is_all());
            Blkparse::new(options.blkparse_action, &sample)
        };
        super::open_text(format, input, options)
    },
};

/// Actions in the order in which they are preferred: what reached the device, then what was
/// asked for, then what came back.
const PREFERRED: [u8; 3] = [b'D', b'Q', b'C'];

struct Blkparse {
    action: u8,
    /// The per-CPU summary has begun.
    summary: bool,
}

/// One line up to its action.
struct Event<'a> {
    device: u32,
    time_ns: u64,
    action: &'a [u8],
    rest: Cursor<'a>,
}

impl Blkparse {
    fn new(action: Option<char>, sample: &Sample) -> Self {
        let chosen = action.and_then(|action| u8::try_from(action).ok());
        let present = |action: &&u8| {
            sample.lines.iter().any(|line| {
                let mut reader = Self { action: **action, summary: false };
                matches!(reader.parse(line), Ok(Some(_)))
            })
        };
        let action = chosen.or_else(|| PREFERRED.iter().find(present).copied()).unwrap_or(b'D');
        Self { action, summary: false }
    }
}

fn event(line: &[u8]) -> Result<Event<'_>, BadField> {
    let mut at = Cursor::new(line);
    at.skip_blanks();
    let start = at.at;
    let major = at.small("a device, major,minor")?;
    at.comma("a device, major,minor")?;
    let minor = at.small("a device, major,minor")?;
    if major >= 1 << 12 || minor >= 1 << 20 {
        return at.bad(start, "a major number below 4096, a minor below 2^20");
    }
    at.blank("a blank after the device")?;
    at.integer("a CPU number")?;
    at.blank("a blank after the CPU number")?;
    at.integer("a sequence number")?;
    at.blank("a blank after the sequence number")?;
    let time_ns = at.time(SECONDS, "a time in seconds")?;
    at.blank("a blank after the time")?;
    at.integer("a process id")?;
    at.blank("a blank after the process id")?;
    let action = at.word();
    at.blank("a blank after the action")?;
    Ok(Event { device: major << 20 | minor, time_ns, action, rest: at })
}

/// The operation in an RWBS field: an `F` (flush) may come first, modifiers follow.
fn rwbs(word: &[u8]) -> Option<Op> {
    match word.strip_prefix(b"F").unwrap_or(word).first()? {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        _ => None,
    }
}

impl TextFormat for Blkparse {
    const COLUMNS: &'static [&'static str] =
        &["major,minor", "cpu", "sequence", "time", "pid", "action", "rwbs"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut event = match event(line) {
            Ok(event) => event,
            Err(_) if self.summary => return Ok(None),
            Err(bad) => {
                let starts = |word: &[u8]| line.starts_with(word);
                self.summary = starts(b"CPU") || starts(b"Total (");
                return if self.summary || starts(b"Input file ") { Ok(None) } else { Err(bad) };
            }
        };
        self.summary = false;
        if event.action != [self.action] {
            return Ok(None);
        }
        let at = &mut event.rest;
        let Some(op) = rwbs(at.word()) else { return Ok(None) };
        at.skip_blanks();
        let sector_at = at.at;
        // A flush has no sector: the process name in brackets follows.
        let Some(b'0'..=b'9') = at.peek() else { return Ok(None) };
        let sector = at.integer("a sector number")?;
        at.blank("a blank after the sector number")?;
        if at.peek() != Some(b'+') {
            return at.bad(at.at, "+ and a number of sectors");
        }
        at.at += 1;
        at.blank("a blank after the +")?;
        let count_at = at.at;
        let count = at.integer("a number of sectors")?;
        if count == 0 {
            return Ok(None);
        }
        let offset = Scaled { value: sector, unit: SECTOR, at: sector_at };
        let size = Scaled { value: count, unit: SECTOR, at: count_at };
        request(event.time_ns, op, event.device, offset, size)
    }

    fn note(&self) -> Option<String> {
        Some(format!("events with action {} are read", char::from(self.action)))
    }
}
