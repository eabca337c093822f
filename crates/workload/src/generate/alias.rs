//! Draws from a table of weights in constant time (Walker 1977, set up as by Vose 1991). This
//! module knows nothing of pages.

use std::hint::select_unpredictable;

/// A table of outcomes `0..weights.len()`, drawn by their weights.
///
/// The table is computed in whole numbers, without rounding, except for the last step. That step
/// keeps 32 bits of each threshold, so the probability of any set of outcomes is off by at most
/// 2^-33.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    /// The columns. Their number is a power of two, at least 2, so that some bits of a random word
    /// choose a column without bias.
    columns: Vec<Column>,
    /// 64 minus the number of bits that choose a column.
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// The threshold: if 32 random bits are below it, the outcome is the number of the column,
    /// otherwise `other`.
    own_below: u32,
    other: u32,
}

impl Alias {
    /// Makes a table in which outcome `i` has the probability `weights[i] / sum`. There must be at
    /// most 2^32 weights, and their sum must be at least 1 and below 2^63.
    pub fn new(weights: &[u64]) -> Self {
        let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        assert!(sum > 0 && sum < 1 << 63, "weights sum to {sum}");
        let len = weights.len().next_power_of_two().max(2);
        // Weights are scaled so that the average column has the weight `sum`.
        let mut left: Vec<u128> = weights.iter().map(|&w| u128::from(w) * len as u128).collect();
        left.resize(len, 0);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..len).partition(|&column| left[column] < sum);
        let mut columns: Vec<Column> =
            (0..len).map(|own| Column { own_below: 0, other: own as u32 }).collect();
        while let Some(column) = small.pop() {
            // The remaining columns have the mean weight `sum`, so if one column is lighter,
            // another is heavier.
            let donor = *large.last().expect("a column above the average");
            let own_below = ((left[column] << 32) + sum / 2) / sum;
            columns[column] = Column {
                own_below: u32::try_from(own_below).unwrap_or(u32::MAX),
                other: donor as u32,
            };
            left[donor] -= sum - left[column];
            if left[donor] < sum {
                large.pop();
                small.push(donor);
            }
        }
        Self { columns, shift: 64 - len.trailing_zeros() }
    }

    /// Makes a table like [`Alias::new`] from real weights. All must be finite, and at least one
    /// above 0. The share of each weight is first rounded to a multiple of 2^-62.
    pub fn from_reals(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let whole: Vec<u64> = weights
            .iter()
            .map(|weight| (weight / sum * (1u64 << 62) as f64).round() as u64)
            .collect();
        Self::new(&whole)
    }

    /// Returns the outcome that `word`, a uniform random word, chooses.
    #[inline(always)]
    pub fn pick(&self, word: u64) -> u32 {
        let own = (word >> self.shift) as usize;
        let column = self.columns[own];
        // No branch is used, because a processor could not predict it.
        select_unpredictable((word as u32) < column.own_below, own as u32, column.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the exact probabilities of the table's outcomes.
    fn shares(alias: &Alias, outcomes: usize) -> Vec<f64> {
        let mut shares = vec![0.0; alias.columns.len()];
        for (own, column) in alias.columns.iter().enumerate() {
            let keep = f64::from(column.own_below) / (1u64 << 32) as f64;
            shares[own] += keep / alias.columns.len() as f64;
            shares[column.other as usize] += (1.0 - keep) / alias.columns.len() as f64;
        }
        assert!(shares[outcomes..].iter().all(|&share| share == 0.0), "a column of padding");
        shares.truncate(outcomes);
        shares
    }

    proptest! {
        #[test]
        fn shares_are_the_weights(
            mut weights in prop::collection::vec(prop_oneof![Just(0), 0..1000u64, 0..1u64 << 50], 1..200),
        ) {
            weights[0] += 1;
            let sum: u64 = weights.iter().sum();
            for (share, &weight) in shares(&Alias::new(&weights), weights.len()).iter().zip(&weights) {
                let exact = weight as f64 / sum as f64;
                // The error is 2^-33 from the thresholds, plus the rounding of this sum.
                prop_assert!((share - exact).abs() <= 0.5f64.powi(33) + 1e-14, "{share} {exact}");
                prop_assert!(weight > 0 || *share == 0.0, "an outcome without weight");
            }
        }
    }

    #[test]
    fn real_weights_of_any_size_are_shares_too() {
        let alias = Alias::from_reals(&[1e-300, 3e-300, 0.0]);
        assert_eq!(shares(&alias, 3), [0.25, 0.75, 0.0]);
        assert_eq!(shares(&Alias::from_reals(&[7.0]), 1), [1.0]);
    }
}
