//! Reads a `flashgc` trace from start to end, compressed or not, and checks all of it.

use super::layout::{
    self, BLOCK_HEADER, BLOCK_MAGIC, BlockHeader, HEADER, Header, INDEX_ENTRY, INDEX_HEADER,
    INDEX_MAGIC, TRAILER, Trailer,
};
use crate::trace::error::{Fault, Place, TraceError};
use crate::trace::format::ReadOptions;
use crate::trace::input::Input;
use crate::trace::lines::{Counts, Decoder};
use crate::trace::request::{Declared, Request};

/// The hint for a damaged file.
pub(super) const DAMAGED_HINT: &str = "fetch the file again, or convert its source again";

pub(in crate::trace::format) fn open(
    mut input: Input,
    _options: &ReadOptions,
) -> Result<Box<dyn Decoder>, TraceError> {
    let mut header = [0; HEADER];
    let filled = input.fill(&mut header)?;
    let header = layout::check_header(&header[..filled]).map_err(|message| {
        let hint = if message.contains("version") { "use a newer flashgc" } else { DAMAGED_HINT };
        TraceError::new(&input.path, Fault::Damaged, message).at(Place::Byte(0)).hint(hint)
    })?;
    let (blocks, requests, flushes) = (0, 0, 0);
    let payload = Vec::new();
    Ok(Box::new(Stream { input, header, payload, blocks, requests, flushes, ended: false }))
}

struct Stream {
    input: Input,
    header: Header,
    payload: Vec<u8>,
    blocks: u64,
    /// The number of requests so far, and the number of flushes among them.
    requests: u64,
    flushes: u64,
    ended: bool,
}

impl Stream {
    fn damaged(&self, byte: u64, message: &str) -> TraceError {
        TraceError::new(&self.input.path, Fault::Damaged, message)
            .at(Place::Block { block: self.blocks + 1, byte })
            .hint(DAMAGED_HINT)
    }

    fn step(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        let byte = self.input.position;
        let cut = "found the end of the file, expected more: the file is cut off";
        let mut header = [0; BLOCK_HEADER];
        let start = self.input.fill(&mut header[..INDEX_HEADER])?;
        if start == INDEX_HEADER && header[..4] == INDEX_MAGIC {
            self.finish(byte, &header[..INDEX_HEADER])?;
            return Ok(false);
        }
        let rest = self.input.fill(&mut header[INDEX_HEADER..])?;
        let known = start < 4 || header[..4] == BLOCK_MAGIC;
        if start + rest < BLOCK_HEADER && known {
            return Err(self.damaged(byte, cut));
        }
        let block = BlockHeader::parse(&header).map_err(|message| self.damaged(byte, message))?;
        let length = block.payload as usize;
        self.payload.resize(length, 0);
        if self.input.fill(&mut self.payload)? < length {
            return Err(self.damaged(byte, cut));
        }
        if !layout::block_fits(&header, &self.payload) {
            let message = "the block's checksum does not fit: the file is damaged";
            return Err(self.damaged(byte, message));
        }
        if block.first_index != self.requests {
            let message = "the block is not the next one: the file is damaged";
            return Err(self.damaged(byte, message));
        }
        let before = out.len();
        let Some(flushes) = layout::decode(&self.header, &block, &self.payload, out) else {
            out.truncate(before);
            let message = "the block's requests make no sense: the file was written wrongly";
            return Err(self.damaged(byte, message));
        };
        self.flushes += flushes;
        self.requests += u64::from(block.requests);
        self.blocks += 1;
        Ok(true)
    }

    /// Checks the index and the trailer. `header` is the header of the index, which was read at
    /// `byte`.
    fn finish(&mut self, byte: u64, header: &[u8]) -> Result<(), TraceError> {
        let path = self.input.path.clone();
        let wrong = |message: &str| {
            TraceError::new(&path, Fault::Damaged, message).at(Place::Byte(byte)).hint(DAMAGED_HINT)
        };
        let mut crc = crc32fast::Hasher::new();
        crc.update(header);
        if layout::u64_at(header, 8) != self.blocks {
            return Err(wrong("the index has not as many entries as there are blocks"));
        }
        let mut entry = [0; INDEX_ENTRY];
        for _ in 0..self.blocks {
            if self.input.fill(&mut entry)? < INDEX_ENTRY {
                return Err(wrong("the index is cut off"));
            }
            crc.update(&entry);
        }
        // One byte more than the trailer is read, to check that nothing follows it.
        let mut trailer = [0; TRAILER + 1];
        let filled = self.input.fill(&mut trailer)?;
        let parsed = Trailer::parse(&trailer[..filled.min(TRAILER)]).map_err(wrong)?;
        if filled > TRAILER {
            return Err(wrong("found more bytes after the trailer, expected the end"));
        }
        let expected = Trailer {
            index_byte: byte,
            requests: self.requests,
            blocks: self.blocks,
            index_crc: crc.finalize(),
        };
        if parsed != expected {
            return Err(wrong("the index and the trailer do not fit the blocks"));
        }
        Ok(())
    }
}

impl Decoder for Stream {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        let result = self.step(out);
        self.ended = !matches!(result, Ok(true));
        result
    }

    fn counts(&self) -> Counts {
        Counts { skipped: 0, ignored: self.flushes, flushes: self.flushes }
    }

    fn position(&self) -> u64 {
        self.input.position
    }

    fn declared(&self) -> Declared {
        self.header.declared
    }
}
