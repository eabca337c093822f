//! The block with the best ratio of benefit (free space times age) to cost (copies).
//!
//! A young block with few valid pages will soon have fewer, so it is left alone. An old block loses
//! few further pages, so it is taken even with more valid pages. `kawaguchi` charges the reads and
//! programs of the valid pages. `lfs` charges the read of the whole segment. `sqrt` is the formula
//! in the SepBIT simulator. The age counts page programs (host writes and copies) since the block
//! was filled or, with `age=last_invalidate`, since it last lost a page. With `age=last_collection`
//! it counts like `last_invalidate`, but at most from the last collection on. It is at least 1. A
//! block with no valid page comes first and a full block last; with `lfs` an empty block scores its
//! age. With `weigh=log` the natural logarithm of 1 + age stands for the age. Equal scores: fewer
//! erases, then closed earlier, then the lower block number.
//!
//! Formula: `argmax age (1-u)/(2u)`; `lfs`: `(1-u) age/(1+u)`; `sqrt`: `(1-u)/u sqrt(age)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores each.
//! A write: one lookup and one or two scores. Exact. With `age=last_write` 10 bytes a block,
//! otherwise 18. With `last_collection` the tree is rebuilt at each collection.
//!
//! # Source
//! Kawaguchi, Nishioka, Motoda, USENIX 1995; Rosenblum and Ousterhout, SOSP 1991 (`lfs`); Wang et
//! al., FAST 2022, its code (`sqrt`); Kim and Kwak, 2016 (BSGC), section II.2 (`last_invalidate`)
//! and II.3 (`last_collection`). Papers that call the age "logarithmic" or map it through steps of
//! powers of two are the reason for `weigh=log`.

use super::{Aged, PageCounts, Scored};
use crate::blocks::{BlockId, BlockTable};
use crate::track::{AgeBasis, Ages, Course};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct CostBenefit {
    #[snapshot(skip)]
    form: Form,
    #[snapshot(skip)]
    log: bool,
    #[snapshot(state)]
    ages: Ages,
}

#[derive(Clone, Copy)]
enum Form {
    Kawaguchi,
    Lfs,
    Sqrt,
}

impl Scored for CostBenefit {
    const NAME: &'static str = "cost-benefit";
    const PARAMS: &'static [Param] = &[
        Param::word("form", &["kawaguchi", "lfs", "sqrt"], Some("kawaguchi"))
            .help("formula: age (1-u)/(2u), (1-u) age/(1+u) or (1-u)/u sqrt(age)"),
        AgeBasis::PARAM,
        AgeBasis::WEIGH,
    ];

    fn new(params: &Params) -> Result<Self, SpecError> {
        let form = match params.text("form") {
            "lfs" => Form::Lfs,
            "sqrt" => Form::Sqrt,
            _ => Form::Kawaguchi,
        };
        let log = params.text("weigh") == "log";
        Ok(Self { form, log, ages: Ages::new(AgeBasis::named(params.text("age"))) })
    }
}

impl Aged for CostBenefit {
    #[inline(always)]
    fn ages(&self) -> &Ages {
        &self.ages
    }

    #[inline(always)]
    fn ages_mut(&mut self) -> &mut Ages {
        &mut self.ages
    }

    #[inline(always)]
    fn of_age(&self, blocks: &BlockTable, _: BlockId, counts: PageCounts, age: f64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(counts.valid));
        let invalid = b - valid;
        let (gain, cost) = match self.form {
            Form::Kawaguchi => (invalid, 2.0 * valid),
            Form::Lfs => (invalid, b + valid),
            // The square of the score gives the same order, and grows linearly with age.
            Form::Sqrt => (invalid * invalid, valid * valid),
        };
        match self.log {
            true => Course::logarithmic(gain, age, cost),
            false => Course::linear(gain, age, cost),
        }
    }
}
