//! The errors of a stored drive.

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
    /// A hint names a moment in the future.
    #[error(
        "moment {moment} is later than the drive's present moment, {now}; hint: after a crash a \
         drive may report an earlier moment than before, so ask it again"
    )]
    Moment {
        /// The moment that the hint names.
        moment: u64,
        /// The present moment: the number of pages that the host has written.
        now: u64,
    },
    /// A host asks for another reclaim unit while its requests are recorded.
    #[error(
        "a recording has no word for another reclaim unit, and the counting drive would go on in the \
         old one; hint: end the recording"
    )]
    Recorded,
    /// Collections free no more blocks.
    #[error("{0}")]
    NoSpace(String),
    /// The medium below failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
