//! The naive drive with DAC and with zombies: an open block a region, all of them from the pool.

use std::collections::{BTreeMap, BTreeSet};

use super::{Frontier, Pick, Reference};

/// DAC on a naive drive.
#[derive(Clone, Default)]
pub struct Dac {
    pub regions: usize,
    pub threshold: u64,
    pub zombie_block: bool,
    /// The open block of each region and, behind them, of zombies.
    pub open: Vec<Option<usize>>,
    /// For which of them each block was opened.
    pub opened_for: BTreeMap<usize, usize>,
    /// When the host last wrote each page.
    pub written: BTreeMap<u32, u64>,
}

impl Dac {
    /// Reads `dac:regions=3,threshold=0,zombie-block=yes`, in which nothing may be left out.
    pub fn parse(spec: &str) -> Option<Self> {
        let value = |key| spec.split([':', ',']).find_map(|p| p.strip_prefix(key));
        let regions: usize = value("regions=")?.parse().ok()?;
        let zombie_block = value("zombie-block=")? == "yes";
        Some(Self {
            regions,
            threshold: value("threshold=")?.parse().ok()?,
            zombie_block,
            open: vec![None; regions + usize::from(zombie_block)],
            ..Self::default()
        })
    }

    fn region(&self, block: usize) -> usize {
        self.opened_for.get(&block).copied().unwrap_or(0).min(self.regions - 1)
    }

    fn is_young(&self, page: u32, now: u64) -> bool {
        now - self.written.get(&page).copied().unwrap_or(0) < self.threshold
    }

    fn of_update(&self, page: u32, block: Option<usize>, now: u64) -> usize {
        match block.map(|block| self.region(block)) {
            None => 0,
            Some(region) if self.threshold == 0 || self.is_young(page, now) => {
                (region + 1).min(self.regions - 1)
            }
            Some(region) => region,
        }
    }

    fn of_copy(&self, page: u32, block: usize, zombie: bool, now: u64) -> usize {
        let region = self.region(block);
        if zombie && self.zombie_block {
            self.regions
        } else if self.threshold == 0 || !self.is_young(page, now) {
            region.saturating_sub(1)
        } else {
            region
        }
    }

    /// Erased blocks kept in the pool beside the low-water mark: one for each place that copies may
    /// go to, but the first.
    fn more(&self) -> usize {
        let cooler = if self.threshold == 0 && self.regions > 1 { 1 } else { 0 };
        self.regions - cooler + usize::from(self.zombie_block) - 1
    }

    /// Blocks that hold no host data, but for the low-water mark.
    pub fn kept(&self) -> usize {
        self.open.len() + self.more()
    }
}

impl Reference {
    /// Makes the fresh drive one with this DAC.
    pub fn place(&mut self, mut dac: Dac) {
        dac.open[0] = self.host.take();
        self.dac = Some(dac);
    }

    pub fn hint(&mut self, page: u32) {
        if self.map.contains_key(&page) {
            self.zombies.insert(page);
        }
    }

    /// Zombies of every block.
    pub fn zombie_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.blocks.len()];
        for page in &self.zombies {
            counts[self.map[page].0] += 1;
        }
        counts
    }

    pub(super) fn write_placed(&mut self, page: u32, pick: Pick) {
        loop {
            let dac = self.dac.as_ref().unwrap();
            let region = dac.of_update(page, self.map.get(&page).map(|place| place.0), self.now());
            if self.room(dac.open[region]) > 0 {
                let old = self.map.get(&page).copied();
                self.program(dac.open[region].unwrap(), page);
                let now = self.now();
                self.dac.as_mut().unwrap().written.insert(page, now);
                return self.lose(page, old);
            }
            self.make_room_for(region, pick);
        }
    }

    fn make_room_for(&mut self, region: usize, pick: Pick) {
        let Frontier::Pool(low) = self.frontier else { panic!("DAC takes blocks from a pool") };
        let water = low + self.dac.as_ref().unwrap().more();
        let full = self.dac.as_mut().unwrap().open[region].take();
        self.close(full);
        loop {
            let is_full = self.room(self.dac.as_ref().unwrap().open[region]) == 0;
            if self.pool.len() >= water + usize::from(is_full) {
                break;
            }
            let zombies: BTreeSet<u32> = self.zombies.clone();
            let (victim, pages) = self.victim(pick);
            for page in pages {
                let dac = self.dac.as_ref().unwrap();
                let to = dac.of_copy(page, victim, zombies.contains(&page), self.now());
                if self.room(dac.open[to]) == 0 {
                    self.open(to);
                }
                self.program(self.dac.as_ref().unwrap().open[to].unwrap(), page);
            }
            self.pool.push_back(victim);
        }
        if self.room(self.dac.as_ref().unwrap().open[region]) == 0 {
            self.open(region);
        }
    }

    /// Closes the open block there and takes one from the pool.
    fn open(&mut self, region: usize) {
        let full = self.dac.as_mut().unwrap().open[region].take();
        self.close(full);
        let block = self.erased_block().unwrap();
        let dac = self.dac.as_mut().unwrap();
        dac.open[region] = Some(block);
        dac.opened_for.insert(block, region);
    }
}
