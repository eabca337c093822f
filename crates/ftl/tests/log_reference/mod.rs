//! The naive reference of the log-block mappings: blocks as lists of the pages programmed into
//! them. Every question is answered by a look at all of them. It keeps the data themselves (a
//! version a page), so that a stale page is seen. It shares no code with the engine.

use std::collections::{BTreeMap, VecDeque};

use flashgc_base::{Cached, Region, Residency};

use crate::page_cache::{Cache, Fate};

/// The content of a place: a page and the version of its data.
type Slot = Option<(u32, u64)>;

#[derive(Clone)]
pub struct Naive {
    pub fast: bool,
    pub sequential: bool,
    pub by_cost: bool,
    /// For BAST, `true` if a write moves its log block behind the others.
    pub by_use: bool,
    pub log_only: bool,
    pub strict: bool,
    /// `true` if the pool gives the least worn block, and of several the one that came first.
    pub by_wear: bool,
    pub scheme: String,
    pub window: usize,
    b: u32,
    u: u32,
    most: usize,
    blocks: Vec<Vec<Slot>>,
    pool: VecDeque<usize>,
    /// The number of erases of each block.
    worn: Vec<u32>,
    data: BTreeMap<u32, usize>,
    /// Log blocks, the first to merge first: FAST's random ones, or BAST's.
    logs: Vec<usize>,
    /// FAST's sequential log block and its logical block.
    one: Option<(usize, u32)>,
    /// The place of the current copy of each page.
    pub places: BTreeMap<u32, (usize, usize)>,
    pub erases: u64,
    pub copies: u64,
    /// The numbers of switch, partial and full merges, and of log blocks that held no current page.
    pub merges: [u64; 4],
}

impl Naive {
    pub fn new(blocks: usize, b: u32, u: u32, log_blocks: usize, filled: bool) -> Self {
        let mut drive = Self {
            fast: true,
            sequential: true,
            by_cost: false,
            by_use: true,
            log_only: false,
            strict: false,
            by_wear: false,
            scheme: "du-gc".to_string(),
            window: usize::MAX,
            b,
            u,
            most: log_blocks,
            blocks: vec![Vec::new(); blocks],
            pool: (0..blocks).collect(),
            worn: vec![0; blocks],
            data: BTreeMap::new(),
            logs: Vec::new(),
            one: None,
            places: BTreeMap::new(),
            erases: 0,
            copies: 0,
            merges: [0; 4],
        };
        for page in (0..u).filter(|_| filled) {
            if page % b == 0 {
                let block = drive.take();
                drive.data.insert(page / b, block);
            }
            drive.program(drive.data[&(page / b)], (page % b) as usize, page, 0);
        }
        drive
    }

    fn program(&mut self, block: usize, offset: usize, page: u32, version: u64) {
        let slots = &mut self.blocks[block];
        slots.resize(slots.len().max(offset + 1), None);
        assert!(slots[offset].is_none(), "programmed twice");
        slots[offset] = Some((page, version));
        self.places.insert(page, (block, offset));
    }

    fn append(&mut self, block: usize, page: u32, version: u64) {
        self.program(block, self.blocks[block].len(), page, version);
    }

    fn erase(&mut self, block: usize) {
        assert!(self.places.values().all(|&(other, _)| other != block), "erased live pages");
        self.blocks[block].clear();
        self.erases += 1;
        self.worn[block] += 1;
        self.pool.push_back(block);
    }

    /// Takes an erased block from the pool.
    fn take(&mut self) -> usize {
        let least = (0..self.pool.len()).min_by_key(|&at| self.worn[self.pool[at]]).unwrap();
        self.pool.remove(if self.by_wear { least } else { 0 }).unwrap()
    }

    /// The version of `page` on flash.
    pub fn read(&self, page: u32) -> Option<u64> {
        let &(block, offset) = self.places.get(&page)?;
        let (holder, version) = self.blocks[block][offset].unwrap();
        assert_eq!(holder, page);
        Some(version)
    }

    pub fn trim(&mut self, page: u32) {
        self.places.remove(&page);
    }

    /// Current pages of a log block, in order.
    fn current(&self, block: usize) -> Vec<u32> {
        let slots = self.blocks[block].iter().enumerate();
        slots
            .filter_map(|(offset, slot)| {
                let (page, _) = (*slot)?;
                (self.places.get(&page) == Some(&(block, offset))).then_some(page)
            })
            .collect()
    }

    fn pages_of(&self, lbn: u32) -> std::ops::Range<u32> {
        lbn * self.b..((lbn + 1) * self.b).min(self.u)
    }

    pub fn write(&mut self, page: u32, version: u64, cache: &mut Cache) {
        let (lbn, offset) = (page / self.b, (page % self.b) as usize);
        let free = self.data.get(&lbn).is_none_or(|&block| {
            let slots = &self.blocks[block];
            if self.strict {
                slots.len() <= offset
            } else {
                slots.get(offset).is_none_or(Option::is_none)
            }
        });
        if free && !self.log_only {
            if !self.data.contains_key(&lbn) {
                let block = self.take();
                self.data.insert(lbn, block);
            }
            self.program(self.data[&lbn], offset, page, version);
        } else if self.fast {
            self.write_fast(page, version, cache);
        } else {
            self.write_bast(page, version, cache);
        }
    }

    fn write_fast(&mut self, page: u32, version: u64, cache: &mut Cache) {
        let (lbn, offset) = (page / self.b, (page % self.b) as usize);
        if self.sequential && offset == 0 {
            if let Some((block, _)) = self.one.take() {
                self.merge(block, cache);
            }
            self.one = Some((self.take(), lbn));
        }
        match self.one {
            Some((block, owner)) if owner == lbn && self.blocks[block].len() == offset => {
                self.append(block, page, version);
                if self.blocks[block].len() == self.pages_of(lbn).len() {
                    self.one = None;
                    self.merge(block, cache);
                }
                return;
            }
            Some((block, owner)) if owner == lbn => {
                self.one = None;
                self.merge(block, cache);
            }
            _ => {}
        }
        let full = |drive: &Self| {
            drive.logs.last().is_none_or(|&last| drive.blocks[last].len() == drive.b as usize)
        };
        if full(self) {
            if self.logs.len() == self.most - usize::from(self.sequential) {
                let victim = self.choose(cache);
                self.logs.retain(|&block| block != victim);
                self.merge(victim, cache);
            }
            let block = self.take();
            self.logs.push(block);
        }
        self.append(*self.logs.last().unwrap(), page, version);
    }

    fn write_bast(&mut self, page: u32, version: u64, cache: &mut Cache) {
        let lbn = page / self.b;
        let of = |drive: &Self| {
            let first = |block: usize| drive.blocks[block][0].unwrap().0;
            drive.logs.iter().copied().find(|&block| first(block) / drive.b == lbn)
        };
        if let Some(block) = of(self).filter(|&block| self.blocks[block].len() == self.b as usize) {
            self.logs.retain(|&other| other != block);
            self.merge(block, cache);
        } else if of(self).is_none() && self.logs.len() == self.most {
            let victim = self.choose(cache);
            self.logs.retain(|&other| other != victim);
            self.merge(victim, cache);
        }
        let block = of(self);
        if self.by_use {
            self.logs.retain(|&other| Some(other) != block);
        }
        let target = block.unwrap_or_else(|| self.take());
        if self.by_use || block.is_none() {
            self.logs.push(target);
        }
        self.append(target, page, version);
    }

    /// The log block to merge: the first, or by cost the cheapest of the window. The costs are
    /// computed anew from all pages of the data blocks associated with each log block.
    fn choose(&self, cache: &Cache) -> usize {
        if !self.by_cost {
            return self.logs[0];
        }
        let total = |&block: &usize| -> f64 {
            let mut lbns: Vec<u32> = self.current(block).iter().map(|page| page / self.b).collect();
            lbns.sort();
            lbns.dedup();
            let erases = 1 + lbns.iter().filter(|lbn| self.data.contains_key(lbn)).count();
            let pages = lbns.iter().flat_map(|&lbn| self.pages_of(lbn));
            let on_flash = pages.filter(|page| self.places.contains_key(page));
            let cost: f64 = on_flash.map(|page| self.cost(cache.lookup(page), cache)).sum();
            erases as f64 * 2000.0 + cost
        };
        let window = &self.logs[..self.window.min(self.logs.len())];
        let mut best = window[0];
        for block in window {
            if total(block) < total(&best) {
                best = *block;
            }
        }
        best
    }

    /// Microseconds that moving a page in this state costs, by Eqs. 1 to 7.
    fn cost(&self, state: Option<Cached>, cache: &Cache) -> f64 {
        let later = 200.0 + 25.0 + 200.0 + 2000.0 / f64::from(self.b);
        let Some(Cached { dirty, region }) = state else { return 225.0 };
        let rest = 1.0 - cache.chances[region as usize];
        match (self.scheme.as_str(), dirty, region) {
            ("du-gc", ..) => 225.0,
            ("ba-gc", false, _) => 225.0,
            ("ba-gc", true, _) => 250.0 - rest * later,
            ("lda-p", false, _) => f64::min(225.0, rest * later),
            ("lda-p", true, _) => f64::min(0.0, 250.0 - rest * later),
            ("lda-gc2" | "lda-gc3" | "lda-gc4" | "lda-gc5", false, Region::Lru) => 225.0,
            ("lda-gc4" | "lda-gc5", true, Region::Lru) => 250.0 - rest * later,
            (_, false, _) => rest * later,
            (_, true, _) => 0.0,
        }
    }

    fn merge(&mut self, log: usize, cache: &mut Cache) {
        let current = self.current(log);
        if current.is_empty() {
            self.merges[3] += 1;
            self.erase(log);
            return;
        }
        let lbn = current[0] / self.b;
        let pages = self.pages_of(lbn);
        let start: Vec<u32> = pages.clone().take(self.blocks[log].len()).collect();
        if current == start && current.len() == self.blocks[log].len() {
            self.merges[usize::from(start.len() < pages.len())] += 1;
            for page in pages.skip(start.len()) {
                if let Some(version) = self.keep(page, cache) {
                    self.program(log, (page % self.b) as usize, page, version);
                }
            }
            if let Some(old) = self.data.insert(lbn, log) {
                self.erase(old);
            }
            return;
        }
        self.merges[2] += 1;
        let mut lbns: Vec<u32> = Vec::new();
        for page in current {
            if !lbns.contains(&(page / self.b)) {
                lbns.push(page / self.b);
            }
        }
        for lbn in lbns {
            let mut new = None;
            for page in self.pages_of(lbn) {
                if let Some(version) = self.keep(page, cache) {
                    let block = *new.get_or_insert_with(|| self.take());
                    self.program(block, (page % self.b) as usize, page, version);
                }
            }
            let old = match new {
                Some(new) => self.data.insert(lbn, new),
                None => self.data.remove(&lbn),
            };
            if let Some(old) = old {
                self.erase(old);
            }
        }
        self.erase(log);
    }

    /// The data to program for `page`, if it is on flash and to be kept there.
    fn keep(&mut self, page: u32, cache: &mut Cache) -> Option<u64> {
        let version = self.read(page)?;
        match cache.collect(page, &self.scheme, self.b) {
            Fate::Copied => {
                self.copies += 1;
                Some(version)
            }
            Fate::Flushed => Some(VERSION_IN_MEMORY),
            Fate::LeftOut => {
                self.places.remove(&page);
                None
            }
        }
    }

    /// Fills in the versions of the pages that were written from memory.
    pub fn settle(&mut self, latest: &BTreeMap<u32, u64>) {
        for slot in self.blocks.iter_mut().flatten().flatten() {
            if slot.1 == VERSION_IN_MEMORY {
                slot.1 = latest.get(&slot.0).copied().unwrap_or(0);
            }
        }
    }
}

/// Stands for the version in memory until [`Naive::settle`].
const VERSION_IN_MEMORY: u64 = u64::MAX;
