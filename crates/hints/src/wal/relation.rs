//! Relations and the files that hold them.

use super::fields::Fields;

/// The size of a relation's block in bytes.
pub const BLOCK: u64 = 8192;

/// The number of blocks in one file of a relation: 1 GiB.
pub const SEGMENT_BLOCKS: u32 = 131_072;

/// The oid of the tablespace `pg_default`.
const DEFAULT: u32 = 1663;

/// The oid of the tablespace `pg_global`.
const GLOBAL: u32 = 1664;

/// A relation as the log names it (relfilenode). A table that is rewritten gets another
/// relfilenode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation {
    /// The oid of the relation's tablespace.
    pub tablespace: u32,
    /// The oid of the relation's database; 0 for relations that all databases share.
    pub database: u32,
    /// The number in the names of the relation's files.
    pub number: u32,
}

/// The four kinds of files of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fork {
    /// The rows of a table, or an index.
    #[default]
    Main,
    /// The map of free space.
    FreeSpace,
    /// The map of pages that all transactions see.
    Visibility,
    /// The initial contents of an unlogged relation, restored after a crash.
    Init,
}

impl Fork {
    /// Returns the fork with PostgreSQL's number `number`.
    #[must_use]
    pub fn numbered(number: u32) -> Option<Self> {
        [Self::Main, Self::FreeSpace, Self::Visibility, Self::Init].get(number as usize).copied()
    }

    /// Returns PostgreSQL's name of the fork: `main`, `fsm`, `vm` or `init`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::FreeSpace => "fsm",
            Self::Visibility => "vm",
            Self::Init => "init",
        }
    }
}

impl Relation {
    /// Reads a relation, which is three numbers.
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (tablespace, database, number) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Some(Self { tablespace, database, number })
    }

    /// Returns the path of the file that holds `block`, relative to the data directory. `version`
    /// is the name of the cluster's folder in tablespaces, such as `PG_15_202209061`. The block
    /// lies at byte `block % SEGMENT_BLOCKS * BLOCK` of the file.
    #[must_use]
    pub fn path(&self, fork: Fork, block: u32, version: &str) -> String {
        let Self { tablespace, database, number } = self;
        let mut path = match *tablespace {
            DEFAULT => format!("base/{database}/{number}"),
            GLOBAL => format!("global/{number}"),
            _ => format!("pg_tblspc/{tablespace}/{version}/{database}/{number}"),
        };
        if fork != Fork::Main {
            path.push('_');
            path.push_str(fork.name());
        }
        match block / SEGMENT_BLOCKS {
            0 => path,
            segment => format!("{path}.{segment}"),
        }
    }
}
