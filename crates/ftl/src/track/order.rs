//! Blocks in the order in which they were added. Any of them can be removed in O(1).

use flashgc_base::snapshot::{Fault, State};

use crate::blocks::BlockId;
use flashgc_base::table::bytes_of;

/// Stands for a missing neighbour: before the first block, behind the last block, and on both sides
/// of a block that is not in the order.
const NONE: BlockId = BlockId::MAX;

/// A doubly linked list over the block numbers: 8 bytes a block.
#[derive(Clone, Debug, State)]
#[snapshot(then = check)]
pub(super) struct Order {
    /// For each block, the block before it and the block after it.
    #[snapshot(table)]
    links: Vec<(BlockId, BlockId)>,
    first: BlockId,
    last: BlockId,
    len: usize,
}

impl Order {
    /// An empty order for `blocks` blocks.
    pub(super) fn new(blocks: u32) -> Self {
        Self { links: vec![(NONE, NONE); blocks as usize], first: NONE, last: NONE, len: 0 }
    }

    /// Bytes of an order of `blocks` blocks.
    pub(super) fn bytes(blocks: u32) -> u64 {
        bytes_of::<(BlockId, BlockId)>(blocks as usize)
    }

    /// Checks that every block that the order names exists.
    fn check(&self) -> Result<(), Fault> {
        let blocks = self.links.len();
        let is_block = |block: BlockId| block == NONE || (block as usize) < blocks;
        let links = self.links.iter().all(|&(before, after)| is_block(before) && is_block(after));
        if links && is_block(self.first) && is_block(self.last) && self.len <= blocks {
            return Ok(());
        }
        Err(Fault::new("an order names a block that there is not"))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn first(&self) -> Option<BlockId> {
        (self.first != NONE).then_some(self.first)
    }

    /// The block after `block`, which is in the order.
    pub(super) fn after(&self, block: BlockId) -> Option<BlockId> {
        let after = self.links[block as usize].1;
        (after != NONE).then_some(after)
    }

    /// Puts `block`, which is not in the order, behind all others.
    pub(super) fn push(&mut self, block: BlockId) {
        self.links[block as usize] = (self.last, NONE);
        match self.last {
            NONE => self.first = block,
            last => self.links[last as usize].1 = block,
        }
        self.last = block;
        self.len += 1;
    }

    /// Takes `block` out of the order, which must have it.
    pub(super) fn remove(&mut self, block: BlockId) {
        let (before, after) = std::mem::replace(&mut self.links[block as usize], (NONE, NONE));
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].0 = before,
        }
        self.len -= 1;
    }

    /// The blocks from the first to the last.
    pub(super) fn iter(&self) -> impl Iterator<Item = BlockId> {
        // The iterator takes at most as many steps as there are blocks, so that an audit of a
        // broken list ends.
        std::iter::successors(self.first(), |&block| self.after(block)).take(self.links.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use flashgc_base::rng::Stream;

    #[test]
    fn it_is_the_order_of_a_plain_queue() {
        let (mut order, mut naive) = (Order::new(40), VecDeque::new());
        let mut stream = Stream::new(1, "order");
        for _ in 0..5000 {
            let block = stream.below(40);
            match naive.iter().position(|&queued| queued == block) {
                Some(place) => {
                    naive.remove(place);
                    order.remove(block);
                }
                None => {
                    naive.push_back(block);
                    order.push(block);
                }
            }
            assert_eq!((order.len(), order.first()), (naive.len(), naive.front().copied()));
            assert!(order.iter().eq(naive.iter().copied()));
        }
    }
}
