//! The server of a stored drive: it puts the drive's file, the engine and the front ends together
//! in one process.
//!
//! [`StoredDrive`] opens the file, puts the queue of the front ends before the drive, and starts
//! and ends front ends. With a [`Clock`] there is a timed drive beside it, and the pace delays each
//! answer until the timed drive has completed the request. [`State`] has the parts of a drive that
//! can be shown: its state as JSON with the names of the standards, phases, recordings and
//! connections. The control socket uses it, too. [`files`] makes, checks and describes the files of
//! drives. [`campaign`] runs the crash campaign, and has a drive whose commands are logged.
//!
//! `examples/serve.rs` serves a drive with this crate alone. The Python module converts arguments
//! and results.
#![cfg(target_os = "linux")]

pub mod campaign;
mod clock;
mod drive;
mod error;
pub mod faults;
pub mod files;
mod report;
mod state;

pub use clock::{Clock, Past};
pub use drive::{Opening, Reserved, StoredDrive, bind_nbd, bind_nvme_tcp, lock_file, mount};
pub use error::ServerError;
pub use report::counts;
pub use state::{State, columns};
