//! Policies that take the candidate with the best score, where scores grow with time.

use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, SpecError};

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::remembers::Remembers;
use crate::track::{Ages, Course, Kinetic, Score, Shift, Tracker};
use flashgc_base::snapshot::State;

/// A policy that is only a score: the block with the largest score is picked.
pub trait Scored: Score + Clone + 'static {
    /// The name people type.
    const NAME: &'static str;

    /// The parameters that the policy takes.
    const PARAMS: &'static [Param];

    /// The past on which the score depends, beside the pages of a block and their age.
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
        Self::Tracker::bytes(shape) + Score::bytes(self, shape)
    }

    fn tracker(&self, blocks: &BlockTable) -> Kinetic<S> {
        Kinetic::new(blocks, self.clone())
    }

    fn pick(&mut self, _: &BlockTable, best: &Kinetic<S>, _: &mut Stream) -> Option<BlockId> {
        best.first()
    }

    fn guess(&self, _: &BlockTable, best: &Kinetic<S>, _: &Stream) -> Option<BlockId> {
        best.first()
    }
}

/// The pages of a block on which its score depends.
#[derive(Clone, Copy, Debug)]
pub struct PageCounts {
    pub(super) valid: u32,
    pub(super) zombies: u32,
}

/// A score that depends only on a block's age and its present counts.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Aged: State + Send {
    /// `true` if the score depends on zombies, as [`Score::FOLLOWS_ZOMBIES`] says.
    const HAS_ZOMBIES: bool = false;

    /// Returns the ages of the blocks.
    fn ages(&self) -> &Ages;

    /// Returns the ages, to be kept up to date.
    fn ages_mut(&mut self) -> &mut Ages;

    /// Returns the score of a candidate of this age with `valid` valid pages and `zombies` zombies,
    /// as [`Score::course`] does.
    fn of_age(&self, blocks: &BlockTable, block: BlockId, counts: PageCounts, age: f64) -> Course;

    /// Returns the order of equal scores, as [`Score::tie`] does.
    #[inline(always)]
    fn order(&self, blocks: &BlockTable, block: BlockId) -> u32 {
        0
    }
}

impl<A: Aged> Score for A {
    const FOLLOWS_ZOMBIES: bool = A::HAS_ZOMBIES;

    fn bytes(&self, shape: &Geometry) -> u64 {
        self.ages().bytes(shape.blocks())
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.ages_mut().start(blocks.len());
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, closed: u64, now: u64) -> Course {
        let (valid, zombies) = (blocks.valid(block), blocks.zombies(block));
        let age = self.ages().at(block, closed, now);
        self.of_age(blocks, block, PageCounts { valid, zombies }, age)
    }

    const IS_BOUNDED: bool = true;

    fn most(
        &self,
        blocks: &BlockTable,
        block: BlockId,
        valid: u32,
        closed: u64,
        until: u64,
    ) -> f64 {
        // Pages that die make a block younger, if anything. Zombies lower a score.
        let age = self.ages().at(block, closed, until);
        self.of_age(blocks, block, PageCounts { valid, zombies: 0 }, age).value
    }

    #[inline(always)]
    fn tie(&self, blocks: &BlockTable, block: BlockId) -> u32 {
        self.order(blocks, block)
    }

    #[inline(always)]
    fn lost(&mut self, _: &BlockTable, block: BlockId, _: u32, time: u64) {
        self.ages_mut().lost(block, time);
    }

    #[inline(always)]
    fn falls(&self) -> bool {
        self.ages().restart()
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        if blocks.is_programmed(block) {
            self.ages_mut().collected(blocks.clock());
        }
    }

    fn settle(&mut self, _: &BlockTable) -> Shift {
        if self.ages_mut().settle() { Shift::Down } else { Shift::None }
    }
}
