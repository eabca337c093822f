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

use super::z_greedy::twice_benefit;
use super::{Aged, PageCounts, Scored};
use crate::blocks::{BlockId, BlockTable};
use crate::track::{AgeBasis, Ages, Course};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
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

impl Aged for ZCostBenefit {
    const HAS_ZOMBIES: bool = true;

    #[inline(always)]
    fn ages(&self) -> &Ages {
        &self.ages
    }

    #[inline(always)]
    fn ages_mut(&mut self) -> &mut Ages {
        &mut self.ages
    }

    #[inline(always)]
    fn of_age(&self, blocks: &BlockTable, _: BlockId, counts: PageCounts, age: f64) -> Course {
        let valid = counts.valid;
        let invalid = blocks.pages_per_block() - valid;
        let benefit = twice_benefit(invalid, counts.zombies);
        Course::linear(f64::from(benefit), age, f64::from(4 * valid))
    }

    #[inline(always)]
    fn order(&self, blocks: &BlockTable, block: BlockId) -> u32 {
        blocks.valid(block)
    }
}
