//! The part of a trace that is in memory: bytes read from the input and not yet parsed. Knows nothing
//! of lines and records.

use std::path::Path;

use super::error::TraceError;
use super::input::Input;

/// Bytes read at a time, and the longest line or record: large enough for few calls, small enough for
/// the second-level cache.
pub(crate) const CHUNK: usize = 256 << 10;

/// [`CHUNK`] bytes of an input, which move along it.
pub(crate) struct Window {
    pub input: Input,
    pub buffer: Vec<u8>,
    /// `buffer[start..filled]` is read and not parsed.
    pub start: usize,
    pub filled: usize,
    /// The input has no more bytes.
    pub at_end: bool,
}

impl Window {
    /// Before the first byte of `input` that is not yet taken.
    pub fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, filled: 0, at_end: false }
    }

    /// Moves what is not parsed to the front, and reads behind it.
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

    /// Bytes of content before those that are not parsed.
    pub fn position(&self) -> u64 {
        self.input.position - (self.filled - self.start) as u64
    }

    pub fn path(&self) -> &Path {
        &self.input.path
    }
}
