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
    /// Whether [`Tracker::pages_lost`] is to be called: the hot path costs nothing otherwise.
    const FOLLOWS_PAGES: bool = false;

    /// Pages died in these blocks, in this order, a block once for every page. The table holds
    /// the counts after all of them; open blocks occur too. Called before the next collection.
    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        let _ = (blocks, lost);
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
