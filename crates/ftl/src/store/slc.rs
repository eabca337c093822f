//! The SLC region of a plane: which of its blocks are in SLC mode, and the classes of its pages.

use std::collections::VecDeque;

use flashgc_base::snapshot::{Fault, State};

use crate::blocks::BlockId;
use crate::placement::Class;
use crate::slc::{FoldOf, SlcRegion};
use flashgc_base::table::bytes_of;

/// The classes of a region. Their numbers follow those of host writes and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlcClasses {
    /// The class of folded pages; `None` where a placement sorts them.
    pub(crate) folded: Option<Class>,
    /// The class of host writes into the region.
    pub(crate) slc: Class,
}

impl SlcClasses {
    /// The classes on a drive without a placement. Their numbers begin at `others`.
    pub(super) fn behind(others: usize) -> Self {
        let folded = others as Class;
        Self { folded: Some(folded), slc: folded + 1 }
    }

    /// The class on a drive whose placement has `others` classes; its number is `others`.
    pub(super) fn sorted(others: usize) -> Self {
        Self { folded: None, slc: others as Class }
    }
}

/// The SLC region of a plane.
#[derive(State)]
#[snapshot(then = check)]
pub(crate) struct Region {
    #[snapshot(skip)]
    pub(super) rule: SlcRegion,
    #[snapshot(skip)]
    pub(crate) classes: SlcClasses,
    /// Pages of an SLC block.
    #[snapshot(skip)]
    pub(super) pages: u32,
    /// `true` once the clock has started. Earlier writes go to normal blocks, so the region starts
    /// empty.
    pub(super) is_used: bool,
    /// The number of logical pages of the host. Pages from this number on belong to a map on flash,
    /// and go to normal blocks.
    #[snapshot(skip)]
    pub(super) host_pages: u32,
    /// For each block of the plane, `true` if it is in SLC mode.
    #[snapshot(table)]
    pub(super) in_slc: Vec<bool>,
    /// Full blocks that are set aside, the oldest first.
    pub(super) full: VecDeque<BlockId>,
    /// Full blocks that the pool has lent, the oldest first.
    pub(super) full_lent: VecDeque<BlockId>,
    /// Erased blocks that were set aside.
    pub(super) erased: VecDeque<BlockId>,
}

/// The room that a host write finds in the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlcRoom {
    /// The region has room; the field is the number of pages.
    Pages(u32),
    /// The region has no room, and the write waits for a fold.
    Waits,
    /// The region has no room, or there is no region: the write goes to a normal block.
    Direct,
}

impl Region {
    /// The region of a plane of `blocks` blocks. An SLC block has `pages` pages.
    pub(super) fn new(rule: SlcRegion, classes: SlcClasses, blocks: u32, pages: u32) -> Self {
        let first = blocks - rule.set_aside();
        Self {
            rule,
            classes,
            pages,
            is_used: false,
            host_pages: u32::MAX,
            in_slc: (0..blocks).map(|block| block >= first).collect(),
            full: VecDeque::new(),
            full_lent: VecDeque::new(),
            erased: (first..blocks).collect(),
        }
    }

    /// The most bytes that the region of a plane of `blocks` blocks keeps.
    pub(super) fn bytes(blocks: u32) -> u64 {
        bytes_of::<bool>(blocks as usize) + bytes_of::<BlockId>(blocks as usize)
    }

    /// Returns `true` if writes of the host go to the region.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Blocks at the end of the plane that are never in normal mode.
    pub(super) fn set_aside(&self) -> u32 {
        self.rule.set_aside()
    }

    /// Returns `true` if `block` is one of those that are never in normal mode.
    #[inline]
    pub(super) fn is_set_aside(&self, block: BlockId) -> bool {
        block as usize >= self.in_slc.len() - self.set_aside() as usize
    }

    /// The block that a fold takes next among those `of` a kind.
    pub(super) fn next_to_fold(&self, of: FoldOf) -> Option<BlockId> {
        let set_aside = self.full.front().filter(|_| of == FoldOf::Any);
        self.full_lent.front().or(set_aside).copied()
    }

    /// Takes the block of [`Region::next_to_fold`].
    pub(super) fn take_to_fold(&mut self, of: FoldOf) -> Option<BlockId> {
        let lent = self.full_lent.pop_front();
        if of == FoldOf::Any { lent.or_else(|| self.full.pop_front()) } else { lent }
    }

    /// The full blocks.
    pub(super) fn all_full(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.full.iter().chain(&self.full_lent).copied()
    }

    /// Returns `true` if `block` is in SLC mode.
    #[inline]
    pub(super) fn has(&self, block: BlockId) -> bool {
        self.in_slc[block as usize]
    }

    /// Returns `true` if `block` waits in the region, full or erased.
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.all_full().chain(self.erased.iter().copied()).any(|held| held == block)
    }

    fn check(&self) -> Result<(), Fault> {
        let blocks = self.in_slc.len();
        let mut held = self.all_full().chain(self.erased.iter().copied());
        if held.any(|block| block as usize >= blocks) {
            return Err(Fault::new("an SLC region names a block that there is not"));
        }
        if self.full_lent.iter().any(|&block| self.is_set_aside(block))
            || self.full.iter().chain(&self.erased).any(|&block| !self.is_set_aside(block))
        {
            return Err(Fault::new("an SLC region takes a block that is set aside for a lent one"));
        }
        Ok(())
    }
}
