//! The blocks that superblocks have lost, and what is left of each superblock.
//!
//! All blocks of a superblock are erased together, so the erases of the superblock and the limits of its blocks
//! say which of them are bad.

use std::sync::Arc;

use flashgc_base::snapshot::Value;

use crate::blocks::BlockId;
use crate::layout::Layout;
use crate::programs::Programs;
use crate::smaller::{Left, Shrinking, Smaller};

/// The blocks that the superblocks of a drive have lost.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    rule: Shrinking,
    programs: Programs,
    /// The planes of a die in a superblock, its blocks, and its units.
    planes: u32,
    blocks_together: u32,
    units: u32,
    /// The erases that each block bears: those of one superblock after the other, in it of one die after the
    /// other.
    limits: Vec<u32>,
    /// The erases at which each superblock loses its next block.
    next: Vec<u32>,
    /// The programs of each superblock that is smaller; `None` for a whole one.
    smaller: Vec<Option<Arc<Smaller>>>,
}

/// The smaller superblocks that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Shrunk {
    /// The number of smaller superblocks.
    pub superblocks: u32,
    /// The pages that they have lost.
    pub lost_pages: u64,
}

impl Losses {
    /// Returns new superblocks of `layout`, none of which has lost a block. `limits` has the erases that each
    /// block bears. `None` if superblocks retire with their first bad block.
    pub(crate) fn new(layout: &Layout, limits: Vec<u32>) -> Option<Self> {
        let rule = layout.shrinking?;
        let blocks_together = layout.blocks_together;
        let superblocks = limits.len() / blocks_together as usize;
        let mut losses = Self {
            rule,
            programs: layout.buffer.programs(),
            planes: layout.buffer.planes,
            blocks_together,
            units: layout.geometry.pages_per_block(),
            limits,
            next: Vec::new(),
            smaller: vec![None; superblocks],
        };
        losses.next =
            (0..superblocks as BlockId).map(|block| losses.next_after(block, 0)).collect();
        Some(losses)
    }

    /// Bytes of the losses of `blocks` superblocks of this layout.
    pub(crate) fn bytes(layout: &Layout, blocks: u32) -> u64 {
        let each = 4 * (layout.blocks_together as usize + 1) + size_of::<Option<Arc<Smaller>>>();
        layout.shrinking.map_or(0, |_| each as u64 * u64::from(blocks))
    }

    fn limits_of(&self, block: BlockId) -> &[u32] {
        let together = self.blocks_together as usize;
        &self.limits[block as usize * together..][..together]
    }

    fn next_after(&self, block: BlockId, erases: u32) -> u32 {
        let later = self.limits_of(block).iter().copied().filter(|&limit| limit > erases);
        later.min().unwrap_or(u32::MAX)
    }

    fn left_after(&self, block: BlockId, erases: u32) -> Left {
        let limits = self.limits_of(block);
        let is_bad = |block: u32| limits[block as usize] <= erases;
        self.rule.left(&self.programs, self.planes, self.units, is_bad)
    }

    /// Returns the erases after which a superblock retires: too little of it is left.
    pub(crate) fn retires_at(&self, block: BlockId) -> u32 {
        let mut limits = self.limits_of(block).to_vec();
        limits.sort_unstable();
        let all = limits.last().copied().unwrap_or_default();
        limits.into_iter().find(|&at| self.left_after(block, at) == Left::TooLittle).unwrap_or(all)
    }

    /// Takes the blocks from a superblock that are bad after its `erases`-th erase, with which it does not
    /// retire. Returns the pages that it has lost in all; `None` if it loses no block now.
    #[inline]
    pub(crate) fn erased(&mut self, block: BlockId, erases: u32) -> Option<u32> {
        if erases < self.next[block as usize] {
            return None;
        }
        self.set(block, erases);
        Some(self.lost(block))
    }

    /// Sets a superblock to what is left of it after `erases` erases.
    pub(crate) fn set(&mut self, block: BlockId, erases: u32) {
        self.next[block as usize] = self.next_after(block, erases);
        self.smaller[block as usize] = match self.left_after(block, erases) {
            Left::Some(smaller) => Some(Arc::new(smaller)),
            Left::All | Left::TooLittle => None,
        };
    }

    /// Forgets what was left of a superblock that retires.
    pub(crate) fn retire(&mut self, block: BlockId) {
        self.smaller[block as usize] = None;
    }

    /// Returns the programs of a smaller superblock; `None` for one that is whole or has retired.
    #[inline]
    pub(crate) fn smaller(&self, block: BlockId) -> Option<&Arc<Smaller>> {
        self.smaller[block as usize].as_ref()
    }

    /// Returns the pages that a superblock in use has lost.
    pub(crate) fn lost(&self, block: BlockId) -> u32 {
        self.smaller(block).map_or(0, |smaller| smaller.lost())
    }

    /// Returns the smaller superblocks in use.
    pub(crate) fn shrunk(&self) -> Shrunk {
        let mut shrunk = Shrunk::default();
        for smaller in self.smaller.iter().flatten() {
            shrunk.superblocks += 1;
            shrunk.lost_pages += u64::from(smaller.lost());
        }
        shrunk
    }
}
