//! The block that has been erased for longest.
//!
//! Blocks are used in the order in which they entered the pool, whatever their wear. A new
//! drive's blocks come in order of block number.
//!
//! Rule: `argmin t_erased`.
//!
//! # Cost
//! A block: O(1). 4 bytes a block of the pool.
//!
//! # Source
//! The usual rule; Kim and Kwak compare SFL with it (section III.2).

use flashgc_base::snapshot::State;

use std::collections::VecDeque;

use super::Pool;
use crate::blocks::BlockId;

/// The allocation policy that the header of this file describes.
#[derive(State)]
pub(super) struct Fifo(VecDeque<BlockId>);

impl Fifo {
    pub(super) fn new(room: usize) -> Self {
        Self(VecDeque::with_capacity(room))
    }
}

impl Pool for Fifo {
    fn put(&mut self, block: BlockId, _: u32) {
        self.0.push_back(block);
    }

    fn take(&mut self) -> Option<BlockId> {
        self.0.pop_front()
    }

    fn remove(&mut self, block: BlockId) {
        self.0.retain(|&waiting| waiting != block);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.0.iter().copied().collect()
    }
}
