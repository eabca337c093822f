//! Open blocks: those that are being programmed.

use flashgc_base::snapshot::Value;

use crate::blocks::BlockId;

/// A block being programmed, page after page.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Active {
    /// The block, or [`Active::NO_BLOCK`].
    pub(crate) block: BlockId,
    /// Offset of the next page to program; b when full.
    pub(crate) next: u32,
}

impl Active {
    pub(crate) const NO_BLOCK: BlockId = BlockId::MAX;

    /// The state without a block: full, so that the first write makes room.
    pub(crate) fn none(pages_per_block: u32) -> Self {
        Self { block: Self::NO_BLOCK, next: pages_per_block }
    }

    pub(crate) fn erased(block: BlockId) -> Self {
        Self { block, next: 0 }
    }

    /// Returns `true` if there is a block.
    pub(crate) fn is_some(self) -> bool {
        self.block != Self::NO_BLOCK
    }
}
