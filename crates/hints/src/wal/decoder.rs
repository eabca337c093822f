//! Decodes a stream of log bytes: pages, records that cross page borders, and the places of both.

use super::error::{Fault, WalError};
use super::page::{self, LONG, PAGE, Pages, SHORT, SMALLEST_SEGMENT};
use super::record::{self, Blocks, HEADER, Record};
use super::what::{self, What};

/// The alignment of records in bytes.
const ALIGNMENT: u64 = 8;

/// The size in bytes of the largest buffer that is kept for the next record in pieces.
const KEPT: usize = 1 << 20;

/// The kind of bytes that follow a page header.
enum State {
    /// The bytes before the first page border. The decoder does not know yet where a record begins.
    Before,
    /// The rest of a record that began before the first page, with the number of bytes still to
    /// come.
    Rest(usize),
    /// Records, whole or in part.
    Records,
    /// The bytes behind a segment switch, which have no meaning.
    Switched,
}

/// Turns the bytes of a log into records.
///
/// ```
/// let mut decoder = flashgc_hints::wal::Decoder::new(0x0150_0000);
/// let error = decoder.feed(0x0150_0000, &[0; 8192], &mut |_| ()).unwrap_err();
/// let expected = "at 0/1500000: the page begins with 0x0000, expected 0xD106";
/// assert!(error.to_string().contains(expected));
/// ```
pub struct Decoder {
    /// The place of the next byte.
    next: u64,
    state: State,
    pages: Pages,
    /// The part of this page's header that has arrived.
    header: [u8; LONG],
    /// The length of this page's whole header in bytes.
    header_length: usize,
    /// The part of an incomplete record that has arrived.
    partial: Vec<u8>,
    /// The place of the incomplete record.
    begun: u64,
    /// The place of the first page.
    first_page: u64,
    /// The place of the last whole record.
    previous: Option<u64>,
    blocks: Blocks,
    failed: Option<WalError>,
}

impl Decoder {
    /// Makes a decoder of the log from `start` on, in bytes since the log began. Bytes before the
    /// first page border are skipped, and so is the rest of a record that crosses it. To miss no
    /// record, `start` must be the page border at or before the first wanted record, a multiple of
    /// [`PAGE`].
    #[must_use]
    pub fn new(start: u64) -> Self {
        Self {
            next: start,
            state: State::Before,
            pages: Pages::default(),
            header: [0; LONG],
            header_length: 0,
            partial: Vec::new(),
            begun: start,
            first_page: start,
            previous: None,
            blocks: Blocks::default(),
            failed: None,
        }
    }

    /// Returns the place of the next byte to feed.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Decodes the next bytes of the log, which begin at the place `at`. There can be any number of
    /// them. Passes every complete record to `visit`. After an error nothing more is decoded, and
    /// each further call returns the same error.
    pub fn feed(
        &mut self,
        at: u64,
        bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<(), WalError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let fed = self.take(at, bytes, visit);
        self.failed = fed.err();
        fed
    }

    fn take(
        &mut self,
        at: u64,
        mut bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<(), WalError> {
        if at != self.next {
            return Err(WalError { at: self.next, fault: Fault::Gap { found: at } });
        }
        let length = bytes.len() as u64;
        if length.checked_add(PAGE).is_none_or(|length| at.checked_add(length).is_none()) {
            return Err(WalError { at, fault: Fault::TooFar { length } });
        }
        while !bytes.is_empty() {
            let within = (self.next % PAGE) as usize;
            if within == 0 {
                self.header_length = SHORT;
            }
            let used = if within < self.header_length {
                self.take_header(within, bytes)?
            } else {
                let room = PAGE as usize - within;
                self.take_body(&bytes[..bytes.len().min(room)], visit)?
            };
            self.next += used as u64;
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Takes those of `bytes` that belong to the page header. `within` is the place of the first
    /// byte in the header. Returns the number of bytes used, like [`Decoder::take_body`].
    fn take_header(&mut self, within: usize, bytes: &[u8]) -> Result<usize, WalError> {
        let used = bytes.len().min(self.header_length - within);
        self.header[within..within + used].copy_from_slice(&bytes[..used]);
        if within + used == self.header_length {
            if self.header_length == SHORT && page::is_long(&self.header) {
                self.header_length = LONG;
            } else {
                self.begin_page(self.next - within as u64)?;
            }
        }
        Ok(used)
    }

    /// Checks the complete page header at `at` and begins its page.
    fn begin_page(&mut self, at: u64) -> Result<(), WalError> {
        if matches!(self.state, State::Switched) {
            let empty = self.header[..SHORT].iter().all(|&byte| byte == 0);
            let may_be_segment = at.is_multiple_of(SMALLEST_SEGMENT);
            if !may_be_segment || (empty && !self.pages.is_segment_start(at)) {
                return Ok(());
            }
        }
        let header = self.pages.check(at, &self.header)?;
        if matches!(self.state, State::Before) {
            self.first_page = at;
        }
        let left = header.left as usize;
        let expected = match self.state {
            State::Before => left,
            State::Rest(left) => left,
            State::Records | State::Switched => self.missing(),
        };
        if header.overwrites {
            if expected == 0 && !matches!(self.state, State::Before) {
                let expected = "no flag 8, as no record was torn";
                return Err(WalError {
                    at,
                    fault: Fault::Header { field: "flags", found: 8, expected },
                });
            }
            self.partial.clear();
        } else if left != expected {
            let (found, expected) = (left as u64, expected as u64);
            let field = "rest of a record";
            return Err(WalError { at, fault: Fault::Page { field, found, expected } });
        }
        self.state = match self.state {
            State::Before | State::Rest(_) if left > 0 => State::Rest(left),
            _ => State::Records,
        };
        Ok(())
    }

    /// Returns the number of bytes that the incomplete record still lacks.
    fn missing(&self) -> usize {
        let length = self.partial.first_chunk().and_then(|first| record::length(*first).ok());
        length.map_or(0, |length| length - self.partial.len())
    }

    /// Takes bytes behind one page header. Returns the number of bytes used.
    fn take_body(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<usize, WalError> {
        match &mut self.state {
            State::Before | State::Switched => Ok(bytes.len()),
            State::Rest(left) => {
                let used = bytes.len().min(*left);
                *left -= used;
                if *left == 0 {
                    self.state = State::Records;
                }
                Ok(used)
            }
            State::Records if !self.partial.is_empty() => self.go_on(bytes, visit),
            State::Records => self.begin(bytes, visit),
        }
    }

    /// Begins a record, or skips the bytes that align it.
    fn begin(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<usize, WalError> {
        let at = self.next;
        let padding = (at.next_multiple_of(ALIGNMENT) - at) as usize;
        if padding > 0 {
            return Ok(padding.min(bytes.len()));
        }
        if let Some(first) = bytes.first_chunk() {
            let length = record::length(*first).map_err(|fault| WalError { at, fault })?;
            if let Some(whole) = bytes.get(..length) {
                self.show(at, at + length as u64, whole, visit)?;
                return Ok(length);
            }
        }
        self.begun = at;
        self.partial.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Continues an incomplete record.
    fn go_on(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<usize, WalError> {
        let at = self.begun;
        let length = match self.partial.first_chunk() {
            Some(first) => record::length(*first).map_err(|fault| WalError { at, fault })?,
            None => 4, // The length of the record comes first.
        };
        let used = bytes.len().min(length - self.partial.len());
        self.partial.extend_from_slice(&bytes[..used]);
        if self.partial.len() == length && length >= HEADER {
            let mut whole = std::mem::take(&mut self.partial);
            self.show(at, self.next + used as u64, &whole, visit)?;
            whole.clear();
            whole.shrink_to(KEPT);
            self.partial = whole;
        }
        Ok(used)
    }

    /// Checks a complete record, which ends at `end`, and passes it to `visit`.
    fn show(
        &mut self,
        at: u64,
        end: u64,
        bytes: &[u8],
        visit: &mut impl FnMut(&Record<'_>),
    ) -> Result<(), WalError> {
        let wrong = |fault| WalError { at, fault };
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(wrong(Fault::Length { found: bytes.len() as u32 }));
        };
        let (found, expected) = record::check_sums(header, rest);
        if found != expected {
            return Err(wrong(Fault::CheckSum { found, expected }));
        }
        let [_, _, _, _, t0, t1, t2, t3, p0, p1, p2, p3, p4, p5, p6, p7, info, manager, ..] =
            *header;
        let found = u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7]);
        match self.previous {
            Some(expected) if found != expected => {
                return Err(wrong(Fault::Previous { found, expected }));
            }
            None if found >= self.first_page => {
                return Err(wrong(Fault::Skipped { found, page: self.first_page }));
            }
            _ => {}
        }
        let major = self.pages.major();
        let data = self.blocks.read(major, rest).map_err(wrong)?;
        let Some(what) = what::read(major, manager, info, data) else {
            let expected = "more, for a record of its kind";
            let found = data.len() as u64;
            return Err(wrong(Fault::Record { field: "data's length", found, expected }));
        };
        visit(&Record {
            at,
            end: end.next_multiple_of(ALIGNMENT),
            resource_manager: manager,
            info,
            transaction: u32::from_le_bytes([t0, t1, t2, t3]),
            blocks: self.blocks.get(),
            what,
        });
        self.previous = Some(at);
        if what == What::Switch {
            self.state = State::Switched;
        }
        Ok(())
    }
}
