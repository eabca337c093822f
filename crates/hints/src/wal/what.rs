//! Records that make, truncate and remove files.

use super::fields::Fields;
use super::relation::{Fork, Relation};

/// The size of a relation in the log, in bytes.
const RELATION: usize = 12;

const XLOG: u8 = 0;
const TRANSACTION: u8 = 1;
const STORAGE: u8 = 2;
const DATABASE: u8 = 4;
const TABLESPACE: u8 = 5;

/// The change of files that a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// No change of files.
    Blocks,
    /// A checkpoint was completed: all blocks changed before `redo` have been written.
    Checkpoint {
        /// The place from which on recovery needs the log.
        redo: u64,
        /// `true` if the server has stopped.
        shutdown: bool,
    },
    /// A segment switch: the rest of the segment is unused.
    Switch,
    /// A file of a relation was made.
    Create {
        /// The relation.
        relation: Relation,
        /// The fork whose file was made.
        fork: Fork,
    },
    /// Files of a relation were truncated.
    Truncate {
        /// The relation.
        relation: Relation,
        /// The number of blocks that the main fork keeps. The maps keep their parts for these
        /// blocks.
        blocks: u32,
        /// `true` if the main fork was truncated.
        main: bool,
        /// `true` if the visibility map was truncated.
        visibility: bool,
        /// `true` if the map of free space was truncated.
        free_space: bool,
    },
    /// A transaction ended, and the files of these relations are removed.
    Drop {
        /// The relations.
        relations: Relations<'a>,
    },
    /// A folder of a database was made.
    CreateDatabase {
        /// The oid of the tablespace with the folder.
        tablespace: u32,
        /// The oid of the database.
        database: u32,
        /// `true` if the database's files were copied without records of their blocks.
        copied: bool,
    },
    /// Folders of a database were removed, with all their files.
    DropDatabase {
        /// The oid of the database.
        database: u32,
        /// The tablespaces that held its folders.
        tablespaces: Tablespaces<'a>,
    },
    /// A tablespace was made.
    CreateTablespace {
        /// The oid of the tablespace.
        tablespace: u32,
    },
    /// A tablespace was removed.
    DropTablespace {
        /// The oid of the tablespace.
        tablespace: u32,
    },
}

/// Relations that a record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relations<'a>(&'a [u8]);

impl Relations<'_> {
    /// Returns an iterator over the relations.
    pub fn iter(&self) -> impl Iterator<Item = Relation> {
        self.0.chunks_exact(RELATION).filter_map(|bytes| Relation::read(&mut Fields(bytes)))
    }
}

/// Oids of tablespaces that a record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tablespaces<'a>(&'a [u8]);

impl Tablespaces<'_> {
    /// Returns an iterator over the oids.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.chunks_exact(4).filter_map(|bytes| Fields(bytes).u32())
    }
}

/// Reads a record's main data. Returns `None` if they are too short for this kind of record.
pub(super) fn read(major: u8, resource_manager: u8, info: u8, data: &[u8]) -> Option<What<'_>> {
    let mut fields = Fields(data);
    let fields = &mut fields;
    // The low bits are flags of the log itself.
    let what = match (resource_manager, info & 0xF0) {
        (XLOG, kind @ (0x00 | 0x10)) => {
            What::Checkpoint { redo: fields.u64()?, shutdown: kind == 0x00 }
        }
        (XLOG, 0x40) => What::Switch,
        (TRANSACTION, kind) if matches!(kind & 0x70, 0x00 | 0x20 | 0x30 | 0x40) => {
            dropped(kind & 0x80 != 0, fields)?
        }
        (STORAGE, 0x10) => {
            What::Create { relation: Relation::read(fields)?, fork: Fork::numbered(fields.u32()?)? }
        }
        (STORAGE, 0x20) => {
            let (blocks, relation, flags) = (fields.u32()?, Relation::read(fields)?, fields.u32()?);
            let [main, visibility, free_space] = [1, 2, 4].map(|flag| flags & flag != 0);
            What::Truncate { relation, blocks, main, visibility, free_space }
        }
        (DATABASE, kind) => database(major, kind, fields)?,
        (TABLESPACE, 0x00) => What::CreateTablespace { tablespace: fields.u32()? },
        (TABLESPACE, 0x10) => What::DropTablespace { tablespace: fields.u32()? },
        _ => What::Blocks,
    };
    Some(what)
}

/// Reads the relations whose files a commit or an abort removes: `xl_xact_commit`, `xl_xact_abort`.
fn dropped<'a>(has_flags: bool, fields: &mut Fields<'a>) -> Option<What<'a>> {
    let _time = fields.u64()?;
    let flags = if has_flags { fields.u32()? } else { 0 };
    let [has_database, has_children, has_relations] = [1, 2, 4].map(|flag| flags & flag != 0);
    if has_database {
        fields.bytes(8)?;
    }
    if has_children {
        let children = fields.u32()? as usize;
        fields.bytes(children.checked_mul(4)?)?;
    }
    if !has_relations {
        return Some(What::Blocks);
    }
    let relations = fields.u32()? as usize;
    Some(What::Drop { relations: Relations(fields.bytes(relations.checked_mul(RELATION)?)?) })
}

/// Reads a record of a database. Until version 14 a new database's files are always copied. Later
/// they are mostly written block by block.
fn database<'a>(major: u8, kind: u8, fields: &mut Fields<'a>) -> Option<What<'a>> {
    let drop = if major < 15 { 0x10 } else { 0x20 };
    match kind {
        0x00 | 0x10 if kind != drop => {
            let (database, tablespace) = (fields.u32()?, fields.u32()?);
            Some(What::CreateDatabase { tablespace, database, copied: kind == 0x00 })
        }
        kind if kind == drop => {
            let (database, count) = (fields.u32()?, fields.u32()? as usize);
            let tablespaces = Tablespaces(fields.bytes(count.checked_mul(4)?)?);
            Some(What::DropDatabase { database, tablespaces })
        }
        _ => Some(What::Blocks),
    }
}
