//! The concentration of a trace's accesses on few pages. Only arithmetic, no I/O.

/// The shares of all accesses that are reported, in percent.
pub(crate) const SHARES: [u64; 4] = [20, 40, 60, 80];

/// Returns the smallest part of the accessed pages, in percent, that receives 20, 40, 60 and 80% of
/// the accesses. `counts` has the number of accesses of each page (Van Houdt 2013, Table 3).
pub(crate) fn locality(mut counts: Vec<u32>) -> [f64; 4] {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let mut result = [0.0; 4];
    let (mut pages, mut accesses) = (0usize, 0u64);
    for (share, percent) in SHARES.iter().zip(&mut result) {
        while u128::from(accesses) * 100 < u128::from(total) * u128::from(*share) {
            accesses += u64::from(counts[pages]);
            pages += 1;
        }
        *percent = 100.0 * pages as f64 / counts.len().max(1) as f64;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::locality;

    #[test]
    fn the_hottest_pages_are_taken_first() {
        // There are 100 accesses, to pages with 50, 25, 10, 10 and 5. 20% and 40% need one page of
        // five, 60% two pages, and 80% three (75 + 10).
        assert_eq!(locality(vec![10, 50, 5, 25, 10]), [20.0, 20.0, 40.0, 60.0]);
        assert_eq!(locality(vec![1; 10]), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(locality(Vec::new()), [0.0; 4]);
    }
}
