//! Swap-aware cost, age and times: the age of the oldest garbage times that of the youngest data.
//!
//! A block scores high if its oldest invalid page became invalid long ago and its youngest valid
//! page was written long ago. It scores low if it has many erases; the formula uses the erase count
//! plus 1. Ages count page programs and are at least 1. A page is written when it is programmed, by
//! a host write or by a copy. Pages that were valid or invalid at the start date from clock 0. A
//! block without an invalid page comes last, a block without a valid page first. Equal scores:
//! fewer erases, then closed earlier, then the lower block number.
//!
//! Formula: `argmax max(age of invalid pages) * min(age of valid pages) * (1-u)/(1+u) / (ec + 1)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a kinetic tournament tree, some of them rebuilt, 16 scores each.
//! A write: one time, one bit, one lookup and two scores, amortised. Exact. 4 bytes and a bit a
//! page, for the time at which each was programmed, and 34 bytes a block.
//!
//! # Source
//! Lin et al., Electronics Letters 47(22), 2011, as Kim and Kwak, 2016 (BSGC), state it in section
//! II.2.

use super::Scored;
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::track::{Course, Score};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::{bytes_of, prefetch};

/// The victim policy that the header of this file describes.
#[derive(Clone, State)]
pub struct Scata {
    #[snapshot(table)]
    past: Vec<Past>,
    /// For each page, the time of its program on the clock, counted from the program of the block's
    /// first page.
    #[snapshot(table)]
    programmed: Vec<u32>,
    /// One bit for each page, set if it died since it was programmed. Each block has its own words.
    #[snapshot(table)]
    dead: Vec<u64>,
}

#[derive(Clone, Copy, Value)]
struct Past {
    /// The clock at which the first page was programmed.
    first: u64,
    /// The clock at which the youngest valid page was programmed.
    youngest: u64,
    /// The clock at which the first page became invalid, or [`NOT_YET`].
    invalid: u64,
}

const NOT_YET: u64 = u64::MAX;

impl Scored for Scata {
    const NAME: &'static str = "scata";
    const PARAMS: &'static [Param] = &[];

    fn new(_: &Params) -> Result<Self, SpecError> {
        Ok(Self { past: Vec::new(), programmed: Vec::new(), dead: Vec::new() })
    }
}

impl Scata {
    /// The range of the words of `block` in `dead`.
    fn words(blocks: &BlockTable, block: BlockId) -> std::ops::Range<usize> {
        let words = blocks.pages_per_block().div_ceil(64) as usize;
        block as usize * words..(block as usize + 1) * words
    }

    fn page(blocks: &BlockTable, block: BlockId, offset: u32) -> usize {
        block as usize * blocks.pages_per_block() as usize + offset as usize
    }
}

impl Score for Scata {
    const FOLLOWS_PROGRAMS: bool = true;

    fn bytes(&self, shape: &Geometry) -> u64 {
        let blocks = shape.blocks() as usize;
        let words = shape.pages_per_block().div_ceil(64) as usize;
        bytes_of::<Past>(blocks)
            + bytes_of::<u32>(shape.physical_pages() as usize)
            + bytes_of::<u64>(blocks * words)
    }

    fn start(&mut self, blocks: &BlockTable) {
        let past = Past { first: 0, youngest: 0, invalid: NOT_YET };
        self.past = vec![past; blocks.len() as usize];
        self.programmed = vec![0; Self::page(blocks, blocks.len(), 0)];
        self.dead = vec![0; Self::words(blocks, blocks.len()).start];
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, _: u64, now: u64) -> Course {
        let (b, valid) = (f64::from(blocks.pages_per_block()), f64::from(blocks.valid(block)));
        if blocks.live(block) == 0 {
            return Course::constant(f64::INFINITY);
        }
        let Past { youngest, invalid, .. } = self.past[block as usize];
        let oldest = now.saturating_sub(invalid) as f64;
        let wear = f64::from(blocks.erase_count(block)) + 1.0;
        Course::quadratic(b - valid, oldest, (now - youngest) as f64, (b + valid) * wear)
    }

    #[inline(always)]
    fn fetch(&self, block: usize) {
        prefetch(&self.past, block);
    }

    fn lost(&mut self, blocks: &BlockTable, block: BlockId, offset: u32, time: u64) {
        let words = &mut self.dead[Self::words(blocks, block)];
        words[offset as usize / 64] |= 1 << (offset % 64);
        let past = &mut self.past[block as usize];
        past.invalid = past.invalid.min(time);
        let at =
            |page: u32| past.first + u64::from(self.programmed[Self::page(blocks, block, page)]);
        if at(offset) == past.youngest {
            let alive = (blocks.lost(block)..offset)
                .rev()
                .find(|page| words[*page as usize / 64] >> (page % 64) & 1 == 0);
            past.youngest = alive.map_or(past.youngest, at);
        }
    }

    fn programmed(&mut self, blocks: &BlockTable, block: BlockId, offset: u32, count: u32) {
        let past = &mut self.past[block as usize];
        let now = blocks.clock();
        // The clock ticked for every page; only a table built by hand may say otherwise.
        let first = (now + 1).saturating_sub(count.into());
        if offset == blocks.lost(block) {
            *past = Past { first, youngest: now, invalid: NOT_YET };
            self.dead[Self::words(blocks, block)].fill(0);
        }
        past.youngest = now;
        let place = Self::page(blocks, block, offset);
        for (time, page) in (first..).zip(&mut self.programmed[place..][..count as usize]) {
            // The difference exceeds 32 bits only if nothing is ever copied, and the block stays
            // open for 2^32 programs. Ages then stop.
            *page = u32::try_from(time - past.first).unwrap_or(u32::MAX);
        }
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        let past = &mut self.past[block as usize];
        if blocks.valid(block) < blocks.pages_per_block() && past.invalid == NOT_YET {
            past.invalid = 0;
        }
    }
}
