//! Streams by address: a table that gives writes to each range of bytes their stream. It models a
//! host that keeps its tenants apart, or one partition for each tenant.
//!
//! The table has the form of fio's `dp_scheme` files (`dataplacement.c` of fio 3.39): lines of
//! `START, END, STREAM`. START is the first byte of a range of the drive, and END is the first byte
//! after it. A write to a page has the stream of the first line with the first byte of that page.
//! Streams are numbers from 0 to 254.
//!
//! There are three differences to fio. The table may have any number of lines; fio reads 32. A line
//! that cannot be read is an error; fio stops without a message. Writes outside all ranges keep the
//! stream of the workload, mostly none; fio gives them placement identifier 0.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::stream::{NO_STREAM, StreamId, named};

use crate::requests::{RequestStream, TimedRequest};
use crate::trace::{Fault, Place, TraceError};
use crate::{Batch, Op, Workload, WorkloadError};

/// A table with the stream of writes to each range of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamRanges {
    /// Pairs, by ascending byte: the byte at which the stream changes, and the stream from there to
    /// the next pair. Bytes before the first pair have no stream.
    steps: Vec<(u64, StreamId)>,
    /// The streams that the lines name.
    streams: BTreeSet<StreamId>,
    /// The text of the table.
    text: String,
}

/// A line of the table: the first byte of the range, the first byte after it, and the stream.
type Line = (u64, u64, StreamId);

const HINT: &str = "a line is START, END, STREAM in bytes, for example 0, 1073741824, 0";

impl StreamRanges {
    /// Reads a table from a file.
    ///
    /// # Errors
    /// The file cannot be read, a line is not `START, END, STREAM`, or there is no line.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read(path)
            .map_err(|error| TraceError::io(path, "read the ranges of streams", &error))?;
        Self::parse(path, &text)
    }

    /// Parses a table from `text`; `path` is for error messages. Empty lines are skipped.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open) except those of reading the file.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, TraceError> {
        let fault = |message: String| TraceError::new(path, Fault::Option, message).hint(HINT);
        let mut lines = Vec::new();
        for (number, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let text = String::from_utf8_lossy(text);
            if text.trim().is_empty() {
                continue;
            }
            let line = read_line(&text).map_err(|(at, message)| {
                let column = text[..at].chars().count() as u64 + 1;
                fault(message).at(Place::Line { line: number, column })
            })?;
            lines.push(line);
        }
        match lines.is_empty() {
            true => Err(fault("found no range, expected at least one line".to_string())),
            false => Ok(Self {
                steps: steps(&lines),
                streams: lines.iter().map(|&(_, _, stream)| stream).collect(),
                text: String::from_utf8_lossy(text).into_owned(),
            }),
        }
    }

    /// Returns the streams that the lines name, ascending. Streams that no write uses are included.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.streams.iter().copied()
    }

    /// Returns the first byte that has a stream; 0 if no byte has one.
    pub fn begin(&self) -> u64 {
        self.steps.first().map_or(0, |&(first, _)| first)
    }

    /// Returns the text that the table was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the stream of a write whose first byte is `byte`.
    pub fn of(&self, byte: u64) -> Option<StreamId> {
        let step = self.steps.partition_point(|&(first, _)| first <= byte).checked_sub(1)?;
        named(self.steps[step].1)
    }
}

/// Parses a line. An error has the byte of the fault and the message.
fn read_line(text: &str) -> Result<Line, (usize, String)> {
    let mut at = 0;
    let fields: Vec<(usize, &str)> = text
        .split(',')
        .map(|field| {
            let start = at + field.len() - field.trim_start().len();
            at += field.len() + 1;
            (start, field.trim())
        })
        .collect();
    let &[start, end, stream] = fields.as_slice() else {
        // The error is at the first missing column, or at the first column too many.
        let (at, columns) =
            (fields.get(3).map_or(text.trim_end().len(), |more| more.0), fields.len());
        return Err((at, format!("found {columns} columns, expected 3 (START, END, STREAM)")));
    };
    let number = |(at, field): (usize, &str), expected: &str| {
        let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
        let value = digits.then(|| field.parse::<u64>().ok()).flatten();
        value.ok_or_else(|| (at, format!("found '{field}', expected {expected}")))
    };
    let first = number(start, "the first byte of a range")?;
    let behind = number(end, "the first byte behind the range")?;
    if behind <= first {
        let message = format!("found the end {behind}, expected one behind the start {first}");
        return Err((end.0, message));
    }
    const STREAM: &str = "a stream from 0 to 254";
    let id = StreamId::try_from(number(stream, STREAM)?).ok().and_then(named);
    let id = id.ok_or_else(|| (stream.0, format!("found '{}', expected {STREAM}", stream.1)))?;
    Ok((first, behind, id))
}

/// Converts the lines to steps, each with the stream of the first line whose range covers it.
fn steps(lines: &[Line]) -> Vec<(u64, StreamId)> {
    let mut borders: Vec<(u64, usize, bool)> = Vec::with_capacity(2 * lines.len());
    for (number, &(first, behind, _)) in lines.iter().enumerate() {
        borders.extend([(first, number, true), (behind, number, false)]);
    }
    borders.sort_unstable();
    let mut steps: Vec<(u64, StreamId)> = Vec::new();
    let mut over = BTreeSet::new();
    for same in borders.chunk_by(|border, next| border.0 == next.0) {
        for &(_, number, begins) in same {
            if begins {
                over.insert(number)
            } else {
                over.remove(&number)
            };
        }
        let stream = over.first().map_or(NO_STREAM, |&number| lines[number].2);
        if steps.last().is_none_or(|&(_, last)| last != stream) {
            steps.push((same[0].0, stream));
        }
    }
    steps
}

/// A workload in which each command has the stream of the first byte of its page.
#[derive(State)]
#[snapshot(named = "ranges of streams")]
pub struct Ranged {
    #[snapshot(state)]
    inner: Box<dyn Workload>,
    #[snapshot(skip)]
    ranges: Arc<StreamRanges>,
    #[snapshot(skip)]
    page_size: u64,
}

impl Ranged {
    /// Gives the commands of `inner` their streams. Pages have `page_size` bytes. Commands outside
    /// all `ranges` keep their own streams.
    pub fn new(inner: Box<dyn Workload>, ranges: Arc<StreamRanges>, page_size: u32) -> Self {
        Self { inner, ranges, page_size: page_size.into() }
    }
}

impl Workload for Ranged {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        self.inner.fill(batch, limit)?;
        batch.streams.resize(batch.pages.len(), NO_STREAM);
        for (&page, stream) in batch.pages.iter().zip(&mut batch.streams) {
            *stream = self.ranges.of(u64::from(page) * self.page_size).unwrap_or(*stream);
        }
        Ok(())
    }
}

/// Requests with the streams of the first bytes of their pages. A write to pages with different
/// streams becomes a request of several pieces.
#[derive(State)]
#[snapshot(named = "ranges of streams")]
pub struct RangedRequests {
    #[snapshot(state)]
    inner: Box<dyn RequestStream>,
    #[snapshot(skip)]
    ranges: Arc<StreamRanges>,
    #[snapshot(skip)]
    page_size: u64,
    /// The requests drawn from `inner`, in pieces. Those before `next` were handed out.
    drawn: Vec<TimedRequest>,
    next: usize,
}

impl RangedRequests {
    /// Gives the requests of `inner` their streams. Pages have `page_size` bytes. Requests outside
    /// all `ranges` keep their own streams.
    pub fn new(inner: Box<dyn RequestStream>, ranges: Arc<StreamRanges>, page_size: u32) -> Self {
        Self { inner, ranges, page_size: page_size.into(), drawn: Vec::new(), next: 0 }
    }

    /// Appends the pieces of `request`.
    fn cut(&mut self, request: TimedRequest) {
        let stream_of = |page: u64| self.ranges.of(page * self.page_size).unwrap_or(request.stream);
        let mut page = request.offset / self.page_size;
        let (mut offset, mut stream) = (request.offset, stream_of(page));
        if request.op == Op::Write {
            loop {
                page += 1;
                let border = page * self.page_size;
                if border >= request.end() {
                    break;
                }
                let next = stream_of(page);
                if next != stream {
                    let bytes = (border - offset) as u32;
                    self.drawn.push(TimedRequest {
                        offset,
                        bytes,
                        stream,
                        goes_on: true,
                        ..request
                    });
                    (offset, stream) = (border, next);
                }
            }
        }
        let bytes = (request.end() - offset) as u32;
        self.drawn.push(TimedRequest { offset, bytes, stream, ..request });
    }
}

impl RequestStream for RangedRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        if self.next == self.drawn.len() {
            self.inner.fill(batch, limit)?;
            self.drawn.clear();
            self.next = 0;
            batch.iter().for_each(|&request| self.cut(request));
        }
        let end = self.drawn.len().min(self.next.saturating_add(limit));
        batch.clear();
        batch.extend_from_slice(&self.drawn[self.next..end]);
        self.next = end;
        Ok(())
    }
}
