//! The settings of a timed drive, and the notation of their values.

mod details;
mod hardware;
pub mod notation;
mod placement;
mod rows;
mod settings;
mod slc;
pub mod words;

pub use details::{Details, HostLink, ReadFailures, ReadRetry, parse_bandwidth};
pub use hardware::Hardware;
pub use placement::{Order, Placement};
pub use rows::{Places, Rows};
pub use settings::{
    Collecting, Counted, Idle, Loop, Preemption, Scheduling, Settings, Superblock, Suspend, Unit,
};
pub use slc::{Slc, SlcPlan, parse_slc, parse_times as parse_slc_times};
