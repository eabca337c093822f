//! Zombies: pages whose data are live, but whose new version waits in the host's cache. Hints of
//! the host name them. Only the choice of victims and places depends on hints.
//!
//! They are kept if the victim policy or the placement asks for them: a mark in the map entry,
//! which is looked at with every write anyway, and a count a block in the block table.

use flashgc_base::fail_if;
use flashgc_base::mutants::{self, Mutant};
use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::SpecError;

use super::PageStore;
use super::plane::Plane;
use super::tables::MAP_AHEAD;
use crate::blocks::BlockId;
use crate::counters::ZombieCounts;
use crate::error::FtlError;
use crate::geometry::{Geometry, UNMAPPED};
use crate::layer::TakesHints;
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use flashgc_base::table::{bytes_of, prefetch};

/// The mark in the map entry of a zombie.
pub(crate) const ZOMBIE: u32 = 1 << 31;

/// The fate of a zombie whose data leave their place.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    /// The host wrote the page anew.
    Overwritten,
    /// The host discarded the page.
    Trimmed,
    /// A collection copied the zombie: the copy is alive at another place.
    Copied,
}

/// Checks that `geometry` leaves a bit of a map entry for the mark.
pub(super) fn check(geometry: &Geometry) -> Result<(), SpecError> {
    let most = (ZOMBIE - 1) >> geometry.offset_bits();
    if geometry.blocks() <= most {
        return Ok(());
    }
    Err(SpecError::new(
        format!(
            "{} is {}, expected at most {most} with {} pages per block where hints are kept: page numbers have 31 \
             bits beside the hint",
            subject("blocks"),
            geometry.blocks(),
            geometry.pages_per_block()
        ),
        format!("a smaller drive, or {}", choice("hints", "none")),
    ))
}

/// Bytes of the counts of zombies on a drive of this shape.
pub(super) fn bytes(geometry: &Geometry) -> u64 {
    bytes_of::<u32>(geometry.blocks() as usize)
}

/// Returns `true` if `entry` is the map entry of a zombie, on a drive that keeps zombies.
#[inline(always)]
pub(crate) fn is_marked(entry: u32) -> bool {
    entry >= ZOMBIE && entry != UNMAPPED
}

/// The ppn that a map entry names, on a drive that keeps zombies.
#[inline(always)]
pub(super) fn unmarked(entry: u32) -> u32 {
    if entry == UNMAPPED { UNMAPPED } else { entry & !ZOMBIE }
}

impl ZombieCounts {
    /// `pages` zombies have left their place.
    #[inline]
    pub(crate) fn left(&mut self, fate: Fate, pages: u64) {
        let (count, gone) = match fate {
            Fate::Overwritten => (&mut self.overwritten, pages),
            Fate::Trimmed => (&mut self.trimmed, pages),
            Fate::Copied => (&mut self.copied, 0),
        };
        debug_assert!(self.known >= gone, "more zombies die than are known");
        *count += pages;
        self.known -= gone;
    }
}

impl<P: VictimPolicy> Plane<P> {
    /// Removes the marks of zombies from the map entries `old`. Their pages are on this plane and
    /// lose their place. Returns how many entries had a mark.
    #[inline]
    pub(crate) fn bury(&mut self, old: &mut [u32], offset_bits: u32) -> u64 {
        let first_block = self.first_block;
        let counts = self.blocks.zombies_mut();
        let mut dead = 0;
        for entry in old.iter_mut().filter(|entry| is_marked(**entry)) {
            *entry &= !ZOMBIE;
            if !mutants::on(Mutant::ZombieCountsStay) {
                counts[((*entry >> offset_bits) - first_block) as usize] -= 1;
            }
            dead += 1;
        }
        dead
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Returns the store as one that uses hints; `None` if neither the policy nor the placement
    /// uses them.
    pub(crate) fn hints(&mut self) -> Option<&mut dyn TakesHints> {
        if self.zombies.is_some() { Some(self) } else { None }
    }
}

impl<P: VictimPolicy> TakesHints for PageStore<P> {
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        self.mark_zombies(pages);
        Ok(())
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        self.revive_zombies(pages.iter().copied());
        Ok(())
    }

    fn is_hinted(&mut self, page: u32) -> bool {
        self.is_zombie(page)
    }

    fn power_loss(&mut self) {
        self.revive_zombies(0..self.tables.geometry.logical_pages());
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Returns `true` if `page` is a zombie.
    #[inline]
    pub(crate) fn is_zombie(&self, page: u32) -> bool {
        self.zombies.is_some() && is_marked(self.tables.map[page as usize])
    }

    /// The plane of the page at `ppn`, and its block, numbered in the plane.
    fn holder(&self, ppn: u32) -> (usize, BlockId) {
        let plane = self.tables.plane_of(ppn) as usize;
        let block = ppn >> self.tables.geometry.offset_bits();
        (plane, block - self.planes[plane].first_block)
    }

    /// Marks as zombies those of `pages` that have data and are no zombies yet. All of `pages` are
    /// pages of the drive.
    fn mark_zombies(&mut self, pages: &[u32]) {
        let mut marked = 0;
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.tables.map, ahead as usize);
            }
            let entry = self.tables.map[page as usize];
            if entry >= ZOMBIE {
                continue; // is one, or has no data
            }
            self.set_zombie(page, entry);
            marked += 1;
            let (plane, block) = self.holder(entry);
            let plane_state = &mut self.planes[plane];
            if P::Tracker::FOLLOWS_ZOMBIES && plane_state.blocks.is_candidate(block) {
                plane_state.tracker.zombie_marked(&plane_state.blocks, block);
            }
        }
        if let Some(counts) = &mut self.zombies {
            counts.marked += marked;
            counts.known += marked;
        }
    }

    /// Marks `page`, which lies at `ppn`, as a zombie.
    pub(crate) fn set_zombie(&mut self, page: u32, ppn: u32) {
        debug_assert!(self.zombies.is_some() && self.tables.map[page as usize] == ppn);
        self.tables.map[page as usize] = ppn | ZOMBIE;
        let (plane, block) = self.holder(ppn);
        self.planes[plane].blocks.zombies_mut()[block as usize] += 1;
    }

    /// Makes zombies among `pages` live again.
    fn revive_zombies(&mut self, pages: impl Iterator<Item = u32>) {
        for page in pages {
            let entry = self.tables.map[page as usize];
            if !is_marked(entry) {
                continue;
            }
            let ppn = entry & !ZOMBIE;
            self.tables.map[page as usize] = ppn;
            if let Some(counts) = &mut self.zombies {
                counts.revived += 1;
                counts.known -= 1;
            }
            let (plane, block) = self.holder(ppn);
            let plane_state = &mut self.planes[plane];
            if !mutants::on(Mutant::ZombieCountsStay) {
                plane_state.blocks.zombies_mut()[block as usize] -= 1;
            }
            if P::Tracker::FOLLOWS_ZOMBIES && plane_state.blocks.is_candidate(block) {
                plane_state.tracker.zombie_revived(&plane_state.blocks, block);
            }
        }
    }

    /// Checks that the counts of zombies agree with the marks in the map.
    pub(super) fn audit_zombies(&self) -> Result<(), String> {
        let Some(counts) = &self.zombies else { return Ok(()) };
        let mut counted = vec![0u32; self.tables.geometry.blocks() as usize];
        for &entry in self.tables.map.iter().filter(|&&entry| is_marked(entry)) {
            counted[(unmarked(entry) >> self.tables.geometry.offset_bits()) as usize] += 1;
        }
        let kept = self.planes.iter().flat_map(|plane| plane.blocks.zombie_counts());
        if let Some((block, (counted, kept))) =
            counted.iter().zip(kept).enumerate().find(|(_, (counted, kept))| counted != kept)
        {
            return Err(format!("block {block} holds {counted} zombies, the table says {kept}"));
        }
        let known: u64 = counted.iter().map(|&count| u64::from(count)).sum();
        fail_if!(known != counts.known, "{known} zombies, {} counted", counts.known);
        Ok(())
    }
}
