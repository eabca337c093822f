//! Random streams. Every component draws from its own stream, derived from the seed and the
//! component's name. So the draws of one component never shift those of another.

use crate::snapshot::Value;

/// One component's random numbers: xoshiro256++ seeded from `(seed, name)`.
///
/// The sequence is part of every result, so it must not change between versions: the generator is
/// a published one and the derivation and the bounded draw are written out here.
#[derive(Clone, Debug, Value)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// The stream of the component called `name` (for example `"victim"`) in a run with `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // The tag is the FNV-1a hash of the name. The seed, multiplied by a constant, and the tag
        // are combined with XOR. SplitMix64 spreads the result over the state.
        let tag = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self::seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tag)
    }

    /// Four words of SplitMix64, as the authors of xoshiro advise (Blackman and Vigna 2021).
    fn seeded(mut seed: u64) -> Self {
        let mut word = || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Self { state: [word(), word(), word(), word()] }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let bits = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        bits
    }

    /// A uniform integer in `0..bound`, without bias (Lemire 2019, multiply and reject).
    ///
    /// `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        debug_assert!(bound > 0);
        let mut product = u64::from((self.bits() >> 32) as u32) * u64::from(bound);
        if (product as u32) < bound {
            let reject_below = bound.wrapping_neg() % bound;
            while (product as u32) < reject_below {
                product = u64::from((self.bits() >> 32) as u32) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// A uniform real in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        for seed in [0, 1, 0xcbf2_9ce4_8422_2325, u64::MAX] {
            let mut published = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut ours = Stream::seeded(seed);
            assert!((0..1000).all(|_| ours.bits() == published.next_u64()), "{seed}");
        }
    }

    #[test]
    fn streams_of_different_names_or_seeds_differ() {
        let first = |seed, name| Stream::new(seed, name).bits();
        assert_ne!(first(1, "victim"), first(1, "workload"));
        assert_ne!(first(1, "victim"), first(2, "victim"));
        assert_eq!(first(1, "victim"), first(1, "victim"));
    }

    #[test]
    fn below_is_uniform() {
        // The bound is 3 * 2^30. Without the rejection, numbers that are divisible by 3 would come
        // twice as often.
        let bound = 3 << 30;
        let mut stream = Stream::new(7, "below");
        let mut thirds = [0u32; 3];
        for _ in 0..30_000 {
            thirds[(stream.below(bound) % 3) as usize] += 1;
        }
        // Chi-square with 2 degrees of freedom; 13.8 is the 0.1% point.
        let chi: f64 = thirds.iter().map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 13.8, "{thirds:?}");
    }
}
