//! 2R-FIFO: a hand goes over the blocks in closing order and takes the emptier ones.
//!
//! Blocks lie in the order in which they were closed, those of copies too. A hand looks at one
//! after the other and takes each block whose share of valid pages u is below a bound. A block
//! above it keeps its place: it has a second chance. When the hand has passed 70% of the blocks, it
//! goes back to the one closed first, and the bound rises by 0.05. So the blocks that were closed
//! last have time to lose more pages. A search ends when its victims have a block's worth of
//! invalid pages. The next search begins after the last victim with a bound of 0.7; the first
//! search begins with 0.5. The policy is meant for the compact frontier, whose collections are such
//! searches.
//!
//! Formula: the first block after the hand with `u < bound`.
//!
//! # Cost
//! A collection: the hand passes some blocks, and all of them a few times where few are below the
//! bound: a time that grows with the drive. A write: nothing. 8 bytes a block.
//!
//! # Source
//! Haas, Lee, Bonnet, Leis, PVLDB 18(11), 2025 (SSD-iq), its published simulator; after Kang, Lee,
//! Kim and Moon, PVLDB 13(11), 2020.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::SecondChance;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct TwoRFifo;

impl VictimPolicy for TwoRFifo {
    type Tracker = SecondChance;
    const NAME: &'static str = "2r-fifo";
    const PARAMS: &'static [Param] = &[];
    const DRAWS: bool = false;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn tracker(&self, blocks: &BlockTable) -> SecondChance {
        SecondChance::new(blocks)
    }

    fn pick(&mut self, _: &BlockTable, hand: &SecondChance, _: &mut Stream) -> Option<BlockId> {
        hand.first()
    }
}
