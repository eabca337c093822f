//! Helpers that the tests of the generators share: draws, counts, and the chi-square test.

use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Returns the generator of `text`, which must be valid.
pub fn spec(text: &str) -> GeneratorSpec {
    GeneratorSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Draws the first `commands` pages over `pages` logical pages.
#[allow(dead_code)]
pub fn draw(text: &str, pages: u32, seed: u64, commands: usize) -> Vec<u32> {
    draw_ops(text, pages, seed, commands).0
}

/// Draws the first `commands` pages and operations.
pub fn draw_ops(text: &str, pages: u32, seed: u64, commands: usize) -> (Vec<u32>, Vec<Op>) {
    let mut workload = spec(text).open(pages, seed).unwrap_or_else(|e| panic!("{text}: {e}"));
    let (mut batch, mut all, mut ops) = (Batch::default(), Vec::new(), Vec::new());
    while all.len() < commands {
        workload.fill(&mut batch, (commands - all.len()).min(Batch::DEFAULT_LEN)).unwrap();
        assert!(!batch.pages.is_empty(), "{text} ended");
        assert!(batch.pages.iter().all(|&page| page < pages), "{text}: a page of {pages} or more");
        all.extend_from_slice(&batch.pages);
        ops.extend_from_slice(&batch.ops);
    }
    (all, ops)
}

/// Returns the number of draws of each page.
#[allow(dead_code)]
pub fn counts(drawn: &[u32], pages: u32) -> Vec<u64> {
    let mut counts = vec![0; pages as usize];
    drawn.iter().for_each(|&page| counts[page as usize] += 1);
    counts
}

/// Fails unless `counts` are plausible for draws with the probabilities `exact`, which sum to 1:
/// Pearson's chi-square must be below its 0.1% point. Neighbouring pages are combined until each
/// cell expects 20 draws.
#[allow(dead_code)]
pub fn assert_distributed(what: &str, counts: &[u64], exact: &[f64]) {
    assert_eq!(counts.len(), exact.len(), "{what}");
    let sum: f64 = exact.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{what}: the exact probabilities sum to {sum}");
    let draws = counts.iter().sum::<u64>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut cell = (0.0, 0.0);
    for (&count, probability) in counts.iter().zip(exact) {
        assert!(count == 0 || *probability > 0.0, "{what}: an impossible page was drawn");
        cell = (cell.0 + count as f64, cell.1 + draws * probability);
        if cell.1 >= 20.0 {
            cells.push(cell);
            cell = (0.0, 0.0);
        }
    }
    match cells.last_mut() {
        Some(last) => *last = (last.0 + cell.0, last.1 + cell.1),
        None => panic!("{what}: too few draws"),
    }
    if cells.len() == 1 {
        return; // nearly all draws are of one page: nothing to compare
    }
    let chi: f64 =
        cells.iter().map(|(found, expected)| (found - expected).powi(2) / expected).sum();
    let limit = ChiSquared::new((cells.len() - 1) as f64).unwrap().inverse_cdf(0.999);
    assert!(chi < limit, "{what}: chi-square {chi:.1} over {limit:.1}, {} cells", cells.len());
}
