//! A drive as front ends see it, and the errors of its commands.

use std::time::Instant;

use crate::engine::Drive;
use crate::usage::Usage;

/// A drive as front ends see it. Pages are 4096 bytes.
pub trait Served: Send {
    /// Returns the number of pages of the logical space.
    fn pages(&self) -> u64;

    /// Reads whole pages from `page` on; pages without data are zeros.
    ///
    /// # Errors
    /// Pages beyond the drive, damaged data, an error of the medium.
    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Writes whole pages from `page` on; with `fua` they are durable when this returns.
    ///
    /// # Errors
    /// Pages beyond the drive, a drive that is read-only or becomes so.
    fn write(&mut self, page: u64, data: &[u8], fua: bool) -> Result<(), DeviceError>;

    /// Discards `count` pages: they read as zeros.
    ///
    /// # Errors
    /// Those of [`Served::write`].
    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;

    /// Makes every command completed before durable.
    ///
    /// # Errors
    /// A drive that is read-only with data that are not durable, or becomes so.
    fn flush(&mut self) -> Result<(), DeviceError>;

    /// Returns the present moment: the number of pages that the host has written since the drive was made.
    fn moment(&self) -> u64;

    /// Notes that the host will write these pages soon, as it knew at `moment`; `None` is now. Returns the
    /// number of pages that it has written since, on which nothing is hinted. Pages without data are passed
    /// over.
    ///
    /// # Errors
    /// Pages beyond the drive, a moment that has not come, an error of the medium.
    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<u64, DeviceError>;

    /// Takes hints on these pages back, whatever their moment.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;

    /// Returns how many of `count` pages from `page` on follow one another that all have data, or all have
    /// none, and `true` if they have some.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError>;

    /// Sets the arrival time of the commands that follow, until this is called again; `None` is now. A
    /// command may have waited before it is executed.
    fn arrived(&mut self, at: Option<Instant>) {
        let _ = at;
    }

    /// Adds the hosts' use since the last call to the drive's own counts.
    fn account(&mut self, usage: &Usage) {
        let _ = usage;
    }

    /// Returns the stored drive that it is, or `None` if it is another kind.
    fn as_drive(&mut self) -> Option<&mut Drive> {
        None
    }
}

/// The errors of a drive's commands.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The drive takes no writes any more; its data can be read.
    #[error("the drive is read-only: {0}")]
    ReadOnly(String),
    /// Data are damaged, or the medium failed.
    #[error("media error: {0}")]
    Media(String),
    /// A command addresses pages that the drive does not have, or parts of pages.
    #[error("pages {page} to {} are not all on the drive, which has {pages} pages", page.saturating_add(*count))]
    OutOfRange {
        /// The first page addressed.
        page: u64,
        /// The number of pages addressed.
        count: u64,
        /// The number of pages of the drive.
        pages: u64,
    },
    /// A hint is from a moment that has not come.
    #[error(
        "moment {moment} is later than the drive's present moment, {now}; hint: after a crash a \
         drive may report an earlier moment than before, so ask it again"
    )]
    Moment {
        /// The moment named.
        moment: u64,
        /// The number of pages that the host has written.
        now: u64,
    },
    /// Collecting garbage frees nothing.
    #[error("{0}")]
    NoSpace(String),
    /// The medium below failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
