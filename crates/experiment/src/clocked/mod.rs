//! Drives with a clock, as runs use them.
//!
//! `make.rs` makes the drive from the settings that `clock/plan.rs` and `clock/resolve.rs` read
//! from the options. `simulated.rs` is that drive, simulated as a whole or by channel. `drive.rs`
//! runs the drive as a part of one run. The channels are simulated separately if the run may use
//! several threads or has a checkpoint, and if `make.rs` finds that the channels are independent
//! and nearly all requests have one page.

mod drive;
mod live;
mod make;
mod parts;
mod simulated;

pub(crate) use drive::Clocked;
pub use live::live;
