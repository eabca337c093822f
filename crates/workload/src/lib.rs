//! Workloads: what the host asks of the drive. Generators, trace readers and writers, and trace
//! statistics; it knows nothing of drives.

mod batch;
mod flushing;
pub mod generate;
pub mod requests;
pub mod trace;
pub mod units;

pub use batch::{Batch, Hint, Op, Workload, WorkloadError};
pub use flushing::{Flushing, FlushingRequests};
