//! NURand, the skewed draw of TPC-C (clause 2.1.6).

use flashgc_base::rng::Stream;

/// The distribution NURand(A, x, y) with its constant C.
#[derive(Clone, Copy, Debug)]
pub(super) struct NuRand {
    a: u32,
    x: u32,
    y: u32,
    c: u32,
}

impl NuRand {
    /// Makes a distribution whose constant C is drawn from `0..=a`. `a` is a power of two minus 1.
    pub(super) fn new(a: u32, x: u32, y: u32, random: &mut Stream) -> Self {
        Self { a, x, y, c: random.below(a + 1) }
    }

    /// Draws a value in `x..=y`.
    pub(super) fn draw(&self, random: &mut Stream) -> u32 {
        let (a, b) = (random.below(self.a + 1), self.x + random.below(self.y - self.x + 1));
        self.value(a, b)
    }

    fn value(&self, a: u32, b: u32) -> u32 {
        ((a | b) + self.c) % (self.y - self.x + 1) + self.x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each value, the number of pairs (a, b) that give it.
    fn pairs(draw: &NuRand) -> Vec<u64> {
        let mut counts = vec![0; (draw.y + 1) as usize];
        for b in draw.x..=draw.y {
            for a in 0..=draw.a {
                counts[draw.value(a, b) as usize] += 1;
            }
        }
        counts
    }

    #[test]
    fn a_small_one_worked_out_by_hand() {
        // For NURand(1, 1, 3) with C = 0, a | b over a in 0, 1 and b in 1, 2, 3 is 1, 1, 2, 3, 3,
        // 3. Modulo 3 and plus 1, this is 2, 2, 3, 1, 1, 1. With C = 1, each value is one higher,
        // modulo 3.
        let draw = NuRand { a: 1, x: 1, y: 3, c: 0 };
        assert_eq!(pairs(&draw)[1..], [3, 2, 1]);
        assert_eq!(pairs(&NuRand { c: 1, ..draw })[1..], [1, 3, 2]);
    }

    #[test]
    fn whole_blocks_have_the_closed_form() {
        // b takes all values of its low ten bits. 3^(number of one bits in v) pairs of low bits (a,
        // b) have a | b = v, because three pairs of bits give a one and one pair gives a zero.
        // These are customers 1024 to 2047; with C = 0 the value is one more.
        let draw = NuRand { a: 1023, x: 1, y: 3000, c: 0 };
        let counts = pairs(&draw);
        for v in 1024u32..2048 {
            assert_eq!(counts[v as usize + 1], 3u64.pow((v & 1023).count_ones()), "{v}");
        }
    }

    #[test]
    fn draws_are_distributed_as_all_pairs() {
        let mut random = Stream::new(1, "nurand");
        let draw = NuRand::new(255, 0, 999, &mut random);
        let exact = pairs(&draw);
        let mut counts = vec![0u32; 1000];
        const DRAWS: u32 = 1_000_000;
        (0..DRAWS).for_each(|_| counts[draw.draw(&mut random) as usize] += 1);
        let expected = |value: usize| exact[value] as f64 / 256e3 * f64::from(DRAWS);
        // There are 100 cells of ten values: chi-square with 99 degrees of freedom, whose 0.1%
        // point is 148.2.
        let chi: f64 = (0..100)
            .map(|cell| {
                let values = 10 * cell..10 * (cell + 1);
                let count: u32 = counts[values.clone()].iter().sum();
                let expected: f64 = values.map(expected).sum();
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 148.2, "{chi}");
    }
}
