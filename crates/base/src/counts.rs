//! Counts: numbers that only grow. Measurements are differences of counts.
//!
//! A count is declared once, as a field with its text. The struct derives [`Counts`], and
//! differences, sums, results and all that people see of a count are made from the declaration:
//!
//! ```
//! use flashgc_base::counts::{Counts, Listed};
//!
//! /// Pages that were looked for.
//! #[derive(Clone, Debug, PartialEq, Counts)]
//! struct Found {
//!     /// The pages that were found at their first place.
//!     at_once: u64,
//!     /// The pages that wait now.
//!     #[counts(now)]
//!     waiting: u64,
//!     /// The nanoseconds of the search.
//!     #[counts(unit = "ns", words = "spent", stat = "search_seconds")]
//!     search_ns: u64,
//! }
//!
//! let then = Found { at_once: 3, waiting: 5, search_ns: 20 };
//! let now = Found { at_once: 7, waiting: 4, search_ns: 50 };
//! assert_eq!(now.since(&then), Found { at_once: 4, waiting: 4, search_ns: 30 });
//! assert_eq!(now.plus(&then), Found { at_once: 10, waiting: 9, search_ns: 70 });
//!
//! let [at_once, search] = Found::list().try_into().unwrap();
//! assert_eq!((at_once.name, at_once.words, at_once.stat), ("at_once", "at once", "at_once"));
//! assert_eq!(at_once.text, "The pages that were found at their first place.");
//! assert_eq!((search.unit, search.words, search.stat), ("ns", "spent", "search_seconds"));
//! assert_eq!(now.numbers(), [7, 50]);
//! assert_eq!(Found::of(&mut [7, 50].into_iter()), Some(Found { waiting: 0, ..now }));
//! ```

pub use flashgc_derive::Counts;

/// Counts up to a moment.
///
/// The derive applies to each field the rule of the field's type. A field with `#[counts(now)]` is
/// a number of the moment: [`Counts::since`] does not subtract it, and no list has it.
pub trait Counts: Sized {
    /// Returns the counts since `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Returns the sums of these counts and `other`'s.
    #[must_use]
    fn plus(&self, other: &Self) -> Self;

    /// Returns the sums of `all`; `None` if `all` is empty.
    fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, value| sum.plus(&value))
    }
}

/// A count as people see it.
///
/// Words in `#[counts(WORD = "...")]` set the members that do not follow from the name of the
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The name in results.
    pub name: &'static str,
    /// The documentation of the count.
    pub text: &'static str,
    /// The unit, `bytes` or `ns`; empty for a number of things.
    pub unit: &'static str,
    /// The words behind the number in a table; by default the name. Empty if no table shows the
    /// count.
    pub words: &'static str,
    /// The name in the state of a stored drive, where other counts may have the same name.
    pub stat: &'static str,
}

/// Counts with their names. The derive of [`Counts`] implements this trait for a struct whose
/// fields are `u64`, or implement this trait and are marked `#[counts(flat)]`. The list has the
/// counts of a flat field in place of the field.
pub trait Listed: Counts {
    /// The documentation of the struct.
    const TEXT: &'static str;
    /// The number of counts.
    const LENGTH: usize;

    /// Returns the counts in their order.
    fn list() -> Vec<Count>;

    /// Returns the numbers in their order.
    fn numbers(&self) -> Vec<u64>;

    /// Takes the numbers of the list, in its order, and returns counts made of them; `None` if
    /// there are too few numbers.
    fn of(numbers: &mut dyn Iterator<Item = u64>) -> Option<Self>;
}

/// A sum saturates at the largest number, because the counts in a file may be any numbers.
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

/// The counts of each of several parts. Both lists have the same number of parts.
impl<T: Counts> Counts for Vec<T> {
    fn since(&self, earlier: &Self) -> Self {
        self.iter().zip(earlier).map(|(now, earlier)| now.since(earlier)).collect()
    }

    fn plus(&self, other: &Self) -> Self {
        self.iter().zip(other).map(|(value, other)| value.plus(other)).collect()
    }
}
