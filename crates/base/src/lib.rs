//! The parts that all crates share: the specs that people type ([`spec`]), options in messages
//! ([`naming`]), numbers with units ([`numbers`]), random streams ([`rng`]), structs of counters
//! ([`counts`]), state as bytes ([`snapshot`]), the questions of a collection to the host's memory
//! ([`residency`]), streams of writes ([`stream`]), large tables in memory ([`table`]), locks
//! ([`sync`]), processor time ([`cpu`]) and deliberate faults ([`mutants`]).
//!
//! This crate depends on no other crate of ours but its derives, so generators and trace readers
//! need no translation layer.

// Derived code uses the name `flashgc_base`, also for types of this crate.
extern crate self as flashgc_base;

/// Returns an error from the calling function if the condition holds. The error is the text as a
/// `String`, or is converted from it.
#[macro_export]
macro_rules! fail_if {
    ($condition:expr, $($message:tt)+) => {
        if $condition {
            return Err(format!($($message)+).into());
        }
    };
}

pub mod counts;
pub mod cpu;
pub mod described;
pub mod mutants;
pub mod naming;
pub mod numbers;
pub mod residency;
pub mod rng;
pub mod snapshot;
pub mod spec;
pub mod stream;
pub mod sync;
pub mod table;

pub use residency::{Cached, Region, Residency};
