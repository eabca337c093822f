//! The block with the fewest valid pages, the lowest number among equals.
//!
//! Optimal for uniform random writes with one frontier; not for hot and cold data with two.
//!
//! Formula: `argmin (v, id)`.
//!
//! # Cost
//! A collection: log32(N) vector comparisons. A write: one comparison with a node of a tournament
//! tree, amortised O(1). 2 bytes per 31 blocks.
//!
//! # Source
//! Bux and Iliadis, Performance Evaluation 2010; Van Houdt, ValueTools 2013, section 2.2; the
//! lowest number wins as in the simulator of Van Houdt's group.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::rng::Stream;
use crate::spec::{Param, Params, SpecError};
use crate::track::MinCount;

/// See the module's text.
pub struct Greedy;

impl VictimPolicy for Greedy {
    type Tracker = MinCount;
    const NAME: &'static str = "greedy";
    const PARAMS: &'static [Param] = &[];

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn tracker(&self, blocks: &BlockTable) -> MinCount {
        MinCount::new(blocks)
    }

    fn pick(&mut self, blocks: &BlockTable, least: &MinCount, _: &mut Stream) -> Option<BlockId> {
        least.first_minimum(blocks)
    }
}
