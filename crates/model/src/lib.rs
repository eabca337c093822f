//! Analytic models of write amplification: what a drive with infinitely many blocks does, worked
//! out rather than simulated.
//!
//! Pure arithmetic that depends on nothing else of the project, so that it is an independent oracle
//! for the simulator. Closed forms are in [`closed`], mean fields in [`meanfield`]; [`registry`]
//! has them by name, [`query`] their parameters, [`inverse`] solves them for a parameter.
//!
//! Notation, the same everywhere: b pages a block; S_f the spare factor, rho = 1 - S_f the share of
//! valid pages, alpha = 1 / rho; f the share of the logical pages that is hot, r the share of the
//! writes that goes there. Write amplification is (host writes + copies) / host writes
//! = b / (b - E[valid pages of the victim]).

pub mod closed;
pub mod inverse;
pub mod meanfield;
pub mod query;
pub mod registry;

mod drive;
mod fixed_point;
mod root;

pub use drive::{Drive, HotCold, LARGEST_BLOCK, ModelError};
