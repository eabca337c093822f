//! The exceptions: one tree, like the error types of the engine. The messages are the one-line
//! texts of the engine.

use std::sync::{Arc, Mutex};

use flashgc_base::naming::Names;
use flashgc_base::spec::SpecError;
#[cfg(target_os = "linux")]
use flashgc_base::sync::lock;
#[cfg(target_os = "linux")]
use flashgc_device::DeviceError;
use flashgc_drive::error::{DriveError as EngineError, DriveErrorKind};
use flashgc_ftl::{FtlError, FtlErrorKind};
#[cfg(target_os = "linux")]
use flashgc_server::ServerError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
#[cfg(target_os = "linux")]
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::{PyErr, PyResult};

create_exception!(
    flashgc,
    FlashgcError,
    PyException,
    "Anything flashgc refuses or cannot do; the message is one line, with the place and a hint."
);
create_exception!(
    flashgc,
    ConfigError,
    FlashgcError,
    "A configuration that makes no sense: an unknown name, a value out of range, a missing unit."
);
create_exception!(
    flashgc,
    TraceError,
    FlashgcError,
    "A trace that cannot be read or written; names the file and the line or byte."
);
create_exception!(
    flashgc,
    DriveError,
    FlashgcError,
    "A drive that cannot go on: no reclaimable space, no memory."
);
create_exception!(
    flashgc,
    PolicyError,
    DriveError,
    "A policy broke its contract: it picked a block that may not be picked, or named no class."
);

/// The exception that a policy raised. The engine only learns that it cannot go on; the caller gets
/// the exception itself.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Makes a configuration error with this text.
pub(crate) fn config(error: impl std::fmt::Display) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// Makes a trace error with this text.
pub(crate) fn trace(error: impl std::fmt::Display) -> PyErr {
    TraceError::new_err(error.to_string())
}

/// Makes the exception for an error of the translation layer. `names` gives the names of options.
pub(crate) fn ftl(error: &FtlError, names: &dyn Names) -> PyErr {
    let text = error.said(names);
    match error.kind() {
        FtlErrorKind::Geometry(_) | FtlErrorKind::Spec(_) => ConfigError::new_err(text),
        FtlErrorKind::BadPick { .. } | FtlErrorKind::Placement(_) => PolicyError::new_err(text),
        FtlErrorKind::Memory { .. }
        | FtlErrorKind::NoSpace(_)
        | FtlErrorKind::OutOfRange { .. }
        | FtlErrorKind::ReadOnly { .. } => DriveError::new_err(text),
    }
}

/// Makes the exception for an error of a drive. `names` gives the names of options.
pub(crate) fn drive(error: &EngineError, names: &dyn Names) -> PyErr {
    match error.kind() {
        DriveErrorKind::Ftl(error) => ftl(error, names),
        kind @ DriveErrorKind::Workload(_) => trace(kind.said(names)),
        kind @ DriveErrorKind::Checkpoint(_) => config(kind.said(names)),
    }
}

/// Makes the exception for an error of a server of stored drives.
#[cfg(target_os = "linux")]
pub(crate) fn server(error: ServerError) -> PyErr {
    let text = error.to_string();
    match error {
        ServerError::Config(_) => ConfigError::new_err(text),
        ServerError::Drive(_) => DriveError::new_err(text),
        ServerError::Trace(_) => trace(text),
        ServerError::Misuse(_) => PyValueError::new_err(text),
        ServerError::Engine(error, places) => drive(&error, &places),
        ServerError::File { path, error: DeviceError::Io(error) } => {
            match (error.kind(), error.raw_os_error()) {
                (std::io::ErrorKind::InvalidInput, _) => ConfigError::new_err(text),
                (_, Some(number)) => {
                    let message = error.to_string();
                    let message = message.split(" (os error").next().unwrap_or_default();
                    PyOSError::new_err((number, message.to_string(), path))
                }
                _ => DriveError::new_err(text),
            }
        }
        ServerError::File { .. } => DriveError::new_err(text),
    }
}

/// Returns the exception that a policy has raised, or `error` if none has.
#[cfg(target_os = "linux")]
pub(crate) fn raised(raised: &Raised, error: PyErr) -> PyErr {
    lock(raised).take().unwrap_or(error)
}

/// Converts the result of a server. If a policy has raised an exception, returns that instead.
#[cfg(target_os = "linux")]
pub(crate) fn unless_raised<T>(raised: &Raised, result: Result<T, ServerError>) -> PyResult<T> {
    lock(raised).take().map_or(Ok(()), Err)?;
    result.map_err(server)
}

/// Makes the exception for a wrong spec.
impl From<Refused> for PyErr {
    fn from(Refused(error): Refused) -> Self {
        config(error)
    }
}

/// A spec error that becomes a Python exception.
pub(crate) struct Refused(pub(crate) SpecError);
