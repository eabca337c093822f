//! The cost of merging each log block, kept up to date: for every logical block, how many of its
//! live pages are in each class; for every log block, of which logical blocks it has current pages.
//! The cost of a log block is then a sum over these logical blocks, without a look at a page.

use crate::blocks::BlockId;
use crate::geometry::{Geometry, UNMAPPED};
use crate::scheme::{CLASSES, class_of};
use flashgc_base::residency::Residency;
use flashgc_base::snapshot::{State, Value};

/// Index of the data block among the counts of a logical block.
const DATA: usize = CLASSES;

/// Slot of a block that is no log block.
const NO_SLOT: u32 = u32::MAX;

#[derive(State)]
pub(crate) struct Weigher {
    #[snapshot(skip)]
    pages_per_block: u32,
    /// For each logical block, the number of its live pages of each class. The last entry is 1 if
    /// the logical block has a data block.
    #[snapshot(table)]
    counts: Vec<[u32; CLASSES + 1]>,
    /// The class of every logical page, live or not, when memory was asked last.
    #[snapshot(table)]
    known: Vec<u8>,
    /// The index in `logs` of each block, or [`NO_SLOT`].
    #[snapshot(table)]
    slots: Vec<u32>,
    logs: Vec<Associated>,
    unused: Vec<u32>,
    changed: Vec<u32>,
}

/// The logical blocks of which a log block has current pages, and how many of each.
#[derive(Clone, Debug, Default, Value)]
struct Associated {
    lbns: Vec<u32>,
    pages: Vec<u32>,
}

impl Weigher {
    /// The weigher of flash without log blocks. No page is known to be cached.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self {
            pages_per_block: geometry.pages_per_block(),
            counts: vec![[0; CLASSES + 1]; geometry.logical_blocks() as usize],
            known: vec![0; geometry.logical_pages() as usize],
            slots: vec![NO_SLOT; geometry.blocks() as usize],
            logs: Vec::new(),
            unused: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// `block` is a log block from now on.
    pub(crate) fn opened(&mut self, block: BlockId) {
        let slot = self.unused.pop().unwrap_or_else(|| {
            self.logs.push(Associated::default());
            self.logs.len() as u32 - 1
        });
        self.slots[block as usize] = slot;
    }

    /// `block` is no log block any more.
    pub(crate) fn released(&mut self, block: BlockId) {
        let slot = std::mem::replace(&mut self.slots[block as usize], NO_SLOT);
        let log = &mut self.logs[slot as usize];
        log.lbns.clear();
        log.pages.clear();
        self.unused.push(slot);
    }

    /// A current page came into a log block.
    pub(crate) fn logged(&mut self, block: BlockId, page: u32) {
        let lbn = page / self.pages_per_block;
        let log = &mut self.logs[self.slots[block as usize] as usize];
        match log.lbns.iter().position(|&other| other == lbn) {
            Some(place) => log.pages[place] += 1,
            None => {
                log.lbns.push(lbn);
                log.pages.push(1);
            }
        }
    }

    /// A page of a log block is current no longer.
    pub(crate) fn unlogged(&mut self, block: BlockId, page: u32) {
        let lbn = page / self.pages_per_block;
        let log = &mut self.logs[self.slots[block as usize] as usize];
        if let Some(place) = log.lbns.iter().position(|&other| other == lbn) {
            log.pages[place] -= 1;
            if log.pages[place] == 0 {
                log.lbns.swap_remove(place);
                log.pages.swap_remove(place);
            }
        }
    }

    /// Sets the class of a page before it appears.
    pub(crate) fn knows(&mut self, page: u32, class: usize) {
        self.known[page as usize] = class as u8;
    }

    /// A page that had no copy on flash has one now.
    pub(crate) fn appeared(&mut self, page: u32) {
        let class = self.known[page as usize] as usize;
        self.counts[(page / self.pages_per_block) as usize][class] += 1;
    }

    /// A page no longer has a copy on flash.
    pub(crate) fn vanished(&mut self, page: u32) {
        let class = self.known[page as usize] as usize;
        self.counts[(page / self.pages_per_block) as usize][class] -= 1;
    }

    /// Records whether the logical block `lbn` has a data block.
    pub(crate) fn has_data(&mut self, lbn: u32, has: bool) {
        self.counts[lbn as usize][DATA] = u32::from(has);
    }

    /// Asks memory about the pages that changed there. `map` gives the pages that are on flash.
    pub(crate) fn refresh(&mut self, map: &[u32], memory: &mut dyn Residency) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        memory.drain_changes(&mut changed);
        for &page in &changed {
            let class = class_of(memory.lookup(page));
            let known = std::mem::replace(&mut self.known[page as usize], class as u8);
            if map[page as usize] != UNMAPPED {
                let counts = &mut self.counts[(page / self.pages_per_block) as usize];
                counts[known as usize] -= 1;
                counts[class] += 1;
            }
        }
        self.changed = changed;
    }

    /// Returns the number of blocks that merging this log block would erase, A + 1, and the number
    /// of live pages of each class in the logical blocks associated with it.
    pub(crate) fn weigh(&self, block: BlockId) -> (u32, [u32; CLASSES]) {
        let mut sums = [0u32; CLASSES + 1];
        for &lbn in &self.logs[self.slots[block as usize] as usize].lbns {
            let counts = &self.counts[lbn as usize];
            for (sum, &count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let [pages @ .., data] = sums;
        (data + 1, pages)
    }

    /// Checks that `plain`, made by a look at every page, has the same data on the log blocks
    /// `logs`. [`Weigher::refresh`] comes first, or the classes of pages may differ.
    pub(crate) fn agrees(&self, plain: &Self, logs: &[BlockId]) -> Result<(), String> {
        for &block in logs {
            let sorted = |weigher: &Self| {
                let log = &weigher.logs[weigher.slots[block as usize] as usize];
                let mut both: Vec<_> = log.lbns.iter().zip(&log.pages).collect();
                both.sort();
                format!("{both:?}")
            };
            if sorted(self) != sorted(plain) {
                let (kept, found) = (sorted(self), sorted(plain));
                return Err(format!("log block {block} has pages of {found}, kept as {kept}"));
            }
            if self.weigh(block) != plain.weigh(block) {
                let (kept, found) = (self.weigh(block), plain.weigh(block));
                return Err(format!("log block {block} weighs {found:?}, kept as {kept:?}"));
            }
        }
        Ok(())
    }
}
