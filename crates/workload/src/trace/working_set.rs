//! The working set over time: the distinct pages in each of 17 to 32 equal parts of a trace. One
//! pass finds them, without knowing the length of the trace.

use flashgc_base::described::Described;
use serde::Serialize;

/// The numbers of distinct pages in consecutive windows of the same number of requests (Denning's
/// W(t, T) at t = T, 2T, ...).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Described)]
pub struct WorkingSets {
    /// The number of requests in a window, a power of two. The last window may have fewer.
    pub window: u64,
    /// The number of distinct pages in each window.
    pub pages: Vec<u64>,
}

/// The largest number of windows in the result. The result has more than half as many, unless the
/// trace has fewer requests.
const WINDOWS: usize = 32;
/// The number of window sizes: 2^0 to 2^63 requests.
const LEVELS: usize = 64;

/// Counts distinct pages for every window size that can still be the result.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    /// The numbers of distinct pages in each window, by the binary logarithm of the window size.
    /// There are at most [`WINDOWS`] windows of each size.
    levels: Vec<Vec<u64>>,
    /// The binary logarithm of the smallest window size with at most [`WINDOWS`] windows so far.
    lowest: usize,
    /// For each page, the number of the request that accessed it last. Requests are numbered from
    /// 1.
    last: Vec<u64>,
}

impl Counter {
    pub fn new() -> Self {
        Self { levels: vec![Vec::new(); LEVELS], lowest: 0, last: Vec::new() }
    }

    /// Counts an access to page `page` by request number `request`, from 1. The number of a new
    /// page must be the number of pages so far.
    #[inline]
    pub fn access(&mut self, page: u32, request: u64) {
        let before = match self.last.get_mut(page as usize) {
            Some(last) => std::mem::replace(last, request),
            None => {
                super::address_map::push(&mut self.last, request);
                0
            }
        };
        // Two accesses in the same smallest window are also in the same larger windows.
        let window = |request: u64, level: usize| (request.wrapping_sub(1)) >> level;
        if before != 0 && window(before, self.lowest) == window(request, self.lowest) {
            return;
        }
        self.count(before, request, window);
    }

    fn count(&mut self, before: u64, request: u64, window: impl Fn(u64, usize) -> u64) {
        while window(request, self.lowest) >= WINDOWS as u64 {
            self.levels[self.lowest].clear();
            self.lowest += 1;
        }
        for level in self.lowest..LEVELS {
            let at = window(request, level) as usize;
            if before != 0 && window(before, level) == at as u64 {
                break;
            }
            let counts = &mut self.levels[level];
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] += 1;
        }
    }

    /// Returns the working sets of a trace of `requests` requests.
    pub fn finish(&self, requests: u64) -> WorkingSets {
        let mut pages = self.levels[self.lowest].clone();
        // The last windows may have only requests without pages.
        let windows = requests.div_ceil(1 << self.lowest) as usize;
        pages.resize(pages.len().max(windows.min(WINDOWS)), 0);
        WorkingSets { window: 1 << self.lowest, pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashgc_base::rng::Stream;
    use std::collections::HashSet;

    #[test]
    fn windows_have_the_distinct_pages_of_their_requests() {
        for requests in [1u64, 2, 31, 32, 33, 64, 65, 1000, 4096, 5000] {
            let mut rng = Stream::new(requests, "windows");
            let (mut counter, mut references, mut known) = (Counter::new(), Vec::new(), 0);
            for request in 1..=requests {
                // Pages are numbered in the order in which they appear, and most accesses go to a
                // few pages.
                let page = if rng.below(3) == 0 { rng.below(200) } else { rng.below(5) }.min(known);
                known = known.max(page + 1);
                references.push(page);
                counter.access(page, request);
            }
            let sets = counter.finish(requests);
            assert!(sets.pages.len() <= WINDOWS);
            assert!(sets.window == 1 || sets.pages.len() * 2 > WINDOWS, "{sets:?}");
            let expected: Vec<u64> = references
                .chunks(sets.window as usize)
                .map(|window| window.iter().collect::<HashSet<_>>().len() as u64)
                .collect();
            assert_eq!(sets.pages, expected, "{requests} requests");
        }
    }
}
