//! FAST: any page in any log block, and one log block for sequential writes.
//!
//! A write to the first page of a logical block opens the sequential log block. Writes that
//! continue in order follow there. When the sequential log block is complete, it becomes the data
//! block (switch merge). Every other write goes to the next page of the random log blocks. When
//! these are full, one of them is merged: each data block that has a valid page in it is programmed
//! again in a new block, from the newest copies of its pages (full merge).
//!
//! If the page's place in its data block is still erased, the write goes there, unless `log_only`
//! is set.
//!
//! # Cost
//!
//! A merge of a random log block: A + 1 erases and up to A b copies for its A data blocks; by cost,
//! O(A) more for each log block of the window.
//!
//! # Source
//!
//! Lee et al., "A log buffer-based flash translation layer using fully-associative sector
//! translation", ACM TECS 6(3), 2007; Ji and Shin 2010 (victim by cost, window). A write to the
//! logical block of the sequential log block that does not continue it merges the sequential log
//! block first. The sequential log block counts as one of `log_blocks`.

use crate::blocks::BlockId;
use crate::error::FtlError;
use crate::log_map::LogBuffer;
use crate::log_map::chooser::{Choice, Chooser};
use crate::log_map::hybrid::{Hybrid, Role};
use crate::log_map::window::LogWindow;
use crate::order::Order;
use flashgc_base::residency::Residency;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::Param;

pub(super) const PARAMS: &[Param] = &[
    super::LOG_BLOCKS,
    Param::integer("sequential", (0, 1), Some("1")).help("log blocks for sequential writes"),
    Param::word("victim", &["scheme", "rr", "cost"], Some("scheme"))
        .help("log block to merge: as the scheme says, the oldest, or the cheapest"),
    super::WINDOW,
    super::STRICT_ORDER,
    super::LOG_ONLY,
];

/// The sequential log block.
#[derive(Clone, Copy, Value)]
struct Sequential {
    block: BlockId,
    lbn: u32,
    /// Offset of the next page.
    next: u32,
}

/// The log buffer of FAST.
#[derive(State)]
pub(crate) struct Fast {
    #[snapshot(skip)]
    has_sequential: bool,
    sequential: Option<Sequential>,
    /// Random log blocks, the oldest first. The last one may be open.
    #[snapshot(state)]
    random: Order,
    /// Pages programmed in the last random log block.
    next: u32,
    /// The most random log blocks that there may be.
    #[snapshot(skip)]
    most: u32,
    #[snapshot(state)]
    chooser: Chooser,
}

impl Fast {
    pub(super) fn new(
        blocks: u32,
        log_blocks: u32,
        has_sequential: bool,
        choice: Choice,
        window: LogWindow,
    ) -> Self {
        let most = log_blocks - u32::from(has_sequential);
        Self {
            has_sequential,
            sequential: None,
            random: Order::new(blocks),
            next: 0,
            most,
            chooser: Chooser::new(choice, window, most),
        }
    }

    /// Merges the sequential log block, if there is one.
    fn merge_sequential(
        &mut self,
        hybrid: &mut Hybrid,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        match self.sequential.take() {
            Some(Sequential { block, next, .. }) => hybrid.merge(block, next, memory),
            None => Ok(()),
        }
    }

    fn random_is_full(&self, hybrid: &Hybrid) -> bool {
        self.random.len() == self.most && self.next == hybrid.b()
    }

    /// Returns a random log block with room, after a merge if there is none.
    fn open_random(
        &mut self,
        hybrid: &mut Hybrid,
        memory: &mut dyn Residency,
    ) -> Result<BlockId, FtlError> {
        if let Some(block) = self.random.last().filter(|_| self.next < hybrid.b()) {
            return Ok(block);
        }
        if self.random.len() == self.most
            && let Some(victim) = self.chooser.choose(hybrid, &self.random, memory)
        {
            let before = hybrid.collection_cost();
            self.random.remove(victim);
            hybrid.merge(victim, hybrid.b(), memory)?;
            self.chooser.learn(hybrid.collection_cost() - before);
        }
        let block = hybrid.take(Role::Log)?;
        self.random.push(block);
        self.next = 0;
        Ok(block)
    }
}

/// The place where FAST puts a write.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// The place of the page in its data block.
    InPlace,
    /// A new sequential log block.
    Begin,
    /// The sequential log block, which the write continues.
    Continue,
    /// A random log block. `breaks`: the page belongs to the logical block of the sequential log
    /// block, but does not continue it.
    Random { breaks: bool },
}

impl LogBuffer for Fast {
    type Way = Way;

    fn way(&self, hybrid: &Hybrid, page: u32) -> Way {
        let (lbn, offset) = (page / hybrid.b(), page % hybrid.b());
        if hybrid.fits_data_block(lbn, offset) {
            return Way::InPlace;
        }
        match self.sequential {
            _ if offset == 0 && self.has_sequential => Way::Begin,
            Some(log) if log.lbn == lbn && log.next == offset => Way::Continue,
            Some(log) if log.lbn == lbn => Way::Random { breaks: true },
            _ => Way::Random { breaks: false },
        }
    }

    fn collects(&self, hybrid: &Hybrid, page: u32, way: Way) -> bool {
        // A logical block of one page is complete with its first page.
        let completes = |next: u32| next == hybrid.pages_of(page / hybrid.b());
        match way {
            Way::InPlace => false,
            Way::Begin => self.sequential.is_some() || completes(1),
            Way::Continue => completes(page % hybrid.b() + 1),
            Way::Random { breaks } => breaks || self.random_is_full(hybrid),
        }
    }

    fn write(
        &mut self,
        hybrid: &mut Hybrid,
        page: u32,
        way: Way,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        let (lbn, offset) = (page / hybrid.b(), page % hybrid.b());
        match way {
            Way::InPlace => return hybrid.write_data(lbn, offset),
            Way::Random { breaks } => {
                if breaks {
                    self.merge_sequential(hybrid, memory)?;
                }
                let block = self.open_random(hybrid, memory)?;
                hybrid.place(block, self.next, page);
                self.next += 1;
                if self.next == hybrid.b() {
                    hybrid.close(block);
                }
                return Ok(());
            }
            Way::Begin => {
                self.merge_sequential(hybrid, memory)?;
                let block = hybrid.take(Role::Log)?;
                self.sequential = Some(Sequential { block, lbn, next: 0 });
            }
            Way::Continue => {}
        }
        let Some(sequential) = &mut self.sequential else { return Ok(()) };
        hybrid.place(sequential.block, offset, page);
        sequential.next += 1;
        if sequential.next == hybrid.pages_of(lbn) {
            self.merge_sequential(hybrid, memory)?;
        }
        Ok(())
    }

    fn settle(&mut self, hybrid: &mut Hybrid, memory: &mut dyn Residency) {
        self.chooser.settle(hybrid, memory);
    }

    fn most_logs(&self) -> u32 {
        self.most + u32::from(self.has_sequential)
    }

    fn logs(&self, hybrid: &Hybrid) -> Vec<(BlockId, u32)> {
        let last = self.random.last();
        let random = self
            .random
            .iter()
            .map(|block| (block, if Some(block) == last { self.next } else { hybrid.b() }));
        random.chain(self.sequential.map(|log| (log.block, log.next))).collect()
    }
}
