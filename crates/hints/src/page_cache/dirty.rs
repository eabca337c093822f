//! The set of dirty pages, with one byte for each page and one bit for each sector. Ranges of pages
//! that were never dirty take no memory.

use std::ops::Range;

use super::PAGE;

const SECTOR: u64 = 512;

#[derive(Debug)]
pub(super) struct Dirty {
    /// The dirty sectors of each page.
    sectors: Vec<u8>,
    /// The number of pages with a dirty sector.
    count: u64,
    /// Pages to report as dirty if they are still dirty at the next report.
    fresh: Vec<u32>,
    /// Pages to report as cancelled if they are not dirty at the next report.
    freed: Vec<u32>,
    /// Ranges of pages that were written since the last report: the first page, and the page behind
    /// the last.
    written: Vec<(u32, u32)>,
}

impl Dirty {
    pub(super) fn new(pages: u32) -> Self {
        let sectors = vec![0; pages as usize];
        Self { sectors, count: 0, fresh: Vec::new(), freed: Vec::new(), written: Vec::new() }
    }

    /// Marks the sectors of `bytes` as dirty. Returns `false` if the device has no such bytes.
    pub(super) fn dirtied(&mut self, bytes: Range<u64>) -> bool {
        if bytes.is_empty() || bytes.end > self.sectors.len() as u64 * PAGE {
            return false;
        }
        for (page, mask) in masks(bytes) {
            let sectors = &mut self.sectors[page as usize];
            if *sectors == 0 {
                self.count += 1;
                self.fresh.push(page);
            }
            *sectors |= mask;
        }
        true
    }

    /// Marks `bytes` as clean, because their write was handed to the drive. Returns the number of
    /// pages that became clean. A later write of the host makes them dirty again.
    pub(super) fn queued(&mut self, bytes: Range<u64>) -> u64 {
        let before = self.count;
        self.clean(bytes, |_, _| ());
        before - self.count
    }

    /// Notes that a write of `bytes` has reached the drive, which has dropped its hints on them.
    /// Pages that have become dirty again since then are reported again.
    pub(super) fn written(&mut self, bytes: Range<u64>) {
        let pages = self.within(bytes);
        let Some((first, _)) = pages.clone().next() else { return };
        let mut end = first;
        for (page, _) in pages {
            end = page + 1;
            if self.sectors[page as usize] != 0 {
                self.fresh.push(page);
            }
        }
        self.written.push((first, end));
    }

    /// Marks `bytes` as clean, because the file system freed their blocks and will not write them.
    pub(super) fn freed(&mut self, bytes: Range<u64>) {
        self.clean(bytes, |freed, page| freed.push(page));
    }

    fn clean(&mut self, bytes: Range<u64>, became_clean: impl Fn(&mut Vec<u32>, u32)) {
        for (page, mask) in self.within(bytes) {
            let sectors = &mut self.sectors[page as usize];
            if *sectors != 0 && *sectors & !mask == 0 {
                self.count -= 1;
                became_clean(&mut self.freed, page);
            }
            *sectors &= !mask;
        }
    }

    fn within(&self, bytes: Range<u64>) -> impl Iterator<Item = (u32, u8)> + Clone + use<> {
        let end = self.sectors.len() as u64 * PAGE;
        masks(bytes.start.min(end)..bytes.end.min(end))
    }

    /// Moves the pages to report into `dirtied` and `cancelled`, and sorts both.
    pub(super) fn changes(&mut self, dirtied: &mut Vec<u32>, cancelled: &mut Vec<u32>) {
        self.written.sort_unstable();
        self.written.dedup_by(|next, last| {
            let is_joined = next.0 <= last.1;
            last.1 = if is_joined { last.1.max(next.1) } else { last.1 };
            is_joined
        });
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.retain(|&page| self.sectors[page as usize] != 0);
        for page in fresh {
            match holds(&self.written, page) {
                true => self.fresh.push(page),
                false => dirtied.push(page),
            }
        }
        self.written.clear();
        cancelled.extend(self.freed.drain(..).filter(|&page| self.sectors[page as usize] == 0));
        for pages in [dirtied, cancelled] {
            pages.sort_unstable();
            pages.dedup();
        }
    }

    /// Forgets all pages. Pages due to be reported as dirty go into `dirtied`. Freed pages will be
    /// in the next report, as cancelled.
    pub(super) fn forget(&mut self, dirtied: &mut Vec<u32>) {
        let mut cancelled = Vec::new();
        self.changes(dirtied, &mut cancelled);
        let pages = self.sectors.len() as u32;
        *self = Self { freed: cancelled, ..Self::new(pages) };
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn pages(&self) -> Vec<u32> {
        let dirty = self.sectors.iter().enumerate().filter(|&(_, &sectors)| sectors != 0);
        dirty.map(|(page, _)| page as u32).collect()
    }
}

/// Returns `true` if one of `ranges`, which are sorted and disjoint, contains `page`.
fn holds(ranges: &[(u32, u32)], page: u32) -> bool {
    let until = ranges.partition_point(|&(first, _)| first <= page);
    ranges[..until].last().is_some_and(|&(_, end)| page < end)
}

/// Returns the pages that `bytes` touch, each with a mask of the touched sectors. The bytes must
/// lie within the device.
fn masks(bytes: Range<u64>) -> impl Iterator<Item = (u32, u8)> + Clone {
    let (first, end) = (bytes.start / SECTOR, bytes.end.div_ceil(SECTOR));
    let each = PAGE / SECTOR;
    let pages = if first < end { first / each..end.div_ceil(each) } else { 0..0 };
    pages.map(move |page| {
        let from = first.saturating_sub(page * each);
        let to = (end - page * each).min(each);
        (page as u32, (0xff_u16 >> (each - (to - from)) << from) as u8)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 12;

    #[derive(Debug, Clone)]
    enum Step {
        Dirtied(Range<u64>),
        Queued(Range<u64>),
        Written(Range<u64>),
        Freed(Range<u64>),
        Report,
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = (0..u64::from(PAGES) * 8, 1..20_u64).prop_map(|(first, count)| {
            first * SECTOR..(first + count).min(u64::from(PAGES) * 8) * SECTOR
        });
        (0..5_u8, bytes).prop_map(|(kind, bytes)| match kind {
            0 => Step::Dirtied(bytes),
            1 => Step::Queued(bytes),
            2 => Step::Written(bytes),
            3 => Step::Freed(bytes),
            _ => Step::Report,
        })
    }

    /// The reference: a host with a set of dirty sectors; and a drive with the set of hinted pages,
    /// and with the time of each page's last write.
    #[derive(Default)]
    struct Naive {
        sectors: BTreeSet<u64>,
        hinted: BTreeSet<u32>,
        /// For each written page, the number of reports before its last write.
        given: BTreeMap<u32, u32>,
        reports: u32,
    }

    impl Naive {
        fn pages(&self) -> BTreeSet<u32> {
            self.sectors.iter().map(|sector| (sector / 8) as u32).collect()
        }

        fn take(&mut self, step: &Step) {
            match step {
                Step::Dirtied(bytes) => self.sectors.extend(sectors(bytes)),
                Step::Queued(bytes) | Step::Freed(bytes) => {
                    sectors(bytes).for_each(|sector| {
                        self.sectors.remove(&sector);
                    });
                }
                Step::Written(bytes) => {
                    for sector in sectors(bytes) {
                        self.hinted.remove(&((sector / 8) as u32));
                        self.given.insert((sector / 8) as u32, self.reports);
                    }
                }
                Step::Report => self.reports += 1,
            }
        }

        /// Returns `true` if the drive would take a hint on `page` as late: the page was written
        /// after the last report.
        fn is_late(&self, page: u32) -> bool {
            self.given.get(&page) == Some(&self.reports)
        }
    }

    fn sectors(bytes: &Range<u64>) -> Range<u64> {
        bytes.start / SECTOR..bytes.end.div_ceil(SECTOR)
    }

    proptest! {
        /// The set agrees with the reference's sectors, and no hint is late. At the end, after two
        /// reports with nothing between them, the drive has hints exactly on the dirty pages.
        #[test]
        fn the_drive_knows_what_is_dirty(steps in prop::collection::vec(step(), 1..80)) {
            let (mut dirty, mut naive) = (Dirty::new(PAGES), Naive::default());
            for step in steps.into_iter().chain([Step::Report, Step::Report]) {
                match step.clone() {
                    Step::Dirtied(bytes) => prop_assert!(dirty.dirtied(bytes)),
                    Step::Queued(bytes) => {
                        // A handed-over write reaches the drive at once, with nothing in between.
                        dirty.queued(bytes.clone());
                        dirty.written(bytes.clone());
                        naive.take(&step);
                        naive.take(&Step::Written(bytes));
                        continue;
                    }
                    Step::Written(bytes) => dirty.written(bytes),
                    Step::Freed(bytes) => dirty.freed(bytes),
                    Step::Report => {
                        let (mut dirtied, mut cancelled) = (Vec::new(), Vec::new());
                        dirty.changes(&mut dirtied, &mut cancelled);
                        for page in cancelled {
                            prop_assert!(!naive.pages().contains(&page));
                            naive.hinted.remove(&page);
                        }
                        for page in dirtied {
                            prop_assert!(!naive.is_late(page), "{page} comes too late");
                            naive.hinted.insert(page);
                        }
                    }
                }
                naive.take(&step);
                let pages: Vec<u32> = naive.pages().into_iter().collect();
                prop_assert_eq!(dirty.count(), pages.len() as u64);
                prop_assert_eq!(dirty.pages(), pages);
            }
            prop_assert_eq!(&naive.hinted, &naive.pages());
        }
    }

    #[test]
    fn a_page_is_dirty_until_its_last_sector_is_written() {
        let mut dirty = Dirty::new(4);
        assert!(dirty.dirtied(4096..5120));
        assert!(dirty.dirtied(7168..8192));
        assert_eq!(dirty.queued(4096..5120), 0);
        assert_eq!(dirty.pages(), [1]);
        assert_eq!(dirty.queued(7168..8192), 1);
        assert_eq!(dirty.count(), 0);
    }

    #[test]
    fn what_the_device_does_not_have_is_not_dirty() {
        let mut dirty = Dirty::new(4);
        assert!(!dirty.dirtied(u64::MAX..u64::MAX));
        assert!(!dirty.dirtied(4 * PAGE - 1..4 * PAGE + 1));
        dirty.written(u64::MAX - 1..u64::MAX);
        dirty.freed(3 * PAGE..u64::MAX);
        assert_eq!(dirty.count(), 0);
    }

    #[test]
    fn what_is_forgotten_is_reported_and_then_known_anew() {
        let mut dirty = Dirty::new(4);
        dirty.dirtied(0..PAGE);
        let (mut dirtied, mut cancelled) = (Vec::new(), Vec::new());
        dirty.forget(&mut dirtied);
        assert_eq!((dirty.count(), dirtied.as_slice()), (0, [0].as_slice()));
        dirty.dirtied(0..PAGE);
        dirty.changes(&mut dirtied, &mut cancelled);
        assert_eq!((dirtied, cancelled), (vec![0], vec![]));
    }
}
