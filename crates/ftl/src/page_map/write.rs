//! Host writes of the page map, in batches that look ahead.

use flashgc_base::residency::Residency;

use super::{ONLY, PageMap};
use crate::error::FtlError;
use crate::layer::Layer;
use crate::layout::PlaneId;
use crate::placement::Class;
use crate::store::{Fate, HOST, LONGEST, MAP_AHEAD};
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
        let sorts = self.store.sorting.has_rule();
        let mut done = 0;
        while done < pages.len() && !self.has_ended() {
            let (plane, rest) = self.run_of(&pages[done..]);
            let (count, full) =
                if sorts { self.store.write_sorted(plane, rest) } else { self.append(rest) };
            self.store.note_written(&rest[..count]);
            done += count;
            if let Some(class) = full {
                if self.store.counters().collections >= collections {
                    break;
                }
                self.make_room(plane, class, memory)?;
            }
            self.store.sorting.goes_on()?;
        }
        Ok(done)
    }

    /// Returns the first of `pages`, which are written next, that go to one plane, and that plane: all of
    /// them on a drive of one reclaim group.
    #[inline]
    fn run_of<'a>(&self, pages: &'a [u32]) -> (PlaneId, &'a [u32]) {
        match self.store.groups {
            None => (ONLY, pages),
            Some(_) => self.run_in_group(pages),
        }
    }

    /// Writes `pages` in order until the host frontier is full, at most b of them. Returns how
    /// many, and the class of the frontier if it was full before anything was written.
    ///
    /// Two passes, each with one table to wait for: first the map, then the live bits. Every page
    /// is below the number of logical pages.
    #[inline]
    fn append(&mut self, pages: &[u32]) -> (usize, Option<Class>) {
        let plane_state = &mut self.store.planes[ONLY as usize];
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
            let since = self.store.planes[ONLY as usize].blocks.clock() - count as u64 + 1;
            for ((ppn, &old), time) in (first..).zip(&*old).zip(since..) {
                self.store.inherit(ONLY, ppn, old, Origin::Host, time);
            }
        }
        self.store.kill_all(ONLY, old, Fate::Overwritten);
        self.store.planes[ONLY as usize].counters.host_pages += count as u64;
        self.store.host_ends(ONLY, HOST);
        self.store.sorting.count_writes(&pages[..count]);
        (count, None)
    }

    /// Returns a run as [`PageMap::run_of`] does, on a drive of several reclaim groups. A run has one
    /// page where a plane is nearly full, because each write may then change the plane of the next.
    #[inline(never)]
    fn run_in_group<'a>(&self, pages: &'a [u32]) -> (PlaneId, &'a [u32]) {
        let wanted = |page: u32| self.store.plane_wanted(page, self.homes.of(page));
        let plane = wanted(pages[0]);
        if !self.store.has_room_for(plane, LONGEST) {
            let page = pages[0];
            return (self.store.plane_of_write(page, self.homes.of(page), |_| 0), &pages[..1]);
        }
        let others = pages.iter().take(LONGEST).position(|&page| wanted(page) != plane);
        (plane, &pages[..others.unwrap_or(pages.len().min(LONGEST))])
    }
}
