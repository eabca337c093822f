//! Experiments: the options of a configuration, its runs, and their result.
//!
//! [`simulate`](simulate::simulate) is the entrance: configurations in, results out. Start reading
//! there.

mod ahead;
pub mod bytes;
pub mod checkpoint;
mod clock;
pub mod clocked;
pub mod compare;
pub mod config;
pub mod conformance;
mod control;
pub mod counted;
pub mod drive_use;
mod driver;
pub mod each_run;
pub mod findings;
mod finished;
pub mod hosted;
pub mod input;
pub mod listing;
mod mapping_units;
mod measured;
mod memory;
pub mod options;
pub mod replayed;
mod resolve;
pub mod result;
mod run;
pub mod scale;
mod shape;
pub mod simulate;
pub mod steadiness;
pub mod stream_results;
mod streams;
mod strict;
mod summary;
pub mod swap_results;
pub mod tenants;
pub mod times;
pub mod wear;
pub mod worn;

/// The version that every result carries.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
