//! A checkpoint: all that the drive knows of its pages and blocks, and after a clean shutdown the
//! snapshot of its page store too. It is written in chunks of 64 KiB, each with a check sum; the
//! superblock has that of the whole.

use std::io;

use flashgc_ftl::Counters;

use crate::codec::{Get, Put, crc};
use crate::layout::Zones;
use crate::media::Media;
use crate::served::DeviceError;

const MAGIC: u32 = 0x3143_4746; // "FGC1"
const CHUNK: usize = 1 << 16;
const CHUNK_HEADER: usize = 16;
const HEADER: usize = 80;
const BLOCK: usize = 24;
const HORIZON: usize = 16;
/// Crashes that are remembered.
pub(crate) const HORIZONS: u64 = 4096;

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockInfo {
    /// The number of the record that programmed its first page since it was erased. Older records
    /// there are of an earlier life.
    pub(crate) opened: u64,
    /// The number of the record that programmed or erased it last.
    pub(crate) changed: u64,
    pub(crate) erases: u32,
    /// Offset of the next page to program.
    pub(crate) next: u16,
    /// The class that it was opened for last.
    pub(crate) class: u8,
    /// It was programmed since it was erased.
    pub(crate) is_written: bool,
}

/// Records of an epoch beyond this number were lost in a crash, though their pages may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    pub(crate) epoch: u32,
    /// The first number that is lost.
    pub(crate) end: u64,
}

/// What a checkpoint holds.
pub(crate) struct Checkpoint {
    /// For each logical page its ppn, or `UNMAPPED`.
    pub(crate) map: Vec<u32>,
    pub(crate) blocks: Vec<BlockInfo>,
    pub(crate) counters: Counters,
    pub(crate) horizons: Vec<Horizon>,
    /// The page store's snapshot; empty where the drive was not closed.
    pub(crate) snapshot: Vec<u8>,
}

/// Bytes that a checkpoint of a drive of this shape takes at most, with a snapshot of so many bytes.
pub(crate) fn slot_bytes(pages: u32, blocks: u32, snapshot: u64) -> u64 {
    let payload = HEADER as u64
        + 4 * u64::from(pages)
        + BLOCK as u64 * u64::from(blocks)
        + HORIZON as u64 * HORIZONS
        + snapshot;
    (payload.div_ceil((CHUNK - CHUNK_HEADER) as u64) + 1) * CHUNK as u64
}

/// Writes a checkpoint into `slot`. Returns its bytes and their check sum.
///
/// # Errors
/// A slot that is too small for it, which is an [`io::ErrorKind::FileTooLarge`]; those of the medium.
pub(crate) fn write(
    media: &mut dyn Media,
    (zones, tag, slot): (&Zones, u32, u8),
    map: impl ExactSizeIterator<Item = u32>,
    blocks: &[BlockInfo],
    counters: &Counters,
    horizons: &[Horizon],
    snapshot: &[u8],
) -> io::Result<(u64, u32)> {
    let at = zones.checkpoint(slot);
    let mut sink = Sink {
        media,
        tag,
        at,
        end: at + zones.slot,
        buffer: Vec::new(),
        index: 0,
        sum: 0,
        bytes: 0,
    };
    let mut header = [0; HEADER];
    let mut put = Put::new(&mut header);
    put.u32(MAGIC).u32(map.len() as u32).u32(blocks.len() as u32).u32(horizons.len() as u32);
    put.u64(snapshot.len() as u64);
    for count in counts(counters) {
        put.u64(count);
    }
    sink.put(&header)?;
    for ppn in map {
        sink.put(&ppn.to_le_bytes())?;
    }
    for info in blocks {
        let mut bytes = [0; BLOCK];
        Put::new(&mut bytes)
            .u64(info.opened)
            .u64(info.changed)
            .u32(info.erases)
            .u16(info.next)
            .u8(info.class)
            .u8(info.is_written.into());
        sink.put(&bytes)?;
    }
    for horizon in horizons {
        let mut bytes = [0; HORIZON];
        Put::new(&mut bytes).u64(horizon.epoch.into()).u64(horizon.end);
        sink.put(&bytes)?;
    }
    sink.put(snapshot)?;
    sink.finish()
}

/// Reads the checkpoint in `slot`, of so many bytes with this check sum.
///
/// # Errors
/// Damage; those of the medium.
pub(crate) fn read(
    media: &dyn Media,
    (zones, tag, slot): (&Zones, u32, u8),
    (bytes, sum): (u64, u32),
) -> Result<Checkpoint, DeviceError> {
    let at = zones.checkpoint(slot);
    let end = at.saturating_add(bytes.min(zones.slot));
    let mut source = Source { media, tag, at, end, chunk: Vec::new(), read: 0, index: 0, sum: 0 };
    let mut header = [0; HEADER];
    source.take(&mut header)?;
    let mut get = Get::new(&header);
    let magic = get.u32();
    let (pages, blocks, horizons) = (get.u32(), get.u32(), get.u32());
    let snapshot = get.u64();
    let counted: [u64; COUNTS] = std::array::from_fn(|_| get.u64());
    let geometry = &zones.geometry;
    let shape = (MAGIC, geometry.logical_pages(), geometry.blocks());
    if (magic, pages, blocks) != shape || snapshot.max(horizons.into()) > zones.slot {
        return Err(damaged(slot, "is of another shape"));
    }
    let mut raw = vec![0; 4 * pages as usize];
    source.take(&mut raw)?;
    let map = raw.as_chunks().0.iter().map(|&ppn| u32::from_le_bytes(ppn)).collect();
    let mut infos = Vec::with_capacity(blocks as usize);
    for _ in 0..blocks {
        let mut bytes = [0; BLOCK];
        source.take(&mut bytes)?;
        let mut get = Get::new(&bytes);
        infos.push(BlockInfo {
            opened: get.u64(),
            changed: get.u64(),
            erases: get.u32(),
            next: get.u16(),
            class: get.u8(),
            is_written: get.u8() == 1,
        });
    }
    let mut found = Vec::with_capacity(horizons as usize);
    for _ in 0..horizons {
        let mut bytes = [0; HORIZON];
        source.take(&mut bytes)?;
        let mut get = Get::new(&bytes);
        found.push(Horizon { epoch: get.u64() as u32, end: get.u64() });
    }
    let mut stored = vec![0; snapshot as usize];
    source.take(&mut stored)?;
    if source.sum != sum || source.at != source.end {
        return Err(damaged(slot, "is not the one that the superblock names"));
    }
    let [host_pages, copied_pages, erases, collections, trimmed_pages] = counted;
    let counters = Counters { host_pages, copied_pages, erases, collections, trimmed_pages };
    Ok(Checkpoint { map, blocks: infos, counters, horizons: found, snapshot: stored })
}

const COUNTS: usize = 5;

fn counts(counters: &Counters) -> [u64; COUNTS] {
    let &Counters { host_pages, copied_pages, erases, collections, trimmed_pages } = counters;
    [host_pages, copied_pages, erases, collections, trimmed_pages]
}

fn damaged(slot: u8, how: &str) -> DeviceError {
    let name = if slot == 0 { 'A' } else { 'B' };
    DeviceError::Media(format!(
        "checkpoint {name} {how}; hint: check --from-oob shows what is left"
    ))
}

/// Cuts what is put into it into chunks.
struct Sink<'a> {
    media: &'a mut dyn Media,
    tag: u32,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    index: u32,
    sum: u32,
    bytes: u64,
}

impl Sink<'_> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.buffer.is_empty() {
                self.buffer.resize(CHUNK_HEADER, 0);
            }
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == CHUNK {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        let len = self.buffer.len();
        if self.at + len as u64 > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Put::new(&mut self.buffer).u32(MAGIC).u32(0).u32(self.index).u32(len as u32);
        let sum = crc(self.tag, &self.buffer);
        Put::new(&mut self.buffer[4..]).u32(sum);
        self.sum = crc(self.sum, &self.buffer);
        self.media.write_at(self.at, &self.buffer)?;
        self.at += len as u64;
        self.bytes += len as u64;
        self.index += 1;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<(u64, u32)> {
        if !self.buffer.is_empty() {
            self.write_chunk()?;
        }
        Ok((self.bytes, self.sum))
    }
}

/// Reads the chunks back.
struct Source<'a> {
    media: &'a dyn Media,
    tag: u32,
    at: u64,
    end: u64,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were taken.
    read: usize,
    index: u32,
    sum: u32,
}

impl Source<'_> {
    fn take(&mut self, mut into: &mut [u8]) -> Result<(), DeviceError> {
        while !into.is_empty() {
            if self.read == self.chunk.len() {
                self.read_chunk()?;
            }
            let ready = &self.chunk[self.read..];
            let count = ready.len().min(into.len());
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&ready[..count]);
            self.read += count;
            into = later;
        }
        Ok(())
    }

    fn read_chunk(&mut self) -> Result<(), DeviceError> {
        let index = self.index;
        let damaged = || {
            DeviceError::Media(format!(
                "chunk {index} of the checkpoint is damaged; hint: check --from-oob shows what is left"
            ))
        };
        let len = (self.end - self.at).min(CHUNK as u64) as usize;
        if len <= CHUNK_HEADER {
            return Err(damaged());
        }
        self.chunk.resize(len, 0);
        self.media.read_at(self.at, &mut self.chunk)?;
        let whole = crc(self.sum, &self.chunk);
        let mut get = Get::new(&self.chunk);
        let (magic, sum, number, bytes) = (get.u32(), get.u32(), get.u32(), get.u32());
        self.chunk[4..8].fill(0);
        let expected = (MAGIC, index, len as u32, crc(self.tag, &self.chunk));
        if (magic, number, bytes, sum) != expected {
            return Err(damaged());
        }
        (self.sum, self.read) = (whole, CHUNK_HEADER);
        self.at += len as u64;
        self.index += 1;
        Ok(())
    }
}
