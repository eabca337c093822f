//! Counts: numbers that only grow, of which differences are measured.
//!
//! A count is declared once, as a field with its text. The struct derives [`Counts`], and differences,
//! sums, names and texts are made from the declaration:
//!
//! ```
//! use flashgc_base::counts::{Counts, Listed};
//!
//! /// Where pages are.
//! #[derive(Clone, Debug, PartialEq, Counts)]
//! struct Found {
//!     /// The pages that were found.
//!     pages: u64,
//!     /// The pages that wait now.
//!     #[counts(now)]
//!     waiting: u64,
//! }
//!
//! let (then, now) = (Found { pages: 3, waiting: 5 }, Found { pages: 7, waiting: 4 });
//! assert_eq!(now.since(&then), Found { pages: 4, waiting: 4 });
//! assert_eq!(now.plus(&then), Found { pages: 10, waiting: 9 });
//! assert_eq!(Found::NAMES, ["pages", "waiting"]);
//! assert_eq!(Found::TEXTS, ["The pages that were found.", "The pages that wait now."]);
//! assert_eq!(Found::of(now.numbers()), Some(now));
//! ```

pub use flashgc_derive::Counts;

/// Counts up to a moment.
///
/// The derive takes each field by its own rule. A field with `#[counts(now)]` says how many there are at
/// the moment, and is no difference.
pub trait Counts: Sized {
    /// Returns the counts since `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Returns the sums of these counts and `other`'s.
    #[must_use]
    fn plus(&self, other: &Self) -> Self;

    /// Returns the sums of `all`; `None` if there are none.
    fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, one| sum.plus(&one))
    }
}

/// Counts by name. The derive of [`Counts`] makes them of a struct whose fields are all `u64`.
pub trait Listed: Counts {
    /// The text of the struct.
    const TEXT: &'static str;
    /// The names, in order.
    const NAMES: &'static [&'static str];
    /// The text of each.
    const TEXTS: &'static [&'static str];

    /// Returns the numbers in their order.
    fn numbers(&self) -> Vec<u64>;

    /// Returns the counts with these numbers; `None` if there are too few.
    fn of(numbers: impl IntoIterator<Item = u64>) -> Option<Self>;
}

/// Sums end at the largest number: a file may have any as its counts.
impl Counts for u64 {
    fn since(&self, earlier: &Self) -> Self {
        self - earlier
    }

    fn plus(&self, other: &Self) -> Self {
        self.saturating_add(*other)
    }
}

impl Counts for u128 {
    fn since(&self, earlier: &Self) -> Self {
        self - earlier
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }
}

/// Counts that not every drive has.
impl<T: Counts + Clone> Counts for Option<T> {
    fn since(&self, earlier: &Self) -> Self {
        self.as_ref().zip(earlier.as_ref()).map(|(now, earlier)| now.since(earlier))
    }

    fn plus(&self, other: &Self) -> Self {
        T::sum(self.iter().chain(other).cloned())
    }
}

/// Counts of parts, as many in both.
impl<T: Counts> Counts for Vec<T> {
    fn since(&self, earlier: &Self) -> Self {
        self.iter().zip(earlier).map(|(now, earlier)| now.since(earlier)).collect()
    }

    fn plus(&self, other: &Self) -> Self {
        self.iter().zip(other).map(|(one, other)| one.plus(other)).collect()
    }
}
