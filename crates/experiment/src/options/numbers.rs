//! Numbers from the values of options. A value is a text or already a number.

pub use flashgc_base::numbers::{count, page_size, pages, percent, share, size};
use flashgc_base::spec::SpecError;

use super::value::Value;

/// Converts a value to a whole number.
///
/// # Errors
/// The errors of [`count`].
pub fn count_of(value: &Value) -> Result<i128, SpecError> {
    match value {
        Value::Whole(number) => Ok(*number),
        other => count(&other.typed()),
    }
}

/// Converts a value to bytes. `usual` is the unit that messages propose.
///
/// # Errors
/// The errors of [`size`], and a negative number.
pub fn size_of(value: &Value, usual: &str) -> Result<i128, SpecError> {
    match value {
        Value::Whole(bytes) if *bytes < 0 => {
            Err(SpecError::new(format!("{bytes} bytes is negative"), "write a size such as 64GiB"))
        }
        Value::Whole(bytes) => Ok(*bytes),
        other => size(&other.typed(), usual),
    }
}

/// Converts a value to a share.
///
/// # Errors
/// The errors of [`share`].
pub fn share_of(value: &Value) -> Result<f64, SpecError> {
    match value {
        Value::Whole(number) => Ok(*number as f64),
        Value::Real(number) => Ok(*number),
        other => share(&other.typed()),
    }
}
