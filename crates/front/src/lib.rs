//! Front ends of the stored drive: the ways by which hosts reach it.
//!
//! A front end parses requests, checks them and submits commands to the [`queue`]. The queue
//! answers them on the front end's thread or on the drive's. A front end decides nothing about
//! flash, and the function that takes an answer never waits for a client.
//!
//! # The way of a command
//! If the drive is idle, the front end's thread executes the command. If not, the command is
//! queued, and the drive's thread takes what waits as a batch: `bytes.rs` of the device crate turns
//! bytes into pages, `engine/serve.rs` executes, and flushes of a batch share one sync. Hosts of
//! NBD and NVMe/TCP can survive the server: their changes are answered together, once
//! `Backend::hand_over` has written them (`Queue::outliving`).
//!
//! `faults.rs` has all faults that `device inject` sets. `Queue::submit` asks it about each command
//! of a host, before the drive has it; a command that fails by a fault is not executed. So neither
//! the engine nor a front end knows of faults, except that a front end gives no answer for
//! `Failure::Unanswered`. The commands of the control socket meet no faults (`Queue::spared`).
//!
//! # A drive with a clock
//! A drive that is served with `--realtime` has a timed drive beside it, which has no data. This
//! timed drive is in `live.rs` of the timed crate. `pace.rs` knows it as the trait `Simulated`, and
//! `flashgc-server` joins the two. The queue passes each submitted command to the pace. The pace's
//! thread simulates the timed drive up to now, sends the answers that are due, and counts how late
//! they are (`pace/tally.rs`). A hint goes to the pace after the stored drive has answered it, with
//! the pages on which it holds; the timed drive decides how and when the hint reaches it. The
//! slowest requests, with their causes, are kept and are part of the drive's state. A recording has
//! the times at which requests arrived at the pace and at which their answers were sent: the
//! entries of a command in the recording (`Noted`) travel with its answer.

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
