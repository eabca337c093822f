//! Reads, checks and resolves the settings of a drive with a clock.

mod plan;
pub(crate) mod resolve;

pub(crate) use resolve::Timed;
