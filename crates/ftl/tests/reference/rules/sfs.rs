//! SFS, with the data of every page and no sums.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

/// A segment: first contents by their number, or the pages that a class takes after it has opened
/// this number of blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    First(u32),
    Of(usize, usize),
}

#[derive(Default)]
pub struct Sfs {
    pub classes: usize,
    pub pages: u32,
    pub pages_per_block: u32,
    /// Writes from one computation to the next.
    pub window: u64,
    /// The times of all writes of each page with data, and its segment.
    pub held: BTreeMap<u32, (Vec<u64>, Segment)>,
    /// The number of blocks that each class has opened.
    pub opened: BTreeMap<usize, usize>,
    /// The centres, from hot to cold.
    pub centres: Vec<f64>,
}

impl Sfs {
    fn time(&self, now: Time) -> u64 {
        u64::from(self.pages) + now.host
    }

    /// The segment that the class fills.
    fn filled(&self, class: usize) -> Segment {
        Segment::Of(class, self.opened.get(&class).copied().unwrap_or(0))
    }

    fn nearest(&self, hotness: f64) -> usize {
        let far = |&class: &usize| (self.centres[class] - hotness).abs();
        (0..self.centres.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
    }

    fn class(&self, page: u32, now: Time) -> usize {
        let Some((times, _)) = self.held.get(&page) else { return 0 };
        self.nearest(times.len() as f64 / (self.time(now) - times.last().unwrap()) as f64)
    }

    fn find_centres(&mut self, now: Time) {
        let mut segments: BTreeMap<Segment, Vec<&Vec<u64>>> = BTreeMap::new();
        for (times, segment) in self.held.values() {
            if (0..self.classes).all(|class| self.filled(class) != *segment) {
                segments.entry(*segment).or_default().push(times);
            }
        }
        let hotness = |pages: &Vec<&Vec<u64>>| {
            let writes: usize = pages.iter().map(|times| times.len()).sum();
            let ages: u64 = pages.iter().map(|times| self.time(now) - times.last().unwrap()).sum();
            writes as f64 / ages as f64
        };
        let mut all: Vec<f64> = segments.values().map(hotness).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        if all.len() < self.classes {
            return;
        }
        let middle = |class| (2 * class + 1) * all.len() / (2 * self.classes);
        self.centres = (0..self.classes).map(|class| all[middle(class)]).collect();
        for _ in 0..3 {
            let mut groups = vec![vec![]; self.classes];
            all.iter().for_each(|&one| groups[self.nearest(one)].push(one));
            for (centre, group) in self.centres.iter_mut().zip(groups) {
                if !group.is_empty() {
                    *centre = group.iter().sum::<f64>() / group.len() as f64;
                }
            }
            self.centres.sort_by(|a, b| b.total_cmp(a));
        }
    }
}

impl NaiveRule for Sfs {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, _: usize) -> bool {
        true
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        self.class(page, now)
    }

    fn copy(&self, page: u32, _: usize, _: bool, now: Time) -> usize {
        self.class(page, now)
    }

    fn holds(&mut self, page: u32) {
        self.held.insert(page, (vec![page.into()], Segment::First(page / self.pages_per_block)));
    }

    fn wrote(&mut self, page: u32, to: usize, now: Time) {
        let mut times = self.held.remove(&page).map_or(vec![], |(times, _)| times);
        times.push(self.time(now) - 1);
        self.held.insert(page, (times, self.filled(to)));
        if now.host.is_multiple_of(self.window) {
            self.find_centres(now);
        }
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.held.remove(&page);
    }

    fn copied(&mut self, page: u32, _: usize, to: usize, _: Time) {
        let segment = self.filled(to);
        self.held.get_mut(&page).unwrap().1 = segment;
    }

    fn opened(&mut self, class: usize) {
        *self.opened.entry(class).or_default() += 1;
    }
}
