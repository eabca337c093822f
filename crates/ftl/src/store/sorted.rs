//! Host writes and copies in batches that a placement sorts.
//!
//! The placement sorts a batch in one pass, which sets both maps. A second pass does the rest:
//! live bits and counts of the blocks that took pages, and the deaths of the old data. A placement
//! that looks at the blocks gets its pages one by one instead, because it must see each death.

use super::sorting::Moves;
use super::tables::{LIVE_AHEAD, MAP_AHEAD};
use super::zombies::is_marked;
use super::{Fate, PageStore};
use crate::blocks::BlockId;
use crate::error::FtlError;
use crate::layout::PlaneId;
use crate::placement::{Class, Front, Place};
use crate::track::{Origin, Tracker};
use crate::victim::VictimPolicy;
use flashgc_base::table::{prefetch, set_bits};

/// The most pages of a batch.
pub(crate) const LONGEST: usize = 256;

impl<P: VictimPolicy> PageStore<P> {
    /// Writes `pages` of the host in order, as the placement sorts them, until the open block of a
    /// class in `plane` is full. Returns how many were written, and the class of the full block.
    pub(crate) fn write_sorted(&mut self, plane: PlaneId, pages: &[u32]) -> (usize, Option<Class>) {
        if self.sorting.sees_blocks() {
            return self.write_one_by_one(plane, pages);
        }
        let (mut old, mut new) = ([0; LONGEST], [0; LONGEST]);
        let longest = pages.len().min(LONGEST);
        let (old, new) = (&mut old[..longest], &mut new[..longest]);
        self.face(plane);
        let (tables, has_zombies) = (&mut self.tables, self.zombies.is_some());
        let (count, full) = self.sorting.sort(tables, Moves::Writes, has_zombies, pages, old, new);
        let old = &mut old[..count];
        self.programmed(plane, old, &new[..count], Origin::Host);
        if self.groups.is_some() {
            // The old data may be in any group.
            old.iter().for_each(|&old| self.kill(old, Fate::Overwritten));
            self.count_outside(plane, &pages[..count]);
        } else {
            self.kill_all(plane, old, Fate::Overwritten);
        }
        self.planes[plane as usize].counters.host_pages += count as u64;
        (count, full)
    }

    /// Writes the first of `pages` as [`PageStore::write_sorted`] does, so that the placement sees
    /// all blocks as they are.
    fn write_one_by_one(&mut self, plane: PlaneId, pages: &[u32]) -> (usize, Option<Class>) {
        let b = self.tables.geometry.pages_per_block() as usize;
        for (index, &page) in pages.iter().enumerate().take(b) {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.tables.map, ahead as usize);
                self.sorting.prefetch(ahead);
            }
            if let Some(&ahead) = pages.get(index + LIVE_AHEAD) {
                let ppn = self.ppn_of(self.tables.map[ahead as usize]);
                prefetch(&self.tables.live, (ppn >> 6) as usize);
            }
            let from = self.block_of(page);
            let class = self.sorting.of_write(page, from);
            if self.planes[plane as usize].room(class) == 0 {
                return (index, Some(class));
            }
            let ppn = self.program(plane, class, page, Fate::Overwritten);
            self.host_ends(plane, class);
            self.planes[plane as usize].counters.host_pages += 1;
            self.sorting.wrote(page, from, Place { class, block: self.tables.place_of(ppn).0 });
        }
        (pages.len().min(b), None)
    }

    /// Programs `pages`, lifted from the victim `block` of `plane`, each at the open block of its
    /// class.
    ///
    /// # Errors
    /// No erased block is left for one of them.
    pub(super) fn set_down_sorted(
        &mut self,
        plane: PlaneId,
        block: BlockId,
        pages: &[u32],
        with_zombies: bool,
    ) -> Result<(), FtlError> {
        // The placement does not see every copy of a drive with an SLC region.
        if self.sorting.sees_blocks() || self.planes[plane as usize].region.is_some() {
            return self.set_down_one_by_one(plane, block, pages, with_zombies);
        }
        let from = self.planes[plane as usize].first_block + block;
        let mut done = 0;
        while done < pages.len() {
            let rest = &pages[done..];
            let (mut old, mut new) = ([0; LONGEST], [0; LONGEST]);
            let longest = rest.len().min(LONGEST);
            let (old, new) = (&mut old[..longest], &mut new[..longest]);
            self.face(plane);
            let (tables, sorting) = (&mut self.tables, &mut self.sorting);
            let moves = Moves::Copies { block: from, begins: done == 0 };
            let (count, full) = sorting.sort(tables, moves, with_zombies, rest, old, new);
            if count > 0 {
                self.copied(plane, &rest[..count], &old[..count], &new[..count], with_zombies);
            }
            done += count;
            if let Some(class) = full
                && self.room_for_copy(class, plane)? != class
            {
                // On a worn-out drive another class takes the page.
                self.set_down_one_by_one(plane, block, &pages[done..=done], with_zombies)?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Programs `pages` as [`PageStore::set_down_sorted`] does, so that the placement sees all
    /// blocks as they are.
    fn set_down_one_by_one(
        &mut self,
        plane: PlaneId,
        block: BlockId,
        pages: &[u32],
        with_zombies: bool,
    ) -> Result<(), FtlError> {
        let sees_blocks = self.sorting.sees_blocks();
        let from = self.planes[plane as usize].first_block + block;
        for (index, &page) in pages.iter().enumerate() {
            let left = (pages.len() - index) as u32;
            if sees_blocks {
                self.planes[plane as usize].blocks.set_live_of_open(block, left);
            }
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.tables.map, ahead as usize);
                self.sorting.prefetch(ahead);
            }
            let zombie = with_zombies && self.is_zombie(page);
            let class = self.sorting.of_copy(page, from, zombie);
            let class = self.room_for_copy(class, plane)?;
            let plane_state = &self.planes[plane as usize];
            let open = plane_state.first_block + plane_state.open[usize::from(class)].block;
            self.set_down(plane, class, &[page], with_zombies);
            if sees_blocks {
                self.planes[plane as usize].blocks.set_live_of_open(block, left - 1);
            }
            self.sorting.copied(page, from, Place { class, block: open });
        }
        Ok(())
    }

    /// Tells the sorting where the next pages of `plane` go.
    fn face(&mut self, plane: PlaneId) {
        let plane_state = &self.planes[plane as usize];
        let b = plane_state.blocks.pages_per_block();
        let fronts = plane_state.open.iter().map(|active| {
            if !active.is_some() {
                return Front { next: 0, end: 0, lead: 0 };
            }
            let block = plane_state.first_block + active.block;
            let first = self.tables.first_ppn(block);
            Front { next: first + active.next, end: first + b, lead: first - block * b }
        });
        self.sorting.fronts.clear();
        self.sorting.fronts.extend(fronts);
    }

    /// A batch of `plane` was sorted: takes over what the open blocks got. `old` has the map entry
    /// of each page before, `new` its new ppn.
    fn programmed(&mut self, plane: PlaneId, old: &[u32], new: &[u32], origin: Origin) {
        let plane_state = &mut self.planes[plane as usize];
        let b = plane_state.blocks.pages_per_block();
        for (class, front) in self.sorting.fronts.iter().enumerate() {
            let active = &mut plane_state.open[class];
            let left = front.end - front.next;
            let count = if active.is_some() { b - left - active.next } else { 0 };
            if count > 0 {
                let first = front.next - count;
                set_bits(&mut self.tables.live, first as usize, count as usize);
                plane_state.blocks.program(active.block, count);
                active.next += count;
                if let Some(gathering) = &mut self.gathering {
                    gathering.end(plane, class as Class, active.next, origin.is_copy());
                }
            }
        }
        plane_state.valid_pages += new.len() as u64;
        if !P::Tracker::FOLLOWS_PROGRAMS && !P::Tracker::FOLLOWS_ORIGINS {
            plane_state.blocks.tick(new.len() as u64);
            return;
        }
        for (&old, &new) in old.iter().zip(new) {
            let plane_state = &mut self.planes[plane as usize];
            plane_state.blocks.tick(1);
            let time = plane_state.blocks.clock();
            if P::Tracker::FOLLOWS_PROGRAMS {
                let local = new - plane_state.first_ppn(&self.tables);
                plane_state.tracker.pages_programmed(&plane_state.blocks, local, 1);
            }
            if P::Tracker::FOLLOWS_ORIGINS {
                self.inherit(plane, new, old, origin, time);
            }
        }
    }

    /// A batch of copies of `plane` was sorted, as [`PageStore::programmed`] says.
    fn copied(
        &mut self,
        plane: PlaneId,
        pages: &[u32],
        old: &[u32],
        new: &[u32],
        with_zombies: bool,
    ) {
        self.programmed(plane, old, new, Origin::Copy);
        let plane_state = &mut self.planes[plane as usize];
        if with_zombies {
            let zombies = old.iter().zip(new).filter(|&(&old, _)| is_marked(old));
            for (_, &ppn) in zombies {
                let block = self.tables.place_of(ppn).0 - plane_state.first_block;
                plane_state.blocks.zombies_mut()[block as usize] += 1;
            }
        }
        plane_state.counters.copied_pages += pages.len() as u64;
        if let Some(under_way) = &mut plane_state.under_way {
            under_way.copied += pages.len() as u32;
        }
        self.sorting.count_copies(pages);
        self.note_copies(pages);
    }
}
