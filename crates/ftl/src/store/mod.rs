//! The page store: where every page is, the state of every block, and the transitions between such
//! states. Any logical page may lie on any physical page.
//!
//! Its policies take all decisions. The store knows no order of events: the
//! [page map](crate::page_map) drives it in batches, [stepwise](crate::stepwise) one operation at a
//! time. Its blocks are divided evenly among *planes*. Each plane has its own open blocks, pool,
//! victim policy and random streams; the page map has one plane.
//!
//! Transitions of pages are here and in [`plane`], those of collections in [`collect`].

mod audit;
mod buffer;
mod collect;
mod contents;
mod die_by_die;
mod fill;
mod folds;
mod gather;
mod keeping;
mod kept;
mod pick;
mod plane;
mod slc;
mod sorted;
mod sorting;
mod steady;
mod tables;
mod zombies;

pub(crate) use buffer::{Gathering, programs_of};
pub use contents::{Contents, OpenBlock};
use die_by_die::DieByDie;
use kept::Kept;
pub use plane::Move;
pub(crate) use plane::{Active, Plane, UnderWay};
pub(crate) use slc::{Region, SlcRoom};
pub(crate) use sorted::LONGEST;
pub use sorting::RESERVED_BLOCKS;
pub(crate) use sorting::{HOST, Sorting};
pub(crate) use tables::{LIVE_AHEAD, MAP_AHEAD, Tables, room_for_a_block};
use zombies::unmarked;
pub(crate) use zombies::{Fate, ZOMBIE};

use flashgc_base::counts::Counts;
use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::blocks::{BlockId, BlockTable};
use crate::counters::{Counters, Levelled, ZombieCounts, digest};
use crate::error::{FtlError, FtlErrorKind, check_range};
use crate::frontier::Frontier;
use crate::geometry::{Geometry, UNMAPPED};
use crate::groups::ReclaimGroups;
use crate::history::{History, NO_CLASS};
use crate::layer::{Change, LayerCounts, ReportsMoves, TakesStreams};
use crate::layout::{Layout, PlaneId, PlaneLayout};
use crate::levelling::Leveller;
use crate::page_buffer::PageBuffer;
use crate::placement::Class;
use crate::track::{Origin, Tracker};
use crate::victim::VictimPolicy;
use crate::wear::Wear;

/// The page store with victim policy `P`; the header of this file describes it.
#[derive(State)]
#[snapshot(named = "page store", then = check)]
pub(crate) struct PageStore<P: VictimPolicy> {
    #[snapshot(state)]
    pub(crate) tables: Tables,
    #[snapshot(state)]
    pub(crate) planes: Box<[Plane<P>]>,
    #[snapshot(state)]
    pub(crate) sorting: Sorting,
    /// The reclaim groups; `None` if the drive is one.
    #[snapshot(skip)]
    pub(crate) groups: Option<ReclaimGroups>,
    #[snapshot(skip)]
    pub(crate) buffer: PageBuffer,
    /// The wear of the blocks; `None` where they bear any number of erases.
    #[snapshot(state)]
    pub(crate) wear: Option<Wear>,
    /// The page buffer; `None` where a page is a flash page.
    #[snapshot(state)]
    pub(crate) gathering: Option<Gathering>,
    /// Counts of zombies; `None` where neither policy nor placement asks for them.
    pub(crate) zombies: Option<ZombieCounts>,
    /// Changes of the places of pages since they were last drained; `None` while nobody follows
    /// them.
    pub(crate) changes: Option<Vec<Change>>,
    /// The order of copies; `None` if pages are copied as they were written.
    #[snapshot(skip)]
    pub(crate) copy_order: Option<Box<DieByDie>>,
    /// Bytes of memory of the whole store.
    #[snapshot(skip)]
    pub(crate) bytes: u64,
}

/// The data that a policy asks the store to keep, beside its tracker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks {
    pub(crate) zombies: bool,
    pub(crate) history: bool,
}

impl Asks {
    /// Returns the needs of policy `P`.
    pub(crate) const fn of<P: VictimPolicy>() -> Self {
        Self { zombies: P::Tracker::FOLLOWS_ZOMBIES, history: P::ASKS_FOR_HISTORY }
    }
}

/// Bytes of the tables that all planes of a store share. Counts of zombies are included if the
/// policy or the placement asks for them.
fn shared_bytes(layout: &Layout, for_zombies: bool) -> u64 {
    let keeps_zombies = for_zombies || layout.placement.asks_for_zombies();
    let zombies = if keeps_zombies { zombies::bytes(&layout.geometry) } else { 0 };
    let copies =
        layout.die_by_die.map_or(0, |_| DieByDie::bytes(layout.geometry.pages_per_block()));
    Tables::bytes(&layout.geometry) + Sorting::bytes(layout) + zombies + copies
}

/// Bytes of a plane of `blocks` blocks with `pages` logical pages, without its policy.
fn plane_bytes(layout: &Layout, blocks: u32, pages: u32, keeps_history: bool) -> u64 {
    layout.allocation.bytes(layout.most_waiting(blocks, pages))
        + layout.lifespan.map_or(0, |_| Wear::bytes(layout, blocks))
        + layout.shrinking.map_or(0, |_| BlockTable::lost_bytes(blocks))
        + layout.levelling.map_or(0, |_| Leveller::bytes(blocks))
        + layout.slc.map_or(0, |_| Region::bytes(blocks))
        + BlockTable::bytes(blocks)
        + if keeps_history { History::bytes(blocks) } else { 0 }
}

/// Bytes of a store with one plane for each reclaim group, without its policy, but with all tables that the policy or the
/// placement asks for.
pub(crate) fn bytes(layout: &Layout, asks: Asks) -> u64 {
    let (geometry, groups) = (&layout.geometry, layout.placement.groups());
    let keeps_history = asks.history || layout.placement.sees_blocks();
    let (blocks, pages) = (geometry.blocks() / groups, geometry.logical_pages().div_ceil(groups));
    shared_bytes(layout, asks.zombies)
        + u64::from(groups) * plane_bytes(layout, blocks, pages, keeps_history)
}

impl<P: VictimPolicy> PageStore<P> {
    /// The store that `planes` describes, the policy of each plane made by `make`.
    ///
    /// # Errors
    /// Parts that do not go together, blocks that do not divide among the planes or leave a plane
    /// no room, too little memory, or an error of `make`.
    pub(crate) fn new(
        planes: &PlaneLayout,
        mut make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Self, FtlError> {
        let layout = &planes.layout;
        let geometry = layout.geometry;
        let blocks_per_plane = planes.blocks_per_plane()?;
        let promised = planes.promised()?;
        layout.check()?;
        let mut sorting = Sorting::new(layout)?;
        if let Some(rule) = sorting.collects() {
            let erased = match layout.frontier {
                Frontier::Pool { low } | Frontier::Mixed { low } => low,
                _ => 0,
            };
            rule.divide(blocks_per_plane, erased);
        }
        let asks = Asks::of::<P>();
        refuse_if!(
            P::BY_PLACEMENT && sorting.picker().is_none(),
            format!(
                "{}, or one object for {} and {}",
                choice("victim", "greedy"),
                option("victim"),
                option("placement")
            ),
            "{} leaves the victims to {}, which has no method for it",
            subject("victim"),
            option("placement")
        );
        let keeps_history = asks.history || sorting.sees_blocks();
        let keeps_zombies = sorting.asks_for_zombies() || asks.zombies;
        if keeps_zombies {
            zombies::check(&geometry)?;
        }
        let pages = geometry.logical_pages();
        let tables =
            Tables::new(geometry, blocks_per_plane).ok_or(FtlErrorKind::Memory { pages })?;
        let mut bytes = shared_bytes(layout, keeps_zombies);
        let mut states = Vec::with_capacity(planes.planes as usize);
        for (number, &promised) in (0..).zip(&promised) {
            bytes += plane_bytes(layout, blocks_per_plane, promised, keeps_history);
            let shape = Geometry::new(
                blocks_per_plane,
                geometry.pages_per_block(),
                promised.max(1).into(),
            )?;
            let mut blocks = BlockTable::from_block(number * blocks_per_plane, &shape);
            if layout.shrinking.is_some() {
                blocks.keep_lost();
            }
            if keeps_zombies {
                blocks.keep_zombies();
            }
            if keeps_history {
                blocks.keep_history(if sorting.has_rule() { HOST } else { NO_CLASS });
            }
            if let Some(watcher) = sorting.watcher() {
                watcher.begin(&mut blocks)?;
            }
            let mut rng = planes.stream(number, "victim");
            let policy = make(&mut blocks, &mut rng)?;
            bytes += policy.bytes(&shape);
            let waiting = layout.most_waiting(blocks_per_plane, promised);
            states.push(Plane {
                tracker: policy.tracker(&blocks),
                policy,
                rng,
                leveller: layout.levelling.map(|levelling| Leveller::new(levelling, &blocks)),
                pool: layout.allocation.pool_from(waiting, planes.stream(number, "allocation")),
                open: vec![Active::none(geometry.pages_per_block()); sorting.classes()].into(),
                wanted: None,
                under_way: None,
                region: layout.slc.zip(sorting.region).map(|(rule, classes)| {
                    let (b, units) = (geometry.pages_per_block(), layout.buffer.units_per_page);
                    Region::new(rule, classes, blocks_per_plane, rule.pages(b, units))
                }),
                kept: sorting.collects().map(|_| Kept::new(blocks_per_plane)),
                counters: Counters::default(),
                valid_pages: 0,
                decisions: 0,
                fruitless: 0,
                first_block: number * blocks_per_plane,
                lost_in_pool: 0,
                blocks,
            });
        }
        let slc = layout.slc.and(sorting.region).map(|classes| classes.slc);
        let gathering = Gathering::new(layout, planes.planes, sorting.classes(), slc);
        let mut store = Self {
            tables,
            planes: states.into(),
            sorting,
            groups: ReclaimGroups::new(planes, &promised)?,
            buffer: layout.buffer,
            gathering,
            wear: layout.lifespan.map(|lifespan| Wear::new(lifespan, planes, &promised)),
            zombies: keeps_zombies.then(ZombieCounts::default),
            changes: None,
            copy_order: layout.die_by_die.map(|members| {
                Box::new(DieByDie::new(
                    members,
                    &layout.buffer.programs(),
                    geometry.pages_per_block(),
                ))
            }),
            bytes,
        };
        store.fill(planes);
        Ok(store)
    }

    /// Checks that every one of `pages` is a logical page of the drive.
    pub(crate) fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        check_range(&self.tables.geometry, pages)
    }

    /// Returns the ppn of `page`; `None` if it has no data, or the drive has no such page.
    #[inline]
    pub(crate) fn locate(&self, page: u32) -> Option<u32> {
        let ppn = self.ppn_of(*self.tables.map.get(page as usize)?);
        (ppn != UNMAPPED).then_some(ppn)
    }

    /// Returns the ppn that a map entry names, or [`UNMAPPED`].
    #[inline(always)]
    pub(crate) fn ppn_of(&self, entry: u32) -> u32 {
        if self.zombies.is_some() { unmarked(entry) } else { entry }
    }

    /// The block on which `page` has its data; `None` if it has none.
    #[inline]
    pub(crate) fn block_of(&self, page: u32) -> Option<BlockId> {
        self.locate(page).map(|ppn| self.tables.place_of(ppn).0)
    }

    /// Programs `page` at the open block of `class` in `plane`, which has room, and kills its old
    /// data. `fate` says how the page leaves its old place. Returns the new ppn.
    #[inline(always)]
    pub(crate) fn program(&mut self, plane: PlaneId, class: Class, page: u32, fate: Fate) -> u32 {
        let ppn = self.planes[plane as usize].program(&mut self.tables, class, &[page]);
        self.sorting.tick(1);
        let old = std::mem::replace(&mut self.tables.map[page as usize], ppn);
        if P::Tracker::FOLLOWS_ORIGINS {
            let plane_state = &self.planes[plane as usize];
            let origin = match fate {
                Fate::Copied if plane_state.folds() => Origin::Fold,
                Fate::Copied => Origin::Copy,
                Fate::Overwritten | Fate::Trimmed => Origin::Host,
            };
            self.inherit(plane, ppn, old, origin, plane_state.blocks.clock());
        }
        self.kill(old, fate);
        ppn
    }

    /// Passes the heritage of a page's old data to its new data. The map entry `old` names the old
    /// data, and the tracker of their plane gives the heritage; without old data there is none. The
    /// new data are at `ppn` of `plane` and were programmed when the clock was `time`.
    #[inline]
    pub(crate) fn inherit(
        &mut self,
        plane: PlaneId,
        ppn: u32,
        old: u32,
        origin: Origin,
        time: u64,
    ) {
        let from = self.ppn_of(old);
        let heritage = (from != UNMAPPED).then(|| {
            let giver = self.tables.plane_of(from);
            let plane_state = &self.planes[giver as usize];
            let time = if giver == plane { time } else { plane_state.blocks.clock() };
            let local = from - plane_state.first_ppn(&self.tables);
            plane_state.tracker.heritage(local, origin.is_copy(), time)
        });
        let plane_state = &mut self.planes[plane as usize];
        let local = ppn - plane_state.first_ppn(&self.tables);
        plane_state.tracker.inherited(local, heritage, origin, time);
    }

    /// Kills the data at the map entry `old`, if there are any. The map no longer names them.
    #[inline]
    fn kill(&mut self, old: u32, fate: Fate) {
        let ppn = self.ppn_of(old);
        if ppn != UNMAPPED {
            let plane = self.tables.plane_of(ppn);
            self.kill_all(plane, &mut [old], fate);
        }
    }

    /// Kills the data at the map entries `old`, all of `plane`, in this order. Each of them was
    /// replaced by one of the pages programmed last. An entry that is [`UNMAPPED`] has no data.
    /// Returns how many pages died.
    #[inline(always)]
    pub(crate) fn kill_all(&mut self, plane: PlaneId, old: &mut [u32], fate: Fate) -> usize {
        let plane_state = &mut self.planes[plane as usize];
        if let Some(zombies) = self.zombies.as_mut().filter(|zombies| zombies.known > 0) {
            zombies.left(fate, plane_state.bury(old, self.tables.geometry.offset_bits()));
        }
        plane_state.kill(&mut self.tables, old)
    }

    /// The host discards `page`. Returns where its data were.
    pub(crate) fn discard(&mut self, page: u32) -> Option<u32> {
        self.note_written(&[page]);
        let old = std::mem::replace(&mut self.tables.map[page as usize], UNMAPPED);
        let ppn = self.ppn_of(old);
        if ppn == UNMAPPED {
            return None;
        }
        self.kill(old, Fate::Trimmed);
        self.sorting.trimmed(page, self.tables.place_of(ppn).0);
        let plane = self.tables.plane_of(ppn) as usize;
        self.planes[plane].counters.trimmed_pages += 1;
        Some(ppn)
    }

    /// Returns the plane to which the host writes `page`. `home` is its plane on a drive without
    /// reclaim groups. `coming` gives the writes that are on their way to a plane.
    pub(crate) fn plane_of_write(
        &self,
        page: u32,
        home: PlaneId,
        coming: impl Fn(PlaneId) -> u64,
    ) -> PlaneId {
        let Some(groups) = &self.groups else { return home };
        let now = self.locate(page).map(|ppn| self.tables.plane_of(ppn));
        let has_room = |plane: PlaneId, limit: u64| {
            // A page that is written again takes the room that it has.
            now == Some(plane) || self.planes[plane as usize].valid_pages + coming(plane) < limit
        };
        let plane = groups.plane(self.sorting.stream_of_write(page), home, has_room);
        plane.or(now).unwrap_or(home)
    }

    /// Returns the plane to which the host writes `page` if there is room, as
    /// [`PageStore::plane_of_write`] does.
    pub(crate) fn plane_wanted(&self, page: u32, home: PlaneId) -> PlaneId {
        let groups = self.groups.as_ref();
        groups.map_or(home, |groups| groups.wanted(self.sorting.stream_of_write(page), home))
    }

    /// Returns the reclaim group that the next write of `page` names.
    pub(crate) fn group_named(&self, page: u32) -> Option<u32> {
        self.groups.as_ref()?.named(self.sorting.stream_of_write(page))
    }

    /// Returns `true` if `pages` further pages of data surely fit in `plane`.
    pub(crate) fn has_room_for(&self, plane: PlaneId, pages: usize) -> bool {
        let valid = self.planes[plane as usize].valid_pages + pages as u64;
        self.groups.as_ref().is_none_or(|groups| valid <= groups.limit(plane))
    }

    /// Counts the `pages`, written to `plane`, that name another reclaim group.
    #[inline]
    pub(crate) fn count_outside(&mut self, plane: PlaneId, pages: &[u32]) {
        if let Some(groups) = &self.groups
            && let Some(streams) = &mut self.sorting.streams
        {
            let leaves = |&&page: &&u32| groups.leaves(streams.next(page), plane);
            let outside = pages.iter().filter(leaves).count() as u64;
            streams.left_group(outside);
        }
    }

    /// Opens an erased block for `class` in `plane`, whose open block is full or missing.
    pub(crate) fn open_next(&mut self, class: Class, plane: PlaneId) -> Result<(), FtlError> {
        let plane_state = &mut self.planes[plane as usize];
        debug_assert_eq!(plane_state.room(class), 0, "an open block with room is not replaced");
        plane_state.close_class(class);
        let block = plane_state.erased_block(self.sorting.takes_cold_data(class))?;
        // A smaller superblock begins behind the units that it has lost.
        let next = plane_state.blocks.lost(block);
        plane_state.open[usize::from(class)] = Active { block, next };
        if let Some(wear) = self.wear.as_mut().filter(|_| next > 0) {
            wear.skip(next);
        }
        if self.sorting.has_rule() {
            plane_state.blocks.set_class(block, self.sorting.class_shown(class));
        }
        self.sorting.opened(plane_state.first_block + block, class);
        self.keep_opened(plane, block);
        self.nothing_waits(plane, class);
        Ok(())
    }

    /// Makes room for a copy that belongs to `class` in `plane`. Returns the class whose open block
    /// takes it.
    ///
    /// That is `class`, except in one case. On a drive that wears out, a collection may begin with
    /// too few erased blocks for the worst victim, because the pages of this victim find room
    /// ([`PageStore::begin`]). A placement by age may give them other classes while they are
    /// copied. If the pool is then empty, the lowest class with room takes the copy. There is as
    /// much room as there are pages.
    ///
    /// # Errors
    /// No open block has room, and no erased block is left.
    #[inline]
    pub(crate) fn room_for_copy(
        &mut self,
        class: Class,
        plane: PlaneId,
    ) -> Result<Class, FtlError> {
        match self.planes[plane as usize].room(class) {
            0 => self.new_room_for_copy(class, plane),
            _ => Ok(class),
        }
    }

    #[inline(never)]
    fn new_room_for_copy(&mut self, class: Class, plane: PlaneId) -> Result<Class, FtlError> {
        let plane_state = &self.planes[plane as usize];
        if self.wear.is_some() && plane_state.pool.is_empty() {
            let has_room =
                |&other: &Class| self.sorting.takes_copies(other) && plane_state.room(other) > 0;
            if let Some(other) = (0..self.sorting.sorted_classes() as Class).find(has_room) {
                return Ok(other);
            }
        }
        self.open_next(class, plane)?;
        Ok(class)
    }

    /// The counts of all planes.
    pub(crate) fn counters(&self) -> Counters {
        Counters::sum(self.planes.iter().map(|plane| plane.counters)).unwrap_or_default()
    }

    /// A digest of every decision so far.
    pub(crate) fn decisions(&self) -> u64 {
        self.decisions_behind(None).unwrap_or_default()
    }

    /// Returns the digest of the decisions of two groups of planes: the planes of the drive before
    /// these ones, whose digest is `before`, and these planes.
    pub(crate) fn decisions_behind(&self, before: Option<u64>) -> Option<u64> {
        let planes = self.planes.iter().map(|plane| plane.decisions);
        before.into_iter().chain(planes).reduce(digest)
    }

    /// The cost of wear levelling; `None` without it.
    pub(crate) fn levelled(&self) -> Option<Levelled> {
        let planes = self.planes.iter().filter_map(|plane| plane.leveller.as_ref());
        Levelled::sum(planes.map(|leveller| leveller.levelled))
    }

    /// Returns `true` if the drive's life is over: it is read-only, with all its data.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.wear.as_ref().is_some_and(Wear::has_ended)
    }

    /// The error of a drive that is read-only.
    pub(crate) fn read_only(&self) -> FtlError {
        FtlErrorKind::ReadOnly { bad_blocks: self.wear.as_ref().map_or(0, Wear::bad_blocks) }.into()
    }

    /// Returns the store as one to which streams are named; `None` if it keeps no streams.
    pub(crate) fn streams(&mut self) -> Option<&mut dyn TakesStreams> {
        if self.sorting.streams.is_some() { Some(self) } else { None }
    }

    /// The counts that only some stores keep.
    pub(crate) fn counts(&self) -> LayerCounts {
        LayerCounts {
            packing: self.packing(),
            levelled: self.levelled(),
            skipped: self.wear.as_ref().and_then(Wear::skipped),
            zombies: self.zombies,
            streams: self.sorting.streams.as_ref().map(|streams| streams.totals().clone()),
            ..LayerCounts::default()
        }
    }

    /// Notes that `pages` were copied, if somebody follows the places of pages.
    #[inline]
    pub(crate) fn note_copies(&mut self, pages: &[u32]) {
        if let Some(changes) = &mut self.changes {
            changes.extend(pages.iter().map(|&page| Change::Copied(page)));
        }
    }

    /// Notes that the user of the store wrote or discarded `pages`, if somebody follows the places
    /// of pages.
    #[inline]
    pub(crate) fn note_written(&mut self, pages: &[u32]) {
        if let Some(changes) = &mut self.changes {
            changes.extend(pages.iter().map(|&page| Change::Written(page)));
        }
    }
}

impl<P: VictimPolicy> TakesStreams for PageStore<P> {
    fn name(&mut self, pages: &[u32], streams: &[StreamId]) -> Result<usize, FtlError> {
        self.check_range(pages)?;
        let kept = self.sorting.streams.as_mut();
        Ok(kept.map_or(pages.len(), |kept| kept.name(pages, streams)))
    }

    fn of(&self, page: u32) -> StreamId {
        self.sorting.streams.as_ref().map_or(NO_STREAM, |kept| kept.of(page))
    }

    fn hold(&mut self, stream_of: &dyn Fn(u32) -> StreamId) {
        if let Some(kept) = &mut self.sorting.streams {
            kept.hold(stream_of);
        }
    }
}

impl<P: VictimPolicy> ReportsMoves for PageStore<P> {
    fn follow(&mut self) {
        self.changes.get_or_insert_default();
    }

    fn drain(&mut self, changes: &mut Vec<Change>) {
        if let Some(noted) = &mut self.changes {
            changes.append(noted);
        }
    }
}
