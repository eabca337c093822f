//! A fixed pseudo-random permutation of `0..n` in constant memory: where on the drive the pages of
//! each rank lie. It knows nothing of distributions.

/// Rounds of the network. Three make a pseudo-random permutation of a Feistel network with ideal
/// round functions (Luby and Rackoff 1988); one more for ours, which are not ideal.
const ROUNDS: u32 = 4;

/// A generalised Feistel network over `0..a*b`, with a and b near the root of n, that is applied
/// again until the result is below n (cycle walking): Black and Rogaway, "Ciphers with Arbitrary
/// Finite Domains", CT-RSA 2002. A network over the next power of two would walk up to half of the
/// time; this one walks with a probability below 1/sqrt(n), for any n. An affine map would be
/// cheaper, but puts neighbouring ranks at a constant distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    n: u32,
    a: u32,
    b: u32,
}

impl Scatter {
    /// The permutation of `0..n`, the same for every seed; n is at least 1.
    pub fn new(n: u32) -> Self {
        let a = n.isqrt();
        let a = if a * a < n { a + 1 } else { a };
        Self { n, a, b: n.div_ceil(a) }
    }

    /// Where `index`, below n, goes.
    #[inline(always)]
    pub fn map(&self, index: u32) -> u32 {
        let mut place = self.round_trip(index);
        while place >= u64::from(self.n) {
            place = self.round_trip(place as u32);
        }
        place as u32
    }

    /// One pass through the network; the result is below a*b, which may be above 2^32 only where
    /// n is above 2^32 - 2^16.
    #[inline(always)]
    fn round_trip(&self, index: u32) -> u64 {
        let (mut left, mut right) = (index / self.b, index % self.b);
        for round in 0..ROUNDS / 2 {
            left = add(left, hash(right, 2 * round, self.a), self.a);
            right = add(right, hash(left, 2 * round + 1, self.b), self.b);
        }
        u64::from(left) * u64::from(self.b) + u64::from(right)
    }
}

/// `(x + y) mod m` for x and y below m.
#[inline(always)]
fn add(x: u32, y: u32, m: u32) -> u32 {
    let sum = x + y;
    if sum >= m { sum - m } else { sum }
}

/// A number below `bound`, at most 2^16, from x; each round has its own.
#[inline(always)]
fn hash(x: u32, round: u32, bound: u32) -> u32 {
    // The finaliser of SplitMix64, cut to the two multiplications that reach the top bits.
    let x = (u64::from(x) + 1 + (u64::from(round) << 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((x >> 32) * u64::from(bound)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection() {
        // All small sizes, squares and their neighbours, powers of two and theirs, a prime.
        let large = [9_999, 10_000, 10_001, 65_535, 65_536, 65_537, 1_000_003, 1 << 20];
        for n in (1..600).chain(large) {
            let scatter = Scatter::new(n);
            let mut seen = vec![false; n as usize];
            for index in 0..n {
                let place = scatter.map(index) as usize;
                assert!(!std::mem::replace(&mut seen[place], true), "{n}: {place} twice");
            }
        }
    }

    #[test]
    fn the_largest_sizes_stay_in_range() {
        for n in [u32::MAX, u32::MAX - 1, u32::MAX - (1 << 16), (1 << 31) + 1] {
            let scatter = Scatter::new(n);
            for index in (0..n).step_by(1 << 20).chain([n - 1]) {
                assert!(scatter.map(index) < n);
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        // Of a random permutation, the distance of the images of neighbours is below n/100 with
        // probability 0.02; 99 999 pairs: mean 2000, deviation 44, here 5 of them.
        let scatter = Scatter::new(100_000);
        let near = (1..100_000)
            .filter(|&index| scatter.map(index).abs_diff(scatter.map(index - 1)) < 1000)
            .count();
        assert!((1770..2220).contains(&near), "{near}");
        // The first tenth falls into each tenth alike: chi-square of 9 degrees, 0.1% point 27.9.
        let mut tenths = [0; 10];
        (0..10_000).for_each(|index| tenths[scatter.map(index) as usize / 10_000] += 1);
        let chi: f64 = tenths.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
        assert!(chi < 27.9, "{tenths:?}");
    }
}
