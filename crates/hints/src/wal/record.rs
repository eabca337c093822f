//! One record: `XLogRecord`, its block references and its data.

use super::error::Fault;
use super::fields::Fields;
use super::relation::{BLOCK, Fork, Relation};
use super::what::What;

/// The size of a record's header in bytes.
pub(super) const HEADER: usize = 24;

/// The length of the longest record that PostgreSQL writes, in bytes.
const LONGEST: u32 = 1020 << 20;

/// The largest number of blocks that a record refers to.
const MOST_BLOCKS: usize = 33;

const HAS_IMAGE: u8 = 0x10;
const HAS_DATA: u8 = 0x20;
const WILL_INIT: u8 = 0x40;
const SAME_RELATION: u8 = 0x80;

const IMAGE_HAS_HOLE: u8 = 0x01;

const TOP_TRANSACTION: u8 = 252;
const ORIGIN: u8 = 253;
const LONG_DATA: u8 = 254;
const SHORT_DATA: u8 = 255;

/// A block that a record changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockReference {
    /// The relation.
    pub relation: Relation,
    /// The fork of the relation that holds the block.
    pub fork: Fork,
    /// The number of the block, in units of 8 KiB, over all segments of the file.
    pub block: u32,
    /// `true` if the record initializes the block, so that its old contents do not matter.
    pub will_init: bool,
    /// `true` if the record has an image of the whole block.
    pub image: bool,
}

/// A record of the log.
#[derive(Debug)]
pub struct Record<'a> {
    /// The place of the record, in bytes since the log began.
    pub at: u64,
    /// The earliest place of the next record. (After a segment switch the next record is in the
    /// next segment.)
    pub end: u64,
    /// The part of PostgreSQL that wrote the record. [`resource_manager`] has their names.
    pub resource_manager: u8,
    /// The kind of record within that resource manager, and flags.
    pub info: u8,
    /// The transaction that wrote the record; 0 if there is none.
    pub transaction: u32,
    /// The blocks that the record changes.
    pub blocks: &'a [BlockReference],
    /// The record's changes of files.
    pub what: What<'a>,
}

/// Returns the name of a resource manager as `pg_waldump` prints it, or `None` for extensions.
#[must_use]
pub fn resource_manager(number: u8) -> Option<&'static str> {
    const NAMES: [&str; 22] = [
        "XLOG",
        "Transaction",
        "Storage",
        "CLOG",
        "Database",
        "Tablespace",
        "MultiXact",
        "RelMap",
        "Standby",
        "Heap2",
        "Heap",
        "Btree",
        "Hash",
        "Gin",
        "Gist",
        "Sequence",
        "SPGist",
        "BRIN",
        "CommitTs",
        "ReplicationOrigin",
        "Generic",
        "LogicalMessage",
    ];
    NAMES.get(usize::from(number)).copied()
}

/// Returns the length of the record that begins with these four bytes.
pub(super) fn length(first: [u8; 4]) -> Result<usize, Fault> {
    match u32::from_le_bytes(first) {
        0 => Err(Fault::End),
        length if (HEADER as u32..=LONGEST).contains(&length) => Ok(length as usize),
        found => Err(Fault::Length { found }),
    }
}

/// Returns the check sum stored in a record, and the check sum of its bytes.
pub(super) fn check_sums(record: &[u8; HEADER], rest: &[u8]) -> (u32, u32) {
    let [.., a, b, c, d] = *record;
    let begun = crc32c::crc32c(rest);
    (u32::from_le_bytes([a, b, c, d]), crc32c::crc32c_append(begun, &record[..HEADER - 4]))
}

/// A buffer for the blocks of one record. It is used again for the next record.
pub(super) struct Blocks {
    blocks: [BlockReference; MOST_BLOCKS],
    count: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { blocks: [BlockReference::default(); MOST_BLOCKS], count: 0 }
    }
}

impl Blocks {
    /// Returns the blocks of the last record read.
    pub(super) fn get(&self) -> &[BlockReference] {
        &self.blocks[..self.count]
    }

    /// Reads the bytes behind the header of a record of major version `major`. Returns the record's
    /// main data.
    pub(super) fn read<'a>(&mut self, major: u8, record: &'a [u8]) -> Result<&'a [u8], Fault> {
        self.count = 0;
        let mut fields = Fields(record);
        let mut reading = Reading { major, relation: None, last: None, data: 0 };
        let main = self.parts(&mut fields, &mut reading);
        // If a part is cut off, the fault is the same as if the lengths of the parts are wrong.
        let main = main?.unwrap_or(usize::MAX);
        if Some(fields.0.len()) != reading.data.checked_add(main) {
            let expected = "that of its parts";
            return Err(Fault::Record { field: "length", found: record.len() as u64, expected });
        }
        Ok(&fields.0[reading.data..])
    }

    /// Reads the heads of all parts of a record. Returns the length of the main data, or `None` if
    /// a head is cut off.
    fn parts(
        &mut self,
        fields: &mut Fields<'_>,
        reading: &mut Reading,
    ) -> Result<Option<usize>, Fault> {
        while fields.0.len() > reading.data {
            let Some(part) = fields.u8() else { return Ok(None) };
            let whole = match part {
                SHORT_DATA => return Ok(fields.u8().map(usize::from)),
                LONG_DATA => return Ok(fields.u32().map(|length| length as usize)),
                ORIGIN => fields.u16().is_some(),
                TOP_TRANSACTION if reading.major >= 14 => fields.u32().is_some(),
                block if usize::from(block) < MOST_BLOCKS => {
                    let read = reading.block(block, fields)?;
                    if let Some(reference) = read {
                        self.blocks[self.count] = reference;
                        self.count += 1;
                    }
                    read.is_some()
                }
                found => return Err(odd("part", found, "0 to 32 or 252 to 255")),
            };
            if !whole {
                return Ok(None);
            }
        }
        Ok(Some(0))
    }
}

/// The state of reading the parts of a record.
struct Reading {
    major: u8,
    /// The relation of the last block that named one.
    relation: Option<Relation>,
    /// The number of the last block.
    last: Option<u8>,
    /// The number of bytes of images and data that follow the heads.
    data: usize,
}

impl Reading {
    /// Reads the head of a block reference. Returns `None` if it is cut off.
    fn block(&mut self, id: u8, fields: &mut Fields<'_>) -> Result<Option<BlockReference>, Fault> {
        if self.last.is_some_and(|last| id <= last) {
            return Err(odd("block reference", id, "a higher number than the one before"));
        }
        self.last = Some(id);
        let (Some(flags), Some(length)) = (fields.u8(), fields.u16()) else { return Ok(None) };
        let Some(fork) = Fork::numbered((flags & 0x0F).into()) else {
            return Err(odd("fork", flags & 0x0F, "0 to 3"));
        };
        if (flags & HAS_DATA != 0) != (length > 0) {
            return Err(odd("block's data length", length, "0 exactly if it has no data"));
        }
        self.data += usize::from(length);
        let image = flags & HAS_IMAGE != 0;
        if image && !self.image(fields)? {
            return Ok(None);
        }
        if flags & SAME_RELATION == 0 {
            let Some(relation) = Relation::read(fields) else { return Ok(None) };
            self.relation = Some(relation);
        }
        let Some(relation) = self.relation else {
            return Err(odd("block's flags", flags, "a relation, as no block is before it"));
        };
        let will_init = flags & WILL_INIT != 0;
        let reference = |block| BlockReference { relation, fork, block, will_init, image };
        Ok(fields.u32().map(reference))
    }

    /// Skips the head of an image. Returns `true` if the head is complete.
    fn image(&mut self, fields: &mut Fields<'_>) -> Result<bool, Fault> {
        let (Some(length), Some(_hole), Some(info)) = (fields.u16(), fields.u16(), fields.u8())
        else {
            return Ok(false);
        };
        if u64::from(length) > BLOCK {
            return Err(odd("image's length", length, "at most that of a block"));
        }
        self.data += usize::from(length);
        // Until version 14 there is one bit for compression. Later there is one for each of pglz,
        // lz4 and zstd.
        let compressed = if self.major < 15 { 0x02 } else { 0x04 | 0x08 | 0x10 };
        let has_hole_length = info & compressed != 0 && info & IMAGE_HAS_HOLE != 0;
        Ok(!has_hole_length || fields.u16().is_some())
    }
}

fn odd(field: &'static str, found: impl Into<u64>, expected: &'static str) -> Fault {
    Fault::Record { field, found: found.into(), expected }
}
