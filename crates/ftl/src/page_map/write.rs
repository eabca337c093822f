//! Host writes of the page map, in batches that look ahead.

use flashgc_base::residency::Residency;

use super::{PLANE, PageMap};
use crate::error::FtlError;
use crate::layer::Layer;
use crate::placement::Class;
use crate::store::{Fate, HOST, MAP_AHEAD};
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
            let rest = &pages[done..];
            let (count, full) =
                if sorts { self.store.write_sorted(PLANE, rest) } else { self.append(rest) };
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
        self.store.sorting.count_writes(&pages[..count]);
        (count, None)
    }
}
