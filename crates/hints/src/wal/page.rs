//! Page headers: `XLogPageHeaderData`, and `XLogLongPageHeaderData` where a segment begins.

use super::error::{Fault, MAGICS, WalError};

/// The size of a page of the log in bytes.
pub const PAGE: u64 = 8192;

/// The size of a normal page header in bytes, with padding.
pub(super) const SHORT: usize = 24;

/// The size of the header of a segment's first page in bytes.
pub(super) const LONG: usize = 40;

/// The size of the smallest segment in bytes. Sizes of segments are powers of two.
pub(super) const SMALLEST_SEGMENT: u64 = 1 << 20;

const LARGEST_SEGMENT: u64 = 1 << 30;

const CONTINUES: u16 = 0x0001;
const IS_LONG: u16 = 0x0002;
const OVERWRITES: u16 = 0x0008;
const ALL_FLAGS: u16 = 0x000F;

/// The part of a page header that concerns records.
pub(super) struct Header {
    /// The number of bytes left of the record that continues on this page; 0 if the page begins
    /// with a record.
    pub(super) left: u32,
    /// `true` if the record before this page is incomplete, because the server crashed before it
    /// had written the end of the record.
    pub(super) overwrites: bool,
}

/// Returns `true` if the flags say that `header` is a long one.
pub(super) fn is_long(header: &[u8; LONG]) -> bool {
    u16::from_le_bytes([header[2], header[3]]) & IS_LONG != 0
}

/// The properties that all pages so far share.
#[derive(Default)]
pub(super) struct Pages {
    version: Option<(u16, u8)>,
    timeline: u32,
    /// The system identifier and the segment size in bytes; `None` before the first long header.
    cluster: Option<(u64, u64)>,
}

impl Pages {
    /// Returns the major version, or 0 before the first page.
    pub(super) fn major(&self) -> u8 {
        self.version.map_or(0, |(_, major)| major)
    }

    /// Returns `true` if a segment is known to begin at `at`.
    pub(super) fn is_segment_start(&self, at: u64) -> bool {
        self.cluster.is_some_and(|(_, segment)| at.is_multiple_of(segment))
    }

    /// Checks the header of the page at `at`. The last 16 bytes count only if it is a long one.
    pub(super) fn check(&mut self, at: u64, header: &[u8; LONG]) -> Result<Header, WalError> {
        self.read(at, header).map_err(|fault| WalError { at, fault })
    }

    fn read(&mut self, at: u64, header: &[u8; LONG]) -> Result<Header, Fault> {
        let number = |bytes: std::ops::Range<usize>| {
            header[bytes].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let magic = number(0..2) as u16;
        let known = MAGICS.iter().find(|&&(known, _)| known == magic);
        let expected = self.version.map(|(magic, _)| magic);
        let Some(&version) = known.filter(|_| expected.is_none_or(|expected| expected == magic))
        else {
            return Err(Fault::Magic { found: magic, expected });
        };
        let flags = number(2..4) as u16;
        let timeline = number(4..8) as u32;
        let address = number(8..16);
        let left = number(16..20) as u32;
        same("address", address, at)?;
        if timeline < self.timeline || timeline == 0 {
            return Err(Fault::Page {
                field: "timeline",
                found: timeline.into(),
                expected: self.timeline.max(1).into(),
            });
        }
        let kind = flags & (CONTINUES | OVERWRITES);
        let consistent = flags & !ALL_FLAGS == 0
            && kind != CONTINUES | OVERWRITES
            && (kind == CONTINUES) == (left > 0);
        if !consistent {
            let expected = "flags below 16 that agree with the bytes that are left of a record";
            return Err(Fault::Header { field: "flags", found: flags.into(), expected });
        }
        if flags & IS_LONG != 0 {
            self.long(at, number(24..32), number(32..36), number(36..40))?;
        } else if self.is_segment_start(at) {
            let expected = "flag 2, as a segment begins here";
            return Err(Fault::Header { field: "flags", found: flags.into(), expected });
        }
        self.version = Some(version);
        self.timeline = timeline;
        Ok(Header { left, overwrites: kind == OVERWRITES })
    }

    /// Checks the fields that only the first page of a segment has.
    fn long(&mut self, at: u64, system: u64, segment: u64, page: u64) -> Result<(), Fault> {
        same("page size", page, PAGE)?;
        let sane = (SMALLEST_SEGMENT..=LARGEST_SEGMENT).contains(&segment);
        if !(sane && segment.is_power_of_two() && at.is_multiple_of(segment)) {
            let expected = "a power of two from 1 MiB to 1 GiB that divides the page's place";
            return Err(Fault::Header { field: "segment size", found: segment, expected });
        }
        if let Some((known, size)) = self.cluster {
            same("system identifier", system, known)?;
            same("segment size", segment, size)?;
        }
        self.cluster = Some((system, segment));
        Ok(())
    }
}

fn same(field: &'static str, found: u64, expected: u64) -> Result<(), Fault> {
    if found == expected { Ok(()) } else { Err(Fault::Page { field, found, expected }) }
}
