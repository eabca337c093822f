//! The timed drive: the translation layer's steps on channels, dies and planes that take time, and
//! what each request waits for.
//!
//! Settings, a [`Stepwise`](flashgc_ftl::Stepwise) map and a stream of requests in, completed
//! requests to an [`Observer`] and [`Totals`] out. Time is whole nanoseconds since the start; what
//! happens at the same time happens in a fixed order.

mod hardware;
mod observe;
mod placement;
mod settings;
mod totals;

pub use hardware::Hardware;
pub use observe::{Cause, Completion, Observer, Place, Silent, Source, Span, Work};
pub use placement::{Order, Placement};
pub use settings::{Collecting, Idle, Loop, Preemption, Scheduling, Settings, Suspend, Unit};
pub use totals::{CollectionCounts, Totals};
