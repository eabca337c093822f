//! Writes the `pages` format to any output. The writer never seeks.

use std::io::{self, Write};

use super::layout::{self, BLOCK_REFERENCES, Header, Piece};
use crate::trace::reuse::Reference;

/// A writer of references in the `pages` format. Without [`finish`](Self::finish) the file has no
/// end, and reading it gives an error there.
pub(crate) struct PagesWriter<W> {
    out: W,
    pending: Vec<Reference>,
    payload: Vec<u8>,
    references: u64,
}

impl<W: Write> PagesWriter<W> {
    /// Starts a file with its header.
    pub fn new(mut out: W, page_size: u32, filter: u32) -> io::Result<Self> {
        out.write_all(&Header { page_size, filter }.bytes())?;
        let pending = Vec::with_capacity(BLOCK_REFERENCES);
        Ok(Self { out, pending, payload: Vec::new(), references: 0 })
    }

    /// Appends a reference.
    #[inline]
    pub fn write(&mut self, reference: Reference) -> io::Result<()> {
        self.pending.push(reference);
        if self.pending.len() == BLOCK_REFERENCES { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.payload.clear();
        layout::encode(&self.pending, &mut self.payload);
        let references = self.pending.len() as u32;
        let piece = Piece::Block { references, payload: self.payload.len() as u32 };
        self.out.write_all(&piece.bytes(&self.payload))?;
        self.out.write_all(&self.payload)?;
        self.references += u64::from(references);
        self.pending.clear();
        Ok(())
    }

    /// Returns the number of references written so far.
    pub fn references(&self) -> u64 {
        self.references + self.pending.len() as u64
    }

    /// Writes the last block and the end. Returns the output.
    pub fn finish(mut self, accesses: u64) -> io::Result<W> {
        self.write_block()?;
        let end = Piece::End { references: self.references, accesses };
        self.out.write_all(&end.bytes(&[]))?;
        self.out.flush()?;
        Ok(self.out)
    }
}
