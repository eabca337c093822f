//! Zombies on the planes: as on the counting drive, with their counts in the planes' block tables.

use super::map::PlaneMap;
use crate::page_map::{MAP_AHEAD, UNMAPPED};
use crate::table::prefetch;
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use crate::zombies::Zombies;

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
