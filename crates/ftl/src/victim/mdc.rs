//! Minimum declining cost: the block for which waiting promises least.
//!
//! A block that will soon lose more pages is left alone, because its collection gets cheaper. The
//! policy estimates the write rate of a page from the time of its last write but one, up2: two
//! writes in (now - up2). A block has the mean up2 of the pages that were programmed on it. New
//! data of the host get the middle between now and the up2 of the block that held the page: the
//! last write becomes the last but one, and is assumed to lie in the middle. A copy keeps the up2
//! of the block from which it comes. Pages that were never written, and first contents, have an up2
//! of 0. Halves and means are rounded down. E is the share of pages that are not valid. A block
//! with no valid page comes first and a full block last. Equal scores: fewer erases, then closed
//! earlier, then the lower block number.
//!
//! Formula: `argmax E^2 (now - up2) / (1 - E)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores
//! each. A write: two blocks' means, one lookup and one or two scores. Exact. 34 bytes a block.
//!
//! # Source
//! Lomet and Luo, ICDE 2021, section 5.1.3: the cost per gained page is 2/E, and it falls at the
//! rate at which the valid pages are written. There the writes in a buffer are sorted by up2 before
//! they go to blocks; here they are not.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{Course, Score};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::{bytes_of, prefetch};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Mdc {
    #[snapshot(table)]
    blocks: Vec<Up2>,
    /// The mean up2 of the pages that were on each block before its last collection.
    #[snapshot(table)]
    left: Vec<u64>,
}

/// The times up2 of the pages programmed on a block since its last erase.
#[derive(Clone, Copy, Default, Value)]
struct Up2 {
    sum: u64,
    count: u64,
}

impl Up2 {
    fn mean(self) -> u64 {
        self.sum / self.count.max(1)
    }
}

impl Scored for Mdc {
    const NAME: &'static str = "mdc";
    const PARAMS: &'static [Param] = &[];

    fn new(_: &Params) -> Result<Self, SpecError> {
        Ok(Self { blocks: Vec::new(), left: Vec::new() })
    }
}

impl Mdc {
    /// The score of `block` with `valid` valid pages.
    #[inline(always)]
    fn with_valid(&self, blocks: &BlockTable, block: BlockId, valid: u32, now: u64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(valid));
        let age = now.saturating_sub(self.blocks[block as usize].mean()) as f64;
        Course::linear((b - valid) * (b - valid), age, b * valid)
    }
}

impl Score for Mdc {
    const FOLLOWS_ORIGINS: bool = true;

    fn bytes(&self, shape: &Geometry) -> u64 {
        let blocks = shape.blocks() as usize;
        bytes_of::<Up2>(blocks) + bytes_of::<u64>(blocks)
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.blocks = vec![Up2::default(); blocks.len() as usize];
        self.left = vec![0; blocks.len() as usize];
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
        prefetch(&self.blocks, block);
    }

    fn heritage(&self, block: BlockId, copied: bool, time: u64) -> u64 {
        let own = self.blocks[block as usize];
        let was_taken = copied || own.count == 0;
        let up2 = if was_taken { self.left[block as usize] } else { own.mean() };
        time.saturating_sub(up2)
    }

    fn inherited(&mut self, block: BlockId, heritage: Option<u64>, copied: bool, time: u64) {
        let since = heritage.unwrap_or(time);
        let up2 = time.saturating_sub(if copied { since } else { since / 2 });
        let own = &mut self.blocks[block as usize];
        own.sum += up2;
        own.count += 1;
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        self.folded(block);
    }

    fn folded(&mut self, block: BlockId) {
        let own = std::mem::take(&mut self.blocks[block as usize]);
        self.left[block as usize] = own.mean();
    }
}
