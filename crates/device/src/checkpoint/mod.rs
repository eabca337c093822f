//! A checkpoint: the map and the state of the blocks. After a clean shutdown it also has the
//! snapshot of the page store.
//!
//! It is written in slices while the drive works on, and each slice has the tables as they are at
//! that time. So a checkpoint does not show one moment. Recovery replays the journal from the begin
//! of the checkpoint on. To apply a program or TRIM a second time does no harm, and each block
//! names the last record that it includes.

mod chunks;

use std::io::{self, Read};

use flashgc_base::counts::Listed;
use flashgc_base::snapshot::{FORMAT, Value, Writer};
use flashgc_ftl::{Counters, Stepwise, UNMAPPED};

use crate::codec::{Get, Put};
use crate::error::DeviceError;
use crate::layout::Zones;
use crate::mapped::{GROUP, Mapped};
use crate::media::Media;
use chunks::{MAGIC, Sink, Source};

const HEADER: usize = 24 + 8 * Counters::LENGTH;
const BLOCK: usize = 24;
/// The most pages of a block: an entry of a block has 23 bits for the offset of its next page.
pub(crate) const MOST_PAGES: u32 = (1 << 23) - 1;
const HORIZON: usize = 16;
/// The most crashes that are remembered, each as a [`Horizon`].
pub(crate) const HORIZONS: u64 = 4096;

/// The state of a block, as stored in checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockInfo {
    /// The number of the journal record that programmed its first page since the last erase.
    /// Out-of-band records in the block with a smaller number are from before that erase.
    pub(crate) opened: u64,
    /// The number of the journal record that last programmed or erased the block.
    pub(crate) changed: u64,
    pub(crate) erases: u32,
    /// Offset of the next page to program.
    pub(crate) next: u32,
    /// The class for which the block was last opened.
    pub(crate) class: u8,
    /// `true` if the block was programmed since it was erased.
    pub(crate) is_written: bool,
}

/// The end of an epoch's journal: a crash has lost all records of `epoch` from the number `end` on.
/// The pages of lost records may still be on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    pub(crate) epoch: u32,
    /// The first record number that is lost.
    pub(crate) end: u64,
}

/// A checkpoint as the superblock names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckpointPlace {
    pub(crate) slot: u8,
    /// The number of bytes of the checkpoint in its slot.
    pub(crate) bytes: u64,
    pub(crate) sum: u32,
    /// The number of bytes of the page store's snapshot, before they are cut into chunks; 0 without
    /// a snapshot.
    pub(crate) snapshot: u64,
    /// The first journal block that recovery replays over the checkpoint.
    pub(crate) journal: u64,
    /// The number of the first record in that journal block.
    pub(crate) stamp: u64,
}

/// The contents of a checkpoint besides map and snapshot.
pub(crate) struct Tables {
    pub(crate) blocks: Vec<BlockInfo>,
    pub(crate) counters: Counters,
    pub(crate) horizons: Vec<Horizon>,
}

/// Returns the most bytes that a checkpoint takes, for a drive of this shape and a snapshot of
/// `snapshot` bytes.
pub(crate) fn slot_bytes(pages: u32, blocks: u32, snapshot: u64) -> u64 {
    let stream = HEADER as u64
        + HORIZON as u64 * HORIZONS
        + 4 * u64::from(pages)
        + BLOCK as u64 * u64::from(blocks)
        + snapshot;
    chunks::most_bytes(stream)
}

/// The map and the blocks that a checkpoint stores.
pub(crate) struct Parts<'a> {
    /// The number of logical pages.
    pub(crate) pages: u32,
    /// Returns the physical page of a logical page, or `None` if it has no data.
    pub(crate) locate: &'a dyn Fn(u32) -> Option<u32>,
    pub(crate) mapped: &'a Mapped,
    pub(crate) blocks: &'a [BlockInfo],
}

/// A checkpoint that is being written.
#[derive(Debug)]
pub(crate) struct Slices {
    sink: Sink,
    named: CheckpointPlace,
    /// The number of entries written so far: pages first, then blocks.
    done: u64,
}

impl Slices {
    /// Begins a checkpoint in `slot`. Recovery will replay the journal from block `journal` on,
    /// whose first record will have the number `stamp`.
    ///
    /// # Errors
    /// The errors of the medium.
    pub(crate) fn begin(
        media: &mut dyn Media,
        (zones, tag, slot): (&Zones, u32, u8),
        (journal, stamp): (u64, u64),
        counters: &Counters,
        horizons: &[Horizon],
    ) -> io::Result<Self> {
        let at = zones.checkpoint(slot);
        let mut sink = Sink::new(tag, at, at + zones.slot);
        let mut header = [0; HEADER];
        let mut put = Put::new(&mut header);
        put.u32(MAGIC).u32(zones.geometry.logical_pages()).u32(zones.geometry.blocks());
        put.u32(horizons.len() as u32);
        for count in counters.numbers() {
            put.u64(count);
        }
        sink.put(media, &header)?;
        for horizon in horizons {
            let mut bytes = [0; HORIZON];
            Put::new(&mut bytes).u64(horizon.epoch.into()).u64(horizon.end);
            sink.put(media, &bytes)?;
        }
        Ok(Self {
            sink,
            named: CheckpointPlace { slot, journal, stamp, ..CheckpointPlace::default() },
            done: 0,
        })
    }

    /// Writes `count` more entries, pages first and then blocks. Returns `true` once none is left.
    ///
    /// # Errors
    /// The errors of the medium.
    pub(crate) fn write(
        &mut self,
        media: &mut dyn Media,
        parts: &Parts<'_>,
        count: u64,
    ) -> io::Result<bool> {
        let pages = u64::from(parts.pages);
        let all = pages + parts.blocks.len() as u64;
        let end = all.min(self.done.saturating_add(count));
        while self.done < end.min(pages) {
            let first = self.done as u32;
            let left = (end.min(pages) - self.done) as u32;
            let next = (first / GROUP + 1).saturating_mul(GROUP).min(first + left);
            if parts.mapped.is_empty(first) {
                self.sink.put_run(media, UNMAPPED as u8, 4 * (next - first) as usize)?;
            } else {
                let mut bytes = [0; 4 * GROUP as usize];
                for (page, entry) in (first..next).zip(bytes.as_chunks_mut().0) {
                    *entry = (parts.locate)(page).unwrap_or(UNMAPPED).to_le_bytes();
                }
                self.sink.put(media, &bytes[..4 * (next - first) as usize])?;
            }
            self.done = next.into();
        }
        while self.done >= pages && self.done < end {
            let rest = &parts.blocks[(self.done - pages) as usize..];
            let now = &rest[..rest.len().min((end - self.done).min(1024) as usize)];
            let mut bytes = [0; BLOCK * 1024];
            for (info, bytes) in now.iter().zip(bytes.chunks_mut(BLOCK)) {
                Put::new(bytes)
                    .u64(info.opened)
                    .u64(info.changed)
                    .u32(info.erases)
                    .u16(info.next as u16)
                    .u8(info.class)
                    .u8(u8::from(info.is_written) | ((info.next >> 16) << 1) as u8);
            }
            self.sink.put(media, &bytes[..BLOCK * now.len()])?;
            self.done += now.len() as u64;
        }
        Ok(self.done == all)
    }

    /// Adds the snapshot of the page store.
    ///
    /// # Errors
    /// [`io::ErrorKind::FileTooLarge`] if the slot is too small; [`io::ErrorKind::Unsupported`] if
    /// a policy cannot be saved; errors of the medium.
    pub(crate) fn save(&mut self, media: &mut dyn Media, map: &dyn Stepwise) -> io::Result<()> {
        let mut into = Into { sink: &mut self.sink, media };
        let mut to = Writer::new(&mut into);
        FORMAT.put(&mut to);
        map.save(&mut to);
        (self.named.snapshot, _) = to.finish()?;
        Ok(())
    }

    /// Ends the checkpoint after all of its entries are written. Returns the entry that names it in
    /// the superblock.
    ///
    /// # Errors
    /// The errors of the medium.
    pub(crate) fn finish(mut self, media: &mut dyn Media) -> io::Result<CheckpointPlace> {
        let (bytes, sum) = self.sink.finish(media)?;
        Ok(CheckpointPlace { bytes, sum, ..self.named })
    }
}

/// The writer that puts the page store's snapshot into the checkpoint's chunks.
struct Into<'a> {
    sink: &'a mut Sink,
    media: &'a mut dyn Media,
}

impl io::Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.put(self.media, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the checkpoint `named`. It calls `map` with the first page and the entries of each group,
/// and `restore` with a reader of the snapshot and its number of bytes. The caller may use nothing
/// of this before the function has returned without an error.
///
/// # Errors
/// Damage; errors of the medium and of `restore`.
pub(crate) fn read(
    media: &dyn Media,
    (zones, tag): (&Zones, u32),
    named: &CheckpointPlace,
    mut map: impl FnMut(u32, &[u32]),
    restore: impl FnOnce(&mut dyn Read, u64) -> Result<(), String>,
) -> Result<Tables, DeviceError> {
    let geometry = &zones.geometry;
    let name = if named.slot == 0 { 'A' } else { 'B' };
    let damaged = |how: String| DeviceError::Media(format!("checkpoint {name}: {how}"));
    let at = zones.checkpoint(named.slot);
    let end = at.saturating_add(named.bytes.min(zones.slot));
    let mut source = Source::new(media, tag, at, end);
    let cut = |error: io::Error| damaged(error.to_string());
    let mut header = [0; HEADER];
    source.read_exact(&mut header).map_err(cut)?;
    let mut get = Get::new(&header);
    let shape = (get.u32(), get.u32(), get.u32());
    let count = get.u32();
    if shape != (MAGIC, geometry.logical_pages(), geometry.blocks()) {
        return Err(damaged("it has another shape".to_string()));
    }
    let counters = Counters::of(&mut std::iter::repeat_with(|| get.u64())).unwrap_or_default();
    let mut horizons = Vec::new();
    for _ in 0..count {
        let mut bytes = [0; HORIZON];
        source.read_exact(&mut bytes).map_err(cut)?;
        let mut get = Get::new(&bytes);
        horizons.push(Horizon { epoch: get.u64() as u32, end: get.u64() });
    }
    let (mut bytes, mut entries) = ([0; 4 * GROUP as usize], [0; GROUP as usize]);
    for first in (0..geometry.logical_pages()).step_by(GROUP as usize) {
        let count = (geometry.logical_pages() - first).min(GROUP) as usize;
        source.read_exact(&mut bytes[..4 * count]).map_err(cut)?;
        for (entry, bytes) in entries.iter_mut().zip(bytes[..4 * count].as_chunks().0) {
            *entry = u32::from_le_bytes(*bytes);
        }
        map(first, &entries[..count]);
    }
    let mut blocks = Vec::with_capacity(geometry.blocks() as usize);
    for _ in 0..geometry.blocks() {
        let mut bytes = [0; BLOCK];
        source.read_exact(&mut bytes).map_err(cut)?;
        let mut get = Get::new(&bytes);
        let (opened, changed, erases) = (get.u64(), get.u64(), get.u32());
        let (next, class, state) = (get.u16(), get.u8(), get.u8());
        let next = u32::from(state >> 1) << 16 | u32::from(next);
        let is_written = state & 1 == 1;
        blocks.push(BlockInfo { opened, changed, erases, next, class, is_written });
    }
    if named.snapshot > 0 {
        restore(&mut source, named.snapshot).map_err(damaged)?;
    }
    if source.sum() != Some(named.sum) {
        return Err(damaged("it is not the one that the superblock names".to_string()));
    }
    Ok(Tables { blocks, counters, horizons })
}

/// Skips the snapshot, for callers that restore no page store.
///
/// # Errors
/// The errors of the medium, and damage.
pub(crate) fn pass_over(from: &mut dyn Read, bytes: u64) -> Result<(), String> {
    let passed = io::copy(&mut from.take(bytes), &mut io::sink());
    passed.map(drop).map_err(|error| error.to_string())
}
