//! Balanced selection: cost-benefit with a block's past erase intervals and its relative wear.
//!
//! Among equally full blocks it prefers three kinds: blocks with long intervals between erases,
//! blocks that had many valid pages at earlier collections, and blocks with little wear. At each
//! erase the block averages `interval <- (time since its last erase + interval)/2` and
//! `c_iu <- (u + c_iu)/2`. Both averages start from 0 (`first=zero`) or from the first sample
//! (`first=sample`). At a pick, `time` is the time since the last erase plus the interval, in page
//! programs, at least 1. With `ratio=live` the valid ratio at the pick also enters c_iu. 1 - c_iu
//! is at least 1/b. min_ec is taken over all blocks. The paper's divisors, 1 + max_ec - min_ec and
//! the endurance, are equal for all blocks and are left out.
//!
//! The paper's symbols for times can mean durations (the default) or moments (`reading=literal`).
//! With moments, the average is one of the clock times at which the block was erased, and `time` is
//! the clock plus that average. With `reading=since_erase` the average is left out, which departs from
//! equation 3: `time` is the time since the last erase. With `wear=absolute` min_ec counts as 0. Equal scores: fewer erases, then closed earlier, then the lower
//! block number. Among blocks with no valid page, the least worn is therefore taken.
//!
//! Formula: `argmin u/(1-u) * (1 - c_iu)/time * (1 + ec - min_ec)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores
//! each. When min_ec rises, at most once in N erases, the tree is rebuilt. A write: one lookup and
//! two scores, amortised. Exact. 34 bytes a block.
//!
//! # Source
//! Kim and Kwak, J. of the Korea Society of Computer and Information, 2016 (BSGC), section III.3,
//! equations 1 to 5.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{Course, Score, Shift};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::{bytes_of, prefetch};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Bsgc {
    #[snapshot(skip)]
    literal: bool,
    #[snapshot(skip)]
    sample: bool,
    #[snapshot(skip)]
    live: bool,
    #[snapshot(skip)]
    since_erase: bool,
    #[snapshot(skip)]
    absolute: bool,
    #[snapshot(table)]
    past: Vec<Past>,
    least_erases: u32,
    /// The number of blocks with `least_erases` erases, without those picked since that minimum was
    /// found.
    least_worn: u32,
}

#[derive(Clone, Copy, Default, Value)]
struct Past {
    erased: u64,
    interval: f64,
    /// c_iu in pages.
    kept: f64,
}

impl Scored for Bsgc {
    const NAME: &'static str = "bsgc";
    const PARAMS: &'static [Param] = &[
        Param::word("reading", &["intervals", "literal", "since_erase"], Some("intervals")).help(
            "times in the paper's equations are durations, or moments on the clock; or only \
             the time since the last erase counts",
        ),
        Param::word("first", &["zero", "sample"], Some("zero"))
            .help("start value of the averages: 0, or their first sample"),
        Param::word("ratio", &["erase", "live"], Some("erase"))
            .help("c_iu as of the last erase, or with the valid ratio at the pick averaged in"),
        Param::word("wear", &["relative", "absolute"], Some("relative"))
            .help("the erases of a block beyond the fewest of any block, or all of them"),
    ];

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self {
            literal: params.text("reading") == "literal",
            sample: params.text("first") == "sample",
            live: params.text("ratio") == "live",
            since_erase: params.text("reading") == "since_erase",
            absolute: params.text("wear") == "absolute",
            past: Vec::new(),
            least_erases: 0,
            least_worn: 0,
        })
    }
}

impl Bsgc {
    /// The score of `block` with `valid` valid pages.
    #[inline(always)]
    fn with_valid(&self, blocks: &BlockTable, block: BlockId, valid: u32, now: u64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(valid));
        let Past { erased, interval, kept } = self.past[block as usize];
        let kept = if self.live { 0.5 * (valid + kept) } else { kept };
        let least = if self.absolute { 0 } else { self.least_erases };
        let wear = 1 + blocks.erase_count(block) - least;
        let since = if self.literal { 0 } else { erased };
        let interval = if self.since_erase { 0.0 } else { interval };
        let time = (now - since) as f64 + interval;
        let cost = valid * (b - kept).max(1.0) * f64::from(wear);
        Course::linear((b - valid) * b, time, cost)
    }
}

impl Score for Bsgc {
    fn bytes(&self, shape: &Geometry) -> u64 {
        bytes_of::<Past>(shape.blocks() as usize)
    }

    fn start(&mut self, blocks: &BlockTable) {
        self.past = vec![Past::default(); blocks.len() as usize];
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, _: u64, now: u64) -> Course {
        self.with_valid(blocks, block, blocks.valid(block), now)
    }

    const IS_BOUNDED: bool = true;

    fn most(&self, blocks: &BlockTable, block: BlockId, valid: u32, _: u64, until: u64) -> f64 {
        self.with_valid(blocks, block, valid, until).value
    }

    #[inline(always)]
    fn fetch(&self, block: usize) {
        prefetch(&self.past, block);
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        if !blocks.is_programmed(block) {
            return;
        }
        let now = blocks.clock();
        let valid = f64::from(blocks.valid(block));
        let past = &mut self.past[block as usize];
        let time = if self.literal { now } else { now - past.erased } as f64;
        let erases = blocks.erase_count(block);
        let (interval, former) =
            if erases == 0 && self.sample { (time, valid) } else { (past.interval, past.kept) };
        *past =
            Past { erased: now, interval: 0.5 * (time + interval), kept: 0.5 * (valid + former) };
        self.least_worn -= u32::from(erases == self.least_erases);
    }

    fn settle(&mut self, blocks: &BlockTable) -> Shift {
        if self.least_worn > 0 {
            return Shift::None;
        }
        let least = blocks.erase_counts().iter().copied().min().unwrap_or_default();
        let worn = blocks.erase_counts().iter().filter(|&&count| count == least).count();
        self.least_worn = worn as u32;
        match std::mem::replace(&mut self.least_erases, least) == least {
            true => Shift::None,
            false => Shift::Any,
        }
    }
}
