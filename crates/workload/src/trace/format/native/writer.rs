//! Writes the `flashgc` format to any output. The writer never seeks.

use std::io::{self, Write};

use super::layout::{self, BLOCK_REQUESTS, Block, BlockHeader, HEADER, IndexEntry, Trailer};
use crate::trace::request::{Declared, Fields, Request};

/// A writer of a trace in the `flashgc` format. Without [`finish`](Self::finish) the file has no
/// index, and reading it gives an error at its end.
pub struct NativeWriter<W> {
    out: W,
    pending: Block,
    index: Vec<IndexEntry>,
    fields: Fields,
    byte: u64,
    requests: u64,
}

impl<W: Write> NativeWriter<W> {
    /// Starts a file with its header. If the trace was recorded from a drive, its address space is
    /// the drive's size in bytes; pages then keep their numbers in a replay.
    pub fn new(mut out: W, declared: Declared) -> io::Result<Self> {
        out.write_all(&layout::header(declared))?;
        Ok(Self {
            out,
            pending: Block::new(),
            index: Vec::new(),
            fields: declared.fields,
            byte: HEADER as u64,
            requests: 0,
        })
    }

    /// Appends requests.
    pub fn write(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            self.pending.push(request, self.fields);
            if self.pending.requests == BLOCK_REQUESTS {
                self.write_block()?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.pending.requests > 0 {
            let payload = self.pending.parts().collect::<Vec<_>>().concat();
            self.write_coded(self.pending.requests, self.pending.first_time, &payload)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Appends a block of requests that are coded already. There must be no pending request.
    pub(crate) fn write_coded(
        &mut self,
        requests: u32,
        first_time: u64,
        payload: &[u8],
    ) -> io::Result<()> {
        let header = BlockHeader {
            payload: payload.len() as u32,
            requests,
            first_index: self.requests,
            first_time,
        };
        self.out.write_all(&header.bytes(payload))?;
        self.out.write_all(payload)?;
        self.index.push(IndexEntry {
            byte: self.byte,
            first_index: header.first_index,
            first_time: header.first_time,
        });
        self.byte += (layout::BLOCK_HEADER + payload.len()) as u64;
        self.requests += u64::from(requests);
        Ok(())
    }

    /// Writes the last block, the index and the trailer. Returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_block()?;
        let blocks = self.index.len() as u64;
        let mut crc = crc32fast::Hasher::new();
        let header = layout::index_header(blocks);
        crc.update(&header);
        self.out.write_all(&header)?;
        for entry in &self.index {
            crc.update(&entry.bytes());
            self.out.write_all(&entry.bytes())?;
        }
        let index_crc = crc.finalize();
        let trailer = Trailer { index_byte: self.byte, requests: self.requests, blocks, index_crc };
        self.out.write_all(&trailer.bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}
