//! PostgreSQL's write-ahead log, decoded from its bytes: the blocks that each record changes, and the
//! files that come, shrink and go.
//!
//! The log is a stream of pages of 8 KiB. A page begins with a header (`page.rs`); records lie behind
//! it, aligned to 8 bytes, and go on behind the header of the next page. [`Decoder`] takes the stream
//! in chunks of any length and shows each [`Record`] once it is whole and its check sum agrees.
//!
//! # Checks
//! Every byte of a record is under its CRC32C, and each record names the one before it. Of a page
//! header everything is checked but these bytes, which change no record: the flag for removable
//! backup blocks (0x0004), the four bytes of padding, and a timeline, a system identifier or a length
//! of segments that no other page contradicts. The bytes that align records and those behind a
//! segment switch carry nothing, and those of a record that began before the first page are not seen.
//!
//! # Not here
//! No connection, no files, and no meaning of a block's contents. Values are little endian, blocks and
//! log pages have 8 KiB, as PostgreSQL has them unless it was built otherwise.
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
