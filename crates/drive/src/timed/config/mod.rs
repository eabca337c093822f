//! The configuration of a timed drive, as people write it and as resolved.

mod details;
mod hardware;
mod placement;
mod plan;
pub(crate) mod resolve;
mod settings;
mod slc;
pub mod words;

pub(crate) use details::parse_bandwidth;
pub use details::{Details, HostLink, ReadRetry};
pub use hardware::Hardware;
pub use placement::{Order, Placement};
pub use plan::TimedPlan;
pub(crate) use resolve::Timed;
pub use settings::{Collecting, Idle, Loop, Preemption, Scheduling, Settings, Suspend, Unit};
pub use slc::{Slc, parse_slc, parse_times as parse_slc_times};
