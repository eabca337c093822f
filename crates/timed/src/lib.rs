//! The timed drive: a drive with a clock, in which operations take time on channels, dies and
//! planes, and requests wait for each other.
//!
//! [`TimedDrive`] is the entrance. It takes settings, a [`Stepwise`](flashgc_ftl::Stepwise) map and
//! a stream of requests. It reports completed requests to an [`Observer`] and returns [`Totals`].
//! Time is counted in whole nanoseconds since the start. Events of the same time come in a fixed
//! order.
//!
//! A request goes through the rooms of the drive in one direction. The front end cuts it into page
//! operations. If the map is on flash, operations wait for their map entries. In the scheduler
//! operations wait at their dies, and it chooses the next one. The flash executes jobs, which take
//! time. The collector decides which operations may go before a collection. Finished operations are
//! returned to the front end.
//!
//! # Rooms
//! Each room is a folder or a file, with one type as its entrance. No room calls a room above it in
//! this table. A translation page is a page of a map on flash.
//!
//! | room | owns | must not know |
//! |---|---|---|
//! | `live.rs`: `Live` | a timed drive whose requests are pushed while it runs | real time |
//! | `drive.rs`: `TimedDrive` | the rooms, and the loop over events | any decision |
//! | `front`: `FrontEnd` | requests, from arrival to completion | dies, collections |
//! | `mapping`: `Mapping` | cached map entries, operations on translation pages | requests, dies |
//! | `schedule`: `Scheduler` | the queue of each die, its next operation, suspension | requests |
//! | `collector`: `Collector` | the collection of each die, its next step | times |
//! | `flash`: `Flash` | cells, buses, power, the length of each job | the next job, the map |
//! | `ops`: `Ops`, `DieQueues` | page operations, and the queues of the dies | rules |
//! | `clock.rs`: `Clock` | the time, and the times of events | consequences of events |
//! | `shared.rs`: `Shared` | clock, map, page operations and observer, for all rooms | the rooms |
//! | `channels`: `Channels` | the drive, with each channel simulated separately | jobs |
//! | `config` | the settings (`settings.rs`), their notation (`words.rs`) | the drive |
//! | `measure` | the `Meter`, the slowest requests (`worst.rs`), totals, results | the rooms |
//!
//! # The way of a page read
//! `FrontEnd` makes a page operation of the read and gives it to `Scheduler::accept`, where it
//! waits. When its die is free, `Scheduler::begin_next` asks the collector which operations may go,
//! takes the next one and gives the job to the flash. An event ends the job. `Scheduler::finish`
//! returns the finished operations, and the loop gives them to `FrontEnd::done`. Fields of the
//! operation tell the front end more: for example that it met a collection.
//!
//! The scheduler owns the flash and the collector, as its choice depends on the state of a die and
//! on the operations that a collection lets through. Flash and collector do not know the scheduler.
//! The collector starts no job; its method `go_on` returns the next step. `prepare.rs` fills the
//! drive before the clock starts.
//!
//! # Order
//! Of events at the same time, those of buses come first, then those of dies, by number. A bus
//! serves transfers in the order in which they were booked. A page's transfer and its program have
//! one event if no job can begin between them. The queue of a die is a linked list (`ops`). A long
//! queue gets an index when it is searched, so that an overloaded drive costs no more per event.
//!
//! # Cost of measurement
//! The drive is compiled for its observer; without an observer measurement costs nothing. The
//! `Meter` notes finished requests 128 at a time, in bins. It makes a histogram of the bins when a
//! percentile is needed.

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
    Collecting, Counted, Details, Hardware, HostLink, Idle, Loop, Order, Placement, Preemption,
    ReadFailures, ReadRetry, Scheduling, Settings, Slc, SlcPlan, Superblock, Suspend, Unit,
    notation, parse_bandwidth, parse_slc, parse_slc_times, words,
};
pub use drive::{Stop, TimedDrive, Until};
pub use front::{Lines, Shape};
pub use live::{Done, Live};
pub use measure::{
    ByTenant, CollectionCounts, CollectionResult, FailureCounts, HeldResult, Joined,
    MOST_COLLECTIONS, MOST_OPERATIONS, Meter, OperationResult, Overload, PowerCounts, PowerLimit,
    Refused, SlcCounts, Suspension, TenantResult, Throughput, TimedResult, Totals, TraceFile,
    Utilisation, Worst, WorstResult, WorstSoFar, slowest,
};
pub use observer::{
    Cause, Completion, Follows, Held, Observer, Place, Silent, Source, Span, Stint, Work,
};
