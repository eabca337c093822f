//! BAST: every log block belongs to one data block.
//!
//! If the page's place in its data block is programmed, the write goes to the log block of its
//! logical block. A log block is merged when it is full, or when all log blocks are in use and the
//! logical block has none. If it holds all pages in order, it becomes the data block (switch
//! merge). If it holds the first pages in order, the rest is copied to it (partial merge).
//! Otherwise both blocks are copied to a new one (full merge).
//!
//! If the page's place in its data block is still erased, the write goes there, unless `log_only`
//! is set.
//!
//! # Cost
//!
//! A merge: 1 or 2 erases and up to b copies. On random writes most log blocks are merged with few
//! pages in them.
//!
//! # Source
//!
//! Kim et al., "A space-efficient flash translation layer for compact flash systems", IEEE Trans.
//! Consumer Electronics 48(2), 2002. The paper does not say which log block is merged when all are
//! in use; here it is the one written longest ago (`lru`).

use crate::blocks::BlockId;
use crate::error::FtlError;
use crate::log_map::LogBuffer;
use crate::log_map::chooser::{Choice, Chooser};
use crate::log_map::hybrid::{Hybrid, NO_BLOCK, Role};
use crate::log_map::window::LogWindow;
use crate::order::Order;
use flashgc_base::residency::Residency;
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;

pub(super) const PARAMS: &[Param] = &[
    super::LOG_BLOCKS,
    Param::word("victim", &["scheme", "lru", "rr", "cost"], Some("scheme")).help(
        "log block to merge: as the scheme says (in turn is lru), written longest ago, \
         opened longest ago, or the cheapest",
    ),
    super::WINDOW,
    super::STRICT_ORDER,
    super::LOG_ONLY,
];

/// The log buffer of BAST.
#[derive(State)]
pub(crate) struct Bast {
    /// The log block of each logical block, or [`NO_BLOCK`], and the number of pages programmed in
    /// that log block.
    #[snapshot(table)]
    logs: Vec<(BlockId, u32)>,
    /// The logical block of each physical log block.
    #[snapshot(table)]
    owners: Vec<u32>,
    /// Log blocks. Unless their costs decide, the first of them is merged first.
    #[snapshot(state)]
    order: Order,
    /// `true` if a write moves its log block to the end of `order`.
    #[snapshot(skip)]
    by_use: bool,
    #[snapshot(skip)]
    most: u32,
    #[snapshot(state)]
    chooser: Chooser,
}

impl Bast {
    pub(super) fn new(
        blocks: u32,
        logical_blocks: u32,
        log_blocks: u32,
        by_use: bool,
        choice: Choice,
        window: LogWindow,
    ) -> Self {
        Self {
            logs: vec![(NO_BLOCK, 0); logical_blocks as usize],
            owners: vec![0; blocks as usize],
            order: Order::new(blocks),
            by_use,
            most: log_blocks,
            chooser: Chooser::new(choice, window, log_blocks),
        }
    }

    fn merge(
        &mut self,
        hybrid: &mut Hybrid,
        lbn: u32,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        let (block, next) = std::mem::replace(&mut self.logs[lbn as usize], (NO_BLOCK, 0));
        self.order.remove(block);
        hybrid.merge(block, next, memory)
    }
}

/// The place where BAST puts a write.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// The place of the page in its data block.
    InPlace,
    /// The log block of the page's logical block.
    Append,
    /// The log block of the page's logical block. It is full, so a new one replaces it.
    Renew,
    /// A new log block for the page's logical block, which has none. `full` is `true` if all log
    /// blocks are in use.
    Open { full: bool },
}

impl LogBuffer for Bast {
    type Way = Way;

    fn way(&self, hybrid: &Hybrid, page: u32) -> Way {
        let (lbn, offset) = (page / hybrid.b(), page % hybrid.b());
        if hybrid.fits_data_block(lbn, offset) {
            return Way::InPlace;
        }
        match self.logs[lbn as usize] {
            (NO_BLOCK, _) => Way::Open { full: self.order.len() == self.most },
            (_, next) if next == hybrid.b() => Way::Renew,
            _ => Way::Append,
        }
    }

    fn collects(&self, _: &Hybrid, _: u32, way: Way) -> bool {
        matches!(way, Way::Renew | Way::Open { full: true })
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
            Way::Append => {}
            Way::Renew => self.merge(hybrid, lbn, memory)?,
            Way::Open { full: true } => {
                if let Some(victim) = self.chooser.choose(hybrid, &self.order, memory) {
                    let before = hybrid.collection_cost();
                    self.merge(hybrid, self.owners[victim as usize], memory)?;
                    self.chooser.learn(hybrid.collection_cost() - before);
                }
            }
            Way::Open { full: false } => {}
        }
        if self.logs[lbn as usize].0 == NO_BLOCK {
            let block = hybrid.take(Role::Log)?;
            self.logs[lbn as usize] = (block, 0);
            self.owners[block as usize] = lbn;
            self.order.push(block);
        } else if self.by_use {
            let block = self.logs[lbn as usize].0;
            self.order.remove(block);
            self.order.push(block);
        }
        let (block, next) = &mut self.logs[lbn as usize];
        hybrid.place(*block, *next, page);
        *next += 1;
        if *next == hybrid.b() {
            hybrid.close(*block);
        }
        Ok(())
    }

    fn settle(&mut self, hybrid: &mut Hybrid, memory: &mut dyn Residency) {
        self.chooser.settle(hybrid, memory);
    }

    fn most_logs(&self) -> u32 {
        self.most
    }

    fn logs(&self, _: &Hybrid) -> Vec<(BlockId, u32)> {
        self.order.iter().map(|block| self.logs[self.owners[block as usize] as usize]).collect()
    }
}
