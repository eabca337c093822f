//! Finds captures in which the streams of the CPUs lie one after the other in a file, as if made by
//! a `cat` of the files of blktrace.

use super::format::records::ByteOrder;
use super::input::Input;
use super::parse::{Cursor, SECONDS};

/// The size of a blktrace record in bytes, without its data.
const RECORD: usize = 48;
/// The category of records that are messages and not events, in the upper half of the action.
const NOTE: u32 = 1 << 10;

/// The streams of the CPUs that were read so far.
#[derive(Debug, Default)]
struct Streams {
    cpus: Vec<u32>,
    /// The time of the last event.
    time_ns: u64,
    /// `true` if times go back between one stream and the next.
    back: bool,
    /// The first and the last time of each stream.
    spans: Vec<(u64, u64)>,
}

impl Streams {
    /// Adds an event. Returns `false` if the streams do not lie one after the other, or a stream is
    /// not in the order of time.
    fn add(&mut self, cpu: u32, time_ns: u64) -> bool {
        let before = std::mem::replace(&mut self.time_ns, time_ns);
        if let (Some(last), Some(span)) = (self.cpus.last(), self.spans.last_mut())
            && *last == cpu
        {
            span.1 = time_ns;
            return time_ns >= before;
        }
        if self.cpus.contains(&cpu) {
            return false;
        }
        self.back |= !self.cpus.is_empty() && time_ns < before;
        self.cpus.push(cpu);
        self.spans.push((time_ns, time_ns));
        true
    }

    /// Returns `true` if there are several streams, one after the other, that cover the same time.
    fn are_joined(&self) -> bool {
        let first = self.spans.first().copied().unwrap_or_default();
        let overlap = self.spans.iter().all(|span| span.0 <= first.1 && first.0 <= span.1);
        self.cpus.len() > 1 && self.back && overlap
    }
}

/// Returns the CPU and the time of a line of blkparse or ftrace; `None` if the line is not an
/// event.
fn event_of_line(format: &str, line: &[u8]) -> Option<(u32, u64)> {
    if format == "blkparse" {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let device = words.next()?;
        let cpu = Cursor::new(words.next()?).small("").ok()?;
        let time_ns = Cursor::new(words.nth(1)?).time(SECONDS, "").ok()?;
        return device.contains(&b',').then_some((cpu, time_ns));
    }
    // The name of the task may have brackets, so the last bracket before the time is used.
    let open = memchr::memmem::find(line, b": block_")?;
    let start = memchr::memrchr(b' ', &line[..open])? + 1;
    let time_ns = Cursor::new(&line[start..open]).time(SECONDS, "").ok()?;
    let bracket = memchr::memrchr(b'[', &line[..start])? + 1;
    let cpu = Cursor::new(&line[bracket..start]).small("").ok()?;
    Some((cpu, time_ns))
}

/// Returns the length of the record at the start of `bytes` and, if it is an event, its CPU and
/// time.
fn record(bytes: &[u8], is_big: bool) -> Option<(usize, Option<(u32, u64)>)> {
    let order = if is_big { ByteOrder::Big } else { ByteOrder::Little };
    let head = bytes.get(..RECORD)?;
    let data = order.u16_at(head, 46);
    let is_note = order.u32_at(head, 28) >> 16 & NOTE != 0;
    let event = (order.u32_at(head, 40), order.u64_at(head, 8));
    Some((RECORD + usize::from(data), (!is_note).then_some(event)))
}

/// Adds the events in `bytes`. Returns the number of bytes used; `None` if the streams do not lie
/// one after the other.
fn scan(format: &str, bytes: &[u8], is_end: bool, streams: &mut Streams) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, event) = if format == "blktrace" {
            match record(rest, rest[0] == 0x65) {
                Some((length, event)) if length <= rest.len() => (length, event),
                _ => break,
            }
        } else {
            match memchr::memchr(b'\n', rest) {
                Some(end) => (end + 1, event_of_line(format, &rest[..end])),
                None if is_end => (rest.len(), event_of_line(format, rest)),
                None => break,
            }
        };
        if let Some((cpu, time_ns)) = event
            && !streams.add(cpu, time_ns)
        {
            return None;
        }
        at += length;
    }
    Some(at)
}

/// Returns the number of CPUs whose streams lie one after the other in the file of `input`, with
/// times that go back from one stream to the next; `None` if there are no such streams.
///
/// In a file whose events are in the order of time, only the first few are read. A file with a
/// single CPU is read to its end.
pub(crate) fn find(format: &str, input: &Input) -> Option<usize> {
    if !["blktrace", "blkparse", "ftrace"].contains(&format) || input.file_size == 0 {
        return None;
    }
    let mut streams = Streams::default();
    let is_all = input.sample_is_all();
    scan(format, input.sample(), is_all, &mut streams)?;
    if !is_all {
        let mut others = Streams::default();
        let later = input.later();
        // If the start, the middle and the end of the file have only events of one CPU, no streams
        // lie one after the other.
        let is_one = scan(format, &later, false, &mut others).is_some()
            && streams.cpus.len() == 1
            && others.cpus == streams.cpus;
        if is_one && !later.is_empty() {
            return None;
        }
        streams = Streams::default();
        let mut whole = Input::open(&input.path).ok()?;
        let (mut buffer, mut filled) = (vec![0; 1 << 18], 0);
        loop {
            let count = whole.fill(&mut buffer[filled..]).ok()?;
            filled += count;
            let is_end = filled < buffer.len();
            let used = scan(format, &buffer[..filled], is_end, &mut streams)?;
            if is_end {
                break;
            }
            if used == 0 {
                return None; // The line or record is longer than any valid one.
            }
            buffer.copy_within(used..filled, 0);
            filled -= used;
        }
    }
    streams.are_joined().then_some(streams.cpus.len())
}
