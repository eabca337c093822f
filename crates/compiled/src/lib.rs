//! Schemes from compiled libraries: victim policies and placements behind the C interface of
//! `python/flashgc/include/flashgc.h`.
//!
//! - `abi.rs` has the structs of the header, field by field.
//! - `library.rs` loads a library, finds a scheme in it, and checks what it says of itself.
//! - `drive.rs` has the state of one drive, as the translation layer calls it.
//!
//! A library is code of the user. It runs with the user's rights, and nothing here protects from
//! it: [`Scheme::load`] says what it must keep to.

mod abi;
mod drive;
mod library;

pub use library::{LoadError, Scheme};
