//! Runs of drives with a clock: the drive, its run and its result.

mod live;
mod make;
mod parts;
mod run;
mod simulated;
mod summary;

pub use live::live;
pub(crate) use run::ClockedRun;
pub(crate) use summary::summarise;
