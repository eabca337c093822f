//! Zombies: pages whose data are live, but whose new version waits in the host's cache. The host
//! says which they are; nothing but the choice of victims and places depends on it.

use crate::blocks::BlockId;
use crate::geometry::Geometry;
use crate::page_map::{MAP_AHEAD, State, UNMAPPED};
use crate::table::prefetch;
use crate::track::{Tracker, bytes_of};
use flashgc_base::spec::SpecError;

/// What has become of zombies since the layer was made, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZombieCounts {
    /// Zombies now.
    pub known: u64,
    /// Live pages that a hint made zombies.
    pub marked: u64,
    /// Zombies that the host overwrote: their hints came true.
    pub overwritten: u64,
    /// Zombies that a TRIM discarded.
    pub trimmed: u64,
    /// Zombies that are live again: hints taken back, or lost with power.
    pub revived: u64,
    /// Zombies that collections copied.
    pub copied: u64,
}

impl ZombieCounts {
    /// What has been counted since `earlier`; the zombies of now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            known: self.known,
            marked: self.marked - earlier.marked,
            overwritten: self.overwritten - earlier.overwritten,
            trimmed: self.trimmed - earlier.trimmed,
            revived: self.revived - earlier.revived,
            copied: self.copied - earlier.copied,
        }
    }

    /// These counts and `other`'s together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            known: self.known + other.known,
            marked: self.marked + other.marked,
            overwritten: self.overwritten + other.overwritten,
            trimmed: self.trimmed + other.trimmed,
            revived: self.revived + other.revived,
            copied: self.copied + other.copied,
        }
    }
}

/// Set in the map entry of a zombie: the entry is looked at with every write anyway, a bit elsewhere
/// would have to be waited for.
const ZOMBIE: u32 = 1 << 31;

/// The zombies of a page-mapped layer: one bit of a map entry, and one count a block in the block
/// table.
pub(crate) struct Zombies {
    /// Which of the pages on their way from a victim are zombies.
    moving: Box<[bool]>,
    /// Whether any of them is.
    any_moving: bool,
    pub(crate) counts: ZombieCounts,
}

impl Zombies {
    /// No zombies on a drive of this shape.
    pub(crate) fn new(geometry: &Geometry) -> Result<Self, SpecError> {
        let most = (ZOMBIE - 1) >> geometry.offset_bits();
        if geometry.blocks() > most {
            return Err(SpecError::new(
                format!(
                    "blocks is {}, expected at most {most} with {} pages per block where hints are \
                     kept",
                    geometry.blocks(),
                    geometry.pages_per_block()
                ),
                "page numbers have 31 bits beside the hint",
            ));
        }
        Ok(Self {
            moving: vec![false; geometry.pages_per_block() as usize].into(),
            any_moving: false,
            counts: ZombieCounts::default(),
        })
    }

    /// Bytes on a drive of this shape, with their counts in the block table.
    pub(crate) fn bytes(geometry: &Geometry) -> u64 {
        bytes_of::<bool>(geometry.pages_per_block() as usize)
            + bytes_of::<u16>(geometry.blocks() as usize)
    }
}

/// The ppn that a map entry of a zombie, or of another page, names.
#[inline(always)]
fn untagged(entry: u32) -> u32 {
    if entry == UNMAPPED { UNMAPPED } else { entry & !ZOMBIE }
}

impl<T: Tracker> State<T> {
    /// Where the page with this map entry lies, or [`UNMAPPED`].
    #[inline(always)]
    pub(crate) fn ppn_of(&self, entry: u32) -> u32 {
        if self.zombies.is_some() { untagged(entry) } else { entry }
    }

    /// Whether `page`, which has data, is a zombie.
    pub(crate) fn is_zombie(&self, page: u32) -> bool {
        self.zombies.is_some() && self.map[page as usize] >= ZOMBIE
    }

    /// Marks `pages` as zombies where they have data, and are not yet.
    pub(crate) fn mark_zombies(&mut self, pages: &[u32]) {
        let bits = self.geometry.offset_bits();
        let Some(zombies) = &mut self.zombies else { return };
        let mut marked = 0;
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            let entry = &mut self.map[page as usize];
            if *entry >= ZOMBIE {
                continue; // is one, or has no data
            }
            let block = *entry >> bits;
            *entry |= ZOMBIE;
            marked += 1;
            self.blocks.zombies_mut()[block as usize] += 1;
            if T::FOLLOWS_ZOMBIES && self.blocks.is_candidate(block) {
                self.tracker.zombie_marked(&self.blocks, block);
            }
        }
        zombies.counts.marked += marked;
        zombies.counts.known += marked;
    }

    /// Makes zombies among `pages` live again.
    pub(crate) fn revive_zombies(&mut self, pages: impl Iterator<Item = u32>) {
        let bits = self.geometry.offset_bits();
        let Some(zombies) = &mut self.zombies else { return };
        for page in pages {
            let entry = &mut self.map[page as usize];
            if *entry < ZOMBIE || *entry == UNMAPPED {
                continue;
            }
            *entry &= !ZOMBIE;
            zombies.counts.revived += 1;
            zombies.counts.known -= 1;
            let block = *entry >> bits;
            self.blocks.zombies_mut()[block as usize] -= 1;
            if T::FOLLOWS_ZOMBIES && self.blocks.is_candidate(block) {
                self.tracker.zombie_revived(&self.blocks, block);
            }
        }
    }

    /// The pages with the map entries `old` are about to die: leaves their ppns there, and returns
    /// how many are zombies.
    #[inline]
    pub(crate) fn bury_zombies(&mut self, old: &mut [u32]) -> u64 {
        let bits = self.geometry.offset_bits();
        let Some(zombies) = self.zombies.as_mut().filter(|zombies| zombies.counts.known > 0) else {
            return 0;
        };
        let counts = self.blocks.zombies_mut();
        let mut dead = 0;
        for entry in old.iter_mut().filter(|entry| **entry >= ZOMBIE && **entry != UNMAPPED) {
            *entry &= !ZOMBIE;
            counts[(*entry >> bits) as usize] -= 1;
            dead += 1;
        }
        zombies.counts.known -= dead;
        dead
    }

    /// Takes the zombies of `victim`, whose live pages are those on their way, off it.
    #[inline]
    pub(crate) fn lift_zombies(&mut self, victim: BlockId) {
        let Some(zombies) = &mut self.zombies else { return };
        let count = std::mem::take(&mut self.blocks.zombies_mut()[victim as usize]);
        zombies.any_moving = count > 0;
        if count == 0 {
            return;
        }
        zombies.counts.copied += u64::from(count);
        let pages = &self.moving[..self.moving_len];
        for (index, (&page, zombie)) in pages.iter().zip(&mut zombies.moving).enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            *zombie = self.map[page as usize] >= ZOMBIE;
        }
    }

    /// Whether the `index`-th of the pages on their way is a zombie.
    #[inline]
    pub(crate) fn moves_zombie(&self, index: usize) -> bool {
        let moving = self.zombies.as_ref().filter(|zombies| zombies.any_moving);
        moving.is_some_and(|zombies| zombies.moving[index])
    }

    /// `pages`, those on their way from the `from`-th on, have come to `block`, which is open.
    #[inline]
    pub(crate) fn set_down_zombies(&mut self, pages: &[u32], from: usize, block: BlockId) {
        let Some(zombies) = self.zombies.as_ref().filter(|zombies| zombies.any_moving) else {
            return;
        };
        let mut count = 0;
        for (&page, &zombie) in pages.iter().zip(&zombies.moving[from..]) {
            if zombie {
                self.map[page as usize] |= ZOMBIE;
                count += 1;
            }
        }
        self.blocks.zombies_mut()[block as usize] += count;
    }

    /// Whether the counts say how many zombies there are.
    pub(crate) fn audit_zombies(&self) -> Result<(), String> {
        let Some(zombies) = &self.zombies else { return Ok(()) };
        let mut counted = vec![0u16; self.geometry.blocks() as usize];
        for &entry in self.map.iter().filter(|&&entry| entry >= ZOMBIE && entry != UNMAPPED) {
            counted[(untagged(entry) >> self.geometry.offset_bits()) as usize] += 1;
        }
        let wrong = counted.iter().zip(self.blocks.zombie_counts()).position(|(a, b)| a != b);
        if let Some(block) = wrong {
            return Err(format!(
                "block {block} holds {} zombies, the table says {}",
                counted[block],
                self.blocks.zombie_counts()[block]
            ));
        }
        let known: u64 = counted.iter().map(|&count| u64::from(count)).sum();
        if known != zombies.counts.known {
            return Err(format!("{known} zombies, {} counted", zombies.counts.known));
        }
        Ok(())
    }
}
