//! The superblock: the drive's identity and shape, and the checkpoint and journal that hold its
//! contents.
//!
//! There are four copies. A new generation is written to the two copies that do not hold the
//! present one. The highest generation counts, even if only one copy of it is left: the checkpoint
//! that it names was durable before that copy was written. So one damaged copy, one write to a
//! wrong place, or one read of old bytes does no harm.
//!
//! Two copies must have the same identity (UUID), so that one copy of another drive's superblock
//! does no harm. A damaged copy counts here if its UUID can be read, since a loss of power may tear
//! two copies.

use std::io;

use crate::checkpoint::CheckpointPlace;
use crate::codec::{Get, Put, crc};
use crate::error::DeviceError;
use crate::layout::{COPIES, PAGE, Zones};
use crate::media::Media;
use crate::strangers::Strangers;
use crate::usage::Usage;

const MAGIC: [u8; 8] = *b"FLASHGC\n";
/// The version of the file's format. A file of another version is refused.
const VERSION: u32 = 1;
/// The offset of the check sum in a copy, in bytes.
const CRC_AT: usize = 12;
/// The offset in a copy at which the places of the two checkpoints begin, in bytes.
const NAMED_AT: usize = 512;
/// The size of the place of one checkpoint, in bytes.
const NAMED: usize = 40;

/// A superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    pub(crate) blocks: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) logical_pages: u32,
    pub(crate) config_bytes: u32,
    pub(crate) config_crc: u32,
    /// The number of bytes of a checkpoint slot.
    pub(crate) slot_bytes: u64,
    pub(crate) journal_blocks: u64,
    /// The number of this superblock: one more with every superblock written.
    pub(crate) generation: u64,
    /// The epoch: one more after each recovery. The numbers of journal blocks and of records have
    /// the epoch in their upper bits.
    pub(crate) epoch: u32,
    pub(crate) is_clean: bool,
    /// `true` once the drive's life is over.
    pub(crate) has_ended: bool,
    /// The current checkpoint.
    pub(crate) checkpoint: CheckpointPlace,
    /// The checkpoint before, in the other slot, until that slot is overwritten.
    pub(crate) before: Option<CheckpointPlace>,
    /// Journal blocks with a smaller number than this were durable when the superblock was written.
    pub(crate) durable: u64,
    pub(crate) power_cycles: u64,
    pub(crate) unsafe_shutdowns: u64,
    pub(crate) media_errors: u64,
    /// The hosts' use of the drive.
    pub(crate) usage: Usage,
    /// The number of pages that hosts had written when their use was last counted. Files of earlier
    /// versions have 0 here.
    pub(crate) accounted: u64,
    /// `true` if the drive synced its medium at each flush, so that flushed data are on the disk
    /// and not only with the operating system.
    pub(crate) is_synced: bool,
    /// The strangers that could write to the drive since it was made.
    pub(crate) strangers: Strangers,
}

impl Superblock {
    fn encode(&self) -> [u8; PAGE] {
        let mut bytes = [0; PAGE];
        let mut put = Put::new(&mut bytes);
        put.bytes(&MAGIC)
            .u32(VERSION)
            .u32(0)
            .bytes(&self.uuid)
            .u32(self.blocks)
            .u32(self.pages_per_block)
            .u32(self.logical_pages)
            .u32(self.config_bytes)
            .u32(self.config_crc)
            .u64(self.slot_bytes)
            .u64(self.journal_blocks)
            .u64(self.generation)
            .u32(self.epoch)
            .u8(self.is_clean.into())
            .u8(self.has_ended.into())
            .u8(self.before.is_some().into())
            .u64(self.durable)
            .u64(self.power_cycles)
            .u64(self.unsafe_shutdowns)
            .u64(self.media_errors);
        self.usage.put(&mut put);
        put.u8(self.is_synced.into()).u8(self.strangers.bits()).u64(self.accounted);
        let mut at = NAMED_AT;
        for named in [self.checkpoint, self.before.unwrap_or_default()] {
            let CheckpointPlace { slot, bytes: stored, sum, snapshot, journal, stamp } = named;
            Put::new(&mut bytes[at..])
                .u32(slot.into())
                .u32(sum)
                .u64(stored)
                .u64(snapshot)
                .u64(journal)
                .u64(stamp);
            at += NAMED;
        }
        let sum = crc(0, &bytes);
        Put::new(&mut bytes[CRC_AT..]).u32(sum);
        bytes
    }

    /// Reads the superblock from this copy; `None` if the copy holds no valid one.
    pub(crate) fn read(media: &dyn Media, copy: u64) -> Option<Self> {
        let mut bytes = [0; PAGE];
        media.read_at(Zones::superblock(copy), &mut bytes).ok()?;
        Self::decode(&bytes).ok()
    }

    /// Returns the superblock in these bytes, or the reason why there is none.
    fn decode(bytes: &[u8; PAGE]) -> Result<Self, Bad> {
        let mut get = Get::new(bytes);
        if get.array() != MAGIC {
            return Err(Bad::Magic);
        }
        let version = get.u32();
        let mut zeroed = *bytes;
        zeroed[CRC_AT..CRC_AT + 4].fill(0);
        if get.u32() != crc(0, &zeroed) {
            return Err(Bad::Crc(get.array()));
        }
        if version != VERSION {
            return Err(Bad::Version(version));
        }
        let named = |which: usize| {
            let mut get = Get::new(&bytes[NAMED_AT + which * NAMED..]);
            let (slot, sum) = (get.u32() as u8 & 1, get.u32());
            let (bytes, snapshot, journal) = (get.u64(), get.u64(), get.u64());
            CheckpointPlace { slot, bytes, sum, snapshot, journal, stamp: get.u64() }
        };
        Ok(Self {
            uuid: get.array(),
            blocks: get.u32(),
            pages_per_block: get.u32(),
            logical_pages: get.u32(),
            config_bytes: get.u32(),
            config_crc: get.u32(),
            slot_bytes: get.u64(),
            journal_blocks: get.u64(),
            generation: get.u64(),
            epoch: get.u32(),
            is_clean: get.u8() == 1,
            has_ended: get.u8() == 1,
            checkpoint: named(0),
            before: (get.u8() == 1).then(|| named(1)),
            durable: get.u64(),
            power_cycles: get.u64(),
            unsafe_shutdowns: get.u64(),
            media_errors: get.u64(),
            usage: Usage::take(&mut get),
            is_synced: get.u8() == 1,
            strangers: Strangers::of_bits(get.u8()),
            accounted: get.u64(),
        })
    }

    /// Returns the drive's tag, with which the check sums of all its structures begin.
    pub(crate) fn tag(&self) -> u32 {
        crc(0, &self.uuid)
    }

    /// Returns the first number of this epoch, for journal blocks and for records.
    pub(crate) fn base(&self) -> u64 {
        u64::from(self.epoch) << EPOCH_SHIFT
    }
}

/// The lowest bit of the epoch in the number of a record or of a journal block.
pub(crate) const EPOCH_SHIFT: u32 = 40;

/// The reason why a copy holds no superblock.
enum Bad {
    Magic,
    /// The check sum does not match. The UUID is still named: it is in the first sector, and a loss
    /// of power does not tear a sector.
    Crc([u8; 16]),
    Version(u32),
}

/// The current superblock, and the place of the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies {
    pub(crate) now: Superblock,
    /// The number of the first of the two copies that do not hold the current superblock.
    next: u64,
    /// The highest generation ever seen.
    highest: u64,
}

impl Copies {
    /// Writes the first superblock, to all copies.
    pub(crate) fn create(media: &mut dyn Media, first: Superblock) -> io::Result<Self> {
        let bytes = first.encode();
        for copy in 0..COPIES {
            media.write_at(Zones::superblock(copy), &bytes)?;
        }
        Ok(Self { now: first, next: 0, highest: first.generation })
    }

    /// Reads the newest superblock.
    ///
    /// # Errors
    /// No superblock, one of another version, an error of the medium.
    pub(crate) fn read(media: &dyn Media) -> Result<Self, DeviceError> {
        let mut copies: [Option<Superblock>; COPIES as usize] = [None; COPIES as usize];
        let (mut has_magic, mut version, mut damaged) = (false, None, Vec::new());
        for (copy, slot) in (0..).zip(&mut copies) {
            let mut bytes = [0; PAGE];
            if media.read_at(Zones::superblock(copy), &mut bytes).is_err() {
                continue; // a copy that cannot be read is one less
            }
            match Superblock::decode(&bytes) {
                Ok(superblock) => *slot = Some(superblock),
                Err(Bad::Magic) => continue,
                Err(Bad::Crc(uuid)) => damaged.push(uuid),
                Err(Bad::Version(other)) => version = Some(other),
            }
            has_magic = true;
        }
        let is_of_two = |superblock: &Superblock| {
            let whole = copies.iter().flatten().filter(|copy| copy.uuid == superblock.uuid).count();
            let named = damaged.iter().filter(|&&uuid| uuid == superblock.uuid).count();
            whole + named > 1
        };
        let present = copies.iter().flatten().filter(|copy| is_of_two(copy));
        let Some(&now) = present.max_by_key(|copy| copy.generation) else {
            return Err(DeviceError::Media(match (version, has_magic) {
                (Some(version), _) => format!(
                    "the drive's format is version {version}, expected {VERSION}; hint: use the \
                     program that made it"
                ),
                (None, true) => "no two copies of the superblock are left".to_string(),
                (None, false) => "this is no drive: it has no superblock".to_string(),
            }));
        };
        let highest = copies.iter().flatten().map(|copy| copy.generation).max();
        let held = |first: usize| copies[first] == Some(now) && copies[first + 1] == Some(now);
        // A pair that is whole stays, and else the one with a copy that counts.
        let is_in_front = copies[..2].contains(&Some(now));
        let keeps_front = held(0) || (!held(2) && is_in_front);
        let next = if keeps_front { 2 } else { 0 };
        Ok(Self { now, next, highest: highest.unwrap_or(now.generation) })
    }

    /// Writes the current superblock again to the copies that hold it. It may come from the host's
    /// memory, and may not be on the disk: a failed sync leaves pages that no later sync writes.
    pub(crate) fn confirm(&self, media: &mut dyn Media) -> io::Result<()> {
        let bytes = self.now.encode();
        let first = 2 - self.next;
        (first..first + 2).try_for_each(|copy| media.write_at(Zones::superblock(copy), &bytes))
    }

    /// Writes the next generation. It counts when the medium has been synced.
    pub(crate) fn write(&mut self, media: &mut dyn Media, next: Superblock) -> io::Result<()> {
        let next = Superblock { generation: self.highest + 1, ..next };
        let bytes = next.encode();
        media.write_at(Zones::superblock(self.next), &bytes)?;
        media.write_at(Zones::superblock(self.next + 1), &bytes)?;
        *self = Self { now: next, next: 2 - self.next, highest: next.generation };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::MemMedia;

    fn first() -> Superblock {
        Superblock {
            uuid: [7; 16],
            blocks: 12,
            pages_per_block: 5,
            logical_pages: 40,
            config_bytes: 0,
            config_crc: 0,
            slot_bytes: 4096,
            journal_blocks: 8,
            generation: 1,
            epoch: 1,
            is_clean: true,
            has_ended: false,
            checkpoint: CheckpointPlace::default(),
            before: None,
            durable: 0,
            power_cycles: 0,
            unsafe_shutdowns: 0,
            media_errors: 0,
            usage: Usage::default(),
            accounted: 0,
            is_synced: true,
            strangers: Strangers::NONE,
        }
    }

    /// The generation of each copy.
    fn generations(media: &MemMedia) -> [u64; COPIES as usize] {
        let read =
            |copy| Superblock::read(media, copy).map_or(0, |superblock| superblock.generation);
        std::array::from_fn(|copy| read(copy as u64))
    }

    #[test]
    fn a_damaged_copy_counts_for_the_identity_that_it_names() {
        for is_another in [false, true] {
            let mut media = MemMedia::new(COPIES * PAGE as u64);
            Copies::create(&mut media, first()).unwrap();
            // Three copies are damaged behind the UUID, or belong to another drive.
            for copy in 1..COPIES {
                let mut bytes = Superblock { uuid: [8; 16], ..first() }.encode();
                if !is_another {
                    bytes = first().encode();
                }
                bytes[600] ^= 1;
                media.write_at(Zones::superblock(copy), &bytes).unwrap();
            }
            assert_eq!(Copies::read(&media).is_err(), is_another);
        }
    }

    #[test]
    fn a_generation_never_goes_over_the_one_before_it() {
        let mut media = MemMedia::new(COPIES * PAGE as u64);
        let mut copies = Copies::create(&mut media, first()).unwrap();
        assert_eq!(generations(&media), [1, 1, 1, 1]);
        copies.write(&mut media, copies.now).unwrap();
        assert_eq!(generations(&media), [2, 2, 1, 1]);
        copies.write(&mut media, copies.now).unwrap();
        assert_eq!(generations(&media), [2, 2, 3, 3]);
        // The same holds when the drive is opened again.
        let mut copies = Copies::read(&media).unwrap();
        assert_eq!(copies.now.generation, 3);
        copies.write(&mut media, copies.now).unwrap();
        assert_eq!(generations(&media), [4, 4, 3, 3]);
        // One copy of the newest is damaged: the next generation goes over the others.
        media.bytes()[70] ^= 1;
        let mut copies = Copies::read(&media).unwrap();
        assert_eq!(copies.now.generation, 4);
        copies.write(&mut media, copies.now).unwrap();
        assert_eq!(generations(&media), [0, 4, 5, 5]);
    }
}
