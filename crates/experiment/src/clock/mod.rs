//! The clock of a drive as a configuration asks for it: its settings, read, checked and worked out.

mod plan;
pub(crate) mod resolve;

pub(crate) use resolve::Timed;
