//! The server of a stored drive: all that one process assembles around a drive's file.
//!
//! [`StoredDrive`] opens the file, puts the queue of the front ends before the drive, and starts and ends front ends.
//! With a [`Clock`], a drive with a clock stands beside it, and the pace holds answers back until that drive would give
//! them. [`State`] has all that is seen of a drive: its state as JSON with the names of the standards, phases, recordings
//! and connections. The control socket asks it, too. [`files`] makes, checks and describes the files of drives, and
//! [`campaign`] is the crash campaign with a drive that is recorded.
//!
//! `examples/serve.rs` serves a drive with this crate alone. Python converts what it is given and what it returns.
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
