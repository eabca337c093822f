//! Swap-aware garbage collection: the block with the largest sum of ages of its invalid pages.
//!
//! The age of an invalid page counts the page programs since it became invalid. No time is stored
//! per page: for i invalid pages the sum of now - t is i * now minus the sum of all t, one number a
//! block. Pages that were invalid at the start count from clock 0. The sum is at least 1; a block
//! without invalid pages comes last. `weight=ratio` multiplies the sum by the benefit-to-cost ratio
//! of cost-benefit. Equal scores: fewer erases, then closed earlier, then the lower block number.
//! The paper combines it with allocation by least wear, which is a separate option here.
//!
//! Formula: `argmax sum over invalid pages of (now - t_invalidated)`; `ratio`: times `(1-u)/(2u)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores
//! each. A write: one addition, one lookup and two scores, amortised. Exact. 18 bytes a block.
//!
//! # Source
//! Kwon et al., IEEE Trans. Consumer Electronics 2010, as Kim and Kwak, 2016 (BSGC), state it in
//! words in section II.2, without a formula: this one is reconstructed.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{Course, Score};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::{bytes_of, prefetch};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Sagc {
    #[snapshot(skip)]
    ratio: bool,
    /// For each block, the sum of the clock times at which its invalid pages became invalid.
    #[snapshot(table)]
    sums: Vec<u64>,
}

impl Scored for Sagc {
    const NAME: &'static str = "sagc";
    const PARAMS: &'static [Param] = &[Param::word("weight", &["none", "ratio"], Some("none"))
        .help("factor on the sum of ages: none, or (1-u)/(2u)")];

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self { ratio: params.text("weight") == "ratio", sums: Vec::new() })
    }
}

impl Score for Sagc {
    fn bytes(&self, shape: &Geometry) -> u64 {
        bytes_of::<u64>(shape.blocks() as usize)
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.sums = vec![0; blocks.len() as usize];
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, _: u64, now: u64) -> Course {
        let valid = u64::from(blocks.valid(block));
        let invalid = u64::from(blocks.pages_per_block()) - valid;
        if invalid == 0 {
            return Course::constant(0.0);
        }
        // A sum has at most one time for each invalid page, and no time is later than now. So the
        // subtraction does not underflow.
        let total = (invalid * now - self.sums[block as usize]) as f64;
        let (gain, cost) = if self.ratio { (invalid, 2 * valid) } else { (1, 1) };
        Course::total(total, invalid as f64, gain as f64, cost as f64)
    }

    #[inline(always)]
    fn lost(&mut self, _: &BlockTable, block: BlockId, _: u32, time: u64) {
        self.sums[block as usize] += time;
    }

    #[inline(always)]
    fn fetch(&self, block: usize) {
        prefetch(&self.sums, block);
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        self.sums[block as usize] = 0;
    }
}
