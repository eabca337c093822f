//! The wear of the blocks of one drive: their erases, and how even these are.

use std::collections::BTreeMap;

use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

/// Statistics of the erase counts of one drive's blocks since the drive was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Value, Described)]
pub struct Erases {
    /// The mean over the blocks.
    pub mean: f64,
    /// The standard deviation over the blocks, as a whole population.
    pub deviation: f64,
    /// The standard deviation divided by the mean; `None` before the first erase.
    pub cv: Option<f64>,
    /// The Gini coefficient: 0 if all blocks are equal, near 1 if one block has all erases; `None`
    /// before the first erase.
    pub gini: Option<f64>,
    /// The erases of the least worn block.
    pub min: u32,
    /// The erases of the most worn block.
    pub max: u32,
}

impl Erases {
    /// Computes the statistics of these erase counts, one a block.
    pub fn of(counts: &[u32]) -> Self {
        let n = counts.len() as f64;
        // Blocks with the same number of erases are one group. The sums over blocks are exact in
        // integers.
        let blocks = tally(counts);
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mean = sum as f64 / n;
        let squares: f64 = blocks
            .iter()
            .map(|&(count, blocks)| blocks as f64 * (f64::from(count) - mean).powi(2))
            .sum();
        let deviation = (squares / n).sqrt();
        // The sum over i of (2 i - n - 1) x_i, for x in ascending order and i from 1. If `size`
        // equal values come after `before` smaller ones, twice their mean place is 2 before + size
        // + 1.
        let mut before = 0;
        let mut ranked = 0.0;
        for &(count, size) in &blocks {
            let twice_place = (2 * before + size + 1) as f64;
            ranked += f64::from(count) * size as f64 * (twice_place - n - 1.0);
            before += size;
        }
        let worn = sum > 0;
        Self {
            mean,
            deviation,
            cv: worn.then(|| deviation / mean),
            gini: worn.then(|| ranked / (n * sum as f64)),
            min: blocks.first().map_or(0, |&(count, _)| count),
            max: blocks.last().map_or(0, |&(count, _)| count),
        }
    }
}

/// Returns pairs, in order of erases: a number of erases, and the number of blocks with it.
pub(crate) fn tally(counts: &[u32]) -> Vec<(u32, u64)> {
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
    for &count in counts {
        *blocks.entry(count).or_default() += 1;
    }
    blocks.into_iter().collect()
}

/// The wear of the blocks of a run at one moment.
#[derive(Value)]
pub(crate) struct Worn {
    /// The pages that the host had written.
    pub(crate) host_pages: u64,
    pub(crate) erases: Erases,
    /// The numbers of erases at the deciles of the blocks, minimum and maximum included: 11
    /// numbers.
    pub(crate) deciles: Vec<u32>,
}

impl Worn {
    /// Returns the wear of these erase counts, one a block, after `host_pages` host pages.
    pub(crate) fn of(host_pages: u64, counts: &[u32]) -> Self {
        Self { host_pages, erases: Erases::of(counts), deciles: deciles(counts) }
    }
}

/// Returns the erases of the least worn block, at the 1st to 9th decile, and of the most worn
/// block.
fn deciles(counts: &[u32]) -> Vec<u32> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    (0..=10).map(|tenth| sorted[(sorted.len() * tenth).div_ceil(10).max(1) - 1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_wear_are_those_worked_out_by_hand() {
        // 1, 3, 5, 7: mean 4, variance (9 + 1 + 1 + 9) / 4 = 5. Gini: the sum of |x - y| over all
        // 16 ordered pairs is 2 (3 * 2 + 2 * 4 + 1 * 6) = 40; over 2 n^2 mean = 128: 0.3125.
        let erases = Erases::of(&[7, 1, 5, 3]);
        assert_eq!((erases.mean, erases.deviation), (4.0, 5f64.sqrt()));
        assert_eq!((erases.min, erases.max), (1, 7));
        assert_eq!(erases.cv, Some(5f64.sqrt() / 4.0));
        assert_eq!(erases.gini, Some(0.3125));
        // If one of n blocks has all erases, the coefficient is (n - 1) / n.
        assert_eq!(Erases::of(&[0, 0, 0, 8]).gini, Some(0.75));
        assert_eq!(Erases::of(&[5, 5, 5]).gini, Some(0.0));
        let new = Erases::of(&[0, 0]);
        assert_eq!((new.mean, new.cv, new.gini), (0.0, None, None));
    }

    #[test]
    fn deciles_are_what_tenths_of_the_blocks_do_not_exceed() {
        // 20 blocks have 1 to 20 erases, in any order: each tenth has 2 blocks.
        let counts: Vec<u32> = (0..20).map(|block| (block * 7) % 20 + 1).collect();
        assert_eq!(deciles(&counts), [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
        assert_eq!(deciles(&[3, 1]), [1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3]);
    }
}
