//! Faults in the bytes of a log.

use std::fmt;

/// The magic of each version's pages, with the major version.
pub const MAGICS: [(u16, u8); 6] =
    [(0xD106, 13), (0xD10D, 14), (0xD110, 15), (0xD113, 16), (0xD116, 17), (0xD118, 18)];

/// A place in the log (log sequence number), displayed as PostgreSQL does: `16/B374D848`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

/// An error at a place in the log: bytes that are no log, or not the expected part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write-ahead log at {}: {fault}", Lsn(*.at))]
pub struct WalError {
    /// The place of the page or the record, in bytes since the log began.
    pub at: u64,
    /// The fault found there.
    pub fault: Fault,
}

/// The kinds of faults, with the values found and expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A chunk that does not begin where the one before it ended.
    #[error(
        "the next bytes are those at {}, expected those at this place; hint: ask for the log from \
         here on, or begin anew",
        Lsn(*.found)
    )]
    Gap {
        /// The place of the chunk's first byte.
        found: u64,
    },
    /// Bytes beyond the largest place that a log can have.
    #[error("{length} bytes lie there, expected fewer than would end a log of 2^64 bytes")]
    TooFar {
        /// The length of the chunk.
        length: u64,
    },
    /// A page of an unknown version, or of another version than the pages before.
    #[error("the page begins with 0x{found:04X}, expected {}", magics(*.expected))]
    Magic {
        /// The first two bytes of the page.
        found: u16,
        /// The magic of the pages before, if there were any.
        expected: Option<u16>,
    },
    /// A field of a page header that contradicts the pages before it or the place of the page.
    #[error(
        "the page header's {field} is {found}, expected {expected}; hint: the log is damaged, \
             or another cluster's"
    )]
    Page {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        found: u64,
        /// The value that the field must have.
        expected: u64,
    },
    /// An impossible value in a page header.
    #[error("the page header's {field} is {found}, expected {expected}")]
    Header {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        found: u64,
        /// The values that the field may have.
        expected: &'static str,
    },
    /// A record of length 0, which marks the end of a log.
    #[error(
        "there is no record but zeros, expected a record; hint: the log ends here, take no more than \
         the server has flushed"
    )]
    End,
    /// A record with a length that no record can have.
    #[error("the record's length is {found} bytes, expected 24 to 1069547520")]
    Length {
        /// The length in the record's header.
        found: u32,
    },
    /// A record that names another predecessor than the record seen before it.
    #[error("the record follows one at {}, expected one at {}", Lsn(*.found), Lsn(*.expected))]
    Previous {
        /// The place of the predecessor that the record names.
        found: u64,
        /// The place of the record seen before it.
        expected: u64,
    },
    /// The first record names a predecessor at or behind the begin of the first page, but the
    /// decoder has seen no record there.
    #[error(
        "the first record follows one at {}, expected one before the page at {}; hint: the log is \
         damaged",
        Lsn(*.found),
        Lsn(*.page)
    )]
    Skipped {
        /// The place of the predecessor that the record names.
        found: u64,
        /// The place of the first page.
        page: u64,
    },
    /// A record whose check sum differs.
    #[error("the record's check sum is 0x{found:08X}, expected 0x{expected:08X} of its bytes")]
    CheckSum {
        /// The check sum in the record's header.
        found: u32,
        /// The check sum of the record's bytes.
        expected: u32,
    },
    /// A record whose check sum agrees but whose contents are inconsistent.
    #[error(
        "the record's {field} is {found}, expected {expected}; hint: a version of PostgreSQL \
             that this decoder does not know"
    )]
    Record {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        found: u64,
        /// The values that the field may have.
        expected: &'static str,
    },
}

/// Returns the expected magic with its version, or all known ones.
fn magics(expected: Option<u16>) -> String {
    MAGICS
        .iter()
        .filter(|&&(magic, _)| expected.is_none_or(|expected| expected == magic))
        .map(|(magic, major)| format!("0x{magic:04X} (PostgreSQL {major})"))
        .collect::<Vec<_>>()
        .join(" or ")
}
