//! Candidates in two regions, cold and normal. For each region, the candidate with the fewest valid
//! pages is kept up to date.

use flashgc_base::fail_if;
use flashgc_base::snapshot::State;

use super::{Least, Origin, Ties, Tracker};
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use flashgc_base::table::bytes_of;

/// The region of a block: `true` for the cold one.
pub type Region = bool;

/// A block is cold if the page programmed last on it is a copy. Folded pages count as written by
/// the host.
#[derive(Clone, Debug, State)]
pub struct Regions {
    #[snapshot(state)]
    normal: Least,
    #[snapshot(state)]
    cold: Least,
    /// For each block, `true` if the page programmed last on it is a copy.
    #[snapshot(table)]
    copied: Vec<bool>,
    #[snapshot(skip)]
    offset_bits: u32,
}

impl Regions {
    /// The regions of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable, ties: Ties) -> Self {
        let least = Least::new(blocks, ties);
        Self {
            normal: least.clone(),
            cold: least,
            copied: vec![false; blocks.len() as usize],
            offset_bits: blocks.pages_per_block().next_power_of_two().trailing_zeros(),
        }
    }

    /// The candidate of `region` with the fewest valid pages; among equals, the rule for ties
    /// decides.
    pub fn first(&self, blocks: &BlockTable, region: Region) -> Option<BlockId> {
        if region { self.cold.first(blocks) } else { self.normal.first(blocks) }
    }

    fn of(&mut self, block: BlockId) -> &mut Least {
        if self.copied[block as usize] { &mut self.cold } else { &mut self.normal }
    }
}

impl Tracker for Regions {
    const FOLLOWS_PAGES: bool = true;
    const FOLLOWS_ORIGINS: bool = true;

    fn bytes(shape: &Geometry) -> u64 {
        2 * <Least>::bytes(shape) + bytes_of::<bool>(shape.blocks() as usize)
    }

    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        self.normal.decrement_members::<false>(blocks, lost);
        self.cold.decrement_members::<false>(blocks, lost);
    }

    fn inherited(&mut self, ppn: u32, _: Option<u64>, origin: Origin, _: u64) {
        self.copied[(ppn >> self.offset_bits) as usize] = origin == Origin::Copy;
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.of(block).insert(blocks, block);
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        self.of(block).remove(blocks, block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        for block in 0..blocks.len() {
            let held = [self.normal.holds(block), self.cold.holds(block)];
            let copied = self.copied[block as usize];
            let is_candidate = blocks.is_candidate(block);
            fail_if!(
                held != [is_candidate && !copied, is_candidate && copied],
                "block {block} is not in its region"
            );
        }
        self.normal.audit_nodes(blocks)?;
        self.cold.audit_nodes(blocks)
    }
}
