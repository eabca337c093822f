//! The transitions of a collection: it begins with a victim, its valid pages leave, all at once or
//! one by one, and it ends with the erase.

use super::plane::{Plane, Steps, UnderWay};
use super::tables::Tables;
use super::zombies::{Fate, is_marked};
use super::{MAP_AHEAD, PageStore, ZOMBIE};
use crate::blocks::BlockId;
use crate::counters::Counters;
use crate::error::FtlError;
use crate::layout::PlaneId;
use crate::placement::{Class, Place};
use crate::track::{Origin, Tracker};
use crate::victim::VictimPolicy;
use crate::wear::AfterErase;
use flashgc_base::counts::Counts;
use flashgc_base::table::prefetch;

impl<P: VictimPolicy> PageStore<P> {
    /// Picks a victim in `plane`: to level wear if that is due, else by the policy. Returns `None`
    /// if the victim's valid pages find no room. This ends the drive's life, and the victim stays
    /// as it is.
    ///
    /// # Errors
    /// Nothing to collect, a policy that breaks its contract, or no room on a drive whose blocks
    /// bear any number of erases.
    pub(crate) fn begin(&mut self, plane: PlaneId) -> Result<Option<BlockId>, FtlError> {
        self.sorting.goes_on()?;
        let plane_state = &mut self.planes[plane as usize];
        if let Some(watcher) = self.sorting.watcher() {
            plane_state.blocks.set_host_clock(plane_state.counters.host_pages);
            watcher.look(&plane_state.blocks);
        }
        debug_assert!(
            plane_state.under_way.is_none(),
            "a collection of plane {plane} is under way"
        );
        let levelled = match self.sorting.levelled() {
            Some(class) => {
                let room = plane_state.room(class);
                plane_state.least_erased(room)
            }
            _ => None,
        };
        let block = match levelled {
            Some(block) => {
                plane_state.take(block);
                block
            }
            None => match self.take_kept(plane).map_or_else(|| self.pick(plane), Ok) {
                // A drive without reclaimable pages that wears out has too few good blocks left.
                Err(why) if self.planes[plane as usize].blocks.reclaimable() == 0 => {
                    return self.ends_dry(why);
                }
                picked => picked?,
            },
        };
        let levels = levelled.is_some();
        self.planes[plane as usize].under_way =
            Some(UnderWay { block, levels, folds: false, copied: 0, steps: Steps::default() });
        self.note_collected(plane, block);
        if !self.finds_room(plane, block, levels) {
            return self.ends_dry(FtlError::no_space("the pool of erased blocks is empty"));
        }
        Ok(Some(block))
    }

    /// Ends the life of a drive that finds no room for a collection, if it wears out.
    ///
    /// # Errors
    /// `why`, if the blocks of the drive bear any number of erases.
    fn ends_dry(&mut self, why: FtlError) -> Result<Option<BlockId>, FtlError> {
        let (counters, packing) = (self.counters(), self.packing());
        let Some(wear) = &mut self.wear else { return Err(why) };
        wear.ran_dry(counters, packing);
        Ok(None)
    }

    /// Asks the policy of `plane`, or the placement in its stead, for a victim.
    fn pick(&mut self, plane: PlaneId) -> Result<BlockId, FtlError> {
        let plane_state = &mut self.planes[plane as usize];
        if P::BY_PLACEMENT
            && let Some(picker) = self.sorting.picker()
        {
            return plane_state.pick_by(|_, blocks, _, rng| picker.pick(blocks, rng));
        }
        plane_state.pick()
    }

    /// The block `block` of `plane` was picked; its pages are still on it.
    pub(crate) fn note_collected(&mut self, plane: PlaneId, block: BlockId) {
        let plane_state = &self.planes[plane as usize];
        let blocks = &plane_state.blocks;
        let pages = blocks.pages_per_block() - blocks.lost(block);
        self.sorting.collected(plane_state.first_block + block, blocks.live(block), pages);
    }

    /// Returns `true` if the valid pages of the victim `block` find room in open blocks and in the pool.
    pub(super) fn finds_room(&self, plane: PlaneId, block: BlockId, levels: bool) -> bool {
        let plane_state = &self.planes[plane as usize];
        if plane_state.erased_blocks() >= self.sorting.reserved() as usize {
            return true; // enough for any victim
        }
        let b = self.tables.geometry.pages_per_block();
        if let Some(class) = self.sorting.of_copies(levels) {
            let room = u64::from(plane_state.room(class)) + plane_state.pages_in_pool();
            return u64::from(plane_state.blocks.live(block)) <= room;
        }
        let is_slc = plane_state.is_slc(block);
        let mut room: Vec<u32> = plane_state.open.iter().map(|active| b - active.next).collect();
        // Each class may get the smallest of the erased blocks.
        let lost = |&block: &BlockId| plane_state.blocks.lost(block);
        let most_lost = match plane_state.lost_in_pool {
            0 => 0,
            _ => plane_state.pool.blocks().iter().map(lost).max().unwrap_or_default(),
        };
        let mut needed = 0;
        let block = plane_state.first_block + block;
        let first = self.tables.first_ppn(block);
        for (ppn, &page) in (first..).zip(self.tables.pages_of(block)) {
            if !self.tables.is_live(ppn) {
                continue;
            }
            let to = usize::from(match is_slc {
                true => self.sorting.class_at(page, block),
                false => self.sorting.of_copy(page, block, self.is_zombie(page)),
            });
            if room[to] == 0 {
                needed += 1;
                room[to] = b - most_lost;
            }
            room[to] -= 1;
        }
        needed <= plane_state.pool.len()
    }

    /// Takes the valid pages from the victim `block` of `plane`, and puts them at the front of
    /// `pages`, in the order of copies. Returns their number, and whether any of them is a zombie. The pages
    /// have no place until they are set down.
    pub(crate) fn lift(
        &mut self,
        plane: PlaneId,
        block: BlockId,
        pages: &mut [u32],
    ) -> (usize, bool) {
        self.note_pages_read(plane, block);
        let plane_state = &mut self.planes[plane as usize];
        let block_of_drive = plane_state.first_block + block;
        self.tables.prefetch_block(block_of_drive);
        let count = match &self.copy_order {
            None => self.tables.take_live(block_of_drive, pages),
            Some(order) => order.take_live(&mut self.tables, block_of_drive, pages),
        };
        debug_assert_eq!(
            count,
            plane_state.blocks.live(block) as usize,
            "block {block} miscounted"
        );
        plane_state.blocks.set_live_of_open(block, 0);
        plane_state.valid_pages -= count as u64;
        let Some(zombies) = &mut self.zombies else { return (count, false) };
        let lifted = std::mem::take(&mut plane_state.blocks.zombies_mut()[block as usize]);
        zombies.left(Fate::Copied, lifted.into());
        (count, lifted > 0)
    }

    /// Programs `pages`, lifted from a victim, at the open block of `class` in `plane`, which has
    /// room for them. `with_zombies`: some of them may be zombies.
    pub(crate) fn set_down(
        &mut self,
        plane: PlaneId,
        class: Class,
        pages: &[u32],
        with_zombies: bool,
    ) {
        let plane_state = &mut self.planes[plane as usize];
        let first = plane_state.program(&mut self.tables, class, pages);
        if P::Tracker::FOLLOWS_ORIGINS {
            let since = plane_state.blocks.clock() - pages.len() as u64 + 1;
            for ((ppn, &page), time) in (first..).zip(pages).zip(since..) {
                self.inherit(plane, ppn, self.tables.map[page as usize], Origin::Copy, time);
            }
        }
        let plane_state = &mut self.planes[plane as usize];
        let map = &mut *self.tables.map;
        for &page in pages.iter().take(MAP_AHEAD) {
            prefetch(map, page as usize);
        }
        let mut zombies = 0;
        for (index, (ppn, &page)) in (first..).zip(pages).enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(map, ahead as usize);
            }
            // SAFETY: lifted pages are entries of the reverse map for live pages, which are below
            // the number of logical pages (an invariant of the store, checked by the audit).
            let entry = unsafe { map.get_unchecked_mut(page as usize) };
            debug_assert!(
                plane_state.under_way.as_ref().is_none_or(|victim| {
                    let is_zombie = self.zombies.is_some() && is_marked(*entry);
                    let from = if is_zombie { *entry & !ZOMBIE } else { *entry };
                    let block = from >> self.tables.geometry.offset_bits();
                    block == plane_state.first_block + victim.block
                }),
                "page {page} was not lifted from the victim"
            );
            let mark = if with_zombies && is_marked(*entry) { ZOMBIE } else { 0 };
            zombies += mark >> 31;
            *entry = ppn | mark;
        }
        if zombies > 0 {
            let block = plane_state.open[usize::from(class)].block;
            plane_state.blocks.zombies_mut()[block as usize] += zombies;
        }
        plane_state.counters.copied_pages += pages.len() as u64;
        if let Some(under_way) = &mut plane_state.under_way {
            under_way.copied += pages.len() as u32;
            if under_way.levels {
                self.sorting.levels(pages, plane_state.first_block + under_way.block);
            }
        }
        self.copies_end(plane, class);
        self.sorting.tick(pages.len() as u64);
        self.sorting.count_copies(pages);
        self.note_copies(pages);
    }

    /// Programs `pages`, lifted from a victim, at the open block of `class` in `plane`. Pages that
    /// find no room there go to the next open block.
    ///
    /// # Errors
    /// No erased block is left for them.
    pub(crate) fn set_down_all(
        &mut self,
        plane: PlaneId,
        class: Class,
        pages: &[u32],
        with_zombies: bool,
    ) -> Result<(), FtlError> {
        let mut rest = pages;
        loop {
            let fits = rest.len().min(self.planes[plane as usize].room(class) as usize);
            let (first, later) = rest.split_at(fits);
            if !first.is_empty() {
                self.set_down(plane, class, first, with_zombies);
            }
            if later.is_empty() {
                return Ok(());
            }
            self.open_next(class, plane)?;
            rest = later;
        }
    }

    /// Does a whole collection of `plane`. The victim's valid pages are put at the front of
    /// `pages`, and `keep` leaves there only the pages to copy. Returns their number, and whether
    /// any of them may be a zombie. Returns `None` if the drive's life ends with the pick; nothing
    /// is moved then.
    ///
    /// # Errors
    /// The errors of [`PageStore::begin`], or no erased block is left for a copy.
    pub(crate) fn collect(
        &mut self,
        plane: PlaneId,
        pages: &mut [u32],
        keep: impl FnOnce(&mut Tables, &mut [u32]) -> usize,
    ) -> Result<Option<(usize, bool)>, FtlError> {
        let Some(block) = self.begin(plane)? else { return Ok(None) };
        let levels = self.planes[plane as usize].under_way.as_ref().is_some_and(|it| it.levels);
        let (count, with_zombies) = self.lift(plane, block, pages);
        let kept = keep(&mut self.tables, &mut pages[..count]);
        let kept = &pages[..kept];
        match self.sorting.of_copies(levels) {
            Some(class) => self.set_down_all(plane, class, kept, with_zombies)?,
            None => self.set_down_sorted(plane, block, kept, with_zombies)?,
        }
        if !self.buffer.is_protected {
            while self.program_copies(plane).is_some() {}
        }
        self.finish(plane);
        Ok(Some((kept.len(), with_zombies)))
    }

    /// Copies the valid page at `from`, in the victim of `plane`, to the open block of its class.
    /// Returns its new ppn.
    ///
    /// # Errors
    /// No erased block is left for it.
    pub(crate) fn copy(&mut self, plane: PlaneId, page: u32, from: u32) -> Result<u32, FtlError> {
        let zombie = self.is_zombie(page);
        let class = self.class_of_copy(plane, page, from, zombie);
        self.sorting.goes_on()?;
        let class = self.room_for_copy(class, plane)?;
        let ppn = self.program(plane, class, page, Fate::Copied);
        let to = Place { class, block: self.tables.place_of(ppn).0 };
        self.sorting.copied(page, self.tables.place_of(from).0, to);
        if zombie {
            self.set_zombie(page, ppn);
        }
        let plane_state = &mut self.planes[plane as usize];
        plane_state.counters.copied_pages += 1;
        if let Some(under_way) = &mut plane_state.under_way {
            under_way.copied += 1;
        }
        self.copies_end(plane, class);
        self.sorting.count_copies(&[page]);
        self.note_copies(&[page]);
        Ok(ppn)
    }

    /// The class of a copy of `page` from `ppn`, in the victim of `plane`.
    #[inline]
    pub(crate) fn class_of_copy(&self, plane: PlaneId, page: u32, ppn: u32, zombie: bool) -> Class {
        let Plane { under_way, region, .. } = &self.planes[plane as usize];
        let victim = under_way.as_ref();
        if let Some(region) = region
            && victim.is_some_and(|victim| victim.folds)
        {
            let class_at = || self.sorting.class_at(page, self.tables.place_of(ppn).0);
            return region.classes.folded.unwrap_or_else(class_at);
        }
        match self.sorting.of_copies(victim.is_some_and(|victim| victim.levels)) {
            Some(class) => class,
            None => self.sorting.of_copy(page, self.tables.place_of(ppn).0, zombie),
        }
    }

    /// Erases the victim of `plane`, which has no valid page left, and ends the collection. The
    /// block goes to the pool, unless it has worn out; an SLC block goes back to its region.
    /// Returns the block.
    pub(crate) fn finish(&mut self, plane: PlaneId) -> BlockId {
        let plane_state = &mut self.planes[plane as usize];
        let ended = plane_state.under_way.take().expect("a collection is under way");
        debug_assert_eq!(
            self.tables.next_live(plane_state.first_block + ended.block, 0),
            None,
            "block {} is erased with a live page",
            ended.block
        );
        plane_state.erase(ended.block);
        let (block, erases) = (ended.block, plane_state.blocks.erase_count(ended.block));
        // Wear levelling leaves out blocks that are always in SLC mode.
        let is_apart = ended.folds && plane_state.is_set_aside(ended.block);
        if let Some(leveller) = plane_state.leveller.as_mut().filter(|_| !is_apart) {
            leveller.erased(erases, ended.levels.then_some(ended.copied as usize));
        }
        let number = plane_state.first_block + block;
        if let Some(wear) = self.wear.as_mut().filter(|_| ended.folds) {
            wear.erased_in_slc(number);
        }
        let planes = &self.planes;
        let moment = || {
            (
                Counters::sum(planes.iter().map(|plane| plane.counters)).unwrap_or_default(),
                self.gathering.as_ref().map(|gathering| gathering.counts),
            )
        };
        let after = match &mut self.wear {
            Some(wear) => wear.erased(plane, number, erases, moment),
            None => AfterErase::Same,
        };
        let plane_state = &mut self.planes[plane as usize];
        match after {
            AfterErase::Bad if plane_state.blocks.lost(block) > 0 => {
                plane_state.blocks.set_lost(block, 0);
            }
            AfterErase::Bad => {}
            AfterErase::Same if ended.folds => plane_state.give_back(block),
            AfterErase::Same => plane_state.give_to_pool(block),
            AfterErase::Smaller(lost) => {
                plane_state.blocks.set_lost(block, lost);
                plane_state.give_to_pool(block);
            }
        }
        block
    }
}
