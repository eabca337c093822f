//! What a drive says of itself.

use flashgc_ftl::{Counters, Geometry, StreamTotals, ZombieCounts};

use super::{Drive, PLANE, Recovery};
use crate::settings::Durability;
use crate::superblock::Superblock;
use crate::usage::Usage;

/// The state of a drive and what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Names the drive.
    pub uuid: [u8; 16],
    /// Its shape.
    pub geometry: Geometry,
    /// What it survives.
    pub durability: Durability,
    /// Pages of the map: written by the host, copied, blocks erased and so on, since the drive was made.
    pub counters: Counters,
    /// What hosts asked for since the drive was made.
    pub usage: Usage,
    /// A digest of every decision since the drive was made, or last recovered.
    pub decisions: u64,
    /// Erased blocks.
    pub free_blocks: u32,
    /// Logical pages with data.
    pub mapped_pages: u64,
    /// Zombies; `None` where no policy asks for them.
    pub zombies: Option<ZombieCounts>,
    /// What each stream cost since the drive was made, or last recovered; `None` where writes have no
    /// streams.
    pub streams: Option<StreamTotals>,
    /// Blocks that bear no more erases.
    pub bad_blocks: u32,
    /// Bad blocks beyond which the drive's life is over, as far as this is known; `None` where blocks
    /// bear any number of erases.
    pub spare_blocks: Option<u32>,
    /// Erases that a block bears on average; `None` where it is any number.
    pub endurance: Option<u64>,
    /// Erases of the block with the fewest.
    pub least_erases: u32,
    /// Erases of the block with the most.
    pub most_erases: u32,
    /// Pages that could not be read, since the drive was made.
    pub media_errors: u64,
    /// Syncs since the drive was opened.
    pub syncs: u64,
    /// Checkpoints since the drive was opened.
    pub checkpoints: u64,
    /// Pages whose hints came after the host had written them, since the drive was opened.
    pub late_hints: u64,
    /// Openings since the drive was made.
    pub power_cycles: u64,
    /// Of these, those of a drive that had not been closed.
    pub unsafe_shutdowns: u64,
    /// What opening came to, where policies began anew: the drive had not been closed, or could not
    /// store a policy.
    pub recovery: Option<Recovery>,
    /// Why the drive is read-only; `None` while it is not.
    pub read_only: Option<String>,
    /// Blocks that stay erased give their room back to the host's file system.
    pub gives_room_back: bool,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Erased, in the pool.
    Erased = 0,
    /// Pages are written to it.
    Open = 1,
    /// Full, or given up: it may be collected.
    Closed = 2,
    /// It bears no more erases.
    Bad = 3,
}

/// A block as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub state: BlockState,
    /// The class that it was opened for last.
    pub class: u8,
    /// Pages with current data.
    pub valid: u16,
    /// Zombies among them.
    pub zombies: u16,
    /// Erases so far.
    pub erases: u32,
}

impl Drive {
    /// The state and the counts.
    pub fn stat(&self) -> Report {
        let Superblock { uuid, power_cycles, unsafe_shutdowns, media_errors, .. } = self.copies.now;
        let wear = self.map.wear();
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
            mapped_pages: self.map.valid_pages(PLANE),
            zombies: self.map.zombies(),
            streams: self.map.stream_totals().cloned(),
            bad_blocks: wear.map_or(0, |wear| wear.bad_blocks()),
            spare_blocks: wear.map(|wear| wear.reserve()),
            endurance: limits.map(|limits| {
                limits.iter().map(|&limit| u64::from(limit)).sum::<u64>() / limits.len() as u64
            }),
            least_erases: erases.iter().copied().min().unwrap_or_default(),
            most_erases: erases.iter().copied().max().unwrap_or_default(),
            media_errors: media_errors + self.stat.media_errors,
            syncs: self.stat.syncs,
            checkpoints: self.stat.checkpoints,
            late_hints: self.stat.late_hints,
            power_cycles,
            unsafe_shutdowns,
            recovery: self.recovery,
            read_only: self.why_read_only(),
            gives_room_back: self.gives_room_back,
        }
    }

    /// All blocks, in order.
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
