//! Closed forms, and equations with one unknown: one model a file, whose header is its
//! documentation everywhere. Start with [`fifo`].

mod age;
pub mod classes;
pub mod desnoyers;
pub mod fifo;
pub mod greedy;
pub mod levels;
pub mod random;
pub mod separation;
pub mod superblock;

pub use classes::{Class, Classes};
pub use fifo::Closed;
