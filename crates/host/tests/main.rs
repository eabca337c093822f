//! All tests of the crate as one program, with a module for each file. `naive` has code that tests
//! share.

mod naive;
mod page_caches;
mod snapshots;
mod write_back;
mod write_back_streams;
