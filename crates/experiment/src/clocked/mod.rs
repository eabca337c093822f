//! Drives with a clock, as runs have them.
//!
//! `make.rs` makes the drive from what `clock/plan.rs` and `clock/resolve.rs` read of the options.
//! `simulated.rs` is that drive as a whole or by channel, and `drive.rs` is its part of one run. Channels are
//! simulated one by one in runs with threads to spare, or with a checkpoint, whose requests are nearly all of
//! one page.

mod drive;
mod live;
mod make;
mod parts;
mod simulated;

pub(crate) use drive::Clocked;
pub use live::live;
