//! The order in which blocks became candidates.

use flashgc_base::snapshot::State;

use super::Tracker;
use super::order::Order;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;

/// Candidates in the order in which they were closed.
#[derive(Clone, Debug, State)]
pub struct CloseOrder {
    #[snapshot(state)]
    order: Order,
}

impl CloseOrder {
    /// The order of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable) -> Self {
        Self { order: Order::new(blocks.len()) }
    }

    /// The candidate that was closed first.
    #[inline]
    pub fn oldest(&self) -> Option<BlockId> {
        self.order.first()
    }
}

impl Tracker for CloseOrder {
    fn bytes(shape: &Geometry) -> u64 {
        Order::bytes(shape.blocks())
    }

    fn closed(&mut self, _: &BlockTable, block: BlockId) {
        self.order.push(block);
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        self.order.remove(block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let count = self.order.iter().filter(|&block| blocks.is_candidate(block)).count();
        if count == self.order.len() && count == blocks.candidates() as usize {
            return Ok(());
        }
        Err(format!("{} blocks queued, {} candidates", self.order.len(), blocks.candidates()))
    }
}
