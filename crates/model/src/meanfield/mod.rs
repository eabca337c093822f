//! Mean fields: the limit of a drive for infinitely many blocks, as a distribution of valid pages.
//!
//! Read [`selection`] first, then [`uniform`].

mod drift;
pub mod selection;
pub mod uniform;

pub use selection::{Selection, Ties};
pub use uniform::FixedPoint;
