//! Parses and writes numbers and words of a line, fast and exactly. This module knows columns, not
//! formats.

/// A fault of a line: its place, and the expected text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadField {
    /// The byte of the line at which the field starts.
    pub at: usize,
    /// The expected text; it completes "expected ...".
    pub expected: &'static str,
    /// `true` if the field is a whole number that is too large or negative. Such a line still
    /// counts as a line of this format. For times and devices it is `false`, because their size is
    /// evidence for or against a format.
    pub range: bool,
}

impl BadField {
    /// Makes the fault for a field of the wrong kind.
    #[inline]
    pub fn new(at: usize, expected: &'static str) -> Self {
        Self { at, expected, range: false }
    }

    /// Makes the fault for a number that is too large or negative.
    #[inline]
    pub fn range(at: usize, expected: &'static str) -> Self {
        Self { at, expected, range: true }
    }
}

/// A position in a line, which moves from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub line: &'a [u8],
    pub at: usize,
}

const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Returns the number in the leading decimal digits of `text`, and the count of these digits.
/// `text` has eight bytes, with the first one lowest.
#[inline]
fn leading_digits(text: u64) -> (u64, usize) {
    // A digit becomes its value, 0 to 9. Adding 0x76 to any other byte sets its highest bit.
    let values = text ^ 0x3030_3030_3030_3030;
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // Digits are shifted to the end, so that zeros come first. Then they are joined to pairs, to
    // groups of four, and to one number of eight digits.
    let values = values << (64 - 8 * count);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    const EVERY_OTHER: u64 = 0x0000_00ff_0000_00ff;
    let high = (pairs & EVERY_OTHER).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & EVERY_OTHER).wrapping_mul(1 + (10_000 << 32));
    (high.wrapping_add(low) >> 32, count)
}

/// The exponents d of units of 10^d nanoseconds: a second, a millisecond and a microsecond.
pub(crate) const SECONDS: u32 = 9;
pub(crate) const MILLISECONDS: u32 = 6;
pub(crate) const MICROSECONDS: u32 = 3;

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    pub fn bad<T>(&self, at: usize, expected: &'static str) -> Result<T, BadField> {
        Err(BadField::new(at, expected))
    }

    /// Parses a whole number without a sign.
    #[inline]
    pub fn integer(&mut self, expected: &'static str) -> Result<u64, BadField> {
        let start = self.at;
        let mut value = 0u64;
        // Eight digits are parsed at once if the line has eight bytes left. Their count is computed
        // without a branch, which would be mispredicted once for each number.
        while let Some(Ok(bytes)) = self.line.get(self.at..self.at + 8).map(TryInto::try_into) {
            let (digits, count) = leading_digits(u64::from_le_bytes(bytes));
            value = value.wrapping_mul(POWERS[count]).wrapping_add(digits);
            self.at += count;
            if count < 8 {
                return self.integer_from(start, value, expected);
            }
        }
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10)
        {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        self.integer_from(start, value, expected)
    }

    /// Returns the number that the digits since `start` form. This is `value` unless it overflowed.
    #[inline]
    fn integer_from(
        &mut self,
        start: usize,
        value: u64,
        expected: &'static str,
    ) -> Result<u64, BadField> {
        match self.at - start {
            0 => Err(self.no_integer(expected)),
            1..=19 => Ok(value),
            _ => self.long_integer(start, expected),
        }
    }

    #[cold]
    fn no_integer(&self, expected: &'static str) -> BadField {
        let negative = self.line[self.at..].starts_with(b"-")
            && self.line.get(self.at + 1).is_some_and(u8::is_ascii_digit);
        BadField { at: self.at, expected, range: negative }
    }

    #[cold]
    fn long_integer(&mut self, start: usize, expected: &'static str) -> Result<u64, BadField> {
        let mut value = 0u64;
        self.at = start;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10)
        {
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(u64::from(digit)))
                .ok_or(BadField::range(start, expected))?;
            self.at += 1;
        }
        Ok(value)
    }

    /// Parses a whole number of at most 32 bits.
    #[inline]
    pub fn small(&mut self, expected: &'static str) -> Result<u32, BadField> {
        let start = self.at;
        self.integer(expected)?.try_into().or(Err(BadField::new(start, expected)))
    }

    /// Parses a whole number from 0 to `most`.
    #[inline]
    pub fn byte(&mut self, most: u8, expected: &'static str) -> Result<u8, BadField> {
        let start = self.at;
        let number = u8::try_from(self.small(expected)?).ok();
        number.filter(|number| *number <= most).ok_or(BadField::new(start, expected))
    }

    /// Parses a whole number with an optional minus sign.
    #[inline]
    pub fn signed(&mut self, expected: &'static str) -> Result<i64, BadField> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let size = self.integer(expected).map_err(|bad| BadField { at: start, ..bad })?;
        let value = i64::try_from(size).or(Err(BadField::range(start, expected)))?;
        Ok(if negative { -value } else { value })
    }

    /// Parses a time with an optional fraction, in a unit of 10^`digits` nanoseconds. Fractions of
    /// a nanosecond are dropped.
    #[inline]
    pub fn time(&mut self, digits: u32, expected: &'static str) -> Result<u64, BadField> {
        let start = self.at;
        let whole = self.integer(expected)?;
        let unit = POWERS[digits as usize];
        let mut fraction = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let first = self.at;
            while let Some(digit) =
                self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10)
            {
                if self.at - first < digits as usize {
                    fraction = fraction * 10 + u64::from(digit);
                }
                self.at += 1;
            }
            let kept = (self.at - first).min(digits as usize);
            fraction *= POWERS[digits as usize - kept];
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at = start;
            return self.scientific(digits, expected);
        }
        whole
            .checked_mul(unit)
            .and_then(|ns| ns.checked_add(fraction))
            .ok_or(BadField::new(start, expected))
    }

    /// Parses a time such as `9.5e-05`, which programs print for small times.
    #[cold]
    fn scientific(&mut self, digits: u32, expected: &'static str) -> Result<u64, BadField> {
        let start = self.at;
        let bad = BadField::new(start, expected);
        let (mut mantissa, mut scale, mut point) = (0u128, i64::from(digits), false);
        loop {
            match self.peek() {
                Some(b'.') if !point => point = true,
                Some(byte @ b'0'..=b'9') => {
                    // 30 digits are more than any clock has, and fit in 128 bits.
                    if mantissa > 10u128.pow(29) {
                        return Err(bad);
                    }
                    mantissa = mantissa * 10 + u128::from(byte - b'0');
                    scale -= i64::from(point);
                }
                _ => break,
            }
            self.at += 1;
        }
        self.at += 1; // the `e`
        if self.peek() == Some(b'+') {
            self.at += 1;
        }
        scale += self.signed(expected).or(Err(bad))?.clamp(-1000, 1000);
        let ten = |exponent: i64| u32::try_from(exponent).ok().and_then(|e| 10u128.checked_pow(e));
        let ns = if mantissa == 0 {
            Some(0)
        } else if scale >= 0 {
            ten(scale).and_then(|factor| mantissa.checked_mul(factor))
        } else {
            Some(ten(-scale).map_or(0, |divisor| mantissa / divisor))
        };
        ns.and_then(|ns| u64::try_from(ns).ok()).ok_or(bad)
    }

    /// Skips a comma, and blanks before it.
    #[inline]
    pub fn comma(&mut self, expected: &'static str) -> Result<(), BadField> {
        if self.peek() != Some(b',') {
            self.skip_blanks();
            if self.peek() != Some(b',') {
                return self.bad(self.at, expected);
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Skips blanks and tabs.
    #[inline]
    pub fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips at least one blank or tab.
    #[inline]
    pub fn blank(&mut self, expected: &'static str) -> Result<(), BadField> {
        let start = self.at;
        self.skip_blanks();
        if self.at == start { self.bad(start, expected) } else { Ok(()) }
    }

    /// Takes the field up to the next comma or the end of the line, without the comma.
    #[inline]
    pub fn csv_field(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b',') {
            self.at += 1;
        }
        self.line[start..self.at].trim_ascii()
    }

    /// Takes the word up to the next blank or the end of the line.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b' ' && byte != b'\t') {
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Checks that only blanks are left.
    #[inline]
    pub fn end(&mut self, expected: &'static str) -> Result<(), BadField> {
        self.skip_blanks();
        if self.at == self.line.len() { Ok(()) } else { self.bad(self.at, expected) }
    }
}

/// Appends a time in microseconds, exact to the nanosecond.
pub(crate) fn put_microseconds(ns: u64, text: &mut Vec<u8>) {
    put_digits(ns / 1000, 1, text);
    text.push(b'.');
    put_digits(ns % 1000, 3, text);
}

/// Appends a number with at least `width` digits (at most 20).
pub(crate) fn put_digits(mut value: u64, width: usize, text: &mut Vec<u8>) {
    let mut buffer = [b'0'; 20];
    let mut at = buffer.len();
    while value > 0 {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    text.extend_from_slice(&buffer[at.min(buffer.len() - width)..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_up_to_the_last_and_refused_beyond() {
        let parse = |text: &str| Cursor::new(text.as_bytes()).integer("n");
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse("000000000000000000000012"), Ok(12));
        assert!(parse("18446744073709551616").is_err());
        assert!(parse("-1").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn eight_bytes_give_their_leading_digits() {
        let parse = |text: &[u8; 8]| leading_digits(u64::from_le_bytes(*text));
        assert_eq!(parse(b"12345678"), (12_345_678, 8));
        assert_eq!(parse(b"99999999"), (99_999_999, 8));
        assert_eq!(parse(b"00000010"), (10, 8));
        assert_eq!(parse(b"1234567,"), (1_234_567, 7));
        assert_eq!(parse(b"40,99999"), (40, 2));
        assert_eq!(parse(b",1234567"), (0, 0));
        // Bytes whose codes are next to those of digits, and bytes above 127, also end a number.
        for end in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            assert_eq!(parse(&[b'7', b'9', end, b'1', 0xff, b'3', 0, b'9']), (79, 2), "{end}");
        }
    }

    #[test]
    fn integers_of_any_length_and_place_equal_the_standard_library() {
        for digits in 1..=20 {
            for after in ["", ",", " 1", ",12345678901"] {
                let number = &"98765432109876543210"[..digits];
                let text = format!("{number}{after}");
                let mut at = Cursor::new(text.as_bytes());
                let expected = number.parse::<u64>().ok();
                assert_eq!(at.integer("n").ok(), expected, "{text}");
                assert_eq!(at.at, if expected.is_some() { digits } else { at.at });
            }
        }
    }

    #[test]
    fn times_are_decimal_arithmetic_not_floating_point() {
        let parse = |text: &str, unit| Cursor::new(text.as_bytes()).time(unit, "t");
        assert_eq!(parse("1398396860.168065791", SECONDS), Ok(1_398_396_860_168_065_791));
        assert_eq!(parse("0.1", SECONDS), Ok(100_000_000));
        assert_eq!(parse("5265.313", MILLISECONDS), Ok(5_265_313_000));
        assert_eq!(parse("12816639102415432.9", MICROSECONDS), Ok(12_816_639_102_415_432_900));
        assert_eq!(parse("1.23456789", MICROSECONDS), Ok(1_234));
        assert_eq!(parse("9.5e-05", SECONDS), Ok(95_000));
        assert_eq!(parse("1.5E3", SECONDS), Ok(1_500_000_000_000));
        assert_eq!(parse("1e-999999999999", SECONDS), Ok(0));
        assert!(parse("1e30", SECONDS).is_err());
        assert!(parse("18446744074", SECONDS).is_err());
    }
}
