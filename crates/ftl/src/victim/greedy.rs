//! The block with the fewest valid pages.
//!
//! Optimal for uniform random writes with one frontier; not for hot and cold data with two. Which of several equals is taken
//! changes nothing for uniform writes but up to 16% for hot and cold data: see `ties`. Taking the
//! one that lost a page last is the worst of the rules and what bucket lists do; the oldest is
//! the best.
//!
//! Formula: `argmin v`.
//!
//! # Cost
//! A collection: log16(N) nodes of a tournament tree. A write: one store and one comparison, amortised
//! O(1). 4.6 bytes a block.
//!
//! # Source
//! Bux and Iliadis, Performance Evaluation 2010; Van Houdt, ValueTools 2013, section 2.2.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{Least, Ties};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::state;

/// See the module's text.
pub struct Greedy {
    ties: Ties,
}

impl State for Greedy {
    state! { fixed: ties; }
}

impl VictimPolicy for Greedy {
    type Tracker = Least;
    const NAME: &'static str = "greedy";
    const PARAMS: &'static [Param] = &[Ties::PARAM];

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { ties: Ties::named(params.text("ties")) })
    }

    fn bytes(&self, shape: &Geometry) -> u64 {
        <Least>::bytes(shape)
    }

    fn tracker(&self, blocks: &BlockTable) -> Least {
        Least::new(blocks, self.ties)
    }

    fn pick(&mut self, blocks: &BlockTable, least: &Least, _: &mut Stream) -> Option<BlockId> {
        least.first(blocks)
    }
}
