//! All tests of the crate as one program: a module for each file, and a module that they share.

mod after_damage;
mod bytes;
mod common;
mod crashes;
mod damage;
mod decisions;
mod double_faults;
mod failed_sync;
mod fallback;
mod faults;
mod full_disk;
mod handles;
mod hints;
mod large_blocks;
mod opening;
mod owners;
mod parity;
mod past;
mod recordings;
mod room;
mod streams;
