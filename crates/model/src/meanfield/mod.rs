//! Mean fields: the limit of a drive for infinitely many blocks, as a distribution of valid pages.
//!
//! Read [`selection`] first, then [`uniform`], whose drift is that of [`transient`]; [`windowed`]
//! stands by itself. [`hot_cold`] has blocks with two kinds of pages, and one frontier or two.

mod drift;
pub mod hot_cold;
pub mod selection;
pub mod transient;
pub mod uniform;
pub mod windowed;

pub use hot_cold::{Frontier, HotColdPoint};
pub use selection::{Selection, Ties};
pub use transient::{Initial, Moment};
pub use uniform::FixedPoint;

/// binomial(n, p).
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut chances = vec![0.0; n + 1];
    chances[0] = 1.0;
    for size in 1..=n {
        for k in (0..=size).rev() {
            let from_below = if k > 0 { chances[k - 1] * p } else { 0.0 };
            chances[k] = chances[k] * (1.0 - p) + from_below;
        }
    }
    chances
}
