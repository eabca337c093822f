//! The page map over planes: its tables, host writes and the steps of a collection.

use super::{Move, PlaneId, PlaneLayout, RESERVED_BLOCKS, Stepwise, Victim};
use crate::allocation::Pool;
use crate::blocks::{BlockId, BlockTable};
use crate::collect::{choose, digest};
use crate::frontier::Active;
use crate::geometry::Geometry;
use crate::page_map::{UNMAPPED, live_words, set_bits, table_bytes};
use crate::rng::Stream;
use crate::spec::SpecError;
use crate::table::{Table, prefetch};
use crate::track::Tracker;
use crate::translation::{Counters, FtlError};
use crate::victim::VictimPolicy;

/// The page map over planes with victim policy `P`. See the module's text.
pub struct PlaneMap<P: VictimPolicy> {
    pub(super) tables: Tables,
    pub(super) planes: Vec<Plane<P>>,
    /// Memory that all this takes.
    bytes: u64,
}

/// Where every page is: tables over all pages and blocks of the drive.
pub(super) struct Tables {
    pub(super) geometry: Geometry,
    pub(super) blocks_per_plane: u32,
    /// 2^64 / blocks a plane, rounded up: a division by multiplication.
    reciprocal: u64,
    /// Logical page to ppn, or [`UNMAPPED`].
    pub(super) map: Table<u32>,
    /// Physical page (block times b plus offset) to the logical page last written there.
    pub(super) reverse: Table<u32>,
    /// One bit a ppn: the page holds current data.
    pub(super) live: Table<u64>,
}

/// What one victim search covers. Its blocks are numbered from 0.
pub(super) struct Plane<P: VictimPolicy> {
    policy: P,
    rng: Stream,
    pub(super) tracker: P::Tracker,
    pub(super) blocks: BlockTable,
    pub(super) pool: Box<dyn Pool>,
    pub(super) host: Active,
    pub(super) copies: Active,
    pub(super) under_way: Option<UnderWay>,
    pub(super) counters: Counters,
    pub(super) valid_pages: u64,
    decisions: u64,
    /// Collections since the host frontier last took a block.
    fruitless: u64,
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
}

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
        let tables = Tables {
            geometry,
            blocks_per_plane,
            reciprocal: u64::MAX / u64::from(blocks_per_plane) + 1,
            map: Table::new(pages as usize).ok_or_else(memory)?,
            reverse: Table::new(geometry.physical_pages() as usize).ok_or_else(memory)?,
            live: Table::new(live_words(&geometry)).ok_or_else(memory)?,
        };
        let b = geometry.pages_per_block();
        let mut planes = Vec::with_capacity(layout.planes as usize);
        let mut bytes = table_bytes(&geometry);
        for (plane, promised) in (0..).zip(promised) {
            let shape = Geometry::new(blocks_per_plane, b, promised.max(1).into())?;
            let blocks = BlockTable::new(&shape);
            let kept = layout.blocks_kept.max(RESERVED_BLOCKS) + 2;
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
                host: Active::none(b),
                copies: Active::none(b),
                under_way: None,
                counters: Counters::default(),
                valid_pages: 0,
                decisions: 0,
                fruitless: 0,
                first_block: plane * blocks_per_plane,
            });
        }
        let mut map = Self { tables, planes, bytes };
        map.fill(&layout);
        Ok(map)
    }

    /// Programs `page` at a frontier of `plane` that has room, and kills its old copy.
    fn program(&mut self, plane: PlaneId, frontier: FrontierOf, page: u32) -> u32 {
        let held = &mut self.planes[plane as usize];
        let active = match frontier {
            FrontierOf::Host => &mut held.host,
            FrontierOf::Copies => &mut held.copies,
        };
        let local = self.tables.program(held.first_block, active, page);
        held.blocks.counts_mut()[active.block as usize] += 1;
        held.blocks.program(active.block);
        held.blocks.tick(1);
        held.valid_pages += 1;
        if P::Tracker::FOLLOWS_PROGRAMS {
            held.tracker.pages_programmed(&held.blocks, local, 1);
        }
        let ppn = local + (held.first_block << self.tables.geometry.offset_bits());
        let old = std::mem::replace(&mut self.tables.map[page as usize], ppn);
        self.kill(old);
        ppn
    }

    /// Kills the page at `old`, if it is one. Trackers hear of it but where it was in a victim:
    /// that block was taken from them.
    fn kill(&mut self, old: u32) {
        if old == UNMAPPED {
            return;
        }
        self.tables.live[old as usize / 64] &= !(1 << (old % 64));
        let bits = self.tables.geometry.offset_bits();
        let plane = self.tables.plane_of(old);
        let held = &mut self.planes[plane as usize];
        let local = old - (held.first_block << bits);
        let block = local >> bits;
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

    /// Programs `page` into the copy frontier of `plane`.
    fn program_copy(&mut self, plane: PlaneId, page: u32) -> Result<u32, FtlError> {
        let held = &mut self.planes[plane as usize];
        if held.copies.next == held.blocks.pages_per_block() {
            let Some(block) = held.pool.take() else {
                return Err(FtlError::NoSpace("the pool of erased blocks is empty".to_string()));
            };
            let full = std::mem::replace(&mut held.copies, Active::erased(block));
            held.close(full);
        }
        Ok(self.program(plane, FrontierOf::Copies, page))
    }

    fn check_range(&self, page: u32) -> Result<(), FtlError> {
        let logical_pages = self.tables.geometry.logical_pages();
        if page < logical_pages {
            return Ok(());
        }
        Err(FtlError::OutOfRange { page, logical_pages })
    }
}

#[derive(Clone, Copy)]
enum FrontierOf {
    Host,
    Copies,
}

impl<P: VictimPolicy> Plane<P> {
    /// Makes a full frontier block a candidate.
    pub(super) fn close(&mut self, full: Active) {
        if full.block != Active::NO_BLOCK {
            self.blocks.close(full.block);
            self.tracker.closed(&self.blocks, full.block);
        }
    }

    /// A full host frontier becomes a candidate.
    fn close_full_host(&mut self) {
        let b = self.blocks.pages_per_block();
        if self.host.next == b {
            let full = std::mem::replace(&mut self.host, Active::none(b));
            self.close(full);
        }
    }
}

impl Tables {
    /// The plane of a ppn: `block / blocks_per_plane`, exact for any two 32-bit numbers (Lemire,
    /// Kaser and Kurz 2019).
    #[inline(always)]
    fn plane_of(&self, ppn: u32) -> PlaneId {
        let block = u128::from(ppn >> self.geometry.offset_bits());
        ((block * u128::from(self.reciprocal)) >> 64) as u32
    }

    /// Records that `page` is programmed at `active`: reverse map and live bit. Returns the ppn
    /// counted from the plane's first.
    fn program(&mut self, first_block: BlockId, active: &mut Active, page: u32) -> u32 {
        let block = first_block + active.block;
        let bits = self.geometry.offset_bits();
        let b = self.geometry.pages_per_block() as usize;
        self.reverse[block as usize * b + active.next as usize] = page;
        set_bits(&mut self.live, ((block << bits) | active.next) as usize, 1);
        let local = (active.block << bits) | active.next;
        active.next += 1;
        local
    }

    #[inline]
    pub(super) fn is_live(&self, ppn: u32) -> bool {
        self.live[ppn as usize / 64] >> (ppn % 64) & 1 == 1
    }

    /// The first live page among offsets `from` to b - 1 of the block whose first ppn is `first`.
    fn next_live(&self, first: u32, from: u32) -> Option<u32> {
        let b = self.geometry.pages_per_block();
        let mut offset = from;
        while offset < b {
            let bit = first + offset;
            let word = self.live[bit as usize / 64] >> (bit % 64);
            if word != 0 {
                let found = offset + word.trailing_zeros();
                return (found < b).then_some(found);
            }
            offset += 64 - bit % 64;
        }
        None
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

    fn host_room(&self, plane: PlaneId) -> u32 {
        self.tables.geometry.pages_per_block() - self.planes[plane as usize].host.next
    }

    fn valid_pages(&self, plane: PlaneId) -> u64 {
        self.planes[plane as usize].valid_pages
    }

    fn reclaimable_pages(&self, plane: PlaneId) -> u64 {
        let held = &self.planes[plane as usize];
        let victim = held.under_way.as_ref().map_or(Active::NO_BLOCK, |victim| victim.block);
        let others = [held.host.block, held.copies.block, victim].into_iter();
        let elsewhere: u64 = others
            .filter(|&block| block != Active::NO_BLOCK)
            .map(|block| u64::from(held.blocks.valid(block)))
            .sum();
        let pages = u64::from(held.blocks.candidates()) * u64::from(held.blocks.pages_per_block());
        pages - (held.valid_pages - elsewhere)
    }

    fn write(&mut self, page: u32, plane: PlaneId) -> Result<Option<u32>, FtlError> {
        self.check_range(page)?;
        let held = &mut self.planes[plane as usize];
        if held.host.next == held.blocks.pages_per_block() {
            if held.pool.len() as u32 <= RESERVED_BLOCKS {
                return Ok(None);
            }
            held.close_full_host();
            held.host = held.pool.take().map_or(held.host, Active::erased);
            held.fruitless = 0;
        }
        held.counters.host_pages += 1;
        Ok(Some(self.program(plane, FrontierOf::Host, page)))
    }

    fn trim(&mut self, page: u32) -> Result<Option<u32>, FtlError> {
        self.check_range(page)?;
        let old = std::mem::replace(&mut self.tables.map[page as usize], UNMAPPED);
        if old == UNMAPPED {
            return Ok(None);
        }
        self.kill(old);
        let plane = self.tables.plane_of(old);
        self.planes[plane as usize].counters.trimmed_pages += 1;
        Ok(Some(old))
    }

    fn begin_collection(&mut self, plane: PlaneId) -> Result<Victim, FtlError> {
        let held = &mut self.planes[plane as usize];
        assert!(held.under_way.is_none(), "a collection of plane {plane} is under way");
        held.close_full_host();
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
        held.under_way = Some(UnderWay { block: victim, next: 0, preferred: None, moving: None });
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
        let offset = match preferred {
            Some(ppn) => ppn - first,
            None => {
                let found = self.tables.next_live(first, under_way.next)?;
                under_way.next = found;
                found
            }
        };
        let reverse = &self.tables.reverse[block as usize * b..][..b];
        if let Some(ahead) = self.tables.next_live(first, under_way.next + 1) {
            prefetch(&self.tables.map, reverse[ahead as usize] as usize);
        }
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
        let ppn = self.program_copy(plane, moving.page)?;
        self.planes[plane as usize].counters.copied_pages += 1;
        Ok(Some(ppn))
    }

    fn merge(&mut self, plane: PlaneId) -> Result<u32, FtlError> {
        let moving = self.take_moving(plane);
        let page = moving.expect("a merge follows a move").page;
        let ppn = self.program_copy(plane, page)?;
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
