//! Mean fields: the limit of a drive for infinitely many blocks, as a distribution of valid pages.
//!
//! Read [`selection`] first, then [`uniform`]; [`transient`] uses the same drift. [`windowed`] uses
//! none of these. [`hot_cold`] has blocks with two kinds of pages, and one frontier or two.
//!
//! A policy that looks at valid pages alone is one function H(q): the chance that its victim is
//! among the share q of the blocks with the fewest valid pages. `uniform.rs` and
//! `hot_cold/levels.rs` find the shares of blocks level by level, from full blocks down: each level
//! follows from the one above by a bracketed root. Only the way to the steady state is integrated.
//! Every answer has a residual, the largest drift that is left; above 1e-10 it is refused. A model
//! is a file with its documentation as `//!` header and an entry in `registry.rs`, which feeds the
//! command, its help, Python and the reference. `docs/models.md` has the mathematics.

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
