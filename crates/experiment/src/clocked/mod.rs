//! Runs of drives with a clock: the checked configuration, the drive, its run and its result.

mod live;
mod make;
mod parts;
mod plan;
pub(crate) mod resolve;
mod run;
mod simulated;
mod summary;

pub use live::live;
pub(crate) use resolve::Timed;
pub(crate) use run::{ClockedRun, Pace};
pub(crate) use summary::summarise;
