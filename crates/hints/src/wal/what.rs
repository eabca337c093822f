//! Records that say more than which blocks change: files come, shrink and go.

use super::fields::Fields;
use super::relation::{Fork, Relation};

/// Bytes of a relation in the log.
const RELATION: usize = 12;

const XLOG: u8 = 0;
const TRANSACTION: u8 = 1;
const STORAGE: u8 = 2;
const DATABASE: u8 = 4;
const TABLESPACE: u8 = 5;

/// What a record says beside its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// Nothing about files.
    Blocks,
    /// A checkpoint is complete: all that was dirty before `redo` has been written.
    Checkpoint {
        /// The log after this place is needed for recovery.
        redo: u64,
        /// The server has stopped.
        shutdown: bool,
    },
    /// The rest of the segment is empty.
    Switch,
    /// A file of a relation was made.
    Create {
        /// The relation.
        relation: Relation,
        /// Which of its files.
        fork: Fork,
    },
    /// Files of a relation were cut.
    Truncate {
        /// The relation.
        relation: Relation,
        /// Blocks that its main fork keeps. Its maps keep what these blocks need.
        blocks: u32,
        /// Whether the main fork was cut.
        main: bool,
        /// Whether the visibility map was cut.
        visibility: bool,
        /// Whether the map of free space was cut.
        free_space: bool,
    },
    /// All files of these relations go with the end of a transaction.
    Drop {
        /// The relations.
        relations: Relations<'a>,
    },
    /// A folder of a database was made.
    CreateDatabase {
        /// The oid of the tablespace that it is in.
        tablespace: u32,
        /// The oid of the database.
        database: u32,
        /// Its files were copied without records of their blocks.
        copied: bool,
    },
    /// Folders of a database were removed, with all their files.
    DropDatabase {
        /// The oid of the database.
        database: u32,
        /// Where its folders were.
        tablespaces: Tablespaces<'a>,
    },
    /// A tablespace was made.
    CreateTablespace {
        /// Its oid.
        tablespace: u32,
    },
    /// A tablespace was removed.
    DropTablespace {
        /// Its oid.
        tablespace: u32,
    },
}

/// Relations that a record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relations<'a>(&'a [u8]);

impl Relations<'_> {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Relation> {
        self.0.chunks_exact(RELATION).filter_map(|bytes| Relation::read(&mut Fields(bytes)))
    }
}

/// Oids of tablespaces that a record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tablespaces<'a>(&'a [u8]);

impl Tablespaces<'_> {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.chunks_exact(4).filter_map(|bytes| Fields(bytes).u32())
    }
}

/// What a record of this kind says with its main data; none if the data are too short for it.
pub(super) fn read(major: u8, resource_manager: u8, info: u8, data: &[u8]) -> Option<What<'_>> {
    let mut fields = Fields(data);
    let fields = &mut fields;
    // The low bits belong to the log itself.
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

/// The relations that go with a commit or an abort: `xl_xact_commit`, `xl_xact_abort`.
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

/// Databases: until version 14 all are copied, since then mostly block by block.
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
