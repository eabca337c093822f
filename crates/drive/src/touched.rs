//! The pages that a workload writes again: how long it takes until all of them, the coldest too,
//! are rewritten.

use std::ops::Range;

use flashgc_base::snapshot::Value;
use flashgc_workload::Batch;

use crate::kept::{SLACK, hash, keep_hashed, keep_writes};

/// The most pages that are watched. On a larger drive one page in 2, 4, 8 or so is watched, chosen
/// by a hash.
const MOST_WATCHED: u32 = 1 << 16;

/// The number of commands that are looked at together.
const CHUNK: usize = 256;

/// The fewest pages that must not have been written since the last look, so that they show how fast
/// such pages are written.
const FEWEST_LEFT: u64 = 20;

/// Records which of the watched pages were written at all, and which since the last look.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct Touched {
    /// The bits of a page's hash that must be 0 for it to be watched.
    mask: u32,
    ever: Vec<u64>,
    lately: Vec<u64>,
    /// The page writes since the last look.
    writes: u64,
    /// The course since the last look, up to the moment when too few pages were left.
    marks: Vec<Mark>,
    /// The page writes at which the next mark is due.
    due: u64,
}

/// A point of the course: after `writes` page writes a cold page was written `times` times.
#[derive(Clone, Copy, Debug, PartialEq, Value)]
struct Mark {
    writes: u64,
    times: f64,
}

impl Touched {
    /// Watches a drive of `pages` logical pages.
    pub fn new(pages: u32) -> Self {
        let shift = pages.div_ceil(MOST_WATCHED).next_power_of_two().trailing_zeros();
        let words = vec![0; (pages as usize).div_ceil(64)];
        Self {
            mask: (1 << shift) - 1,
            ever: words.clone(),
            lately: words,
            writes: 0,
            marks: Vec::new(),
            due: 1,
        }
    }

    /// Adds the writes of `batch`.
    pub fn add(&mut self, batch: &Batch) {
        let (mut written, mut watched) = ([0; CHUNK + SLACK], [0; CHUNK + SLACK]);
        let mut ops = batch.ops.chunks(CHUNK);
        for pages in batch.pages.chunks(CHUNK) {
            let pages = match ops.next() {
                Some(ops) => {
                    let count = keep_writes(pages, ops, &mut written);
                    &written[..count]
                }
                None => pages,
            };
            self.writes += pages.len() as u64;
            let count = keep_hashed(pages, self.mask, &mut watched);
            watched[..count].iter().for_each(|&page| self.note(page));
        }
        self.mark();
    }

    /// Adds a write of each of these pages.
    pub fn add_pages(&mut self, pages: Range<u32>) {
        self.writes += u64::from(pages.end - pages.start);
        let mask = self.mask;
        pages.filter(|&page| hash(page) & mask == 0).for_each(|page| self.note(page));
        self.mark();
    }

    /// Notes a write of `page`, which is watched.
    #[inline]
    fn note(&mut self, page: u32) {
        let (word, bit) = (page as usize / 64, 1 << (page % 64));
        if let Some(lately) = self.lately.get_mut(word) {
            *lately |= bit;
        }
    }

    /// Records the course each time that the writes have grown by a quarter.
    fn mark(&mut self) {
        if self.writes >= self.due {
            self.due = self.writes + self.writes.div_ceil(4);
            if let Some((times, left)) = self.times()
                && left >= FEWEST_LEFT
            {
                self.marks.push(Mark { writes: self.writes, times });
            }
        }
    }

    /// Returns the number of times that a cold page was written since the last look, and begins
    /// anew. `None` if no page was written before that look. The number is ln(n / m) if m of the n
    /// pages written before were not written since. If all pages are equally cold, this is their
    /// mean number of writes; if they differ, it is less. Once hardly a page is left, the number
    /// grows on at the rate of the second half of the writes before.
    pub fn rewrites(&mut self) -> Option<f64> {
        let times = self.rewrites_so_far();
        for (ever, lately) in self.ever.iter_mut().zip(&mut self.lately) {
            *ever |= std::mem::take(lately);
        }
        self.marks.clear();
        (self.writes, self.due) = (0, 1);
        times
    }

    /// Returns the same number as [`Touched::rewrites`], but does not begin anew.
    pub fn rewrites_so_far(&self) -> Option<f64> {
        let (times, left) = self.times()?;
        let Some(last) = self.marks.last().filter(|_| left < FEWEST_LEFT) else {
            return Some(times);
        };
        let half = self.marks.iter().rev().find(|mark| 2 * mark.writes <= last.writes);
        let half = half.copied().unwrap_or(Mark { writes: 0, times: 0.0 });
        let rate = (last.times - half.times) / (last.writes - half.writes) as f64;
        Some(times.max(last.times + rate * (self.writes - last.writes) as f64))
    }

    /// Returns ln(n / m) and m, if m of the n watched pages that were written before were not
    /// written since; `None` if n is 0.
    fn times(&self) -> Option<(f64, u64)> {
        let ones =
            |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let all = ones(&self.ever);
        let again: u64 = self
            .ever
            .iter()
            .zip(&self.lately)
            .map(|(ever, lately)| u64::from((ever & lately).count_ones()))
            .sum();
        // If no page is left, half a page counts as left, so that the logarithm is finite.
        let left = all - again;
        (all > 0).then(|| ((all as f64 / (left as f64).max(0.5)).ln(), left))
    }
}

#[cfg(test)]
mod tests {
    use flashgc_workload::Op;

    use super::*;

    fn batch(pages: impl IntoIterator<Item = u32>) -> Batch {
        Batch { pages: pages.into_iter().collect(), ..Batch::default() }
    }

    #[test]
    fn a_page_in_e_is_left_after_one_rewrite() {
        let mut touched = Touched::new(1000);
        touched.add(&batch(0..1000));
        assert_eq!(touched.rewrites(), None);
        // 368 of 1000 pages are left, which is 1/e of them. With random writes, each page was then
        // written once on average.
        touched.add(&batch(368..1000));
        assert!((touched.rewrites().unwrap() - 1.0).abs() < 0.001);
        touched.add(&batch(0..1000));
        assert!((touched.rewrites().unwrap() - 2000f64.ln()).abs() < 1e-9);
        assert_eq!(touched.rewrites(), Some(0.0), "nothing was written since");
    }

    #[test]
    fn the_number_grows_on_when_no_page_is_left() {
        // One half of the pages is written at random. The other, cold half is written a tenth as
        // often.
        let mut rng = flashgc_base::rng::Stream::new(1, "touched");
        let mut touched = Touched::new(1 << 16);
        touched.add(&batch(0..1 << 16));
        touched.rewrites();
        let half = 1 << 15;
        for _ in 0..2000 {
            let pages = (0..4096).map(|_| {
                let page = rng.below(half);
                if rng.below(11) == 0 { page + half } else { page }
            });
            touched.add(&batch(pages.collect::<Vec<_>>()));
        }
        // One write in 11 goes to the cold half: 4096 * 2000 / 11 writes of 32768 cold pages, or
        // 22.7 each. The hot half adds ln 2 to the figure.
        let times = touched.rewrites_so_far().unwrap();
        assert!((times / (22.7 + 2f64.ln()) - 1.0).abs() < 0.05, "{times}");
        assert_eq!(touched.rewrites(), Some(times));
        assert_eq!(touched.rewrites_so_far(), Some(0.0));
    }

    #[test]
    fn reads_and_trims_are_no_writes_and_pages_never_written_do_not_count() {
        let mut touched = Touched::new(100);
        touched.add(&batch(0..50));
        touched.rewrites();
        let mut mixed = batch(0..50);
        mixed.ops = (0..50).map(|page| if page < 25 { Op::Write } else { Op::Read }).collect();
        touched.add(&mixed);
        assert_eq!(touched.rewrites(), Some(2f64.ln()));
    }

    #[test]
    fn a_large_drive_is_watched_in_parts() {
        let pages = 1 << 22;
        let mut touched = Touched::new(pages);
        touched.add(&batch(0..pages));
        touched.rewrites();
        let watched: u64 = touched.ever.iter().map(|word| u64::from(word.count_ones())).sum();
        assert!((60_000..72_000).contains(&watched), "{watched}");
        touched.add(&batch((0..pages).filter(|page| page % 2 == 0)));
        assert!((touched.rewrites().unwrap() - 2f64.ln()).abs() < 0.03);
    }
}
