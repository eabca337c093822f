//! Values as people type them: what defaults are read from.

use flashgc_base::spec::SpecError;
use flashgc_workload::units::Quantity;

use super::kinds::Kind;

/// A type that the default of an option can have.
pub(crate) trait Typed: Sized {
    /// The value of `text`, if it is one.
    fn read(text: &str) -> Option<Self>;
}

/// The value of a default.
///
/// # Panics
/// `text` is no value: a fault of the declaration, which a test finds.
pub(crate) fn read<T: Typed>(text: &str) -> T {
    T::read(text).unwrap_or_else(|| panic!("'{text}' is no default of its option"))
}

impl Typed for u64 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().or_else(|| Some(Quantity::Size.parse("", text, "").ok()? as Self))
    }
}

impl Typed for u32 {
    fn read(text: &str) -> Option<Self> {
        u64::read(text)?.try_into().ok()
    }
}

impl Typed for f64 {
    fn read(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => Some(percent.parse::<Self>().ok()? / 100.0),
            None => text.parse().ok(),
        }
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

/// Nothing, or a text of several words that says when nothing becomes what, is no value.
impl<T: Typed> Typed for Option<T> {
    fn read(text: &str) -> Option<Self> {
        match text {
            "" | "none" => Some(None),
            words if words.contains(' ') => Some(None),
            text => Some(Some(T::read(text)?)),
        }
    }
}

/// Whether `text` is a value of this kind.
pub(super) fn check(kind: Kind, name: &str, text: &str) -> Result<(), SpecError> {
    let right = match kind {
        Kind::Count => u64::read(text).is_some(),
        Kind::Size | Kind::Pages => u64::read(text).is_some(),
        Kind::Share | Kind::Number => f64::read(text).is_some(),
        Kind::YesNo => bool::read(text).is_some(),
        Kind::Time => {
            return Quantity::Time.parse(name, text, &format!("write {name}=20us")).map(drop);
        }
        Kind::Amount | Kind::Word | Kind::Spec | Kind::Text => true,
    };
    match right {
        true => Ok(()),
        false => Err(SpecError::new(format!("'{text}' is no {}", kind.name()), "")),
    }
}
