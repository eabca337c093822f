//! A reference for the policy `3-region`: it follows the definition word by word, with plain lists.
//! It is slow, and has nothing in common with the data structures of the crate.

use std::cmp::Ordering;

/// A cached page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub number: u32,
    pub dirty: bool,
    /// `true` if the host has written the page since the page entered its region.
    written: bool,
    from_initial: bool,
}

pub const I: usize = 0;
pub const M: usize = 1;
pub const L: usize = 2;

/// The state of the reference. In each list the most recently used page is first.
pub struct Naive {
    pub lists: [Vec<Page>; 3],
    pub capacity: usize,
    pub sizes: [usize; 2],
    pub probability: [f64; 3],
    gain: f64,
    resize: bool,
    inserted: usize,
    written: [u64; 3],
    left_unwritten: [u64; 3],
    mru_hits: u64,
    lru_hits_from: [u64; 2],
    moved_from: [u64; 2],
}

impl Naive {
    pub fn new(capacity: usize, gain: f64, resize: bool) -> Self {
        let quarter = (capacity / 4).max(1);
        Self {
            lists: [vec![], vec![], vec![]],
            capacity,
            sizes: [quarter, capacity - 2 * quarter],
            probability: [0.5; 3],
            gain,
            resize,
            inserted: 0,
            written: [0; 3],
            left_unwritten: [0; 3],
            mru_hits: 0,
            lru_hits_from: [0; 2],
            moved_from: [0; 2],
        }
    }

    pub fn find(&self, number: u32) -> Option<(usize, Page)> {
        (0..3).find_map(|list| {
            self.lists[list].iter().find(|page| page.number == number).map(|page| (list, *page))
        })
    }

    pub fn set_dirty(&mut self, number: u32, dirty: bool) {
        let (list, _) = self.find(number).unwrap();
        self.lists[list].iter_mut().find(|page| page.number == number).unwrap().dirty = dirty;
    }

    fn take_out(&mut self, list: usize, number: u32) -> Page {
        let at = self.lists[list].iter().position(|page| page.number == number).unwrap();
        self.lists[list].remove(at)
    }

    /// Reads or writes page `number`. Returns the page that was evicted for it, if any, and `true`
    /// if that was dirty.
    pub fn reference(&mut self, number: u32, write: bool) -> Option<(u32, bool)> {
        if let Some((list, _)) = self.find(number) {
            let mut page = self.take_out(list, number);
            if list == M {
                self.mru_hits += 1;
            }
            if list == L {
                self.lru_hits_from[usize::from(!page.from_initial)] += 1;
            }
            if write && !page.written {
                page.written = true;
                self.written[list] += 1;
            }
            page.dirty |= write;
            if list != M {
                self.left_unwritten[list] += u64::from(!page.written);
                page.written = false;
                page.from_initial = false;
            }
            self.lists[M].insert(0, page);
            self.overflow();
            return None;
        }
        let mut evicted = None;
        if self.lists.iter().map(Vec::len).sum::<usize>() == self.capacity {
            let list = [L, I, M].into_iter().find(|&list| !self.lists[list].is_empty()).unwrap();
            let page = self.lists[list].pop().unwrap();
            self.left_unwritten[list] += u64::from(!page.written);
            evicted = Some((page.number, page.dirty));
        }
        let page = Page { number, dirty: write, written: false, from_initial: false };
        self.lists[I].insert(0, page);
        self.inserted += 1;
        if self.inserted == self.capacity {
            self.epoch();
        }
        self.overflow();
        evicted
    }

    fn overflow(&mut self) {
        for list in [I, M] {
            while self.lists[list].len() > self.sizes[list] {
                let mut page = self.lists[list].pop().unwrap();
                self.left_unwritten[list] += u64::from(!page.written);
                self.moved_from[list] += 1;
                page.written = false;
                page.from_initial = list == I;
                self.lists[L].insert(0, page);
            }
        }
    }

    fn epoch(&mut self) {
        for list in 0..3 {
            let (u, x) = (self.written[list] as f64, self.left_unwritten[list] as f64);
            if u + x > 0.0 {
                let old = self.probability[list];
                self.probability[list] = (1.0 - self.gain) * old + self.gain * (u / (u + x));
            }
        }
        if self.resize {
            let d = (self.capacity / 32).max(1);
            let floor = (self.capacity / 16).max(1);
            // Floating point is enough here: the counts of these tests are small, and equal
            // fractions of small integers compare as equal.
            let rate = |hits: u64, of: u64| hits as f64 / of.max(1) as f64;
            let from_initial = rate(self.lru_hits_from[0], self.moved_from[0]);
            let from_mru = rate(self.lru_hits_from[1], self.moved_from[1]);
            let lru_before = self.capacity - self.sizes[I] - self.sizes[M];
            match from_initial.partial_cmp(&from_mru).unwrap() {
                Ordering::Greater if self.sizes[M] >= floor + d => {
                    self.sizes = [self.sizes[I] + d, self.sizes[M] - d];
                }
                Ordering::Less if self.sizes[I] >= floor + d => {
                    self.sizes = [self.sizes[I] - d, self.sizes[M] + d];
                }
                _ => {}
            }
            let lru_rate = rate(self.lru_hits_from.iter().sum::<u64>(), self.lists[L].len() as u64);
            let mru_rate = rate(self.mru_hits, self.lists[M].len() as u64);
            if lru_rate > mru_rate && lru_before >= floor + d {
                self.sizes[M] += d;
            }
        }
        self.inserted = 0;
        self.written = [0; 3];
        self.left_unwritten = [0; 3];
        self.mru_hits = 0;
        self.lru_hits_from = [0; 2];
        self.moved_from = [0; 2];
    }
}
