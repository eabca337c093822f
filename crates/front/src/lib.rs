//! Front ends of the stored drive: how hosts reach it.
//!
//! A front end parses requests, checks them and submits commands to the [`queue`], which answers them
//! on the thread of the front end or on the drive's. A front end decides nothing about flash, and never
//! waits for a client in an answer.

mod clients;
pub mod command;
pub mod control;
pub mod faults;
#[cfg(target_os = "linux")]
pub mod fuse;
pub mod health;
#[doc(hidden)]
pub mod limits;
pub mod meter;
pub mod nbd;
pub mod nvme;
pub mod pace;
pub mod queue;
#[doc(hidden)]
pub mod ram;
pub mod socket;
#[cfg(all(target_os = "linux", feature = "vhost-user"))]
pub mod vhost;
#[doc(hidden)]
pub mod window;
