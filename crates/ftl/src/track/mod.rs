//! What the engine keeps up to date for policies that ask: a policy names its tracker, and only
//! then is anything kept.

mod close_order;
mod least;
mod window;

pub use close_order::CloseOrder;
pub use least::{Least, Ties};
pub use window::Window;

use crate::blocks::{BlockId, BlockTable};

/// Bookkeeping that follows the blocks. The engine calls it at every change.
pub trait Tracker: Send {
    /// A page of `block` died; `masked` is the block's count afterwards. Called for open blocks
    /// too (their count is masked). This is the hot path: once a host write.
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, masked: u16) {
        let _ = (block, masked);
    }

    /// `block` became a candidate.
    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        let _ = (blocks, block);
    }

    /// `block` was picked and is no longer a candidate.
    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        let _ = (blocks, block);
    }

    /// Whether what is kept agrees with the table; the text says what does not.
    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let _ = blocks;
        Ok(())
    }
}

/// Keeps nothing.
impl Tracker for () {}
