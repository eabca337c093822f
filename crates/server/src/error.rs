//! The errors of a server.

use std::path::{Path, PathBuf};

use flashgc_base::spec::SpecError;
use flashgc_device::DeviceError;
use flashgc_device::failure::Failure;
use flashgc_drive::error::DriveError;
use flashgc_experiment::input::Places;

/// The reasons why a server does not do what its owner asks.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A value that makes no sense.
    #[error("{0}")]
    Config(String),
    /// The drive or a front end cannot do it.
    #[error("{0}")]
    Drive(String),
    /// A recording cannot be read or written.
    #[error("{0}")]
    Trace(String),
    /// A call that does not fit: beyond the end of the drive, or after it was closed.
    #[error("{0}")]
    Misuse(String),
    /// The file at this path, or the drive in it.
    #[error("{}: {error}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The fault.
        error: DeviceError,
    },
    /// A configuration that the engine refuses, with the places of its options.
    #[error("{0}")]
    Engine(DriveError, Places),
}

impl ServerError {
    /// Returns a function that makes errors of the file at `path`.
    pub fn of_file(path: &Path) -> impl Fn(DeviceError) -> Self {
        move |error| Self::File { path: path.into(), error }
    }

    pub(crate) fn closed() -> Self {
        Self::Misuse("the drive is closed".to_string())
    }
}

impl From<Failure> for ServerError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::closed(),
            Failure::OutOfRange { .. } => Self::Misuse(failure.to_string()),
            _ => Self::Drive(failure.to_string()),
        }
    }
}

impl From<SpecError> for ServerError {
    fn from(error: SpecError) -> Self {
        Self::Config(error.to_string())
    }
}
