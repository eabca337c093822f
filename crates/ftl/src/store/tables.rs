//! The place of every page: the map, the reverse map and the live bits, over all planes of the
//! drive.

use flashgc_base::snapshot::State;

use super::PlaneId;
use super::gather::{SLACK, gather_word};
use crate::blocks::BlockId;
use crate::geometry::Geometry;
use flashgc_base::table::{Table, for_words, prefetch, set_bits};

/// Distance in pages at which a batch of writes prefetches map entries.
pub(crate) const MAP_AHEAD: usize = 48;
/// Distance in pages at which a batch of writes prefetches live bits.
pub(crate) const LIVE_AHEAD: usize = 24;

/// The place of every page: tables over all pages and blocks of the drive.
#[derive(State)]
#[snapshot(named = "page tables")]
pub(crate) struct Tables {
    #[snapshot(skip)]
    pub(crate) geometry: Geometry,
    #[snapshot(skip)]
    pub(crate) blocks_per_plane: u32,
    /// 2^64 / `blocks_per_plane`, rounded up. A multiplication by it replaces a division.
    #[snapshot(skip)]
    reciprocal: u64,
    /// The ppn of each logical page, or [`UNMAPPED`]. The entry of a zombie has a mark
    /// (`zombies.rs`).
    #[snapshot(table)]
    pub(crate) map: Table<u32>,
    /// The logical page last written on each physical page. The index is block times b plus offset.
    #[snapshot(table)]
    pub(crate) reverse: Table<u32>,
    /// One bit for each ppn, set if the page holds current data.
    #[snapshot(table)]
    pub(crate) live: Table<u64>,
}

impl Tables {
    /// The tables of a drive of this shape, without data; `None` if the system has not enough
    /// memory.
    pub(crate) fn new(geometry: Geometry, blocks_per_plane: u32) -> Option<Self> {
        Some(Self {
            geometry,
            blocks_per_plane,
            reciprocal: u64::MAX / u64::from(blocks_per_plane) + 1,
            map: Table::new(geometry.logical_pages() as usize)?,
            reverse: Table::new(geometry.physical_pages() as usize)?,
            live: Table::new(live_words(&geometry))?,
        })
    }

    /// Bytes of the tables of a drive of this shape.
    pub(crate) fn bytes(geometry: &Geometry) -> u64 {
        Table::<u32>::bytes_for(geometry.logical_pages() as usize)
            + Table::<u32>::bytes_for(geometry.physical_pages() as usize)
            + Table::<u64>::bytes_for(live_words(geometry))
    }

    /// The plane of a ppn: `block / blocks_per_plane`, exact for any two 32-bit numbers (Lemire,
    /// Kaser and Kurz 2019).
    #[inline(always)]
    pub(crate) fn plane_of(&self, ppn: u32) -> PlaneId {
        let block = u128::from(ppn >> self.geometry.offset_bits());
        ((block * u128::from(self.reciprocal)) >> 64) as u32
    }

    /// The first ppn of `block`.
    #[inline(always)]
    pub(crate) fn first_ppn(&self, block: BlockId) -> u32 {
        block << self.geometry.offset_bits()
    }

    /// The block and the offset of a ppn.
    #[inline]
    pub(crate) fn place_of(&self, ppn: u32) -> (BlockId, u32) {
        self.geometry.place_of(ppn)
    }

    /// Logical pages that were written last to the pages of `block`.
    #[inline]
    pub(crate) fn pages_of(&self, block: BlockId) -> &[u32] {
        let b = self.geometry.pages_per_block() as usize;
        &self.reverse[block as usize * b..][..b]
    }

    /// Records that `pages` are programmed at `block` from `offset` on: reverse map and live bits.
    /// Returns the ppn of the first; the caller updates the map.
    #[inline(always)]
    pub(crate) fn program(&mut self, block: BlockId, offset: u32, pages: &[u32]) -> u32 {
        let b = self.geometry.pages_per_block() as usize;
        debug_assert!(offset as usize + pages.len() <= b, "block {block} overflows");
        let first = self.first_ppn(block) | offset;
        let place = block as usize * b + offset as usize;
        debug_assert!(
            (first..).zip(pages).all(|(ppn, _)| !self.is_live(ppn)),
            "block {block} is programmed twice at page {offset} or after"
        );
        if let &[page] = pages {
            self.reverse[place] = page;
            self.live[(first >> 6) as usize] |= 1 << (first & 63);
        } else {
            self.reverse[place..place + pages.len()].copy_from_slice(pages);
            set_bits(&mut self.live, first as usize, pages.len());
        }
        first
    }

    #[inline(always)]
    pub(crate) fn is_live(&self, ppn: u32) -> bool {
        self.live[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1
    }

    /// Returns a bit for each of the 32 pages from `ppn` on, set if the page is live.
    #[inline]
    pub(crate) fn live_from(&self, ppn: u32) -> u32 {
        let (word, bit) = (ppn as usize / 64, ppn % 64);
        let next = self.live.get(word + 1).copied().unwrap_or(0);
        ((u128::from(next) << 64 | u128::from(self.live[word])) >> bit) as u32
    }

    /// The first live page among offsets `from` to b - 1 of `block`, as an offset.
    pub(crate) fn next_live(&self, block: BlockId, from: u32) -> Option<u32> {
        let (b, first) = (self.geometry.pages_per_block(), self.first_ppn(block));
        let mut offset = from;
        while offset < b {
            let bit = first + offset;
            let word = self.live[bit as usize / 64] >> (bit % 64);
            if word != 0 {
                let next = offset + word.trailing_zeros();
                return (next < b).then_some(next);
            }
            offset += 64 - bit % 64;
        }
        None
    }

    /// Asks the processor for the data that a collection of `block` reads first.
    #[inline]
    pub(crate) fn prefetch_block(&self, block: BlockId) {
        self.prefetch_start(block, usize::MAX);
    }

    /// Asks the processor for what [`Tables::prefetch_block`] does, of the first `most` pages.
    #[inline]
    pub(crate) fn prefetch_start(&self, block: BlockId, most: usize) {
        let b = self.geometry.pages_per_block() as usize;
        for offset in (0..b.min(most)).step_by(64 / size_of::<u32>()) {
            prefetch(&self.reverse, block as usize * b + offset);
        }
        prefetch(&self.live, (self.first_ppn(block) >> 6) as usize);
    }

    /// Takes all live pages from `block`.
    pub(crate) fn take_all(&mut self, block: BlockId) {
        let b = self.geometry.pages_per_block() as usize;
        let first = self.first_ppn(block) as usize;
        for_words(first, b, |word, mask| self.live[word] &= !mask);
    }

    /// Takes the live pages from `block`, and puts them at the front of `pages`, in page order.
    /// Returns their number. `pages` has [`room_for_a_block`] entries.
    pub(crate) fn take_live(&mut self, block: BlockId, pages: &mut [u32]) -> usize {
        let b = self.geometry.pages_per_block() as usize;
        let first = self.first_ppn(block) as usize;
        let from = &self.reverse[block as usize * b..][..b];
        let live = &mut self.live;
        let mut count = 0;
        for_words(first, b, |word, mask| {
            let bits = live[word] & mask;
            live[word] &= !mask;
            // Bit 0 of the word stands for the page at this offset in the block. The offset is
            // negative if the block begins inside the word.
            let bit0 = (word * 64).wrapping_sub(first);
            if let Some(whole) = from.get(bit0..).and_then(<[u32]>::first_chunk) {
                count = gather_word(whole, bits, pages, count);
                return;
            }
            let mut bits = bits;
            while bits != 0 {
                pages[count] = from[bit0.wrapping_add(bits.trailing_zeros() as usize)];
                count += 1;
                bits &= bits - 1;
            }
        });
        count
    }
}

/// Entries that [`Tables::take_live`] needs for a block of `pages_per_block` pages.
pub(crate) fn room_for_a_block(pages_per_block: u32) -> usize {
    pages_per_block as usize + SLACK
}

/// The number of words of live bits, with one bit for each ppn.
pub(crate) fn live_words(geometry: &Geometry) -> usize {
    ((geometry.blocks() as usize) << geometry.offset_bits()).div_ceil(64)
}
