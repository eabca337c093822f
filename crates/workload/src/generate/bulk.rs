//! Random words in bulk: sixteen xoshiro256++ generators side by side, so that vector instructions
//! make sixteen words at once. This module knows nothing of pages or distributions.
//!
//! The words are the same with and without vector instructions: the same code is compiled twice,
//! and integer arithmetic has one result.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, State};
use multiversion::multiversion;

/// The number of generators side by side. For eight, the compiler makes scalar code; for sixteen, a
/// vector loop.
const LANES: usize = 16;
/// The number of words that are made at once.
pub(super) const WORDS: usize = 256;

type Lanes = [u64; LANES];

/// An endless source of uniform 64-bit words.
///
/// Word `16 i + l` is the i-th output of lane `l`. Lane `l` is a xoshiro256++ generator (Blackman
/// and Vigna 2019). SplitMix64 makes its initial state from the l-th draw of the stream called
/// `name`.
#[derive(Clone, Debug, State)]
#[snapshot(then = check)]
pub(super) struct Bulk {
    state: [Lanes; 4],
    #[snapshot(table)]
    words: [u64; WORDS],
    used: usize,
}

impl Bulk {
    /// Makes the source for the component called `name` in a run with `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut stream = Stream::new(seed, name);
        let mut state = [[0; LANES]; 4];
        for lane in 0..LANES {
            let mut mix = stream.bits();
            for row in &mut state {
                row[lane] = split_mix(&mut mix);
            }
        }
        Self { state, words: [0; WORDS], used: WORDS }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.used <= WORDS {
            return Ok(());
        }
        Err(Fault::new("more random words are used than there are"))
    }

    /// Returns the next word.
    #[inline(always)]
    pub fn next(&mut self) -> u64 {
        if self.used == WORDS {
            self.refill();
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    /// Makes and returns the next [`WORDS`] words. A source must be used with either this or
    /// [`Bulk::next`], because this skips the words that `next` has not returned yet.
    #[inline]
    pub fn block(&mut self) -> &[u64; WORDS] {
        steps(&mut self.state, &mut self.words);
        &self.words
    }

    #[inline(never)]
    fn refill(&mut self) {
        steps(&mut self.state, &mut self.words);
        self.used = 0;
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014). It never returns four zeros in a row. Xoshiro could not
/// leave such a state.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[multiversion(targets("x86_64+avx2"))]
fn steps(state: &mut [Lanes; 4], words: &mut [u64; WORDS]) {
    let [a, b, c, d] = state;
    for row in words.as_chunks_mut::<LANES>().0 {
        for l in 0..LANES {
            row[l] = a[l].wrapping_add(d[l]).rotate_left(23).wrapping_add(a[l]);
            let t = b[l] << 17;
            c[l] ^= a[l];
            d[l] ^= b[l];
            b[l] ^= c[l];
            a[l] ^= d[l];
            c[l] ^= t;
            d[l] = d[l].rotate_left(45);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn each_lane_is_the_published_generator() {
        let mut bulk = Bulk::new(5, "lanes");
        let mut stream = Stream::new(5, "lanes");
        // `seed_from_u64` of the `rand_xoshiro` crate also makes the state with SplitMix64.
        let mut lanes: Vec<_> =
            (0..LANES).map(|_| Xoshiro256PlusPlus::seed_from_u64(stream.bits())).collect();
        for i in 0..3 * WORDS {
            assert_eq!(bulk.next(), lanes[i % LANES].next_u64(), "word {i}");
        }
    }

    #[test]
    fn blocks_and_single_words_are_the_same_words() {
        let (mut words, mut other) = (Bulk::new(1, "x"), Bulk::new(1, "x"));
        for _ in 0..3 {
            for word in *words.block() {
                assert_eq!(word, other.next());
            }
        }
    }
}
