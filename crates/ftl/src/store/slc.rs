//! The SLC region of a plane: which of its blocks are in SLC mode, where the host's next page goes, and
//! the transitions of a fold. A fold is a collection under way like any other, except for its victim:
//! that is no candidate, and no policy picks it.

use std::collections::VecDeque;

use flashgc_base::snapshot::{Fault, State};

use super::plane::{Steps, UnderWay};
use super::{Active, PageStore, Plane};
use crate::blocks::BlockId;
use crate::counters::digest;
use crate::layout::PlaneId;
use crate::placement::Class;
use crate::slc::{SlcBlocks, SlcRegion};
use crate::table::bytes_of;
use crate::track::Tracker;
use crate::victim::VictimPolicy;

/// The classes of a region, behind those of host writes and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlcClasses {
    /// The class of folded pages; `None` where a placement sorts them.
    pub(crate) folded: Option<Class>,
    /// The class of host writes into the region.
    pub(crate) slc: Class,
}

impl SlcClasses {
    /// The classes behind so many others, without a placement.
    pub(super) fn behind(others: usize) -> Self {
        let folded = others as Class;
        Self { folded: Some(folded), slc: folded + 1 }
    }

    /// The class behind the `others` of a placement.
    pub(super) fn sorted(others: usize) -> Self {
        Self { folded: None, slc: others as Class }
    }
}

/// See the module's text.
#[derive(State)]
#[snapshot(then = check)]
pub(crate) struct Region {
    #[snapshot(skip)]
    rule: SlcRegion,
    #[snapshot(skip)]
    pub(crate) classes: SlcClasses,
    /// Pages of an SLC block.
    #[snapshot(skip)]
    pages: u32,
    /// The clock has started. What is written before it goes to normal blocks: the region starts
    /// empty.
    is_used: bool,
    /// Pages from here on are those of a map on flash, and go to normal blocks.
    #[snapshot(skip)]
    host_pages: u32,
    /// For each block of the plane, `true` if it is in SLC mode.
    #[snapshot(table)]
    in_slc: Vec<bool>,
    /// Full SLC blocks, the oldest first.
    full: VecDeque<BlockId>,
    /// Erased blocks that were set aside.
    erased: VecDeque<BlockId>,
}

/// The room that a host write finds in the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlcRoom {
    /// The region has room for so many pages.
    Pages(u32),
    /// The region has no room, and the write waits for a fold.
    Waits,
    /// The region has no room, or there is no region: the write goes to a normal block.
    Direct,
}

impl Region {
    /// The region of a plane of `blocks` blocks. An SLC block has so many `pages`.
    pub(super) fn new(rule: SlcRegion, classes: SlcClasses, blocks: u32, pages: u32) -> Self {
        let first = blocks - rule.set_aside();
        Self {
            rule,
            classes,
            pages,
            is_used: false,
            host_pages: u32::MAX,
            in_slc: (0..blocks).map(|block| block >= first).collect(),
            full: VecDeque::new(),
            erased: (first..blocks).collect(),
        }
    }

    /// Bytes that it keeps at most, of a plane of `blocks` blocks.
    pub(super) fn bytes(blocks: u32) -> u64 {
        bytes_of::<bool>(blocks as usize) + bytes_of::<BlockId>(blocks as usize)
    }

    /// Returns `true` if the pool lends its blocks to the region.
    pub(crate) fn lends(&self) -> bool {
        matches!(self.rule.blocks, SlcBlocks::Dynamic { .. })
    }

    /// Blocks at the end of the plane that are never in normal mode.
    pub(super) fn set_aside(&self) -> u32 {
        self.rule.set_aside()
    }

    /// Returns `true` if `block` is in SLC mode.
    #[inline]
    pub(super) fn has(&self, block: BlockId) -> bool {
        self.in_slc[block as usize]
    }

    /// Returns `true` if `block` waits in the region, full or erased.
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.full.contains(&block) || self.erased.contains(&block)
    }

    fn check(&self) -> Result<(), Fault> {
        let blocks = self.in_slc.len();
        if self.full.iter().chain(&self.erased).all(|&block| (block as usize) < blocks) {
            return Ok(());
        }
        Err(Fault::new("an SLC region names a block that there is not"))
    }
}

impl<P: VictimPolicy> Plane<P> {
    /// Returns `true` if a write of `page` goes to the region, where that has room.
    #[inline]
    pub(crate) fn takes_in_slc(&self, page: u32) -> bool {
        self.region.as_ref().is_some_and(|region| page < region.host_pages)
    }

    /// Returns the room that a write of the host finds in the region.
    #[inline]
    pub(crate) fn slc_room(&self) -> SlcRoom {
        let Some(region) = &self.region else { return SlcRoom::Direct };
        let open = self.open[usize::from(region.classes.slc)];
        if !region.is_used {
            SlcRoom::Direct
        } else if open.is_some() {
            SlcRoom::Pages(region.pages - open.next)
        } else if self.has_slc_block(region) {
            SlcRoom::Pages(region.pages)
        } else if region.rule.waits && (!region.full.is_empty() || self.folds()) {
            SlcRoom::Waits
        } else {
            SlcRoom::Direct
        }
    }

    /// Returns `true` if an erased block may be opened in SLC mode.
    fn has_slc_block(&self, region: &Region) -> bool {
        match region.rule.blocks {
            SlcBlocks::Static(_) => !region.erased.is_empty(),
            SlcBlocks::Dynamic { keep, most } => {
                let lent = region.full.len() as u64 + u64::from(self.folds());
                self.pool.len() as u64 > u64::from(keep) && lent < u64::from(most)
            }
        }
    }

    /// Returns `true` if the pool lends its blocks to an SLC region.
    pub(super) fn lends(&self) -> bool {
        self.region.as_ref().is_some_and(Region::lends)
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
        self.region.as_ref().is_some_and(|region| !region.full.is_empty())
    }

    /// Pages with current data in full SLC blocks.
    pub(crate) fn valid_in_full_slc(&self) -> u64 {
        let full = self.region.iter().flat_map(|region| &region.full);
        full.map(|&block| u64::from(self.blocks.valid(block))).sum()
    }

    /// Opens an erased block in SLC mode. Returns it.
    fn open_slc(&mut self) -> BlockId {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        let block = match region.rule.blocks {
            SlcBlocks::Static(_) => region.erased.pop_front(),
            SlcBlocks::Dynamic { .. } => self.pool.take(),
        };
        let block = block.expect("the region has room");
        region.in_slc[block as usize] = true;
        self.open[usize::from(region.classes.slc)] = Active::erased(block);
        block
    }

    /// A page was programmed in the region: its block may be full.
    pub(super) fn close_slc(&mut self) {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        let open = &mut self.open[usize::from(region.classes.slc)];
        if open.next == region.pages {
            region.full.push_back(open.block);
            *open = Active::none(self.blocks.pages_per_block());
        }
    }

    /// A folded block, erased and not worn out, goes back to where it came from.
    pub(super) fn give_back(&mut self, block: BlockId) {
        let region = self.region.as_mut().expect("a plane with an SLC region");
        if region.lends() {
            region.in_slc[block as usize] = false;
            self.pool.put(block, self.blocks.erase_count(block));
        } else {
            region.erased.push_back(block);
        }
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Makes the host, whose pages are the first `pages`, write into the SLC regions from now on, if there
    /// are any.
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

    /// The host's `page` was programmed in the region of `plane`. A placement takes it for one of `class`.
    pub(crate) fn slc_written(&mut self, plane: PlaneId, page: u32, class: Class) {
        self.sorting.lies_mixed(page, class);
        let plane_state = &mut self.planes[plane as usize];
        plane_state.close_slc();
        plane_state.fruitless = 0;
    }

    /// Returns `true` if a fold can begin in `plane`: a block waits for it, and its pages find room, if need be
    /// in erased blocks beyond `low`.
    ///
    /// The pages of a fold may belong to each of the N classes of a placement. More than `low` erased blocks are
    /// N at least, and one for the next victim.
    pub(crate) fn can_fold(&self, plane: PlaneId, low: u32) -> bool {
        let plane_state = &self.planes[plane as usize];
        let Some(region) = &plane_state.region else { return false };
        let Some(&oldest) = region.full.front() else { return false };
        let valid = u32::from(plane_state.blocks.valid(oldest));
        let erased = plane_state.pool.len();
        // The erase of a lent block gives the pool one back, unless the block is worn out.
        match region.classes.folded {
            Some(folded) if valid <= plane_state.room(folded) => true,
            Some(_) if region.lends() => erased > 0,
            None if region.lends() => erased >= self.blocks_needed(plane, oldest, false),
            _ => valid == 0 || erased > low as usize,
        }
    }

    /// Begins to fold the oldest full SLC block of `plane`. Returns it.
    pub(crate) fn begin_fold(&mut self, plane: PlaneId) -> BlockId {
        let plane_state = &mut self.planes[plane as usize];
        debug_assert!(plane_state.under_way.is_none(), "one collection a plane");
        let region = plane_state.region.as_mut().expect("a plane with an SLC region");
        let block = region.full.pop_front().expect("a block waits to be folded");
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
            digest(plane_state.decisions, (u64::from(block) << 16) | u64::from(valid));
        block
    }
}
