//! Front ends of the stored drive: how hosts reach it.
//!
//! A front end parses requests, checks them and submits commands to the [`queue`], which answers them
//! on the thread of the front end or on the drive's. A front end decides nothing about flash, and never
//! waits for a client in an answer.
//!
//! # The way of a command
//! If the drive is idle, the front end's thread executes the command. If not, the command is queued, and the
//! drive's thread takes what waits as a batch: `bytes.rs` of the device crate turns bytes into pages,
//! `engine/serve.rs` executes, and flushes of a batch share one sync. NBD and NVMe/TCP have hosts
//! that outlive the server: their changes are answered together, once `Backend::hand_over` has written them
//! (`Queue::outliving`).
//!
//! `faults.rs` has all faults that `device inject` sets. `Queue::submit` asks it about each command of a
//! host, before the drive has it; a command that fails by a fault is not executed. So neither the engine nor
//! a front end knows of faults, except that a front end gives no answer for `Failure::Unanswered`. The
//! control socket's own commands are spared (`Queue::spared`).
//!
//! # A drive with a clock
//! A drive that is served with `--realtime` has a timed drive beside it, which has no data. `live.rs` of the
//! timed crate is that drive, whose requests are pushed; `pace.rs` knows it as the trait `Simulated`, and
//! `flashgc-server` joins the two. The queue tells the pace of each command that is submitted. The pace's thread
//! lets the timed drive go on until now, lets answers leave that are due, and counts how late they are
//! (`pace/tally.rs`). A hint goes to the pace when the stored drive has answered it, with the pages that it
//! holds for; the timed drive decides the way in which it then comes. The slowest requests, with what held
//! them, are kept for whoever asks for the drive's state. A recording has the times at which requests came to
//! the pace, and when their answers left. A command takes what its requests were noted as (`Noted`) along
//! with its answer.

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
