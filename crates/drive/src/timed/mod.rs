//! The timed drive: the translation layer's steps on channels, dies and planes that take time, and
//! what each request waits for.
//!
//! [`TimedDrive`] is the entrance: settings, a [`Stepwise`](flashgc_ftl::Stepwise) map and a stream
//! of requests in, completed requests to an [`Observer`] and [`Totals`] out. Time is whole
//! nanoseconds since the start; what happens at the same time happens in a fixed order.

mod bus;
mod cache;
mod collect;
mod config;
mod die;
mod engine;
mod events;
mod hardware;
mod host;
mod meter;
mod observe;
mod ops;
mod placement;
mod prepare;
mod report;
mod requests;
pub(crate) mod resolve;
pub mod result;
mod run;
mod schedule;
mod settings;
mod spread;
mod states;
mod summary;
mod suspend;
mod totals;
pub mod words;
mod work;
mod write_back;

pub use config::TimedPlan;
pub use engine::{Stop, TimedDrive, Until};
pub use hardware::Hardware;
pub use meter::Meter;
pub use observe::{Cause, Completion, Observer, Place, Silent, Source, Span, Work};
pub use placement::{Order, Placement};
pub(crate) use resolve::Timed;
pub use result::TimedResult;
pub(crate) use run::run;
pub use settings::{Collecting, Idle, Loop, Preemption, Scheduling, Settings, Suspend, Unit};
pub(crate) use summary::summarise;
pub use totals::{CollectionCounts, Totals};
