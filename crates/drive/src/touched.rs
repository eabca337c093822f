//! The pages that a workload writes again: how long it takes until all of them, the coldest too, are rewritten.

use flashgc_base::snapshot::Value;
use flashgc_workload::{Batch, Op};

/// The most pages that are watched. A drive with more has every 2nd, 4th, 8th and so on watched, drawn by a hash.
const MOST_WATCHED: u32 = 1 << 16;

/// The watched pages that were written, ever and since the last look.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct Touched {
    /// The bits of a page's hash that must be 0 for it to be watched.
    mask: u32,
    ever: Vec<u64>,
    lately: Vec<u64>,
}

impl Touched {
    /// Watches a drive of `pages` logical pages.
    pub fn new(pages: u32) -> Self {
        let shift = pages.div_ceil(MOST_WATCHED).next_power_of_two().trailing_zeros();
        let words = vec![0; (pages as usize).div_ceil(64)];
        Self { mask: (1 << shift) - 1, ever: words.clone(), lately: words }
    }

    /// Adds the writes of `batch`.
    pub fn add(&mut self, batch: &Batch) {
        if batch.ops.is_empty() {
            batch.pages.iter().for_each(|&page| self.write(page));
        } else {
            let each = batch.pages.iter().zip(&batch.ops);
            each.filter(|(_, op)| **op == Op::Write).for_each(|(&page, _)| self.write(page));
        }
    }

    fn write(&mut self, page: u32) {
        // The upper half of the product is even also for pages in a row.
        if (page.wrapping_mul(0x9e37_79b1) >> 16) & self.mask == 0 {
            let (word, bit) = (page as usize / 64, 1 << (page % 64));
            if let Some(lately) = self.lately.get_mut(word) {
                *lately |= bit;
            }
        }
    }

    /// Returns the number of times that a cold page was written since the last look, and begins anew: the
    /// logarithm of the share of the pages written before that were not written since. It is that mean number
    /// where all pages are equally cold, and below the mean of different ones. `None` if no page was written
    /// before.
    pub fn rewrites(&mut self) -> Option<f64> {
        let ones =
            |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let all = ones(&self.ever);
        let again: u64 = self
            .ever
            .iter()
            .zip(&self.lately)
            .map(|(ever, lately)| u64::from((ever & lately).count_ones()))
            .sum();
        for (ever, lately) in self.ever.iter_mut().zip(&mut self.lately) {
            *ever |= std::mem::take(lately);
        }
        // Of pages that were all written again, half a page was not.
        let left = ((all - again) as f64).max(0.5);
        (all > 0).then(|| (all as f64 / left).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(pages: impl IntoIterator<Item = u32>) -> Batch {
        Batch { pages: pages.into_iter().collect(), ..Batch::default() }
    }

    #[test]
    fn a_page_in_e_is_left_after_one_rewrite() {
        let mut touched = Touched::new(1000);
        touched.add(&batch(0..1000));
        assert_eq!(touched.rewrites(), None);
        // 368 of 1000 pages are 1/e of them: one write of each on average, if they are drawn.
        touched.add(&batch(368..1000));
        assert!((touched.rewrites().unwrap() - 1.0).abs() < 0.001);
        touched.add(&batch(0..1000));
        assert!((touched.rewrites().unwrap() - 2000f64.ln()).abs() < 1e-9);
        assert_eq!(touched.rewrites(), Some(0.0), "nothing was written since");
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
