//! Which open block of its plane a page goes to, and when the host may have it: the host frontier
//! and the copy frontier or, with a placement, an open block a class that both share.

use super::map::{Plane, PlaneMap};
use super::{PlaneId, RESERVED_BLOCKS};
use crate::blocks::BlockId;
use crate::frontier::Active;
use crate::page_map::UNMAPPED;
use crate::placement::{Class, Placed, Placement};
use crate::track::Tracker;
use crate::translation::FtlError;
use crate::victim::VictimPolicy;

/// The classes without a placement: host writes, and copies.
const HOST: Class = 0;
const COPIES: Class = 1;

/// The rule that sorts pages, and what it has made of the drive.
pub(super) struct Sorting {
    /// `None` keeps host writes and copies apart, and nothing else.
    rule: Option<Box<dyn Placement>>,
    /// With a rule the class of each block of the drive, kept until it is opened again.
    class_of: Vec<Class>,
    /// Pages programmed on all planes: the clock of the rule.
    pub(super) clock: u64,
}

impl Sorting {
    pub(super) fn new(rule: Option<Box<dyn Placement>>, blocks: u32) -> Self {
        let classified = if rule.is_some() { blocks } else { 0 };
        Self { rule, class_of: vec![0; classified as usize], clock: 0 }
    }

    pub(super) fn bytes(&self) -> u64 {
        let blocks = self.class_of.len() as u32;
        self.rule.as_ref().map_or(0, |rule| Placed::bytes(&**rule, blocks))
    }

    pub(super) fn asks_for_zombies(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.asks_for_zombies())
    }

    /// Open blocks of a plane.
    pub(super) fn classes(&self) -> usize {
        self.rule.as_ref().map_or(2, |rule| rule.classes())
    }

    /// See [`Stepwise::reserved_blocks`](super::Stepwise::reserved_blocks).
    pub(super) fn reserved(&self) -> u32 {
        self.rule.as_ref().map_or(RESERVED_BLOCKS, |rule| rule.copy_classes() as u32)
    }

    /// The class of the data that the host is about to replace `page` by.
    #[inline]
    fn of_write(&self, page: u32, old: Option<BlockId>) -> Class {
        let Some(rule) = &self.rule else { return HOST };
        rule.host(page, old.map(|block| self.class_of[block as usize]), self.clock)
    }

    /// The class of a copy of `page`, from `block`.
    #[inline]
    fn of_copy(&self, page: u32, block: BlockId, zombie: bool) -> Class {
        let Some(rule) = &self.rule else { return COPIES };
        rule.copy(page, self.class_of[block as usize], zombie, self.clock)
    }

    /// The host has written `page`.
    #[inline]
    pub(super) fn wrote(&mut self, page: u32) {
        if let Some(rule) = &mut self.rule {
            rule.wrote(page, self.clock);
        }
    }

    /// Whether the host may program a page of `class`, whose open block in `plane` has room.
    ///
    /// Copies share open blocks with the host. Let there be room for T pages in the pool and in the
    /// open blocks of the C classes of copies. A victim of b pages finds room if T >= C b before: a
    /// class that finds the pool empty leaves (C - 1) b at most to the others, so b pages have been
    /// copied. The host's writes leave that much, and b less what is still to be copied while a
    /// victim is under way.
    fn leaves_room<P: VictimPolicy>(&self, plane: &Plane<P>, class: Class) -> bool {
        let Some(rule) = &self.rule else { return true };
        let reserved = rule.copy_classes();
        if plane.pool.len() >= reserved || !rule.takes_copies(class) {
            return true;
        }
        let b = u64::from(plane.blocks.pages_per_block());
        let open = (0..).zip(&plane.open).filter(|&(class, _)| rule.takes_copies(class));
        let in_open: u64 = open.map(|(_, active)| b - u64::from(active.next)).sum();
        let needed = match &plane.under_way {
            Some(victim) => u64::from(plane.blocks.valid(victim.block)),
            None => b,
        };
        plane.pool.len() as u64 * b + in_open > (reserved as u64 - 1) * b + needed
    }
}

impl<P: VictimPolicy> PlaneMap<P> {
    /// The class of a host write of `page`.
    #[inline]
    pub(super) fn class_of_write(&self, page: u32) -> Class {
        if self.sorting.rule.is_none() {
            return HOST;
        }
        let ppn = self.tables.map[page as usize];
        let old = (ppn != UNMAPPED).then(|| ppn >> self.tables.geometry.offset_bits());
        self.sorting.of_write(page, old)
    }

    /// The class of a copy of `page` from `ppn`.
    #[inline]
    pub(super) fn class_of_copy(&self, page: u32, ppn: u32, zombie: bool) -> Class {
        self.sorting.of_copy(page, ppn >> self.tables.geometry.offset_bits(), zombie)
    }

    /// Whether the host finds a page of `class` in `plane`.
    #[inline]
    pub(super) fn may_write(&self, class: Class, plane: PlaneId) -> bool {
        let held = &self.planes[plane as usize];
        match held.room(class) {
            0 => held.pool.len() as u32 > self.sorting.reserved(),
            _ => self.sorting.leaves_room(held, class),
        }
    }

    /// The block of `class` in `plane` gets room, if it has none: an erased one takes its place.
    pub(super) fn open_next(&mut self, class: Class, plane: PlaneId) -> Result<(), FtlError> {
        let held = &mut self.planes[plane as usize];
        if held.room(class) > 0 {
            return Ok(());
        }
        let Some(block) = held.pool.take() else {
            return Err(FtlError::NoSpace("the pool of erased blocks is empty".to_string()));
        };
        let full = std::mem::replace(&mut held.open[usize::from(class)], Active::erased(block));
        held.close(full);
        if let Some(its) = self.sorting.class_of.get_mut((held.first_block + block) as usize) {
            *its = class;
        }
        Ok(())
    }

    /// As [`Stepwise::close_full`](super::Stepwise::close_full).
    pub(super) fn close_class(&mut self, class: Class, plane: PlaneId) {
        let held = &mut self.planes[plane as usize];
        if self.sorting.rule.is_some() && held.room(class) == 0 {
            held.close_full(class);
            held.wanted = Some(class);
        }
    }

    /// As [`Stepwise::open_closed`](super::Stepwise::open_closed).
    pub(super) fn open_wanted(&mut self, plane: PlaneId) {
        let held = &mut self.planes[plane as usize];
        let has_spare = held.pool.len() as u32 > self.sorting.reserved();
        if let Some(class) = held.wanted
            && (has_spare || held.room(class) > 0)
            && self.open_next(class, plane).is_ok()
        {
            let held = &mut self.planes[plane as usize];
            held.wanted = None;
            held.fruitless = 0;
        }
    }

    /// Whether a collection of `plane` begins by closing the host frontier, which is full.
    pub(super) fn closes_host(&self, plane: PlaneId) -> bool {
        self.sorting.rule.is_none() && self.planes[plane as usize].room(HOST) == 0
    }
}

impl<P: VictimPolicy> Plane<P> {
    /// Pages that the open block of `class` has left.
    #[inline]
    pub(super) fn room(&self, class: Class) -> u32 {
        self.blocks.pages_per_block() - self.open[usize::from(class)].next
    }

    /// Makes a full block a candidate.
    pub(super) fn close(&mut self, full: Active) {
        if full.block != Active::NO_BLOCK {
            self.blocks.close(full.block);
            self.tracker.closed(&self.blocks, full.block);
        }
    }

    /// The full block of `class` becomes a candidate.
    pub(super) fn close_full(&mut self, class: Class) {
        let none = Active::none(self.blocks.pages_per_block());
        let full = std::mem::replace(&mut self.open[usize::from(class)], none);
        self.close(full);
    }

    /// The full host frontier, without a placement, becomes a candidate.
    pub(super) fn close_full_host(&mut self) {
        self.close_full(HOST);
    }

    /// Whether copies have opened the block that the host waited for.
    pub(super) fn was_given(&self) -> bool {
        self.wanted.is_some_and(|class| self.room(class) > 0)
    }
}
