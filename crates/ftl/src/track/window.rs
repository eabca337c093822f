//! The w candidates that were closed first, and among them the candidate with the fewest valid
//! pages.

use flashgc_base::fail_if;
use flashgc_base::snapshot::State;

use super::order::Order;
use super::{Least, Ties, Tracker};
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;

/// A window of fixed size over the candidates in closing order.
#[derive(Clone, Debug, State)]
pub struct Window {
    #[snapshot(skip)]
    size: usize,
    members: usize,
    #[snapshot(state)]
    least: Least,
    /// Candidates behind the window, longest closed first.
    #[snapshot(state)]
    waiting: Order,
}

impl Window {
    /// An empty window of `size` blocks; candidates enter as they are closed.
    pub fn new(size: u32, blocks: &BlockTable) -> Self {
        let least = Least::unbounded(blocks, Ties::Oldest);
        Self { size: size as usize, members: 0, least, waiting: Order::new(blocks.len()) }
    }

    /// The member with the fewest valid pages; among equals, the rule for ties decides.
    pub fn first(&self, blocks: &BlockTable) -> Option<BlockId> {
        self.least.first(blocks)
    }

    fn admit(&mut self, blocks: &BlockTable, block: BlockId) {
        self.least.insert(blocks, block);
        self.members += 1;
    }
}

impl Tracker for Window {
    const FOLLOWS_PAGES: bool = true;

    fn bytes(shape: &Geometry) -> u64 {
        <Least>::bytes(shape) + Order::bytes(shape.blocks())
    }

    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        self.least.decrement_members::<false>(blocks, lost);
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        if self.members < self.size {
            self.admit(blocks, block);
        } else {
            self.waiting.push(block);
        }
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        if !self.least.holds(block) {
            self.waiting.remove(block);
            return;
        }
        self.least.remove(blocks, block);
        self.members -= 1;
        if let Some(next) = self.waiting.first() {
            self.waiting.remove(next);
            self.admit(blocks, next);
        }
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let members = (0..blocks.len()).filter(|&block| self.least.holds(block)).count();
        fail_if!(
            members != self.members || members + self.waiting.len() != blocks.candidates() as usize,
            "{members} in the window, {} behind it, {} candidates",
            self.waiting.len(),
            blocks.candidates()
        );
        self.least.audit_nodes(blocks)
    }
}
