//! Greedy that avoids blocks with zombies, pages that will soon be overwritten.
//!
//! Zombies are valid pages whose new version waits in the host's cache; the host has hinted that it
//! will overwrite them. It is better to leave a block with many zombies alone until these are
//! invalid. The z zombies reduce the score of the i invalid pages by at most half. The victim
//! therefore has at least half as many invalid pages as any other block. Without hints this is
//! greedy. Equal scores: more invalid pages, then `ties`. A block without an invalid page comes
//! last.
//!
//! Formula: `argmax i - min(z, i/2)`, compared as `2i - min(2z, i)`.
//!
//! # Cost
//! That of greedy, and 2 bytes a block for the count of zombies; a mark in the map says which pages
//! they are. If a hint concerns the first of 16 neighbouring blocks: 16 ranks.
//!
//! # Source
//! Lee, Kim, Lee, Maeng, IEEE Trans. on Computers 64(4), 2015, Eq. 2.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::{Least, Rank, Ties};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct ZGreedy {
    #[snapshot(skip)]
    ties: Ties,
}

impl VictimPolicy for ZGreedy {
    type Tracker = Least<Benefit>;
    const NAME: &'static str = "z-greedy";
    const PARAMS: &'static [Param] = &[Ties::PARAM];
    const DRAWS: bool = false;

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { ties: Ties::named(params.text("ties")) })
    }

    fn tracker(&self, blocks: &BlockTable) -> Least<Benefit> {
        Least::new(blocks, self.ties)
    }

    fn pick(
        &mut self,
        blocks: &BlockTable,
        least: &Least<Benefit>,
        _: &mut Stream,
    ) -> Option<BlockId> {
        least.first(blocks)
    }
}

/// Twice the score of a block with `invalid` invalid pages and `zombies` zombies: a whole number
/// that orders blocks as the score does.
#[inline(always)]
pub(super) fn twice_benefit(invalid: u32, zombies: u32) -> u32 {
    2 * invalid - (2 * zombies).min(invalid)
}

/// The rank of a block: the highest score, 2b, less the block's score; among equals, the valid
/// pages.
pub struct Benefit;

impl Rank for Benefit {
    type Key = u128;
    const FOLLOWS_ZOMBIES: bool = true;

    #[inline(always)]
    fn key(b: u32, valid: u32, zombies: u32, tie: u32) -> u128 {
        let short_of_most = 2 * b - twice_benefit(b - valid, zombies);
        let upper = (u64::from(short_of_most) << 32) | u64::from(valid);
        (u128::from(upper) << 32) | u128::from(tie)
    }

    /// A block with v valid pages is short of the highest score by 2v or more.
    #[inline(always)]
    fn most_valid(key: u128) -> u32 {
        (key >> 64) as u32 / 2
    }
}
