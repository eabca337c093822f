//! A hand passes over the candidates in the order in which they were closed, and takes those with
//! few valid pages.

use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, State};

use super::Tracker;
use super::order::Order;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;

/// The unit of the bound: a block divided by `PARTS`.
const PARTS: u32 = 20;

/// The bound at first, the bound at the start of every later search, and the bound that takes every
/// block.
const FIRST: u32 = 10;
const USUAL: u32 = 14;
const ALL: u32 = PARTS + 1;

/// The share of the candidates that the hand passes before it starts again: 7 in 10.
const DEPTH: (usize, usize) = (7, 10);

/// A hand over the candidates. A search ends when the victims taken in it have a block's worth of
/// invalid pages.
#[derive(Clone, Debug, State)]
#[snapshot(then = check)]
pub struct SecondChance {
    #[snapshot(state)]
    order: Order,
    /// The next block to look at; `None` behind the last block.
    hand: Option<BlockId>,
    /// Blocks looked at since the hand was at the first block.
    steps: usize,
    /// The hand takes a block if its valid pages are fewer than `bound` / [`PARTS`] of a block.
    bound: u32,
    /// Invalid pages of the victims of this search.
    gained: u32,
    /// The next victim.
    choice: Option<BlockId>,
}

impl SecondChance {
    /// The hand of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable) -> Self {
        let order = Order::new(blocks.len());
        Self { order, hand: None, steps: 0, bound: FIRST, gained: 0, choice: None }
    }

    /// Checks that the block at the hand and the victim found are in the order.
    fn check(&self) -> Result<(), Fault> {
        let mut names = self.hand.into_iter().chain(self.choice);
        if names.all(|block| self.order.iter().any(|queued| queued == block)) {
            return Ok(());
        }
        Err(Fault::new("the hand is at a block that is not queued"))
    }

    /// The next victim, once the hand has settled.
    pub fn first(&self) -> Option<BlockId> {
        self.choice
    }
}

impl Tracker for SecondChance {
    fn bytes(shape: &Geometry) -> u64 {
        Order::bytes(shape.blocks())
    }

    fn closed(&mut self, _: &BlockTable, block: BlockId) {
        self.order.push(block);
        self.hand = self.hand.or(Some(block));
    }

    fn settle(&mut self, blocks: &BlockTable) {
        let depth = self.order.len() * DEPTH.0 / DEPTH.1;
        let b = blocks.pages_per_block();
        while self.choice.is_none() {
            let Some(block) = self.hand.or_else(|| {
                self.steps = 0;
                self.order.first()
            }) else {
                return;
            };
            let valid = blocks.valid(block);
            if PARTS * valid < self.bound * b {
                self.choice = Some(block);
                self.gained += b - valid;
            }
            self.hand = self.order.after(block);
            self.steps += 1;
            if self.steps >= depth {
                (self.hand, self.steps) = (self.order.first(), 0);
                self.bound = (self.bound + 1).min(ALL);
            }
        }
        if self.gained >= b {
            (self.bound, self.gained) = (USUAL, 0);
        }
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        if self.hand == Some(block) {
            self.hand = self.order.after(block);
        }
        self.choice = self.choice.filter(|&choice| choice != block);
        self.order.remove(block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let count = self.order.iter().filter(|&block| blocks.is_candidate(block)).count();
        let names = self.hand.into_iter().chain(self.choice);
        fail_if!(
            names.into_iter().any(|block| !blocks.is_candidate(block)),
            "the hand names a block that is no candidate"
        );
        if count == self.order.len() && count == blocks.candidates() as usize {
            return Ok(());
        }
        Err(format!("{} blocks queued, {} candidates", self.order.len(), blocks.candidates()))
    }
}
