//! The w candidates that were closed first, and which of them has the fewest valid pages.

use std::collections::VecDeque;

use super::{MinCount, Tracker};
use crate::blocks::{BlockId, BlockTable};

/// A window of fixed size over the candidates in closing order.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    members: usize,
    /// The count of a member, `u16::MAX` of any other block; padded like the block table's.
    counts: Vec<u16>,
    least: MinCount,
    /// Candidates behind the window, longest closed first.
    waiting: VecDeque<BlockId>,
}

impl Window {
    /// An empty window of `size` blocks; candidates enter as they are closed.
    pub fn new(size: u32, blocks: &BlockTable) -> Self {
        let none =
            BlockTable::from_counts(blocks.pages_per_block(), &vec![None; blocks.len() as usize]);
        Self {
            size: size as usize,
            members: 0,
            counts: vec![u16::MAX; none.padded_counts().len()],
            least: MinCount::new(&none),
            waiting: VecDeque::new(),
        }
    }

    /// The member with the fewest valid pages, the lowest number among equals.
    pub fn first_minimum(&self) -> Option<BlockId> {
        self.least.first_minimum_of(&self.counts)
    }

    fn admit(&mut self, blocks: &BlockTable, block: BlockId) {
        let count = blocks.masked_count(block);
        self.counts[block as usize] = count;
        self.least.lower(block, count);
        self.members += 1;
    }
}

impl Tracker for Window {
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, masked: u16) {
        if self.counts[block as usize] != u16::MAX {
            self.counts[block as usize] = masked;
            self.least.lower(block, masked);
        }
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        if self.members < self.size {
            self.admit(blocks, block);
        } else {
            self.waiting.push_back(block);
        }
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        debug_assert_ne!(self.counts[block as usize], u16::MAX, "only members are ever taken");
        self.counts[block as usize] = u16::MAX;
        self.least.recompute(&self.counts, block);
        self.members -= 1;
        if let Some(next) = self.waiting.pop_front() {
            self.admit(blocks, next);
        }
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let members = self.counts.iter().filter(|&&count| count != u16::MAX).count();
        let stale = (0..blocks.len()).find(|&block| {
            let count = self.counts[block as usize];
            count != u16::MAX && count != blocks.masked_count(block)
        });
        if let Some(block) = stale {
            return Err(format!("block {block} has a stale count in the window"));
        }
        if members != self.members || members + self.waiting.len() != blocks.candidates() as usize {
            return Err(format!(
                "{members} in the window, {} behind it, {} candidates",
                self.waiting.len(),
                blocks.candidates()
            ));
        }
        Ok(())
    }
}
