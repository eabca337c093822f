//! The counting drive, alone and under a page cache, and what all drives share: workloads to run
//! on, lengths of runs, statistics, faults.
//!
//! This crate parses no traces and decides nothing that a policy should decide.

pub mod counting;
pub mod error;
pub mod extent;
pub mod host_commands;
mod kept;
pub mod passes;
pub mod preparation;
pub mod settling;
pub mod source;
pub mod stats;
pub mod swap;
pub mod swapping;
pub mod touched;
