//! The host's writes into the SLC regions of planes, and the transitions of a fold. A fold is a
//! collection like any other, except that its victim is no candidate, and no policy picks it.

use super::plane::{Steps, UnderWay};
use super::slc::{Region, SlcRoom};
use super::{Active, PageStore, Plane};
use crate::blocks::BlockId;
use crate::counters::digest;
use crate::layout::PlaneId;
use crate::placement::Class;
use crate::slc::{FoldOf, Lending};
use crate::track::Tracker;
use crate::victim::VictimPolicy;

impl<P: VictimPolicy> Plane<P> {
    /// Returns `true` if a write of `page` goes to the region as long as the region has room.
    #[inline]
    pub(crate) fn takes_in_slc(&self, page: u32) -> bool {
        self.region.as_ref().is_some_and(|region| region.is_used && page < region.host_pages)
    }

    /// Returns the room that a write of the host finds in the region.
    #[inline]
    pub(crate) fn slc_room(&self) -> SlcRoom {
        let Some(region) = &self.region else { return SlcRoom::Direct };
        let open = self.open[usize::from(region.classes.slc)];
        if open.is_some() {
            SlcRoom::Pages(region.pages - open.next)
        } else if self.has_slc_block(region) {
            SlcRoom::Pages(region.pages)
        } else if region.rule.waits && (self.has_full_slc() || self.folds()) {
            SlcRoom::Waits
        } else {
            SlcRoom::Direct
        }
    }

    /// Returns `true` if an erased block may be opened in SLC mode.
    fn has_slc_block(&self, region: &Region) -> bool {
        if !region.erased.is_empty() {
            return true;
        }
        let Some(Lending { keep, most }) = region.rule.blocks.lending else { return false };
        let folds = self.folds() && !self.folds_set_aside();
        let lent = region.full_lent.len() as u64 + u64::from(folds);
        self.pool.len() as u64 > u64::from(keep) && lent < u64::from(most)
    }

    /// Returns `true` if `block` is one of those that are never in normal mode.
    #[inline]
    pub(super) fn is_set_aside(&self, block: BlockId) -> bool {
        self.region.as_ref().is_some_and(|region| region.is_set_aside(block))
    }

    /// Returns `true` if a fold is under way whose erase gives the pool nothing, because its block
    /// is set aside for SLC mode.
    pub(crate) fn folds_set_aside(&self) -> bool {
        self.under_way.as_ref().is_some_and(|it| it.folds && self.is_set_aside(it.block))
    }

    /// Returns `true` if `block` is in SLC mode.
    #[inline]
    pub(super) fn is_slc(&self, block: BlockId) -> bool {
        self.region.as_ref().is_some_and(|region| region.has(block))
    }

    /// Returns `true` if a fold is under way.
    pub(crate) fn folds(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| under_way.folds)
    }

    /// Returns `true` if a block waits to be folded.
    pub(crate) fn has_full_slc(&self) -> bool {
        self.region.as_ref().is_some_and(|region| region.next_to_fold(FoldOf::Any).is_some())
    }

    /// Pages with current data in full SLC blocks.
    pub(crate) fn valid_in_full_slc(&self) -> u64 {
        let full = self.region.iter().flat_map(Region::all_full);
        full.map(|block| u64::from(self.blocks.valid(block))).sum()
    }

    /// Opens an erased block in SLC mode: one that is set aside or, if none is left, one that the
    /// pool lends. Returns it.
    fn open_slc(&mut self) -> BlockId {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        let block = region.erased.pop_front().or_else(|| self.pool.take());
        let block = block.expect("the region has room");
        region.in_slc[block as usize] = true;
        self.open[usize::from(region.classes.slc)] = Active::erased(block);
        block
    }

    /// Closes the open SLC block if it is full. Called after a page was programmed in the region.
    pub(super) fn close_slc(&mut self) {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        let open = &mut self.open[usize::from(region.classes.slc)];
        if open.next == region.pages {
            let block = std::mem::replace(open, Active::none(self.blocks.pages_per_block())).block;
            match region.is_set_aside(block) {
                true => region.full.push_back(block),
                false => region.full_lent.push_back(block),
            }
        }
    }

    /// Gives back a folded block that is erased and not worn out: to the pool if the pool lent it,
    /// else to the erased blocks of the region.
    pub(super) fn give_back(&mut self, block: BlockId) {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        if region.is_set_aside(block) {
            region.erased.push_back(block);
        } else {
            region.in_slc[block as usize] = false;
            self.give_to_pool(block);
        }
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// From now on, directs the host's writes into the SLC regions, if there are any. The host's
    /// pages are the logical pages below `pages`; the others belong to a map on flash.
    pub(crate) fn use_slc(&mut self, pages: u32) {
        for region in self.planes.iter_mut().filter_map(|plane| plane.region.as_mut()) {
            (region.is_used, region.host_pages) = (true, pages);
        }
    }

    /// Returns `true` if the page at `ppn` lies in an SLC block.
    pub(crate) fn is_slc(&self, ppn: u32) -> bool {
        let plane = &self.planes[self.tables.plane_of(ppn) as usize];
        plane.is_slc(self.tables.place_of(ppn).0 - plane.first_block)
    }

    /// Makes the open SLC block of `plane` ready for a page of the host. Returns its class.
    pub(crate) fn ready_slc(&mut self, plane: PlaneId) -> Class {
        let plane_state = &mut self.planes[plane as usize];
        let region = plane_state.region.as_ref().expect("a plane with an SLC region");
        let class = region.classes.slc;
        if !plane_state.open[usize::from(class)].is_some() {
            let block = plane_state.open_slc();
            self.sorting.opened_slc(plane_state.first_block + block);
        }
        class
    }

    /// The host's `page` was programmed in the region of `plane`. A placement counts it as a page
    /// of `class`.
    pub(crate) fn slc_written(&mut self, plane: PlaneId, page: u32, class: Class) {
        self.sorting.lies_mixed(page, class);
        let plane_state = &mut self.planes[plane as usize];
        plane_state.close_slc();
        plane_state.fruitless = 0;
    }

    /// Returns `true` if a fold can begin in `plane`: a block `of` this kind waits for it, and its
    /// pages find room, if need be in erased blocks beyond `low`.
    ///
    /// A fold may have pages of each of the N classes of a placement. More than `low` erased blocks
    /// are enough: one for each class, and one more for the next victim.
    pub(crate) fn can_fold(&self, plane: PlaneId, of: FoldOf, low: u32) -> bool {
        let plane_state = &self.planes[plane as usize];
        let Some(region) = &plane_state.region else { return false };
        let Some(oldest) = region.next_to_fold(of) else { return false };
        let is_lent = !region.is_set_aside(oldest);
        let valid = plane_state.blocks.valid(oldest);
        let erased = plane_state.pool.len();
        // The erase of a lent block gives this block back to the pool, unless it is worn out.
        match region.classes.folded {
            Some(folded) if valid <= plane_state.room(folded) => true,
            Some(_) if is_lent => erased > 0,
            None if is_lent => self.finds_room(plane, oldest, false),
            _ => valid == 0 || erased > low as usize,
        }
    }

    /// Begins to fold the next full SLC block of `plane` that is `of` this kind. Returns it.
    pub(crate) fn begin_fold(&mut self, plane: PlaneId, of: FoldOf) -> BlockId {
        let plane_state = &mut self.planes[plane as usize];
        debug_assert!(plane_state.under_way.is_none(), "one collection a plane");
        let region = plane_state.region.as_mut().expect("a plane with an SLC region");
        let block = region.take_to_fold(of).expect("a block waits to be folded");
        plane_state.under_way = Some(UnderWay {
            block,
            levels: false,
            folds: true,
            copied: 0,
            steps: Steps::default(),
        });
        plane_state.counters.collections += 1;
        if P::Tracker::FOLLOWS_ORIGINS {
            plane_state.tracker.folded(block);
        }
        let valid = plane_state.blocks.valid(block);
        plane_state.decisions =
            digest(plane_state.decisions, (u64::from(block) << 16) + u64::from(valid));
        block
    }
}
