//! SepBIT, with the queue of its description.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{NaiveRule, Time};

pub struct SepBit {
    classes: usize,
    lifetime: Option<f64>,
    lifetimes: Vec<u64>,
    /// The pages written last, in order, each with the number of its write.
    queue: VecDeque<(u32, u64)>,
    /// The time of the host's last write of each page.
    written: BTreeMap<u32, u64>,
    with_data: BTreeSet<u32>,
}

impl SepBit {
    pub fn new(classes: usize) -> Self {
        Self {
            classes,
            lifetime: None,
            lifetimes: vec![],
            queue: VecDeque::new(),
            written: BTreeMap::new(),
            with_data: BTreeSet::new(),
        }
    }
}

impl NaiveRule for SepBit {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, class: usize) -> bool {
        class >= 2
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        let Some(&last) = self.written.get(&page) else { return 1 };
        let is_queued = self.queue.contains(&(page, last));
        let is_short = self.lifetime.is_none_or(|lifetime| ((now.host - last) as f64) < lifetime);
        if is_queued && is_short { 0 } else { 1 }
    }

    fn copy(&self, page: u32, from: usize, _: bool, now: Time) -> usize {
        if from == 0 {
            return 2;
        }
        let last = self.classes - 1;
        let Some(written) = self.written.get(&page) else { return last };
        let Some(lifetime) = self.lifetime else { return 3.min(last) };
        let age = (now.host - written) as f64;
        (3..last).find(|&class| age < lifetime * 4f64.powi(class as i32 - 2)).unwrap_or(last)
    }

    fn holds(&mut self, page: u32) {
        self.with_data.insert(page);
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        let number = now.host - 1;
        self.with_data.insert(page);
        self.written.insert(page, number);
        self.queue.push_back((page, number));
        let longer = |queue: &VecDeque<_>, most| queue.len() as f64 > most;
        let lifetime = self.lifetime.unwrap_or(f64::INFINITY);
        if longer(&self.queue, lifetime.min(self.with_data.len() as f64)) {
            self.queue.pop_front();
        }
        if longer(&self.queue, lifetime) {
            self.queue.pop_front();
        }
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.with_data.remove(&page);
        self.written.remove(&page);
    }

    fn collected(&mut self, class: usize, opened: Time, _: (usize, usize), now: Time) {
        if class == 0 {
            self.lifetimes.push(now.host - opened.host);
            if self.lifetimes.len() == 16 {
                self.lifetime = Some(self.lifetimes.drain(..).sum::<u64>() as f64 / 16.0);
            }
        }
    }
}
