//! A decoder of binary records. Records have a fixed length, or their length is near their start.
//! The decoder reports bad records and does not know the meaning of good ones.

use flashgc_base::naming::choice;

use crate::trace::Request;
use crate::trace::error::{Fault, Place, TraceError};
use crate::trace::input::Input;
use crate::trace::lines::{Counts, Decoder, OnBadLine};
use crate::trace::parse::BadField;
use crate::trace::window::Window;

/// A format of records whose length follows from their first bytes.
pub(super) trait RecordFormat: Send + 'static {
    /// The name of the format.
    const NAME: &'static str;
    /// The smallest number of bytes of a record. The length of the record follows from these bytes.
    const LEAST: usize;

    /// Returns the length of the record that starts with these [`LEAST`](Self::LEAST) bytes, at
    /// most [`CHUNK`](crate::trace::window::CHUNK). After an error, no more records can be read.
    fn length(&self, head: &[u8]) -> Result<usize, BadValue>;

    /// Parses one whole record. Returns `None` for a good record that is not a request.
    fn parse(&mut self, record: &[u8]) -> Result<Option<Request>, BadField>;

    /// Takes the flushes of the record read last: one before its request or instead of it, and one
    /// after it.
    fn flushes(&mut self) -> [Option<Request>; 2] {
        [None, None]
    }

    /// Returns the number in the field at byte `at`, for a message.
    fn number(&self, record: &[u8], at: usize) -> u64;

    /// Returns a note for the user on how the file is read.
    fn note(&self) -> Option<String> {
        None
    }
}

/// The order of the bytes in a number.
#[derive(Clone, Copy)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Reads numbers of a record at the position of their first byte.
impl ByteOrder {
    #[inline]
    pub(crate) fn u16_at(self, record: &[u8], at: usize) -> u16 {
        let bytes = [record[at], record[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u32_at(self, record: &[u8], at: usize) -> u32 {
        let (first, second) =
            (u32::from(self.u16_at(record, at)), u32::from(self.u16_at(record, at + 2)));
        match self {
            Self::Little => second << 16 | first,
            Self::Big => first << 16 | second,
        }
    }

    #[inline]
    pub(crate) fn u64_at(self, record: &[u8], at: usize) -> u64 {
        let (first, second) =
            (u64::from(self.u32_at(record, at)), u64::from(self.u32_at(record, at + 4)));
        match self {
            Self::Little => second << 32 | first,
            Self::Big => first << 32 | second,
        }
    }
}

/// A value because of which a record cannot be read.
pub(super) struct BadValue {
    /// The value, as a text for messages.
    pub value: String,
    /// The expected value, as a text for messages.
    pub expected: &'static str,
    /// The advice to the user.
    pub hint: String,
}

/// Returns the option that skips bad records, for a hint.
fn skip() -> String {
    choice("on_bad_line", "skip")
}

/// Returns the hint for a file whose remainder cannot be read.
pub(super) fn fetch_again() -> String {
    format!("fetch the file again, or {}", leave_out_the_rest())
}

/// Returns the part of a hint that says how to read the records before the fault.
pub(super) fn leave_out_the_rest() -> String {
    format!("{} leaves the rest out", skip())
}

pub(super) struct Records<F> {
    window: Window,
    format: F,
    on_bad_line: OnBadLine,
    /// The number of records read so far.
    record: u64,
    counts: Counts,
}

impl<F: RecordFormat> Records<F> {
    /// Opens the records after the first `skip` bytes of the input.
    pub(super) fn open(
        mut input: Input,
        format: F,
        on_bad_line: OnBadLine,
        skip: usize,
    ) -> Result<Box<dyn Decoder>, TraceError> {
        input.fill(&mut vec![0; skip])?;
        let window = Window::new(input);
        Ok(Box::new(Self { window, format, on_bad_line, record: 0, counts: Counts::default() }))
    }

    /// Makes `wanted` bytes of the next record available, or all bytes left if they are fewer.
    /// Returns how many are available.
    fn have(&mut self, wanted: usize) -> Result<usize, TraceError> {
        if self.window.filled - self.window.start < wanted && !self.window.at_end {
            self.window.refill()?;
        }
        Ok((self.window.filled - self.window.start).min(wanted))
    }

    fn error(&self, fault: Fault, message: String, hint: String) -> TraceError {
        let place = Place::Record { record: self.record + 1, byte: self.position() };
        TraceError::new(self.window.path(), fault, message).at(place).hint(hint)
    }

    /// Stops reading, because the remainder cannot be read. This is an error unless bad records are
    /// skipped.
    fn give_up(&mut self, error: TraceError) -> Result<(), TraceError> {
        if self.on_bad_line == OnBadLine::Stop {
            return Err(error);
        }
        self.counts.skipped += 1;
        // The remainder of the input is not read.
        (self.window.start, self.window.filled, self.window.at_end) = (0, 0, true);
        Ok(())
    }

    /// Returns the length of the next record if it is complete, or `None` at the end.
    fn next_length(&mut self) -> Result<Option<usize>, TraceError> {
        let (mut available, mut length) = (self.have(F::LEAST)?, F::LEAST);
        if available == 0 {
            return Ok(None);
        }
        if available == F::LEAST {
            match self
                .format
                .length(&self.window.buffer[self.window.start..self.window.start + F::LEAST])
            {
                Ok(whole) => length = whole,
                Err(bad) => {
                    let message = format!("found {}, expected {}", bad.value, bad.expected);
                    let error = self.error(Fault::BadRecord, message, bad.hint);
                    return self.give_up(error).map(|()| None);
                }
            }
            available = self.have(length)?;
        }
        if available < length {
            let message = format!(
                "found {available} bytes, expected a {} record of {length} bytes: the file is cut off",
                F::NAME
            );
            let error = self.error(Fault::Damaged, message, fetch_again());
            return self.give_up(error).map(|()| None);
        }
        Ok(Some(length))
    }
}

impl<F: RecordFormat> Decoder for Records<F> {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        /// The number of requests that one call returns.
        const BLOCK: usize = 4096;
        let before = out.len();
        while out.len() < before + BLOCK {
            let Some(length) = self.next_length()? else { break };
            let record = &self.window.buffer[self.window.start..self.window.start + length];
            let parsed = self.format.parse(record);
            let [before, behind] = self.format.flushes();
            self.counts.flushes += before.iter().chain(&behind).count() as u64;
            out.extend(before);
            match parsed {
                Ok(Some(request)) => out.push(request),
                Ok(None) => self.counts.ignored += 1,
                Err(_) if self.on_bad_line == OnBadLine::Skip => self.counts.skipped += 1,
                Err(bad) => {
                    let message = format!(
                        "found {} at byte {} of the record, expected {}",
                        self.format.number(record, bad.at),
                        bad.at,
                        bad.expected
                    );
                    let hint = format!("{} counts and skips such records", skip());
                    return Err(self.error(Fault::BadRecord, message, hint));
                }
            }
            out.extend(behind);
            self.window.start += length;
            self.record += 1;
        }
        Ok(out.len() > before)
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn note(&self) -> Option<String> {
        self.format.note()
    }

    fn position(&self) -> u64 {
        self.window.position()
    }
}

/// Returns the number of records of a sample that are requests, up to the first record that cannot
/// belong to the format.
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
