//! MultiLog. Only its chance is copied from the engine: a hash of page and time.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

pub struct MultiLog {
    levels: usize,
    pages_per_block: usize,
    coldest: usize,
    /// The level of each page with data.
    level: BTreeMap<u32, usize>,
    written: BTreeMap<u32, u64>,
    /// For each level, the valid pages and the pages of the blocks that were collected.
    kept: Vec<Vec<(usize, usize)>>,
}

impl MultiLog {
    pub fn new(levels: usize, pages_per_block: usize) -> Self {
        let (level, written) = Default::default();
        Self { levels, pages_per_block, coldest: 0, level, written, kept: vec![vec![]; levels] }
    }

    fn valid(&self, level: usize) -> usize {
        self.level.values().filter(|&&its| its == level).count()
    }
}

fn draw(page: u32, host: u64) -> f64 {
    let mix = |hash: u64, shift: u32, factor: u64| (hash ^ (hash >> shift)).wrapping_mul(factor);
    let hash = (u64::from(page) << 40) ^ host.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = mix(mix(hash, 30, 0xbf58_476d_1ce4_e5b9), 27, 0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / 2f64.powi(53)
}

impl NaiveRule for MultiLog {
    fn classes(&self) -> usize {
        self.levels
    }

    fn takes_copies(&self, class: usize) -> bool {
        class > 0
    }

    fn host(&self, page: u32, _: Option<u8>, old: Option<usize>, now: Time) -> usize {
        let Some(level) = old else { return 0 };
        let Some(last) = self.written.get(&page) else { return level };
        if level == 0 || self.kept[level].is_empty() {
            return level;
        }
        let pages: usize = self.kept[level].iter().map(|&(_, pages)| pages).sum();
        let valid: usize = self.kept[level].iter().map(|&(valid, _)| valid).sum();
        let share = valid as f64 / pages as f64;
        let expected = self.valid(level) as f64 * share / 2.0;
        let chance = 1.0 - (now.host - last) as f64 / expected;
        if draw(page, now.host) < chance { level - 1 } else { level }
    }

    fn copy(&self, _: u32, from: usize, _: bool, _: Time) -> usize {
        (from + 1).min(self.coldest.max(1))
    }

    fn holds(&mut self, page: u32) {
        self.level.insert(page, 0);
    }

    fn wrote(&mut self, page: u32, to: usize, now: Time) {
        self.level.insert(page, to);
        self.written.insert(page, now.host - 1);
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.level.remove(&page);
        self.written.remove(&page);
    }

    fn copied(&mut self, page: u32, _: usize, to: usize, _: Time) {
        self.level.insert(page, to);
    }

    fn collected(&mut self, class: usize, _: Time, valid: (usize, usize), _: Time) {
        self.kept[class].push(valid);
        if self.valid(self.coldest) >= self.pages_per_block && self.coldest + 1 < self.levels {
            self.coldest += 1;
        }
    }
}
