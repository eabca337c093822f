//! What a timed drive is told: what people write of it, and what that comes to.

mod hardware;
mod placement;
mod plan;
mod resolve;
mod settings;
pub mod words;

pub use hardware::Hardware;
pub use placement::{Order, Placement};
pub use plan::{TimedConfig, TimedPlan, TimelineConfig};
pub(crate) use resolve::Timed;
pub use settings::{Collecting, Idle, Loop, Preemption, Scheduling, Settings, Suspend, Unit};
