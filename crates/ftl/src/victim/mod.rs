//! Victim selection: which block the garbage collector empties next. One policy a file; this file
//! is the interface. The list of policies is in [`victims`](crate::victims).

pub mod bsgc;
#[cfg(test)]
#[path = "../../tests/victims_by_hand.rs"]
mod by_hand;
mod by_placement;
pub mod cat;
pub mod cost_benefit;
pub mod d_choices;
pub mod eigc;
mod external;
pub mod fifo;
pub mod greedy;
pub mod mdc;
pub mod random;
pub mod sagc;
pub mod scata;
mod scored;
pub mod two_r_fifo;
pub mod two_r_greedy;
pub mod wear_aware;
pub mod windowed;
pub mod z_cost_benefit;
pub mod z_greedy;

pub use by_placement::ByPlacement;
pub use external::{External, ExternalPick, MakePick};
pub use scored::{Aged, PageCounts, Scored};

use flashgc_base::snapshot::State;

use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::remembers::Remembers;
use crate::track::Tracker;
use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, SpecError};

/// A rule that picks the block to collect.
///
/// A policy reads the block table and its tracker and returns one candidate; the engine does the
/// rest. A policy keeps no state about blocks that the engine could keep for it.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait VictimPolicy: State + Send + Sized + 'static {
    /// The tracker that the engine keeps up to date for this policy; `()` for none.
    type Tracker: Tracker;

    /// The name people type.
    const NAME: &'static str;

    /// The parameters that the policy takes.
    const PARAMS: &'static [Param];

    /// `true` if the policy draws random numbers. If not, its decisions are the same for every
    /// seed.
    const DRAWS: bool;

    /// The past on which the policy's decisions depend, beside the pages of a block and their age.
    const REMEMBERS: Remembers = Remembers::rewrites(0);

    /// `true` if the policy asks for the history of blocks: [`BlockTable::classes`] and the methods
    /// after it. The history is kept only then.
    const ASKS_FOR_HISTORY: bool = false;

    /// `true` if the placement picks in place of the policy.
    const BY_PLACEMENT: bool = false;

    /// Makes the policy with these parameters for a drive with the block table `blocks`. It may
    /// read only the shape from the table.
    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError>;

    /// Bytes that the policy and its tracker keep on a drive of this shape.
    fn bytes(&self, shape: &Geometry) -> u64 {
        Self::Tracker::bytes(shape)
    }

    /// The tracker, before any block is a candidate.
    fn tracker(&self, blocks: &BlockTable) -> Self::Tracker;

    /// A candidate, or `None` if there is none. All of its randomness comes from `rng`.
    fn pick(
        &mut self,
        blocks: &BlockTable,
        tracker: &Self::Tracker,
        rng: &mut Stream,
    ) -> Option<BlockId>;

    /// A guess at the next pick, from what is known now. Its data are fetched ahead, so a wrong
    /// guess costs only time. `None` if a guess would take long.
    fn guess(&self, blocks: &BlockTable, tracker: &Self::Tracker, rng: &Stream) -> Option<BlockId> {
        None
    }
}

/// Draws a candidate at random, each as likely as the others. Draws blocks until one is a
/// candidate. `None` if there is no candidate.
#[inline]
pub fn draw(blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
    // In practice nearly all blocks are candidates. The scan below is for drives with very few of
    // them, where a draw may fail a thousand times.
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
