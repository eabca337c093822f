//! A block drawn at random.
//!
//! Every candidate is equally likely. It may pick a block whose pages are all valid. Such a
//! collection frees nothing and is counted. The same as `d-choices:d=1`.
//!
//! Formula: for uniform writes WA = 1/S_f, for any b.
//!
//! # Cost
//! A collection: one random number. A write: nothing.
//!
//! # Source
//! Van Houdt, SIGMETRICS 2013; Van Houdt, ValueTools 2013, section 2.2 with d = 1.

use super::{VictimPolicy, draw};
use crate::blocks::{BlockId, BlockTable};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct Random;

impl VictimPolicy for Random {
    type Tracker = ();
    const NAME: &'static str = "random";
    const PARAMS: &'static [Param] = &[];
    const DRAWS: bool = true;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn tracker(&self, _: &BlockTable) {}

    fn pick(&mut self, blocks: &BlockTable, (): &(), rng: &mut Stream) -> Option<BlockId> {
        draw(blocks, rng)
    }
}
