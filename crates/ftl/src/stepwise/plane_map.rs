//! The page map over planes: how a drive with a clock drives the [page store](crate::store), one
//! operation at a time.

use flashgc_base::fail_if;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::stream::StreamId;

use super::{Contents, FoldsSlc, Homes, Move, OpenBlock, Room, Stepwise, VictimBlock};
use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::FtlError;
use crate::geometry::{Geometry, UNMAPPED};
use crate::layer::{Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams, methods_of_store};
use crate::layout::{PlaneId, PlaneLayout};
use crate::page_buffer::PageBuffer;
use crate::placement::{Class, Place};
use crate::slc::FoldOf;
use crate::smaller::Smaller;
use crate::store::{
    Active, Fate, HOST, LIVE_AHEAD, MAP_AHEAD, PageStore, Plane, Region, SlcRoom, UnderWay,
    programs_of, room_for_a_block,
};
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use crate::wear::Wear;
use flashgc_base::table::prefetch;

/// The page map over planes with victim policy `P`; the header of this file describes it.
#[derive(State)]
pub struct PlaneMap<P: VictimPolicy> {
    #[snapshot(state)]
    store: PageStore<P>,
}

/// Pages of a victim whose map entries are prefetched at once. One by one, each request would wait
/// for the translation of its address; the addresses of many are translated side by side.
const FETCHED_AT_ONCE: u32 = u32::BITS;

/// Pages whose writes before the clock are done together.
const WRITTEN_AT_ONCE: usize = 64;

impl<P: VictimPolicy> PlaneMap<P> {
    /// The map that `layout` describes, the policy of each plane made by `make`.
    ///
    /// # Errors
    /// Blocks that do not divide among the planes, or leave a plane no room; an error of `make`.
    pub fn with_policy(
        layout: PlaneLayout,
        make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Self, FtlError> {
        Ok(Self { store: PageStore::new(&layout, make)? })
    }

    fn plane(&self, plane: PlaneId) -> &Plane<P> {
        &self.store.planes[plane as usize]
    }

    fn plane_mut(&mut self, plane: PlaneId) -> &mut Plane<P> {
        &mut self.store.planes[plane as usize]
    }

    /// The class of a host write of `page`.
    #[inline]
    fn class_of_write(&self, page: u32) -> Class {
        if !self.store.sorting.has_rule() {
            return HOST;
        }
        self.store.sorting.of_write(page, self.store.block_of(page))
    }

    /// Returns the room that a write of `page` finds in the SLC region of `plane`: none on a drive
    /// that is read-only, and none for a page of a map on flash.
    #[inline(always)]
    fn slc_room(&self, page: u32, plane: PlaneId) -> SlcRoom {
        match self.plane(plane).region {
            Some(_) => self.room_in_region(page, plane),
            None => SlcRoom::Direct,
        }
    }

    /// Returns the room of a write of `page` in the normal blocks of `plane`.
    #[inline(always)]
    fn room_in_normal_blocks(&self, page: u32, plane: PlaneId) -> Room {
        let class = self.class_of_write(page);
        let is_open = !self.store.has_ended() && self.may_write(class, plane);
        let pages = self.plane(plane).room(class);
        let together = match self.store.wear.as_ref().is_some_and(Wear::shrinks) {
            true => self.together(plane, class, pages),
            false => self.store.buffer.units_per_program(),
        };
        Room { pages, is_open, folds: false, in_slc: false, together }
    }

    /// Returns the room of a write of `page` in `plane`, which has an SLC region.
    #[inline(never)]
    fn room_with_region(&self, page: u32, plane: PlaneId) -> Room {
        let together = self.store.buffer.units_per_page;
        match self.room_in_region(page, plane) {
            SlcRoom::Direct => {
                let folds = self.finds_region_full(page, plane);
                Room { folds, ..self.room_in_normal_blocks(page, plane) }
            }
            SlcRoom::Pages(pages) => {
                Room { pages, is_open: true, folds: false, in_slc: true, together }
            }
            SlcRoom::Waits => {
                Room { pages: 0, is_open: false, folds: true, in_slc: true, together }
            }
        }
    }

    /// Returns `true` if a write of `page`, which finds no room in the region of `plane`, would find
    /// some after folds.
    fn finds_region_full(&self, page: u32, plane: PlaneId) -> bool {
        let plane_state = self.plane(plane);
        plane_state.takes_in_slc(page) && plane_state.has_full_slc() && !self.store.has_ended()
    }

    #[inline(never)]
    fn room_in_region(&self, page: u32, plane: PlaneId) -> SlcRoom {
        let plane_state = self.plane(plane);
        match plane_state.takes_in_slc(page) && !self.store.has_ended() {
            true => plane_state.slc_room(),
            false => SlcRoom::Direct,
        }
    }

    /// Returns `true` if the host finds room for a page of `class` in `plane`.
    #[inline(always)]
    fn may_write(&self, class: Class, plane: PlaneId) -> bool {
        let plane_state = self.plane(plane);
        match plane_state.room(class) {
            0 => plane_state.erased_blocks() as u32 > self.store.sorting.reserved(),
            _ => {
                !self.store.sorting.has_rule() || self.store.sorting.leaves_room(plane_state, class)
            }
        }
    }

    /// Returns the units that are programmed with the next one of `class`, whose open block has room for
    /// `room`, on a drive whose superblocks shrink: 1 if it is not known which block is opened next.
    #[inline(never)]
    fn together(&self, plane: PlaneId, class: Class, room: u32) -> u32 {
        if room == 0 {
            return 1;
        }
        let plane_state = self.plane(plane);
        let open = plane_state.open[usize::from(class)];
        let block = plane_state.first_block + open.block;
        let program = self.store.programs_of(block).program(open.next).1;
        program.end - program.start
    }

    /// Opens an erased block for `class` if its open block has no room.
    fn give_room(&mut self, class: Class, plane: PlaneId) -> Result<(), FtlError> {
        match self.plane(plane).room(class) {
            0 => self.store.open_next(class, plane),
            _ => Ok(()),
        }
    }

    /// Programs `page`, written by the host, at the open block of `class`. The placement counts it
    /// as a page of the class `sorted`.
    #[inline(always)]
    fn program_host_page(&mut self, plane: PlaneId, class: Class, sorted: Class, page: u32) -> u32 {
        let from = self.store.sorting.has_rule().then(|| self.store.block_of(page)).flatten();
        let ppn = self.store.program(plane, class, page, Fate::Overwritten);
        self.plane_mut(plane).counters.host_pages += 1;
        let to = Place { class: sorted, block: self.store.tables.place_of(ppn).0 };
        self.store.sorting.wrote(page, from, to);
        self.store.count_outside(plane, &[page]);
        self.store.host_ends(plane, class);
        self.store.note_written(&[page]);
        ppn
    }

    /// Programs `page`, written by the host, in the SLC region, which has room.
    fn write_slc(&mut self, page: u32, plane: PlaneId) -> Result<u32, FtlError> {
        let sorted = self.class_of_write(page);
        self.store.sorting.goes_on()?;
        let class = self.store.ready_slc(plane);
        let ppn = self.program_host_page(plane, class, sorted, page);
        self.store.slc_written(plane, page, sorted);
        Ok(ppn)
    }

    /// Returns `true` if a collection of `plane` begins by closing the host frontier, which is
    /// full.
    fn closes_host(&self, plane: PlaneId) -> bool {
        !self.store.sorting.has_rule() && self.plane(plane).room(HOST) == 0
    }

    /// Returns `true` if a host write changes nothing but the tables, and no part of the store must
    /// see each write before the next one.
    fn is_plain(&self) -> bool {
        let PageStore { sorting, gathering, zombies, changes, .. } = &self.store;
        !sorting.follows_writes()
            && gathering.is_none()
            && zombies.is_none()
            && changes.is_none()
            && !P::Tracker::FOLLOWS_ORIGINS
            && !P::Tracker::FOLLOWS_DEATHS
            && !self.uses_regions()
    }

    /// Writes pages as [`Stepwise::write_ahead`] does, if the store [is plain](Self::is_plain).
    /// Returns the number of pages written.
    ///
    /// Two passes over a few pages, each with one table to wait for: first the map, then the live
    /// bits.
    fn write_plain(&mut self, pages: &[u32], most: usize, homes: &Homes) -> usize {
        let PageStore { tables, planes, sorting, .. } = &mut self.store;
        let logical_pages = tables.geometry.logical_pages();
        let most = most.min(pages.len());
        let mut done = 0;
        let mut old = [UNMAPPED; WRITTEN_AT_ONCE];
        loop {
            let limit = (most - done).min(WRITTEN_AT_ONCE);
            let mut count = 0;
            for (old, index) in old[..limit].iter_mut().zip(done..) {
                if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                    prefetch(&tables.map, ahead as usize);
                }
                let page = pages[index];
                if page >= logical_pages {
                    break;
                }
                let plane_state = &mut planes[homes.of(page) as usize];
                if plane_state.room(HOST) == 0 || plane_state.wanted.is_some() {
                    break;
                }
                let ppn = plane_state.program(tables, HOST, &[page]);
                plane_state.counters.host_pages += 1;
                *old = std::mem::replace(&mut tables.map[page as usize], ppn);
                prefetch(&tables.live, (*old >> 6) as usize);
                count += 1;
            }
            for old in old[..count].iter_mut().filter(|old| **old != UNMAPPED) {
                let plane = tables.plane_of(*old) as usize;
                planes[plane].kill(tables, std::slice::from_mut(old));
            }
            sorting.tick(count as u64);
            done += count;
            if count < WRITTEN_AT_ONCE {
                return done;
            }
        }
    }

    /// Returns `true` if the planes have SLC regions.
    fn has_regions(&self) -> bool {
        self.plane(0).region.is_some()
    }

    /// Returns `true` if writes go to the SLC regions, as they do from the start of the clock on.
    fn uses_regions(&self) -> bool {
        self.plane(0).region.as_ref().is_some_and(Region::is_used)
    }

    fn take_moving(&mut self, plane: PlaneId) -> Option<Move> {
        self.plane_mut(plane).under_way.as_mut()?.steps.moving.take()
    }
}

impl<P: VictimPolicy> Stepwise for PlaneMap<P> {
    fn planes(&self) -> u32 {
        self.store.planes.len() as u32
    }

    fn plane_of(&self, ppn: u32) -> PlaneId {
        self.store.tables.plane_of(ppn)
    }

    fn locate(&self, page: u32) -> Option<u32> {
        self.store.locate(page)
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.store.tables.map, page as usize);
    }

    fn prefetch_old(&self, page: u32) {
        let Some(ppn) = self.store.locate(page) else { return };
        prefetch(&self.store.tables.live, ppn as usize / 64);
        let plane_state = self.plane(self.store.tables.plane_of(ppn));
        let block = self.store.tables.place_of(ppn).0 - plane_state.first_block;
        prefetch(plane_state.blocks.masked_counts(), block as usize);
    }

    fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.plane(plane).erased_blocks() as u32
    }

    fn blocks_for_host(&self, plane: PlaneId) -> u32 {
        let plane_state = self.plane(plane);
        let was_given = plane_state.wanted.is_some_and(|class| plane_state.room(class) > 0);
        self.free_blocks(plane) + u32::from(was_given)
    }

    fn reserved_blocks(&self) -> u32 {
        self.store.sorting.reserved()
    }

    fn open_blocks(&self) -> u32 {
        self.store.sorting.classes() as u32
    }

    fn open_block(&self, plane: PlaneId, class: Class) -> Option<OpenBlock> {
        let plane_state = self.plane(plane);
        let open = plane_state.open.get(usize::from(class)).filter(|open| open.is_some())?;
        Some(OpenBlock { class, block: plane_state.first_block + open.block, next: open.next })
    }

    fn entries(&mut self) -> &mut [u32] {
        &mut self.store.tables.map
    }

    fn hold(&mut self, contents: &Contents<'_>) -> Result<(), Fault> {
        self.store.hold(contents)
    }

    fn host_room(&self, page: u32, plane: PlaneId) -> Room {
        match self.plane(plane).region {
            Some(_) => self.room_with_region(page, plane),
            None => self.room_in_normal_blocks(page, plane),
        }
    }

    fn closes_frontier(&self, plane: PlaneId) -> bool {
        self.closes_host(plane)
    }

    fn close_full(&mut self, page: u32, plane: PlaneId) {
        if self.slc_room(page, plane) != SlcRoom::Direct {
            return; // it waits for a fold, and needs no block
        }
        let class = self.class_of_write(page);
        let sorts = self.store.sorting.has_rule();
        let plane_state = self.plane_mut(plane);
        if sorts && plane_state.room(class) == 0 {
            plane_state.close_class(class);
            plane_state.wanted = Some(class);
        }
    }

    fn open_closed(&mut self, plane: PlaneId) {
        let reserved = self.store.sorting.reserved();
        let plane_state = self.plane(plane);
        let has_spare = plane_state.erased_blocks() as u32 > reserved;
        if let Some(class) = plane_state.wanted
            && (has_spare || plane_state.room(class) > 0)
            && self.give_room(class, plane).is_ok()
        {
            let plane_state = self.plane_mut(plane);
            plane_state.wanted = None;
            plane_state.fruitless = 0;
        }
    }

    fn close_unit(&mut self, stream: StreamId, plane: PlaneId) -> Option<u32> {
        debug_assert!(self.store.gathering.is_none(), "no page waits to be programmed");
        let class = self.store.sorting.of_handle(stream)?;
        let plane_state = self.plane_mut(plane);
        let open = plane_state.open[usize::from(class)];
        if !open.is_some() || open.next == plane_state.blocks.lost(open.block) {
            return Some(0);
        }
        let left = plane_state.room(class);
        plane_state.close_class(class);
        Some(left)
    }

    fn valid_pages(&self, plane: PlaneId) -> u64 {
        self.plane(plane).valid_pages
    }

    fn reclaimable_pages(&self, plane: PlaneId) -> u64 {
        let plane_state = self.plane(plane);
        let victim = plane_state.under_way.as_ref().map_or(Active::NO_BLOCK, |victim| victim.block);
        let others = plane_state.open.iter().map(|active| active.block).chain([victim]);
        let elsewhere: u64 = others
            .filter(|&block| block != Active::NO_BLOCK)
            .map(|block| u64::from(plane_state.blocks.live(block)))
            .sum();
        let (held, lost) = plane_state.kept.as_ref().map_or((0, 0), |it| (it.held(), it.lost()));
        let pages = u64::from(plane_state.blocks.candidates() + held)
            * u64::from(plane_state.blocks.pages_per_block())
            - plane_state.blocks.lost_of_candidates()
            - lost;
        pages - (plane_state.valid_pages - elsewhere - plane_state.valid_in_full_slc())
    }

    fn write(&mut self, page: u32, plane: PlaneId) -> Result<Option<u32>, FtlError> {
        self.store.check_range(&[page])?;
        match self.slc_room(page, plane) {
            SlcRoom::Direct => {}
            SlcRoom::Pages(_) => return self.write_slc(page, plane).map(Some),
            SlcRoom::Waits => return Ok(None),
        }
        let class = self.class_of_write(page);
        self.store.sorting.goes_on()?;
        if self.store.has_ended() || !self.may_write(class, plane) {
            return Ok(None);
        }
        let plane_state = self.plane_mut(plane);
        if plane_state.room(class) == 0 || plane_state.wanted == Some(class) {
            plane_state.wanted = Some(class);
            self.open_closed(plane);
        }
        let ppn = self.program_host_page(plane, class, class, page);
        Ok(Some(ppn))
    }

    fn write_ahead(
        &mut self,
        pages: &[u32],
        most: usize,
        homes: &Homes,
    ) -> Result<usize, FtlError> {
        if self.store.has_ended() || self.uses_regions() {
            return Ok(0);
        }
        if self.is_plain() {
            return Ok(self.write_plain(pages, most, homes));
        }
        let logical_pages = self.store.tables.geometry.logical_pages();
        for (index, &page) in pages.iter().enumerate().take(most) {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.store.tables.map, ahead as usize);
            }
            if let Some(&ahead) = pages.get(index + LIVE_AHEAD) {
                self.prefetch_old(ahead);
            }
            if page >= logical_pages {
                return Ok(index);
            }
            let (class, plane) = (self.class_of_write(page), homes.of(page));
            let plane_state = self.plane(plane);
            if plane_state.room(class) == 0
                || plane_state.wanted == Some(class)
                || !self.may_write(class, plane)
            {
                return Ok(index);
            }
            self.store.sorting.goes_on()?;
            self.program_host_page(plane, class, class, page);
        }
        Ok(most.min(pages.len()))
    }

    fn trim(&mut self, page: u32) -> Result<Option<u32>, FtlError> {
        self.store.check_range(&[page])?;
        if self.store.has_ended() {
            return Err(self.store.read_only());
        }
        Ok(self.store.discard(page))
    }

    fn unit_in_page(&self, ppn: u32) -> u32 {
        self.store.unit_in_page(ppn)
    }

    fn unit_in_program(&self, ppn: u32) -> u32 {
        self.store.unit_in_program(ppn)
    }

    fn units_of_program(&self, ppn: u32) -> u32 {
        self.store.units_of_program(ppn)
    }

    fn buffer(&self) -> PageBuffer {
        self.store.buffer
    }

    fn units_to_read(&self, ppn: u32) -> u32 {
        let PageBuffer { units_per_page, planes, .. } = self.store.buffer;
        let (tables, of_plane) = (&self.store.tables, units_per_page / planes);
        let (block, offset) = tables.place_of(ppn);
        let page = self.store.programs_of(block).page(offset);
        let planes = planes.min((page.end - page.start) / of_plane);
        let first = ppn - self.store.unit_in_page(ppn);
        let is_wanted = |&page: &u32| {
            let units = first + page * of_plane..first + (page + 1) * of_plane;
            units.into_iter().any(|unit| tables.is_live(unit))
        };
        of_plane * (0..planes).filter(is_wanted).count() as u32
    }

    fn next_live_page(&self, plane: PlaneId, from: u32) -> Option<(u32, u32)> {
        let block = self.victim(plane)?;
        let PageStore { tables, copy_order, .. } = &self.store;
        let next = match copy_order {
            None => tables.next_live(block, from)?,
            Some(order) => order.next_live(tables, block, from)?.1,
        };
        let page = self.store.programs_of(block).page(next);
        let behind = copy_order.as_ref().map_or(page.end, |order| order.place(page.end - 1) + 1);
        Some((tables.first_ppn(block) + page.start, behind))
    }

    fn smaller(&self, block: BlockId) -> Option<&Smaller> {
        self.store.wear.as_ref()?.smaller(block).map(|smaller| &**smaller)
    }

    fn is_buffered(&self, ppn: u32) -> bool {
        self.store.is_buffered(ppn)
    }

    fn is_unwritten(&self, ppn: u32) -> bool {
        self.store.is_unwritten(ppn)
    }

    fn program_host_data(&mut self, plane: PlaneId) -> Option<u32> {
        self.store.program_host_data(plane)
    }

    fn program_copies(&mut self, plane: PlaneId) -> Option<u32> {
        self.store.program_copies(plane)
    }

    fn begin_collection(&mut self, plane: PlaneId) -> Result<Option<VictimBlock>, FtlError> {
        if self.closes_host(plane) {
            self.plane_mut(plane).close_class(HOST);
        }
        let Some(victim) = self.store.begin(plane)? else { return Ok(None) };
        let plane_state = self.plane(plane);
        let block = plane_state.first_block + victim;
        self.store.tables.prefetch_block(block);
        Ok(Some(VictimBlock { block, valid: plane_state.blocks.live(victim) }))
    }

    fn plane_of_write(&self, page: u32, home: PlaneId, coming: &[u32]) -> PlaneId {
        let coming = |plane: PlaneId| coming.get(plane as usize).copied().unwrap_or(0).into();
        self.store.plane_of_write(page, home, coming)
    }

    fn groups(&self) -> u32 {
        self.store.groups.as_ref().map_or(1, |groups| groups.count())
    }

    fn group_of_write(&self, page: u32) -> Option<u32> {
        self.store.group_named(page)
    }

    fn slc(&self) -> Option<&dyn FoldsSlc> {
        if self.has_regions() { Some(self) } else { None }
    }

    fn slc_mut(&mut self) -> Option<&mut dyn FoldsSlc> {
        if self.has_regions() { Some(self) } else { None }
    }

    fn victim(&self, plane: PlaneId) -> Option<BlockId> {
        let plane_state = self.plane(plane);
        plane_state.under_way.as_ref().map(|under_way| plane_state.first_block + under_way.block)
    }

    fn next_move(&mut self, plane: PlaneId) -> Option<Move> {
        let PageStore { tables, planes, gathering, buffer, wear, copy_order, .. } = &mut self.store;
        let plane_state = &mut planes[plane as usize];
        let under_way = plane_state.under_way.as_mut()?;
        let block = plane_state.first_block + under_way.block;
        let steps = &mut under_way.steps;
        let first = tables.first_ppn(block);
        let reverse = tables.pages_of(block);
        let preferred = steps.preferred.take().filter(|&ppn| tables.is_live(ppn));
        let offset = match (preferred, copy_order) {
            (Some(ppn), _) => ppn - first,
            (None, Some(order)) => {
                let (place, offset) = order.next_live(tables, block, steps.next)?;
                steps.next = place;
                offset
            }
            (None, None) => {
                let next_live = tables.next_live(block, steps.next)?;
                steps.next = next_live;
                if next_live >= steps.fetched {
                    let mut ahead = tables.live_from(first | next_live);
                    steps.fetched = next_live + FETCHED_AT_ONCE;
                    while ahead != 0 {
                        let offset = (next_live + ahead.trailing_zeros()) as usize;
                        let Some(&page) = reverse.get(offset) else { break };
                        prefetch(&tables.map, page as usize);
                        ahead &= ahead - 1;
                    }
                }
                next_live
            }
        };
        let from = first | offset;
        let mut is_at_hand = false;
        if let Some(gathering) = gathering {
            let programs = programs_of(buffer, wear.as_ref(), block);
            let read = Some(first + programs.page(offset).start);
            is_at_hand = std::mem::replace(&mut steps.read, read) == read;
            gathering.counts.pages_read += u64::from(!is_at_hand);
        }
        let next = Move { page: reverse[offset as usize], from, is_at_hand };
        steps.moving = Some(next);
        Some(next)
    }

    fn prefer(&mut self, plane: PlaneId, page: u32) -> bool {
        let Some(ppn) = self.locate(page) else { return false };
        let is_in_victim = self.victim(plane) == Some(self.store.tables.place_of(ppn).0);
        if let Some(under_way) = &mut self.plane_mut(plane).under_way
            && is_in_victim
        {
            under_way.steps.preferred = Some(ppn);
        }
        is_in_victim
    }

    fn copy(&mut self, plane: PlaneId) -> Result<Option<u32>, FtlError> {
        let Some(Move { page, from, .. }) = self.take_moving(plane) else { return Ok(None) };
        if !self.store.tables.is_live(from) {
            return Ok(None);
        }
        self.store.copy(plane, page, from).map(Some)
    }

    fn copy_pages(&mut self, plane: PlaneId, count: u32) -> Result<(), FtlError> {
        let plane_state = self.plane(plane);
        let Some(UnderWay { block, levels, folds, .. }) = plane_state.under_way else {
            return Ok(());
        };
        let class = self.store.sorting.of_copies(levels);
        let Some(class) = class.filter(|_| {
            !folds && self.copies_on_its_own() && plane_state.blocks.live(block) == count
        }) else {
            for _ in 0..count {
                self.next_move(plane);
                self.copy(plane)?;
            }
            return Ok(());
        };
        let mut pages = vec![0; room_for_a_block(plane_state.blocks.pages_per_block())];
        let (count, with_zombies) = self.store.lift(plane, block, &mut pages);
        self.store.set_down_all(plane, class, &pages[..count], with_zombies)
    }

    fn collect_at_once(&mut self, plane: PlaneId) -> Result<(), FtlError> {
        if self.closes_host(plane) {
            self.plane_mut(plane).close_class(HOST);
        }
        let b = self.plane(plane).blocks.pages_per_block();
        let mut pages = vec![0; room_for_a_block(b)];
        self.store.collect(plane, &mut pages, |_, pages| pages.len())?;
        Ok(())
    }

    fn copies_on_its_own(&self) -> bool {
        let PageStore { sorting, gathering, wear, zombies, changes, .. } = &self.store;
        !sorting.follows_writes()
            && gathering.is_none()
            && wear.is_none()
            && zombies.is_none()
            && changes.is_none()
    }

    fn merge(&mut self, plane: PlaneId) -> Result<u32, FtlError> {
        let Move { page, from, .. } = self.take_moving(plane).expect("a merge follows a move");
        let class = self.store.class_of_copy(plane, page, from, false);
        self.store.sorting.goes_on()?;
        let class = self.store.room_for_copy(class, plane)?;
        // A page that is moved to level wear keeps its class, even if the host writes it.
        let sorted = match self.plane(plane).under_way.as_ref() {
            Some(victim) if victim.levels && self.store.sorting.has_rule() => {
                let sorted = self.store.sorting.class_at(page, self.store.tables.place_of(from).0);
                self.store.sorting.lies_mixed(page, sorted);
                sorted
            }
            _ => class,
        };
        Ok(self.program_host_page(plane, class, sorted, page))
    }

    fn erase(&mut self, plane: PlaneId) -> BlockId {
        self.plane(plane).first_block + self.store.finish(plane)
    }

    fn plane_counters(&self, plane: PlaneId) -> Counters {
        self.plane(plane).counters
    }

    fn blocks(&self, plane: PlaneId) -> &BlockTable {
        &self.plane(plane).blocks
    }

    fn decisions_behind(&self, before: Option<u64>) -> Option<u64> {
        self.store.decisions_behind(before)
    }
}

impl<P: VictimPolicy> Layer for PlaneMap<P> {
    methods_of_store!();

    fn counters(&self) -> Counters {
        self.store.counters()
    }

    fn counts(&self) -> LayerCounts {
        self.store.counts()
    }

    fn audit(&self) -> Result<(), String> {
        for plane in 0..self.planes() {
            let plane_state = self.plane(plane);
            let full = plane_state.blocks.pages_per_block();
            let counts = plane_state.blocks.masked_counts().iter().filter(|&&count| count <= full);
            let dead: u64 = counts.map(|&count| u64::from(full - count)).sum();
            fail_if!(
                self.reclaimable_pages(plane) != dead,
                "plane {plane}: {dead} pages of candidates are dead, miscounted"
            );
        }
        self.store.audit()
    }
}

impl<P: VictimPolicy> FoldsSlc for PlaneMap<P> {
    fn start(&mut self, pages: u32) {
        self.store.use_slc(pages);
    }

    fn holds(&self, ppn: u32) -> bool {
        self.store.is_slc(ppn)
    }

    fn waits_for_fold(&self, plane: PlaneId) -> bool {
        !self.store.has_ended() && self.plane(plane).slc_room() == SlcRoom::Waits
    }

    fn has_full(&self, plane: PlaneId) -> bool {
        self.plane(plane).has_full_slc()
    }

    fn can_fold(&self, plane: PlaneId, of: FoldOf, low: u32) -> bool {
        self.store.can_fold(plane, of, low)
    }

    fn folds_set_aside(&self, plane: PlaneId) -> bool {
        self.plane(plane).folds_set_aside()
    }

    fn begin_fold(&mut self, plane: PlaneId, of: FoldOf) -> VictimBlock {
        let block = self.store.begin_fold(plane, of);
        let plane_state = self.plane(plane);
        let number = plane_state.first_block + block;
        self.store.tables.prefetch_block(number);
        VictimBlock { block: number, valid: plane_state.blocks.valid(block) }
    }
}
