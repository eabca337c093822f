//! The state that all page caches share: three lists of pages in order of use, dirty bits, the
//! frequency of writes in each region, and the pages that changed. The policies decide which page
//! moves; this file only keeps the state.
//!
//! Each page of the swap space has one node of 12 bytes, found by the page's number, which holds
//! all its state and the links of its list. Moving a page is a handful of stores.

use flashgc_base::residency::{Cached, Region};
use flashgc_base::snapshot::{Fault, State, Value};

/// Links and state of one page, or of the two ends of a list.
#[derive(Clone, Copy, Debug, Value)]
struct Node {
    /// The next newer page of the same list; for the newest page, the node of the list's end.
    newer: u32,
    /// The next older page of the same list; for the oldest page, the node of the list's end.
    older: u32,
    state: u32,
}

/// The bits of a state that name the page's list: 0 for no list, else 1 + the region's number.
const LIST: u32 = 3;
const DIRTY: u32 = 1 << 2;
/// The bit of a page that the host wrote since the page entered its present region.
const WRITTEN: u32 = 1 << 3;
/// The bit of a page that entered its present region from the initial region.
const FROM_INITIAL: u32 = 1 << 4;
/// The bit of a page that is in the list of changed pages.
const CHANGED: u32 = 1 << 5;

const NONE: u32 = 0;

fn list(region: Region) -> u32 {
    region as u32 + 1
}

/// Counts of the stays of pages in one region during one epoch.
#[derive(Clone, Copy, Debug, Default, Value)]
struct Stays {
    /// Stays in which the host wrote the page.
    written: u64,
    /// Stays that ended before the host wrote the page.
    unwritten: u64,
}

/// The place of a page just before it was touched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub region: Region,
    /// `true` if the page had entered that region from the initial region.
    pub from_initial: bool,
}

#[derive(Clone, Debug, State)]
#[snapshot(then = check)]
pub(super) struct Regions {
    /// One node a page, then one node for the two ends of each list.
    #[snapshot(table)]
    nodes: Vec<Node>,
    #[snapshot(skip)]
    pages: u32,
    #[snapshot(skip)]
    pub capacity: u32,
    /// The number of pages in each region.
    pub lengths: [u32; 3],
    stays: [Stays; 3],
    /// The share of each region's stays in which the host wrote the page, averaged over epochs.
    probability: [f64; 3],
    /// The weight of the last epoch in `probability`.
    #[snapshot(skip)]
    gain: f64,
    /// The number of pages put in since the epoch began.
    inserted: u32,
    following: bool,
    changed: Vec<u32>,
}

impl Regions {
    /// Makes the state of an empty cache for a swap space of `pages` pages. An epoch has the weight
    /// `gain` in the update probabilities.
    pub fn new(pages: u32, capacity: u32, gain: f64) -> Self {
        let mut nodes = vec![Node { newer: 0, older: 0, state: NONE }; pages as usize];
        nodes.extend((0..3).map(|end| Node {
            newer: pages + end,
            older: pages + end,
            state: NONE,
        }));
        Self {
            nodes,
            pages,
            capacity,
            lengths: [0; 3],
            stays: [Stays::default(); 3],
            probability: [0.5; 3],
            gain,
            inserted: 0,
            following: false,
            changed: Vec::new(),
        }
    }

    /// Checks that every page named in the state exists.
    fn check(&self) -> Result<(), Fault> {
        let nodes = self.nodes.len() as u32;
        let is_node = |node: &Node| node.newer < nodes && node.older < nodes;
        if self.nodes.iter().all(is_node) && self.changed.iter().all(|&page| page < self.pages) {
            return Ok(());
        }
        Err(Fault::new("a page cache names a page that there is not"))
    }

    pub fn len(&self) -> u32 {
        self.lengths.iter().sum()
    }

    /// Returns the end node of a region's list. Its field `older` is the newest page of the list,
    /// and `newer` is the oldest.
    fn end(&self, region: Region) -> u32 {
        self.pages + region as u32
    }

    #[inline]
    fn region(state: u32) -> Option<Region> {
        match state & LIST {
            1 => Some(Region::Initial),
            2 => Some(Region::Mru),
            3 => Some(Region::Lru),
            _ => None,
        }
    }

    #[inline]
    fn unlink(&mut self, page: u32) {
        let Node { newer, older, .. } = self.nodes[page as usize];
        self.nodes[newer as usize].older = older;
        self.nodes[older as usize].newer = newer;
    }

    #[inline]
    fn link_newest(&mut self, region: Region, page: u32, state: u32) {
        let end = self.end(region);
        let newest = self.nodes[end as usize].older;
        self.nodes[page as usize] = Node { newer: end, older: newest, state };
        self.nodes[newest as usize].newer = page;
        self.nodes[end as usize].older = page;
    }

    /// Adds the page to the list of changed pages, if that list is kept and lacks the page. Returns
    /// the bit [`CHANGED`] for the page's new state.
    #[inline]
    fn note_change(&mut self, page: u32, state: u32) -> u32 {
        if self.following && state & CHANGED == 0 {
            self.changed.push(page);
            return CHANGED;
        }
        state & CHANGED
    }

    /// Reads or writes `page` for the host, and moves it to the head of the MRU region. Returns its
    /// former place, or `None` if it is not cached.
    #[inline]
    pub fn touch(&mut self, page: u32, write: bool) -> Option<Hit> {
        let Node { newer, state, .. } = self.nodes[page as usize];
        let region = Self::region(state)?;
        let hit = Hit { region, from_initial: state & FROM_INITIAL != 0 };
        let mut now = state;
        if write {
            self.stays[region as usize].written += u64::from(state & WRITTEN == 0);
            now |= DIRTY | WRITTEN;
        }
        if region == Region::Mru {
            if now & DIRTY != state & DIRTY {
                now |= self.note_change(page, state);
            }
            self.nodes[page as usize].state = now;
            // The most frequent case is a page that is the newest already; it need not move.
            if newer != self.end(Region::Mru) {
                self.unlink(page);
                self.link_newest(Region::Mru, page, now);
            }
        } else {
            // A hit ends the stay in the initial and in the LRU region.
            self.stays[region as usize].unwritten += u64::from(now & WRITTEN == 0);
            self.unlink(page);
            let changed = self.note_change(page, state);
            let now = list(Region::Mru) | now & DIRTY | changed;
            self.link_newest(Region::Mru, page, now);
            self.lengths[region as usize] -= 1;
            self.lengths[Region::Mru as usize] += 1;
        }
        Some(hit)
    }

    /// Puts a page into a region. Returns `true` at the end of an epoch: an epoch has as many
    /// insertions as the cache has room for pages.
    pub fn insert(&mut self, region: Region, page: u32, write: bool) -> bool {
        assert!(page < self.pages, "page {page} is beyond the swap space of {} pages", self.pages);
        debug_assert!(self.len() < self.capacity, "there is no room");
        let state = self.nodes[page as usize].state;
        debug_assert!(Self::region(state).is_none(), "page {page} is cached already");
        let changed = self.note_change(page, state);
        let dirty = if write { DIRTY } else { 0 };
        self.link_newest(region, page, list(region) | dirty | changed);
        self.lengths[region as usize] += 1;
        self.inserted += 1;
        self.inserted == self.capacity
    }

    /// Moves the oldest page of a region to the head of the LRU region. The region must not be
    /// empty.
    pub fn age(&mut self, from: Region) {
        let page = self.nodes[self.end(from) as usize].newer;
        debug_assert!(page < self.pages, "the region is empty");
        let state = self.nodes[page as usize].state;
        self.stays[from as usize].unwritten += u64::from(state & WRITTEN == 0);
        self.unlink(page);
        let changed = self.note_change(page, state);
        let origin = if from == Region::Initial { FROM_INITIAL } else { 0 };
        let now = list(Region::Lru) | state & DIRTY | origin | changed;
        self.link_newest(Region::Lru, page, now);
        self.lengths[from as usize] -= 1;
        self.lengths[Region::Lru as usize] += 1;
    }

    /// Evicts the oldest page of the first region that is not empty, in the order LRU, initial,
    /// MRU. Returns the page, and `true` if it is dirty.
    pub fn evict(&mut self) -> Option<(u32, bool)> {
        let order = [Region::Lru, Region::Initial, Region::Mru];
        let region = order.into_iter().find(|&region| self.lengths[region as usize] > 0)?;
        let page = self.nodes[self.end(region) as usize].newer;
        let state = self.nodes[page as usize].state;
        self.stays[region as usize].unwritten += u64::from(state & WRITTEN == 0);
        self.unlink(page);
        self.nodes[page as usize].state = NONE | self.note_change(page, state);
        self.lengths[region as usize] -= 1;
        Some((page, state & DIRTY != 0))
    }

    /// Adds the stays of the epoch to the update probabilities and begins the next epoch.
    pub fn close_epoch(&mut self) {
        for (probability, stays) in self.probability.iter_mut().zip(&mut self.stays) {
            let all = stays.written + stays.unwritten;
            if all > 0 {
                let share = stays.written as f64 / all as f64;
                *probability = (1.0 - self.gain) * *probability + self.gain * share;
            }
            *stays = Stays::default();
        }
        self.inserted = 0;
    }

    pub fn pages_of(&self, region: Region) -> Vec<u32> {
        let end = self.end(region);
        let older = |&page: &u32| Some(self.nodes[page as usize].older).filter(|&next| next != end);
        std::iter::successors(older(&end), older).collect()
    }

    #[inline]
    pub fn lookup(&self, page: u32) -> Option<Cached> {
        let state = self.nodes[page as usize].state;
        let region = Self::region(state)?;
        Some(Cached { dirty: state & DIRTY != 0, region })
    }

    #[inline]
    pub fn set_dirty(&mut self, page: u32, dirty: bool) {
        let state = self.nodes[page as usize].state;
        debug_assert!(Self::region(state).is_some(), "page {page} is not cached");
        if dirty != (state & DIRTY != 0) {
            let changed = self.note_change(page, state);
            self.nodes[page as usize].state = (state ^ DIRTY) | changed;
        }
    }

    pub fn update_probability(&self, region: Region) -> f64 {
        let last = self.probability[Region::Lru as usize];
        match region {
            Region::Lru => last,
            // A page that leaves this region unwritten may still be written in the LRU region.
            Region::Initial | Region::Mru => {
                let here = self.probability[region as usize];
                here + (1.0 - here) * last
            }
        }
    }

    pub fn follow_changes(&mut self) {
        self.following = true;
    }

    pub fn drain_changes(&mut self, pages: &mut Vec<u32>) {
        for page in self.changed.drain(..) {
            self.nodes[page as usize].state &= !CHANGED;
            pages.push(page);
        }
    }
}
