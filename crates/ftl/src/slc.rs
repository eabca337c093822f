//! An SLC region: blocks whose cells hold one bit. They have fewer pages, and their operations take
//! other times.
//!
//! The host writes into the region first. Its full blocks are *folded*, the oldest first: their
//! live pages are copied to normal blocks, and the block is erased. A fold is a collection whose
//! victim is an SLC block. One map has the pages of both kinds of blocks.
//!
//! The region is a part of each plane: blocks that no policy sees, an open block for the host's
//! writes and, without a placement, one for folded pages. With a placement, each folded page goes
//! to the class of its write (`store/sorting.rs`). Of the region, trackers learn only what its
//! pages inherit and leave (`Origin`, `folded`). A fold takes the same path through the code as
//! every collection. Page operations and collections carry a mark for cells of an SLC block.
//! Without a region all this costs one branch a write.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;

use crate::frontier::Frontier;
use crate::placement::PlacementSpec;

/// The SLC region of every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcRegion {
    /// The blocks that are in SLC mode.
    pub blocks: SlcBlocks,
    /// Bits of a cell in normal mode. The number of flash pages of an SLC block is that of a normal
    /// block divided by this value, rounded down.
    pub bits_per_cell: u32,
    /// `true` if writes wait for folds while the region is full; `false` if they then go to normal
    /// blocks directly.
    pub waits: bool,
}

/// The blocks of a plane that are in SLC mode: blocks set aside, blocks that the pool lends, or both.
///
/// The host fills erased blocks that are set aside before the pool lends one, and a fold takes lent
/// blocks first. Both have one reason: a lent block costs spare space until it is folded, and a block
/// set aside costs nothing more when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcBlocks {
    /// The number of blocks that are always in SLC mode, the last ones of the plane.
    pub set_aside: u32,
    /// The rule by which the pool lends erased blocks; `None` if it lends none.
    pub lending: Option<Lending>,
}

/// The rule by which a pool lends erased blocks to an SLC region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lending {
    /// The number of erased blocks that the pool keeps. It lends blocks while it has more.
    pub keep: u32,
    /// The most blocks that are lent.
    pub most: u32,
}

/// The full blocks of an SLC region among which a fold chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldOf {
    /// All of them: the oldest lent block, else the oldest block set aside.
    Any,
    /// Lent blocks only, because the pool needs erased blocks.
    Lent,
}

impl SlcBlocks {
    /// A region of `blocks` blocks that are set aside.
    pub const fn fixed(blocks: u32) -> Self {
        Self { set_aside: blocks, lending: None }
    }

    /// A region of at most `most` blocks that the pool lends while it has more than `keep`.
    pub const fn lent(keep: u32, most: u32) -> Self {
        Self { set_aside: 0, lending: Some(Lending { keep, most }) }
    }

    /// Returns this region with `blocks` blocks that are set aside.
    #[must_use]
    pub const fn beside(self, blocks: u32) -> Self {
        Self { set_aside: blocks, ..self }
    }
}

/// Erased blocks that host writes do not take, on a plane with a region: one for the pages of a
/// collection, one for those of a fold.
pub(crate) const RESERVED_WITH_SLC: u32 = 2;

impl SlcRegion {
    /// Pages of an SLC block, on a drive with `pages_per_block` pages in a block and
    /// `units_per_page` in a flash page. One of every `bits_per_cell` flash pages is left, with all
    /// its units.
    pub fn pages(&self, pages_per_block: u32, units_per_page: u32) -> u32 {
        pages_per_block / units_per_page / self.bits_per_cell * units_per_page
    }

    /// Blocks of a plane that are never in normal mode.
    pub fn set_aside(&self) -> u32 {
        self.blocks.set_aside
    }

    /// Blocks of a plane that never hold host data in normal mode, beyond those of a drive without
    /// a region. They are the blocks for SLC mode, and the blocks for folded pages. For SLC mode
    /// they are all blocks that are set aside, and one open lent block. For folded pages they are
    /// one open block or, with a placement, [`SlcRegion::kept_for_folds`].
    pub fn blocks_kept(&self, placement: &PlacementSpec) -> u32 {
        let own = self.set_aside().saturating_add(u32::from(self.blocks.lending.is_some()));
        let folded = if placement.is_none() { 1 } else { Self::kept_for_folds(placement) };
        own.saturating_add(folded)
    }

    /// Erased blocks that the collector keeps beside those for the copies of `placement`: one for
    /// each class that takes no copies, as a fold may open a block for every class.
    pub fn kept_for_folds(placement: &PlacementSpec) -> u32 {
        // `kept` counts one block for each class, and one for every class of copies but the first.
        let for_copies = placement.kept_for_copies();
        placement.blocks_kept().map_or(0, |kept| kept - for_copies - (for_copies + 1))
    }

    /// Checks the region against the pages of a block, the units of a flash page, the placement and
    /// the frontier.
    ///
    /// # Errors
    /// The first of these that the region does not go with.
    pub(crate) fn check(
        &self,
        (pages, units): (u32, u32),
        placement: &PlacementSpec,
        frontier: Frontier,
    ) -> Result<(), SpecError> {
        refuse_if!(
            self.bits_per_cell < 2 || self.pages(pages, units) == 0,
            "3 for TLC, 4 for QLC",
            "{} is {}, expected 2 to the {} pages of a block",
            subject("bits_per_cell"),
            self.bits_per_cell,
            pages / units
        );
        refuse_if!(
            self.blocks == SlcBlocks::fixed(0),
            format!("more blocks, or leave {} out", option("slc")),
            "{} has no block in a plane",
            subject("slc")
        );
        // A placement itself keeps an erased block for each of its classes but one.
        let least = if placement.is_none() { RESERVED_WITH_SLC } else { 1 };
        if !matches!(frontier, Frontier::Pool { low } if low >= least) {
            return Err(SpecError::new(
                format!(
                    "{} needs at least {least} erased blocks a plane: a collection fills one, and a fold another",
                    subject("slc")
                ),
                choice("gc_low", least),
            ));
        }
        Ok(())
    }
}
