//! The block erased least often; among equals the one with the lowest number.
//!
//! A controller does this if it scans its pool from block 0 for the least worn block. SFL differs
//! only in its ties.
//!
//! Rule: `argmin (ec, block)`.
//!
//! # Cost
//! A block: O(log n) for a pool of n. 8 bytes a block of the pool.
//!
//! # Source
//! Kwon et al., IEEE Trans. Consumer Electronics 56(3), 2010 (SAGC); "LIF" in Kim and Kwak's Table
//! 4, which leaves ties open: the lowest number is our choice.

use flashgc_base::snapshot::State;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Pool;
use crate::blocks::BlockId;

/// The allocation policy that the header of this file describes.
#[derive(State)]
pub(super) struct LowestErase(BinaryHeap<Waiting>);

/// A block that waits: its erase count and its number.
pub(super) type Waiting = Reverse<(u32, BlockId)>;

impl LowestErase {
    pub(super) fn new(room: usize) -> Self {
        Self(BinaryHeap::with_capacity(room))
    }
}

impl Pool for LowestErase {
    fn put(&mut self, block: BlockId, erases: u32) {
        self.0.push(Reverse((erases, block)));
    }

    fn take(&mut self) -> Option<BlockId> {
        self.0.pop().map(|Reverse((_, block))| block)
    }

    fn remove(&mut self, block: BlockId) {
        self.0.retain(|&Reverse((_, waiting))| waiting != block);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.0.iter().map(|&Reverse((_, block))| block).collect()
    }
}
