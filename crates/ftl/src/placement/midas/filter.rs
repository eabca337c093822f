//! The hot filter: a counter of two bits for each page. A page whose counter is full is hot.

use flashgc_base::snapshot::State;
use flashgc_base::table::{Table, prefetch};

/// The value of a full counter.
const HOT: u8 = 3;

/// The counters of a word.
const WORD: usize = 8;

/// A counter of two bits for each page.
#[derive(State)]
struct Counters {
    #[snapshot(table)]
    words: Table<u16>,
}

impl Counters {
    fn new(pages: usize) -> Self {
        Self { words: Table::filled(pages.div_ceil(WORD), 0) }
    }

    #[inline]
    fn of(&self, page: u32) -> u8 {
        let page = page as usize;
        (self.words[page / WORD] >> (2 * (page % WORD)) & 3) as u8
    }

    #[inline]
    fn set(&mut self, page: u32, counter: u8) {
        let (word, shift) = (&mut self.words[page as usize / WORD], 2 * (page as usize % WORD));
        *word = *word & !(3 << shift) | u16::from(counter) << shift;
    }
}

/// The place of the data that a write replaces, as far as the filter asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The hot group.
    Hot,
    /// The first group of the chain. The field is the age of the block: host writes since it was
    /// full, 0 while it is open.
    First(u64),
    /// Any other group.
    Other,
}

/// The counters of all pages, and the window: the age up to which a page of the first group that is
/// overwritten gets hotter.
#[derive(State)]
pub(super) struct Filter {
    #[snapshot(skip)]
    is_on: bool,
    #[snapshot(state)]
    counters: Counters,
    /// Host writes that are still to come before the filter begins.
    cold: u64,
    /// Host writes; the mean age of the collected hot blocks when the window was last set.
    window: u64,
    /// Overwrites that are left in the window.
    left: u64,
    /// The sum of the ages of the hot blocks that were collected in this window, and their number.
    ages: u64,
    blocks: u64,
    /// The sum of the valid shares of these blocks.
    valid: f64,
    /// The host writes of this window, and those to the hot group.
    writes: u64,
    hot_writes: u64,
}

/// A window that is over, for the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Past {
    /// The share of the host writes that went to the hot group.
    pub(super) traffic: f64,
    /// The mean share of valid pages of collected hot blocks.
    pub(super) valid: f64,
}

impl Filter {
    pub(super) fn new(is_on: bool, pages: usize) -> Self {
        Self {
            is_on,
            counters: Counters::new(pages),
            cold: pages as u64,
            window: pages as u64,
            left: pages as u64,
            ages: 0,
            blocks: 0,
            valid: 0.0,
            writes: 0,
            hot_writes: 0,
        }
    }

    pub(super) fn bytes(pages: usize) -> u64 {
        Table::<u16>::bytes_for(pages.div_ceil(WORD))
    }

    pub(super) fn prefetch(&self, page: u32) {
        prefetch(&self.counters.words, page as usize / WORD);
    }

    /// Returns the counter of `page` after a write that replaces data `from` there.
    fn after(&self, page: u32, from: From) -> u8 {
        let counter = self.counters.of(page);
        match from {
            _ if self.cold > 0 => counter,
            From::Hot => (counter + 1).min(HOT),
            From::First(age) if age <= self.window => (counter + 1).min(HOT),
            From::First(_) => counter.saturating_sub(1),
            From::Other => counter,
        }
    }

    /// Returns `true` if a write of `page` is hot. `from` is the place of its data until now, if it
    /// has any.
    #[inline]
    pub(super) fn is_hot(&self, page: u32, from: Option<From>) -> bool {
        let counter = match from {
            Some(from) => self.after(page, from),
            None => self.counters.of(page),
        };
        self.is_on && counter == HOT
    }

    /// The host has written `page`. Returns the window that ends with this write.
    pub(super) fn wrote(&mut self, page: u32, from: Option<From>, hot: bool) -> Option<Past> {
        if !self.is_on {
            return None;
        }
        self.writes += 1;
        self.hot_writes += u64::from(hot);
        let from = from?;
        if self.cold > 0 {
            self.cold -= 1;
            return None;
        }
        self.counters.set(page, self.after(page, from));
        self.left = self.left.saturating_sub(1);
        if self.left > 0 || self.blocks == 0 { None } else { self.turn() }
    }

    /// Sets the next window. Returns the one that is over, if any host write was hot in it.
    fn turn(&mut self) -> Option<Past> {
        let traffic = self.hot_writes as f64 / self.writes as f64;
        let past = Past { traffic, valid: self.valid / self.blocks as f64 };
        let (mean, before) = (self.ages as f64 / self.blocks as f64, self.window as f64);
        let mean = if mean >= 2.0 * before { 1.5 * before } else { (mean + before) / 2.0 };
        self.window = mean as u64;
        self.left = self.window.saturating_sub(1);
        (self.ages, self.blocks, self.valid, self.writes, self.hot_writes) = (0, 0, 0.0, 0, 0);
        (traffic > 0.0).then_some(past)
    }

    /// A hot block that was full for `age` host writes is collected; `valid` is the valid share of
    /// its pages.
    pub(super) fn collected_hot(&mut self, age: u64, valid: f64) {
        self.ages += age;
        self.blocks += 1;
        self.valid += valid;
    }

    /// A collection found `page` valid in the hot group (`hot`) or in the first group.
    pub(super) fn outlived(&mut self, page: u32, hot: bool) {
        if self.cold == 0 {
            let counter = self.counters.of(page);
            self.counters.set(page, counter.saturating_sub(if hot { 2 } else { 1 }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter of 4 pages that has begun; its window is 4 host writes.
    fn begun() -> Filter {
        let mut filter = Filter::new(true, 4);
        for _ in 0..4 {
            assert_eq!(filter.wrote(0, Some(From::First(0)), false), None);
        }
        filter
    }

    #[test]
    fn a_page_that_dies_young_three_times_is_hot() {
        let mut filter = begun();
        let young = Some(From::First(4));
        // The write that fills the counter is hot itself.
        for (count, is_hot) in [false, false, true, true].into_iter().enumerate() {
            assert_eq!(filter.is_hot(1, young), is_hot, "after {count}");
            filter.wrote(1, young, is_hot);
        }
        assert_eq!(filter.counters.of(1), 3);
        // An old page of the first group cools down, and one of other groups stays.
        filter.wrote(1, Some(From::Other), false);
        filter.wrote(1, Some(From::First(5)), false);
        assert_eq!(filter.counters.of(1), 2);
        assert!(!filter.is_hot(1, Some(From::First(5))) && filter.is_hot(1, Some(From::Hot)));
        // Copies cool it down: by two from the hot group, by one from the first.
        filter.outlived(1, false);
        assert_eq!(filter.counters.of(1), 1);
        filter.outlived(1, true);
        assert_eq!(filter.counters.of(1), 0);
    }

    #[test]
    fn the_window_is_the_mean_age_of_hot_blocks() {
        let mut filter = begun();
        // Blocks of ages 1 and 2, half and a quarter of them valid; two of the 4 + 4 writes are hot.
        filter.collected_hot(1, 0.5);
        filter.collected_hot(2, 0.25);
        for hot in [true, false, true] {
            assert_eq!(filter.wrote(2, Some(From::Other), hot), None);
        }
        let past = filter.wrote(2, Some(From::Other), false);
        assert_eq!(past, Some(Past { traffic: 0.25, valid: 0.375 }));
        // (1.5 + 4)/2 = 2.75 host writes.
        assert_eq!((filter.window, filter.left), (2, 1));
        // A mean of at least twice the window lengthens it by half. Without a hot write nothing is
        // reported.
        filter.collected_hot(4, 0.0);
        assert_eq!(filter.wrote(2, Some(From::Other), false), None);
        assert_eq!(filter.window, 3);
    }

    #[test]
    fn a_filter_that_is_off_calls_nothing_hot() {
        let mut filter = Filter::new(false, 1);
        for _ in 0..9 {
            assert!(!filter.is_hot(0, Some(From::Hot)));
            assert_eq!(filter.wrote(0, Some(From::Hot), false), None);
        }
    }
}
