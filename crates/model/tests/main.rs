//! All tests of the crate as one program: a module for each file, and what they share.

mod closed;
mod closed_queries;
mod meanfield;
mod meanfield_more;
mod superblock;
