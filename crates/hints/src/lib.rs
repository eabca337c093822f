//! Hints of imminent overwrites, taken from living software: the blocks that PostgreSQL's log names, the
//! pages that are dirty in Linux's page cache, and the places of files on a device. And what programs hand to a
//! file system to write, and where it puts that.
//!
//! # Not here
//! No drive and no connection: the program that follows a host sends the hints on.

#[cfg(target_os = "linux")]
pub mod allocations;
#[cfg(target_os = "linux")]
pub mod extents;
pub mod files;
#[cfg(target_os = "linux")]
pub mod page_cache;
pub mod pages;
#[cfg(target_os = "linux")]
pub mod postgres;
#[cfg(target_os = "linux")]
pub mod tracing;
pub mod wal;
#[cfg(target_os = "linux")]
pub mod written;
