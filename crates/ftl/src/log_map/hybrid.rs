//! The flash of a log-block mapping: data blocks, in which a page has one place, log blocks, in
//! which it may be anywhere, and the merges that turn log blocks into data blocks. The log buffer
//! decides which log block takes a write, and which is merged.

use crate::allocation::Pool;
use crate::blocks::{BlockId, BlockTable};
use crate::counters::{Counters, Merges};
use crate::error::{FtlError, FtlErrorKind};
use crate::geometry::{Geometry, UNMAPPED};
use crate::log_map::weigher::Weigher;
use crate::scheme::{Action, ClassTable, Costs, Duplicates, Scheme, class_of};
use flashgc_base::residency::Residency;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::table::{Table, for_words, set_bits};

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub(crate) enum Role {
    /// Erased, in the pool.
    Free,
    /// Holds the pages of this logical block, each at its offset.
    Data(u32),
    /// Takes writes in the order in which they come.
    Log,
}

/// No block: the logical block has no data block.
pub(crate) const NO_BLOCK: BlockId = BlockId::MAX;

#[derive(State)]
#[snapshot(named = "log map")]
pub(crate) struct Hybrid {
    #[snapshot(skip)]
    pub(crate) geometry: Geometry,
    /// The ppn of each logical page, or [`UNMAPPED`].
    #[snapshot(table)]
    pub(crate) map: Table<u32>,
    /// The logical page last written on each physical page. The index is block times b plus offset.
    #[snapshot(table)]
    pub(crate) reverse: Table<u32>,
    /// One bit for each ppn, set if the page holds current data.
    #[snapshot(table)]
    pub(crate) live: Table<u64>,
    /// One bit for each ppn, set if the page was programmed since its block was erased.
    #[snapshot(table)]
    pub(crate) written: Table<u64>,
    #[snapshot(state)]
    pub(crate) blocks: BlockTable,
    #[snapshot(table)]
    pub(crate) roles: Vec<Role>,
    /// The data block of each logical block, or [`NO_BLOCK`].
    #[snapshot(table)]
    pub(crate) data: Vec<BlockId>,
    #[snapshot(state)]
    pub(crate) pool: Box<dyn Pool>,
    #[snapshot(skip)]
    pub(crate) scheme: Scheme,
    #[snapshot(skip)]
    pub(crate) costs: Costs,
    /// The weigher of log blocks; `None` unless log blocks are chosen by cost.
    #[snapshot(state)]
    pub(crate) weigher: Option<Weigher>,
    pub(crate) counters: Counters,
    pub(crate) merges: Merges,
    pub(crate) duplicates: Duplicates,
    pub(crate) decisions: u64,
    /// `true` if every write goes to a log block, even where its data block has room.
    #[snapshot(skip)]
    pub(crate) log_only: bool,
    /// `true` if data blocks are programmed in page order only.
    #[snapshot(skip)]
    pub(crate) strict_order: bool,
}

impl Hybrid {
    /// Erased flash, every block in the pool.
    pub(crate) fn erased(
        geometry: Geometry,
        mut pool: Box<dyn Pool>,
        log_only: bool,
        strict_order: bool,
    ) -> Result<Self, FtlError> {
        let pages = geometry.logical_pages();
        let memory = || FtlError::from(FtlErrorKind::Memory { pages });
        let mut map = Table::new(pages as usize).ok_or_else(memory)?;
        map.fill(UNMAPPED);
        let bits = ((geometry.blocks() as usize) << geometry.offset_bits()).div_ceil(64);
        for block in 0..geometry.blocks() {
            pool.put(block, 0);
        }
        Ok(Self {
            map,
            reverse: Table::new(geometry.physical_pages() as usize).ok_or_else(memory)?,
            live: Table::new(bits).ok_or_else(memory)?,
            written: Table::new(bits).ok_or_else(memory)?,
            blocks: BlockTable::new(&geometry),
            roles: vec![Role::Free; geometry.blocks() as usize],
            data: vec![NO_BLOCK; geometry.logical_blocks() as usize],
            pool,
            scheme: Scheme::default(),
            costs: Costs::PAPER,
            weigher: None,
            counters: Counters::default(),
            merges: Merges::default(),
            duplicates: Duplicates::default(),
            decisions: 0,
            log_only,
            strict_order,
            geometry,
        })
    }

    /// A weigher made by a look at every page; `memory` says which pages are cached.
    pub(crate) fn weighed(&self, memory: &dyn Residency) -> Weigher {
        let mut weigher = Weigher::new(&self.geometry);
        let bits = self.geometry.offset_bits();
        for (block, role) in (0..).zip(&self.roles) {
            match role {
                Role::Log => weigher.opened(block),
                &Role::Data(lbn) => weigher.has_data(lbn, self.data[lbn as usize] != NO_BLOCK),
                Role::Free => {}
            }
        }
        for (page, &ppn) in (0..).zip(&*self.map) {
            weigher.knows(page, class_of(memory.lookup(page)));
            if ppn != UNMAPPED {
                weigher.appeared(page);
                if self.roles[(ppn >> bits) as usize] == Role::Log {
                    weigher.logged(ppn >> bits, page);
                }
            }
        }
        weigher
    }

    /// Puts every logical page in its data block, in order from block 0 on.
    pub(crate) fn fill(&mut self) -> Result<(), FtlError> {
        let b = self.b();
        for page in 0..self.geometry.logical_pages() {
            let lbn = page / b;
            if page % b == 0 {
                self.data[lbn as usize] = self.take(Role::Data(lbn))?;
            }
            self.place(self.data[lbn as usize], page % b, page);
        }
        // First contents do not count as programs.
        self.blocks.reset_clock();
        Ok(())
    }

    #[inline]
    pub(crate) fn b(&self) -> u32 {
        self.geometry.pages_per_block()
    }

    /// Logical pages of `lbn`: b, or fewer at the end of the drive.
    #[inline]
    pub(crate) fn pages_of(&self, lbn: u32) -> u32 {
        self.b().min(self.geometry.logical_pages() - lbn * self.b())
    }

    #[inline]
    fn ppn(&self, block: BlockId, offset: u32) -> u32 {
        (block << self.geometry.offset_bits()) | offset
    }

    #[inline]
    fn is_set(bits: &[u64], ppn: u32) -> bool {
        bits[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1
    }

    #[inline]
    pub(crate) fn is_live(&self, block: BlockId, offset: u32) -> bool {
        Self::is_set(&self.live, self.ppn(block, offset))
    }

    #[inline]
    pub(crate) fn is_written(&self, block: BlockId, offset: u32) -> bool {
        Self::is_set(&self.written, self.ppn(block, offset))
    }

    /// The logical page last written at this place.
    #[inline]
    pub(crate) fn page_at(&self, block: BlockId, offset: u32) -> u32 {
        self.reverse[block as usize * self.b() as usize + offset as usize]
    }

    /// Returns `true` if a write of this page goes to its data block: its slot there is erased.
    pub(crate) fn fits_data_block(&self, lbn: u32, offset: u32) -> bool {
        if self.log_only {
            return false;
        }
        match self.data[lbn as usize] {
            NO_BLOCK => true,
            block if self.strict_order => {
                (offset..self.b()).all(|later| !self.is_written(block, later))
            }
            block => !self.is_written(block, offset),
        }
    }

    /// Writes a page to its slot in its data block. The slot is erased.
    pub(crate) fn write_data(&mut self, lbn: u32, offset: u32) -> Result<(), FtlError> {
        if self.data[lbn as usize] == NO_BLOCK {
            let block = self.take(Role::Data(lbn))?;
            self.set_data(lbn, block);
        }
        self.place(self.data[lbn as usize], offset, lbn * self.b() + offset);
        Ok(())
    }

    /// Takes an erased block from the pool.
    pub(crate) fn take(&mut self, role: Role) -> Result<BlockId, FtlError> {
        let block = self
            .pool
            .take()
            .ok_or_else(|| FtlError::no_space("the pool of erased blocks is empty"))?;
        self.roles[block as usize] = role;
        if let (Role::Log, Some(weigher)) = (role, &mut self.weigher) {
            weigher.opened(block);
        }
        Ok(block)
    }

    fn set_data(&mut self, lbn: u32, block: BlockId) {
        self.data[lbn as usize] = block;
        if let Some(weigher) = &mut self.weigher {
            weigher.has_data(lbn, block != NO_BLOCK);
        }
    }

    /// Programs `page` at an erased place; its old copy, if there is one, dies.
    pub(crate) fn place(&mut self, block: BlockId, offset: u32, page: u32) {
        let ppn = self.ppn(block, offset);
        let old = std::mem::replace(&mut self.map[page as usize], ppn);
        if old == UNMAPPED {
            if let Some(weigher) = &mut self.weigher {
                weigher.appeared(page);
            }
        } else {
            self.bury(old, page);
        }
        let slot = block as usize * self.b() as usize + offset as usize;
        self.reverse[slot] = page;
        set_bits(&mut self.live, ppn as usize, 1);
        set_bits(&mut self.written, ppn as usize, 1);
        self.blocks.program(block, 1);
        self.blocks.tick(1);
        if let (Role::Log, Some(weigher)) = (self.roles[block as usize], &mut self.weigher) {
            weigher.logged(block, page);
        }
    }

    /// Forgets the flash copy of `page`. Returns `false` if there is none.
    pub(crate) fn unmap(&mut self, page: u32) -> bool {
        let old = std::mem::replace(&mut self.map[page as usize], UNMAPPED);
        if old == UNMAPPED {
            return false;
        }
        self.bury(old, page);
        if let Some(weigher) = &mut self.weigher {
            weigher.vanished(page);
        }
        true
    }

    /// The copy of `page` at `ppn` is no longer current.
    fn bury(&mut self, ppn: u32, page: u32) {
        let block = ppn >> self.geometry.offset_bits();
        self.live[(ppn >> 6) as usize] &= !(1 << (ppn & 63));
        self.blocks.counts_mut()[block as usize] -= 1;
        if let (Role::Log, Some(weigher)) = (self.roles[block as usize], &mut self.weigher) {
            weigher.unlogged(block, page);
        }
    }

    /// Erases a block without live pages and puts it into the pool.
    fn erase(&mut self, block: BlockId) {
        debug_assert_eq!(self.blocks.valid(block), 0, "block {block} has live pages");
        let (first, b) = (self.ppn(block, 0) as usize, self.b() as usize);
        for_words(first, b, |word, mask| self.written[word] &= !mask);
        self.counters.erases += self.blocks.erase(block);
        self.leave_log(block);
        self.roles[block as usize] = Role::Free;
        self.pool.put(block, self.blocks.erase_count(block));
    }

    /// Stops weighing `block`, if it is a log block.
    fn leave_log(&mut self, block: BlockId) {
        if let (Role::Log, Some(weigher)) = (self.roles[block as usize], &mut self.weigher) {
            weigher.released(block);
        }
    }

    /// A log block is full: it may be merged.
    pub(crate) fn close(&mut self, block: BlockId) {
        self.blocks.close(block);
    }

    /// The scheme's actions on cached pages, with memory as it is now.
    pub(crate) fn table(&self, memory: &dyn Residency) -> ClassTable {
        self.scheme.table(&self.costs, self.b(), memory)
    }

    /// Merges a log block of which the first `next` pages are programmed, in the cheapest possible
    /// way. If the log block holds all pages of a logical block in order, this is a switch merge;
    /// if it holds the first pages in order, a partial merge. Otherwise every logical block of
    /// which it has a current page is merged in full. A log block without current pages is only
    /// erased.
    pub(crate) fn merge(
        &mut self,
        log: BlockId,
        next: u32,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        let valid = self.blocks.valid(log);
        if self.blocks.is_candidate(log) {
            self.blocks.take(log);
        }
        self.counters.collections += 1;
        let decision = (u64::from(log) << 16) + u64::from(valid);
        // The digest takes one rotation, XOR and multiplication a decision, like the digest of the
        // page map.
        self.decisions =
            (self.decisions.rotate_left(23) ^ decision).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let table = self.table(memory);
        match self.in_order(log, next) {
            _ if valid == 0 => {
                self.merges.dead += 1;
                self.erase(log);
            }
            Some(lbn) => self.complete(log, lbn, next, &table, memory),
            None => {
                self.merges.full += 1;
                for offset in 0..next {
                    // Rebuilding a logical block leaves none of its pages in this log block.
                    if self.is_live(log, offset) {
                        let lbn = self.page_at(log, offset) / self.b();
                        self.rebuild(lbn, &table, memory)?;
                    }
                }
                self.erase(log);
            }
        }
        Ok(())
    }

    /// The logical block of which `log` holds the first `next` pages, all current, each at its
    /// offset; `None` if `log` holds other pages.
    fn in_order(&self, log: BlockId, next: u32) -> Option<u32> {
        if next == 0 || self.blocks.valid(log) != next {
            return None;
        }
        let first = self.page_at(log, 0);
        let in_order = (0..next).all(|offset| self.page_at(log, offset) == first + offset);
        let (lbn, offset) = (first / self.b(), first % self.b());
        (offset == 0 && in_order && next <= self.pages_of(lbn)).then_some(lbn)
    }

    /// Switch and partial merge: the rest of the pages of `lbn` joins those in `log`, which becomes
    /// the data block.
    fn complete(
        &mut self,
        log: BlockId,
        lbn: u32,
        next: u32,
        table: &ClassTable,
        memory: &mut dyn Residency,
    ) {
        let pages = self.pages_of(lbn);
        if next == pages {
            self.merges.switch += 1;
        } else {
            self.merges.partial += 1;
        }
        self.leave_log(log);
        self.roles[log as usize] = Role::Data(lbn);
        for offset in next..pages {
            let page = lbn * self.b() + offset;
            if self.map[page as usize] != UNMAPPED && self.keeps(page, table, memory) {
                self.place(log, offset, page);
            }
        }
        let old = self.data[lbn as usize];
        self.set_data(lbn, log);
        if old != NO_BLOCK {
            self.erase(old);
        }
    }

    /// Full merge of one logical block: its pages, wherever they are, go to a new data block.
    fn rebuild(
        &mut self,
        lbn: u32,
        table: &ClassTable,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        let mut new = NO_BLOCK;
        for offset in 0..self.pages_of(lbn) {
            let page = lbn * self.b() + offset;
            if self.map[page as usize] != UNMAPPED && self.keeps(page, table, memory) {
                if new == NO_BLOCK {
                    new = self.take(Role::Data(lbn))?;
                }
                self.place(new, offset, page);
            }
        }
        let old = self.data[lbn as usize];
        self.set_data(lbn, new);
        if old != NO_BLOCK {
            self.erase(old);
        }
        Ok(())
    }

    /// Applies the scheme to `page`, which is on flash. Returns `true` if the page must be
    /// programmed.
    fn keeps(&mut self, page: u32, table: &ClassTable, memory: &mut dyn Residency) -> bool {
        if self.scheme.is_unaware() {
            self.counters.copied_pages += 1;
            return true;
        }
        let state = memory.lookup(page);
        match table.action(state) {
            Action::Copy => self.counters.copied_pages += 1,
            Action::Flush => {
                memory.set_dirty(page, false);
                self.counters.host_pages += 1;
                self.duplicates.flushed += 1;
            }
            Action::Skip => {
                self.unmap(page);
                if state.is_some_and(|state| state.dirty) {
                    self.duplicates.left_dirty += 1;
                } else {
                    memory.set_dirty(page, true);
                    self.duplicates.made_dirty += 1;
                }
                return false;
            }
        }
        true
    }

    /// C_GC, the cost of all collections so far, in nanoseconds.
    pub(crate) fn collection_cost(&self) -> u64 {
        self.costs.collections(&self.counters, &self.duplicates)
    }
}
