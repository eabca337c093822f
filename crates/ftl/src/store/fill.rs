//! Preconditioning: contents of the planes before the first host write. Each plane gets the pages
//! that `home` gives it.

use flashgc_base::rng::Stream;

use super::steady::{self, shuffle};
use super::{Active, HOST, PageStore};
use crate::blocks::BlockId;
use crate::fill::Fill;
use crate::geometry::UNMAPPED;
use crate::layout::{PlaneId, PlaneLayout};
use crate::victim::VictimPolicy;

impl<P: VictimPolicy> PageStore<P> {
    /// Puts the initial state on planes of erased blocks. First contents are no programs: no clock
    /// ticks, and trackers hear of them only as closed blocks.
    pub(super) fn fill(&mut self, planes: &PlaneLayout) {
        match planes.layout.fill {
            Fill::Empty => {
                self.tables.map.fill(UNMAPPED);
                (0..planes.planes).for_each(|plane| self.release(planes, plane, 0));
            }
            Fill::Sequential => self.fill_sequential(planes),
            Fill::Random => self.fill_all(planes, |slots, _, rng| shuffle(slots, rng)),
            Fill::Steady => self.fill_all(planes, steady::spread),
        }
    }

    /// Puts all pages on flash in order, a block at a time.
    fn fill_sequential(&mut self, planes: &PlaneLayout) {
        let b = self.tables.geometry.pages_per_block() as usize;
        let pages = self.tables.geometry.logical_pages();
        // For each plane, the block that it is filling now, and the pages of that block.
        let mut filling: Vec<(Vec<u32>, BlockId)> =
            vec![(Vec::with_capacity(b), 0); self.planes.len()];
        for page in 0..pages {
            let plane = (planes.home)(page);
            let (ready, block) = &mut filling[plane as usize];
            ready.push(page);
            if ready.len() == b {
                self.put(plane, *block, ready);
                ready.clear();
                *block += 1;
            }
        }
        for (plane, (rest, block)) in (0..).zip(&filling) {
            if !rest.is_empty() {
                self.put(plane, *block, rest);
                let plane_state = &mut self.planes[plane as usize];
                plane_state.open[usize::from(HOST)] =
                    Active { block: *block, next: rest.len() as u32 };
            }
            self.release(planes, plane, block + u32::from(!rest.is_empty()));
            self.close_all(plane, *block);
        }
    }

    /// Puts every page on the place that `spread` gives it; the other places are dead. `spread`
    /// takes the slots of a plane, in the order in which blocks were written, with the pages of
    /// the plane in front, and the number of these pages.
    fn fill_all(&mut self, planes: &PlaneLayout, spread: impl Fn(&mut [u32], usize, &mut Stream)) {
        let b = self.tables.geometry.pages_per_block() as usize;
        let blocks_per_plane = self.tables.blocks_per_plane;
        let has_pool = planes.layout.frontier.has_pool();
        let kept = if has_pool { planes.layout.blocks_kept() } else { 0 };
        let used = blocks_per_plane - kept; // those set aside for SLC mode are among those kept
        // A plane's slots are its part of the reverse map. A slot without a page holds `UNMAPPED`
        // until it has been looked at.
        self.tables.reverse.fill(UNMAPPED);
        let mut filled = vec![0u32; self.planes.len()];
        for page in 0..self.tables.geometry.logical_pages() {
            let plane = (planes.home)(page) as usize;
            let slot = plane * blocks_per_plane as usize * b + filled[plane] as usize;
            self.tables.reverse[slot] = page;
            filled[plane] += 1;
        }
        for plane in 0..planes.planes {
            let first = plane as usize * blocks_per_plane as usize * b;
            let slots = &mut self.tables.reverse[first..][..used as usize * b];
            let mut rng = planes.stream(plane, "fill");
            spread(slots, filled[plane as usize] as usize, &mut rng);
            for block in 0..used {
                for offset in 0..b {
                    let page = self.tables.reverse[first + block as usize * b + offset];
                    if page != UNMAPPED {
                        self.put_at(plane, block, offset as u32, &[page]);
                    }
                }
                self.planes[plane as usize].blocks.program(block, 0);
            }
            self.release(planes, plane, used);
            self.close_all(plane, used);
        }
        let unused = self.tables.reverse.iter_mut().filter(|page| **page == UNMAPPED);
        unused.for_each(|page| *page = 0);
    }

    /// Puts `pages` on `block` of `plane`, from its first page on.
    fn put(&mut self, plane: PlaneId, block: BlockId, pages: &[u32]) {
        self.put_at(plane, block, 0, pages);
    }

    fn put_at(&mut self, plane: PlaneId, block: BlockId, offset: u32, pages: &[u32]) {
        let plane_state = &mut self.planes[plane as usize];
        let block_of_drive = plane_state.first_block + block;
        let first = self.tables.program(block_of_drive, offset, pages);
        plane_state.blocks.program(block, pages.len() as u32);
        plane_state.valid_pages += pages.len() as u64;
        for (ppn, &page) in (first..).zip(pages) {
            self.tables.map[page as usize] = ppn;
            self.sorting.holds(page, block_of_drive);
        }
    }

    /// Hands the erased blocks of `plane`, from `first` on, to the pool. Without a pool they become
    /// candidates with no valid page. They are closed before all others, so they count as the
    /// oldest.
    fn release(&mut self, planes: &PlaneLayout, plane: PlaneId, first: BlockId) {
        let plane_state = &mut self.planes[plane as usize];
        for block in first..self.tables.blocks_per_plane - planes.layout.set_aside() {
            match planes.layout.frontier.has_pool() {
                true => plane_state.pool.put(block, 0),
                false => plane_state.close(Active::erased(block)),
            }
        }
    }

    /// Makes the first `count` blocks of `plane` candidates.
    fn close_all(&mut self, plane: PlaneId, count: u32) {
        let plane_state = &mut self.planes[plane as usize];
        (0..count).for_each(|block| plane_state.close(Active::erased(block)));
    }
}
