//! Mean fields: the limit of a drive for infinitely many blocks, as a distribution of valid pages.
//!
//! Read [`selection`] first, then [`uniform`], whose drift is that of [`transient`]; [`windowed`]
//! stands by itself. [`hot_cold`] has blocks with two kinds of pages, and one frontier or two.
//!
//! A policy that looks at valid pages alone is one function H(q): the chance that it takes one of
//! the share q of blocks with the fewest. With it, blocks go down level by level. `uniform.rs` and
//! `hot_cold/levels.rs` find each level from the one above by a bracketed root. Only the way to the
//! steady state is integrated. Every answer carries the rest of the drift, and is refused above
//! 1e-10. A model is a file with its documentation as `//!` header and an entry in `registry.rs`,
//! which feeds the command, its help, Python and the reference. `docs/models.md` has the
//! mathematics.

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

/// The chances of 0..n under binomial(n, p).
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
