//! Cost, age and times: cost-benefit that spares blocks with many erases.
//!
//! The score is that of cost-benefit divided by the block's erase count plus 1. Without the 1,
//! every block of a new drive would cost nothing. As in the BSGC paper, the age is not mapped. It
//! counts page programs since the block was filled or since it last lost a page; with
//! `age=last_collection`, at most from the last collection on. With `weigh=log` the
//! natural logarithm of 1 + age stands for the age: CAT's own paper maps the age through a table of
//! steps and separates hot from cold pages when it copies; this policy does neither.
//! Equal scores: fewer erases, then closed earlier, then the lower block number.
//!
//! Formula: `argmin u/(1-u) * 1/age * (ec + 1)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores each.
//! A write: one lookup and one or two scores. Exact. With `age=last_write` 10 bytes a block,
//! otherwise 18. With `last_collection` the tree is rebuilt at each collection.
//!
//! # Source
//! Chiang and Chang, Journal of Systems and Software 1999, as Kim and Kwak, 2016 (BSGC), state it
//! in section II.2.

use super::{Aged, PageCounts, Scored};
use crate::blocks::{BlockId, BlockTable};
use crate::track::{AgeBasis, Ages, Course};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Cat {
    #[snapshot(skip)]
    log: bool,
    #[snapshot(state)]
    ages: Ages,
}

impl Scored for Cat {
    const NAME: &'static str = "cat";
    const PARAMS: &'static [Param] = &[AgeBasis::PARAM, AgeBasis::WEIGH];

    fn new(params: &Params) -> Result<Self, SpecError> {
        let log = params.text("weigh") == "log";
        Ok(Self { log, ages: Ages::new(AgeBasis::named(params.text("age"))) })
    }
}

impl Aged for Cat {
    #[inline(always)]
    fn ages(&self) -> &Ages {
        &self.ages
    }

    #[inline(always)]
    fn ages_mut(&mut self) -> &mut Ages {
        &mut self.ages
    }

    #[inline(always)]
    fn of_age(&self, blocks: &BlockTable, block: BlockId, counts: PageCounts, age: f64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(counts.valid));
        let wear = f64::from(blocks.erase_count(block)) + 1.0;
        let (gain, cost) = (b - valid, valid * wear);
        match self.log {
            true => Course::logarithmic(gain, age, cost),
            false => Course::linear(gain, age, cost),
        }
    }
}
