//! The part of a trace that is in memory: bytes read from the input and not yet parsed. It knows nothing
//! of lines and records.

use std::path::Path;

use super::error::TraceError;
use super::input::Input;

/// The number of bytes read at a time, and the longest line or record. It is large enough for few calls,
/// small enough for the second-level cache.
pub(crate) const CHUNK: usize = 256 << 10;

/// A window of [`CHUNK`] bytes that moves along an input.
pub(crate) struct Window {
    pub input: Input,
    pub buffer: Vec<u8>,
    /// The first unparsed byte: `buffer[start..filled]` is read and not parsed.
    pub start: usize,
    pub filled: usize,
    /// `true` if the input has no more bytes.
    pub at_end: bool,
}

impl Window {
    /// Makes a window before the first byte of `input` that is not yet taken.
    pub fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, filled: 0, at_end: false }
    }

    /// Moves the unparsed bytes to the front, and reads behind them.
    pub fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let wanted = CHUNK - self.filled;
        let count = self.input.fill(&mut self.buffer[self.filled..])?;
        self.filled += count;
        self.at_end = count < wanted;
        Ok(())
    }

    /// Returns the number of bytes of content before the unparsed ones.
    pub fn position(&self) -> u64 {
        self.input.position - (self.filled - self.start) as u64
    }

    pub fn path(&self) -> &Path {
        &self.input.path
    }
}
