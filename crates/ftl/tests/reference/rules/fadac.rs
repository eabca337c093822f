//! FADaC, with a list of what happened to each page.

use std::collections::{BTreeMap, BTreeSet};

use super::{NaiveRule, Time};

#[derive(Default)]
pub struct Fadac {
    pub classes: usize,
    pub average: f64,
    pub with_data: BTreeSet<u32>,
    /// For each page that was written, all that changed its count.
    pub changes: BTreeMap<u32, Vec<i64>>,
}

impl Fadac {
    fn count(&self, page: u32) -> i64 {
        let changes = self.changes.get(&page).into_iter().flatten();
        changes.fold(0, |count, change| (count + change).max(0))
    }

    fn next_average(&self) -> f64 {
        if self.with_data.is_empty() {
            return self.average;
        }
        self.average + (1.0 - self.average) / self.with_data.len() as f64
    }

    fn class(&self, count: i64, average: f64) -> usize {
        let mut bounds = std::iter::successors(Some(average), |bound| Some(bound * 10.0));
        let last = self.classes - 1;
        if average == 0.0 {
            return 0;
        }
        bounds.position(|bound| count as f64 <= bound).unwrap().min(last)
    }
}

impl NaiveRule for Fadac {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, _: usize) -> bool {
        true
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, _: Time) -> usize {
        self.class(self.count(page) + 1, self.next_average())
    }

    fn copy(&self, page: u32, _: usize, _: bool, _: Time) -> usize {
        self.class((self.count(page) - 1).max(0), self.average)
    }

    fn holds(&mut self, page: u32) {
        self.with_data.insert(page);
    }

    fn wrote(&mut self, page: u32, _: usize, _: Time) {
        self.average = self.next_average();
        self.with_data.insert(page);
        self.changes.entry(page).or_default().push(1);
    }

    fn trimmed(&mut self, page: u32, _: usize) {
        self.with_data.remove(&page);
        self.changes.remove(&page);
    }

    fn copied(&mut self, page: u32, _: usize, _: usize, _: Time) {
        self.changes.entry(page).or_default().push(-1);
    }
}
