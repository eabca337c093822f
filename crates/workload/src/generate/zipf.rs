//! Zipf: the k-th most popular page gets commands in proportion to 1/k^theta.
//!
//! P(page of rank k) = k^-theta / (1^-theta + 2^-theta + ... + U^-theta), k = 1..U, for any
//! theta >= 0: 0 is uniform, 0.99 is the value of YCSB; 1 and more are allowed.
//!
//! With scatter=yes a fixed pseudo-random permutation, the same for every seed, assigns ranks to
//! pages, because popular pages of a real volume are not neighbours. With scatter=no page 0 is the
//! most popular, page 1 the next.
//!
//! The draw is exact, not the usual approximation. Ranks are grouped in strips of a 32nd of an
//! octave. An alias table gives a strip by its length times the probability of its first rank, and
//! a rank of the strip is drawn uniformly. The rank is accepted with the ratio of its probability
//! to that of the first rank; otherwise the draw is repeated. Probabilities, also of sets of pages,
//! are off by at most 2^-32.
//!
//! # Cost
//!
//! Two random words and a table access a command; a power in one of some 50/theta commands. The
//! permutation adds four rounds of four multiplications, eight pages at a time. Memory: 12 KiB at
//! 2^20 pages, for any theta.
//!
//! # Source
//!
//! Zipf 1949. Rejection from a step function: Devroye, "Non-Uniform Random Variate Generation",
//! 1986, chapter VIII. It replaces the rejection-inversion of Hoermann and Derflinger (ACM TOMACS
//! 1996), equally exact, which needs a logarithm and an exponential for each draw.

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use super::scatter::Scatter;
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const THETA: Param =
    Param::real("theta", (0.0, f64::INFINITY), Some("0.99")).help("exponent, 0 for uniform");
const SCATTER: Param = Param::word("scatter", &["yes", "no"], Some("yes"))
    .help("yes: popular pages are scattered over the drive; no: they are at its start");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "zipf",
    params: &[THETA, SCATTER, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("zipf.rs"),
    plan: |params| {
        let scatter = params.text("scatter") == "yes";
        Ok(Arc::new(Zipf { theta: params.real("theta"), scatter }))
    },
};

#[derive(Debug)]
pub(super) struct Zipf {
    pub theta: f64,
    pub scatter: bool,
}

/// The binary logarithm of the number of strips in an octave.
const STRIPS: u32 = 5;

struct Strip {
    /// The first and most popular rank of the strip, from 1.
    first: u32,
    /// The number of ranks in the strip, a power of two, minus 1.
    mask: u32,
    /// The ratio of the last rank's probability to that of the first rank, times 2^32, rounded
    /// down. A draw below it is accepted without computing the probability of its rank.
    keep_below: u64,
}

impl Generator for Zipf {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let (mut strips, mut weights) = (Vec::new(), Vec::new());
        let mut first = 1u64;
        while first <= u64::from(pages) {
            let len = 1u64 << first.ilog2().saturating_sub(STRIPS);
            let ratio = ratio(first as f64, (first + len - 1) as f64, self.theta);
            strips.push(Strip {
                first: first as u32,
                mask: (len - 1) as u32,
                // One ulp of `pow` is 2^-53, and the bound must be below the true ratio.
                keep_below: if len == 1 { 1 << 32 } else { (ratio * TWO_32 - 1e-3) as u64 },
            });
            weights.push(len as f64 * libm::pow(first as f64, -self.theta));
            first += len;
        }
        Ok(Box::new(Draws {
            pages,
            theta: self.theta,
            choice: Alias::from_reals(&weights),
            strips,
            scatter: self.scatter.then(|| Scatter::new(pages)),
            words: random.bulk(),
        }))
    }
}

const TWO_32: f64 = (1u64 << 32) as f64;

/// Returns the probability of rank `rank`, divided by that of rank `first`.
fn ratio(first: f64, rank: f64, theta: f64) -> f64 {
    libm::pow(first / rank, theta)
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    pages: u32,
    #[snapshot(skip)]
    theta: f64,
    #[snapshot(skip)]
    choice: Alias,
    #[snapshot(skip)]
    strips: Vec<Strip>,
    #[snapshot(skip)]
    scatter: Option<Scatter>,
    #[snapshot(state)]
    words: Bulk,
}

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        let mut drawn = 0;
        while drawn < BLOCK {
            let strip = &self.strips[self.choice.pick(self.words.next()) as usize];
            let word = self.words.next();
            // The low bits choose the rank. The high half decides whether it is accepted.
            let index = (strip.first - 1) + (word as u32 & strip.mask);
            let keep = word >> 32 < strip.keep_below || {
                let exact = ratio(f64::from(strip.first), f64::from(index) + 1.0, self.theta);
                // A number of 53 bits. Its first 32 bits are those compared above.
                let unit = ((word >> 32 << 21) | (self.words.next() >> 43)) as f64;
                unit < exact * (1u64 << 53) as f64
            };
            pages[drawn] = index;
            drawn += usize::from(keep & (index < self.pages));
        }
        if let Some(scatter) = self.scatter {
            scatter.map(pages);
        }
    }
}
