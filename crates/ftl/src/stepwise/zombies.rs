//! Zombies on the planes: as on the counting drive, with their counts in the planes' block tables.
//! Which pages they are is told by where they lie: a page may be under way and have data elsewhere.

use super::map::PlaneMap;
use crate::geometry::Geometry;
use crate::page_map::{MAP_AHEAD, UNMAPPED, live_words};
use crate::table::{Table, prefetch};
use crate::track::{Tracker, bytes_of};
use crate::victim::VictimPolicy;
use crate::zombies::ZombieCounts;

/// One bit a ppn; only live pages have it.
pub(super) struct Zombies {
    bits: Table<u64>,
    pub(super) counts: ZombieCounts,
}

impl Zombies {
    /// No zombies on a drive of this shape; `None` where the system has not the memory.
    pub(super) fn new(geometry: &Geometry) -> Option<Self> {
        let bits = Table::new(live_words(geometry))?;
        Some(Self { bits, counts: ZombieCounts::default() })
    }

    /// Bytes on a drive of this shape, with their counts in the block tables.
    pub(super) fn bytes(geometry: &Geometry) -> u64 {
        Table::<u64>::bytes_for(live_words(geometry)) + bytes_of::<u16>(geometry.blocks() as usize)
    }

    fn holds(&self, ppn: u32) -> bool {
        self.bits[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1
    }

    fn set(&mut self, ppn: u32) {
        self.bits[(ppn >> 6) as usize] |= 1 << (ppn & 63);
    }

    fn clear(&mut self, ppn: u32) {
        self.bits[(ppn >> 6) as usize] &= !(1 << (ppn & 63));
    }

    /// The ppns of all zombies, ascending.
    fn all(&self) -> Vec<u32> {
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
}

/// What has become of a zombie that left its place.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Overwritten,
    Trimmed,
    /// It is alive at another place.
    Copied,
}

impl<P: VictimPolicy> PlaneMap<P> {
    pub(super) fn is_zombie(&self, ppn: u32) -> bool {
        self.zombies.as_ref().is_some_and(|zombies| zombies.holds(ppn))
    }

    /// Marks `pages`, all of the drive, as zombies where they have data.
    pub(super) fn mark(&mut self, pages: &[u32]) {
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.tables.map, ahead as usize);
            }
            let ppn = self.tables.map[page as usize];
            if ppn == UNMAPPED || self.is_zombie(ppn) {
                continue;
            }
            self.set_zombie(ppn);
            if let Some(zombies) = &mut self.zombies {
                zombies.counts.marked += 1;
                zombies.counts.known += 1;
            }
            let (plane, block) = self.tables.place_of(ppn);
            let held = &mut self.planes[plane as usize];
            if P::Tracker::FOLLOWS_ZOMBIES && held.blocks.is_candidate(block) {
                held.tracker.zombie_marked(&held.blocks, block);
            }
        }
    }

    /// The page at `ppn`, programmed there just now or hinted, is a zombie.
    pub(super) fn set_zombie(&mut self, ppn: u32) {
        if let Some(zombies) = &mut self.zombies {
            zombies.set(ppn);
            let (plane, block) = self.tables.place_of(ppn);
            self.planes[plane as usize].blocks.zombies_mut()[block as usize] += 1;
        }
    }

    /// The page at `ppn` leaves it.
    #[inline]
    pub(super) fn bury(&mut self, ppn: u32, fate: Fate) {
        if self.is_zombie(ppn) {
            self.unset_zombie(ppn, fate);
        }
    }

    fn unset_zombie(&mut self, ppn: u32, fate: Fate) {
        let Some(zombies) = &mut self.zombies else { return };
        zombies.clear(ppn);
        match fate {
            Fate::Overwritten => zombies.counts.overwritten += 1,
            Fate::Trimmed => zombies.counts.trimmed += 1,
            Fate::Copied => zombies.counts.copied += 1,
        }
        zombies.counts.known -= u64::from(!matches!(fate, Fate::Copied));
        let (plane, block) = self.tables.place_of(ppn);
        self.planes[plane as usize].blocks.zombies_mut()[block as usize] -= 1;
    }

    /// Makes zombies among `pages`, all of the drive, live again.
    pub(super) fn revive(&mut self, pages: &[u32]) {
        for &page in pages {
            let ppn = self.tables.map[page as usize];
            if ppn != UNMAPPED && self.is_zombie(ppn) {
                self.revive_at(ppn);
            }
        }
    }

    /// Makes all zombies live again.
    pub(super) fn revive_all(&mut self) {
        let all = self.zombies.as_ref().map_or_else(Vec::new, Zombies::all);
        all.into_iter().for_each(|ppn| self.revive_at(ppn));
    }

    fn revive_at(&mut self, ppn: u32) {
        let Some(zombies) = &mut self.zombies else { return };
        zombies.clear(ppn);
        zombies.counts.revived += 1;
        zombies.counts.known -= 1;
        let (plane, block) = self.tables.place_of(ppn);
        let held = &mut self.planes[plane as usize];
        held.blocks.zombies_mut()[block as usize] -= 1;
        if P::Tracker::FOLLOWS_ZOMBIES && held.blocks.is_candidate(block) {
            held.tracker.zombie_revived(&held.blocks, block);
        }
    }

    /// Whether only live pages are zombies, and the counts say how many.
    pub(super) fn audit_zombies(&self) -> Result<(), String> {
        let Some(zombies) = &self.zombies else { return Ok(()) };
        let all = zombies.all();
        if let Some(ppn) = all.iter().find(|&&ppn| !self.tables.is_live(ppn)) {
            return Err(format!("ppn {ppn:#x} is a dead zombie"));
        }
        let mut counted = vec![0u16; self.tables.geometry.blocks() as usize];
        for ppn in &all {
            counted[(ppn >> self.tables.geometry.offset_bits()) as usize] += 1;
        }
        let tables = self.planes.iter().flat_map(|plane| plane.blocks.zombie_counts());
        if let Some(block) = counted.iter().zip(tables).position(|(counted, kept)| counted != kept)
        {
            return Err(format!("block {block} holds {} zombies, miscounted", counted[block]));
        }
        if all.len() as u64 != zombies.counts.known {
            return Err(format!("{} zombies, {} counted", all.len(), zombies.counts.known));
        }
        Ok(())
    }
}
