//! Sets and lists of pages in flat arrays. Every operation takes constant time, except the search
//! for the next page of a set.

use flashgc_base::snapshot::{Fault, State};

/// A set of pages, one bit each.
#[derive(Clone, State)]
pub(super) struct Pages {
    #[snapshot(table)]
    words: Vec<u64>,
    count: u32,
}

impl Pages {
    /// Makes an empty set for page numbers below `pages`.
    pub(super) fn none(pages: u32) -> Self {
        Self { words: vec![0; (pages as usize).div_ceil(64)], count: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn has(&self, page: u32) -> bool {
        self.words[(page >> 6) as usize] >> (page & 63) & 1 == 1
    }

    /// Puts in `page`. Returns `true` if it was not in the set.
    pub(super) fn insert(&mut self, page: u32) -> bool {
        let is_new = !self.has(page);
        self.words[(page >> 6) as usize] |= 1 << (page & 63);
        self.count += u32::from(is_new);
        is_new
    }

    /// Takes out `page`. Returns `true` if it was in the set.
    pub(super) fn remove(&mut self, page: u32) -> bool {
        let was = self.has(page);
        self.words[(page >> 6) as usize] &= !(1 << (page & 63));
        self.count -= u32::from(was);
        was
    }

    /// Returns the first page of the set at or after `page`, in address order.
    pub(super) fn first_from(&self, page: u32) -> Option<u32> {
        let mut word = (page >> 6) as usize;
        let mut bits = self.words.get(word)? & (u64::MAX << (page & 63));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some((word * 64) as u32 + bits.trailing_zeros())
    }

    /// Returns the first page of the set at or after `page`, or else the first one of all.
    pub(super) fn next_around(&self, page: u32) -> Option<u32> {
        self.first_from(page).or_else(|| self.first_from(0))
    }
}

/// Lists of pages. A page is in at most one list at a time.
#[derive(State)]
#[snapshot(then = check)]
pub(super) struct Lists {
    /// For each page, the next page in its list. After these, one entry for the head of each list.
    #[snapshot(table)]
    next: Vec<u32>,
    #[snapshot(table)]
    previous: Vec<u32>,
    #[snapshot(skip)]
    pages: u32,
}

impl Lists {
    /// Makes `lists` empty lists for page numbers below `pages`.
    pub(super) fn new(pages: u32, lists: u32) -> Self {
        let own: Vec<u32> = (0..pages + lists).collect();
        Self { next: own.clone(), previous: own, pages }
    }

    /// Checks that every entry names an existing page or head.
    fn check(&self) -> Result<(), Fault> {
        let ends = self.next.len() as u32;
        if self.next.iter().chain(&self.previous).all(|&page| page < ends) {
            return Ok(());
        }
        Err(Fault::new("a list of pages names a page that there is not"))
    }

    pub(super) fn push_front(&mut self, list: u32, page: u32) {
        let head = self.pages + list;
        let second = self.next[head as usize];
        self.next[page as usize] = second;
        self.previous[page as usize] = head;
        self.previous[second as usize] = page;
        self.next[head as usize] = page;
    }

    /// Takes `page` out of its list.
    pub(super) fn remove(&mut self, page: u32) {
        let (next, previous) = (self.next[page as usize], self.previous[page as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }

    /// Returns the last page of a list.
    pub(super) fn last(&self, list: u32) -> Option<u32> {
        self.before(self.pages + list)
    }

    /// Returns the page before `page` in its list; `None` if `page` is the first one.
    pub(super) fn before(&self, page: u32) -> Option<u32> {
        let page = self.previous[page as usize];
        (page < self.pages).then_some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_in_address_order_and_around_the_end() {
        let mut set = Pages::none(200);
        assert!(set.insert(3) && set.insert(64) && set.insert(199) && !set.insert(64));
        assert_eq!([0, 3, 4, 65].map(|page| set.first_from(page)), [3, 3, 64, 199].map(Some));
        assert_eq!((set.next_around(199), set.next_around(200)), (Some(199), Some(3)));
        assert!(set.remove(199) && !set.remove(199) && set.len() == 2);
        assert_eq!((set.first_from(65), set.next_around(65)), (None, Some(3)));
    }

    #[test]
    fn lists_keep_their_order_and_do_not_mix() {
        let mut lists = Lists::new(5, 2);
        for page in [0, 1, 2] {
            lists.push_front(0, page);
        }
        lists.push_front(1, 4);
        assert_eq!((lists.last(0), lists.last(1)), (Some(0), Some(4)));
        assert_eq!((lists.before(0), lists.before(2)), (Some(1), None));
        lists.remove(0);
        lists.remove(4);
        assert_eq!((lists.last(0), lists.last(1)), (Some(1), None));
    }
}
