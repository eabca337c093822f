//! The text that `blkparse` prints. Reads lines; knows nothing of files.

use super::events::{Flushes, Requeues, Rwbs};
use super::{Format, Sample, events, request};
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
            the first lines have; --blkparse-action chooses. An F before the operation is a flush, \
            with or without sectors behind it; a write with FUA (an F behind the W) is a write and \
            a flush. SCSI commands (their bytes in parentheses), messages and the summary at the \
            end are ignored. The device is major * 2^20 + minor",
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

struct Blkparse {
    action: char,
    /// `true` if the current line is in the per-CPU summary.
    summary: bool,
    flushes: Flushes,
    requeues: Requeues,
}

/// The beginning of a line, parsed up to the action.
struct Event<'a> {
    device: u32,
    time_ns: u64,
    action: &'a [u8],
    rest: Cursor<'a>,
}

impl Blkparse {
    fn new(chosen: Option<char>, sample: &Sample) -> Self {
        let action = events::choose(chosen, |action| {
            sample.lines.iter().any(|line| matches!(Self::of(action).parse(line), Ok(Some(_))))
        });
        Self::of(action)
    }

    fn of(action: char) -> Self {
        let (flushes, requeues) = (Flushes::default(), Requeues::default());
        Self { action, summary: false, flushes, requeues }
    }
}

fn event(line: &[u8]) -> Result<Event<'_>, BadField> {
    let mut at = Cursor::new(line);
    at.skip_blanks();
    let device = events::device(&mut at)?;
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
    Ok(Event { device, time_ns, action, rest: at })
}

/// Returns `true` for a line `NAME (PID)`, with which `blkparse -s` begins the counts of a process.
fn is_process(line: &[u8]) -> bool {
    let inside = line.strip_suffix(b")").and_then(|text| text.rsplit(|byte| *byte == b'(').next());
    let is_number = |pid: &[u8]| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit);
    let name = inside.filter(|pid| is_number(pid)).map_or(0, |pid| line.len() - pid.len() - 2);
    name > 1 && line[name - 1] == b' ' && !line[0].is_ascii_whitespace()
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
                self.summary = starts(b"CPU") || starts(b"Total (") || is_process(line);
                return if self.summary || starts(b"Input file ") { Ok(None) } else { Err(bad) };
            }
        };
        self.summary = false;
        let is_requeue = event.action == b"R" && self.action == 'D';
        if event.action != [self.action as u8] && !is_requeue {
            return Ok(None);
        }
        let at = &mut event.rest;
        let Rwbs { op, flush, fua } = events::rwbs(at)?;
        at.skip_blanks();
        // A flush has no sector: the name of the process in brackets follows. A SCSI command has
        // its bytes in parentheses; if it is issued, their number stands before them.
        let command = |at: &Cursor<'_>| {
            let mut at = *at;
            at.integer("").is_ok() && at.blank("").is_ok() && at.peek() == Some(b'(')
        };
        let (time_ns, device) = (event.time_ns, event.device);
        if at.peek() == Some(b'(') || command(at) {
            return Ok(None);
        }
        let extent = if at.peek() == Some(b'[') { None } else { events::extent(at)? };
        let request = match (op, extent) {
            (Some(op), Some((offset, size))) => request(time_ns, op, device, offset, size)?,
            _ => None,
        };
        if let (true, Some(request)) = (is_requeue, request) {
            self.requeues.note(&request);
        }
        if is_requeue {
            return Ok(None);
        }
        let issued = request.and_then(|request| self.requeues.issue(request));
        if request.is_some() && issued.is_none() {
            return Ok(None);
        }
        let request = issued;
        self.flushes.note(flush, fua && request.is_some(), time_ns, device);
        Ok(request)
    }

    fn flush(&mut self) -> Option<Request> {
        self.flushes.before.take()
    }

    fn more(&mut self) -> Option<Request> {
        self.flushes.behind.take()
    }

    fn note(&self) -> Option<String> {
        Some(format!("events with action {} are read{}", self.action, self.requeues.said()))
    }
}
