//! A fixed pseudo-random permutation of `0..n` in constant memory, which maps ranks to places on
//! the drive. This module knows nothing of distributions.

use multiversion::multiversion;

use super::BLOCK;

/// The number of rounds of the network. With ideal round functions, three rounds of a Feistel
/// network make a pseudo-random permutation (Luby and Rackoff 1988). These round functions are not
/// ideal, so there is one more round.
const ROUNDS: u32 = 4;

/// A generalised Feistel network over `0..a*b`. b is a power of two; a and b are close to the root
/// of n. The network is applied repeatedly until the result is below n (cycle walking): Black and
/// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. A network over the next power of
/// two would need a repetition with a probability up to 1/2; this one with a probability below
/// 1.5/sqrt(n), for any n. An affine map would be faster, but puts neighbouring ranks at a constant
/// distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    n: u32,
    /// The factor a, at most 2^16.
    a: u32,
    /// The binary logarithm of b, at most 16.
    bits: u32,
}

impl Scatter {
    /// Makes the permutation of `0..n`, which is the same for every seed; n is at least 1.
    pub fn new(n: u32) -> Self {
        let bits = n.ilog2().div_ceil(2);
        Self { n, a: n.div_ceil(1 << bits), bits }
    }

    /// Replaces each index by its image. All must be below n.
    pub fn map(&self, indices: &mut [u32; BLOCK]) {
        all_once(self, indices);
        for place in indices {
            while *place >= self.n {
                *place = self.once(*place);
            }
        }
    }

    /// Applies the network once. `index` and the result are below a*b, which is at most 2^32.
    #[inline(always)]
    fn once(&self, index: u32) -> u32 {
        let mask = (1 << self.bits) - 1;
        let (mut left, mut right) = (index >> self.bits, index & mask);
        for round in 0..ROUNDS / 2 {
            // (left + x) mod a, as the smaller one of the sum and the sum minus a. The difference
            // wraps if it is negative.
            let sum = left + (((hash(right, 2 * round) >> 16) * self.a) >> 16);
            left = sum.min(sum.wrapping_sub(self.a));
            right = (right + (hash(left, 2 * round + 1) >> 16)) & mask;
        }
        (left << self.bits) | right
    }
}

/// A permutation of pages that moves whole runs of pages. Pages after the last whole run stay in
/// place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    /// The permutation of the whole runs; `None` if there is no whole run.
    places: Option<Scatter>,
    /// The number of pages in whole runs.
    whole: u32,
    run: u32,
    /// 2^64 / run, rounded up. A multiplication by it divides any `u32` exactly (Lemire, Kaser and
    /// Kurz, "Faster Remainder by Direct Computation", 2019).
    reciprocal: u128,
}

impl Runs {
    /// Makes the permutation of `0..pages` by runs of `run` pages. Both are at least 1.
    pub fn new(pages: u32, run: u32) -> Self {
        let runs = pages / run;
        Self {
            places: (runs > 0).then(|| Scatter::new(runs)),
            whole: runs * run,
            run,
            reciprocal: (1u128 << 64).div_ceil(u128::from(run)),
        }
    }

    /// Replaces each page by its image.
    pub fn map(&self, pages: &mut [u32; BLOCK]) {
        let Some(places) = &self.places else { return };
        if self.run == 1 {
            return places.map(pages);
        }
        let run_of = |page: u32| ((u128::from(page) * self.reciprocal) >> 64) as u32;
        // A page after the last whole run counts as a page of run 0 here, and is not moved below.
        let runs = pages.map(|page| if page < self.whole { run_of(page) } else { 0 });
        let mut places_of_runs = runs;
        places.map(&mut places_of_runs);
        for ((page, from), to) in pages.iter_mut().zip(runs).zip(places_of_runs) {
            if *page < self.whole {
                *page = *page - from * self.run + to * self.run;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn all_once(scatter: &Scatter, indices: &mut [u32; BLOCK]) {
    for index in indices {
        *index = scatter.once(*index);
    }
}

/// Returns 32 bits that depend on x. Only the high bits are used. Each round has its own function.
/// It multiplies and xor-shifts with the constants of `lowbias32` (Wellons, "Prospecting for Hash
/// Functions", 2018).
#[inline(always)]
fn hash(x: u32, round: u32) -> u32 {
    let x = x.wrapping_add((round + 1).wrapping_mul(0x9e37_79b9)).wrapping_mul(0x7feb_352d);
    (x ^ (x >> 15)).wrapping_mul(0x846c_a68b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the images of the indices.
    fn places(n: u32, indices: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut places: Vec<u32> = indices.collect();
        let len = places.len();
        places.resize(len.next_multiple_of(BLOCK), 0);
        places.as_chunks_mut().0.iter_mut().for_each(|block| Scatter::new(n).map(block));
        places.truncate(len);
        places
    }

    #[test]
    fn it_is_a_bijection() {
        // The sizes are all small ones, squares and powers of two with their neighbours, and a
        // prime.
        let large = [9_999, 10_000, 10_001, 65_535, 65_536, 65_537, 1_000_003, 1 << 20];
        for n in (1..600).chain(large) {
            let mut seen = vec![false; n as usize];
            for place in places(n, 0..n) {
                assert!(!std::mem::replace(&mut seen[place as usize], true), "{n}: {place} twice");
            }
        }
    }

    #[test]
    fn runs_move_whole_and_the_rest_stays() {
        // The last case has no whole run.
        for (n, run) in
            [(1, 1), (1000, 1), (1000, 7), (1000, 64), (4096, 64), (100_000, 333), (5, 9)]
        {
            let mut seen = vec![false; n as usize];
            let whole = n / run * run;
            let mut block = [0; BLOCK];
            for first in (0..n).step_by(BLOCK) {
                block.iter_mut().zip(first..).for_each(|(page, index)| *page = index.min(n - 1));
                Runs::new(n, run).map(&mut block);
                for (place, index) in block.into_iter().zip(first..n) {
                    assert!(!std::mem::replace(&mut seen[place as usize], true), "{place} twice");
                    assert_eq!(place % run, index % run, "{n} pages, run {run}");
                    assert!(index < whole || place == index, "{n} pages, run {run}");
                }
            }
        }
        // `Runs` moves runs in the same way as `Scatter` moves indices.
        let mut block = [0; BLOCK];
        block.iter_mut().zip(0..).for_each(|(page, index)| *page = index);
        Runs::new(1 << 20, 64).map(&mut block);
        let runs = places(1 << 14, 0..8);
        assert!(block.iter().zip(0..).all(|(page, i)| *page == runs[i / 64] * 64 + i as u32 % 64));
    }

    /// Applies the inverse of the network.
    fn undo(scatter: &Scatter, place: u32) -> u32 {
        let mask = (1 << scatter.bits) - 1;
        let (mut left, mut right) = (place >> scatter.bits, place & mask);
        for round in (0..ROUNDS / 2).rev() {
            right = right.wrapping_sub(hash(left, 2 * round + 1) >> 16) & mask;
            let back = ((hash(right, 2 * round) >> 16) * scatter.a) >> 16;
            left = (left + scatter.a - back) % scatter.a;
        }
        (left << scatter.bits) | right
    }

    #[test]
    fn the_largest_sizes_stay_in_range_and_can_be_undone() {
        for n in [u32::MAX, u32::MAX - (1 << 16), (1 << 31) + 1, 1 << 31, (1 << 30) + 1] {
            let indices = || (0..n).step_by(1 << 20).chain(n - 1000..n);
            let scatter = Scatter::new(n);
            for (index, place) in indices().zip(places(n, indices())) {
                assert!(place < n);
                let mut back = undo(&scatter, place);
                while back >= n {
                    back = undo(&scatter, back);
                }
                assert_eq!(back, index, "{n}");
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        // In a random permutation, the distance of the images of neighbours is below n/100 with
        // probability 0.02. For 99 999 pairs the mean is 2000 and the deviation 44; 5 deviations
        // are allowed here.
        let places = places(100_000, 0..100_000);
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1000).count();
        assert!((1770..2220).contains(&near), "{near}");
        // The images of the first tenth are spread evenly over the tenths: chi-square with 9
        // degrees of freedom, whose 0.1% point is 27.9.
        let mut tenths = [0; 10];
        places[..10_000].iter().for_each(|place| tenths[*place as usize / 10_000] += 1);
        let chi: f64 = tenths.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
        assert!(chi < 27.9, "{tenths:?}");
    }
}
