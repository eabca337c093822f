//! Numbers as people write them: `64GiB`, `7%`, `2.5e5`, `20us`. This module knows no option.

use crate::spec::SpecError;

/// The bytes of each unit, decimal and binary.
pub const SIZES: [(&str, u128); 11] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
];

/// A limit on both the characters of a number and the size of its exponent.
const LONGEST: usize = 40;

/// The sizes of the smallest and the largest page, in bytes.
const PAGE_SIZES: std::ops::RangeInclusive<i128> = 512..=1 << 30;

const AS_COUNT: &str = "write one such as 250000 or 2.5e5";
const AS_SHARE: &str = "write 7% or 0.07";

/// A decimal number, `digits * 10^exponent`, and the unit behind it.
struct Number<'a> {
    digits: u128,
    exponent: i32,
    unit: &'a str,
}

/// The reason why a text is no decimal number.
enum Misread {
    Negative,
    NoNumber,
    OutOfRange,
}

/// The reason why a text is no number with a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The text is no number, or a negative one.
    NoNumber,
    /// The number has no unit.
    NoUnit,
    /// The unit of the number is unknown. The fields are the unit and a hint.
    Unknown(String, String),
}

/// The product of a decimal number and a unit.
enum Product {
    Whole(i128),
    Broken,
    TooLarge,
}

impl<'a> Number<'a> {
    /// Reads a number and its unit.
    fn parse(text: &'a str) -> Result<Self, Misread> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(Misread::Negative);
        }
        let (whole, rest) = split(trimmed, |c| c.is_ascii_digit() || c == '_');
        let (broken, rest) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        let starts = whole.starts_with(|c: char| c.is_ascii_digit());
        if !(starts || whole.is_empty() && !broken.is_empty()) {
            return Err(Misread::NoNumber);
        }
        let (power, unit) = exponent(rest);
        let long = trimmed.len() - unit.len() > LONGEST;
        let digits = format!("{whole}{broken}").replace('_', "").parse::<u128>();
        let power =
            power.parse::<i32>().ok().filter(|power| power.unsigned_abs() as usize <= LONGEST);
        match (digits, power) {
            (Ok(digits), Some(power)) if !long => {
                let exponent = power - broken.len() as i32;
                Ok(Self { digits, exponent, unit: unit.trim() })
            }
            _ => Err(Misread::OutOfRange),
        }
    }

    /// Reads a number and its unit; `example` is the text of the hint.
    fn read(text: &'a str, example: &str) -> Result<Self, SpecError> {
        Self::parse(text).map_err(|misread| {
            let message = match misread {
                Misread::Negative => format!("'{text}' is negative"),
                Misread::NoNumber => format!("'{text}' is not a number"),
                Misread::OutOfRange => {
                    let short: String = text.chars().take(LONGEST).collect();
                    let dots = if short.len() < text.len() { "..." } else { "" };
                    format!("'{short}{dots}' is out of range")
                }
            };
            SpecError::new(message, format!("write {example}"))
        })
    }

    fn times(&self, unit: u128) -> Product {
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let product = self.digits.checked_mul(unit);
        let product_in_units = match (self.exponent < 0, product, power) {
            (_, Some(0), _) => Some(0),
            (true, Some(product), Some(power)) if product % power == 0 => Some(product / power),
            (true, Some(_), _) => return Product::Broken,
            (false, Some(product), Some(power)) => product.checked_mul(power),
            _ => None,
        };
        product_in_units.and_then(|it| it.try_into().ok()).map_or(Product::TooLarge, Product::Whole)
    }

    /// Returns the number, times ten to the power `shift`.
    fn real(&self, shift: i32) -> f64 {
        let text = format!("{}e{}", self.digits, self.exponent + shift);
        text.parse().expect("digits and an exponent are a number")
    }
}

/// Splits `text` after the characters at its beginning for which `takes` holds.
fn split(text: &str, takes: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !takes(c)).unwrap_or(text.len()))
}

/// Splits `text` into an exponent and the rest. The exponent is `0` if `text` begins with none.
fn exponent(text: &str) -> (&str, &str) {
    let none = ("0", text);
    let Some(power) = text.strip_prefix(['e', 'E']) else { return none };
    let signs = usize::from(power.starts_with(['+', '-']));
    match split(&power[signs..], |c| c.is_ascii_digit()) {
        ("", _) => none,
        (digits, rest) => (&power[..signs + digits.len()], rest),
    }
}

/// Returns the whole number that `text` stands for: `250000`, `250_000` and `2.5e5` are the same.
///
/// # Errors
/// The text is no whole number, or one of too many digits.
pub fn count(text: &str) -> Result<i128, SpecError> {
    let number = Number::read(text, "a whole number such as 250000 or 2.5e5")?;
    match number.times(1) {
        Product::Whole(count) if number.unit.is_empty() => Ok(count),
        Product::TooLarge => Err(SpecError::new(format!("'{text}' is out of range"), AS_COUNT)),
        _ => Err(SpecError::new(format!("'{text}' is not a whole number"), AS_COUNT)),
    }
}

/// Returns the bytes that `text` stands for; it needs a unit, for which messages propose `usual`.
///
/// # Errors
/// The text is no size, or its unit is missing or unknown.
pub fn size(text: &str, usual: &str) -> Result<i128, SpecError> {
    let number = Number::read(text, "a size such as 64GiB")?;
    let units = SIZES.map(|(unit, _)| unit);
    if number.unit.is_empty() {
        let hint = format!("write {}{usual}, or another of {}", text.trim(), units.join(", "));
        return Err(SpecError::new(format!("'{text}' has no unit"), hint));
    }
    let Some((_, bytes)) = SIZES.iter().find(|(unit, _)| *unit == number.unit) else {
        let message = format!("unknown unit '{}' in '{text}'", number.unit);
        return Err(SpecError::new(message, nearest_unit(number.unit, &units)));
    };
    match number.times(*bytes) {
        Product::Whole(size) => Ok(size),
        Product::Broken => Err(SpecError::new(
            format!("'{text}' is not a whole number of bytes"),
            "use a smaller unit",
        )),
        Product::TooLarge => {
            Err(SpecError::new(format!("'{text}' is out of range"), "write a size such as 64GiB"))
        }
    }
}

/// Returns the value of `text`, a number with one of `units`. Each entry of `units` is a unit and
/// its value.
///
/// # Errors
/// The text is no number, or its unit is missing or unknown.
pub fn with_unit(text: &str, units: &[(&str, u128)]) -> Result<f64, Unread> {
    let number = Number::parse(text).map_err(|_| Unread::NoNumber)?;
    if number.unit.is_empty() {
        return Err(Unread::NoUnit);
    }
    match units.iter().find(|(unit, _)| *unit == number.unit) {
        Some((_, value)) => Ok(number.real(0) * *value as f64),
        None => {
            let known: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
            Err(Unread::Unknown(number.unit.to_string(), nearest_unit(number.unit, &known)))
        }
    }
}

/// Returns the hint for an unknown unit: the known unit that differs only in capitals (`g` means
/// `GiB`), else all known units.
fn nearest_unit(unit: &str, units: &[&str]) -> String {
    let long = if unit.len() == 1 { format!("{unit}iB") } else { unit.to_string() };
    let same = |known: &str| known.eq_ignore_ascii_case(unit) || known.eq_ignore_ascii_case(&long);
    match units.iter().find(|known| same(known)) {
        Some(known) => format!("did you mean '{known}'?"),
        None => format!("known: {}", units.join(", ")),
    }
}

/// Returns `bytes`, if a page can have this size.
///
/// # Errors
/// `bytes` is no power of two from 512 B to 1 GiB.
pub fn page_size(bytes: i128) -> Result<i128, SpecError> {
    if PAGE_SIZES.contains(&bytes) && bytes & (bytes - 1) == 0 {
        return Ok(bytes);
    }
    let message = format!("found {bytes} bytes, expected a power of two from 512B to 1GiB");
    Err(SpecError::new(message, "write 4KiB"))
}

/// Returns the share that `text` stands for: `7%` and `0.07` are the same.
///
/// # Errors
/// The text is no number, or has another unit than percent.
pub fn share(text: &str) -> Result<f64, SpecError> {
    let number = Number::read(text, "a share such as 7% or 0.07")?;
    match number.unit {
        "" => Ok(number.real(0)),
        "%" => Ok(number.real(-2)),
        unit => Err(SpecError::new(format!("unknown unit '{unit}' in '{text}'"), AS_SHARE)),
    }
}

/// Returns the pages that `text` stands for: a number of pages, or a size in whole pages of
/// `page_size` bytes.
///
/// # Errors
/// The text is neither of them, or the size is no multiple of `page_size`.
pub fn pages(text: &str, page_size: u64) -> Result<i128, SpecError> {
    if Number::read(text, "a size such as 64MiB, or pages")?.unit.is_empty() {
        return count(text);
    }
    let (size, page) = (size(text, "MiB")?, i128::from(page_size.max(1)));
    if size % page == 0 {
        return Ok(size / page);
    }
    let above = size / page + 1;
    let whole = above * page;
    let exact =
        if whole % 1024 == 0 { format!("{}KiB", whole / 1024) } else { format!("{whole}B") };
    Err(SpecError::new(
        format!(
            "{text} are {} pages of {}, expected whole ones",
            general(size as f64 / page as f64),
            bytes(page)
        ),
        format!("write {exact}, or {above} for as many pages"),
    ))
}

/// Returns the size of a page for people: `4 KiB`.
fn bytes(page: i128) -> String {
    let unit = SIZES.iter().rev().find(|(unit, bytes)| {
        unit.ends_with("iB") && page % *bytes as i128 == 0 && page >= *bytes as i128
    });
    unit.map_or(format!("{page} B"), |(unit, bytes)| format!("{} {unit}", page / *bytes as i128))
}

/// Returns a share for people, in percent.
pub fn percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    match share.abs() < 1e9 {
        true => format!("{}%", text.trim_end_matches('0').trim_end_matches('.')),
        false => general(share),
    }
}

/// Returns a number with six significant digits.
fn general(value: f64) -> String {
    let power = value.abs().log10().floor();
    if !(-4.0..6.0).contains(&power) {
        return format!("{value:e}");
    }
    let text = format!("{value:.*}", (5.0 - power) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault<T: std::fmt::Debug>(result: Result<T, SpecError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn counts_are_whole_however_they_are_written() {
        for text in ["250000", "250_000", "2.5e5", " 2.5E+5 ", "250000.", "2500000e-1"] {
            assert_eq!(count(text), Ok(250_000), "{text}");
        }
        assert_eq!(count("0.5e1"), Ok(5));
        let hint = "hint: write one such as 250000 or 2.5e5";
        assert_eq!(fault(count("2.5")), format!("'2.5' is not a whole number; {hint}"));
        assert_eq!(fault(count("7x")), format!("'7x' is not a whole number; {hint}"));
        assert!(fault(count("-1")).starts_with("'-1' is negative; "));
        for text in ["", "x", ".", "_1", "e5", "+1"] {
            assert!(fault(count(text)).contains("is not a number"), "{text}");
        }
        assert!(fault(count("1e41")).starts_with("'1e41' is out of range"));
        assert!(fault(count(&"9".repeat(60))).contains("999...' is out of range"));
    }

    #[test]
    fn sizes_need_their_unit() {
        assert_eq!((size("4KiB", ""), size("1.5GB", "")), (Ok(4096), Ok(1_500_000_000)));
        assert_eq!(
            fault(size("64", "GiB")),
            "'64' has no unit; hint: write 64GiB, or another of B, kB, MB, GB, TB, PB, KiB, MiB, GiB, \
             TiB, PiB"
        );
        assert_eq!(fault(size("4k", "")), "unknown unit 'k' in '4k'; hint: did you mean 'KiB'?");
        assert_eq!(
            fault(size("4kib", "")),
            "unknown unit 'kib' in '4kib'; hint: did you mean 'KiB'?"
        );
        assert!(fault(size("0.5B", "")).contains("is not a whole number of bytes"));
    }

    #[test]
    fn shares_are_read_to_the_last_digit() {
        for (text, value) in [("7%", 0.07), ("0.07", 0.07), ("28.1%", 0.281), ("1e-2", 0.01)] {
            assert_eq!(share(text), Ok(value), "{text}");
        }
        assert_eq!(fault(share("7x")), "unknown unit 'x' in '7x'; hint: write 7% or 0.07");
        assert_eq!(
            (percent(0.07), percent(1.0), percent(1.0 / 3.0)),
            ("7%".into(), "100%".into(), "33.333333%".into())
        );
    }

    #[test]
    fn pages_are_whole() {
        assert_eq!((pages("4096", 4096), pages("16MiB", 4096)), (Ok(4096), Ok(4096)));
        assert_eq!(
            fault(pages("6KiB", 4096)),
            "6KiB are 1.5 pages of 4 KiB, expected whole ones; hint: write 8KiB, or 2 for as many pages"
        );
        assert_eq!(page_size(4096), Ok(4096));
        for bytes in [0, 3, 256, 3 << 10, 2 << 30] {
            assert!(fault(page_size(bytes)).ends_with("hint: write 4KiB"), "{bytes}");
        }
    }
}
