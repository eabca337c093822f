//! Cost-benefit that avoids blocks with zombies, pages that will soon be overwritten.
//!
//! Zombies are valid pages whose new version waits in the host's cache. The score is that of
//! `cost-benefit` in Kawaguchi's form with the benefit of `z-greedy`: the z zombies reduce the
//! benefit of the i invalid pages by at most half. The age counts page programs (host writes and
//! copies) since the block was filled or, with `age=last_invalidate`, since it last lost a page. It
//! is at least 1. A block with no valid page comes first and a full block last. Equal scores: more
//! invalid pages, then fewer erases, then closed earlier, then the lower block number.
//!
//! Formula: `argmax age (i - min(z, i/2))/(2v)`, the numerator as `2i - min(2z, i)`.
//!
//! # Cost
//! That of cost-benefit, and 2 bytes a block for the count of zombies; a mark in the map says which
//! pages they are. If a hint concerns the best of 16 neighbouring blocks, the nodes above that
//! block are rebuilt at the next pick.
//!
//! # Source
//! Lee, Kim, Lee, Maeng, IEEE Trans. on Computers 64(4), 2015, Eq. 3.

use super::Scored;
use super::z_greedy::twice_benefit;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{AgeBasis, Ages, Course, Score};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// See the module's text.
#[derive(Clone, State)]
pub struct ZCostBenefit {
    #[snapshot(state)]
    ages: Ages,
}

impl Scored for ZCostBenefit {
    const NAME: &'static str = "z-cost-benefit";
    const PARAMS: &'static [Param] = &[AgeBasis::PARAM];

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self { ages: Ages::new(AgeBasis::named(params.text("age"))) })
    }
}

impl Score for ZCostBenefit {
    const FOLLOWS_ZOMBIES: bool = true;

    fn bytes(&self, shape: &Geometry) -> u64 {
        self.ages.bytes(shape.blocks())
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.ages.start(blocks.len());
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, closed: u64, now: u64) -> Course {
        let valid = u32::from(blocks.valid(block));
        let invalid = blocks.pages_per_block() - valid;
        let benefit = twice_benefit(invalid, blocks.zombies(block).into());
        let age = self.ages.at(block, closed, now);
        Course::linear(f64::from(benefit), age, f64::from(4 * valid))
    }

    #[inline(always)]
    fn tie(&self, blocks: &BlockTable, block: BlockId) -> u16 {
        blocks.valid(block)
    }

    #[inline(always)]
    fn lost(&mut self, _: &BlockTable, block: BlockId, _: u32, time: u64) {
        self.ages.lost(block, time);
    }

    #[inline(always)]
    fn falls(&self) -> bool {
        self.ages.restart()
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        if blocks.is_programmed(block) {
            self.ages.collected(blocks.clock());
        }
    }

    fn settle(&mut self, _: &BlockTable) -> bool {
        self.ages.settle()
    }
}
