//! Victim selection: which block the garbage collector empties next. One policy a file; this file
//! is the interface. The registry is in [`victims`](crate::victims).

mod bsgc;
#[cfg(test)]
mod by_hand;
mod cat;
mod cost_benefit;
mod d_choices;
mod eigc;
mod external;
mod fifo;
mod greedy;
mod random;
mod sagc;
mod scata;
mod wear_aware;
mod windowed;
mod z_cost_benefit;
mod z_greedy;

pub use bsgc::Bsgc;
pub use cat::Cat;
pub use cost_benefit::CostBenefit;
pub use d_choices::DChoices;
pub use eigc::Eigc;
pub use external::{External, ExternalPick, MakePick};
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use random::Random;
pub use sagc::Sagc;
pub use scata::Scata;
pub use wear_aware::WearAware;
pub use windowed::Windowed;
pub use z_cost_benefit::ZCostBenefit;
pub use z_greedy::ZGreedy;

use flashgc_base::snapshot::State;

use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::Tracker;
use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, SpecError};

/// A rule that picks the block to collect.
///
/// A policy reads the block table and its tracker and returns one candidate; the engine does the
/// rest. It keeps no state about blocks of its own that the engine could keep for it.
pub trait VictimPolicy: State + Send + Sized + 'static {
    /// What the engine keeps up to date for this policy; `()` for nothing.
    type Tracker: Tracker;

    /// The name people type.
    const NAME: &'static str;

    /// The parameters it takes.
    const PARAMS: &'static [Param];

    /// The policy with these parameters on a drive of `blocks`, of which it may ask the shape.
    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError>;

    /// Bytes that the policy and its tracker keep on a drive of this shape.
    fn bytes(&self, shape: &Geometry) -> u64;

    /// The tracker, before any block is a candidate.
    fn tracker(&self, blocks: &BlockTable) -> Self::Tracker;

    /// A candidate, or `None` if there is none. All of its randomness comes from `rng`.
    fn pick(
        &mut self,
        blocks: &BlockTable,
        tracker: &Self::Tracker,
        rng: &mut Stream,
    ) -> Option<BlockId>;
}

/// A uniform draw among the candidates, with replacement: redraws while it hits a block that is
/// not one. `None` if there is no candidate.
#[inline]
pub fn draw(blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
    // Candidates are nearly all blocks in practice; the scan only ends a run of bad luck on a
    // drive with next to none.
    for _ in 0..1000 {
        let block = rng.below(blocks.len());
        if blocks.is_candidate(block) {
            return Some(block);
        }
    }
    let candidates = || (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
    let nth = rng.below(blocks.candidates().max(1));
    candidates().nth(nth as usize)
}
