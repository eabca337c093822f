//! Policies that take the candidate with the best score, where scores grow with time.

use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, SpecError};

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::remembers::Remembers;
use crate::track::{Kinetic, Score};

/// A policy that is a score and nothing else: the largest is picked.
pub trait Scored: Score + Clone + 'static {
    /// The name people type.
    const NAME: &'static str;

    /// The parameters it takes.
    const PARAMS: &'static [Param];

    /// The past that it depends on, beside the pages of a block and their age.
    const REMEMBERS: Remembers = Remembers::rewrites(0);

    /// The score with these parameters.
    fn new(params: &Params) -> Result<Self, SpecError>;
}

impl<S: Scored> VictimPolicy for S {
    type Tracker = Kinetic<S>;
    const NAME: &'static str = <S as Scored>::NAME;
    const PARAMS: &'static [Param] = <S as Scored>::PARAMS;
    const DRAWS: bool = false;
    const REMEMBERS: Remembers = <S as Scored>::REMEMBERS;

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        <S as Scored>::new(params)
    }

    fn bytes(&self, shape: &Geometry) -> u64 {
        Kinetic::bytes(self, shape)
    }

    fn tracker(&self, blocks: &BlockTable) -> Kinetic<S> {
        Kinetic::new(blocks, self.clone())
    }

    fn pick(&mut self, _: &BlockTable, best: &Kinetic<S>, _: &mut Stream) -> Option<BlockId> {
        best.first()
    }
}
