//! ETI, with lists of pages.

use super::{NaiveRule, Time};

pub struct Eti {
    pub most_extents: usize,
    pub halving: usize,
    /// The count and the pages of each extent.
    pub extents: Vec<(u8, Vec<u32>)>,
    pub request: Vec<u32>,
    pub requests: usize,
}

impl Eti {
    pub fn new(most_extents: usize, halving: usize, logical_pages: u32) -> Self {
        let extents = vec![(0, (0..logical_pages).collect())];
        Self { most_extents, halving, extents, request: vec![], requests: 0 }
    }

    /// Separates the pages from `page` on from those before.
    fn split(&mut self, page: u32) {
        for at in 0..self.extents.len() {
            let (count, pages) = self.extents[at].clone();
            let (before, after): (Vec<u32>, Vec<u32>) = pages.iter().partition(|&&its| its < page);
            if !before.is_empty() && !after.is_empty() && self.extents.len() < self.most_extents {
                self.extents.splice(at..=at, [(count, before), (count, after)]);
                return;
            }
        }
    }

    fn count(&mut self) {
        let request = std::mem::take(&mut self.request);
        self.split(request[0]);
        self.split(request[request.len() - 1] + 1);
        for (count, pages) in &mut self.extents {
            if pages.iter().all(|page| request.contains(page)) {
                *count = 15.min(*count + 1);
            }
        }
        self.requests += 1;
        if self.requests.is_multiple_of(self.halving) {
            let mut joined: Vec<(u8, Vec<u32>)> = vec![];
            for (count, pages) in self.extents.drain(..) {
                let count = count / 2;
                match joined.last_mut() {
                    Some((last, its)) if *last == count || (*last < 4 && count < 4) => {
                        *last = count.max(*last);
                        its.extend(pages);
                    }
                    _ => joined.push((count, pages)),
                }
            }
            self.extents = joined;
        }
    }
}

impl NaiveRule for Eti {
    fn classes(&self) -> usize {
        3
    }

    fn takes_copies(&self, class: usize) -> bool {
        class == 2
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, _: Time) -> usize {
        let (count, _) = self.extents.iter().find(|(_, pages)| pages.contains(&page)).unwrap();
        if *count >= 4 { 0 } else { 1 }
    }

    fn copy(&self, _: u32, _: usize, _: bool, _: Time) -> usize {
        2
    }

    fn wrote(&mut self, page: u32, _: usize, _: Time) {
        if self.request.last().is_some_and(|last| last + 1 != page) {
            self.count();
        }
        self.request.push(page);
    }
}
