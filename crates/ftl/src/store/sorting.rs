//! The choice of the open block for a page, and the room that host writes must leave for copies.

use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::SpecError;

use super::plane::Plane;
use super::slc::SLC;
use super::streams::Streams;
use crate::blocks::BlockId;
use crate::counters::Counters;
use crate::error::FtlError;
use crate::frontier::Frontier;
use crate::layout::Layout;
use crate::placement::{Class, Collected, Now, PicksVictims, Place, Placement, SeesBlocks};
use crate::slc::RESERVED_WITH_SLC;
use crate::table::bytes_of;
use crate::victim::VictimPolicy;

/// The class of host writes, without a placement.
pub(crate) const HOST: Class = 0;

/// Erased blocks of a plane that host writes leave alone, without a placement: a victim's pages may
/// need one.
pub const RESERVED_BLOCKS: u32 = 1;

/// The rule that sorts pages into classes, each with an open block of its own, and the class of every
/// block. Without a placement there is one class for host writes and one for copies, or one for both.
#[derive(State)]
#[snapshot(then = check)]
pub(crate) struct Sorting {
    #[snapshot(state)]
    rule: Option<Box<dyn Placement>>,
    /// The rule looks at the blocks.
    #[snapshot(skip)]
    sees_blocks: bool,
    /// The class of each block of the drive, kept until it is opened again; empty without a rule.
    #[snapshot(table)]
    class_of: Vec<Class>,
    /// The class of copies, without a rule.
    #[snapshot(skip)]
    copies: Class,
    /// `true` with an SLC region: folded pages and those in the region have the classes behind that.
    #[snapshot(skip)]
    has_slc: bool,
    /// The class of copies that are made to level wear; beyond all others.
    #[snapshot(skip)]
    levelled: Option<Class>,
    /// The time at which each block was opened for its class; empty without a rule.
    #[snapshot(table)]
    opened: Vec<Now>,
    /// The time on all planes.
    now: Now,
    /// The streams of pages; `None` where writes name none.
    #[snapshot(state)]
    pub(super) streams: Option<Streams>,
}

/// A block and its class.
#[inline]
fn place(class_of: &[Class], block: BlockId) -> Place {
    Place { class: class_of[block as usize], block }
}

impl Sorting {
    pub(super) fn new(layout: &Layout) -> Result<Self, SpecError> {
        let mut rule = layout.placement.make(&layout.geometry)?;
        let sees_blocks = rule.as_mut().is_some_and(|rule| rule.blocks().is_some());
        let classified = rule.as_ref().map_or(0, |_| layout.geometry.blocks());
        let copies = match layout.frontier {
            Frontier::Single | Frontier::Mixed { .. } => HOST,
            Frontier::Double | Frontier::Compact | Frontier::Pool { .. } => HOST + 1,
        };
        let levelled = layout.levelling.map(|_| copies + 1);
        let classified = classified as usize;
        Ok(Self {
            rule,
            sees_blocks,
            class_of: vec![HOST; classified],
            copies,
            has_slc: layout.slc.is_some(),
            levelled,
            opened: vec![Now::default(); classified],
            now: Now::default(),
            streams: layout.streams.then(|| Streams::new(layout.geometry.logical_pages())),
        })
    }

    /// Bytes that it keeps for a drive of this layout.
    pub(super) fn bytes(layout: &Layout) -> u64 {
        let streams =
            if layout.streams { Streams::bytes(layout.geometry.logical_pages()) } else { 0 };
        if layout.placement.is_none() {
            return streams;
        }
        let blocks = layout.geometry.blocks() as usize;
        let tables = bytes_of::<Class>(blocks) + bytes_of::<Now>(blocks);
        streams + layout.placement.bytes(&layout.geometry) + tables
    }

    pub(super) fn asks_for_zombies(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.asks_for_zombies())
    }

    /// Returns `true` if the rule looks at the blocks: they are to be true after each page.
    #[inline]
    pub(crate) fn sees_blocks(&self) -> bool {
        self.sees_blocks
    }

    /// The rule, if it looks at the blocks.
    pub(super) fn watcher(&mut self) -> Option<&mut dyn SeesBlocks> {
        self.rule.as_mut().and_then(|rule| rule.blocks())
    }

    /// The rule, if it picks victims.
    pub(super) fn picker(&mut self) -> Option<&mut dyn PicksVictims> {
        self.rule.as_mut().and_then(|rule| rule.victims())
    }

    /// Returns `true` if a placement decides.
    #[inline]
    pub(crate) fn has_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// Checks that the rule can go on. The store asks between the rule's answer and what it does by
    /// it, and before anybody hears that all went well.
    ///
    /// # Errors
    /// Why it cannot.
    #[inline]
    pub(crate) fn goes_on(&self) -> Result<(), FtlError> {
        self.rule.as_ref().map_or(Ok(()), |rule| rule.check())
    }

    /// Returns `true` if the rule or the streams must see each host write, one by one.
    #[inline]
    pub(crate) fn follows_writes(&self) -> bool {
        self.rule.is_some() || self.streams.is_some()
    }

    /// Checks that every block's class exists.
    fn check(&self) -> Result<(), Fault> {
        let classes = self.classes();
        if self.class_of.iter().all(|&class| usize::from(class) < classes) {
            return Ok(());
        }
        Err(Fault::new("a block is of a class that there is not"))
    }

    /// Open blocks of a plane.
    pub(crate) fn classes(&self) -> usize {
        if self.has_slc {
            return usize::from(SLC) + 1;
        }
        let without_rule = usize::from(self.levelled.unwrap_or(self.copies)) + 1;
        self.rule.as_ref().map_or(without_rule, |rule| rule.classes())
    }

    /// Erased blocks of a plane that host writes leave alone: one collection may need as many.
    pub(crate) fn reserved(&self) -> u32 {
        let without_rule = if self.has_slc { RESERVED_WITH_SLC } else { RESERVED_BLOCKS };
        self.rule.as_ref().map_or(without_rule, |rule| rule.copy_classes() as u32)
    }

    /// Returns `true` if a placement may send copies to `class`.
    pub(crate) fn takes_copies(&self, class: Class) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.takes_copies(class))
    }

    /// Asks the processor to load what the rule keeps of `page`.
    #[inline]
    pub(crate) fn prefetch(&self, page: u32) {
        if let Some(rule) = &self.rule {
            rule.prefetch(page);
        }
    }

    /// The class of a host write of `page`, whose data until now are on block `old`.
    #[inline]
    pub(crate) fn of_write(&self, page: u32, old: Option<BlockId>) -> Class {
        let Some(rule) = &self.rule else { return HOST };
        let stream = self.streams.as_ref().and_then(|streams| streams.next(page));
        rule.host(page, stream, old.map(|block| place(&self.class_of, block)), self.now)
    }

    /// The class of a copy of `page`, from `block`.
    #[inline]
    pub(crate) fn of_copy(&self, page: u32, block: BlockId, zombie: bool) -> Class {
        let Some(rule) = &self.rule else { return self.copies };
        rule.copy(page, place(&self.class_of, block), zombie, self.now)
    }

    /// The one class that all copies go to, those made to level wear if `levelled`; `None` where a
    /// placement sorts them.
    #[inline]
    pub(crate) fn of_copies(&self, levelled: bool) -> Option<Class> {
        if self.rule.is_some() {
            return None;
        }
        Some(self.levelled.filter(|_| levelled).unwrap_or(self.copies))
    }

    /// Returns `true` if the blocks of `class` are the most erased ones of the pool: they take cold
    /// data.
    pub(super) fn takes_cold_data(&self, class: Class) -> bool {
        self.levelled == Some(class)
    }

    /// The drive has data of `page` on `block` from the beginning.
    pub(super) fn holds(&mut self, page: u32, block: BlockId) {
        if let Some(rule) = &mut self.rule {
            rule.holds(page, place(&self.class_of, block), self.now);
        }
    }

    /// The class for which each block of the drive was opened last; `None` without a rule.
    pub(super) fn block_classes(&self) -> Option<&[Class]> {
        self.has_rule().then_some(&self.class_of)
    }

    /// Sets the time to that of a drive with these counts, and the classes of its blocks.
    pub(super) fn hold(&mut self, counters: &Counters, classes: &[Class]) {
        self.now = Now { programs: counters.programs(), host: counters.host_pages };
        if self.has_rule() {
            self.class_of.copy_from_slice(classes);
            self.opened.fill(self.now);
        }
    }

    /// `block` is opened for `class`.
    #[inline]
    pub(super) fn opened(&mut self, block: BlockId, class: Class) {
        if let Some(rule) = &mut self.rule {
            self.class_of[block as usize] = class;
            self.opened[block as usize] = self.now;
            rule.opened(Place { class, block }, self.now);
        }
    }

    /// `block` was picked; `valid` of its `pages` pages have current data.
    pub(super) fn collected(&mut self, block: BlockId, valid: u32, pages: u32) {
        if let Some(streams) = &mut self.streams {
            streams.collected(valid);
        }
        if let Some(rule) = &mut self.rule {
            let (class, opened) = (self.class_of[block as usize], self.opened[block as usize]);
            rule.collected(Collected { class, block, opened, valid, pages }, self.now);
        }
    }

    /// Pages have been programmed.
    #[inline]
    pub(crate) fn tick(&mut self, pages: u64) {
        self.now.programs += pages;
    }

    /// The host has written `page`, whose data were on block `from`, at `to`.
    #[inline]
    pub(crate) fn wrote(&mut self, page: u32, from: Option<BlockId>, to: Place) {
        if let Some(streams) = &mut self.streams {
            streams.wrote(page);
        }
        if let Some(rule) = &mut self.rule {
            self.now.host += 1;
            let from = from.map(|block| place(&self.class_of, block));
            rule.wrote(page, from, to, self.now);
        }
    }

    /// The host has discarded `page`, whose data were on block `from`.
    #[inline]
    pub(super) fn trimmed(&mut self, page: u32, from: BlockId) {
        if let Some(rule) = &mut self.rule {
            rule.trimmed(page, place(&self.class_of, from), self.now);
        }
    }

    /// `page` was copied from block `from` to `to`.
    #[inline]
    pub(crate) fn copied(&mut self, page: u32, from: BlockId, to: Place) {
        if let Some(rule) = &mut self.rule {
            rule.copied(page, place(&self.class_of, from), to, self.now);
        }
    }

    /// Collections have copied `pages`.
    #[inline]
    pub(super) fn count_copies(&mut self, pages: &[u32]) {
        if let Some(streams) = &mut self.streams {
            streams.copied(pages);
        }
    }

    /// Returns `true` if the host may program a page of `class`, whose open block in `plane` has
    /// room.
    ///
    /// Copies share open blocks with the host. Let there be room for T pages in the pool and in the
    /// open blocks of the C classes of copies. A victim of b pages finds room if T >= C b before: a
    /// class that finds the pool empty leaves (C - 1) b at most to the others, so b pages have been
    /// copied. The host's writes leave that much, and b less the pages still to be copied while a
    /// victim is under way.
    #[inline(never)]
    pub(crate) fn leaves_room<P: VictimPolicy>(&self, plane: &Plane<P>, class: Class) -> bool {
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
