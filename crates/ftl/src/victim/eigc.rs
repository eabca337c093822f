//! Erase-interval based garbage collection: cost-benefit with the age since the last erase.
//!
//! Among equally full blocks it prefers three kinds: blocks erased long ago, blocks that were
//! fuller at their last collection (a sign of cold data), and blocks with fewer erases. The time
//! counts page programs since the block's last erase, or since the start if it was never erased. It
//! is at least 1. c_iu is the valid ratio at the block's last collection (`ratio=last`) or the mean
//! of that and the former c_iu (`ratio=average`). It is 0 before the first collection. 1 - c_iu is
//! at least 1/b. The formula uses the erase count plus 1: without the 1, every block of a new drive
//! would cost nothing. Equal scores: fewer erases, then closed earlier, then the lower block
//! number.
//!
//! Formula: `argmin u/(1-u) * (1 - c_iu)/time * (ec + 1)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores
//! each. A write: one lookup and one or two scores. Exact. 26 bytes a block.
//!
//! # Source
//! Kim and Kwak, Int. J. of Applied Engineering Research 11(7), 2016, as their BSGC paper, 2016,
//! states it in section II.2. The paper does not say over how many intervals c_iu is averaged.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::remembers::Remembers;
use crate::track::{Course, Score};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::{bytes_of, prefetch};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Eigc {
    #[snapshot(skip)]
    average: bool,
    /// For each block, the clock at its last erase, and c_iu in pages.
    #[snapshot(table)]
    erased: Vec<(u64, f64)>,
}

impl Scored for Eigc {
    const NAME: &'static str = "eigc";
    const PARAMS: &'static [Param] = &[Param::word("ratio", &["last", "average"], Some("last"))
        .help("c_iu: the valid ratio at the last erase, or the mean of it and the former c_iu")];

    // Wear becomes even only after many erases of every block, and scores depend on it from the
    // first erase on.
    const REMEMBERS: Remembers = Remembers::rewrites(16);

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self { average: params.text("ratio") == "average", erased: Vec::new() })
    }
}

impl Eigc {
    /// The score of `block` with `valid` valid pages.
    #[inline(always)]
    fn with_valid(&self, blocks: &BlockTable, block: BlockId, valid: u32, now: u64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(valid));
        let (since, kept) = self.erased[block as usize];
        let wear = f64::from(blocks.erase_count(block)) + 1.0;
        let cost = valid * (b - kept).max(1.0) * wear;
        Course::linear((b - valid) * b, (now - since) as f64, cost)
    }
}

impl Score for Eigc {
    fn bytes(&self, shape: &Geometry) -> u64 {
        bytes_of::<(u64, f64)>(shape.blocks() as usize)
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.erased = vec![(0, 0.0); blocks.len() as usize];
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, _: u64, now: u64) -> Course {
        self.with_valid(blocks, block, blocks.valid(block), now)
    }

    const IS_BOUNDED: bool = true;

    fn most(&self, blocks: &BlockTable, block: BlockId, valid: u32, _: u64, until: u64) -> f64 {
        self.with_valid(blocks, block, valid, until).value
    }

    #[inline(always)]
    fn fetch(&self, block: usize) {
        prefetch(&self.erased, block);
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        if blocks.is_programmed(block) {
            let valid = f64::from(blocks.valid(block));
            let (since, former) = &mut self.erased[block as usize];
            *former = if self.average { 0.5 * (valid + *former) } else { valid };
            *since = blocks.clock();
        }
    }
}
