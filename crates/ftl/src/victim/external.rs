//! A policy from outside this crate: any function from the block table to a block number. The
//! Python interface uses it; it is not in the registry, because it has no name.

use std::sync::Arc;

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::error::FtlError;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::spec::{Param, Params, SpecError};

/// Picks a candidate from the block table; `None` stops the drive with "no reclaimable space".
pub type ExternalPick = Box<dyn FnMut(&BlockTable, &mut Stream) -> Option<BlockId> + Send>;

/// Makes the function of one plane from its block table. The table stays at its place as long as
/// the plane lives. A function that [lends](BlockTable::lend) it may read it even longer.
pub type MakePick = Arc<dyn Fn(&mut BlockTable) -> Result<ExternalPick, FtlError> + Send + Sync>;

/// The victim policy that the header of this file describes.
pub struct External(ExternalPick);

impl External {
    /// The policy that asks `pick`.
    pub fn from_pick(pick: ExternalPick) -> Self {
        Self(pick)
    }
}

impl State for External {
    fn save(&self, to: &mut Writer<'_>) {
        to.refuse(Fault::new(
            "a victim policy of your own keeps what it knows to itself, and cannot be saved",
        ));
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Err(Fault::new("a victim policy of your own cannot be restored"))
    }
}

impl VictimPolicy for External {
    type Tracker = ();
    const NAME: &'static str = "external";
    const PARAMS: &'static [Param] = &[];
    /// Nobody knows what a function from outside does, so this policy counts as one that draws.
    const DRAWS: bool = true;
    /// A function from outside may look at the history, too.
    const ASKS_FOR_HISTORY: bool = true;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Err(SpecError::new("an external policy is made from a function, not from a name", ""))
    }

    fn tracker(&self, _: &BlockTable) {}

    fn pick(&mut self, blocks: &BlockTable, (): &(), rng: &mut Stream) -> Option<BlockId> {
        (self.0)(blocks, rng)
    }
}
