//! Front ends of the stored drive: the ways by which hosts reach it.
//!
//! A front end parses requests, checks them and submits commands to the [`queue`]. The queue
//! answers them on the front end's thread or on the drive's. A front end decides nothing about
//! flash, and the function that takes an answer never waits for a client.
//!
//! # The way of a command
//! If the drive is idle, the front end's thread executes the command. If not, the command is
//! queued, and the drive's thread takes what waits as a batch: `bytes.rs` of the device crate turns
//! bytes into pages, `engine/serve.rs` executes, and flushes of a batch share one sync. A host of
//! NBD or NVMe/TCP can survive the server process. So its writes are answered only after
//! `Backend::hand_over` has passed them to the operating system (`Queue::outliving`).
//!
//! `faults.rs` has all faults that `device inject` sets. `Queue::submit` calls it for each command
//! of a host, before the drive executes the command; a command that fails by a fault is not
//! executed. So neither the engine nor a front end knows of faults, except that a front end gives
//! no answer for `Failure::Unanswered`. The commands of the control socket meet no faults
//! (`Queue::spared`).
//!
//! # A drive with a clock
//! A drive that is served with `--realtime` has a timed drive beside it, which has no data. This
//! timed drive is in `live.rs` of the timed crate. `pace.rs` knows it as the trait `Simulated`, and
//! `flashgc-server` gives it to the pace. The queue passes each submitted command to the pace. The
//! thread of the pace simulates the timed drive up to now, sends the answers that are due, and
//! counts how late they are (`pace/tally.rs`). After the stored drive has executed a hint, the
//! pages on which the hint holds go to the pace. The timed drive then decides which of its commands
//! carries the hint, and when. The slowest requests, with their causes, are kept and are part of
//! the drive's state.
//!
//! A recording has the time at which each request arrived at the pace, and the time at which its
//! answer was due (or was sent, if the answer had to wait for its data). Therefore the entries of a
//! command in the recording (`Noted`) travel with the command's answer.

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
#[doc(hidden)]
pub mod window;
