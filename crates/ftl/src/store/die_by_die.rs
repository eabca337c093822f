//! The pages of a superblock, die by die: see [`crate::copy_order`].

use crate::blocks::BlockId;
use crate::members::Members;
use crate::programs::Programs;
use crate::store::tables::Tables;

/// The offsets of the pages of a superblock, die by die.
#[derive(Debug)]
pub(crate) struct DieByDie {
    /// The offset of each place in the order.
    offsets: Box<[u32]>,
    /// The place of each offset in the order.
    places: Box<[u32]>,
}

impl DieByDie {
    /// The pages of superblocks of `pages` pages of data, which these programs fill.
    pub(crate) fn new(members: Members, programs: &Programs, pages: u32) -> Self {
        let member = |offset| members.place(programs.program(offset).0).member;
        let mut offsets: Box<[u32]> = (0..pages).collect();
        offsets.sort_by_cached_key(|&offset| (member(offset), offset));
        let mut places = vec![0; offsets.len()].into_boxed_slice();
        for (place, &offset) in (0..).zip(&offsets) {
            places[offset as usize] = place;
        }
        Self { offsets, places }
    }

    /// Returns the bytes of memory that superblocks of `pages` pages need.
    pub(crate) fn bytes(pages: u32) -> u64 {
        2 * 4 * u64::from(pages)
    }

    /// Returns the place of `offset` in the order.
    pub(crate) fn place(&self, offset: u32) -> u32 {
        self.places[offset as usize]
    }

    /// Returns the first live page of `block` at `place` of the order or behind it: its place and its offset.
    pub(crate) fn next_live(
        &self,
        tables: &Tables,
        block: BlockId,
        place: u32,
    ) -> Option<(u32, u32)> {
        let first = tables.first_ppn(block);
        let rest = self.offsets.get(place as usize..)?;
        let found = (place..).zip(rest).find(|&(_, &offset)| tables.is_live(first + offset));
        found.map(|(place, &offset)| (place, offset))
    }

    /// Takes the live pages from `block`, and puts them at the front of `pages`, in this order. Returns their
    /// number.
    pub(crate) fn take_live(
        &self,
        tables: &mut Tables,
        block: BlockId,
        pages: &mut [u32],
    ) -> usize {
        let (mut place, mut count) = (0, 0);
        while let Some((found, offset)) = self.next_live(tables, block, place) {
            pages[count] = tables.pages_of(block)[offset as usize];
            (place, count) = (found + 1, count + 1);
        }
        tables.take_all(block);
        count
    }
}
