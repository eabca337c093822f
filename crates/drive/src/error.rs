//! The faults of a drive and of its runs.

use flashgc_base::naming::{self, Keywords, Names};
use flashgc_ftl::FtlError;
use flashgc_workload::WorkloadError;

/// The error of a drive that could not go on. It is one pointer, like [`FtlError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct DriveError(Box<DriveErrorKind>);

impl DriveError {
    /// Returns the kind of the fault.
    pub fn kind(&self) -> &DriveErrorKind {
        &self.0
    }

    /// Returns a fault of a checkpoint.
    pub fn checkpoint(why: impl Into<String>) -> Self {
        DriveErrorKind::Checkpoint(why.into()).into()
    }
}

impl DriveErrorKind {
    /// Returns the error in one line, with the names that `names` has for options.
    pub fn said(&self, names: &dyn Names) -> String {
        match self {
            Self::Ftl(error) => error.said(names),
            Self::Workload(error) => error.said(names),
            Self::Checkpoint(text) => naming::said(text, names),
        }
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
    /// A checkpoint could not be begun, or a run cannot go on from it.
    #[error("{}", self.said(&Keywords))]
    Checkpoint(String),
}
