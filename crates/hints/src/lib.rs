//! Finds pages that will soon be overwritten, by following running software: the blocks that
//! PostgreSQL's log names, the dirty pages of Linux's page cache, and the places of files on a
//! device. It also follows the bytes that programs write to a file system, and the blocks that it
//! allocates.
//!
//! # Not here
//! There is no drive and no connection in this crate: the program that uses it sends the hints to
//! the drive.

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
