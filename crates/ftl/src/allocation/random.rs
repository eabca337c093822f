//! A block of the pool drawn at random, each as likely as the others.
//!
//! It ignores wear and has no order. It is a baseline that shows the effect of an order.
//!
//! Rule: `uniform`.
//!
//! # Cost
//! A block: one random number. 4 bytes a block of the pool.
//!
//! # Source
//! A baseline of our own.

use super::Pool;
use crate::blocks::BlockId;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;

/// The allocation policy that the header of this file describes.
#[derive(State)]
pub(super) struct Random {
    waiting: Vec<BlockId>,
    rng: Stream,
}

impl Random {
    pub(super) fn new(room: usize, rng: Stream) -> Self {
        Self { waiting: Vec::with_capacity(room), rng }
    }
}

impl Pool for Random {
    fn put(&mut self, block: BlockId, _: u32) {
        self.waiting.push(block);
    }

    fn take(&mut self) -> Option<BlockId> {
        if self.waiting.is_empty() {
            return None;
        }
        let drawn = self.rng.below(self.waiting.len() as u32);
        Some(self.waiting.swap_remove(drawn as usize))
    }

    fn remove(&mut self, block: BlockId) {
        self.waiting.retain(|&waiting| waiting != block);
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.waiting.clone()
    }
}
