//! The intervals between the writes of a page, as a histogram over an epoch. A sample of the pages
//! is followed; intervals below a bin are counted of all pages, in a few bins of the epoch.

use flashgc_base::snapshot::State;
use flashgc_base::table::Table;

/// Bins of an epoch in which the writes of all pages are followed.
const PROBES: u64 = 10;

/// The stamp of a page that was not written in this epoch, or was discarded since.
const NEVER: u64 = u64::MAX;
const DISCARDED: u64 = u64::MAX - 1;

/// The histogram of update intervals.
#[derive(State)]
pub(super) struct Updates {
    /// One page of this number is followed.
    #[snapshot(skip)]
    sample: u32,
    /// Twice the host writes of the epoch when each followed page was last written, and 1 more if
    /// that was its first write.
    #[snapshot(table)]
    stamps: Table<u64>,
    /// The number of intervals of each length, in bins.
    #[snapshot(table)]
    counts: Vec<u64>,
    /// Host writes of a bin.
    width: u64,
    /// Host writes that are still to come before the epoch begins.
    waits: u64,
    /// Host writes of the epoch.
    time: u64,
    /// Writes in a probe of pages that were written in the same bin already.
    again: u64,
    /// The pages that were written in the probe, in order.
    seen: Vec<u32>,
}

impl Updates {
    /// A histogram of `bins` bins of `width` host writes, for `pages` pages.
    pub(super) fn new(pages: usize, sample: u32, bins: usize, width: u64) -> Self {
        Self {
            sample,
            stamps: Table::filled(pages.div_ceil(sample as usize), NEVER),
            counts: vec![0; bins],
            width,
            waits: pages as u64,
            time: 0,
            again: 0,
            seen: Vec::with_capacity(width as usize),
        }
    }

    /// Bytes of such a histogram.
    pub(super) fn bytes(pages: usize, sample: u32, bins: usize, width: u64) -> u64 {
        Table::<u64>::bytes_for(pages.div_ceil(sample as usize)) + 8 * bins as u64 + 4 * width
    }

    /// Makes a bin as wide as `planes` of the present bins: a plane gets that share of the writes.
    pub(super) fn widen(&mut self, planes: u64) {
        self.width *= planes;
        self.seen.reserve_exact(self.width as usize);
        self.begin();
    }

    /// Host writes of a bin.
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// Doubles the length of the epoch and of its bins, but not beyond bins of `most` host writes.
    pub(super) fn lengthen(&mut self, most: u64) {
        self.width = (2 * self.width).min(most.max(self.width));
    }

    /// Host writes of the epoch.
    pub(super) fn epoch(&self) -> u64 {
        self.width * self.counts.len() as u64
    }

    /// Begins an epoch.
    pub(super) fn begin(&mut self) {
        self.stamps.fill(NEVER);
        self.counts.fill(0);
        (self.time, self.again) = (0, 0);
        self.seen.clear();
    }

    /// The host has written `page`. Returns `true` if the epoch is over. It goes on for ever then, until
    /// another begins.
    pub(super) fn wrote(&mut self, page: u32) -> bool {
        if self.waits > 0 {
            self.waits -= 1;
            return false;
        }
        self.time += 1;
        let (bin, bins) = (self.time / self.width, self.counts.len() as u64);
        if bin >= bins {
            return true;
        }
        let spacing = bins / (PROBES + 1);
        if spacing > 0 && bin.is_multiple_of(spacing) && (1..=PROBES).contains(&(bin / spacing)) {
            if self.time.is_multiple_of(self.width) {
                self.seen.clear();
            }
            match self.seen.binary_search(&page) {
                Ok(_) => self.again += 1,
                Err(place) => self.seen.insert(place, page),
            }
        }
        if page.is_multiple_of(self.sample) {
            let first = self.note((page / self.sample) as usize);
            self.stamps[(page / self.sample) as usize] = 2 * self.time + u64::from(first);
        }
        false
    }

    /// The host has discarded `page`.
    pub(super) fn trimmed(&mut self, page: u32) {
        let index = (page / self.sample) as usize;
        if self.time > 0 && page.is_multiple_of(self.sample) && self.stamps[index] != NEVER {
            self.note(index);
            self.stamps[index] = DISCARDED;
        }
    }

    /// Counts the interval that ends now of the followed page `index`. Returns `true` if the page is written for
    /// the first time.
    fn note(&mut self, index: usize) -> bool {
        match self.stamps[index] {
            NEVER => true,
            DISCARDED => false,
            stamp => {
                let interval = (self.time - stamp / 2) / self.width;
                let last = self.counts.len() - 1;
                self.counts[(interval as usize).min(last)] += 1;
                false
            }
        }
    }

    /// Ends the epoch: returns the number of intervals of each length.
    ///
    /// An interval of i bins is seen only if it ends within the epoch of n bins, so the counts are
    /// raised by the share that was cut off. Pages that were written only once count as
    /// intervals of the greatest length. Intervals within a bin are those of the probes.
    pub(super) fn end(&mut self) -> &[u64] {
        let bins = self.counts.len() as u64;
        let once = self.stamps.iter().filter(|&&stamp| stamp < DISCARDED && stamp & 1 == 1);
        self.counts[bins as usize - 1] += once.count() as u64;
        if bins / (PROBES + 1) > 0 && self.sample > 1 {
            self.counts[0] = self.again * bins / PROBES / u64::from(self.sample);
        }
        for (interval, count) in (1..).zip(&mut self.counts[1..]) {
            let left = (bins % interval * 2 + interval) as f64 / 2.0 / interval as f64;
            *count += (left * *count as f64 / (bins as f64 / interval as f64)) as u64;
        }
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_counted_in_bins() {
        // All pages are followed; an epoch is 4 bins of 2 writes and begins after 4 writes.
        let mut updates = Updates::new(4, 1, 4, 2);
        for page in [0, 1, 2, 3] {
            assert!(!updates.wrote(page));
        }
        // Times 1 to 7: page 0 after 1, 2 and 3 writes, page 2 once, page 3 discarded.
        for page in [0, 0, 3, 0] {
            assert!(!updates.wrote(page));
        }
        updates.trimmed(3);
        assert!(!updates.wrote(2));
        assert!(!updates.wrote(3));
        assert!(!updates.wrote(0));
        // 0 bins: once 1 write, and the discard after 1. 1 bin: 2 and 3 writes. Page 3, which was
        // written again after its discard, is not one that was written once; page 2 is.
        assert_eq!(updates.counts, [2, 2, 0, 0]);
        assert!(updates.wrote(1));
        // 2 intervals of one bin of 4: raised by 2 (0.5)/4, rounded down. Page 2 has the last bin, raised by
        // (2 + 3)/6 (3/4) = 0.6, rounded down.
        assert_eq!(updates.end(), [2, 2, 0, 1]);
        updates.begin();
        assert_eq!((updates.counts.as_slice(), updates.time), ([0; 4].as_slice(), 0));
    }

    #[test]
    fn probes_count_short_intervals_of_all_pages() {
        // One page of 100 is followed; an epoch is 22 bins of 4 writes: probes are the bins 2, 4,
        // ... 20. Each has a page three times: 2 short intervals, 10 probes.
        let mut updates = Updates::new(200, 100, 22, 4);
        updates.waits = 0;
        let mut time = 0;
        while !updates.wrote([1, 1, 1, 7][(time + 1) % 4]) {
            time += 1;
        }
        assert_eq!((time, updates.again), (87, 20));
        assert_eq!(updates.end()[0], 20 * 22 / 10 / 100);
    }
}
