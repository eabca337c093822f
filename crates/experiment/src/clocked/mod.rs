//! Runs of drives with a clock: the drive, its run and its result.
//!
//! `make.rs` makes the drive from what `clock/plan.rs` and `clock/resolve.rs` read of the options.
//! `simulated.rs` is that drive as a whole or by channel, `run.rs` is one measured run, and `summary.rs` the
//! result. Channels are simulated one by one in runs with threads to spare, or with a checkpoint, whose
//! requests are nearly all of one page.

mod live;
mod make;
mod parts;
mod run;
mod simulated;
mod summary;

pub use live::live;
pub(crate) use run::ClockedRun;
pub(crate) use summary::summarise;
