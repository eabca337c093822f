//! Relations and the files that hold them.

use super::fields::Fields;

/// Bytes of a relation's block.
pub const BLOCK: u64 = 8192;

/// Blocks in one file of a relation: 1 GiB.
pub const SEGMENT_BLOCKS: u32 = 131_072;

/// The tablespace `pg_default`.
const DEFAULT: u32 = 1663;

/// The tablespace `pg_global`.
const GLOBAL: u32 = 1664;

/// What the log calls a relation: its relfilenode. A table that is rewritten gets another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation {
    /// The oid of its tablespace.
    pub tablespace: u32,
    /// The oid of its database; 0 for relations that all databases share.
    pub database: u32,
    /// The number of its files.
    pub number: u32,
}

/// The files of a relation are of four kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fork {
    /// Its rows or its index.
    #[default]
    Main,
    /// The map of free space.
    FreeSpace,
    /// The map of what all transactions see.
    Visibility,
    /// What an unlogged relation is after a crash.
    Init,
}

impl Fork {
    /// The fork that PostgreSQL gives this number.
    #[must_use]
    pub fn numbered(number: u32) -> Option<Self> {
        [Self::Main, Self::FreeSpace, Self::Visibility, Self::Init].get(number as usize).copied()
    }

    /// What PostgreSQL calls it: `main`, `fsm`, `vm` or `init`.
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
    /// The next three numbers.
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (tablespace, database, number) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Some(Self { tablespace, database, number })
    }

    /// The file that holds `block`, in the data directory. `version` is the name of the folder that a
    /// cluster has in every tablespace that was created, as `PG_15_202209061`. The block lies at
    /// `block % SEGMENT_BLOCKS * BLOCK` there.
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
