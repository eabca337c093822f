//! What is on the planes before the first host write: each plane as the counting drive would have
//! it, with the pages that are at home there.

use super::map::PlaneMap;
use super::{PlaneId, PlaneLayout};
use crate::fill::Fill;
use crate::frontier::Active;
use crate::geometry::GeometryError;
use crate::page_map::{UNMAPPED, set_bits};
use crate::victim::VictimPolicy;
use flashgc_base::rng::Stream;

impl PlaneLayout<'_> {
    /// Pages that are promised on each plane.
    ///
    /// # Errors
    /// A plane that has no room for them.
    pub(super) fn promised(&self) -> Result<Vec<u32>, GeometryError> {
        let mut promised = vec![0; self.planes as usize];
        for page in 0..self.geometry.logical_pages() {
            promised[(self.home)(page) as usize] += 1;
        }
        for (plane, &pages) in (0..).zip(&promised) {
            self.check_room(plane, pages)?;
        }
        Ok(promised)
    }

    /// The stream `name` of `plane`.
    pub(super) fn stream(&self, plane: PlaneId, name: &str) -> Stream {
        match plane {
            0 => Stream::new(self.seed, name),
            _ => Stream::new(self.seed, &format!("{name}/{plane}")),
        }
    }
}

impl<P: VictimPolicy> PlaneMap<P> {
    /// Puts the initial state on planes of erased blocks.
    pub(super) fn fill(&mut self, layout: &PlaneLayout) {
        match layout.fill {
            Fill::Empty => {
                self.tables.map.fill(UNMAPPED);
                (0..layout.planes).for_each(|plane| self.release(plane, 0));
            }
            Fill::Sequential => self.fill_sequential(layout),
            Fill::Random => self.fill_random(layout),
        }
    }

    fn fill_sequential(&mut self, layout: &PlaneLayout) {
        let b = self.tables.geometry.pages_per_block();
        let mut filled = vec![0u32; self.planes.len()];
        for page in 0..self.tables.geometry.logical_pages() {
            let plane = (layout.home)(page);
            let place = &mut filled[plane as usize];
            self.put(plane, *place / b, *place % b, page);
            *place += 1;
        }
        for (plane, &filled) in (0..).zip(&filled) {
            if !filled.is_multiple_of(b) {
                let held = &mut self.planes[plane as usize];
                held.open[0] = Active { block: filled / b, next: filled % b };
            }
            self.release(plane, filled.div_ceil(b));
            self.close_all(plane, filled / b);
        }
    }

    fn fill_random(&mut self, layout: &PlaneLayout) {
        let b = self.tables.geometry.pages_per_block();
        let blocks_per_plane = self.tables.blocks_per_plane;
        let used = blocks_per_plane - layout.kept();
        // The slots of a plane are its part of the reverse map; those that get no page hold a mark
        // until the pass below.
        self.tables.reverse.fill(UNMAPPED);
        let mut filled = vec![0u32; self.planes.len()];
        for page in 0..self.tables.geometry.logical_pages() {
            let plane = (layout.home)(page) as usize;
            let slot = plane * blocks_per_plane as usize * b as usize + filled[plane] as usize;
            self.tables.reverse[slot] = page;
            filled[plane] += 1;
        }
        for plane in 0..layout.planes {
            let first = plane as usize * blocks_per_plane as usize * b as usize;
            let slots = &mut self.tables.reverse[first..][..used as usize * b as usize];
            let mut rng = layout.stream(plane, "fill");
            for index in (1..slots.len()).rev() {
                slots.swap(index, rng.below(index as u32 + 1) as usize);
            }
            for place in 0..used * b {
                let page = self.tables.reverse[first + place as usize];
                if page != UNMAPPED {
                    self.put(plane, place / b, place % b, page);
                }
            }
            self.release(plane, used);
            self.close_all(plane, used);
        }
        let unused = self.tables.reverse.iter_mut().filter(|page| **page == UNMAPPED);
        unused.for_each(|page| *page = 0);
    }

    /// Puts `page` on a place of an open block.
    fn put(&mut self, plane: PlaneId, block: u32, offset: u32, page: u32) {
        let held = &mut self.planes[plane as usize];
        let tables = &mut self.tables;
        let place = held.first_block + block;
        let b = tables.geometry.pages_per_block();
        let ppn = (place << tables.geometry.offset_bits()) | offset;
        tables.map[page as usize] = ppn;
        tables.reverse[place as usize * b as usize + offset as usize] = page;
        set_bits(&mut tables.live, ppn as usize, 1);
        held.blocks.counts_mut()[block as usize] += 1;
        held.blocks.program(block);
        held.valid_pages += 1;
    }

    /// Hands the blocks of `plane` from `first` on to the pool.
    fn release(&mut self, plane: PlaneId, first: u32) {
        let held = &mut self.planes[plane as usize];
        (first..self.tables.blocks_per_plane).for_each(|block| held.pool.put(block, 0));
    }

    /// Makes the first `count` blocks of `plane` candidates.
    fn close_all(&mut self, plane: PlaneId, count: u32) {
        let held = &mut self.planes[plane as usize];
        for block in 0..count {
            held.blocks.program(block);
            held.close(Active { block, next: 0 });
        }
    }
}
