//! The failures of commands, as every front end reports them.

use crate::DeviceError;
use thiserror::Error;

/// The failure of a command. One failed flush answers several commands, so a failure can be cloned.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// The range ends behind the drive's last byte.
    #[error("{bytes} bytes from byte {at} on are not on a drive of {size} bytes")]
    OutOfRange {
        /// The first byte asked for.
        at: u64,
        /// The number of bytes asked for.
        bytes: u64,
        /// The size of the drive in bytes.
        size: u64,
    },
    /// The drive takes no more writes.
    #[error("{0}")]
    ReadOnly(String),
    /// There is no room for the data.
    #[error("{0}")]
    NoSpace(String),
    /// The drive refuses the command as invalid.
    #[error("{0}")]
    Refused(String),
    /// Data are damaged, or the host's file system failed.
    #[error("{0}")]
    Io(String),
    /// An injected fault: the host gets no answer.
    #[error("injected: the command gets no answer")]
    Unanswered,
    /// The drive is no longer served.
    #[error("the drive is no longer served")]
    Stopped,
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let text = error.to_string();
        match error {
            DeviceError::ReadOnly(_) => Self::ReadOnly(text),
            DeviceError::NoSpace(_) => Self::NoSpace(text),
            DeviceError::Moment { .. } | DeviceError::Recorded => Self::Refused(text),
            // Ranges are checked before they reach a drive, so `OutOfRange` here is a bug of
            // flashgc.
            DeviceError::OutOfRange { .. } | DeviceError::Media(_) | DeviceError::Io(_) => {
                Self::Io(text)
            }
        }
    }
}
