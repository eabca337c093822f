//! Drives: they execute the translation layer's transitions on a workload and count the cost.
//!
//! [`simulate`](simulate::simulate) is the entrance: configurations in, results out. Start reading
//! there. This crate parses no traces and decides nothing that a policy should decide.

mod ahead;
pub mod asked;
pub mod bytes;
pub mod checkpoint;
pub mod clocked;
pub mod compare;

pub mod config;
pub mod counting;
pub mod error;
pub mod extent;
mod finished;
pub mod hosted;
mod measured;
mod memory;
pub mod metrics;
pub mod options;
pub mod page_times;
pub mod passes;
pub mod replayed;
mod resolve;
pub mod result;
mod run;
mod shape;
pub mod simulate;
pub mod source;
pub mod stats;
pub mod stream_results;
mod streams;
pub mod swap;
pub mod swapping;
pub mod tenants;
pub mod timed;
pub mod times;
pub mod wear;
pub mod worn;

/// The version that every result carries.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
