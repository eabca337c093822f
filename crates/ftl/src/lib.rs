//! Flash translation layer: state, decisions and transitions.
//!
//! No I/O, no clock, no threads, and no randomness but the [`rng::Stream`] it is handed.

pub mod rng;
pub mod spec;
