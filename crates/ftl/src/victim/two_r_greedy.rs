//! 2R-greedy: the fewest valid pages, within one of two regions.
//!
//! Blocks are in two regions. A block is cold if the page programmed last on it is a copy, and
//! normal if the host wrote it. A search begins in the region whose best block has fewer valid
//! pages, among equals in the cold one. It takes the best blocks of this region until they have a
//! block's worth of invalid pages together, or no invalid page is left there. So copied pages share
//! blocks with other copied pages. The policy is meant for the compact frontier, whose collections
//! are such searches.
//!
//! Formula: `argmin v` within the region.
//!
//! # Cost
//! A collection: log16(N) nodes of two tournament trees. A write: two stores and two comparisons,
//! amortised O(1). 10.1 bytes a block.
//!
//! # Source
//! Haas, Lee, Bonnet, Leis, PVLDB 18(11), 2025 (SSD-iq), its published simulator, where the block with
//! the lowest place in its region's list is the first among equals; after Kang, Lee, Kim and Moon,
//! PVLDB 13(11), 2020.

use super::VictimPolicy;
use crate::blocks::{BlockId, BlockTable};
use crate::track::{Region, Regions, Ties};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct TwoRGreedy {
    #[snapshot(skip)]
    ties: Ties,
    /// The region of the search that is under way.
    region: Option<Region>,
    /// Invalid pages of the victims of this search.
    gained: u32,
}

impl VictimPolicy for TwoRGreedy {
    type Tracker = Regions;
    const NAME: &'static str = "2r-greedy";
    const PARAMS: &'static [Param] = &[Ties::PARAM];
    const DRAWS: bool = false;

    fn new(params: &Params, _: &BlockTable, _: &mut Stream) -> Result<Self, SpecError> {
        Ok(Self { ties: Ties::named(params.text("ties")), region: None, gained: 0 })
    }

    fn tracker(&self, blocks: &BlockTable) -> Regions {
        Regions::new(blocks, self.ties)
    }

    fn pick(&mut self, blocks: &BlockTable, regions: &Regions, _: &mut Stream) -> Option<BlockId> {
        let best = |region| regions.first(blocks, region);
        let b = blocks.pages_per_block();
        let has_invalid = |&(_, block): &(Region, BlockId)| blocks.valid(block) < b;
        let within = self.region.and_then(|region| Some((region, best(region)?)));
        let within = within.filter(has_invalid);
        let (region, victim) = within.or_else(|| {
            let firsts = [true, false].map(|cold| Some((cold, best(cold)?)));
            // If both are equal, the first is taken: the block of the cold region.
            firsts.into_iter().flatten().min_by_key(|&(_, block)| blocks.valid(block))
        })?;
        self.gained += b - blocks.valid(victim);
        self.region = Some(region).filter(|_| self.gained < b);
        if self.region.is_none() {
            self.gained = 0;
        }
        Some(victim)
    }
}
