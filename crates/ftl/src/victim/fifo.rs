//! The block that was closed first.
//!
//! Blocks are collected in the order in which they were filled, whatever they hold. The order is
//! cyclic, as in a log that is cleaned from its tail. Desnoyers calls this policy LRU. It may pick
//! a block whose pages are all valid. Such a collection frees nothing and is counted.
//!
//! Formula: `argmin t_closed`. For uniform writes WA = a/(a + W0(-a e^-a)) with a = 1/(1 - S_f).
//!
//! # Cost
//! A collection: O(1). A write: nothing. 8 bytes a block.
//!
//! # Source
//! Menon, HPDC 1995; Robinson 1996; Desnoyers, SYSTOR 2012; Van Houdt, ValueTools 2013, 2.2.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::CloseOrder;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct Fifo;

impl VictimPolicy for Fifo {
    type Tracker = CloseOrder;
    const NAME: &'static str = "fifo";
    const PARAMS: &'static [Param] = &[];
    const DRAWS: bool = false;

    fn new(_: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn tracker(&self, blocks: &BlockTable) -> CloseOrder {
        CloseOrder::new(blocks)
    }

    fn pick(&mut self, _: &BlockTable, closed: &CloseOrder, _: &mut Stream) -> Option<BlockId> {
        closed.oldest()
    }
}
