//! Numbers with units inside specs, such as `3ms` and `32KiB`. This module knows no parameters.

use flashgc_base::numbers::{SIZES, Unread, with_unit};
use flashgc_base::spec::SpecError;

/// The quantity that a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time span, in nanoseconds.
    Time,
    /// A size, in bytes.
    Size,
}

impl Quantity {
    /// Returns the units, each with its number of nanoseconds or bytes.
    fn units(self) -> &'static [(&'static str, u128)] {
        match self {
            Self::Time => &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
            Self::Size => &SIZES,
        }
    }

    /// Returns the largest value, 1000 seconds or 1 TiB, and the range as a text. Up to this value,
    /// arithmetic with 64-bit integers and 53-bit floating-point numbers is exact enough.
    fn largest(self) -> (f64, &'static str) {
        match self {
            Self::Time => (1e12, "a time from 0s to 1000s"),
            Self::Size => (1024.0 * 1073741824.0, "a size from 0B to 1024GiB"),
        }
    }

    /// Returns the unit that messages propose and canonical texts use, with its number of
    /// nanoseconds or bytes.
    fn usual(self) -> (&'static str, f64) {
        match self {
            Self::Time => ("us", 1e3),
            Self::Size => ("B", 1.0),
        }
    }

    /// Parses the value of the parameter `name`, in nanoseconds or bytes. `form` is the text of the
    /// hint: the form in which to write the value.
    ///
    /// # Errors
    /// The text is not a number, the number is negative, the unit is missing or unknown, or the
    /// value exceeds 1000 s or 1 TiB.
    pub fn parse(self, name: &str, text: &str, form: &str) -> Result<f64, SpecError> {
        let fault =
            |what: &str, hint: String| Err(SpecError::new(format!("{name}={text} {what}"), hint));
        let (largest, range) = self.largest();
        match with_unit(text, self.units()) {
            Ok(value) if (0.0..=largest).contains(&value) => Ok(value),
            Ok(_) | Err(Unread::NoNumber) => fault(&format!("is not {range}"), form.to_string()),
            Err(Unread::NoUnit) => {
                let (usual, _) = self.usual();
                let others = self.units().iter().map(|(unit, _)| *unit);
                let others: Vec<_> = others.filter(|unit| *unit != usual).collect();
                let others = others.join(", ");
                fault("has no unit", format!("write {name}={text}{usual}, or another of {others}"))
            }
            Err(Unread::Unknown(unit, hint)) => {
                fault(&format!("has the unknown unit '{unit}'"), hint)
            }
        }
    }

    /// Returns the value in a form that users can type, exact to the last digit.
    pub fn format(self, value: f64) -> String {
        let (unit, factor) = self.usual();
        format!("{}{unit}", value / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_nanoseconds_and_bytes() {
        let time = |text| Quantity::Time.parse("gap", text, "").unwrap();
        let size = |text| Quantity::Size.parse("size", text, "").unwrap();
        assert_eq!([time("3ms"), time("0.5us"), time("1e3ns")], [3e6, 500.0, 1000.0]);
        assert_eq!([size("32KiB"), size("4kB"), size("512B")], [32768.0, 4000.0, 512.0]);
        assert_eq!(Quantity::Time.format(3e6), "3000us");
        assert_eq!(Quantity::Size.format(512.0), "512B");
    }

    #[test]
    fn faults_name_what_to_try() {
        let error = |text| Quantity::Time.parse("gap", text, "write x").unwrap_err().to_string();
        assert_eq!(error("3"), "gap=3 has no unit; hint: write gap=3us, or another of ns, ms, s");
        assert_eq!(
            error("3sec"),
            "gap=3sec has the unknown unit 'sec'; hint: known: ns, us, ms, s"
        );
        assert_eq!(error("-3ms"), "gap=-3ms is not a time from 0s to 1000s; hint: write x");
        assert_eq!(error("nans"), "gap=nans is not a time from 0s to 1000s; hint: write x");
        let size = |text| Quantity::Size.parse("size", text, "").unwrap_err().to_string();
        assert_eq!(size("4kib"), "size=4kib has the unknown unit 'kib'; hint: did you mean 'KiB'?");
    }
}
