//! A drive's report on its state, and its map of blocks.

use flashgc_base::counts::Counts;
use flashgc_ftl::{BlockTable, Counters, Geometry, StreamTotals, ZombieCounts};

use super::{Drive, Opened, Recovery};
use crate::settings::Durability;
use crate::superblock::Superblock;
use crate::usage::Usage;

/// The state of a drive and what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The UUID of the drive.
    pub uuid: [u8; 16],
    /// The shape of the drive.
    pub geometry: Geometry,
    /// The number of dies of a stripe, one of which has the parity; `None` without parity.
    pub stripe: Option<u32>,
    /// The kind of failure that flushed data survive.
    pub durability: Durability,
    /// The pages that the host wrote, the pages copied, the blocks erased and so on, since the
    /// drive was made.
    pub counters: Counters,
    /// The hosts' use of the drive since it was made.
    pub usage: Usage,
    /// A digest of every decision since the drive was made, or last recovered.
    pub decisions: u64,
    /// The number of erased blocks.
    pub free_blocks: u32,
    /// The number of blocks that stay erased between two collections.
    pub kept_erased: u32,
    /// The number of logical pages with data.
    pub mapped_pages: u64,
    /// The counts of zombies; `None` if no policy uses zombies.
    pub zombies: Option<ZombieCounts>,
    /// The totals of each stream since the drive was made, or last recovered; `None` if writes have
    /// no streams.
    pub streams: Option<StreamTotals>,
    /// The number of blocks that are worn out.
    pub bad_blocks: u32,
    /// The most bad blocks that the drive survives, as far as this is known; `None` without an
    /// endurance.
    pub spare_blocks: Option<u32>,
    /// The mean number of erases until a block is worn out; `None` without an endurance.
    pub endurance: Option<u64>,
    /// The number of erases of the block with the fewest erases.
    pub least_erases: u32,
    /// The number of erases of the block with the most erases.
    pub most_erases: u32,
    /// The number of page reads that failed since the drive was made.
    pub media_errors: u64,
    /// The counts since the drive was opened.
    pub opened: Opened,
    /// The number of times that the drive was opened since it was made.
    pub power_cycles: u64,
    /// The number of times that the drive was opened without having been closed before.
    pub unsafe_shutdowns: u64,
    /// The result of recovery; `None` if the policies continue from a clean shutdown. The drive
    /// recovers if it was not closed, or if the state of a policy could not be saved.
    pub recovery: Option<Recovery>,
    /// The reason why the drive is read-only; `None` while it takes writes.
    pub read_only: Option<String>,
    /// `true` if blocks that stay erased give their room back to the host's file system.
    pub gives_room_back: bool,
}

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Erased, in the pool.
    Erased = 0,
    /// Pages are programmed into it.
    Open = 1,
    /// Full, or given up: it may be collected.
    Closed = 2,
    /// Worn out: it cannot be erased any more.
    Bad = 3,
}

/// A block in the map of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The state of the block.
    pub state: BlockState,
    /// The class for which the block was last opened.
    pub class: u8,
    /// The number of pages with current data.
    pub valid: u32,
    /// The number of zombies among the valid pages.
    pub zombies: u32,
    /// The number of erases so far.
    pub erases: u32,
}

impl Report {
    /// Returns the pages of a block, those of its parity included.
    pub fn pages_of_block(&self) -> u64 {
        self.with_parity(self.geometry.pages_per_block().into())
    }

    /// Returns the pages that were programmed since the drive was made: those of the host, copies, and
    /// the parity of both.
    pub fn programmed_pages(&self) -> u64 {
        self.with_parity(self.counters.host_pages + self.counters.copied_pages)
    }

    fn with_parity(&self, pages: u64) -> u64 {
        pages + self.stripe.map_or(0, |parts| pages / u64::from(parts - 1))
    }
}

impl Drive {
    /// Returns the drive's state and counts.
    pub fn stat(&self) -> Report {
        let Superblock { uuid, power_cycles, unsafe_shutdowns, media_errors, .. } = self.copies.now;
        let (wear, counts) = (self.map.wear(), self.map.counts());
        let planes = 0..self.map.planes();
        let erases = planes.clone().flat_map(|plane| self.map.blocks(plane).erase_counts());
        let limits = wear.map(|wear| wear.limits());
        Report {
            uuid,
            geometry: self.zones.geometry,
            stripe: self.zones.parity.map(|parity| parity.parts),
            durability: self.durability,
            counters: self.map.counters(),
            usage: self.copies.now.usage.plus(&self.usage),
            decisions: self.map.decisions(),
            free_blocks: planes.clone().map(|plane| self.map.free_blocks(plane)).sum(),
            kept_erased: self.kept_erased,
            mapped_pages: planes.map(|plane| self.map.valid_pages(plane)).sum(),
            zombies: counts.zombies,
            streams: counts.streams,
            bad_blocks: wear.map_or(0, |wear| wear.bad_blocks()),
            spare_blocks: wear.map(|wear| wear.reserve()),
            endurance: limits.map(|limits| {
                limits.iter().map(|&limit| u64::from(limit)).sum::<u64>() / limits.len() as u64
            }),
            least_erases: erases.clone().copied().min().unwrap_or_default(),
            most_erases: erases.copied().max().unwrap_or_default(),
            media_errors: media_errors + self.media_errors,
            opened: self.opened,
            power_cycles,
            unsafe_shutdowns,
            recovery: self.recovery,
            read_only: self.why_read_only(),
            gives_room_back: self.gives_room_back,
        }
    }

    /// Returns all blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        let (wear, of_plane) = (self.map.wear(), self.first_of(1));
        let classes = 0..self.map.open_blocks() as u8;
        let planes = 0..self.map.planes();
        let open: Vec<u32> = planes
            .flat_map(|plane| classes.clone().map(move |class| (plane, class)))
            .filter_map(|(plane, class)| self.map.open_block(plane, class))
            .map(|open| open.block)
            .collect();
        let zombies_of = |(table, block): (&BlockTable, u32)| match table.zombie_counts() {
            [] => 0,
            _ => table.zombies(block),
        };
        let place = move |block: u32| (self.map.blocks(block / of_plane), block % of_plane);
        (0..).zip(&self.blocks).map(move |(block, info)| Block {
            state: match () {
                () if wear.is_some_and(|wear| wear.is_bad(block)) => BlockState::Bad,
                () if open.contains(&block) => BlockState::Open,
                () if info.is_written => BlockState::Closed,
                () => BlockState::Erased,
            },
            class: info.class,
            valid: place(block).0.valid(place(block).1),
            zombies: zombies_of(place(block)),
            erases: place(block).0.erase_count(place(block).1),
        })
    }
}
