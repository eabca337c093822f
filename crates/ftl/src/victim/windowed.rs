//! The block with the fewest valid pages among the w that were closed first.
//!
//! The policy lies between FIFO (w = 1) and greedy with `ties=oldest` (w = N). Real controllers
//! search such a window of their log. The victim leaves the window, and the next block in closing
//! order enters. Among equal blocks the one closed first is taken.
//!
//! Formula: `argmin v` over the w blocks of smallest `t_closed`.
//!
//! # Cost
//! A collection: log16(N) nodes of a tournament tree. A write: one lookup and one comparison,
//! amortised O(1). 12.6 bytes a block.
//!
//! # Source
//! Hu, Eleftheriou, Haas, Iliadis, Pletka, SYSTOR 2009; Van Houdt, ValueTools 2013, section 2.2.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::Window;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct Windowed {
    #[snapshot(skip)]
    size: u32,
}

impl VictimPolicy for Windowed {
    type Tracker = Window;
    const NAME: &'static str = "windowed";
    const PARAMS: &'static [Param] = &[Param::integer("w", (1, u32::MAX as u64), Some("500"))
        .help("blocks in the window: those closed longest ago")];
    const DRAWS: bool = false;

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { size: params.integer("w") as u32 })
    }

    fn tracker(&self, blocks: &BlockTable) -> Window {
        Window::new(self.size, blocks)
    }

    fn pick(&mut self, blocks: &BlockTable, window: &Window, _: &mut Stream) -> Option<BlockId> {
        window.first(blocks)
    }
}
