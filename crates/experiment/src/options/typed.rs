//! Values as users type them; defaults are read from them.

use super::numbers;

/// A type that the default of an option can have.
pub(crate) trait Typed: Sized {
    /// Returns the value of `text`, if it is one.
    fn read(text: &str) -> Option<Self>;
}

/// Returns the value of a default.
///
/// # Panics
/// Panics if `text` is no value. That is a fault of the declaration, and a test finds it.
pub(crate) fn read<T: Typed>(text: &str) -> T {
    T::read(text).unwrap_or_else(|| panic!("'{text}' is no default of its option"))
}

impl Typed for u64 {
    fn read(text: &str) -> Option<Self> {
        numbers::count(text).or_else(|_| numbers::size(text, "B")).ok()?.try_into().ok()
    }
}

impl Typed for u32 {
    fn read(text: &str) -> Option<Self> {
        u64::read(text)?.try_into().ok()
    }
}

impl Typed for f64 {
    fn read(text: &str) -> Option<Self> {
        numbers::share(text).ok()
    }
}

impl Typed for bool {
    fn read(text: &str) -> Option<Self> {
        ["no", "yes"].iter().position(|word| *word == text).map(|index| index == 1)
    }
}

impl Typed for String {
    fn read(text: &str) -> Option<Self> {
        Some(text.to_string())
    }
}

/// A list of texts is empty by default.
impl Typed for Vec<String> {
    fn read(text: &str) -> Option<Self> {
        text.is_empty().then(Self::new)
    }
}

/// An empty text, and a text of several words that describes the default, are no value.
impl<T: Typed> Typed for Option<T> {
    fn read(text: &str) -> Option<Self> {
        match text {
            "" | "none" => Some(None),
            words if words.contains(' ') => Some(None),
            text => Some(Some(T::read(text)?)),
        }
    }
}
