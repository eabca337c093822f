//! Numbers and words out of the bytes of one line, fast and exact. Knows columns, not formats.

/// What is wrong with a line: where, and what should have been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadField {
    /// Byte of the line at which the field starts.
    pub at: usize,
    /// What was expected, in words that complete "expected ...".
    pub expected: &'static str,
    /// A whole number that is too large or negative: the line still shows its format. Never for
    /// times and devices, whose size is what tells formats apart.
    pub range: bool,
}

impl BadField {
    /// A field of the wrong sort.
    #[inline]
    pub fn new(at: usize, expected: &'static str) -> Self {
        Self { at, expected, range: false }
    }

    /// A number that is too large, or negative.
    #[inline]
    pub fn range(at: usize, expected: &'static str) -> Self {
        Self { at, expected, range: true }
    }
}

/// A place in a line that moves from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub line: &'a [u8],
    pub at: usize,
}

const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Decimal digits of a nanosecond in one second, millisecond, microsecond.
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

    /// A whole number without sign.
    #[inline]
    pub fn integer(&mut self, expected: &'static str) -> Result<u64, BadField> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10)
        {
            // 19 digits always fit, so the check is only paid for longer ones.
            if self.at - start >= 19 {
                return self.long_integer(start, expected);
            }
            value = value * 10 + u64::from(digit);
            self.at += 1;
        }
        if self.at == start { Err(self.no_integer(expected)) } else { Ok(value) }
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

    /// A whole number of at most 32 bits.
    #[inline]
    pub fn small(&mut self, expected: &'static str) -> Result<u32, BadField> {
        let start = self.at;
        self.integer(expected)?.try_into().or(Err(BadField::new(start, expected)))
    }

    /// A whole number with an optional minus sign.
    #[inline]
    pub fn signed(&mut self, expected: &'static str) -> Result<i64, BadField> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let size = self.integer(expected).map_err(|bad| BadField { at: start, ..bad })?;
        let value = i64::try_from(size).or(Err(BadField::range(start, expected)))?;
        Ok(if negative { -value } else { value })
    }

    /// A time with an optional fraction, in the unit that has `digits` decimal digits of a
    /// nanosecond. Digits below the nanosecond are dropped.
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

    /// A time such as `9.5e-05`, as programs print small ones.
    #[cold]
    fn scientific(&mut self, digits: u32, expected: &'static str) -> Result<u64, BadField> {
        let start = self.at;
        let bad = BadField::new(start, expected);
        let (mut mantissa, mut scale, mut point) = (0u128, i64::from(digits), false);
        loop {
            match self.peek() {
                Some(b'.') if !point => point = true,
                Some(byte @ b'0'..=b'9') => {
                    // 30 digits are beyond every clock, and leave room in 128 bits.
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

    /// A comma, after blanks.
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

    /// Moves over blanks and tabs.
    #[inline]
    pub fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// At least one blank or tab.
    #[inline]
    pub fn blank(&mut self, expected: &'static str) -> Result<(), BadField> {
        let start = self.at;
        self.skip_blanks();
        if self.at == start { self.bad(start, expected) } else { Ok(()) }
    }

    /// The field up to the next comma or the end, without the comma.
    #[inline]
    pub fn csv_field(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b',') {
            self.at += 1;
        }
        self.line[start..self.at].trim_ascii()
    }

    /// The word up to the next blank or the end.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b' ' && byte != b'\t') {
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Nothing but blanks may be left.
    #[inline]
    pub fn end(&mut self, expected: &'static str) -> Result<(), BadField> {
        self.skip_blanks();
        if self.at == self.line.len() { Ok(()) } else { self.bad(self.at, expected) }
    }
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
