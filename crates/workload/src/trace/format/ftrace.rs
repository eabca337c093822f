//! Block events as ftrace, `trace-cmd report` and `perf script` print them. Reads lines; knows
//! nothing of files.

use flashgc_base::spec::count;

use super::events::{Flushes, Requeues, Rwbs};
use super::{Format, Sample, events, request};
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};

pub(super) static FORMAT: Format = Format {
    name: "ftrace",
    summary: "text of Linux block events (ftrace, trace-cmd report, perf script)",
    columns: "task-pid, [CPU], flags (may be missing), time (s):, event:, major,minor, RWBS, bytes \
              and (command) where the event has them, sector (512 B), +, sectors, [process]",
    example: "     app-100     [003] d..1.  1234.009500: block_rq_issue: 8,0 W 28672 () 16000 + 56 [app]",
    detection: "lines with a CPU number in brackets, a time and a colon, and a block event",
    traps: "each request appears once per event: only one event is read, block_rq_issue (action D) \
            or else block_bio_queue (Q) or else block_rq_complete (C), whichever the first lines \
            have; --blkparse-action chooses, also I (block_rq_insert) and G (block_getrq). Other \
            events and requests without sectors are ignored; flushes are read as in blkparse's \
            text. The device is major * 2^20 + minor. Lines that say that events were lost are \
            counted and reported. trace.dat, trace-cmd's binary file, must be printed by trace-cmd \
            report first",
    single_device: false,
    references: false,
    sniff: |sample| super::sniff_text(Ftrace::new(None, sample), sample),
    open: |input, options| {
        let format = {
            let sample = Sample::new(input.sample(), input.sample_is_all());
            Ftrace::new(options.blkparse_action, &sample)
        };
        super::open_text(format, input, options)
    },
};

/// For each action: its event, `true` if the event prints a number of bytes, and `true` if it
/// prints a command in parentheses.
const EVENTS: [(char, &str, bool, bool); 5] = [
    ('D', "block_rq_issue", true, true),
    ('Q', "block_bio_queue", false, false),
    ('C', "block_rq_complete", false, true),
    ('I', "block_rq_insert", true, true),
    ('G', "block_getrq", false, false),
];

struct Ftrace {
    action: char,
    event: &'static str,
    bytes: bool,
    command: bool,
    /// The number of lines that report lost events.
    lost: u64,
    flushes: Flushes,
    requeues: Requeues,
}

/// The beginning of a line, parsed up to the colon after its event.
struct Event<'a> {
    time_ns: u64,
    name: &'a [u8],
    rest: Cursor<'a>,
}

impl Ftrace {
    fn new(chosen: Option<char>, sample: &Sample) -> Self {
        let reader = |action: char| {
            let (action, event, bytes, command) =
                EVENTS.into_iter().find(|(known, ..)| *known == action).unwrap_or(EVENTS[0]);
            let (flushes, requeues) = (Flushes::default(), Requeues::default());
            Self { action, event, bytes, command, lost: 0, flushes, requeues }
        };
        let present = |action| {
            sample.lines.iter().any(|line| matches!(reader(action).parse(line), Ok(Some(_))))
        };
        reader(events::choose(chosen, present))
    }
}

/// Parses the event of a line. The name of a task may have blanks and brackets, so the CPU number
/// is the first number in brackets that a time follows.
fn event(line: &[u8]) -> Option<Event<'_>> {
    memchr::memchr_iter(b'[', line).find_map(|open| {
        let mut at = Cursor { line, at: open + 1 };
        at.integer("").ok()?;
        if at.peek() != Some(b']') {
            return None;
        }
        at.at += 1;
        at.blank("").ok()?;
        let mut start = at.at;
        if !at.word().ends_with(b":") {
            at.blank("").ok()?; // skips the flags
            start = at.at;
        }
        at.at = start;
        let time_ns = at.time(SECONDS, "").ok()?;
        let seconds = line[start..at.at].contains(&b'.');
        if !seconds || at.peek() != Some(b':') {
            return None;
        }
        at.at += 1;
        at.blank("").ok()?;
        let name = at.word().strip_suffix(b":")?;
        let name = name.strip_prefix(b"block:").unwrap_or(name);
        at.skip_blanks();
        Some(Event { time_ns, name, rest: at })
    })
}

impl TextFormat for Ftrace {
    const COLUMNS: &'static [&'static str] = &["task-pid", "[cpu]", "time:", "event:"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let Some(mut event) = event(line) else {
            let text = line.trim_ascii_start();
            let starts =
                |words: &[&str]| words.iter().any(|word| text.starts_with(word.as_bytes()));
            if starts(&["CPU"]) && text.ends_with(b"]") {
                self.lost += 1; // [LOST 34 EVENTS], [EVENTS DROPPED]
                return Ok(None);
            }
            let beside = starts(&["#", "cpus=", "version =", "CPU "]);
            return if beside {
                Ok(None)
            } else {
                Err(BadField::new(0, "TASK-PID [CPU] TIME: EVENT:"))
            };
        };
        let is_requeue = event.name == b"block_rq_requeue" && self.action == 'D';
        if event.name != self.event.as_bytes() && !is_requeue {
            return Ok(None);
        }
        let at = &mut event.rest;
        let device = events::device(at)?;
        at.blank("a blank after the device")?;
        let Rwbs { op, flush, fua } = events::rwbs(at)?;
        at.blank("a blank after the RWBS field")?;
        if self.bytes && !is_requeue {
            at.integer("a whole number of bytes")?;
            at.blank("a blank after the bytes")?;
        }
        if self.command {
            let open = at.at;
            let closed = memchr::memchr(b')', &line[open..]).filter(|_| at.peek() == Some(b'('));
            at.at += closed.ok_or(BadField::new(open, "a command in parentheses, mostly ()"))? + 1;
            at.blank("a blank after the command")?;
        }
        let request = match (op, events::extent(at)?) {
            (Some(op), Some((offset, size))) => request(event.time_ns, op, device, offset, size)?,
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
        self.flushes.note(flush, fua && request.is_some(), event.time_ns, device);
        Ok(request)
    }

    fn flush(&mut self) -> Option<Request> {
        self.flushes.before.take()
    }

    fn more(&mut self) -> Option<Request> {
        self.flushes.behind.take()
    }

    fn note(&self) -> Option<String> {
        let lost = match self.lost {
            0 => String::new(),
            lines => format!("; {} said that events were lost", count(lines, "line")),
        };
        Some(format!(
            "events {} (action {}) are read{lost}{}",
            self.event,
            self.action,
            self.requeues.said()
        ))
    }
}
