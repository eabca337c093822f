//! All tests of the crate as one program: a module for each file, and what they share.

mod after_damage;
mod bytes;
mod client;
mod common;
mod control;
mod crashes;
mod damage;
mod decisions;
mod double_faults;
mod driver;
mod fallback;
mod faults;
mod full_disk;
mod fuse;
mod fuse_hints;
mod hints;
mod killed;
mod machine;
mod nbd_commands;
mod nbd_connections;
mod nbd_negotiation;
mod nbd_tools;
mod pace;
mod queue;
mod recordings;
mod vhost;
