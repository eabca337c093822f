//! The part of a trace that is in memory: bytes that were read from the input and not parsed yet.
//! This module knows nothing of lines and records.

use std::path::Path;

use super::error::TraceError;
use super::input::Input;

/// The number of bytes read at once, and the length limit of a line or record. It is large, so that
/// few calls are needed, and small enough for the second-level cache.
pub(crate) const CHUNK: usize = 256 << 10;

/// A window of [`CHUNK`] bytes that moves along an input.
pub(crate) struct Window {
    pub input: Input,
    pub buffer: Vec<u8>,
    /// The first unparsed byte: `buffer[start..filled]` was read and not parsed.
    pub start: usize,
    pub filled: usize,
    /// `true` if the input has no more bytes.
    pub at_end: bool,
}

impl Window {
    /// Makes a window at the first byte of `input` that was not consumed yet.
    pub fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, filled: 0, at_end: false }
    }

    /// Moves the unparsed bytes to the front of the buffer, and reads more bytes after them.
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

    /// Returns the number of decompressed bytes before the unparsed ones.
    pub fn position(&self) -> u64 {
        self.input.position - (self.filled - self.start) as u64
    }

    pub fn path(&self) -> &Path {
        &self.input.path
    }
}
