//! Every page is equally likely.
//!
//! Each command goes to a page drawn from all U logical pages, independently of the others:
//! P(page) = 1/U, without bias.
//!
//! # Cost
//!
//! Half a random word and a multiplication a command.
//!
//! # Source
//!
//! The reference workload of the analytic models. Bounded draw: Lemire, "Fast Random Integer
//! Generation in an Interval", ACM TOMACS 2019; a rejected draw is repeated from a second stream.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::SpecError;
use multiversion::multiversion;

use super::bulk::{Bulk, WORDS};
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "uniform",
    params: &[READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("uniform.rs"),
    plan: |_| Ok(Arc::new(Uniform)),
};

#[derive(Debug)]
pub(super) struct Uniform;

impl Generator for Uniform {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let reject_below = pages.wrapping_neg() % pages;
        Ok(Box::new(Draws { pages, reject_below, words: random.bulk(), redraw: random.redraw() }))
    }
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    pages: u32,
    /// 2^32 mod pages. Products whose low half is below this number are rejected, because they
    /// would favour some pages.
    #[snapshot(skip)]
    reject_below: u32,
    #[snapshot(state)]
    words: Bulk,
    redraw: Stream,
}

/// The number of words that are checked together for rejected draws.
const CHUNK: usize = 32;

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        const { assert!(BLOCK == 2 * WORDS) };
        let words = self.words.block();
        let rejected = scale(words, pages, self.pages, self.reject_below);
        for (chunk, rejected) in rejected.iter().enumerate() {
            if *rejected {
                for i in 2 * CHUNK * chunk..2 * CHUNK * (chunk + 1) {
                    let half = (words[i / 2] >> (32 * (i % 2))) as u32;
                    if half.wrapping_mul(self.pages) < self.reject_below {
                        pages[i] = self.redraw.below(self.pages);
                    }
                }
            }
        }
    }
}

/// Makes two pages from each word. Returns, for each chunk of words, `true` if a page in it must be
/// drawn again.
#[multiversion(targets("x86_64+avx2"))]
fn scale(
    words: &[u64; WORDS],
    pages: &mut [u32; BLOCK],
    bound: u32,
    reject_below: u32,
) -> [bool; WORDS / CHUNK] {
    const LOW: u64 = u32::MAX as u64;
    let (bound, reject_below) = (u64::from(bound), u64::from(reject_below));
    let mut rejected = [false; WORDS / CHUNK];
    for (chunk, rejected) in rejected.iter_mut().enumerate() {
        let mut below = 0;
        // The loop uses plain indices, because the compiler makes better vector code from them than
        // from iterators.
        for i in CHUNK * chunk..CHUNK * (chunk + 1) {
            let (first, second) = ((words[i] & LOW) * bound, (words[i] >> 32) * bound);
            pages[2 * i] = (first >> 32) as u32;
            pages[2 * i + 1] = (second >> 32) as u32;
            // The difference is negative, with its highest bit set, exactly if the draw is
            // rejected.
            below |= (first & LOW).wrapping_sub(reject_below);
            below |= (second & LOW).wrapping_sub(reject_below);
        }
        *rejected = below >> 63 != 0;
    }
    rejected
}
