//! What a translation layer is from outside, whatever its mapping and policy: what it is made from,
//! what it does, what it counts and how it fails.

use crate::allocation::Allocation;
use crate::blocks::{BlockId, BlockTable};
use crate::endurance::{Lifespan, Wear};
use crate::fill::Fill;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, GeometryError};
use crate::levelling::{Levelled, Leveller, Levelling};
use crate::page_map::table_bytes;
use crate::placement::{Placed, PlacementSpec};
use crate::scheme::{Costs, Duplicates, Scheme};
use crate::track::bytes_of;
use crate::zombies::{ZombieCounts, Zombies};
use flashgc_base::residency::Residency;
use flashgc_base::spec::SpecError;

/// Why the translation layer cannot be made, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FtlError {
    /// The shape of the drive does not work.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A policy or a frontier was asked for wrongly.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The system has not enough memory for the map.
    #[error("no memory for a map of {pages} pages; hint: a drive needs about 9 bytes a page")]
    Memory {
        /// Logical pages of the drive.
        pages: u32,
    },
    /// A command addresses a page that the drive does not have.
    #[error("page {page} is beyond the drive's {logical_pages} logical pages")]
    OutOfRange {
        /// The page addressed.
        page: u32,
        /// The number of pages there are.
        logical_pages: u32,
    },
    /// Collecting garbage frees nothing.
    #[error("no reclaimable space: {0}")]
    NoSpace(String),
    /// The drive has come to its end of life.
    #[error("the drive is worn out and read-only: {bad_blocks} of its blocks are bad")]
    ReadOnly {
        /// How many blocks are worn out.
        bad_blocks: u32,
    },
    /// A policy broke its contract.
    #[error("the victim policy picked block {block}, which {why}")]
    BadPick {
        /// The block it picked.
        block: u64,
        /// Why it may not be picked.
        why: &'static str,
    },
}

/// What a translation layer is made from.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The drive's shape.
    pub geometry: Geometry,
    /// Where writes go.
    pub frontier: Frontier,
    /// Which erased block of the pool is used next.
    pub allocation: Allocation,
    /// How cold data are moved to level wear; `None` for not at all.
    pub levelling: Option<Levelling>,
    /// Which open block a page goes to.
    pub placement: PlacementSpec,
    /// How long the drive lives; `None` for ever.
    pub lifespan: Option<Lifespan>,
    /// What is on the drive at first.
    pub fill: Fill,
    /// Seed of the run; the victim policy, the block allocation, the endurance and the fill draw from streams of their own.
    pub seed: u64,
}

impl Layout {
    /// Blocks that can never hold host data: open ones, and those kept erased.
    pub(crate) fn blocks_kept(&self) -> u32 {
        self.frontier.blocks_kept(self.levelling, &self.placement)
    }

    /// Blocks that wait in the pool at most: at first, as none is collected beyond its mark.
    pub(crate) fn most_waiting(&self) -> u32 {
        if !self.frontier.has_pool() {
            return 0;
        }
        let promised = self.geometry.logical_pages().div_ceil(self.geometry.pages_per_block());
        self.fill.erased(self.geometry.blocks(), promised, self.blocks_kept())
    }

    /// Bytes of memory of a page-mapped layer, without what its policy keeps; with zombies if that
    /// asks for them, or the placement does.
    pub fn bytes(&self, for_zombies: bool) -> u64 {
        let placement = self.placement.make(self.geometry.logical_pages());
        let asks = placement.as_ref().is_some_and(|placement| placement.asks_for_zombies());
        let blocks = self.geometry.blocks();
        let buffers = 2 * bytes_of::<u32>(self.geometry.pages_per_block() as usize);
        table_bytes(&self.geometry)
            + BlockTable::bytes(blocks)
            + buffers
            + self.allocation.bytes(self.most_waiting())
            + self.levelling.map_or(0, |_| Leveller::bytes(blocks))
            + self.lifespan.map_or(0, |_| Wear::bytes(blocks))
            + placement.map_or(0, |placement| Placed::bytes(&*placement, blocks))
            + if asks || for_zombies { Zombies::bytes(&self.geometry) } else { 0 }
    }
}

/// Everything that has been counted since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages written by the host, those that collections wrote from its memory included.
    pub host_pages: u64,
    /// Valid pages rewritten by collections.
    pub copied_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks collected: picked by the victim policy, or to level wear.
    pub collections: u64,
    /// Pages that a TRIM found mapped and unmapped.
    pub trimmed_pages: u64,
}

impl Counters {
    /// Host writes and copies: the pages programmed.
    pub fn programs(&self) -> u64 {
        self.host_pages + self.copied_pages
    }

    /// These counts and `other`'s together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            host_pages: self.host_pages + other.host_pages,
            copied_pages: self.copied_pages + other.copied_pages,
            erases: self.erases + other.erases,
            collections: self.collections + other.collections,
            trimmed_pages: self.trimmed_pages + other.trimmed_pages,
        }
    }

    /// What has been counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages: self.host_pages - earlier.host_pages,
            copied_pages: self.copied_pages - earlier.copied_pages,
            erases: self.erases - earlier.erases,
            collections: self.collections - earlier.collections,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
        }
    }
}

/// What a map on flash came to since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapTraffic {
    /// Commands whose map entry was in memory.
    pub hits: u64,
    /// Commands whose map entry was not.
    pub misses: u64,
    /// Translation pages read.
    pub reads: u64,
    /// Translation pages programmed.
    pub writes: u64,
}

impl MapTraffic {
    /// What has been counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            hits: self.hits - earlier.hits,
            misses: self.misses - earlier.misses,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
        }
    }
}

/// How log blocks were merged since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// A log block held a whole logical block in order and became its data block.
    pub switches: u64,
    /// A log block held the first pages of a logical block in order and was completed.
    pub partials: u64,
    /// The data blocks of a log block were written anew.
    pub fulls: u64,
    /// A log block without a current page was erased.
    pub dead: u64,
    /// Log blocks chosen by their cost.
    pub picks: u64,
    /// Log blocks that were weighed to choose them.
    pub weighed: u64,
}

impl Merges {
    /// What has been counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            switches: self.switches - earlier.switches,
            partials: self.partials - earlier.partials,
            fulls: self.fulls - earlier.fulls,
            dead: self.dead - earlier.dead,
            picks: self.picks - earlier.picks,
            weighed: self.weighed - earlier.weighed,
        }
    }
}

/// A translation layer, whatever its policy: the one virtual call is at the batch.
pub trait Translation: Send {
    /// Writes `pages` in order, collecting garbage where it must. On an error the pages before
    /// the one that found no room are written.
    fn write(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        match self.write_until(pages, u64::MAX)? {
            written if written == pages.len() => Ok(()),
            _ => Err(self.read_only()),
        }
    }

    /// Writes `pages` in order, but stops before a write that needs a collection once there have
    /// been `collections` of them since the layer was made, and at the end of the drive's life.
    /// Returns how many pages it wrote.
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError>;

    /// Discards `pages`: their data are dead.
    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// Lets collections know what `memory` holds, and do with it as `scheme` says. Called before
    /// the first write, with the memory that [`Translation::swap_out`] is called with.
    ///
    /// # Errors
    /// A scheme that this mapping has no use for.
    fn share_memory(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        memory: &mut dyn Residency,
    ) -> Result<(), SpecError> {
        let _ = (costs, memory);
        scheme.check_unaware()
    }

    /// Writes `page`, which has just left `memory`; collections may leave to `memory` what it has.
    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError> {
        let _ = memory;
        self.write(&[page])
    }

    /// The host will write `pages` soon: their data are zombies, alive but not for long. Nothing is
    /// lost by a hint that is wrong, late or missing. Does nothing where neither policy nor
    /// placement asks.
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let _ = pages;
        Ok(())
    }

    /// The host takes back what it hinted of `pages`.
    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let _ = pages;
        Ok(())
    }

    /// The power fails: the host's cache is gone, and with it all hints.
    fn power_loss(&mut self) {}

    /// What has become of zombies; `None` where none are kept.
    fn zombies(&self) -> Option<ZombieCounts> {
        None
    }

    /// How worn the blocks are; `None` where they bear any number of erases.
    fn wear(&self) -> Option<&Wear>;

    /// What levelling wear has cost so far, which the counters hold too; `None` without it.
    fn levelled(&self) -> Option<Levelled> {
        None
    }

    /// Whether the drive's life is over: it is read-only, with all its data.
    fn has_ended(&self) -> bool {
        self.wear().is_some_and(Wear::has_ended)
    }

    /// The error of a drive that is read-only.
    fn read_only(&self) -> FtlError {
        FtlError::ReadOnly { bad_blocks: self.wear().map_or(0, Wear::bad_blocks) }
    }

    /// The drive's shape.
    fn geometry(&self) -> &Geometry;

    /// The block table.
    fn blocks(&self) -> &BlockTable;

    /// What has been counted so far.
    fn counters(&self) -> Counters;

    /// Whether [`Translation::read`] changes anything: callers need not tell of reads otherwise.
    fn follows_reads(&self) -> bool {
        false
    }

    /// The host reads `pages`, in order.
    fn read(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let _ = pages;
        Ok(())
    }

    /// Begins to note which pages collections copy, for [`Translation::drain_copies`].
    fn follow_copies(&mut self) {}

    /// Appends to `pages` the logical pages that collections have copied since the last call, in
    /// that order, and forgets them.
    fn drain_copies(&mut self, pages: &mut Vec<u32>) {
        let _ = pages;
    }

    /// What keeping the map on flash came to; `None` for a mapping whose map is in memory.
    fn map_traffic(&self) -> Option<MapTraffic> {
        None
    }

    /// How log blocks were merged; `None` for a mapping that has none.
    fn merges(&self) -> Option<Merges> {
        None
    }

    /// What collections did about pages in memory.
    fn duplicates(&self) -> Duplicates {
        Duplicates::default()
    }

    /// A digest of every decision so far: which block was collected, with how many valid pages.
    fn decisions(&self) -> u64;

    /// Where a logical page is: its block and its offset there; `None` if it has no data.
    fn locate(&self, page: u32) -> Option<(BlockId, u32)>;

    /// Checks every invariant; the text says which does not hold. O(physical pages).
    fn audit(&self) -> Result<(), String>;

    /// [`Translation::audit`], and whether what is kept about `memory` is true.
    fn audit_beside(&mut self, memory: &mut dyn Residency) -> Result<(), String> {
        let _ = memory;
        self.audit()
    }

    /// Bytes that a controller needs in its memory for such a map: 4 a page that is mapped by
    /// pages, 4 a block that is mapped by blocks.
    fn map_bytes(&self) -> u64 {
        4 * u64::from(self.geometry().logical_pages())
    }

    /// Bytes of memory of the map, the tables and what the policy keeps.
    fn memory_bytes(&self) -> u64;
}
