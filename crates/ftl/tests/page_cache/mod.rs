//! A page cache as a list, most recently used first, whose regions are parts of the list, and what
//! collections do with the pages in it. Meant to be read in a minute.

use std::collections::BTreeMap;

use flashgc_base::{Cached, Region, Residency};

/// The fate of a live page of a victim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Copied,
    /// The page is programmed with the data that memory has.
    Flushed,
    LeftOut,
}

#[derive(Clone, Default)]
pub struct Cache {
    /// Pages, each with `true` if it is dirty, most recently used first.
    pub pages: Vec<(u32, bool)>,
    pub capacity: usize,
    /// Chances of another write in the initial, MRU and LRU region.
    pub chances: [f64; 3],
    /// Numbers of pages that collections left out clean, left out dirty, and wrote from the cache.
    pub duplicates: [u64; 3],
    /// The state of each cached page at the last drain; `None` while nobody follows.
    known: Option<BTreeMap<u32, Cached>>,
}

impl Cache {
    pub fn new(capacity: usize, chances: [f64; 3]) -> Self {
        Self { capacity, chances, ..Self::default() }
    }

    /// The host touches `page`. Returns the page that falls out of the cache, and `true` if it is
    /// dirty.
    pub fn touch(&mut self, page: u32, write: bool) -> Option<(u32, bool)> {
        let was = self.pages.iter().position(|&(other, _)| other == page);
        let dirty = was.is_some_and(|at| self.pages.remove(at).1);
        self.pages.insert(0, (page, dirty || write));
        (self.pages.len() > self.capacity).then(|| self.pages.pop().unwrap())
    }

    pub fn holds(&self, page: u32) -> bool {
        self.pages.iter().any(|&(other, _)| other == page)
    }

    /// A collection treats `page` as `scheme` does with the paper's costs, on a drive with blocks
    /// of `b` pages. Returns what happens to the page.
    pub fn collect(&mut self, page: u32, scheme: &str, b: u32) -> Fate {
        let Some(Cached { dirty, region }) = self.lookup(page) else { return Fate::Copied };
        let rest = 1.0 - self.chances[region as usize];
        let later = 425.0 + 2000.0 / f64::from(b);
        let (copied, flushed) = match scheme {
            "du-gc" => (true, false),
            "da-gc" | "lda-gc1" => (false, false),
            "lda-gc2" | "lda-gc3" => (region == Region::Lru && !dirty, false),
            "lda-gc4" | "lda-gc5" => {
                (region == Region::Lru && !dirty, region == Region::Lru && dirty)
            }
            "ba-gc" => (!dirty, dirty),
            "lda-p" => (!dirty && 225.0 < rest * later, dirty && 250.0 < rest * later),
            other => panic!("{other}"),
        };
        if copied {
            return Fate::Copied;
        }
        self.duplicates[if flushed { 2 } else { usize::from(dirty) }] += 1;
        if dirty == flushed {
            self.set_dirty(page, !flushed);
        }
        if flushed { Fate::Flushed } else { Fate::LeftOut }
    }

    fn states(&self) -> BTreeMap<u32, Cached> {
        self.pages.iter().map(|&(page, _)| (page, self.lookup(page).unwrap())).collect()
    }
}

impl Residency for Cache {
    /// The first page is in the initial region, the last third in the LRU region.
    fn lookup(&self, page: u32) -> Option<Cached> {
        let at = self.pages.iter().position(|&(other, _)| other == page)?;
        let region = match at {
            0 => Region::Initial,
            at if 3 * at >= 2 * self.capacity => Region::Lru,
            _ => Region::Mru,
        };
        Some(Cached { dirty: self.pages[at].1, region })
    }

    fn set_dirty(&mut self, page: u32, dirty: bool) {
        let entry = self.pages.iter_mut().find(|(other, _)| *other == page);
        let entry = entry.unwrap_or_else(|| panic!("page {page} is not cached"));
        assert_ne!(entry.1, dirty, "page {page} changes to what it is");
        entry.1 = dirty;
    }

    fn update_probability(&self, region: Region) -> f64 {
        self.chances[region as usize]
    }

    fn follow_changes(&mut self) {
        self.known = Some(self.states());
    }

    fn drain_changes(&mut self, pages: &mut Vec<u32>) {
        let Some(known) = self.known.take() else { return };
        let now = self.states();
        let either = known.keys().chain(now.keys().filter(|page| !known.contains_key(page)));
        pages.extend(either.filter(|page| known.get(page) != now.get(page)));
        self.known = Some(now);
    }
}
