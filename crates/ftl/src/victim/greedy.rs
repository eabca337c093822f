//! The block with the fewest valid pages.
//!
//! Optimal for uniform random writes with one write frontier, but not for hot and cold data with
//! two. Several blocks may have the fewest valid pages; `ties` says which of them is taken. On
//! uniform writes the rule makes no difference. On hot and cold data it changes write amplification
//! by up to 16%. The worst rule takes the block that lost a page last, as bucket lists do; the best
//! rule takes the oldest.
//!
//! Formula: `argmin v`.
//!
//! # Cost
//! A collection: log16(N) nodes of a tournament tree. A write: one store and one comparison,
//! amortised O(1). 4.6 bytes a block.
//!
//! # Source
//! Bux and Iliadis, Performance Evaluation 2010; Van Houdt, ValueTools 2013, section 2.2.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::{Least, Ties};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct Greedy {
    #[snapshot(skip)]
    ties: Ties,
}

impl VictimPolicy for Greedy {
    type Tracker = Least;
    const NAME: &'static str = "greedy";
    const PARAMS: &'static [Param] = &[Ties::PARAM];
    const DRAWS: bool = false;

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { ties: Ties::named(params.text("ties")) })
    }

    fn tracker(&self, blocks: &BlockTable) -> Least {
        Least::new(blocks, self.ties)
    }

    fn pick(&mut self, blocks: &BlockTable, least: &Least, _: &mut Stream) -> Option<BlockId> {
        least.first(blocks)
    }

    fn guess(&self, blocks: &BlockTable, least: &Least, _: &Stream) -> Option<BlockId> {
        least.first(blocks)
    }
}
