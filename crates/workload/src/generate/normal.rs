//! Normal: commands cluster around the middle of the addresses as a bell curve.
//!
//! A page is floor(x), where x is normal with mean U/2, cut to [0, U):
//! P(page) = (Phi((page + 1 - U/2) / sigma) - Phi((page - U/2) / sigma)) / (2 Phi(U / 2 sigma) - 1).
//! sigma is chosen so that the central share `hot` of the addresses gets the share 1 - hot of the
//! commands: hot = 0.15 means 85% to the middle 15%; 0.5 is uniform.
//!
//! The draw is exact except for pages more than 10 sigma from the middle, which together have a
//! probability below 2^-75. An alias table gives a strip of the curve by its highest density, and a
//! place in the strip is drawn uniformly. The place is accepted with the ratio of its density to
//! the highest one; otherwise the draw is repeated. Probabilities, also of sets of pages, are off
//! by at most 2^-32.
//!
//! # Cost
//!
//! Two random words and a table access a command; an exponential in 1 of 200. Memory: 48 KiB.
//!
//! # Source
//!
//! The synthetic traces of the BSGC paper ("normal distribution", hot ratio 15, 25 and
//! 35%), whose sigma is not published: the meaning of `hot` is our reading. Rejection from a step
//! function: Devroye, "Non-Uniform Random Variate Generation", 1986, chapter VIII.

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use super::uniform::Uniform;
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const HOT: Param = Param::real("hot", (0.000_001, 0.5), Some("0.15"))
    .help("central fraction of the pages that gets the share 1-hot of the commands");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "normal",
    params: &[HOT, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("normal.rs"),
    plan: |params| Ok(Arc::new(Normal { hot: params.real("hot") })),
};

#[derive(Debug)]
struct Normal {
    hot: f64,
}

/// The binary logarithm of the number of strips, which have equal width.
const STRIPS: u32 = 11;

/// The strips reach at least this distance from the middle, in sigmas.
const REACH: f64 = 10.0;

impl Generator for Normal {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        if self.hot == 0.5 {
            return Uniform.open(pages, random);
        }
        let half = half_width(self.hot);
        // The strips cover the share 2^-narrow of the addresses, around their middle.
        let narrow = (0..63).rev().find(|&n| n == 0 || half / (1u64 << n) as f64 >= REACH);
        let narrow = narrow.unwrap_or(0);
        let reach = half / (1u64 << narrow) as f64;
        let count = 1usize << STRIPS;
        // Returns the beginning of a strip, in sigmas from the middle.
        let edge = |strip: usize| reach * (2.0 * strip as f64 / count as f64 - 1.0);
        let (mut strips, mut weights) = (Vec::new(), Vec::new());
        for strip in 0..count {
            let (left, right) = (edge(strip).abs(), edge(strip + 1).abs());
            let (near, far) = (left.min(right), left.max(right));
            weights.push(libm::exp(-near * near / 2.0));
            strips.push(Strip {
                near_squared: near * near,
                // The bound is a little lower, so that the rounding of `exp` cannot raise it above
                // the true ratio.
                keep_below: (ratio(near * near, far) * TWO_20 - 1e-6).max(0.0) as u32,
            });
        }
        Ok(Box::new(Draws {
            pages: u64::from(pages),
            half,
            narrow,
            choice: Alias::from_reals(&weights),
            strips,
            words: random.bulk(),
        }))
    }
}

/// Returns half the width of the address space in sigmas.
fn half_width(hot: f64) -> f64 {
    let central = |half: f64| {
        let inside = libm::erf(hot * half / std::f64::consts::SQRT_2);
        inside / libm::erf(half / std::f64::consts::SQRT_2)
    };
    // `central` grows from `hot` at 0 to 1, and the share to find is at least `hot`. The bisection
    // ends at neighbouring floating-point numbers. Below `low`, the curve is flat to 1e-9.
    let mut low = 1e-4;
    let mut high = 1.0;
    while central(high) < 1.0 - hot {
        high *= 2.0;
    }
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if central(middle) < 1.0 - hot {
            low = middle;
        } else {
            high = middle;
        }
    }
}

const TWO_20: f64 = (1u32 << 20) as f64;

/// Returns the density at `z` sigmas, divided by the density at the square root of `near_squared`.
fn ratio(near_squared: f64, z: f64) -> f64 {
    libm::exp((near_squared - z * z) / 2.0)
}

struct Strip {
    /// The square of the place in the strip that is nearest to the middle, in sigmas. There the
    /// density is highest.
    near_squared: f64,
    /// The ratio of the strip's lowest density to its highest, times 2^20, rounded down.
    keep_below: u32,
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    pages: u64,
    #[snapshot(skip)]
    half: f64,
    #[snapshot(skip)]
    narrow: u32,
    #[snapshot(skip)]
    choice: Alias,
    #[snapshot(skip)]
    strips: Vec<Strip>,
    #[snapshot(state)]
    words: Bulk,
}

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        let mut drawn = 0;
        while drawn < BLOCK {
            let number = self.choice.pick(self.words.next());
            let strip = &self.strips[number as usize];
            let word = self.words.next();
            // `among` is a place among all strips as a fraction of 2^64: the number of the strip,
            // then 44 bits. `place` is the same place as a fraction of all addresses.
            let among = (u64::from(number) << (64 - STRIPS)) | (word >> 20 << (20 - STRIPS));
            let place = (1 << 63) - (1 << 63 >> self.narrow) + (among >> self.narrow);
            let looked_at = (word & 0xf_ffff) as u32;
            let keep = looked_at < strip.keep_below || {
                let centred = place.wrapping_sub(1 << 63) as i64 as f64;
                let z = self.half * (centred / (1u64 << 63) as f64);
                let unit = ((u64::from(looked_at) << 33) | (self.words.next() >> 31)) as f64;
                unit < ratio(strip.near_squared, z) * (1u64 << 53) as f64
            };
            pages[drawn] = ((u128::from(place) * u128::from(self.pages)) >> 64) as u32;
            drawn += usize::from(keep);
        }
    }
}
