//! The timed drive: the translation layer's steps take time on channels, dies and planes, and
//! requests wait for them.
//!
//! [`TimedDrive`] is the entrance: settings, a [`Stepwise`](flashgc_ftl::Stepwise) map and a stream
//! of requests in, completed requests to an [`Observer`] and [`Totals`] out. Time is whole
//! nanoseconds since the start. Events at the same time come in a fixed order.
//!
//! A request goes one way through the rooms of the drive. The front end cuts it into page
//! operations. A map on flash lets them wait for their entries. The scheduler lets them wait at
//! their dies and chooses the next. The flash takes its time over them. The collector chooses the
//! operations that its collections let through. Finished operations come back as a value.

mod channels;
mod clock;
mod collector;
mod config;
mod drive;
mod flash;
mod front;
mod live;
mod mapping;
mod measure;
pub mod metrics;
mod observer;
mod ops;
pub mod page_times;
mod prepare;
mod schedule;
mod shared;
pub mod tenants;
#[cfg(test)]
mod testing;

pub use channels::{Channels, are_apart};
pub use config::{
    Collecting, Details, Hardware, HostLink, Idle, Loop, Order, Placement, Preemption, ReadRetry,
    Scheduling, Settings, Slc, SlcPlan, Suspend, Unit, notation, parse_bandwidth, parse_slc,
    parse_slc_times, words,
};
pub use drive::{Stop, TimedDrive, Until};
pub use front::{Lines, Shape};
pub use live::{Done, Live};
pub use measure::{
    ByTenant, CollectionCounts, CollectionResult, HeldResult, MOST_COLLECTIONS, MOST_OPERATIONS,
    Meter, OperationResult, Overload, Refused, SlcCounts, Suspension, TenantResult, Throughput,
    TimedResult, Totals, TraceFile, Utilisation, Worst, WorstResult, WorstSoFar, slowest,
};
pub use observer::{
    Cause, Completion, Follows, Held, Observer, Place, Silent, Source, Span, Stint, Work,
};
