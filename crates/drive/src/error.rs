//! The faults of a drive and of its runs.

use flashgc_ftl::FtlError;
use flashgc_workload::WorkloadError;

/// Why a drive could not go on. One pointer, like [`FtlError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct DriveError(Box<DriveErrorKind>);

impl DriveError {
    /// The kind of the fault.
    pub fn kind(&self) -> &DriveErrorKind {
        &self.0
    }

    /// A fault of a checkpoint.
    pub fn checkpoint(why: impl Into<String>) -> Self {
        DriveErrorKind::Checkpoint(why.into()).into()
    }
}

impl<K: Into<DriveErrorKind>> From<K> for DriveError {
    #[cold]
    fn from(kind: K) -> Self {
        Self(Box::new(kind.into()))
    }
}

/// The faults of a drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveErrorKind {
    /// The translation layer could not be made or could not go on.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The workload could not go on.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A checkpoint could not be begun, or cannot be gone on from.
    #[error("{0}")]
    Checkpoint(String),
}
