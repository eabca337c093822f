//! Sizes of requests and the boundaries where they begin: the parameters `size` and `align`, which
//! every generator has. This module reads them and draws sizes; it knows nothing of pages.

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use crate::units::Quantity;

/// The sizes of the generator's requests.
pub(super) const SIZE: Param = Param::text("size", Some("none")).help(
    "bytes of its requests: 64KiB, sizes with shares 4KiB:90/64KiB:10, or a range 4KiB-64KiB; none: \
     those of the run",
);

/// The boundaries where the generator's requests begin.
pub(super) const ALIGN: Param = Param::text("align", Some("none")).help(
    "its requests begin at multiples of this, such as 4KiB; none: multiples of its smallest size",
);

/// The text of a parameter that is not given.
const NONE: &str = "none";
const FORM: &str = "write size=64KiB, size=4KiB:90/64KiB:10 or size=4KiB-64KiB";

/// Sizes of requests.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sizes {
    /// Each size in bytes, with its share of the requests: a proportion above 0.
    Shares(Vec<(u32, f64)>),
    /// All multiples of `least` up to `most` bytes are equally likely.
    Range { least: u32, most: u32 },
}

/// The two parameters of a generator, as far as they are given.
#[derive(Clone, Debug)]
pub(super) struct SizeParams {
    pub sizes: Option<Sizes>,
    /// In bytes.
    pub align: Option<u32>,
}

impl SizeParams {
    /// Reads both parameters.
    pub fn read(params: &Params) -> Result<Self, SpecError> {
        let given = |param: &Param| Some(params.text(param.name)).filter(|text| *text != NONE);
        let owner = params.owner();
        Ok(Self {
            sizes: given(&SIZE).map(|text| Sizes::parse(owner, text)).transpose()?,
            align: given(&ALIGN)
                .map(|text| bytes(owner, ALIGN.name, text, "write align=4KiB"))
                .transpose()?,
        })
    }

    /// Returns `true` if at least one of the parameters is given.
    pub fn is_given(&self) -> bool {
        self.sizes.is_some() || self.align.is_some()
    }
}

/// Reads a whole number of bytes that a request can have.
fn bytes(owner: &str, name: &str, text: &str, form: &str) -> Result<u32, SpecError> {
    let bytes = Quantity::Size.parse(name, text.trim(), form)?;
    if bytes.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&bytes) {
        return Ok(bytes as u32);
    }
    Err(SpecError::new(
        format!("{owner}: {name}={text} is not a whole number of bytes from 1 to 2^32 - 1"),
        form,
    ))
}

impl Sizes {
    /// Makes the sizes of requests that all have `bytes` bytes.
    pub fn single(bytes: u32) -> Self {
        Self::Shares(vec![(bytes, 1.0)])
    }

    /// Reads `64KiB`, `4KiB:90/64KiB:10` or `4KiB-64KiB`. Shares are proportions, or percentages
    /// that sum to 100%.
    fn parse(owner: &str, text: &str) -> Result<Self, SpecError> {
        let fault = |what: &str| Err(SpecError::new(format!("{owner}: size={text} {what}"), FORM));
        let size = |text: &str| bytes(owner, SIZE.name, text, FORM);
        if let Some((least, most)) = text.split_once('-') {
            let (least, most) = (size(least)?, size(most)?);
            return match least < most && most % least == 0 {
                true => Ok(Self::Range { least, most }),
                false => fault("is no range: its end must be a multiple of its beginning"),
            };
        }
        if !text.contains([':', '/']) {
            return size(text).map(Self::single);
        }
        let (mut shares, mut percentages) = (Vec::<(u32, f64)>::new(), 0);
        for part in text.split('/') {
            let Some((bytes, share)) = part.split_once(':') else {
                return fault(&format!("has no share for {part}"));
            };
            let digits = share.trim().strip_suffix('%');
            percentages += usize::from(digits.is_some());
            let share = digits.unwrap_or(share).trim().parse::<f64>().ok();
            let Some(share) = share.filter(|share| share.is_normal() && *share > 0.0) else {
                return fault(&format!("has the share '{part}', expected a number above 0"));
            };
            let bytes = size(bytes)?;
            if shares.iter().any(|(other, _)| *other == bytes) {
                return fault(&format!("has {bytes} bytes twice"));
            }
            shares.push((bytes, share));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        match percentages {
            _ if !sum.is_finite() => fault("has shares that are too large"),
            0 => Ok(Self::Shares(shares)),
            all if all < shares.len() => fault("has a % for only some of its shares"),
            _ if (sum - 100.0).abs() > 1e-9 => {
                fault(&format!("has shares that sum to {sum}%, expected 100%"))
            }
            _ => Ok(Self::Shares(shares)),
        }
    }

    /// Returns the smallest size in bytes.
    pub fn least(&self) -> u32 {
        match self {
            Self::Shares(shares) => shares.iter().map(|(bytes, _)| *bytes).min().expect("a size"),
            Self::Range { least, .. } => *least,
        }
    }

    /// Returns the largest size in bytes.
    pub fn most(&self) -> u32 {
        match self {
            Self::Shares(shares) => shares.iter().map(|(bytes, _)| *bytes).max().expect("a size"),
            Self::Range { most, .. } => *most,
        }
    }

    /// Returns the greatest common divisor of all sizes, in bytes.
    pub fn divisor(&self) -> u32 {
        match self {
            Self::Shares(shares) => {
                shares.iter().fold(0, |divisor, (bytes, _)| gcd(divisor, *bytes))
            }
            Self::Range { least, .. } => *least,
        }
    }

    /// Returns the mean of `of` over the sizes. For a range, `of` must be nearly linear.
    pub fn mean(&self, of: impl Fn(u32) -> f64) -> f64 {
        match self {
            Self::Shares(shares) => {
                let sum: f64 = shares.iter().map(|(_, share)| share).sum();
                shares.iter().map(|(bytes, share)| of(*bytes) * share).sum::<f64>() / sum
            }
            Self::Range { least, most } => (of(*least) + of(*most)) / 2.0,
        }
    }

    /// Opens the draws, with the random `words`.
    pub fn open(&self, words: Bulk) -> SizeDraws {
        let alias = match self {
            Self::Shares(shares) if shares.len() > 1 => {
                let weights: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
                Some(Alias::from_reals(&weights))
            }
            Self::Shares(_) | Self::Range { .. } => None,
        };
        SizeDraws { sizes: self.clone(), alias, words }
    }
}

/// Returns the greatest common divisor of two numbers, of which one may be 0.
pub(super) fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Draws of sizes.
#[derive(State)]
pub(super) struct SizeDraws {
    #[snapshot(skip)]
    sizes: Sizes,
    /// The table of the shares; `None` for a range and for a single size.
    #[snapshot(skip)]
    alias: Option<Alias>,
    #[snapshot(state)]
    words: Bulk,
}

impl SizeDraws {
    /// Draws a size of at most `room` bytes. The smallest size must fit.
    ///
    /// The distribution is that of drawing again and again until a size fits.
    pub fn next(&mut self, room: u64) -> u32 {
        let fits = |bytes: u32| u64::from(bytes) <= room;
        match &self.sizes {
            Sizes::Range { least, most } => {
                let multiples = (room / u64::from(*least)).min(u64::from(most / least));
                let drawn = (u128::from(self.words.next()) * u128::from(multiples)) >> 64;
                least * (1 + drawn as u32)
            }
            Sizes::Shares(shares) => {
                let Some(alias) = &self.alias else { return shares[0].0 };
                let bytes = shares[alias.pick(self.words.next()) as usize].0;
                if fits(bytes) {
                    return bytes;
                }
                let sum: f64 =
                    shares.iter().filter(|(bytes, _)| fits(*bytes)).map(|(_, share)| share).sum();
                let mut left = sum * (self.words.next() as f64 / (1u128 << 64) as f64);
                let mut last = 0;
                for &(bytes, share) in shares.iter().filter(|(bytes, _)| fits(*bytes)) {
                    last = bytes;
                    left -= share;
                    if left < 0.0 {
                        break;
                    }
                }
                last
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Sizes, String> {
        Sizes::parse("x", text).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_read_with_their_shares() {
        assert_eq!(parse("64KiB"), Ok(Sizes::single(65536)));
        assert_eq!(parse("4KiB-64KiB"), Ok(Sizes::Range { least: 4096, most: 65536 }));
        let shares = Sizes::Shares(vec![(512, 4.0), (1536, 1.5)]);
        assert_eq!(parse("512B:4/1.5KiB:1.5"), Ok(shares.clone()));
        assert_eq!((shares.least(), shares.most(), shares.divisor()), (512, 1536, 512));
        let percent = Sizes::Shares(vec![(4096, 99.5), (8192, 0.5)]);
        assert_eq!(parse("4KiB:99.5%/8KiB:0.5%"), Ok(percent));
    }

    #[test]
    fn faults_are_told_in_one_line() {
        let error = |text: &str| {
            let error = parse(text).unwrap_err();
            error.split("; hint").next().unwrap().to_string()
        };
        assert_eq!(error("64"), "size=64 has no unit");
        assert_eq!(error("0B"), "x: size=0B is not a whole number of bytes from 1 to 2^32 - 1");
        assert_eq!(error("4KiB/8KiB:1"), "x: size=4KiB/8KiB:1 has no share for 4KiB");
        assert_eq!(error("4KiB:1/4096B:2"), "x: size=4KiB:1/4096B:2 has 4096 bytes twice");
        assert_eq!(
            error("4KiB:0/8KiB:1"),
            "x: size=4KiB:0/8KiB:1 has the share '4KiB:0', expected a number above 0"
        );
        assert_eq!(
            error("4KiB:50%/8KiB:1"),
            "x: size=4KiB:50%/8KiB:1 has a % for only some of its shares"
        );
        assert_eq!(
            error("4KiB:50%/8KiB:49%"),
            "x: size=4KiB:50%/8KiB:49% has shares that sum to 99%, expected 100%"
        );
        assert_eq!(
            error("4KiB-10KiB"),
            "x: size=4KiB-10KiB is no range: its end must be a multiple of its beginning"
        );
    }

    #[test]
    fn a_size_that_does_not_fit_is_drawn_again() {
        // Without 8 KiB, the shares 1 and 3 are left.
        let sizes = parse("512B:1/4KiB:3/8KiB:96").unwrap();
        let mut draws = sizes.open(Bulk::new(1, "x"));
        let small = (0..40_000).filter(|_| draws.next(5000) == 512).count();
        assert!((9_700..10_300).contains(&small), "{small} of 40000, expected a quarter");
        let mut draws = parse("4KiB-64KiB").unwrap().open(Bulk::new(1, "x"));
        let mut counts = [0; 4];
        (0..40_000).for_each(|_| counts[(draws.next(4096 * 3 + 5) / 4096) as usize] += 1);
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|count| (13_000..13_700).contains(count)), "{counts:?}");
    }
}
