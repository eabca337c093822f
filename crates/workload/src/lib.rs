//! Workloads: the commands that a host sends to a drive. The crate has generators, readers and
//! writers of traces, and statistics of traces. It knows nothing of drives.

mod batch;
mod flushing;
pub mod generate;
pub mod requests;
mod streams;
pub mod trace;
pub mod units;

pub use batch::{Batch, Hint, Op, Workload, WorkloadError};
pub use flushing::{Flushing, FlushingRequests};
pub use streams::{Ranged, RangedRequests, StreamRanges};
