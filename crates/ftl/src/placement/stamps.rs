//! The times of the last writes of each page. They tell how often a page is written, and when it
//! will probably be written next.
//!
//! The clock t is the number of logical pages plus the pages that the host has written. So the
//! first contents of a drive count as writes of its pages in their order, before all others.

use super::Now;
use flashgc_base::snapshot::State;
use flashgc_base::table::{Table, prefetch};

/// Stamps that are kept for each page.
pub(super) const KEPT: usize = 4;

/// Bytes of the stamps of `pages` pages.
pub(super) fn bytes(pages: usize) -> u64 {
    Table::<u64>::bytes_for(KEPT * pages)
}

/// The stamp of a write that did not happen.
const NEVER: u64 = u64::MAX;

/// Returns `time` divided by `count`, from 1 to [`KEPT`], rounded down. Each case has a constant
/// divisor, so none takes a division.
#[inline(always)]
pub(super) fn share(time: u64, count: usize) -> u64 {
    match count {
        1 => time,
        2 => time / 2,
        3 => time / 3,
        _ => time / 4,
    }
}

/// The stamps of the last [`KEPT`] writes of every page.
#[derive(State)]
pub(super) struct Stamps {
    /// Logical pages.
    #[snapshot(skip)]
    pages: u64,
    /// The stamps of each page, [`KEPT`] of them, the newest first; [`NEVER`] stands for a missing
    /// stamp.
    #[snapshot(table)]
    stamps: Table<u64>,
}

impl Stamps {
    pub(super) fn new(pages: usize) -> Self {
        Self { pages: pages as u64, stamps: Table::filled(KEPT * pages, NEVER) }
    }

    /// t: the stamp of a write that comes now.
    #[inline]
    pub(super) fn clock(&self, now: Now) -> u64 {
        self.pages + now.host
    }

    pub(super) fn prefetch(&self, page: u32) {
        prefetch(&self.stamps, KEPT * page as usize);
    }

    /// The kept stamps of `page`, the newest first: at most [`KEPT`].
    #[inline]
    pub(super) fn of(&self, page: u32) -> &[u64] {
        let stamps = &self.stamps[KEPT * page as usize..][..KEPT];
        let count = stamps.iter().position(|&stamp| stamp == NEVER).unwrap_or(KEPT);
        &stamps[..count]
    }

    /// The drive has `page` from the beginning. First contents count as written just before time 0,
    /// in page order.
    pub(super) fn holds(&mut self, page: u32, now: Now) {
        self.push(page, now.host + u64::from(page));
    }

    /// The host has written `page`, and the clock counts that.
    #[inline]
    pub(super) fn wrote(&mut self, page: u32, now: Now) {
        self.push(page, self.clock(now) - 1);
    }

    /// Forgets the stamps of `page`.
    pub(super) fn trimmed(&mut self, page: u32) {
        self.stamps[KEPT * page as usize..][..KEPT].fill(NEVER);
    }

    #[inline]
    fn push(&mut self, page: u32, stamp: u64) {
        let stamps = self.stamps[KEPT * page as usize..].first_chunk_mut::<KEPT>();
        let Some(stamps) = stamps else { return };
        *stamps = [stamp, stamps[0], stamps[1], stamps[2]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: u64) -> Now {
        Now { programs: 0, host }
    }

    #[test]
    fn the_last_four_writes_are_kept_newest_first() {
        let mut stamps = Stamps::new(10);
        assert_eq!(stamps.of(3), []);
        stamps.holds(3, at(0));
        assert_eq!((stamps.of(3), stamps.clock(at(0))), (&[3][..], 10));
        // Writes 0, 5, 6 and 20 have the stamps 10, 15, 16 and 30.
        for (count, number) in [(2, 0), (3, 5), (4, 6), (4, 20)] {
            stamps.wrote(3, at(number + 1));
            assert_eq!((stamps.of(3).len(), stamps.of(3)[0]), (count, 10 + number));
        }
        assert_eq!(stamps.of(3), [30, 16, 15, 10]);
        assert_eq!([2, 4].map(|page| stamps.of(page).len()), [0, 0]);
        stamps.trimmed(3);
        assert_eq!(stamps.of(3), []);
        // After a crash pages count as written just before it.
        stamps.holds(9, at(40));
        assert_eq!((stamps.of(9), stamps.clock(at(40))), (&[49][..], 50));
    }
}
