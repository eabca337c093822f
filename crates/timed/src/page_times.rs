//! The times of a read or a program, which may differ between the kinds of pages in a block.

use std::fmt;

use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;
use flashgc_workload::units::Quantity;

/// The largest number of kinds of pages. Cells with four bits have a lower, a middle, an upper and
/// a top page.
pub const MOST_KINDS: usize = 4;

/// The nanoseconds of a read or a program, for each kind of page.
///
/// Flash page `i` of a block has kind `i mod n`, where `n` is the number of kinds. In real flash
/// the kinds follow each other in another order, but a block also has equally many pages of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    times: [u64; MOST_KINDS],
    kinds: usize,
}

impl PageTimes {
    /// Returns the times of pages that all take `ns` nanoseconds.
    pub const fn all(ns: u64) -> Self {
        let mut times = [0; MOST_KINDS];
        times[0] = ns;
        Self { times, kinds: 1 }
    }

    /// Returns the times of several kinds of pages, in nanoseconds.
    ///
    /// # Panics
    /// There is no time, or there are more than [`MOST_KINDS`].
    pub fn of_kinds(ns: &[u64]) -> Self {
        let mut times = [0; MOST_KINDS];
        times[..ns.len()].copy_from_slice(ns);
        assert!(!ns.is_empty(), "a page has a time");
        Self { times, kinds: ns.len() }
    }

    /// Reads one time for all pages, `25us`, or one time for each of two to four kinds of pages:
    /// `48us/76us/135us/228us`.
    ///
    /// # Errors
    /// There are more than [`MOST_KINDS`] times, or a time has no unit.
    pub fn parse(name: &str, text: &str, hint: &str) -> Result<Self, SpecError> {
        let parts: Vec<&str> = text.split('/').map(str::trim).collect();
        refuse_if!(
            parts.len() > MOST_KINDS,
            "one time for each page of a cell, for example read=48us/76us/135us/228us",
            "{name}={text} has {} times, expected at most {MOST_KINDS}",
            parts.len()
        );
        let read = |part: &&str| Ok(Quantity::Time.parse(name, part, hint)?.round() as u64);
        let times = parts.iter().map(read).collect::<Result<Vec<u64>, SpecError>>()?;
        Ok(Self::of_kinds(&times))
    }

    /// Returns the number of kinds.
    pub fn kinds(&self) -> usize {
        self.kinds
    }

    /// Returns the times of the kinds, in nanoseconds.
    pub fn times(&self) -> &[u64] {
        &self.times[..self.kinds]
    }

    /// Returns the time of flash page `page` of a block, in nanoseconds.
    #[inline]
    pub fn of(&self, page: u32) -> u64 {
        self.times[page as usize % self.kinds]
    }

    /// Returns the mean time of the kinds, in nanoseconds, rounded.
    pub fn mean(&self) -> u64 {
        let kinds = self.kinds as u64;
        (self.times().iter().sum::<u64>() + kinds / 2) / kinds
    }
}

/// Writes the times in microseconds, so that [`PageTimes::parse`] can read them.
impl fmt::Display for PageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &ns) in self.times().iter().enumerate() {
            let between = if index > 0 { "/" } else { "" };
            write!(f, "{between}{}us", ns as f64 / 1e3)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_page_says_its_kind() {
        let times = PageTimes::parse("read", "48us/76us/135us/228us", "").unwrap();
        assert_eq!(
            (0..6).map(|page| times.of(page) / 1000).collect::<Vec<_>>(),
            [48, 76, 135, 228, 48, 76]
        );
        // (48 + 76 + 135 + 228) / 4
        assert_eq!((times.mean(), times.to_string()), (121_750, "48us/76us/135us/228us".into()));
        let one = PageTimes::parse("read", "25us", "").unwrap();
        assert_eq!((one, one.mean(), one.of(7)), (PageTimes::all(25_000), 25_000, 25_000));
        assert_eq!(one.to_string(), "25us");
    }

    #[test]
    fn a_cell_has_at_most_four_pages() {
        let error = PageTimes::parse("read", "1us/2us/3us/4us/5us", "").unwrap_err().to_string();
        assert!(error.starts_with("read=1us/2us/3us/4us/5us has 5 times, expected at most 4"));
        let error = PageTimes::parse("read", "1us/2", "write it so").unwrap_err().to_string();
        assert!(error.starts_with("read=2 has no unit"), "{error}");
    }
}
