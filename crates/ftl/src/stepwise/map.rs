//! The page map over planes: its tables, host writes and the steps of a collection.

use super::places::Sorting;
use super::tables::Tables;
use super::zombies::{Fate, Zombies};
use super::{Move, PlaneId, PlaneLayout, Room, Stepwise, Victim};
use crate::allocation::Pool;
use crate::blocks::{BlockId, BlockTable};
use crate::collect::{choose, digest};
use crate::frontier::Active;
use crate::geometry::Geometry;
use crate::page_map::{UNMAPPED, table_bytes};
use crate::placement::Class;
use crate::table::prefetch;
use crate::track::Tracker;
use crate::translation::{Counters, FtlError};
use crate::victim::VictimPolicy;
use crate::zombies::ZombieCounts;
use flashgc_base::rng::Stream;
use flashgc_base::spec::SpecError;

/// The page map over planes with victim policy `P`. See the module's text.
pub struct PlaneMap<P: VictimPolicy> {
    pub(super) tables: Tables,
    pub(super) planes: Vec<Plane<P>>,
    pub(super) sorting: Sorting,
    /// Kept where the policy or the placement asks.
    pub(super) zombies: Option<Zombies>,
    /// Memory that all this takes.
    bytes: u64,
}

/// What one victim search covers. Its blocks are numbered from 0.
pub(super) struct Plane<P: VictimPolicy> {
    policy: P,
    rng: Stream,
    pub(super) tracker: P::Tracker,
    pub(super) blocks: BlockTable,
    pub(super) pool: Box<dyn Pool>,
    /// The block being programmed of each class.
    pub(super) open: Box<[Active]>,
    /// The class whose full block was closed because the host waits for room in it.
    pub(super) wanted: Option<Class>,
    pub(super) under_way: Option<UnderWay>,
    pub(super) counters: Counters,
    pub(super) valid_pages: u64,
    decisions: u64,
    /// Collections since the host last got a block.
    pub(super) fruitless: u64,
    /// Its first block's number in the drive.
    pub(super) first_block: BlockId,
}

/// A collection between two steps.
pub(super) struct UnderWay {
    /// The victim, numbered in its plane.
    pub(super) block: BlockId,
    /// Every valid page below this offset has been moved, but one that is being moved.
    next: u32,
    /// The page to move next, out of order.
    preferred: Option<u32>,
    /// What `next_move` gave last.
    moving: Option<Move>,
    /// The map entries of valid pages below this offset have been asked for.
    fetched: u32,
}

/// Pages of a victim whose map entries are asked for at once. One by one, each request would wait
/// for the translation of its address; those of many are found side by side.
const FETCHED_AT_ONCE: u32 = u32::BITS;

impl<P: VictimPolicy> PlaneMap<P> {
    /// The map that `layout` describes, the policy of each plane made by `make`.
    ///
    /// # Errors
    /// Blocks that do not divide among the planes, or leave a plane no room; what `make` says.
    pub fn with_policy(
        layout: PlaneLayout,
        mut make: impl FnMut(&BlockTable, &mut Stream) -> Result<P, SpecError>,
    ) -> Result<Self, FtlError> {
        let geometry = layout.geometry;
        let pages = geometry.logical_pages();
        let blocks_per_plane = layout.blocks_per_plane()?;
        let promised = layout.promised()?;
        let memory = || FtlError::Memory { pages };
        let tables = Tables::new(geometry, blocks_per_plane).ok_or_else(memory)?;
        let sorting = Sorting::new(layout.placement.make(pages), geometry.blocks());
        let mut zombies = None;
        if sorting.asks_for_zombies() || P::Tracker::FOLLOWS_ZOMBIES {
            zombies = Some(Zombies::new(&geometry).ok_or_else(memory)?);
        }
        let b = geometry.pages_per_block();
        let mut planes = Vec::with_capacity(layout.planes as usize);
        let mut bytes = table_bytes(&geometry) + sorting.bytes();
        bytes += zombies.as_ref().map_or(0, |_| Zombies::bytes(&geometry));
        for (plane, promised) in (0..).zip(promised) {
            let shape = Geometry::new(blocks_per_plane, b, promised.max(1).into())?;
            let mut blocks = BlockTable::new(&shape);
            if zombies.is_some() {
                blocks.keep_zombies();
            }
            let kept = layout.kept();
            let waiting = layout.fill.erased(blocks_per_plane, promised.div_ceil(b), kept);
            let mut rng = layout.stream(plane, "victim");
            let policy = make(&blocks, &mut rng)?;
            bytes += BlockTable::bytes(blocks_per_plane)
                + layout.allocation.bytes(waiting)
                + policy.bytes(&shape);
            let tracker = policy.tracker(&blocks);
            planes.push(Plane {
                policy,
                rng,
                tracker,
                blocks,
                pool: layout.allocation.pool_from(waiting, layout.stream(plane, "allocation")),
                open: vec![Active::none(b); sorting.classes()].into(),
                wanted: None,
                under_way: None,
                counters: Counters::default(),
                valid_pages: 0,
                decisions: 0,
                fruitless: 0,
                first_block: plane * blocks_per_plane,
            });
        }
        let mut map = Self { tables, planes, sorting, zombies, bytes };
        map.fill(&layout);
        Ok(map)
    }

    /// Programs `page` at the open block of `class` in `plane`, which has room, and kills its old
    /// copy, of which `fate` is said if it is a zombie.
    fn program(&mut self, plane: PlaneId, class: Class, page: u32, fate: Fate) -> u32 {
        let held = &mut self.planes[plane as usize];
        let active = &mut held.open[usize::from(class)];
        let local = self.tables.program(held.first_block, active, page);
        held.blocks.counts_mut()[active.block as usize] += 1;
        held.blocks.program(active.block);
        held.blocks.tick(1);
        held.valid_pages += 1;
        self.sorting.clock += 1;
        if P::Tracker::FOLLOWS_PROGRAMS {
            held.tracker.pages_programmed(&held.blocks, local, 1);
        }
        let ppn = local + (held.first_block << self.tables.geometry.offset_bits());
        let old = std::mem::replace(&mut self.tables.map[page as usize], ppn);
        self.kill(old, fate);
        ppn
    }

    /// Kills the page at `old`, if it is one. Trackers hear of it but where it was in a victim:
    /// that block was taken from them.
    fn kill(&mut self, old: u32, fate: Fate) {
        if old == UNMAPPED {
            return;
        }
        self.bury(old, fate);
        self.tables.live[old as usize / 64] &= !(1 << (old % 64));
        let (plane, block) = self.tables.place_of(old);
        let held = &mut self.planes[plane as usize];
        let local = old - (held.first_block << self.tables.geometry.offset_bits());
        held.blocks.counts_mut()[block as usize] -= 1;
        held.valid_pages -= 1;
        if held.under_way.as_ref().is_some_and(|under_way| under_way.block == block) {
            return;
        }
        if P::Tracker::FOLLOWS_PAGES {
            held.tracker.pages_lost(&held.blocks, &[block]);
        }
        if P::Tracker::FOLLOWS_DEATHS {
            held.tracker.pages_died(&held.blocks, &[local], held.blocks.clock());
        }
    }

    fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        let logical_pages = self.tables.geometry.logical_pages();
        match pages.iter().copied().max() {
            Some(page) if page >= logical_pages => {
                Err(FtlError::OutOfRange { page, logical_pages })
            }
            _ => Ok(()),
        }
    }
}

impl<P: VictimPolicy> Stepwise for PlaneMap<P> {
    fn geometry(&self) -> &Geometry {
        &self.tables.geometry
    }

    fn planes(&self) -> u32 {
        self.planes.len() as u32
    }

    fn plane_of(&self, ppn: u32) -> PlaneId {
        self.tables.plane_of(ppn)
    }

    fn locate(&self, page: u32) -> Option<u32> {
        let ppn = self.tables.map[page as usize];
        (ppn != UNMAPPED).then_some(ppn)
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.tables.map, page as usize);
    }

    fn prefetch_old(&self, page: u32) {
        let Some(&ppn) = self.tables.map.get(page as usize) else { return };
        prefetch(&self.tables.live, ppn as usize / 64);
        let plane = self.tables.plane_of(ppn) as usize;
        if let Some(held) = self.planes.get(plane) {
            let block = ppn >> self.tables.geometry.offset_bits();
            prefetch(held.blocks.masked_counts(), (block - held.first_block) as usize);
        }
    }

    fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane as usize].pool.len() as u32
    }

    fn blocks_for_host(&self, plane: PlaneId) -> u32 {
        self.free_blocks(plane) + u32::from(self.planes[plane as usize].was_given())
    }

    fn reserved_blocks(&self) -> u32 {
        self.sorting.reserved()
    }

    fn open_blocks(&self) -> u32 {
        self.sorting.classes() as u32
    }

    fn host_room(&self, page: u32, plane: PlaneId) -> Room {
        let class = self.class_of_write(page);
        let pages = self.planes[plane as usize].room(class);
        Room { pages, is_open: self.may_write(class, plane) }
    }

    fn closes_frontier(&self, plane: PlaneId) -> bool {
        self.closes_host(plane)
    }

    fn close_full(&mut self, page: u32, plane: PlaneId) {
        self.close_class(self.class_of_write(page), plane);
    }

    fn open_closed(&mut self, plane: PlaneId) {
        self.open_wanted(plane);
    }

    fn valid_pages(&self, plane: PlaneId) -> u64 {
        self.planes[plane as usize].valid_pages
    }

    fn reclaimable_pages(&self, plane: PlaneId) -> u64 {
        let held = &self.planes[plane as usize];
        let victim = held.under_way.as_ref().map_or(Active::NO_BLOCK, |victim| victim.block);
        let others = held.open.iter().map(|active| active.block).chain([victim]);
        let elsewhere: u64 = others
            .filter(|&block| block != Active::NO_BLOCK)
            .map(|block| u64::from(held.blocks.valid(block)))
            .sum();
        let pages = u64::from(held.blocks.candidates()) * u64::from(held.blocks.pages_per_block());
        pages - (held.valid_pages - elsewhere)
    }

    fn write(&mut self, page: u32, plane: PlaneId) -> Result<Option<u32>, FtlError> {
        self.check_range(&[page])?;
        let class = self.class_of_write(page);
        if !self.may_write(class, plane) {
            return Ok(None);
        }
        let held = &mut self.planes[plane as usize];
        if held.room(class) == 0 || held.wanted == Some(class) {
            held.wanted = Some(class);
            self.open_wanted(plane);
        }
        self.planes[plane as usize].counters.host_pages += 1;
        let ppn = self.program(plane, class, page, Fate::Overwritten);
        self.sorting.wrote(page);
        Ok(Some(ppn))
    }

    fn trim(&mut self, page: u32) -> Result<Option<u32>, FtlError> {
        self.check_range(&[page])?;
        let old = std::mem::replace(&mut self.tables.map[page as usize], UNMAPPED);
        if old == UNMAPPED {
            return Ok(None);
        }
        self.kill(old, Fate::Trimmed);
        let plane = self.tables.plane_of(old);
        self.planes[plane as usize].counters.trimmed_pages += 1;
        Ok(Some(old))
    }

    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        if self.zombies.is_some() {
            self.mark(pages);
        }
        Ok(())
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        self.revive(pages);
        Ok(())
    }

    fn power_loss(&mut self) {
        self.revive_all();
    }

    fn zombies(&self) -> Option<ZombieCounts> {
        self.zombies.as_ref().map(|zombies| zombies.counts)
    }

    fn begin_collection(&mut self, plane: PlaneId) -> Result<Victim, FtlError> {
        let closes = self.closes_host(plane);
        let held = &mut self.planes[plane as usize];
        assert!(held.under_way.is_none(), "a collection of plane {plane} is under way");
        if closes {
            held.close_full_host();
        }
        let (victim, decision) = choose(
            &mut held.policy,
            &mut held.blocks,
            &mut held.tracker,
            &mut held.rng,
            held.fruitless,
        )?;
        held.fruitless += 1;
        held.counters.collections += 1;
        held.decisions = digest(held.decisions, decision);
        held.under_way =
            Some(UnderWay { block: victim, next: 0, preferred: None, moving: None, fetched: 0 });
        let block = held.first_block + victim;
        let b = self.tables.geometry.pages_per_block() as usize;
        for offset in (0..b).step_by(64 / size_of::<u32>()) {
            prefetch(&self.tables.reverse, block as usize * b + offset);
        }
        prefetch(&self.tables.live, (block as usize) << self.tables.geometry.offset_bits() >> 6);
        Ok(Victim { block, valid: held.blocks.valid(victim).into() })
    }

    fn victim(&self, plane: PlaneId) -> Option<BlockId> {
        let held = &self.planes[plane as usize];
        held.under_way.as_ref().map(|under_way| held.first_block + under_way.block)
    }

    fn next_move(&mut self, plane: PlaneId) -> Option<Move> {
        let held = &mut self.planes[plane as usize];
        let under_way = held.under_way.as_mut()?;
        let bits = self.tables.geometry.offset_bits();
        let b = self.tables.geometry.pages_per_block() as usize;
        let block = held.first_block + under_way.block;
        let first = block << bits;
        let preferred = under_way.preferred.take().filter(|&ppn| self.tables.is_live(ppn));
        let reverse = &self.tables.reverse[block as usize * b..][..b];
        let offset = match preferred {
            Some(ppn) => ppn - first,
            None => {
                let found = self.tables.next_live(first, under_way.next)?;
                under_way.next = found;
                if found >= under_way.fetched {
                    let mut ahead = self.tables.live_from(first | found);
                    under_way.fetched = found + FETCHED_AT_ONCE;
                    while ahead != 0 {
                        let offset = (found + ahead.trailing_zeros()) as usize;
                        let Some(&page) = reverse.get(offset) else { break };
                        prefetch(&self.tables.map, page as usize);
                        ahead &= ahead - 1;
                    }
                }
                found
            }
        };
        let next = Move { page: reverse[offset as usize], from: first | offset };
        under_way.moving = Some(next);
        Some(next)
    }

    fn prefer(&mut self, plane: PlaneId, page: u32) -> bool {
        let Some(ppn) = self.locate(page) else { return false };
        let is_in_victim = self.victim(plane) == Some(ppn >> self.tables.geometry.offset_bits());
        if let Some(under_way) = &mut self.planes[plane as usize].under_way
            && is_in_victim
        {
            under_way.preferred = Some(ppn);
        }
        is_in_victim
    }

    fn copy(&mut self, plane: PlaneId) -> Result<Option<u32>, FtlError> {
        let Some(moving) = self.take_moving(plane) else { return Ok(None) };
        if !self.tables.is_live(moving.from) {
            return Ok(None);
        }
        let zombie = self.is_zombie(moving.from);
        let class = self.class_of_copy(moving.page, moving.from, zombie);
        self.open_next(class, plane)?;
        let ppn = self.program(plane, class, moving.page, Fate::Copied);
        if zombie {
            self.set_zombie(ppn);
        }
        self.planes[plane as usize].counters.copied_pages += 1;
        Ok(Some(ppn))
    }

    fn merge(&mut self, plane: PlaneId) -> Result<u32, FtlError> {
        let Move { page, from } = self.take_moving(plane).expect("a merge follows a move");
        let class = self.class_of_copy(page, from, false);
        self.open_next(class, plane)?;
        let ppn = self.program(plane, class, page, Fate::Overwritten);
        self.sorting.wrote(page);
        self.planes[plane as usize].counters.host_pages += 1;
        Ok(ppn)
    }

    fn erase(&mut self, plane: PlaneId) -> BlockId {
        let held = &mut self.planes[plane as usize];
        let victim = held.under_way.take().expect("a collection is under way").block;
        assert_eq!(held.blocks.valid(victim), 0, "a victim with valid pages is not erased");
        held.counters.erases += held.blocks.erase(victim);
        held.pool.put(victim, held.blocks.erase_count(victim));
        held.first_block + victim
    }

    fn plane_counters(&self, plane: PlaneId) -> Counters {
        self.planes[plane as usize].counters
    }

    fn blocks(&self, plane: PlaneId) -> &BlockTable {
        &self.planes[plane as usize].blocks
    }

    fn decisions(&self) -> u64 {
        let all = self.planes.iter().map(|plane| plane.decisions);
        all.reduce(digest).unwrap_or_default()
    }

    fn audit(&self) -> Result<(), String> {
        super::audit::audit(self)
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

impl<P: VictimPolicy> PlaneMap<P> {
    fn take_moving(&mut self, plane: PlaneId) -> Option<Move> {
        self.planes[plane as usize].under_way.as_mut()?.moving.take()
    }
}
