//! Update intervals, with a list of all writes of each page. Only the hash that picks a sample is
//! copied from the engine.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

pub struct Intervals {
    pub classes: usize,
    pub pages: u32,
    pub sample: u64,
    /// Writes from one sample to the next.
    pub window: u64,
    /// The stamps of each page with data, the oldest first.
    pub stamps: BTreeMap<u32, Vec<u64>>,
    /// The first interval of each class but class 0.
    pub bounds: Vec<f64>,
}

fn draw(index: u64, host: u64) -> f64 {
    let mix = |hash: u64, shift: u32, factor: u64| (hash ^ (hash >> shift)).wrapping_mul(factor);
    let hash = index ^ host.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = mix(mix(hash, 30, 0xbf58_476d_1ce4_e5b9), 27, 0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / 2f64.powi(53)
}

impl Intervals {
    fn interval(&self, page: u32, now: Time) -> Option<f64> {
        let stamps = self.stamps.get(&page)?;
        let last = &stamps[stamps.len().saturating_sub(4)..];
        let time = u64::from(self.pages) + now.host;
        Some((time - last[0]) as f64 / last.len() as f64)
    }

    fn class(&self, page: u32, now: Time) -> usize {
        let Some(interval) = self.interval(page, now) else { return self.classes - 1 };
        self.bounds.iter().rposition(|&bound| interval >= bound).map_or(0, |index| index + 1)
    }

    fn sampled(&self, now: Time) -> Vec<u32> {
        if self.sample >= u64::from(self.pages) {
            return (0..self.pages).collect();
        }
        let part = |index| index as f64 + draw(index, now.host);
        let page = |index| part(index) * f64::from(self.pages) / self.sample as f64;
        (0..self.sample).map(|index| page(index) as u32).collect()
    }
}

impl NaiveRule for Intervals {
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
        self.stamps.insert(page, vec![page.into()]);
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        self.stamps.entry(page).or_default().push(u64::from(self.pages) + now.host - 1);
        if !now.host.is_multiple_of(self.window) {
            return;
        }
        let sampled = self.sampled(now).into_iter();
        let mut intervals: Vec<f64> = sampled.filter_map(|page| self.interval(page, now)).collect();
        intervals.sort_by(f64::total_cmp);
        if !intervals.is_empty() {
            let first = |class| intervals[class * intervals.len() / self.classes];
            self.bounds = (1..self.classes).map(first).collect();
        }
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.stamps.remove(&page);
    }
}
