//! Decodes PostgreSQL's write-ahead log: the blocks that each record changes, and the files that
//! are made, truncated and removed.
//!
//! The log is a stream of pages of 8 KiB. A page begins with a header (`page.rs`). Behind it lie
//! records, aligned to 8 bytes; a record can continue behind the header of the next page.
//! [`Decoder`] takes the stream in chunks of any length, and passes on each [`Record`] when it is
//! complete and its check sum is right.
//!
//! # Checks
//! The CRC32C of a record covers all of its bytes, and each record names the record before it. The
//! check of a page header leaves out two parts that change no record: the flag for removable backup
//! blocks (0x0004) and the four bytes of padding. The timeline, the system identifier and the
//! segment size are compared with those of earlier pages. So wrong ones on the first page that has
//! them are not noticed.
//! Not checked are the bytes that align records, the bytes behind a segment switch, and the rest of
//! a record that began before the first page.
//!
//! # Not here
//! This module opens no connection and no file, and does not interpret the contents of blocks. It
//! assumes little-endian values, and blocks and log pages of 8 KiB, which are PostgreSQL's
//! defaults.
//!
//! Source: PostgreSQL's `access/xlog_internal.h` and `access/xlogrecord.h`, versions 13 to 18.

mod decoder;
mod error;
mod fields;
mod page;
mod record;
mod relation;
mod what;

pub use decoder::Decoder;
pub use error::{Fault, Lsn, MAGICS, WalError};
pub use page::PAGE;
pub use record::{BlockReference, Record, resource_manager};
pub use relation::{BLOCK, Fork, Relation, SEGMENT_BLOCKS};
pub use what::{Relations, Tablespaces, What};
