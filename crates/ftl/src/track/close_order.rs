//! The order in which blocks became candidates.

use std::collections::VecDeque;

use super::Tracker;
use crate::blocks::{BlockId, BlockTable};

/// Candidates from the longest closed to the latest. For policies that take only the first.
#[derive(Clone, Debug, Default)]
pub struct CloseOrder {
    queue: VecDeque<BlockId>,
}

impl CloseOrder {
    /// The candidate that was closed first.
    #[inline]
    pub fn oldest(&self) -> Option<BlockId> {
        self.queue.front().copied()
    }
}

impl Tracker for CloseOrder {
    fn closed(&mut self, _: &BlockTable, block: BlockId) {
        self.queue.push_back(block);
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        let first = self.queue.pop_front();
        debug_assert_eq!(first, Some(block), "only the oldest is ever taken");
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let count = self.queue.iter().filter(|&&block| blocks.is_candidate(block)).count();
        if count == self.queue.len() && count == blocks.candidates() as usize {
            return Ok(());
        }
        Err(format!("{} blocks queued, {} candidates", self.queue.len(), blocks.candidates()))
    }
}
