//! A drive's report on its state, and its map of blocks.

use flashgc_base::counts::Counts;
use flashgc_ftl::{Counters, Geometry, StreamTotals, ZombieCounts};

use super::{Drive, Opened, PLANE, Recovery};
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
    /// The failures that durable data survive.
    pub durability: Durability,
    /// The pages that the host wrote, the pages copied, the blocks erased and so on, since the drive was
    /// made.
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
    /// The zombies; `None` if no policy asks for them.
    pub zombies: Option<ZombieCounts>,
    /// The totals of each stream since the drive was made, or last recovered; `None` if writes have no
    /// streams.
    pub streams: Option<StreamTotals>,
    /// The number of blocks that bear no more erases.
    pub bad_blocks: u32,
    /// The most bad blocks that the drive survives, as far as this is known; `None` if blocks bear any
    /// number of erases.
    pub spare_blocks: Option<u32>,
    /// The erases that a block bears on average; `None` if it bears any number.
    pub endurance: Option<u64>,
    /// The erases of the block with the fewest.
    pub least_erases: u32,
    /// The erases of the block with the most.
    pub most_erases: u32,
    /// The reads of pages that failed, since the drive was made.
    pub media_errors: u64,
    /// The counts since the drive was opened.
    pub opened: Opened,
    /// The openings since the drive was made.
    pub power_cycles: u64,
    /// The openings of a drive that had not been closed.
    pub unsafe_shutdowns: u64,
    /// The result of recovery, if policies began anew: the drive had not been closed, or could not store
    /// a policy.
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
    /// It bears no more erases.
    Bad = 3,
}

/// A block in the map of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The state of the block.
    pub state: BlockState,
    /// The class that it was opened for last.
    pub class: u8,
    /// The number of pages with current data.
    pub valid: u16,
    /// The number of zombies among the valid pages.
    pub zombies: u16,
    /// The number of erases so far.
    pub erases: u32,
}

impl Drive {
    /// Returns the drive's state and counts.
    pub fn stat(&self) -> Report {
        let Superblock { uuid, power_cycles, unsafe_shutdowns, media_errors, .. } = self.copies.now;
        let (wear, counts) = (self.map.wear(), self.map.counts());
        let erases = self.map.blocks(PLANE).erase_counts();
        let limits = wear.map(|wear| wear.limits());
        Report {
            uuid,
            geometry: self.zones.geometry,
            durability: self.durability,
            counters: self.map.counters(),
            usage: self.copies.now.usage.plus(&self.usage),
            decisions: self.map.decisions(),
            free_blocks: self.map.free_blocks(PLANE),
            kept_erased: self.kept_erased,
            mapped_pages: self.map.valid_pages(PLANE),
            zombies: counts.zombies,
            streams: counts.streams,
            bad_blocks: wear.map_or(0, |wear| wear.bad_blocks()),
            spare_blocks: wear.map(|wear| wear.reserve()),
            endurance: limits.map(|limits| {
                limits.iter().map(|&limit| u64::from(limit)).sum::<u64>() / limits.len() as u64
            }),
            least_erases: erases.iter().copied().min().unwrap_or_default(),
            most_erases: erases.iter().copied().max().unwrap_or_default(),
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
        let table = self.map.blocks(PLANE);
        let wear = self.map.wear();
        let counts_zombies = !table.zombie_counts().is_empty();
        let classes = 0..self.map.open_blocks() as u8;
        let open: Vec<u32> = classes
            .filter_map(|class| self.map.open_block(PLANE, class))
            .map(|open| open.block)
            .collect();
        (0..).zip(&self.blocks).map(move |(block, info)| Block {
            state: match () {
                () if wear.is_some_and(|wear| wear.is_bad(block)) => BlockState::Bad,
                () if open.contains(&block) => BlockState::Open,
                () if info.is_written => BlockState::Closed,
                () => BlockState::Erased,
            },
            class: info.class,
            valid: table.valid(block),
            zombies: if counts_zombies { table.zombies(block) } else { 0 },
            erases: table.erase_count(block),
        })
    }
}
