//! Grouping by death time, with a list of all writes of each page.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

pub struct Gdt {
    pub classes: usize,
    pub pages: u32,
    /// The stamps of each page with data, the oldest first.
    pub stamps: BTreeMap<u32, Vec<u64>>,
}

impl Gdt {
    fn time(&self, now: Time) -> u64 {
        u64::from(self.pages) + now.host
    }

    /// Class 0 lasts a unit, every other twice as long as the one before.
    fn class(&self, left: u64) -> usize {
        let unit = (2 * u64::from(self.pages) / (1 << (self.classes - 1))).max(1);
        let mut ends = unit;
        for class in 0..self.classes - 1 {
            if left < ends {
                return class;
            }
            ends = 2 * ends + unit;
        }
        self.classes - 1
    }

    /// The class at `time` of the data of a page that was written at `stamps`. The last write wrote
    /// them.
    fn class_of(&self, stamps: &[u64], time: u64) -> usize {
        let last = *stamps.last().unwrap();
        let gaps: Vec<u64> = stamps.windows(2).rev().take(3).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<u64>() / gaps.len().max(1) as u64;
        if !gaps.is_empty() && last + mean >= time {
            return self.class(last + mean - time);
        }
        self.class(time - last)
    }
}

impl NaiveRule for Gdt {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, _: usize) -> bool {
        true
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        let Some(stamps) = self.stamps.get(&page) else { return self.classes - 1 };
        self.class_of(&[&stamps[..], &[self.time(now)]].concat(), self.time(now))
    }

    fn copy(&self, page: u32, _: usize, _: bool, now: Time) -> usize {
        let Some(stamps) = self.stamps.get(&page) else { return self.classes - 1 };
        self.class_of(stamps, self.time(now))
    }

    fn holds(&mut self, page: u32) {
        self.stamps.insert(page, vec![page.into()]);
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        let time = self.time(now);
        self.stamps.entry(page).or_default().push(time - 1);
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.stamps.remove(&page);
    }
}
