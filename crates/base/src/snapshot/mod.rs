//! Snapshots: the state of an object as bytes, and back.
//!
//! An object is saved in one of two ways. A [`Value`] is made from its bytes alone: numbers, lists,
//! counters. A [`State`] is first made anew from its configuration, and then overwritten in place:
//! a policy's parameters, a drive's shape and the type behind a trait object need no bytes. Both
//! are derived from the declaration of the struct. There, the attribute `#[snapshot(...)]` marks
//! each field that is saved in another way, or not at all:
//!
//! ```
//! use flashgc_base::snapshot::{State, Value};
//!
//! #[derive(Value)]
//! struct Seen { page: u32, at: u64 }
//!
//! #[derive(State)]
//! struct Window {
//!     #[snapshot(skip)]
//!     size: u32,
//!     #[snapshot(table)]
//!     is_member: Vec<bool>,
//!     last: Vec<Seen>,
//! }
//! ```
//!
//! A field that is neither saved nor skipped does not compile:
//!
//! ```compile_fail
//! # use flashgc_base::snapshot::State;
//! #[derive(State)]
//! struct Window { since: std::time::Instant }
//! ```
//!
//! Bytes are little-endian. [`Writer`] and [`Reader`] count and hash them (XXH3), so that damage
//! shows before anything is read. A reader knows the number of bytes, and makes nothing larger than
//! they allow. It checks values that could cause wrong accesses to memory or an endless loop if
//! they were wrong. It does not check whether every figure makes sense: owners audit the values
//! that they have read.
//!
//! Layers, policies, trackers, placements, pools, workloads, caches and drives must implement
//! [`State`], because their traits require it. There is no default implementation. A drive audits
//! itself after reading.

/// The version of the format of states. It is raised with every change of the format.
pub const FORMAT: u32 = 34;

mod reader;
mod state;
mod value;
mod writer;

pub use flashgc_derive::{State, Value};
pub use reader::Reader;
pub use state::{State, restore_table, save_table};
pub use value::Value;
pub use writer::Writer;

/// The reason why a snapshot cannot be read, or not be made, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    /// A fault with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// The tag of a section: FNV-1a of its name, folded.
fn tag(name: &str) -> u32 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests;
