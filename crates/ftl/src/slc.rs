//! An SLC region: blocks whose cells hold one bit. They have fewer pages and other times.
//!
//! The host writes into the region first. Its full blocks are *folded*, the oldest first: their live
//! pages are copied to normal blocks, and the block is erased. A fold is a collection whose victim is
//! an SLC block. One map has the pages of both kinds of blocks.

use flashgc_base::spec::SpecError;

use crate::frontier::Frontier;
use crate::layout::Layout;

/// The region of every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcRegion {
    /// The blocks that are in SLC mode.
    pub blocks: SlcBlocks,
    /// Bits of a cell in normal mode: an SLC block has the pages of a block divided by this, rounded
    /// down.
    pub bits_per_cell: u32,
    /// While the region is full, writes wait for folds; else they go to normal blocks directly.
    pub waits: bool,
}

/// The blocks of a plane that are in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlcBlocks {
    /// The last blocks of the plane, always: so many of them.
    Static(u32),
    /// Erased blocks that the pool lends.
    Dynamic {
        /// Blocks are lent while more than so many are erased.
        keep: u32,
        /// The most blocks that are lent.
        most: u32,
    },
}

/// Erased blocks of a plane with a region that host writes leave alone: one for the pages of a
/// collection, one for those of a fold.
pub(crate) const RESERVED_WITH_SLC: u32 = 2;

impl SlcRegion {
    /// Pages of an SLC block, of a drive with `pages_per_block`.
    pub fn pages(&self, pages_per_block: u32) -> u32 {
        pages_per_block / self.bits_per_cell
    }

    /// Blocks of a plane that are never in normal mode.
    pub fn set_aside(&self) -> u32 {
        match self.blocks {
            SlcBlocks::Static(blocks) => blocks,
            SlcBlocks::Dynamic { .. } => 0,
        }
    }

    /// Blocks of a plane beyond those of a drive without a region that never hold host data in normal
    /// mode: those set aside, the open block of folded pages, and of lent blocks the open one.
    pub fn blocks_kept(&self) -> u32 {
        match self.blocks {
            SlcBlocks::Static(blocks) => blocks.saturating_add(1),
            SlcBlocks::Dynamic { .. } => 2,
        }
    }

    /// Checks that the region goes together with the other parts of a layout.
    ///
    /// # Errors
    /// The first that it does not go together with.
    pub(crate) fn check(&self, layout: &Layout) -> Result<(), SpecError> {
        let pages = layout.geometry.pages_per_block();
        if self.bits_per_cell < 2 || self.pages(pages) == 0 {
            return Err(SpecError::new(
                format!(
                    "bits per cell: found {}, expected 2 to the {pages} pages of a block",
                    self.bits_per_cell
                ),
                "3 for TLC, 4 for QLC",
            ));
        }
        if self.blocks == SlcBlocks::Static(0) {
            return Err(SpecError::new(
                "slc: the region has no block in a plane",
                "more blocks, or leave --slc out",
            ));
        }
        let fault = |what: &str, hint: &str| {
            Err(SpecError::new(format!("slc does not go together with {what}"), hint))
        };
        if !matches!(layout.frontier, Frontier::Pool { low } if low >= RESERVED_WITH_SLC) {
            return fault("fewer than 2 erased blocks a plane", "--gc-low 2");
        }
        if !layout.placement.is_none() {
            return fault("a placement", "leave --placement out");
        }
        if layout.streams {
            return fault("streams", "leave --streams out, or use a workload that names none");
        }
        if layout.buffer.units_per_page > 1 {
            return fault("mapping units below a flash page", "leave --mapping-unit out");
        }
        Ok(())
    }
}
