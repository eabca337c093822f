//! The places of everything in the file of a drive.
//!
//! | zone | bytes |
//! |---|---|
//! | superblock | 4 copies of 4 KiB |
//! | configuration | 64 KiB: the text from which the drive was made |
//! | checkpoints A and B | two slots, each of the size of the largest checkpoint |
//! | journal | a ring of 4 KiB blocks |
//! | out-of-band records | 32 bytes for each physical page, then for each page of parity |
//! | data | 4 KiB for each physical page, then for each page of parity |

use flashgc_ftl::Geometry;

use crate::codec::Seal;
use crate::dies::{Parity, Place};

/// The bytes of a page.
pub const PAGE: usize = 4096;

/// The number of copies of the superblock.
pub(crate) const COPIES: u64 = 4;

/// The bytes of the configuration's zone.
pub(crate) const CONFIG_BYTES: u64 = 1 << 16;

/// The bytes of an out-of-band record.
pub(crate) const OOB_BYTES: u64 = 32;

/// If a drive has `LARGE` bytes of data or more, its zone of data begins at a multiple of 2 MiB.
const LARGE: u64 = 64 << 20;

/// The places of the zones of one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zones {
    pub(crate) geometry: Geometry,
    /// The parity of the drive's superblocks; `None` for a drive without parity.
    pub(crate) parity: Option<Parity>,
    pub(crate) config: u64,
    checkpoint: u64,
    /// The number of bytes of a checkpoint slot.
    pub(crate) slot: u64,
    pub(crate) journal: u64,
    pub(crate) journal_blocks: u64,
    oob: u64,
    data: u64,
    /// The size of the whole file in bytes.
    pub(crate) len: u64,
}

impl Zones {
    /// The place of the configuration, in every drive.
    pub(crate) const CONFIG: u64 = COPIES * PAGE as u64;

    /// Returns the zones of a drive of this shape, or `None` if they are too large for numbers of
    /// 64 bits.
    pub(crate) fn new(
        geometry: Geometry,
        parity: Option<Parity>,
        slot: u64,
        journal_blocks: u64,
    ) -> Option<Self> {
        let page = PAGE as u64;
        let config = Self::CONFIG;
        let checkpoint = config + CONFIG_BYTES;
        let slot = slot.checked_next_multiple_of(page)?;
        let journal = slot.checked_mul(2)?.checked_add(checkpoint)?;
        let oob = journal_blocks.checked_mul(page)?.checked_add(journal)?;
        let pages = geometry.physical_pages();
        let of_block = geometry.pages_per_block();
        let of_parity = parity.map_or(0, |parity| parity.pages(of_block));
        let all = u64::from(geometry.blocks()).checked_mul(of_parity.into())?.checked_add(pages)?;
        let bytes = all.checked_mul(page)?;
        let align = if bytes >= LARGE { 2 << 20 } else { page };
        let data = all.checked_mul(OOB_BYTES)?.checked_add(oob)?;
        let data = data.checked_next_multiple_of(align)?;
        let len = data.checked_add(bytes)?;
        Some(Self {
            geometry,
            parity,
            config,
            checkpoint,
            slot,
            journal,
            journal_blocks,
            oob,
            data,
            len,
        })
    }

    /// Returns the byte at which a copy of the superblock begins.
    pub(crate) fn superblock(copy: u64) -> u64 {
        copy * PAGE as u64
    }

    /// Returns the byte at which checkpoint slot 0 or 1 begins.
    pub(crate) fn checkpoint(&self, slot: u8) -> u64 {
        self.checkpoint + u64::from(slot) * self.slot
    }

    /// Returns the place of the journal block with this sequence number.
    pub(crate) fn journal(&self, sequence: u64) -> u64 {
        self.journal + sequence % self.journal_blocks * PAGE as u64
    }

    /// Returns the place of the data of a page.
    pub(crate) fn data(&self, ppn: u32) -> u64 {
        self.data + self.index(ppn) * PAGE as u64
    }

    /// Returns the byte at which the out-of-band record of a physical page begins.
    pub(crate) fn oob(&self, ppn: u32) -> u64 {
        self.oob + self.index(ppn) * OOB_BYTES
    }

    /// Returns the places of the data and of the record of a page of data or of parity.
    pub(crate) fn place(&self, place: Place) -> (u64, u64) {
        let index = match place {
            Place::Data(ppn) => self.index(ppn),
            Place::Parity { block, group } => {
                let all = self.geometry.physical_pages();
                all + u64::from(block) * u64::from(self.parity_of_block()) + u64::from(group)
            }
        };
        (self.data + index * PAGE as u64, self.oob + index * OOB_BYTES)
    }

    /// Returns the die that has a page of data or of parity; `None` without parity.
    pub(crate) fn die_of(&self, place: Place) -> Option<u32> {
        let parity = self.parity?;
        Some(match place {
            Place::Data(ppn) => parity.die(self.geometry.place_of(ppn).1),
            Place::Parity { group, .. } => parity.die_of_parity(group),
        })
    }

    /// Returns the form of the check sums of out-of-band records.
    pub(crate) fn seal(&self) -> Seal {
        if self.parity.is_some() { Seal::Mixed } else { Seal::Plain }
    }

    /// Returns the pages of parity of a block.
    pub(crate) fn parity_of_block(&self) -> u32 {
        self.parity.map_or(0, |parity| parity.pages(self.geometry.pages_per_block()))
    }

    /// Returns the block of a page, and the page's stripe there; `None` without parity.
    pub(crate) fn stripe_of(&self, ppn: u32) -> Option<(u32, u32)> {
        let (block, offset) = self.geometry.place_of(ppn);
        self.parity.map(|parity| (block, parity.stripe(offset)))
    }

    /// Returns the first ppn of a block.
    pub(crate) fn first_ppn(&self, block: u32) -> u32 {
        self.geometry.ppn(block, 0)
    }

    /// Returns the bytes of data of a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        u64::from(self.geometry.pages_per_block()) * PAGE as u64
    }

    fn index(&self, ppn: u32) -> u64 {
        let (block, offset) = self.geometry.place_of(ppn);
        u64::from(block) * u64::from(self.geometry.pages_per_block()) + u64::from(offset)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::Members;

    use super::*;

    #[test]
    fn zones_follow_one_another_without_overlap() {
        // 12 blocks of 5 pages: offsets take 3 bits, so block 2 begins at ppn 16 and page 10.
        let geometry = Geometry::new(12, 5, 40).unwrap();
        let zones = Zones::new(geometry, None, 5000, 8).unwrap();
        assert_eq!(zones.config, 16384);
        assert_eq!(zones.checkpoint(0), 16384 + 65536);
        assert_eq!(zones.checkpoint(1), 81920 + 8192);
        assert_eq!(zones.journal(0), 81920 + 2 * 8192);
        assert_eq!(zones.journal(8), zones.journal(0));
        assert_eq!(zones.journal(7), zones.journal(0) + 7 * 4096);
        assert_eq!(zones.oob(0), zones.journal(0) + 8 * 4096);
        assert_eq!(zones.oob(16), zones.oob(0) + 10 * 32);
        // 60 records are 1920 bytes, so that the data begin with the next page.
        assert_eq!(zones.data(0), zones.oob(0) + 4096);
        assert_eq!(zones.data(16), zones.data(0) + 10 * 4096);
        assert_eq!(zones.len, zones.data(0) + 60 * 4096);
    }

    #[test]
    fn parity_lies_behind_the_pages_that_it_covers() {
        // 3 blocks of 6 pages of data, with stripes of 3 dies: 3 pages of parity each.
        let geometry = Geometry::new(3, 6, 10).unwrap();
        let parity = Parity::new(Members::new(3, Some(3)), 1);
        let zones = Zones::new(geometry, parity, 4096, 8).unwrap();
        let without = Zones::new(geometry, None, 4096, 8).unwrap();
        assert_eq!(zones.place(Place::Data(8)), (zones.data(8), zones.oob(8)));
        let (data, oob) = zones.place(Place::Parity { block: 1, group: 2 });
        assert_eq!(data, zones.data(0) + (18 + 3 + 2) * 4096);
        assert_eq!(oob, zones.oob(0) + (18 + 3 + 2) * 32);
        assert_eq!(zones.len, without.len + 9 * 4096);
        assert_eq!(zones.stripe_of(geometry.ppn(2, 5)), Some((2, 2)));
    }

    #[test]
    fn large_drives_align_their_data() {
        let zones =
            Zones::new(Geometry::new(1000, 64, 60_000).unwrap(), None, 1 << 20, 64).unwrap();
        assert_eq!(zones.data(0) % (2 << 20), 0);
    }
}
