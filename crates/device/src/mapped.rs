//! Counts of the pages with data in each group of pages. A search in a range skips groups in which
//! all pages, or none, have data.

use std::ops::Range;

use flashgc_ftl::UNMAPPED;

/// The number of pages in a group.
pub(crate) const GROUP: u32 = 4096;

/// The number of pages with data in each group.
#[derive(Debug)]
pub(crate) struct Mapped {
    pages: u32,
    counts: Vec<u16>,
}

impl Mapped {
    /// Returns the counts of an empty drive of `pages` pages.
    pub(crate) fn new(pages: u32) -> Self {
        Self { pages, counts: vec![0; pages.div_ceil(GROUP) as usize] }
    }

    /// Returns the counts of the map with these entries.
    pub(crate) fn of(entries: &[u32]) -> Self {
        let mut mapped = Self::new(entries.len() as u32);
        for (first, entries) in (0..).step_by(GROUP as usize).zip(entries.chunks(GROUP as usize)) {
            mapped.set(first, entries);
        }
        mapped
    }

    /// Counts the entries of the group that begins with page `first`.
    pub(crate) fn set(&mut self, first: u32, entries: &[u32]) {
        let count = entries.iter().filter(|&&ppn| ppn != UNMAPPED).count();
        self.counts[(first / GROUP) as usize] = count as u16;
    }

    /// Notes that `page` now has data.
    pub(crate) fn add(&mut self, page: u32) {
        self.counts[(page / GROUP) as usize] += 1;
    }

    /// Notes that `page` no longer has data.
    pub(crate) fn remove(&mut self, page: u32) {
        self.counts[(page / GROUP) as usize] -= 1;
    }

    /// Compares the counts with what `has_data` says of each page.
    ///
    /// # Errors
    /// The first group that has another count.
    pub(crate) fn audit(&self, has_data: impl Fn(u32) -> bool) -> Result<(), String> {
        for (group, &count) in (0..).zip(&self.counts) {
            let pages = group * GROUP..((group + 1).saturating_mul(GROUP)).min(self.pages);
            let held = pages.filter(|&page| has_data(page)).count();
            if held != usize::from(count) {
                return Err(format!(
                    "group {group} counts {count} pages with data, {held} have some"
                ));
            }
        }
        Ok(())
    }

    /// Returns `true` if no page of the group of `page` has data.
    pub(crate) fn is_empty(&self, page: u32) -> bool {
        self.counts[(page / GROUP) as usize] == 0
    }

    /// Returns `true` if all pages of the group of `page` have data.
    fn is_full(&self, page: u32) -> bool {
        let first = page / GROUP * GROUP;
        u32::from(self.counts[(page / GROUP) as usize]) == (self.pages - first).min(GROUP)
    }

    /// Returns the first page of `range` that has data or, if `data` is false, the first without
    /// data. Returns the end of the range if there is no such page. `has_data` is not called for
    /// pages of a group that cannot have such a page.
    pub(crate) fn next(
        &self,
        range: Range<u32>,
        data: bool,
        mut has_data: impl FnMut(u32) -> bool,
    ) -> u32 {
        let mut page = range.start;
        while page < range.end {
            let is_without = if data { self.is_empty(page) } else { self.is_full(page) };
            if is_without {
                page = (page / GROUP + 1).saturating_mul(GROUP);
            } else if has_data(page) == data {
                return page;
            } else {
                page += 1;
            }
        }
        range.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive has 2^30 pages, and three of these have data. A search looks only at their groups.
    #[test]
    fn what_is_looked_at_follows_the_pages_with_data_not_the_range() {
        let pages = 1 << 30;
        let held = [5, 900_000_001, pages - 1];
        let mut mapped = Mapped::new(pages);
        held.iter().for_each(|&page| mapped.add(page));
        let (mut from, mut extents, mut looks) = (0, vec![], 0);
        loop {
            let next = mapped.next(from..pages, true, |page| {
                looks += 1;
                held.contains(&page)
            });
            if next == pages {
                break;
            }
            extents.push(next);
            from = next + 1;
        }
        assert_eq!(extents, held);
        assert!(looks <= 3 * GROUP, "{looks}");
        assert_eq!(mapped.next(6..pages - 1, false, |page| held.contains(&page)), 6);
        mapped.remove(5);
        assert_eq!(mapped.next(0..GROUP, true, |_| panic!("an empty group")), GROUP);
    }

    #[test]
    fn a_full_group_is_passed_over_also_where_it_is_the_last_and_shorter() {
        let mut mapped = Mapped::new(GROUP + 10);
        (0..GROUP + 10).for_each(|page| mapped.add(page));
        assert_eq!(mapped.next(3..GROUP + 10, false, |_| panic!("a full group")), GROUP + 10);
        mapped.remove(GROUP + 2);
        assert_eq!(mapped.next(3..GROUP + 10, false, |page| page != GROUP + 2), GROUP + 2);
    }
}
