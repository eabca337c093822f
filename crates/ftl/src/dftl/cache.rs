//! The map of DFTL in memory: which entries are cached, and which differ from the map on flash. It
//! does no I/O: it says which translation pages must be read and programmed, and the caller reports
//! when that is done.

use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, State};

use crate::counters::MapTraffic;
use crate::layer::{Change, Layer};
use crate::order::Order;

/// Place of a page without data; slot of a run that is not cached.
const NONE: u32 = u32::MAX;

/// The flash operations that a look-up of a map entry needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// No operation: the entry is cached, or is being read already.
    Hit,
    /// The translation page of the entry must be read, if there is one.
    Miss {
        /// The translation page to write back first, because changed entries of that page have left
        /// the cache.
        write_back: Option<u32>,
    },
}

/// The map entries of a drive that keeps its map on flash: a cache of the entries in use, and the
/// changes that are not yet on flash. Entries come and leave in *runs* of consecutive entries of one
/// translation page. The run that was used longest ago leaves the cache first.
///
/// Translation pages are numbered from 0. On the drive they lie behind the host's pages.
#[derive(State)]
#[snapshot(named = "map cache", then = check)]
pub struct MapCache {
    /// Logical pages of the host.
    #[snapshot(skip)]
    pages: u32,
    /// Entries of a translation page.
    #[snapshot(skip)]
    per_page: u32,
    /// Entries of a run.
    #[snapshot(skip)]
    run: u32,
    /// The slot of each run; [`NONE`] if it is not cached.
    #[snapshot(table)]
    slots: Vec<u32>,
    /// The run of each slot.
    runs: Vec<u32>,
    /// For each slot, `true` once the run has been read. Until then the slot is reserved.
    is_here: Vec<bool>,
    /// Slots in the order of their last use.
    #[snapshot(state)]
    order: Order,
    #[snapshot(skip)]
    capacity: u32,
    /// One bit for each page, set if its entry differs from the map on flash.
    #[snapshot(table)]
    changed: Vec<u64>,
    /// Translation pages with changed entries that are not cached, in the order in which the first
    /// such entry changed.
    #[snapshot(state)]
    moved: Order,
    /// The map on flash: the physical page of each page, or [`NONE`].
    #[snapshot(table)]
    stored: Vec<u32>,
    traffic: MapTraffic,
    /// Buffer for the changes of pages that are being processed.
    #[snapshot(skip)]
    changes: Vec<Change>,
}

impl MapCache {
    /// Checks that every slot and every page that the cache names exists.
    fn check(&self) -> Result<(), Fault> {
        let slots = self.runs.len();
        let is_slot = |&slot: &u32| slot == NONE || (slot as usize) < slots;
        if slots <= self.capacity as usize
            && self.is_here.len() == slots
            && self.slots.iter().all(is_slot)
            && self.runs.iter().all(|&run| (run as usize) < self.slots.len())
        {
            return Ok(());
        }
        Err(Fault::new("a cached map entry names a page that there is not"))
    }

    /// An empty cache of `entries` entries in runs of `run`, for `pages` pages of the host, `per_page`
    /// to a translation page. The map on flash has each page where `place` says.
    pub(super) fn new(
        pages: u32,
        (per_page, run): (u32, u32),
        entries: u32,
        place: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let capacity = (entries / run).min(pages.div_ceil(run));
        Self {
            pages,
            per_page,
            run,
            slots: vec![NONE; pages.div_ceil(run) as usize],
            runs: Vec::new(),
            is_here: Vec::new(),
            order: Order::new(capacity),
            capacity,
            changed: vec![0; pages.div_ceil(64) as usize],
            moved: Order::new(pages.div_ceil(per_page)),
            stored: (0..pages).map(|page| place(page).unwrap_or(NONE)).collect(),
            traffic: MapTraffic::default(),
            changes: Vec::new(),
        }
    }

    /// Takes the changes of page places from `layer`, which holds the pages and the map on flash.
    /// The caller calls [`MapCache::heed`] next.
    pub fn take_changes(&mut self, layer: &mut dyn Layer) {
        if let Some(moves) = layer.moves() {
            moves.drain(&mut self.changes);
        }
    }

    /// Brings the entries up to date with the changes taken. `place` says where a page lies.
    pub fn heed(&mut self, place: impl Fn(u32) -> Option<u32>) {
        let mut changes = std::mem::take(&mut self.changes);
        for change in changes.drain(..) {
            match change {
                Change::Written(page) | Change::Copied(page) if page < self.pages => {
                    self.change(page);
                }
                Change::Written(page) => self.written(page - self.pages, &place),
                Change::Copied(_) => {} // memory always has the places of translation pages
            }
        }
        self.changes = changes;
    }

    /// Logical pages of the host. The pages of the map follow them.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Logical pages of the drive: the host's and those of the map.
    pub fn pages_below(&self) -> u32 {
        self.pages + self.pages.div_ceil(self.per_page)
    }

    /// The translation page with the entry of `page`.
    pub fn number_of(&self, page: u32) -> u32 {
        page / self.per_page
    }

    /// The run with the entry of `page`.
    pub fn run_of(&self, page: u32) -> u32 {
        page / self.run
    }

    /// The logical page of the drive that is translation page `number`.
    pub fn page_of(&self, number: u32) -> u32 {
        self.pages + number
    }

    /// Uses the entry of `page`. At a miss, its run gets a slot, if necessary the slot of the least
    /// recently used run. The caller must then read the entries and call [`MapCache::arrived`].
    pub fn look_up(&mut self, page: u32) -> LookUp {
        if let Some(slot) = self.slot(page) {
            self.traffic.hits += 1;
            self.order.remove(slot);
            self.order.push(slot);
            return LookUp::Hit;
        }
        self.traffic.misses += 1;
        let run = self.run_of(page);
        let oldest = self.order.iter().next().filter(|_| self.order.len() == self.capacity);
        let (slot, write_back) = match oldest {
            Some(slot) => {
                let old = self.runs[slot as usize];
                self.slots[old as usize] = NONE;
                self.order.remove(slot);
                self.runs[slot as usize] = run;
                self.is_here[slot as usize] = false;
                let (first, end) = (old * self.run, self.end_of_run(old));
                let has_changed = self.first_changed(first, end).is_some();
                (slot, has_changed.then_some(first / self.per_page))
            }
            None => {
                self.runs.push(run);
                self.is_here.push(false);
                (self.runs.len() as u32 - 1, None)
            }
        };
        self.slots[run as usize] = slot;
        self.order.push(slot);
        LookUp::Miss { write_back }
    }

    /// The run with the entry of `page` has been read. It is cached now, unless it lost its slot in
    /// the meantime.
    pub fn arrived(&mut self, page: u32) {
        if let Some(slot) = self.slot(page) {
            self.is_here[slot as usize] = true;
        }
    }

    /// `page` lies elsewhere now, or nowhere: its entry differs from the map on flash.
    pub fn change(&mut self, page: u32) {
        self.changed[page as usize / 64] |= 1 << (page % 64);
        let number = self.number_of(page);
        if !self.is_cached(page) && !self.moved.contains(number) {
            self.moved.push(number);
        }
    }

    /// Translation page `number` is programmed with the current places of its pages, which `place`
    /// gives.
    pub fn written(&mut self, number: u32, place: impl Fn(u32) -> Option<u32>) {
        self.traffic.writes += 1;
        if self.moved.contains(number) {
            self.moved.remove(number);
        }
        let mut from = number * self.per_page;
        let end = from.saturating_add(self.per_page).min(self.pages);
        while let Some(page) = self.take_changed(from, end) {
            self.stored[page as usize] = place(page).unwrap_or(NONE);
            from = page + 1;
        }
    }

    /// A translation page is read.
    pub fn count_read(&mut self) {
        self.traffic.reads += 1;
    }

    /// The translation page that has waited longest to be written. It waits because pages were
    /// moved whose entries are not cached.
    pub fn first_moved(&self) -> Option<u32> {
        self.moved.iter().next()
    }

    /// Returns all translation pages that must be written because pages were moved, and forgets
    /// them. The caller writes them.
    pub fn take_moved(&mut self) -> Vec<u32> {
        let moved: Vec<u32> = self.moved.iter().collect();
        moved.iter().for_each(|&number| self.moved.remove(number));
        moved
    }

    /// Returns `true` if translation page `number` must be written because pages were moved.
    pub fn is_moved(&self, number: u32) -> bool {
        self.moved.contains(number)
    }

    /// The counts.
    pub fn traffic(&self) -> MapTraffic {
        self.traffic
    }

    /// Checks the slots of all entries, and that the map on flash is right about every page whose
    /// entry is unchanged. A changed entry must be cached; if it is not, `will_be_written` must be
    /// true for its translation page.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn audit(
        &self,
        place: impl Fn(u32) -> Option<u32>,
        will_be_written: impl Fn(u32) -> bool,
    ) -> Result<(), String> {
        for page in 0..self.pages {
            let run = self.slot(page).map(|slot| self.runs[slot as usize]);
            fail_if!(
                run.is_some_and(|other| other != self.run_of(page)),
                "the entry of page {page} is in another run"
            );
            let changed = self.is_changed(page);
            fail_if!(
                changed && !self.is_cached(page) && !will_be_written(self.number_of(page)),
                "the entry of page {page} is changed and not cached"
            );
            let (stored, place) = (self.stored[page as usize], place(page).unwrap_or(NONE));
            fail_if!(
                stored != place && !changed,
                "the map on flash has page {page} at {stored}, not {place}"
            );
        }
        let cached = self.slots.iter().filter(|&&slot| slot != NONE).count() as u32;
        fail_if!(
            cached != self.order.len() || cached > self.capacity,
            "{cached} runs cached, {} in order",
            self.order.len()
        );
        Ok(())
    }

    /// Bytes of memory that the drive needs for its map: the cache and the places of the
    /// translation pages.
    pub fn map_bytes(&self) -> u64 {
        let of_run = 4 + 4 * u64::from(self.run);
        of_run * u64::from(self.capacity) + 4 * u64::from(self.pages.div_ceil(self.per_page))
    }

    /// Bytes of memory that this structure takes.
    pub fn memory_bytes(&self) -> u64 {
        let pages = u64::from(self.pages);
        4 * pages
            + 4 * self.slots.len() as u64
            + 8 * pages.div_ceil(64)
            + 13 * u64::from(self.capacity)
            + 8 * u64::from(self.pages.div_ceil(self.per_page))
    }

    fn slot(&self, page: u32) -> Option<u32> {
        Some(self.slots[self.run_of(page) as usize]).filter(|&slot| slot != NONE)
    }

    fn is_cached(&self, page: u32) -> bool {
        self.slot(page).is_some_and(|slot| self.is_here[slot as usize])
    }

    fn is_changed(&self, page: u32) -> bool {
        self.changed[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// The page behind the last one of a run.
    fn end_of_run(&self, run: u32) -> u32 {
        (run * self.run).saturating_add(self.run).min(self.pages)
    }

    /// The first page whose entry is changed, from `from` to before `end`.
    fn first_changed(&self, from: u32, end: u32) -> Option<u32> {
        let mut wanted = !0 << (from % 64);
        for word in from / 64..end.div_ceil(64) {
            let bits = self.changed[word as usize] & wanted;
            if bits != 0 {
                return Some(64 * word + bits.trailing_zeros()).filter(|&page| page < end);
            }
            wanted = !0;
        }
        None
    }

    /// Takes the first page whose entry is changed, from `from` to before `end`, and marks the
    /// entry unchanged.
    fn take_changed(&mut self, from: u32, end: u32) -> Option<u32> {
        let page = self.first_changed(from, end)?;
        self.changed[page as usize / 64] &= !(1 << (page % 64));
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_entries_that_leave_name_their_translation_page() {
        // A cache of two entries, for eight pages with four entries to a translation page.
        let mut cache = MapCache::new(8, (4, 1), 2, Some);
        let miss = LookUp::Miss { write_back: None };
        assert_eq!(
            [cache.look_up(0), cache.look_up(5), cache.look_up(0)],
            [miss, miss, LookUp::Hit]
        );
        cache.arrived(0);
        cache.change(0);
        // Page 5 was used longest ago and is unchanged, page 0 is next.
        assert_eq!(cache.look_up(1), miss);
        assert_eq!(cache.look_up(2), LookUp::Miss { write_back: Some(0) });
        assert_eq!(cache.first_moved(), None);
        let place = |page: u32| Some(if page == 0 { 100 } else { page });
        assert!(cache.audit(place, |_| false).is_err());
        cache.audit(place, |number| number == 0).unwrap();
        cache.written(0, place);
        cache.audit(place, |_| false).unwrap();
        assert_eq!(cache.traffic(), MapTraffic { hits: 1, misses: 4, reads: 0, writes: 1 });
    }

    #[test]
    fn moved_pages_that_are_not_cached_have_their_translation_pages_written() {
        let mut cache = MapCache::new(12, (4, 1), 2, Some);
        cache.look_up(1);
        cache.arrived(1);
        cache.look_up(4); // not read yet
        for page in [9, 1, 4, 8] {
            cache.change(page);
        }
        assert_eq!(cache.first_moved(), Some(2));
        cache.written(2, Some);
        // Page 1 is cached: nothing has to be written for it.
        assert_eq!((cache.is_moved(1), cache.is_moved(0)), (true, false));
        assert_eq!(cache.take_moved(), [1]);
        assert_eq!(cache.first_moved(), None);
    }
}
