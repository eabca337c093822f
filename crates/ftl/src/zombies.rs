//! Zombies: pages whose data are live, but whose new version waits in the host's cache. The host
//! says which they are; nothing but the choice of victims and places depends on it.

use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::page_map::{MAP_AHEAD, State, UNMAPPED, for_words, live_words};
use crate::table::{Table, prefetch};
use crate::track::{Tracker, bytes_of};

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

/// The zombies of a layer: one bit a page here, one count a block in the block table.
pub(crate) struct Zombies {
    /// One bit a ppn; only live pages have it.
    bits: Table<u64>,
    /// Which of the pages on their way from a victim are zombies.
    moving: Box<[bool]>,
    /// Whether any of them is.
    any_moving: bool,
    pub(crate) counts: ZombieCounts,
}

impl Zombies {
    /// No zombies on a drive of this shape; `None` where the system has not the memory.
    pub(crate) fn new(geometry: &Geometry) -> Option<Self> {
        Some(Self {
            bits: Table::new(live_words(geometry))?,
            moving: vec![false; geometry.pages_per_block() as usize].into(),
            any_moving: false,
            counts: ZombieCounts::default(),
        })
    }

    /// Bytes on a drive of this shape, with their counts in the block table.
    pub(crate) fn bytes(geometry: &Geometry) -> u64 {
        Table::<u64>::bytes_for(live_words(geometry))
            + bytes_of::<bool>(geometry.pages_per_block() as usize)
            + bytes_of::<u16>(geometry.blocks() as usize)
    }

    pub(crate) fn holds(&self, ppn: u32) -> bool {
        self.bits[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1
    }

    pub(crate) fn set(&mut self, ppn: u32) {
        self.bits[(ppn >> 6) as usize] |= 1 << (ppn & 63);
    }

    pub(crate) fn clear(&mut self, ppn: u32) {
        self.bits[(ppn >> 6) as usize] &= !(1 << (ppn & 63));
    }

    /// The ppns of all zombies, ascending.
    pub(crate) fn all(&self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.counts.known as usize);
        for (word, &bits) in self.bits.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                all.push((word * 64) as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        all
    }

    /// The pages at these ppns, leaving out [`UNMAPPED`], are dead: returns how many were zombies.
    #[inline(never)]
    fn died(&mut self, blocks: &mut BlockTable, old: &[u32], offset_bits: u32) -> u64 {
        /// How far ahead of a dead page its bit is fetched, in pages.
        const AHEAD: usize = 24;
        let mut dead = 0;
        if self.counts.known == 0 {
            return 0;
        }
        for (index, &ppn) in old.iter().enumerate() {
            if let Some(&ahead) = old.get(index + AHEAD) {
                prefetch(&self.bits, (ahead >> 6) as usize);
            }
            if ppn != UNMAPPED && self.holds(ppn) {
                self.clear(ppn);
                blocks.zombies_mut()[(ppn >> offset_bits) as usize] -= 1;
                dead += 1;
            }
        }
        self.counts.known -= dead;
        dead
    }
}

impl<T: Tracker> State<T> {
    pub(crate) fn is_zombie(&self, ppn: u32) -> bool {
        self.zombies.as_ref().is_some_and(|zombies| zombies.holds(ppn))
    }

    /// Marks `pages` as zombies where they have data, and are not yet.
    pub(crate) fn mark_zombies(&mut self, pages: &[u32]) {
        let bits = self.geometry.offset_bits();
        let Some(zombies) = &mut self.zombies else { return };
        // Two passes, each with one table to wait for: first the map, then the zombies.
        let places = &mut *self.old;
        let mut rest = pages;
        while !rest.is_empty() {
            let count = rest.len().min(places.len());
            for (index, place) in places[..count].iter_mut().enumerate() {
                if let Some(&ahead) = rest.get(index + MAP_AHEAD) {
                    prefetch(&self.map, ahead as usize);
                }
                *place = self.map[rest[index] as usize];
                prefetch(&zombies.bits, (*place >> 6) as usize);
            }
            for &ppn in &places[..count] {
                if ppn == UNMAPPED || zombies.holds(ppn) {
                    continue;
                }
                zombies.set(ppn);
                zombies.counts.marked += 1;
                zombies.counts.known += 1;
                let block = ppn >> bits;
                self.blocks.zombies_mut()[block as usize] += 1;
                if T::FOLLOWS_ZOMBIES && self.blocks.is_candidate(block) {
                    self.tracker.zombie_marked(&self.blocks, block);
                }
            }
            rest = &rest[count..];
        }
    }

    /// Makes zombies among `pages` live again.
    pub(crate) fn revive_zombies(&mut self, pages: &[u32]) {
        for &page in pages {
            let ppn = self.map[page as usize];
            if ppn != UNMAPPED && self.is_zombie(ppn) {
                self.revive(ppn);
            }
        }
    }

    /// Makes all zombies live again.
    pub(crate) fn revive_all_zombies(&mut self) {
        let all = self.zombies.as_ref().map_or_else(Vec::new, Zombies::all);
        all.into_iter().for_each(|ppn| self.revive(ppn));
    }

    fn revive(&mut self, ppn: u32) {
        let Some(zombies) = &mut self.zombies else { return };
        zombies.clear(ppn);
        zombies.counts.revived += 1;
        zombies.counts.known -= 1;
        let block = ppn >> self.geometry.offset_bits();
        self.blocks.zombies_mut()[block as usize] -= 1;
        if T::FOLLOWS_ZOMBIES && self.blocks.is_candidate(block) {
            self.tracker.zombie_revived(&self.blocks, block);
        }
    }

    /// The pages at the ppns `old` are about to die; returns how many are zombies.
    #[inline]
    pub(crate) fn bury_zombies(&mut self, old: &[u32]) -> u64 {
        match &mut self.zombies {
            Some(zombies) => zombies.died(&mut self.blocks, old, self.geometry.offset_bits()),
            None => 0,
        }
    }

    /// Takes the zombies of `victim`, whose live pages are about to move, off it.
    #[inline]
    pub(crate) fn lift_zombies(&mut self, victim: BlockId) {
        let Some(zombies) = &mut self.zombies else { return };
        let count = std::mem::take(&mut self.blocks.zombies_mut()[victim as usize]);
        zombies.any_moving = count > 0;
        if count == 0 {
            return;
        }
        zombies.counts.copied += u64::from(count);
        let first = (victim as usize) << self.geometry.offset_bits();
        let mut place = 0;
        for_words(first, self.geometry.pages_per_block() as usize, |word, mask| {
            let mut live = self.live[word] & mask;
            while live != 0 {
                let bit = live & live.wrapping_neg();
                zombies.moving[place] = zombies.bits[word] & bit != 0;
                place += 1;
                live ^= bit;
            }
            zombies.bits[word] &= !mask;
        });
    }

    /// Whether the `index`-th of the pages on their way is a zombie.
    #[inline]
    pub(crate) fn moves_zombie(&self, index: usize) -> bool {
        let moving = self.zombies.as_ref().filter(|zombies| zombies.any_moving);
        moving.is_some_and(|zombies| zombies.moving[index])
    }

    /// A zombie on its way has come to `ppn`, on an open block.
    pub(crate) fn mark_moved_zombie(&mut self, ppn: u32) {
        if let Some(zombies) = &mut self.zombies {
            zombies.set(ppn);
            let block = ppn >> self.geometry.offset_bits();
            self.blocks.zombies_mut()[block as usize] += 1;
        }
    }

    /// The pages `from..to` of those on their way have come to the ppns from `first` on.
    #[inline]
    pub(crate) fn set_down_zombies(&mut self, first: u32, from: usize, to: usize) {
        if self.zombies.as_ref().is_some_and(|zombies| zombies.any_moving) {
            for (ppn, index) in (first..).zip(from..to) {
                if self.moves_zombie(index) {
                    self.mark_moved_zombie(ppn);
                }
            }
        }
    }

    /// Whether only live pages are zombies, and the counts say how many.
    pub(crate) fn audit_zombies(&self) -> Result<(), String> {
        let Some(zombies) = &self.zombies else { return Ok(()) };
        let offset_bits = self.geometry.offset_bits();
        let dead =
            zombies.bits.iter().zip(&*self.live).position(|(zombie, live)| zombie & !live != 0);
        if let Some(word) = dead {
            return Err(format!("block {} has a dead zombie", (word * 64) >> offset_bits));
        }
        let mut known = 0;
        for block in 0..self.geometry.blocks() {
            let first = (block as usize) << offset_bits;
            let mut zombies_there = 0;
            for_words(first, self.geometry.pages_per_block() as usize, |word, mask| {
                zombies_there += (zombies.bits[word] & mask).count_ones();
            });
            if zombies_there != u32::from(self.blocks.zombies(block)) {
                return Err(format!(
                    "block {block} holds {zombies_there} zombies, the table says {}",
                    self.blocks.zombies(block)
                ));
            }
            known += u64::from(zombies_there);
        }
        if known != zombies.counts.known {
            return Err(format!("{known} zombies, {} counted", zombies.counts.known));
        }
        Ok(())
    }
}
