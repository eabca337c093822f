//! Write frontiers: where host writes and copies go, and how a collection makes room for them.

use std::fmt;

use flashgc_base::naming::choice;
use flashgc_base::refuse_if;
use flashgc_base::spec::{Param, Params, Spec, SpecError};

/// The write frontier of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frontier {
    /// One block takes host writes and copies. A victim keeps its own valid pages, rewritten to
    /// its front, and takes host writes behind them. No pool of erased blocks.
    Single,
    /// One block, the external frontier, takes host writes. Another, the internal frontier, takes
    /// the copies. If the valid pages of a victim fit in the internal frontier, the victim is
    /// erased and becomes the external frontier. If not, it becomes the new internal frontier, and
    /// the collector goes on. No pool of erased blocks.
    Double,
    /// Host writes fill their own block, then the rest of the block that copies have partly filled.
    /// A collection takes victims until their invalid pages make up a block. It compacts the
    /// victims, the last one first: their valid pages fill one block after the other. One victim is
    /// left erased. The host writes first to this block, then to the block that the copies have
    /// partly filled. No pool of erased blocks.
    Compact,
    /// One block for host writes and one for copies, taken from a pool of erased blocks in the
    /// order of the block allocation. The collector runs while the pool is at its low-water mark or
    /// below.
    Pool {
        /// Erased blocks that the collector keeps in the pool.
        low: u32,
    },
    /// One block for host writes and copies alike, taken from a pool as for [`Frontier::Pool`]: a
    /// block holds copied pages next to pages that the host wrote.
    Mixed {
        /// Erased blocks that the collector keeps in the pool.
        low: u32,
    },
}

/// The entry of one frontier in listings and help texts.
pub struct FrontierInfo {
    /// The name people type.
    pub name: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// The parameters that the frontier takes.
    pub params: &'static [Param],
}

static FRONTIERS: &[FrontierInfo] = &[
    FrontierInfo {
        name: "single",
        summary: "host writes and copies share one block (Van Houdt 2013, section 2.1)",
        params: &[],
    },
    FrontierInfo {
        name: "double",
        summary: "host writes and copies in separate blocks, no pool (Van Houdt 2013, section 2.1)",
        params: &[],
    },
    FrontierInfo {
        name: "compact",
        summary: "copies fill separate blocks, and host writes fill the rest of those (Haas et al. \
                  2025)",
        params: &[],
    },
    FrontierInfo {
        name: "pool",
        summary: "host writes and copies in separate blocks, fed from a pool of erased blocks, as \
                  in real drives",
        params: &[LOW],
    },
    FrontierInfo {
        name: "mixed",
        summary: "host writes and copies share one block, fed from a pool of erased blocks",
        params: &[LOW],
    },
];

const LOW: Param = Param::integer("low", (1, u32::MAX as u64 / 2), Some("2"))
    .help("low-water mark: the number of erased blocks at which collections start");

/// Every frontier, in the order in which listings show them.
pub fn frontiers() -> &'static [FrontierInfo] {
    FRONTIERS
}

impl Frontier {
    /// Reads `text`, for example `double` or `pool:low=4`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("write frontier", FRONTIERS, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        Ok(match info.name {
            "single" => Self::Single,
            "double" => Self::Double,
            "compact" => Self::Compact,
            "mixed" => Self::Mixed { low: params.integer("low") as u32 },
            _ => Self::Pool { low: params.integer("low") as u32 },
        })
    }

    /// Checks that this frontier has a pool of erased blocks, which `user` needs because of
    /// `reason`.
    ///
    /// # Errors
    /// A frontier without a pool.
    pub(crate) fn check_pool(self, user: impl fmt::Display, reason: &str) -> Result<(), SpecError> {
        refuse_if!(
            !self.has_pool(),
            choice("frontier", "pool"),
            "{user} needs the pool or mixed frontier, found {}: {reason}",
            choice("frontier", self)
        );
        Ok(())
    }

    /// Returns the blocks of a plane that can never hold host data: the blocks that are kept erased,
    /// and the open blocks. `of_placement` has those of a placement, which replace the two open blocks
    /// of a pool; `levels` says that wear levelling has an open block of its own.
    pub fn blocks_kept(self, of_placement: Option<u32>, levels: bool) -> u32 {
        let levelled = u32::from(levels);
        match self {
            Self::Single => 1,
            Self::Double | Self::Compact => 2,
            Self::Pool { low } => low.saturating_add(of_placement.unwrap_or(2) + levelled),
            Self::Mixed { low } => low.saturating_add(1 + levelled),
        }
    }

    /// Returns `true` if erased blocks wait in a pool.
    pub fn has_pool(self) -> bool {
        matches!(self, Self::Pool { .. } | Self::Mixed { .. })
    }
}

/// Writes the spec with every parameter.
impl fmt::Display for Frontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("single"),
            Self::Double => f.write_str("double"),
            Self::Compact => f.write_str("compact"),
            Self::Pool { low } => write!(f, "pool:low={low}"),
            Self::Mixed { low } => write!(f, "mixed:low={low}"),
        }
    }
}
