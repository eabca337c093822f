//! Values as users type them. The defaults of options are parsed from such texts.

use super::numbers;

/// A type of an option's default.
pub(crate) trait Typed: Sized {
    /// Parses `text`; `None` if it is not a value.
    fn read(text: &str) -> Option<Self>;
}

/// Parses the default of an option.
///
/// # Panics
/// Panics if `text` is not a value. Then the declaration is wrong, and a test fails.
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

/// An empty text is not a value, nor is a text of several words that describes the default.
impl<T: Typed> Typed for Option<T> {
    fn read(text: &str) -> Option<Self> {
        match text {
            "" | "none" => Some(None),
            words if words.contains(' ') => Some(None),
            text => Some(Some(T::read(text)?)),
        }
    }
}
