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
//!
//! # Rooms
//! Each room is a folder, or a file, with one type as its entrance. No room calls one above it.
//!
//! | room | owns | must not know |
//! |---|---|---|
//! | `live.rs`: `Live` | a timed drive whose requests are pushed, by ticket | the clock of the wall |
//! | `drive.rs`: `TimedDrive` | the rooms and the loop: next event, one `match`, finished work back to the front end | any decision |
//! | `front`: `FrontEnd` | requests, from arrival to completion | dies, collections |
//! | `mapping`: `Mapping` | of a map on flash: the entries in memory, the operations that wait for one, the translation pages on their way | requests, dies |
//! | `schedule`: `Scheduler` | the queue of each die, the choice of its next operation, and suspension | requests |
//! | `collector`: `Collector` | units of planes, the collection of each die, its next step, what it lets through | time, jobs of the flash except their names |
//! | `flash`: `Flash` | cells, buses and their turns, the length of each job, interrupted jobs | which job is next, the map |
//! | `ops`: `Ops`, `Waiting` | page operations, and the queues in which they wait at a die | rules |
//! | `clock.rs`: `Clock` | the time and one event type | what follows from an event |
//! | `shared.rs`: `Shared` | clock, map, page operations and observer, lent from room to room | the rooms |
//! | `channels`: `Channels` | the same drive with each channel simulated alone | what a channel does |
//! | `config` | the settings (`settings.rs`), and how people write them (`words.rs`, `notation.rs`) | the drive |
//! | `measure` | the `Observer`, the `Meter`, the slowest requests and what held them (`worst.rs`), totals, results | how they come about |
//!
//! # The way of a page read
//! `FrontEnd` cuts it off its request and gives it to `Scheduler::accept`, where it waits. When its die is
//! free, `Scheduler::begin_next` asks the collector what it lets through, takes the next operation and gives
//! the job to the flash. An event ends the job. `Scheduler::finish` returns the finished operations, and the
//! loop gives them to `FrontEnd::done`. The operation carries notes for the front end: that it met a
//! collection, that a write of the cache has begun.
//!
//! The scheduler has both the flash and the collector. A choice depends on the state of the die and on what
//! the collection lets through; flash and collector need not know who chooses. So the collector starts no
//! job: `go_on` says which is next. `prepare.rs` fills the drive before the clock starts.
//!
//! # Order
//! Of events at one time those of buses come first, then those of dies, by number. A bus grants turns when
//! they are asked for. A page's transfer and its program are one event where nothing can come between them.
//! The queue of a die is a linked list (`ops`), with an index where it is long and searched: an overloaded
//! drive costs no more per event.
//!
//! # Cost of measurement
//! The drive is compiled for its observer; without an observer measurement costs nothing. The `Meter` notes
//! the requests that are done 128 at a time, in bins of which a histogram is made when a percentile is asked
//! for.

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
