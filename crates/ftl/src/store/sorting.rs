//! The choice of the open block for a page, and the room that host writes must leave for copies.

use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::SpecError;
use flashgc_base::stream::StreamId;

use super::plane::Plane;
use super::slc::SlcClasses;
use super::tables::Tables;
use super::zombies::ZOMBIE;
use crate::blocks::BlockId;
use crate::counters::Counters;
use crate::error::FtlError;
use crate::frontier::Frontier;
use crate::history::NO_CLASS;
use crate::layout::Layout;
use crate::placement::{
    Batch, Class, Collected, Collects, Front, Ground, Now, PicksVictims, Place, Placement,
    SeesBlocks,
};
use crate::slc::RESERVED_WITH_SLC;
use crate::streams::Streams;
use crate::victim::VictimPolicy;
use flashgc_base::table::bytes_of;

/// The class of host writes, without a placement.
pub(crate) const HOST: Class = 0;

/// Erased blocks of a plane that host writes do not take, without a placement: the pages of a
/// victim may need one.
pub const RESERVED_BLOCKS: u32 = 1;

/// The moves of a batch of pages.
pub(super) enum Moves {
    /// The host writes them.
    Writes,
    /// A collection copies them from `block`. `begins`: they are the first pages of the block.
    Copies { block: BlockId, begins: bool },
}

/// The rule that sorts pages into classes, each with an open block of its own, and the class of
/// every block. Without a placement there is one class for host writes and one for copies, or one
/// for both.
#[derive(State)]
#[snapshot(then = check)]
pub(crate) struct Sorting {
    #[snapshot(state)]
    rule: Option<Box<dyn Placement>>,
    /// `true` if the rule looks at the blocks.
    #[snapshot(skip)]
    sees_blocks: bool,
    /// The class of each block of the drive. A block keeps it until it is opened again. Empty
    /// without a rule.
    #[snapshot(table)]
    class_of: Vec<Class>,
    /// The class of copies, without a rule.
    #[snapshot(skip)]
    copies: Class,
    /// The class of copies that are made to level wear. Its number follows those of the placement,
    /// or of other copies.
    #[snapshot(skip)]
    levelled: Option<Class>,
    /// The classes of an SLC region, beyond all others; `None` without one.
    #[snapshot(skip)]
    pub(super) region: Option<SlcClasses>,
    /// The time at which each block was opened for its class; empty without a rule.
    #[snapshot(table)]
    opened: Vec<Now>,
    /// The class of each page that lies in a block of several classes: in an SLC region, or moved
    /// to level wear. There is one table if pages of a rule may lie in such blocks, else none.
    #[snapshot(tables)]
    mixed: Vec<Vec<Class>>,
    /// The time, counted over all planes.
    now: Now,
    /// The streams of pages; `None` if writes name no streams.
    #[snapshot(state)]
    pub(super) streams: Option<Streams>,
    /// The next places of a batch, one entry for each class.
    #[snapshot(skip)]
    pub(super) fronts: Vec<Front>,
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
        let sorted = rule.as_ref().map_or(usize::from(copies) + 1, |rule| rule.classes());
        let levelled = layout.levelling.map(|_| sorted as Class);
        let classified = classified as usize;
        let others = sorted + usize::from(levelled.is_some());
        let region = layout.slc.map(|_| match &rule {
            Some(_) => SlcClasses::sorted(others),
            None => SlcClasses::behind(others),
        });
        let mixes = rule.is_some() && (region.is_some() || levelled.is_some());
        let pages = layout.geometry.logical_pages() as usize;
        Ok(Self {
            rule,
            sees_blocks,
            class_of: vec![HOST; classified],
            copies,
            levelled,
            region,
            mixed: vec![vec![HOST; pages]; usize::from(mixes)],
            opened: vec![Now::default(); classified],
            now: Now::default(),
            streams: layout.streams.then(|| Streams::new(layout.geometry.logical_pages())),
            fronts: Vec::new(),
        })
    }

    /// Bytes that the sorting keeps for a drive of this layout.
    pub(super) fn bytes(layout: &Layout) -> u64 {
        let streams =
            if layout.streams { Streams::bytes(layout.geometry.logical_pages()) } else { 0 };
        if layout.placement.is_none() {
            return streams;
        }
        let blocks = layout.geometry.blocks() as usize;
        let tables = bytes_of::<Class>(blocks) + bytes_of::<Now>(blocks);
        let pages = layout.geometry.logical_pages() as usize;
        let mixes = layout.slc.is_some() || layout.levelling.is_some();
        let mixed = if mixes { bytes_of::<Class>(pages) } else { 0 };
        streams + layout.placement.bytes(&layout.geometry) + tables + mixed
    }

    pub(super) fn asks_for_zombies(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.asks_for_zombies())
    }

    /// Returns `true` if the rule looks at the blocks: the tables must be up to date after each
    /// page.
    #[inline]
    pub(crate) fn sees_blocks(&self) -> bool {
        self.sees_blocks
    }

    /// The rule, if it looks at the blocks; else `None`.
    pub(super) fn watcher(&mut self) -> Option<&mut dyn SeesBlocks> {
        self.rule.as_mut().and_then(|rule| rule.blocks())
    }

    /// The rule, if it picks victims.
    pub(super) fn picker(&mut self) -> Option<&mut dyn PicksVictims> {
        self.rule.as_mut().and_then(|rule| rule.victims())
    }

    /// The rule, if it collects blocks of its own.
    pub(super) fn collects(&mut self) -> Option<&mut dyn Collects> {
        self.rule.as_mut().and_then(|rule| rule.collects())
    }

    /// Returns `true` if a placement decides.
    #[inline]
    pub(crate) fn has_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// Checks that the rule has not failed. The store checks this before it acts on an answer of
    /// the rule, and before it reports success.
    ///
    /// # Errors
    /// The reason why the rule failed.
    #[inline]
    pub(crate) fn goes_on(&self) -> Result<(), FtlError> {
        self.rule.as_ref().map_or(Ok(()), |rule| rule.check())
    }

    /// Returns `true` if the rule or the streams must see each host write, one by one.
    #[inline]
    pub(crate) fn follows_writes(&self) -> bool {
        self.rule.is_some() || self.streams.is_some()
    }

    /// Checks that the class of every block exists, and the class of every page in a block of
    /// several classes.
    fn check(&self) -> Result<(), Fault> {
        let (classes, sorted) = (self.classes(), self.sorted_classes());
        let mixed = self.mixed.iter().flatten();
        if self.class_of.iter().all(|&class| usize::from(class) < classes)
            && mixed.copied().all(|class| usize::from(class) < sorted)
        {
            return Ok(());
        }
        Err(Fault::new("a block or a page has a class that does not exist"))
    }

    /// The number of classes of the rule; 0 without a rule.
    pub(super) fn sorted_classes(&self) -> usize {
        self.rule.as_ref().map_or(0, |rule| rule.classes())
    }

    /// The number of classes: a plane has at most one open block for each.
    pub(crate) fn classes(&self) -> usize {
        if let Some(region) = self.region {
            return usize::from(region.slc) + 1;
        }
        let sorted = self.rule.as_ref().map_or(usize::from(self.copies) + 1, |rule| rule.classes());
        self.levelled.map_or(sorted, |levelled| usize::from(levelled) + 1)
    }

    /// Erased blocks of a plane that host writes do not take, because one collection may need them.
    pub(crate) fn reserved(&self) -> u32 {
        let without_rule = if self.region.is_some() { RESERVED_WITH_SLC } else { RESERVED_BLOCKS };
        self.rule.as_ref().map_or(without_rule, |rule| self.copy_classes(&**rule) as u32)
    }

    /// Classes to which the pages of one victim may go. A fold may open a block for each.
    fn copy_classes(&self, rule: &dyn Placement) -> usize {
        if self.region.is_some() { rule.classes() } else { rule.copy_classes() }
    }

    /// Returns `true` if a placement may send copies to `class`, which is one of its classes.
    pub(crate) fn takes_copies(&self, class: Class) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.takes_copies(class))
    }

    /// The class of data of `page`, which lie on `block`. In a block of several classes, this is
    /// the class that the page had before it came there.
    #[inline]
    pub(crate) fn class_at(&self, page: u32, block: BlockId) -> Class {
        let class = self.class_of[block as usize];
        match self.mixed.first() {
            Some(classes) if self.is_mixed(class) => classes[page as usize],
            _ => class,
        }
    }

    /// Returns `true` if the blocks of `class` hold pages of several classes of the rule: blocks in
    /// SLC mode, and blocks that level wear. The rule does not know these blocks.
    #[inline]
    fn is_mixed(&self, class: Class) -> bool {
        Some(class) == self.levelled || self.region.is_some_and(|region| class == region.slc)
    }

    /// Block `block`, with the class of the data of `page` there.
    #[inline]
    fn place_at(&self, page: u32, block: BlockId) -> Place {
        Place { class: self.class_at(page, block), block }
    }

    /// Asks the processor to load what the rule keeps of `page`.
    #[inline]
    pub(crate) fn prefetch(&self, page: u32) {
        if let Some(rule) = &self.rule {
            rule.prefetch(page);
        }
    }

    /// Sorts `pages`: at most as many as `old` is long, until the block of a class is full. Returns
    /// how many were sorted, and the class of the full block. For each of them, `old` gets the map
    /// entry before, and `new` the new ppn. There is a rule.
    pub(super) fn sort(
        &mut self,
        tables: &mut Tables,
        moves: Moves,
        has_zombies: bool,
        pages: &[u32],
        old: &mut [u32],
        new: &mut [u32],
    ) -> (usize, Option<Class>) {
        let (rule, ground) = self.ground(tables, has_zombies);
        let begins = matches!(moves, Moves::Copies { begins: true, .. });
        let mut batch = Batch { ground, pages, old, new, begins, done: 0, full: None };
        match moves {
            Moves::Writes => rule.sort_writes(&mut batch),
            Moves::Copies { block, .. } => rule.sort_copies(&mut batch, block),
        }
        (batch.done, batch.full)
    }

    /// The rule, and what it changes when it sorts pages. There is a rule.
    fn ground<'a>(
        &'a mut self,
        tables: &'a mut Tables,
        has_zombies: bool,
    ) -> (&'a mut dyn Placement, Ground<'a>) {
        let ground = Ground {
            geometry: tables.geometry,
            map: &mut tables.map,
            reverse: &mut tables.reverse,
            live: &tables.live,
            mark: if has_zombies { ZOMBIE } else { 0 },
            class_of: &self.class_of,
            mixed: self.levelled.zip(self.mixed.first().map(|classes| &**classes)),
            streams: self.streams.as_mut(),
            fronts: &mut self.fronts,
            now: &mut self.now,
        };
        (&mut **self.rule.as_mut().expect("a placement sorts the pages"), ground)
    }

    /// Without a rule, `pages` were written by the host.
    #[inline]
    pub(crate) fn count_writes(&mut self, pages: &[u32]) {
        if let Some(streams) = &mut self.streams {
            pages.iter().for_each(|&page| streams.wrote(page));
            self.now.programs += pages.len() as u64;
        }
    }

    /// The class of a host write of `page`, whose data until now are on block `old`.
    #[inline]
    pub(crate) fn of_write(&self, page: u32, old: Option<BlockId>) -> Class {
        let Some(rule) = &self.rule else { return HOST };
        let stream = self.stream_of_write(page);
        rule.host(page, stream, old.map(|block| self.place_at(page, block)), self.now)
    }

    /// The stream of the next write of `page`; `None` if it has none.
    #[inline]
    pub(super) fn stream_of_write(&self, page: u32) -> Option<StreamId> {
        self.streams.as_ref().and_then(|streams| streams.next(page))
    }

    /// The class of host writes of the placement handle `stream`; `None` if `stream` is no handle.
    pub(crate) fn of_handle(&self, stream: StreamId) -> Option<Class> {
        self.rule.as_ref().and_then(|rule| rule.of_handle(stream))
    }

    /// The class of a copy of `page`, from `block`.
    #[inline]
    pub(crate) fn of_copy(&self, page: u32, block: BlockId, zombie: bool) -> Class {
        let Some(rule) = &self.rule else { return self.copies };
        rule.copy(page, self.place_at(page, block), zombie, self.now)
    }

    /// The class to which all copies of a collection go, or `None` if a placement sorts them.
    /// `levels` says whether the collection levels wear.
    #[inline]
    pub(crate) fn of_copies(&self, levels: bool) -> Option<Class> {
        let levelled = self.levelled.filter(|_| levels);
        levelled.or((!self.has_rule()).then_some(self.copies))
    }

    /// The class of copies that level wear; `None` without wear levelling.
    pub(super) fn levelled(&self) -> Option<Class> {
        self.levelled
    }

    /// Returns `true` if `class` opens the most erased blocks of the pool, because it takes cold
    /// data.
    pub(super) fn takes_cold_data(&self, class: Class) -> bool {
        self.levelled == Some(class)
    }

    /// The drive has data of `page` on `block` from the beginning.
    pub(super) fn holds(&mut self, page: u32, block: BlockId) {
        if let Some(rule) = &mut self.rule {
            let class = self.class_of[block as usize];
            rule.holds(page, Place { class, block }, self.now);
        }
    }

    /// The class of `block`, [`NO_CLASS`] without a placement and for a block that levels wear;
    /// `None` for a block that was opened in SLC mode.
    pub(super) fn class_of_block(&self, block: BlockId) -> Option<Class> {
        let class = self.class_of.get(block as usize).copied().unwrap_or(NO_CLASS);
        let is_slc = self.region.is_some_and(|region| class == region.slc);
        (!is_slc).then(|| self.class_shown(class))
    }

    /// The class that policies see of a block of `class`: [`NO_CLASS`] for a block that levels
    /// wear.
    pub(super) fn class_shown(&self, class: Class) -> Class {
        if self.levelled == Some(class) { NO_CLASS } else { class }
    }

    /// Sets both clocks from `counters`, and the class of each block from `classes`.
    pub(super) fn hold(&mut self, counters: &Counters, classes: &[Class]) {
        self.now = Now { programs: counters.programs(), host: counters.host_pages };
        if self.has_rule() {
            self.class_of.copy_from_slice(classes);
            self.opened.fill(self.now);
        }
    }

    /// `block` is opened for `class`. The rule does not see blocks that level wear.
    #[inline]
    pub(super) fn opened(&mut self, block: BlockId, class: Class) {
        let levels = self.levelled == Some(class);
        if let Some(rule) = &mut self.rule {
            self.class_of[block as usize] = class;
            self.opened[block as usize] = self.now;
            if !levels {
                rule.opened(Place { class, block }, self.now);
            }
        }
    }

    /// The open `block` of a class of the rule is closed before it is full.
    pub(super) fn closed(&mut self, block: BlockId) {
        if let Some(rule) = &mut self.rule {
            rule.closed(Place { class: self.class_of[block as usize], block }, self.now);
        }
    }

    /// `block` was picked; `valid` of its `pages` pages have current data.
    pub(super) fn collected(&mut self, block: BlockId, valid: u32, pages: u32) {
        if let Some(streams) = &mut self.streams {
            streams.collected(valid);
        }
        if let Some(rule) = &mut self.rule {
            let (class, opened) = (self.class_of[block as usize], self.opened[block as usize]);
            if self.levelled != Some(class) {
                rule.collected(Collected { class, block, opened, valid, pages }, self.now);
            }
        }
    }

    /// Counts `pages` programmed pages on the clock.
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
        let from = from.filter(|_| self.has_rule()).map(|block| self.place_at(page, block));
        if let Some(rule) = &mut self.rule {
            self.now.host += 1;
            rule.wrote(page, from, to, self.now);
        }
    }

    /// `page` was programmed in a block of several classes, as data of `class`.
    #[inline]
    pub(crate) fn lies_mixed(&mut self, page: u32, class: Class) {
        if let Some(classes) = self.mixed.first_mut() {
            classes[page as usize] = class;
        }
    }

    /// `pages` go from `block` to blocks that level wear: each page keeps its class, and the rule
    /// does not see the move.
    pub(super) fn levels(&mut self, pages: &[u32], block: BlockId) {
        if self.has_rule() {
            for &page in pages {
                self.lies_mixed(page, self.class_at(page, block));
            }
        }
    }

    /// `block` is opened in SLC mode.
    pub(super) fn opened_slc(&mut self, block: BlockId) {
        if let Some(region) = self.region.filter(|_| self.has_rule()) {
            self.class_of[block as usize] = region.slc;
        }
    }

    /// The host has discarded `page`, whose data were on block `from`.
    #[inline]
    pub(super) fn trimmed(&mut self, page: u32, from: BlockId) {
        let from = self.has_rule().then(|| self.place_at(page, from));
        if let Some((rule, from)) = self.rule.as_mut().zip(from) {
            rule.trimmed(page, from, self.now);
        }
    }

    /// `page` was copied from block `from` to `to`. The rule does not see copies of folded pages
    /// that keep their class, nor of pages that are moved to level wear.
    #[inline]
    pub(crate) fn copied(&mut self, page: u32, from: BlockId, to: Place) {
        if self.rule.is_none() {
            return;
        }
        if self.levelled == Some(to.class) {
            return self.levels(&[page], from);
        }
        let is_folded =
            self.region.is_some_and(|region| self.class_of[from as usize] == region.slc);
        let from = self.place_at(page, from);
        if let Some(rule) = self.rule.as_mut().filter(|_| !is_folded || from.class != to.class) {
            rule.copied(page, from, to, self.now);
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
    /// Copies share open blocks with the host. Let T be the pages of room in the pool and in the
    /// open blocks of the C classes of copies. A victim of at most b pages finds room if T >= C b
    /// before its collection. For if a class finds the pool empty, at most (C - 1) b pages of room
    /// are left to the other classes, so b pages have been copied already. So host writes leave
    /// room for C b pages. While a victim is under way, they leave room for (C - 1) b pages and
    /// those still to be copied. With an SLC region all classes count as classes of copies. The
    /// erase of a block that is always in SLC mode gives the pool nothing, so the room for the next
    /// victim must stay, too.
    #[inline(never)]
    pub(crate) fn leaves_room<P: VictimPolicy>(&self, plane: &Plane<P>, class: Class) -> bool {
        let Some(rule) = &self.rule else { return true };
        let reserved = self.copy_classes(&**rule);
        let takes_copies = |class| self.region.is_some() || rule.takes_copies(class);
        let gives_none = plane.folds_set_aside();
        if plane.erased_blocks() >= reserved + usize::from(gives_none) || !takes_copies(class) {
            return true;
        }
        let b = u64::from(plane.blocks.pages_per_block());
        let open = (0..).zip(&plane.open[..rule.classes()]);
        let open = open.filter(|&(class, _)| takes_copies(class));
        // The copies of a victim that go to fewer classes may not go to the one that has room.
        let is_theirs = self.region.is_some() || open.clone().count() == reserved;
        let in_open: u64 = open.map(|(_, active)| b - u64::from(active.next)).sum();
        let in_open = if is_theirs { in_open } else { 0 };
        let needed = match &plane.under_way {
            Some(victim) => {
                let left = u64::from(plane.blocks.live(victim.block));
                if gives_none { left + b } else { left }
            }
            None => b,
        };
        plane.pages_in_pool() + in_open > (reserved as u64 - 1) * b + needed
    }
}
