//! Where every page is.

use super::PlaneId;
use crate::blocks::BlockId;
use crate::frontier::Active;
use crate::geometry::Geometry;
use crate::page_map::{live_words, set_bits};
use crate::table::Table;

/// Where every page is: tables over all pages and blocks of the drive.
pub(super) struct Tables {
    pub(super) geometry: Geometry,
    pub(super) blocks_per_plane: u32,
    /// 2^64 / blocks a plane, rounded up: a division by multiplication.
    reciprocal: u64,
    /// Logical page to ppn, or [`UNMAPPED`].
    pub(super) map: Table<u32>,
    /// Physical page (block times b plus offset) to the logical page last written there.
    pub(super) reverse: Table<u32>,
    /// One bit a ppn: the page holds current data.
    pub(super) live: Table<u64>,
}

impl Tables {
    /// Those of a drive of this shape, without data; `None` where the system has not the memory.
    pub(super) fn new(geometry: Geometry, blocks_per_plane: u32) -> Option<Self> {
        Some(Self {
            geometry,
            blocks_per_plane,
            reciprocal: u64::MAX / u64::from(blocks_per_plane) + 1,
            map: Table::new(geometry.logical_pages() as usize)?,
            reverse: Table::new(geometry.physical_pages() as usize)?,
            live: Table::new(live_words(&geometry))?,
        })
    }

    /// The plane of a ppn: `block / blocks_per_plane`, exact for any two 32-bit numbers (Lemire,
    /// Kaser and Kurz 2019).
    #[inline(always)]
    pub(super) fn plane_of(&self, ppn: u32) -> PlaneId {
        let block = u128::from(ppn >> self.geometry.offset_bits());
        ((block * u128::from(self.reciprocal)) >> 64) as u32
    }

    /// The plane of a ppn, and its block numbered there.
    #[inline]
    pub(super) fn place_of(&self, ppn: u32) -> (PlaneId, BlockId) {
        let plane = self.plane_of(ppn);
        let block = ppn >> self.geometry.offset_bits();
        (plane, block - plane * self.blocks_per_plane)
    }

    /// Records that `page` is programmed at `active`: reverse map and live bit. Returns the ppn
    /// counted from the plane's first.
    pub(super) fn program(&mut self, first_block: BlockId, active: &mut Active, page: u32) -> u32 {
        let block = first_block + active.block;
        let bits = self.geometry.offset_bits();
        let b = self.geometry.pages_per_block() as usize;
        self.reverse[block as usize * b + active.next as usize] = page;
        set_bits(&mut self.live, ((block << bits) | active.next) as usize, 1);
        let local = (active.block << bits) | active.next;
        active.next += 1;
        local
    }

    #[inline]
    pub(super) fn is_live(&self, ppn: u32) -> bool {
        self.live[ppn as usize / 64] >> (ppn % 64) & 1 == 1
    }

    /// Which of the pages from `ppn` on are live, a bit each.
    #[inline]
    pub(super) fn live_from(&self, ppn: u32) -> u32 {
        let (word, bit) = (ppn as usize / 64, ppn % 64);
        let next = self.live.get(word + 1).copied().unwrap_or(0);
        ((u128::from(next) << 64 | u128::from(self.live[word])) >> bit) as u32
    }

    /// The first live page among offsets `from` to b - 1 of the block whose first ppn is `first`.
    pub(super) fn next_live(&self, first: u32, from: u32) -> Option<u32> {
        let b = self.geometry.pages_per_block();
        let mut offset = from;
        while offset < b {
            let bit = first + offset;
            let word = self.live[bit as usize / 64] >> (bit % 64);
            if word != 0 {
                let found = offset + word.trailing_zeros();
                return (found < b).then_some(found);
            }
            offset += 64 - bit % 64;
        }
        None
    }
}
