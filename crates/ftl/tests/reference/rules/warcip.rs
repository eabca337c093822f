//! WARCIP, with lists of intervals.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

#[derive(Default)]
pub struct Warcip {
    pub classes: usize,
    /// Writes of a window, and pages of a block.
    pub window: usize,
    pub pages_per_block: usize,
    /// Centres of the clusters in use.
    pub centres: BTreeMap<usize, f64>,
    /// Intervals of the writes to each class since its block was opened.
    pub intervals: BTreeMap<usize, Vec<u64>>,
    /// The classes of all writes.
    pub writes: Vec<usize>,
    pub written: BTreeMap<u32, u64>,
    pub copied: BTreeMap<u32, u64>,
}

impl Warcip {
    fn interval(&self, page: u32, number: u64) -> u64 {
        let Some(&written) = self.written.get(&page) else { return 0 };
        number - written + self.copied.get(&page).map_or(0, |copied| copied - written)
    }

    fn regroup(&mut self) {
        let last = &self.writes[self.writes.len() - self.window..];
        let writes = |class: usize| last.iter().filter(|&&its| its == class).count();
        let classes: Vec<usize> = self.centres.keys().copied().collect();
        let crowded = classes.iter().find(|&&class| 2 * writes(class) > self.window);
        let free = (0..self.classes - 1).find(|class| !classes.contains(class));
        if let (Some(crowded), Some(free)) = (crowded, free) {
            let centre = self.centres[crowded];
            let mut centres: Vec<f64> = self.centres.values().copied().collect();
            centres.sort_by(f64::total_cmp);
            let below = centres.into_iter().rfind(|&below| below < centre).unwrap_or(0.0);
            self.centres.insert(free, (below + centre) / 2.0);
            self.intervals.remove(&free);
        } else if let Some(few) =
            classes.iter().find(|&&class| writes(class) < self.pages_per_block)
        {
            self.centres.remove(few);
        }
    }
}

impl NaiveRule for Warcip {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, class: usize) -> bool {
        class + 1 == self.classes
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        let interval = self.interval(page, now.host) as f64;
        let far = |centre: f64| (centre - interval).abs();
        let nearest = self.centres.iter().rev().min_by(|a, b| far(*a.1).total_cmp(&far(*b.1)));
        *nearest.unwrap().0
    }

    fn copy(&self, _: u32, _: usize, _: bool, _: Time) -> usize {
        self.classes - 1
    }

    fn wrote(&mut self, page: u32, to: usize, now: Time) {
        let number = now.host - 1;
        let interval = self.interval(page, number);
        self.written.insert(page, number);
        self.copied.remove(&page);
        let intervals = self.intervals.entry(to).or_default();
        intervals.push(interval);
        self.centres.insert(to, intervals.iter().sum::<u64>() as f64 / intervals.len() as f64);
        self.writes.push(to);
        if self.writes.len().is_multiple_of(self.window) {
            self.regroup();
        }
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.written.remove(&page);
        self.copied.remove(&page);
    }

    fn copied(&mut self, page: u32, _: usize, _: usize, now: Time) {
        if self.written.contains_key(&page) {
            self.copied.insert(page, now.host);
        }
    }

    fn opened(&mut self, class: usize) {
        self.intervals.remove(&class);
    }
}
