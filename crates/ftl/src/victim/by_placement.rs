//! Victims that the placement picks: it knows what is on the blocks of its classes. Not in the
//! registry, because it has no name of its own.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes. Its state is that of the placement.
#[derive(State)]
pub struct ByPlacement;

impl VictimPolicy for ByPlacement {
    type Tracker = ();
    const NAME: &'static str = "by-placement";
    const PARAMS: &'static [Param] = &[];
    /// The picks of a placement may be random, so this policy counts as one that draws.
    const DRAWS: bool = true;
    const ASKS_FOR_HISTORY: bool = true;
    const BY_PLACEMENT: bool = true;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn tracker(&self, _: &BlockTable) {}

    /// The store asks the placement instead.
    fn pick(&mut self, _: &BlockTable, (): &(), _: &mut Stream) -> Option<BlockId> {
        None
    }
}
