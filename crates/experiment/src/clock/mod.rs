//! The clock of a drive in a configuration: its settings are read, checked and resolved.

mod plan;
pub(crate) mod resolve;

pub(crate) use resolve::Timed;
