//! The block erased least often; among equals the one that has waited longest.
//!
//! SFL, the search-first linked list, is a list of erased blocks sorted by erase count. A block is
//! inserted behind those with the same count, and blocks are taken from the head. Here a heap,
//! ordered by erase count and then by arrival, gives the same order without walking a list.
//!
//! Rule: `argmin (ec, t_erased)`.
//!
//! # Cost
//! A block: O(log n) for a pool of n; the list would need O(n) to insert. 16 bytes a block of the
//! pool.
//!
//! # Source
//! Kim and Kwak, "BSGC: Balanced Section-based Garbage Collection", section III.2 and Figure 2.

use flashgc_base::snapshot::State;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Pool;
use crate::blocks::BlockId;

/// The allocation policy that the header of this file describes.
#[derive(State)]
pub(super) struct Sfl {
    waiting: BinaryHeap<Waiting>,
    arrivals: u64,
}

/// A block that waits: its erase count, the number of its arrival, and the number of the block.
pub(super) type Waiting = Reverse<(u32, u64, BlockId)>;

impl Sfl {
    pub(super) fn new(room: usize) -> Self {
        Self { waiting: BinaryHeap::with_capacity(room), arrivals: 0 }
    }
}

impl Pool for Sfl {
    fn put(&mut self, block: BlockId, erases: u32) {
        self.waiting.push(Reverse((erases, self.arrivals, block)));
        self.arrivals += 1;
    }

    fn take(&mut self) -> Option<BlockId> {
        self.waiting.pop().map(|Reverse((_, _, block))| block)
    }

    fn remove(&mut self, block: BlockId) {
        self.waiting.retain(|&Reverse((_, _, waiting))| waiting != block);
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.waiting.iter().map(|&Reverse((_, _, block))| block).collect()
    }
}
