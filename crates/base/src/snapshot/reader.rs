//! The reader of a snapshot's bytes.

use std::io;

use super::{Fault, tag};

/// The most bytes that are read from the source at once.
const AHEAD: usize = 1 << 16;

/// Reads the bytes of a snapshot of known length.
pub struct Reader<'a> {
    from: &'a mut dyn io::Read,
    /// Bytes that have not been read from `from` yet.
    to_come: u64,
    ahead: Vec<u8>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader of the next `bytes` bytes of `from`.
    pub fn new(from: &'a mut dyn io::Read, bytes: u64) -> Self {
        Self { from, to_come: bytes, ahead: Vec::new(), at: 0 }
    }

    /// Bytes that have not been read yet.
    pub fn left(&self) -> u64 {
        self.to_come + (self.ahead.len() - self.at) as u64
    }

    /// Fills `bytes` with the next bytes of the snapshot.
    ///
    /// # Errors
    /// The snapshot ends too early, or cannot be read.
    pub fn bytes(&mut self, mut bytes: &mut [u8]) -> Result<(), Fault> {
        if bytes.len() as u64 > self.left() {
            return Err(Fault::new("it ends too early"));
        }
        while !bytes.is_empty() {
            if self.at == self.ahead.len() {
                let count = self.to_come.min(AHEAD as u64);
                self.ahead.resize(count as usize, 0);
                self.at = 0;
                self.from.read_exact(&mut self.ahead).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => Fault::new("it ends too early"),
                    _ => Fault::new(error.to_string()),
                })?;
                self.to_come -= count;
            }
            let count = bytes.len().min(self.ahead.len() - self.at);
            let (now, later) = bytes.split_at_mut(count);
            now.copy_from_slice(&self.ahead[self.at..self.at + count]);
            self.at += count;
            bytes = later;
        }
        Ok(())
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// The errors of [`Reader::bytes`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.bytes(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the beginning of the part called `name`.
    ///
    /// # Errors
    /// Another part is here.
    pub fn section(&mut self, name: &str) -> Result<(), Fault> {
        if u32::from_le_bytes(self.array()?) == tag(name) {
            Ok(())
        } else {
            Err(Fault::new(format!("no {name} is where one was expected")))
        }
    }

    /// Reads the number of things that follow, each at least one byte long.
    ///
    /// # Errors
    /// A number that is larger than the number of bytes left.
    pub fn count(&mut self) -> Result<usize, Fault> {
        let count = u64::from_le_bytes(self.array()?);
        if count > self.left() {
            return Err(Fault::new(format!(
                "{count} entries are announced, more than it has bytes"
            )));
        }
        usize::try_from(count).map_err(|_| Fault::new(format!("{count} entries are too many")))
    }

    /// Reads a number of entries, which must be `expected`.
    ///
    /// # Errors
    /// Another number.
    pub fn count_of(&mut self, expected: usize) -> Result<(), Fault> {
        match self.count()? {
            count if count == expected => Ok(()),
            count => Err(Fault::new(format!("a table has {count} entries, expected {expected}"))),
        }
    }

    /// Checks that a condition on a value holds. It serves for values that would do harm if wrong.
    ///
    /// # Errors
    /// A fault with the text `what`, if `holds` is false.
    pub fn check(&self, holds: bool, what: &str) -> Result<(), Fault> {
        if holds { Ok(()) } else { Err(Fault::new(what)) }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end(self) -> Result<(), Fault> {
        match self.left() {
            0 => Ok(()),
            left => Err(Fault::new(format!("{left} bytes are left over"))),
        }
    }
}
