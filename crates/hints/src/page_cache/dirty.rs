//! The set of dirty pages: a byte a page, a bit a sector. What was never dirty takes no memory.

use std::ops::Range;

use super::PAGE;

const SECTOR: u64 = 512;

#[derive(Debug)]
pub(super) struct Dirty {
    /// The dirty sectors of each page.
    sectors: Vec<u8>,
    /// Pages with a dirty sector.
    count: u64,
    /// Pages that are to be reported as dirty, if they still are.
    fresh: Vec<u32>,
    /// Pages that are to be reported as cancelled, if they are not dirty.
    freed: Vec<u32>,
    /// Pages that writes reached since the last report: first, and one after the last.
    written: Vec<(u32, u32)>,
}

impl Dirty {
    pub(super) fn new(pages: u32) -> Self {
        let sectors = vec![0; pages as usize];
        Self { sectors, count: 0, fresh: Vec::new(), freed: Vec::new(), written: Vec::new() }
    }

    /// Sectors in these bytes become dirty; `false` if the device has no such bytes.
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

    /// The bytes are on their way to the drive, so they are clean; how many pages became clean. A later
    /// write of the host makes them dirty anew.
    pub(super) fn queued(&mut self, bytes: Range<u64>) -> u64 {
        let before = self.count;
        self.clean(bytes, |_, _| ());
        before - self.count
    }

    /// The bytes have reached the drive, which thereby forgot its hints on them. What is dirty here again
    /// is to be reported anew.
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

    /// The blocks of these bytes were freed: they will not be written.
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

    /// Takes what is to be reported, each sorted.
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

    /// Forgets all pages. Those that were to be reported are `dirtied` still.
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

/// Whether one of the ranges, sorted and apart, holds `page`.
fn holds(ranges: &[(u32, u32)], page: u32) -> bool {
    let until = ranges.partition_point(|&(first, _)| first <= page);
    ranges[..until].last().is_some_and(|&(_, end)| page < end)
}

/// The pages that bytes touch, each with its sectors among them. The bytes are within a device.
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
