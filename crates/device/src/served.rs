//! A drive as front ends see it.

use thiserror::Error;

/// Bytes of a page of the logical space.
pub const PAGE: usize = 4096;

/// A drive as front ends see it. Pages are 4096 bytes.
pub trait Served: Send {
    /// Pages of the logical space.
    fn pages(&self) -> u64;
    /// Reads whole pages from `page` on; pages without data are zeros.
    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError>;
    /// Writes whole pages from `page` on; with `fua` they are durable when this returns.
    fn write(&mut self, page: u64, data: &[u8], fua: bool) -> Result<(), DeviceError>;
    /// Discards `count` pages: they read as zeros.
    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;
    /// All that was completed before is durable when this returns.
    fn flush(&mut self) -> Result<(), DeviceError>;
    /// The host will write these pages soon.
    fn hint(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;
    /// The host takes a hint back.
    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;
    /// Of `count` pages from `page` on: how many follow that all have data, or all have none, and
    /// which.
    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError>;
}

/// Why a drive cannot do what it was asked.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The drive takes no more writes.
    #[error("the drive is read-only: {0}")]
    ReadOnly(String),
    /// What is stored is damaged.
    #[error("media error: {0}")]
    Media(String),
    /// The range is not one of the drive's.
    #[error("{count} pages from page {page} on are not on a drive of {pages} pages")]
    OutOfRange {
        /// First page asked for.
        page: u64,
        /// Pages asked for.
        count: u64,
        /// Pages of the drive.
        pages: u64,
    },
    /// There is no room for the data.
    #[error("no space: {0}")]
    NoSpace(String),
    /// The host's file system failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
