//! The journal: every change of the map in order, in a ring of 4 KiB blocks.
//!
//! A block is written once. One that is not full is written as it is when the host asks for
//! durability, and the next record begins another.

use std::io;

use crate::codec::{Get, Put, crc};
use crate::layout::{PAGE, Zones};
use crate::media::Media;

const MAGIC: u32 = 0x314a_4746; // "FGJ1"
const HEADER: usize = 32;
const RECORD: usize = 16;
/// Records a block.
pub(crate) const RECORDS: usize = (PAGE - HEADER) / RECORD;

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// `page` was programmed at `ppn`, in a block of `class`.
    Program { page: u32, ppn: u32, crc: u32, class: u8, is_copy: bool },
    /// `count` pages from `page` on were discarded.
    Trim { page: u32, count: u32 },
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
            Self::Trim { page, count } => put.u32(3).u32(page).u32(count),
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
            3 => Self::Trim { page: first, count: second },
            4 => Self::Erase { block: first },
            _ => return None,
        })
    }
}

/// The journal of an open drive.
#[derive(Debug)]
pub(crate) struct Journal {
    tag: u32,
    /// The first block that recovery would need.
    start: u64,
    /// The number of the next block.
    next: u64,
    /// Blocks before this one were on the medium when it was last synced, as was what they say.
    durable: u64,
    /// The number of the next record.
    stamp: u64,
    pending: Vec<Record>,
}

impl Journal {
    /// A journal whose blocks and records are numbered from here on.
    pub(crate) fn new(tag: u32, base: u64) -> Self {
        let pending = Vec::with_capacity(RECORDS);
        Self { tag, start: base, next: base, durable: base, stamp: base, pending }
    }

    /// The number that the next record gets.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Takes a number for a program that no record names.
    pub(crate) fn take_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp - 1
    }

    /// The number of the next block.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Blocks that recovery would need.
    pub(crate) fn used(&self) -> u64 {
        self.next - self.start
    }

    /// Adds a record; the medium gets it with its block.
    pub(crate) fn append(
        &mut self,
        media: &mut dyn Media,
        zones: &Zones,
        record: Record,
    ) -> io::Result<()> {
        self.pending.push(record);
        self.stamp += 1;
        if self.pending.len() == RECORDS { self.write_out(media, zones) } else { Ok(()) }
    }

    /// Writes the block that has begun, if there is one.
    pub(crate) fn write_out(&mut self, media: &mut dyn Media, zones: &Zones) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        assert!(self.used() < zones.journal_blocks, "the journal runs over");
        let mut bytes = [0; PAGE];
        let unsynced = u32::try_from(self.next - self.durable).unwrap_or(u32::MAX);
        Put::new(&mut bytes)
            .u32(MAGIC)
            .u32(0)
            .u64(self.next)
            .u64(self.stamp - self.pending.len() as u64)
            .u32(self.pending.len() as u32)
            .u32(unsynced);
        for (record, bytes) in self.pending.iter().zip(bytes[HEADER..].chunks_mut(RECORD)) {
            record.encode(bytes);
        }
        let sum = crc(self.tag, &bytes);
        Put::new(&mut bytes[4..]).u32(sum);
        media.write_at(zones.journal(self.next), &bytes)?;
        self.next += 1;
        self.pending.clear();
        Ok(())
    }

    /// All blocks written so far are durable, as is what they say.
    pub(crate) fn synced(&mut self) {
        self.durable = self.next;
    }

    /// A checkpoint holds all that was written so far.
    pub(crate) fn cut(&mut self) {
        (self.start, self.durable) = (self.next, self.next);
    }
}

/// The journal of a drive that was not closed.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// All records in order.
    pub(crate) records: Vec<Record>,
    /// So many of them were durable for certain, as was what they say.
    pub(crate) durable: usize,
}

impl Replay {
    /// Reads the blocks from number `start` on, whose first record has number `stamp`, as far as they
    /// continue.
    pub(crate) fn read(media: &dyn Media, zones: &Zones, tag: u32, start: u64, stamp: u64) -> Self {
        let mut replay = Self::default();
        // Records before each block.
        let mut before = Vec::new();
        let mut durable = start;
        for sequence in start..start + zones.journal_blocks {
            let mut bytes = [0; PAGE];
            if media.read_at(zones.journal(sequence), &mut bytes).is_err() {
                break;
            }
            let mut get = Get::new(&bytes);
            let (magic, sum) = (get.u32(), get.u32());
            let (number, first) = (get.u64(), get.u64());
            let (count, unsynced) = (get.u32() as usize, get.u32());
            let expected = (MAGIC, sequence, stamp + replay.records.len() as u64);
            bytes[4..8].fill(0);
            if (magic, number, first) != expected || count > RECORDS || sum != crc(tag, &bytes) {
                break;
            }
            let records = bytes[HEADER..].chunks(RECORD).take(count).map(Record::decode);
            let Some(records) = records.collect::<Option<Vec<_>>>() else { break };
            before.push(replay.records.len());
            replay.records.extend(records);
            durable = durable.max(sequence.saturating_sub(unsynced.into()));
        }
        let blocks = (durable - start) as usize;
        replay.durable = before.get(blocks).copied().unwrap_or(0);
        replay
    }
}
