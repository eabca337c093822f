//! A set of pages, from which pages can be removed.

use std::ops::Range;

/// Ranges of pages in order, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages(Vec<Range<u64>>);

impl Pages {
    pub(super) fn new(range: Range<u64>) -> Self {
        Self(if range.is_empty() { vec![] } else { vec![range] })
    }

    /// Returns the number of pages.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns `true` if one of these ranges has a page of the set.
    pub(super) fn touch(&self, ranges: &[Range<u64>]) -> bool {
        let touches = |range: &Range<u64>| {
            let next = self.0.get(self.first_behind(range.start));
            !range.is_empty() && next.is_some_and(|next| next.start < range.end)
        };
        ranges.iter().any(touches)
    }

    /// Removes the pages of a range.
    pub(super) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.first_behind(range.start);
        let count = self.0[from..].partition_point(|held| held.start < range.end);
        let before = self.0[from..from + count].first().map(|held| held.start..range.start);
        let after = self.0[from..from + count].last().map(|held| range.end..held.end);
        let left = before.into_iter().chain(after).filter(|held| !held.is_empty());
        drop(self.0.splice(from..from + count, left.collect::<Vec<_>>()));
    }

    /// Returns the index of the first range that ends behind `page`.
    fn first_behind(&self, page: u64) -> usize {
        self.0.partition_point(|held| held.end <= page)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The set of ranges agrees with a `BTreeSet` of page numbers.
        #[test]
        fn pages_that_are_taken_away_are_gone(
            all in (0_u64..40, 0_u64..40),
            taken in vec((0_u64..50, 0_u64..12), 0..20),
            asked in vec((0_u64..50, 0_u64..6), 1..20),
        ) {
            let mut pages = Pages::new(all.0..all.0 + all.1);
            let mut naive: BTreeSet<u64> = (all.0..all.0 + all.1).collect();
            for (first, count) in taken {
                pages.remove(&(first..first + count));
                naive.retain(|page| !(first..first + count).contains(page));
                prop_assert_eq!(pages.count(), naive.len() as u64);
                prop_assert!(pages.0.iter().all(|range| !range.is_empty()));
            }
            for (first, count) in asked {
                let range = first..first + count;
                prop_assert_eq!(pages.touch(&[0..0, range.clone()]), naive.range(range).next().is_some());
            }
        }
    }
}
