//! The stored drive: a page store whose data are kept, in one sparse file, across restarts and
//! crashes.
//!
//! The page store of `flashgc-ftl` decides; this crate moves the bytes that its transitions name.
//! Start reading at [`engine`]; what survives a crash, and why, is in its rules.
//!
//! # Guarantees
//! A page of 4096 bytes is written as a whole or not at all. After a crash a page is never torn,
//! never has the data of another page, and is never older than its last flushed version. Commands
//! completed before a flush began survive, and so does a write with FUA. A discarded page reads as
//! zeros, and a flushed discard never brings data back. Damaged data are never returned: the read
//! ends with an error, which is counted. A drive becomes read-only if its medium fails or is full,
//! or if its blocks are worn out; its data can still be read.
//!
//! # Not here
//! This crate has no policy, and makes no decision about pages or blocks. The engine has no thread:
//! it serves one command at a time. The front ends (`flashgc-front`) have threads of their own; one
//! of these owns the engine.
//!
//! # Rooms
//! [`engine`] asks the page store step by step, as the counting drive does, and moves the bytes
//! that the steps name. Pages are gathered in stripes (`engine/stripes.rs`), and their parity grows
//! there. `dies.rs` says which die has which page, and `parity.rs` rebuilds a page from the rest of its
//! group. Every change of the map is a record of the journal. A checkpoint is written in slices while
//! commands go on (`engine/save.rs`). `engine/open.rs` has the steps of an opening in their order, `recover.rs`
//! finds the map again without a write, and `repair.rs` makes the medium agree with it. `check.rs`
//! compares the map with that of the out-of-band records. `docs/device.md` has the promises, the
//! rules and the file.
//!
//! Mutants, which are drives that are wrong on purpose, are not in `src`: `scripts/wrong_drives.py`
//! adds them to a copy of the sources.

pub mod bytes;
pub mod campaign;
pub mod check;
mod checkpoint;
mod codec;
pub mod dies;
pub mod engine;
mod error;
pub mod failure;
mod journal;
mod layout;
mod mapped;
pub mod media;
mod oob;
pub mod owners;
mod parity;
pub mod past;
mod recording;
mod recover;
mod repair;
mod repeat;
mod settings;
mod strangers;
mod superblock;
mod usage;
mod verify;

pub use engine::{
    Backend, Block, BlockState, Drive, Hinted, Opened, Recovery, Report, WriteStreams,
};
pub use error::DeviceError;
pub use flashgc_ftl::Handles;
pub use layout::PAGE;
pub use recording::{HostRequest, Noted, Origin, Recording};
pub use repeat::repeat;
pub use settings::{Durability, LEAST_JOURNAL_BLOCKS, Outside, Settings, configuration, strangers};
pub use strangers::Strangers;
pub use usage::Usage;
