//! All tests of the crate as one program: a module for each file, and what they share.

mod naive;
mod page_caches;
mod snapshots;
mod write_back;
