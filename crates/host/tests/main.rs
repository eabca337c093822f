//! All tests of the crate as one program, with a module for each file and a shared one.

mod naive;
mod page_caches;
mod snapshots;
mod write_back;
mod write_back_streams;
