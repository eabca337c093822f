//! The journal: every change of the map in order, in a ring of 4 KiB blocks.
//!
//! When the host asks for durability, the last block is written even if it is not full, and the
//! next record begins another block. So a durable block is never overwritten.
//!
//! A block can also be handed over to the system alone, so that it survives the end of this
//! process. Such a block is marked as open. Later the same block is written again with more
//! records, and finally without the mark. If the medium has only the open version of a block that
//! was durable, recovery finds that out.
//!
//! The ring keeps the blocks that the current checkpoint needs. It also keeps those that the
//! checkpoint before it needs, until the slot of that checkpoint is overwritten.

use std::io;

use crate::codec::{Get, Put, crc};
use crate::error::DeviceError;
use crate::layout::{PAGE, Zones};
use crate::media::Media;

const MAGIC: u32 = 0x314a_4746; // "FGJ1"
const HEADER: usize = 32;
const RECORD: usize = 16;
/// The bit in the number of a block's records that marks the block as open: more may follow.
const OPEN: u32 = 1 << 31;
/// The number of records in a block.
pub(crate) const RECORDS: usize = (PAGE - HEADER) / RECORD;

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// `page` was programmed at the physical page `ppn`, in a block of `class`.
    Program { page: u32, ppn: u32, crc: u32, class: u8, is_copy: bool },
    /// `count` pages from `page` on were discarded, of which `held` had data.
    Trim { page: u32, count: u32, held: u32 },
    /// `block` was erased.
    Erase { block: u32 },
}

impl Record {
    fn encode(&self, bytes: &mut [u8]) {
        let mut put = Put::new(bytes);
        match *self {
            Self::Program { page, ppn, crc, class, is_copy } => {
                put.u8(1 + u8::from(is_copy)).u8(class).u16(0).u32(page).u32(ppn).u32(crc)
            }
            Self::Trim { page, count, held } => put.u32(3).u32(page).u32(count).u32(held),
            Self::Erase { block } => put.u32(4).u32(block),
        };
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut get = Get::new(bytes);
        let (kind, class, _) = (get.u8(), get.u8(), get.u16());
        let (first, second, third) = (get.u32(), get.u32(), get.u32());
        Some(match kind {
            1 | 2 => {
                Self::Program { page: first, ppn: second, crc: third, class, is_copy: kind == 2 }
            }
            3 => Self::Trim { page: first, count: second, held: third },
            4 => Self::Erase { block: first },
            _ => return None,
        })
    }
}

/// The journal of an open drive.
#[derive(Debug)]
pub(crate) struct Journal {
    tag: u32,
    /// The first block that the ring keeps: the first that the checkpoint before the current one
    /// needs, or `start` once that checkpoint is given up.
    kept: u64,
    /// The first block that the current checkpoint needs.
    start: u64,
    /// The number of the next block.
    next: u64,
    /// Blocks with a smaller number than this, and the pages that they name, were durable at the
    /// last sync.
    durable: u64,
    /// The number of the next record.
    stamp: u64,
    pending: Vec<Record>,
    /// The number of pending records that were already handed over to the medium.
    handed: usize,
    /// `true` if the last block written has records, and nothing on the medium says that they are
    /// durable.
    is_unvouched: bool,
}

impl Journal {
    /// Returns a journal whose next block has the number `next`, and whose next record has the
    /// number `stamp`. The current checkpoint holds every earlier change. The checkpoint before it
    /// needs the blocks from `kept` on.
    pub(crate) fn new(tag: u32, (next, stamp): (u64, u64), kept: u64) -> Self {
        let pending = Vec::with_capacity(RECORDS);
        let (start, durable) = (next, next);
        Self { tag, kept, start, next, durable, stamp, pending, handed: 0, is_unvouched: false }
    }

    /// Returns the number that the next record gets.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Takes a record number for a program that has no record.
    pub(crate) fn take_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp - 1
    }

    /// Returns the number of the next block.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of blocks written since the current checkpoint began.
    pub(crate) fn since_checkpoint(&self) -> u64 {
        self.next - self.start
    }

    /// Returns the number of blocks that can be written before one that is needed is written over.
    pub(crate) fn room(&self, zones: &Zones) -> u64 {
        zones.journal_blocks.saturating_sub(self.next - self.kept)
    }

    /// Returns the number of blocks written since the last sync.
    pub(crate) fn unsynced(&self) -> u64 {
        self.next - self.durable
    }

    /// Returns `true` if records were written, and no later block or superblock says that they are
    /// durable. Damage to them would look like the torn end of the journal after a crash.
    pub(crate) fn is_unvouched(&self) -> bool {
        self.is_unvouched
    }

    /// Adds a record. Returns `true` if its block is now full and must be written.
    pub(crate) fn append(&mut self, record: Record) -> bool {
        self.pending.push(record);
        self.stamp += 1;
        self.pending.len() == RECORDS
    }

    /// Writes the block that has begun, if there is one, and ends it. The pages that it names must be written
    /// already.
    pub(crate) fn write_out(&mut self, media: &mut dyn Media, zones: &Zones) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.write_block(media, zones, false)?;
        self.end_block();
        Ok(())
    }

    /// Writes the block that has begun as an open one, if it has records that the medium lacks.
    /// Later records are added to the same block. The pages that it names must be written already.
    pub(crate) fn hand_over(&mut self, media: &mut dyn Media, zones: &Zones) -> io::Result<()> {
        if self.handed == self.pending.len() {
            return Ok(());
        }
        self.write_block(media, zones, true)?;
        self.handed = self.pending.len();
        Ok(())
    }

    /// Writes a block without records. It says that all blocks before it are durable.
    pub(crate) fn vouch(&mut self, media: &mut dyn Media, zones: &Zones) -> io::Result<()> {
        debug_assert!(self.pending.is_empty() && self.unsynced() == 0);
        self.write_block(media, zones, false)?;
        self.end_block();
        Ok(())
    }

    fn write_block(
        &mut self,
        media: &mut dyn Media,
        zones: &Zones,
        is_open: bool,
    ) -> io::Result<()> {
        if self.room(zones) == 0 {
            return Err(io::Error::other("the journal is full, and no checkpoint has made room"));
        }
        let mut bytes = [0; PAGE];
        let unsynced = u32::try_from(self.unsynced()).unwrap_or(u32::MAX);
        Put::new(&mut bytes)
            .u32(MAGIC)
            .u32(0)
            .u64(self.next)
            .u64(self.stamp - self.pending.len() as u64)
            .u32(self.pending.len().min(RECORDS) as u32 | if is_open { OPEN } else { 0 })
            .u32(unsynced);
        for (record, bytes) in self.pending.iter().zip(bytes[HEADER..].chunks_mut(RECORD)) {
            record.encode(bytes);
        }
        let sum = crc(self.tag, &bytes);
        Put::new(&mut bytes[4..]).u32(sum);
        media.write_at(zones.journal(self.next), &bytes)?;
        self.is_unvouched = !self.pending.is_empty();
        Ok(())
    }

    /// Lets the next record begin another block.
    fn end_block(&mut self) {
        self.next += 1;
        self.handed = 0;
        self.pending.clear();
    }

    /// Notes that all blocks written so far are durable, as are the changes that they note.
    pub(crate) fn synced(&mut self) {
        self.durable = self.next;
    }

    /// Begins a checkpoint in the older slot: its checkpoint's journal is not kept any more.
    pub(crate) fn begin_checkpoint(&mut self) {
        self.kept = self.start;
    }

    /// Ends a checkpoint that began at block `start`, which counts from now on. The superblock that
    /// names it says that all blocks are durable.
    pub(crate) fn end_checkpoint(&mut self, start: u64) {
        self.start = start;
        self.is_unvouched = false;
    }
}

/// A journal block that was read and whose check sum is right.
pub(crate) struct JournalBlock {
    number: u64,
    /// The number of the block's first record.
    pub(crate) stamp: u64,
    /// Blocks with a smaller number than this were durable when this block was written.
    durable: u64,
    /// `true` if the block was only handed over, and more records may have followed.
    is_open: bool,
    pub(crate) records: Vec<Record>,
    pub(crate) bytes: [u8; PAGE],
}

impl JournalBlock {
    /// Reads the block at the place of block `sequence`; `None` if no valid block lies there. The
    /// block found may have another number.
    pub(crate) fn read(
        media: &dyn Media,
        zones: &Zones,
        tag: u32,
        sequence: u64,
    ) -> io::Result<Option<Self>> {
        let mut bytes = [0; PAGE];
        media.read_at(zones.journal(sequence), &mut bytes)?;
        let mut get = Get::new(&bytes);
        let (magic, sum) = (get.u32(), get.u32());
        let (number, stamp) = (get.u64(), get.u64());
        let (count, unsynced) = (get.u32(), get.u32());
        let (is_open, count) = (count & OPEN != 0, (count & !OPEN) as usize);
        let original = bytes;
        bytes[4..8].fill(0);
        let is_damaged = sum != crc(tag, &bytes);
        if magic != MAGIC || count > RECORDS || is_damaged {
            return Ok(None);
        }
        let records = bytes[HEADER..].chunks(RECORD).take(count).map(Record::decode);
        let Some(records) = records.collect() else { return Ok(None) };
        let durable = number.saturating_sub(unsynced.into());
        Ok(Some(Self { number, stamp, durable, is_open, records, bytes: original }))
    }
}

/// The journal of a drive that was not closed, from a checkpoint on.
pub(crate) struct JournalTail<'a> {
    media: &'a dyn Media,
    zones: &'a Zones,
    tag: u32,
    start: u64,
    stamp: u64,
    end: u64,
    /// Blocks with a smaller number than this were certainly durable, with the pages that they
    /// name.
    durable: u64,
}

impl<'a> JournalTail<'a> {
    /// Finds the blocks that follow one another from number `start` on. The first record of block
    /// `start` has the number `stamp`. Blocks before `certain` were durable.
    ///
    /// # Errors
    /// A durable block that is missing, or that is there in an older version: that is damage, not
    /// the torn end of a journal.
    pub(crate) fn find(
        media: &'a dyn Media,
        (zones, tag): (&'a Zones, u32),
        (start, stamp): (u64, u64),
        certain: u64,
    ) -> Result<Self, DeviceError> {
        let (mut end, mut next, mut durable, mut is_open) = (start, stamp, certain, false);
        let fault =
            |end, what: String| Err(DeviceError::Media(format!("journal block {end} {what}")));
        while !is_open && end < start + zones.journal_blocks {
            match JournalBlock::read(media, zones, tag, end) {
                Ok(Some(block)) if block.number == end && block.stamp == next => {
                    next += block.records.len() as u64;
                    durable = durable.max(block.durable);
                    is_open = block.is_open;
                    end += 1;
                }
                Ok(_) => break,
                Err(error) => return fault(end, format!("cannot be read: {error}")),
            }
        }
        for later in end + u64::from(!is_open)..start + zones.journal_blocks {
            if let Ok(Some(block)) = JournalBlock::read(media, zones, tag, later)
                && block.number == later
            {
                durable = durable.max(block.durable);
            }
        }
        let whole = end - u64::from(is_open);
        if whole < durable {
            let what = format!("is not there, though blocks up to {} were durable", durable - 1);
            return fault(whole, what);
        }
        Ok(Self { media, zones, tag, start, stamp, end, durable })
    }

    /// Returns the numbers of the last blocks. Nothing on the medium says that these blocks were
    /// durable.
    pub(crate) fn tail(&self) -> std::ops::Range<u64> {
        self.durable.clamp(self.start, self.end)..self.end
    }

    /// Calls `take` with the number of each record, the record, and `true` if it was certainly
    /// durable. Returns the number of records.
    ///
    /// # Errors
    /// The errors of `take` and of the medium.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(u64, Record, bool) -> Result<(), DeviceError>,
    ) -> Result<u64, DeviceError> {
        let mut stamp = self.stamp;
        for number in self.start..self.end {
            let block = JournalBlock::read(self.media, self.zones, self.tag, number)?;
            for record in block.map_or(Vec::new(), |block| block.records) {
                take(stamp, record, number < self.durable)?;
                stamp += 1;
            }
        }
        Ok(stamp - self.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::MemMedia;
    use flashgc_ftl::Geometry;

    /// Block 100 was handed over with one record, then with two. Then it was written with three,
    /// and block 101 says that it is durable.
    #[test]
    fn a_block_that_was_handed_over_does_not_pass_for_the_durable_one() {
        let zones = Zones::new(Geometry::new(12, 5, 40).unwrap(), None, 4096, 8).unwrap();
        let mut media = MemMedia::new(zones.len);
        let mut journal = Journal::new(3, (100, 1000), 100);
        let count_and_tail = |media: &MemMedia| {
            let replay = JournalTail::find(media, (&zones, 3), (100, 1000), 0)
                .map_err(|error| error.to_string())?;
            let count = replay.each(|_, _, _| Ok(())).map_err(|error| error.to_string())?;
            Ok::<_, String>((count, replay.tail()))
        };
        let mut handed = Vec::new();
        for count in 1..=2 {
            journal.append(Record::Erase { block: count });
            journal.hand_over(&mut media, &zones).unwrap();
            assert_eq!(count_and_tail(&media), Ok((count.into(), 100..101)));
            let mut bytes = vec![0; PAGE];
            media.read_at(zones.journal(100), &mut bytes).unwrap();
            handed.push(bytes);
        }
        journal.append(Record::Erase { block: 3 });
        journal.write_out(&mut media, &zones).unwrap();
        assert_eq!((count_and_tail(&media), journal.next()), (Ok((3, 100..101)), 101));
        journal.synced();
        journal.append(Record::Erase { block: 4 });
        journal.write_out(&mut media, &zones).unwrap();
        assert_eq!(count_and_tail(&media), Ok((4, 101..102)));
        for older in handed {
            media.write_at(zones.journal(100), &older).unwrap();
            let missed = count_and_tail(&media).unwrap_err();
            assert!(missed.contains("journal block 100 is not there"), "{missed}");
        }
    }

    /// In a ring of 8 blocks, the checkpoint before the current one keeps its blocks until its slot
    /// is overwritten, and no block that is needed is overwritten.
    #[test]
    fn the_ring_keeps_what_both_checkpoints_need() {
        let zones = Zones::new(Geometry::new(12, 5, 40).unwrap(), None, 4096, 8).unwrap();
        let mut media = MemMedia::new(zones.len);
        let mut journal = Journal::new(3, (100, 1000), 100);
        let mut write = |journal: &mut Journal, count: u64| {
            for _ in 0..count {
                journal.append(Record::Erase { block: 1 });
                journal.write_out(&mut media, &zones)?;
            }
            Ok::<_, io::Error>(())
        };
        write(&mut journal, 3).unwrap();
        journal.begin_checkpoint();
        write(&mut journal, 1).unwrap();
        journal.end_checkpoint(103);
        assert_eq!((journal.since_checkpoint(), journal.room(&zones)), (1, 4));
        write(&mut journal, 4).unwrap();
        assert_eq!(journal.room(&zones), 0);
        assert!(write(&mut journal, 1).is_err());
        journal.begin_checkpoint();
        assert_eq!(journal.room(&zones), 3);
    }
}
