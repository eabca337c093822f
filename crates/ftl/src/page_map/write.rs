//! Host writes of the page map, in batches that look ahead.

use flashgc_base::residency::Residency;

use super::{PLANE, PageMap};
use crate::error::FtlError;
use crate::geometry::UNMAPPED;
use crate::layer::Layer;
use crate::placement::{Class, Place};
use crate::store::{Fate, HOST, LIVE_AHEAD, MAP_AHEAD};
use crate::track::{Origin, Tracker};
use crate::victim::VictimPolicy;
use flashgc_base::table::prefetch;

impl<P: VictimPolicy> PageMap<P> {
    /// Writes as [`Translation::write_until`] does. Collections may leave pages to `memory`.
    pub(super) fn write_beside(
        &mut self,
        pages: &[u32],
        collections: u64,
        memory: &mut dyn Residency,
    ) -> Result<usize, FtlError> {
        self.store.check_range(pages)?;
        let one_by_one = self.store.sorting.follows_writes();
        let mut done = 0;
        while done < pages.len() && !self.has_ended() {
            let rest = &pages[done..];
            let (count, full) =
                if one_by_one { self.append_sorted(rest) } else { self.append(rest) };
            self.store.note_written(&rest[..count]);
            done += count;
            if let Some(class) = full {
                if self.plane().counters.collections >= collections {
                    break;
                }
                self.make_room(class, memory)?;
            }
            self.store.sorting.goes_on()?;
        }
        Ok(done)
    }

    /// Writes `pages` in order until the host frontier is full, at most b of them. Returns how
    /// many, and the class of the frontier if it was full before anything was written.
    ///
    /// Two passes, each with one table to wait for: first the map, then the live bits. Every page
    /// is below the number of logical pages.
    #[inline]
    fn append(&mut self, pages: &[u32]) -> (usize, Option<Class>) {
        let plane_state = &mut self.store.planes[PLANE as usize];
        let count = pages.len().min(plane_state.room(HOST) as usize);
        if count == 0 {
            return (0, Some(HOST));
        }
        let first = plane_state.program(&mut self.store.tables, HOST, &pages[..count]);
        let map = &mut *self.store.tables.map;
        let old = &mut self.old[..count];
        for (index, old) in old.iter_mut().enumerate() {
            if let Some(&page) = pages.get(index + MAP_AHEAD) {
                prefetch(map, page as usize);
            }
            // SAFETY: `count` is at most the number of `pages`, and `write_beside` has checked that
            // every one of them is inside the map.
            unsafe {
                let page = *pages.get_unchecked(index) as usize;
                *old = std::mem::replace(map.get_unchecked_mut(page), first + index as u32);
            }
        }
        if P::Tracker::FOLLOWS_ORIGINS {
            let since = self.store.planes[PLANE as usize].blocks.clock() - count as u64 + 1;
            for ((ppn, &old), time) in (first..).zip(&*old).zip(since..) {
                self.store.inherit(PLANE, ppn, old, Origin::Host, time);
            }
        }
        self.store.kill_all(PLANE, old, Fate::Overwritten);
        self.store.planes[PLANE as usize].counters.host_pages += count as u64;
        self.store.host_ends(PLANE, HOST);
        (count, None)
    }

    /// Writes `pages` in order, at most b of them. Each goes to the open block of its class, as
    /// data of its stream. Stops when that block is full. Returns how many pages were written, and
    /// the class of the full block.
    fn append_sorted(&mut self, pages: &[u32]) -> (usize, Option<Class>) {
        let store = &mut self.store;
        let limit = pages.len().min(self.old.len());
        let sees_blocks = store.sorting.sees_blocks();
        let (mut count, mut full) = (0, None);
        while count < limit {
            if let Some(&ahead) = pages.get(count + MAP_AHEAD) {
                prefetch(&store.tables.map, ahead as usize);
                store.sorting.prefetch(ahead);
            }
            if let Some(&ahead) = pages.get(count + LIVE_AHEAD) {
                let ppn = store.ppn_of(store.tables.map[ahead as usize]);
                prefetch(&store.tables.live, (ppn >> 6) as usize);
            }
            let page = pages[count];
            let entry = store.tables.map[page as usize];
            let ppn = store.ppn_of(entry);
            let from = (ppn != UNMAPPED).then(|| store.tables.place_of(ppn).0);
            let class = store.sorting.of_write(page, from);
            let plane_state = &mut store.planes[PLANE as usize];
            if plane_state.room(class) == 0 {
                full = Some(class);
                break;
            }
            self.old[count] = entry;
            let ppn = plane_state.program(&mut store.tables, class, &[page]);
            store.tables.map[page as usize] = ppn;
            if P::Tracker::FOLLOWS_ORIGINS {
                let time = plane_state.blocks.clock();
                store.inherit(PLANE, ppn, entry, Origin::Host, time);
            }
            store.host_ends(PLANE, class);
            store.sorting.tick(1);
            if sees_blocks {
                store.kill_all(PLANE, &mut self.old[count..=count], Fate::Overwritten);
                store.planes[PLANE as usize].counters.host_pages += 1;
            }
            let block = store.tables.place_of(ppn).0;
            store.sorting.wrote(page, from, Place { class, block });
            count += 1;
        }
        if !sees_blocks {
            store.kill_all(PLANE, &mut self.old[..count], Fate::Overwritten);
            store.planes[PLANE as usize].counters.host_pages += count as u64;
        }
        (count, full)
    }
}
