//! Greedy with a bounded preference for blocks that were erased less often.
//!
//! The index is a weighted mean of the block's valid ratio and of its wear relative to the most
//! worn block. With `lambda=0` this is greedy. The preference is bounded: an unworn block is taken
//! before the most worn one only if it has at most `b lambda/(1-lambda)` more valid pages, which is
//! 11% of a block at the default. Blocks without an invalid page come last. In Kim and Lee lambda
//! grows with the spread of the erase counts; here it is fixed. Equal indexes: fewer erases, then
//! closed earlier, then the lower block number.
//!
//! Formula: `argmin (1-lambda) u + lambda ec/(1 + max_ec)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a tournament tree, some of them rebuilt, 16 scores each. When
//! max_ec rises, the tree is rebuilt: with even wear once in N erases, with uneven wear more often
//! by the ratio of the most worn block to the mean. A write: one lookup and one or two scores.
//! Exact. 10 bytes a block.
//!
//! # Source
//! After the cleaning index of Kim and Lee, IEICE Trans. on Information and Systems E85-D(6), 2002.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::remembers::Remembers;
use crate::track::{Course, Score, Shift};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct WearAware {
    #[snapshot(skip)]
    lambda: f64,
    /// The most erases of any block as of the last pick. `next_most` counts later erases, too.
    most_erases: u32,
    next_most: u32,
}

impl Scored for WearAware {
    const NAME: &'static str = "wear-aware";
    const PARAMS: &'static [Param] = &[Param::share("lambda", Some("0.1"))
        .help("weight of the wear, from 0 to 1; the valid pages have the rest")];

    // Wear becomes even only after many erases of every block, and scores depend on it from the
    // first erase on.
    const REMEMBERS: Remembers = Remembers::rewrites(16);

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self { lambda: params.real("lambda"), most_erases: 0, next_most: 0 })
    }
}

impl WearAware {
    /// The score of `block` with `valid` valid pages.
    #[inline(always)]
    fn with_valid(&self, blocks: &BlockTable, block: BlockId, valid: u32) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(valid));
        if valid == b {
            return Course::constant(0.0);
        }
        let wear = f64::from(blocks.erase_count(block)) / (1.0 + f64::from(self.most_erases));
        // The score is 1 minus the index, which is below 1 here because the wear never reaches 1.
        Course::constant(1.0 - ((1.0 - self.lambda) * (valid / b) + self.lambda * wear))
    }
}

impl Score for WearAware {
    fn start(&mut self, blocks: &BlockTable) {
        self.most_erases = blocks.erase_counts().iter().copied().max().unwrap_or_default();
        self.next_most = self.most_erases;
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, _: u64, _: u64) -> Course {
        self.with_valid(blocks, block, blocks.valid(block))
    }

    const IS_BOUNDED: bool = true;

    fn most(&self, blocks: &BlockTable, block: BlockId, valid: u32, _: u64, _: u64) -> f64 {
        self.with_valid(blocks, block, valid).value
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        let erases = blocks.erase_count(block) + u32::from(blocks.is_programmed(block));
        self.next_most = self.next_most.max(erases);
    }

    fn settle(&mut self, _: &BlockTable) -> Shift {
        match std::mem::replace(&mut self.most_erases, self.next_most) == self.next_most {
            true => Shift::None,
            false => Shift::Any,
        }
    }
}
