//! MiDAS without its model: a chain of groups of fixed sizes, or the groups of the fallback.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

pub struct Midas {
    pub groups: usize,
    /// The full blocks that a group before the last may have; `None` for the fallback.
    pub size: Option<usize>,
    pub has_hot: bool,
    /// Groups before the last one, and `true` for the fallback.
    kept: usize,
    plain: bool,
    /// The page's block, for each page with data.
    block_of: BTreeMap<u32, usize>,
    /// The group of each block with data, and the class that each open block is for.
    group: BTreeMap<usize, usize>,
    open: BTreeMap<usize, usize>,
    /// Full blocks of groups before the last, in the order in which they were filled.
    order: Vec<usize>,
    /// The host writes when each block was full.
    full: BTreeMap<usize, u64>,
    /// The block collected last, its group, and the class of its copies.
    victim: (usize, Option<usize>, usize),
    last: usize,
    counters: BTreeMap<u32, u8>,
    cold: u32,
    window: u64,
    left: u64,
    /// The ages of collected hot blocks.
    ages: Vec<u64>,
}

impl Midas {
    pub fn new(groups: usize, size: Option<usize>, has_hot: bool, pages: u32) -> Self {
        let kept = if size.is_some() { groups - 1 } else { 1 };
        Self {
            groups,
            size,
            has_hot,
            kept,
            plain: size.is_none(),
            block_of: BTreeMap::new(),
            group: BTreeMap::new(),
            open: BTreeMap::new(),
            order: vec![],
            full: BTreeMap::new(),
            victim: (usize::MAX, None, groups - 1),
            last: 0,
            counters: BTreeMap::new(),
            cold: pages,
            window: pages.into(),
            left: pages.into(),
            ages: vec![],
        }
    }

    /// The group of a block that is opened for `class`.
    fn of_class(&self, class: usize) -> usize {
        match () {
            () if class < self.kept => class,
            () if self.plain => class.min(self.kept + 3).min(self.groups - 1),
            () => self.groups - 1,
        }
    }

    /// The change of the counter of `page` by a write at `now`.
    fn changed(&self, page: u32, now: u64) -> u8 {
        let counter = self.counters.get(&page).copied().unwrap_or(0);
        let Some(block) = self.block_of.get(&page).filter(|_| self.cold == 0) else {
            return counter;
        };
        let age = self.full.get(block).map_or(0, |full| now - full);
        match self.group.get(block) {
            Some(0) => 3.min(counter + 1),
            Some(1) if age <= self.window => 3.min(counter + 1),
            Some(1) => counter.max(1) - 1,
            _ => counter,
        }
    }

    fn merge(&mut self, group: usize) {
        let (old, was_plain) = (self.kept, self.plain);
        self.kept = group.clamp(1, old);
        self.plain = true;
        for group in self.group.values_mut() {
            if *group >= self.kept {
                let copies = if *group >= old && was_plain { *group - old } else { 0 };
                *group = (self.kept + copies).min(self.groups - 1);
            }
        }
        for (&class, &block) in &self.open {
            self.group.insert(block, self.of_class(class));
        }
        self.order.retain(|block| self.group[block] < self.kept);
    }
}

impl NaiveRule for Midas {
    fn classes(&self) -> usize {
        self.groups
    }

    fn takes_copies(&self, class: usize) -> bool {
        class >= 1
    }

    fn copy_classes(&self) -> usize {
        1
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        usize::from(!self.has_hot || self.changed(page, now.host) < 3)
    }

    fn copy(&self, page: u32, _: usize, _: bool, _: Time) -> usize {
        let (block, _, target) = self.victim;
        if self.block_of[&page] == block { target } else { self.of_class(self.groups - 1) }
    }

    fn lies(&mut self, page: u32, block: usize, begins: bool) {
        self.block_of.insert(page, block);
        if begins {
            self.group.insert(block, if self.size.is_some() { self.groups - 1 } else { 1 });
            self.full.insert(block, 0);
        }
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        if !self.has_hot || !self.block_of.contains_key(&page) {
            return;
        }
        if self.cold > 0 {
            self.cold -= 1;
            return;
        }
        let counter = self.changed(page, now.host - 1);
        self.counters.insert(page, counter);
        self.left = self.left.max(1) - 1;
        if self.left == 0 && !self.ages.is_empty() {
            let mean = self.ages.iter().sum::<u64>() as f64 / self.ages.len() as f64;
            let before = self.window as f64;
            let next = if mean >= 2.0 * before { before * 1.5 } else { (mean + before) / 2.0 };
            self.window = next as u64;
            self.left = self.window.max(1) - 1;
            self.ages.clear();
        }
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.block_of.remove(&page);
    }

    fn copied(&mut self, page: u32, _: usize, _: usize, _: Time) {
        let counter = self.counters.entry(page).or_default();
        match self.victim {
            _ if self.cold > 0 => {}
            (block, Some(0), _) if self.block_of[&page] == block => *counter = 2.max(*counter) - 2,
            (block, Some(1), _) if self.block_of[&page] == block => *counter = 1.max(*counter) - 1,
            _ => {}
        }
    }

    fn opened_at(&mut self, class: usize, block: usize, now: Time) {
        if let Some(full) = self.open.insert(class, block) {
            self.full.insert(full, now.host);
            if self.group[&full] < self.kept {
                self.order.push(full);
            }
        }
        self.group.insert(block, self.of_class(class));
        self.full.remove(&block);
    }

    fn leaves(&self, class: usize) -> bool {
        self.of_class(class) != class
    }

    fn closed_at(&mut self, class: usize, block: usize, now: Time) {
        self.open.remove(&class);
        self.full.insert(block, now.host);
    }

    fn collected_at(&mut self, block: usize, now: Time) {
        let group = self.group.remove(&block);
        let next = |group: usize| self.of_class((group + 1).min(self.groups - 1));
        self.victim = (block, group, next(group.unwrap_or(self.groups - 1)));
        self.order.retain(|&one| one != block);
        self.open.retain(|_, open| *open != block);
        if group == Some(0) {
            self.ages.push(self.full.get(&block).map_or(0, |full| now.host - full));
        }
        if let Some(group) = group {
            self.last = group.min(self.kept);
        }
    }

    fn keeps(&self, block: usize) -> bool {
        self.kept > 1 && self.group.get(&block).is_some_and(|&group| group < self.kept)
    }

    fn next(&mut self, fruitless: usize) -> Option<usize> {
        if fruitless > 0 && fruitless.is_multiple_of(25) && self.kept > 1 {
            self.merge(self.last.min(self.kept - 1));
        }
        let size = self.size.filter(|_| self.kept > 1)?;
        let of = |group: usize| -> Vec<usize> {
            self.order.iter().copied().filter(|block| self.group[block] == group).collect()
        };
        let over = (0..self.kept).find(|&group| of(group).len() > size)?;
        of(over).first().copied()
    }

    fn give_up(&mut self) {
        self.merge(1);
    }
}
