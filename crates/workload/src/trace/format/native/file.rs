//! Random access to an uncompressed `flashgc` file: any request by its number, any block by its time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::layout::{
    self, BLOCK_HEADER, BlockHeader, HEADER, Header, INDEX_ENTRY, INDEX_HEADER, IndexEntry,
    TRAILER, Trailer,
};
use super::stream::DAMAGED_HINT;
use crate::trace::Request;
use crate::trace::error::{Fault, Place, TraceError};

/// An open `flashgc` file with its index in memory (24 bytes for 4096 requests).
#[derive(Debug)]
pub struct NativeFile {
    path: PathBuf,
    file: File,
    header: Header,
    index: Vec<IndexEntry>,
    index_byte: u64,
    requests: u64,
}

impl NativeFile {
    /// Opens a file and reads its index.
    ///
    /// # Errors
    /// The file is no uncompressed `flashgc` file, or its header, index or trailer is damaged. Blocks
    /// are checked when they are read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        let io = |error: std::io::Error| TraceError::io(&path, "read the trace", &error);
        let wrong = |byte: u64, message: String| {
            TraceError::new(&path, Fault::Damaged, message).at(Place::Byte(byte)).hint(DAMAGED_HINT)
        };
        let mut file = File::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut header = Vec::new();
        file.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(io)?;
        let header = layout::check_header(&header).map_err(|message| wrong(0, message))?;
        let end = size.saturating_sub(TRAILER as u64);
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        let mut bytes = Vec::new();
        file.by_ref().take(TRAILER as u64).read_to_end(&mut bytes).map_err(io)?;
        let trailer = Trailer::parse(&bytes).map_err(|message| wrong(end, message.to_owned()))?;
        let length = end.checked_sub(trailer.index_byte);
        let entries = length.and_then(|length| length.checked_sub(INDEX_HEADER as u64));
        if trailer.blocks.checked_mul(INDEX_ENTRY as u64) != entries {
            return Err(wrong(end, "the trailer does not fit the size of the file".to_owned()));
        }
        bytes.clear();
        file.seek(SeekFrom::Start(trailer.index_byte)).map_err(io)?;
        file.by_ref().take(end - trailer.index_byte).read_to_end(&mut bytes).map_err(io)?;
        if crc32fast::hash(&bytes) != trailer.index_crc || bytes.len() < INDEX_HEADER {
            let message = "the index's checksum does not fit: the file is damaged";
            return Err(wrong(trailer.index_byte, message.to_owned()));
        }
        let index =
            bytes[INDEX_HEADER..].chunks_exact(INDEX_ENTRY).map(IndexEntry::parse).collect();
        let (index_byte, requests) = (trailer.index_byte, trailer.requests);
        Ok(Self { path, file, header, index, index_byte, requests })
    }

    /// Returns the bytes of the drive that the trace was recorded from, if the file names them.
    pub fn address_space(&self) -> Option<u64> {
        self.header.declared.address_space
    }

    /// Returns the number of requests in the file.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns the number of blocks in the file.
    pub fn blocks(&self) -> usize {
        self.index.len()
    }

    /// Returns the number of the block that holds request `number` (from 0), or `None` past the end.
    pub fn block_of(&self, number: u64) -> Option<usize> {
        (number < self.requests)
            .then(|| self.index.partition_point(|entry| entry.first_index <= number) - 1)
    }

    /// Returns the number of the last block that starts at or before a time, or the first block if none
    /// does. The times of the trace must rise.
    pub fn block_at_time(&self, time_ns: u64) -> usize {
        self.index.partition_point(|entry| entry.first_time <= time_ns).saturating_sub(1)
    }

    /// Replaces the content of `out` by the requests of block `block` (from 0). Returns the number of
    /// its first request. Past the last block `out` is empty.
    ///
    /// # Errors
    /// The block is damaged.
    pub fn read_block(&mut self, block: usize, out: &mut Vec<Request>) -> Result<u64, TraceError> {
        out.clear();
        let Some(&entry) = self.index.get(block) else { return Ok(self.requests) };
        let wrong = |message: &str| {
            TraceError::new(&self.path, Fault::Damaged, message)
                .at(Place::Block { block: block as u64 + 1, byte: entry.byte })
                .hint(DAMAGED_HINT)
        };
        let next = self.index.get(block + 1).map_or(self.index_byte, |next| next.byte);
        let length = next.saturating_sub(entry.byte);
        // The longest block that a header may announce, so that the index cannot ask for more.
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(entry.byte))
            .and_then(|_| self.file.by_ref().take(length.min(1 << 22)).read_to_end(&mut bytes))
            .map_err(|error| TraceError::io(&self.path, "read the trace", &error))?;
        if bytes.len() < BLOCK_HEADER {
            return Err(wrong("the block is cut off: the file is damaged"));
        }
        let (head, payload) = bytes.split_at(BLOCK_HEADER);
        let header = BlockHeader::parse(head).map_err(wrong)?;
        if payload.len() != header.payload as usize
            || !layout::block_fits(head, payload)
            || header.first_index != entry.first_index
        {
            return Err(wrong("the block's checksum does not fit: the file is damaged"));
        }
        if layout::decode(&self.header, &header, payload, out).is_none() {
            out.clear();
            return Err(wrong("the block's requests make no sense: the file was written wrongly"));
        }
        Ok(entry.first_index)
    }

    /// Replaces the content of `out` by the requests from number `number` (from 0) to the end of its
    /// block. Past the end `out` is empty.
    ///
    /// # Errors
    /// The block is damaged.
    pub fn read_from(&mut self, number: u64, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let block = self.block_of(number).unwrap_or(self.index.len());
        let first = self.read_block(block, out)?;
        out.drain(..(number.saturating_sub(first) as usize).min(out.len()));
        Ok(())
    }
}
