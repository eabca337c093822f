//! The errors of a server.

use std::path::{Path, PathBuf};

use flashgc_base::spec::SpecError;
use flashgc_device::DeviceError;
use flashgc_device::failure::Failure;
use flashgc_drive::error::DriveError;
use flashgc_experiment::input::Places;

/// The errors of a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An invalid value.
    #[error("{0}")]
    Config(String),
    /// The drive or a front end cannot do what was asked.
    #[error("{0}")]
    Drive(String),
    /// A recording cannot be read or written.
    #[error("{0}")]
    Trace(String),
    /// A wrong call: beyond the end of the drive, or after it was closed.
    #[error("{0}")]
    Misuse(String),
    /// An error of the file at this path, or of the drive in it.
    #[error("{}: {error}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The fault.
        error: DeviceError,
    },
    /// A configuration that the engine refuses, with the places of its options (such as
    /// command-line options).
    #[error("{0}")]
    Engine(DriveError, Places),
}

impl ServerError {
    /// Returns a function that turns errors into those of the file at `path`.
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
