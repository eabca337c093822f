//! DAC, and its zombie block.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

#[derive(Default)]
pub struct Dac {
    pub regions: usize,
    pub threshold: u64,
    pub zombie_block: bool,
    /// The time of the host's last write of each page.
    pub written: BTreeMap<u32, u64>,
    /// The region of each page that was copied to the zombie block.
    pub left: BTreeMap<u32, usize>,
}

impl Dac {
    fn is_young(&self, page: u32, now: Time) -> bool {
        now.programs - self.written.get(&page).copied().unwrap_or(0) < self.threshold
    }

    fn region(&self, page: u32, class: usize) -> usize {
        if class < self.regions {
            class
        } else if self.threshold == 0 {
            self.regions - 1
        } else {
            self.left[&page]
        }
    }
}

impl NaiveRule for Dac {
    fn classes(&self) -> usize {
        self.regions + usize::from(self.zombie_block)
    }

    fn takes_copies(&self, class: usize) -> bool {
        // Without a threshold every copy goes down, to the zombie block or stays at the bottom.
        self.threshold > 0 || self.regions == 1 || class != self.regions - 1
    }

    fn asks_for_zombies(&self) -> bool {
        self.zombie_block
    }

    fn host(&self, page: u32, _: Option<u8>, old: Option<usize>, now: Time) -> usize {
        match old.map(|class| self.region(page, class)) {
            None => 0,
            Some(region) if self.threshold == 0 || self.is_young(page, now) => {
                (region + 1).min(self.regions - 1)
            }
            Some(region) => region,
        }
    }

    fn copy(&self, page: u32, from: usize, zombie: bool, now: Time) -> usize {
        let region = self.region(page, from);
        if zombie && self.zombie_block {
            self.regions
        } else if self.threshold == 0 || !self.is_young(page, now) {
            region.saturating_sub(1)
        } else {
            region
        }
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        self.written.insert(page, now.programs);
    }

    fn copied(&mut self, page: u32, from: usize, to: usize, _: Time) {
        if from < self.regions && to == self.regions {
            self.left.insert(page, from);
        }
    }
}
