//! Decodes binary records that say their own length. Knows how to report a bad record, not what a
//! good one means.

use crate::trace::Request;
use crate::trace::error::{Fault, Place, TraceError};
use crate::trace::input::Input;
use crate::trace::lines::{CHUNK, Decoder};
use crate::trace::parse::BadField;
use crate::trace::reader::OnBadLine;

/// A format of records, each with its length near its start.
pub(super) trait RecordFormat: Send + 'static {
    /// The name of the format.
    const NAME: &'static str;
    /// Bytes that every record has; its length is in them.
    const LEAST: usize;

    /// The length of the record that starts with these [`LEAST`](Self::LEAST) bytes, at most
    /// [`CHUNK`]. Without it nothing more can be read.
    fn length(&self, head: &[u8]) -> Result<usize, BadValue>;

    /// Reads one whole record. `None`: a good record that is no request.
    fn parse(&mut self, record: &[u8]) -> Result<Option<Request>, BadField>;

    /// A flush that the record last read asks for before its request, or instead of one; and one behind.
    fn flushes(&mut self) -> [Option<Request>; 2] {
        [None, None]
    }

    /// The number in the field at byte `at`, for a message.
    fn number(&self, record: &[u8], at: usize) -> u64;

    /// What a person should know about how the file is read.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A value that makes a record unreadable.
pub(super) struct BadValue {
    /// The value and its place in the record.
    pub found: String,
    /// What should have been there.
    pub expected: &'static str,
    /// What to try.
    pub hint: &'static str,
}

pub(super) struct Records<F> {
    input: Input,
    format: F,
    on_bad_line: OnBadLine,
    buffer: Vec<u8>,
    /// `buffer[start..filled]` is read and not parsed.
    start: usize,
    filled: usize,
    at_end: bool,
    /// Records read so far.
    record: u64,
    skipped: u64,
    ignored: u64,
    flushes: u64,
}

impl<F: RecordFormat> Records<F> {
    /// Records after the first `skip` bytes of the input.
    pub(super) fn open(
        mut input: Input,
        format: F,
        on_bad_line: OnBadLine,
        skip: usize,
    ) -> Result<Box<dyn Decoder>, TraceError> {
        input.fill(&mut vec![0; skip])?;
        Ok(Box::new(Self {
            input,
            format,
            on_bad_line,
            buffer: vec![0; CHUNK],
            start: 0,
            filled: 0,
            at_end: false,
            record: 0,
            skipped: 0,
            ignored: 0,
            flushes: 0,
        }))
    }

    /// Makes `wanted` bytes of the next record available, or all that there are.
    fn have(&mut self, wanted: usize) -> Result<usize, TraceError> {
        if self.filled - self.start < wanted && !self.at_end {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
            let room = CHUNK - self.filled;
            let count = self.input.fill(&mut self.buffer[self.filled..])?;
            self.filled += count;
            self.at_end = count < room;
        }
        Ok((self.filled - self.start).min(wanted))
    }

    fn error(&self, fault: Fault, message: String, hint: &str) -> TraceError {
        let place = Place::Record { record: self.record + 1, byte: self.position() };
        TraceError::new(&self.input.path, fault, message).at(place).hint(hint)
    }

    /// Ends the reading: what is left cannot be read, which is an error unless it is skipped.
    fn give_up(&mut self, error: TraceError) -> Result<(), TraceError> {
        if self.on_bad_line == OnBadLine::Stop {
            return Err(error);
        }
        self.skipped += 1;
        // The rest of the input is not looked at.
        (self.start, self.filled, self.at_end) = (0, 0, true);
        Ok(())
    }

    /// The length of the next record if all of it is there; `None` at the end.
    fn next_length(&mut self) -> Result<Option<usize>, TraceError> {
        let (mut found, mut length) = (self.have(F::LEAST)?, F::LEAST);
        if found == 0 {
            return Ok(None);
        }
        if found == F::LEAST {
            match self.format.length(&self.buffer[self.start..self.start + F::LEAST]) {
                Ok(whole) => length = whole,
                Err(bad) => {
                    let message = format!("found {}, expected {}", bad.found, bad.expected);
                    let error = self.error(Fault::BadRecord, message, bad.hint);
                    return self.give_up(error).map(|()| None);
                }
            }
            found = self.have(length)?;
        }
        if found < length {
            let message = format!(
                "found {found} bytes, expected a {} record of {length} bytes: the file is cut off",
                F::NAME
            );
            let hint = "fetch the file again, or --on-bad-line skip leaves the rest out";
            let error = self.error(Fault::Damaged, message, hint);
            return self.give_up(error).map(|()| None);
        }
        Ok(Some(length))
    }
}

impl<F: RecordFormat> Decoder for Records<F> {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        /// Requests returned at a time.
        const BLOCK: usize = 4096;
        let before = out.len();
        while out.len() < before + BLOCK {
            let Some(length) = self.next_length()? else { break };
            let record = &self.buffer[self.start..self.start + length];
            let parsed = self.format.parse(record);
            let [before, behind] = self.format.flushes();
            self.flushes += before.iter().chain(&behind).count() as u64;
            out.extend(before);
            match parsed {
                Ok(Some(request)) => out.push(request),
                Ok(None) => self.ignored += 1,
                Err(_) if self.on_bad_line == OnBadLine::Skip => self.skipped += 1,
                Err(bad) => {
                    let message = format!(
                        "found {} at byte {} of the record, expected {}",
                        self.format.number(record, bad.at),
                        bad.at,
                        bad.expected
                    );
                    let hint = "--on-bad-line skip counts and skips such records";
                    return Err(self.error(Fault::BadRecord, message, hint));
                }
            }
            out.extend(behind);
            self.start += length;
            self.record += 1;
        }
        Ok(out.len() > before)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn ignored(&self) -> u64 {
        self.ignored
    }

    fn flushes(&self) -> u64 {
        self.flushes
    }

    fn note(&self) -> Option<String> {
        self.format.note()
    }

    fn position(&self) -> u64 {
        self.input.position - (self.filled - self.start) as u64
    }
}

/// Records of a sample that are requests, up to the first that cannot be one.
pub(super) fn sniff<F: RecordFormat>(mut format: F, mut bytes: &[u8]) -> usize {
    let mut good = 0;
    for _ in 0..300 {
        let Some(Ok(length)) = bytes.get(..F::LEAST).map(|head| format.length(head)) else { break };
        let Some(record) = bytes.get(..length) else { break };
        good += usize::from(matches!(format.parse(record), Ok(Some(_))));
        bytes = &bytes[length..];
    }
    good
}
