//! Runs of drives with a clock: the drive and its run.
//!
//! `make.rs` makes the drive from what `clock/plan.rs` and `clock/resolve.rs` read of the options.
//! `simulated.rs` is that drive as a whole or by channel, and `run.rs` is one measured run. Channels are
//! simulated one by one in runs with threads to spare, or with a checkpoint, whose requests are nearly all of
//! one page.

mod live;
mod make;
mod parts;
mod run;
mod simulated;

pub use live::live;
pub(crate) use run::ClockedRun;
