//! The page-mapped translation layer: any logical page on any physical page. Host writes and
//! TRIM; collections are in `collect.rs`, first contents in `fill.rs`, the audit in `audit.rs`.

use crate::blocks::{BlockId, BlockTable};
use crate::endurance::Wear;
use crate::frontier::{Active, Frontier, Open};
use crate::geometry::Geometry;
use crate::levelling::{Levelled, Leveller};
use crate::placement::Placed;
use crate::scheme::{Costs, Duplicates, Scheme};
use crate::table::{Table, prefetch};
use crate::track::Tracker;
use crate::translation::{Counters, FtlError, Layout, Translation};
use crate::victim::VictimPolicy;
use crate::zombies::{ZombieCounts, Zombies};
use flashgc_base::residency::{NotCached, Residency};
use flashgc_base::rng::Stream;
use flashgc_base::spec::SpecError;

/// Map entry of a logical page that has no data.
pub const UNMAPPED: u32 = u32::MAX;

/// How far ahead of a write its map entry is fetched, in pages.
pub(crate) const MAP_AHEAD: usize = 48;
/// How far ahead of a write the old page's live bit is fetched, in pages.
pub(crate) const LIVE_AHEAD: usize = 24;

/// The page-mapped translation layer with victim policy `P`.
pub struct PageMap<P: VictimPolicy> {
    pub(crate) policy: P,
    pub(crate) rng: Stream,
    pub(crate) open: Open,
    pub(crate) state: State<P::Tracker>,
    /// What collections do about pages in the host's memory; `None` while it is not shared.
    pub(crate) sharing: Option<Sharing>,
    /// Memory that all this takes.
    bytes: u64,
}

/// What collections do about pages in the host's memory, and did.
pub(crate) struct Sharing {
    pub(crate) scheme: Scheme,
    pub(crate) costs: Costs,
    pub(crate) duplicates: Duplicates,
}

/// The part of the layer that is not policy: where every page is.
pub(crate) struct State<T> {
    pub(crate) geometry: Geometry,
    /// Logical page to ppn, or [`UNMAPPED`]; of a zombie with a mark, see [`State::ppn_of`].
    pub(crate) map: Table<u32>,
    /// Physical page (block times b plus offset) to the logical page last written there.
    pub(crate) reverse: Table<u32>,
    /// One bit a ppn: the page holds current data.
    pub(crate) live: Table<u64>,
    pub(crate) blocks: BlockTable,
    pub(crate) wear: Option<Wear>,
    pub(crate) leveller: Option<Leveller>,
    /// Kept where the policy or the placement asks.
    pub(crate) zombies: Option<Zombies>,
    pub(crate) tracker: T,
    pub(crate) counters: Counters,
    pub(crate) decisions: u64,
    /// Logical pages on their way from a victim: the first `moving_len` of b.
    pub(crate) moving: Box<[u32]>,
    pub(crate) moving_len: usize,
    /// Logical pages copied since they were last asked for; `None` while nobody asks.
    pub(crate) copied: Option<Vec<u32>>,
    /// Where the pages that the host writes at hand replace were: room for b.
    pub(crate) old: Box<[u32]>,
}

impl<P: VictimPolicy> PageMap<P> {
    /// The layer that `layout` describes, its policy made by `make`.
    pub fn with_policy(
        layout: Layout,
        make: impl FnOnce(&BlockTable, &mut Stream) -> Result<P, SpecError>,
    ) -> Result<Self, FtlError> {
        let Layout { frontier, allocation, levelling, lifespan, fill, seed, .. } = layout;
        let (geometry, placement) = (layout.geometry, &layout.placement);
        placement.check(frontier, levelling)?;
        frontier.check(&geometry, levelling, placement)?;
        allocation.check(frontier)?;
        levelling.map_or(Ok(()), |levelling| levelling.check(frontier))?;
        lifespan.map_or(Ok(()), |lifespan| lifespan.check(frontier))?;
        let pages = geometry.logical_pages();
        let placed = placement.make(pages).map(|rule| {
            let low = if let Frontier::Pool { low } = frontier { low } else { 0 };
            Box::new(Placed::new(rule, &geometry, low))
        });
        let asks = placed.as_ref().is_some_and(|placed| placed.asks_for_zombies());
        let keeps_zombies = asks || P::Tracker::FOLLOWS_ZOMBIES;
        let zombies = keeps_zombies.then(|| Zombies::new(&geometry)).transpose()?;
        let memory = || FtlError::Memory { pages };
        let map = Table::new(pages as usize).ok_or_else(memory)?;
        let reverse = Table::new(geometry.physical_pages() as usize).ok_or_else(memory)?;
        let live = Table::new(live_words(&geometry)).ok_or_else(memory)?;
        let mut blocks = BlockTable::new(&geometry);
        if keeps_zombies {
            blocks.keep_zombies();
        }
        let (kept, waiting) = (layout.blocks_kept(), layout.most_waiting());
        let bytes = layout.bytes(P::Tracker::FOLLOWS_ZOMBIES);
        let wear = lifespan.map(|lifespan| Wear::new(lifespan, &geometry, kept, seed));
        let leveller = levelling.map(|levelling| Leveller::new(levelling, &blocks));
        let mut rng = Stream::new(seed, "victim");
        let policy = make(&blocks, &mut rng)?;
        let bytes = bytes + policy.bytes(&geometry);
        let tracker = policy.tracker(&blocks);
        let b = geometry.pages_per_block();
        let mut layer = Self {
            policy,
            rng,
            open: Open::new(frontier, b, allocation.pool(waiting, seed), placed, kept),
            state: State {
                geometry,
                map,
                reverse,
                live,
                blocks,
                wear,
                leveller,
                zombies,
                tracker,
                counters: Counters::default(),
                decisions: 0,
                moving: vec![0; b as usize].into(),
                moving_len: 0,
                copied: None,
                old: vec![0; b as usize].into(),
            },
            sharing: None,
            bytes,
        };
        layer.fill(fill, seed);
        Ok(layer)
    }

    /// [`Translation::write_until`], with the memory that collections may leave pages to.
    fn write_beside(
        &mut self,
        pages: &[u32],
        collections: u64,
        memory: &mut dyn Residency,
    ) -> Result<usize, FtlError> {
        self.state.check_range(pages)?;
        if let Some(mut placed) = self.open.placed.take() {
            let written = self.write_placed(&mut placed, pages, collections);
            self.open.placed = Some(placed);
            return written;
        }
        let b = self.state.geometry.pages_per_block();
        let mut rest = pages;
        if self.has_ended() {
            return Ok(0);
        }
        while !rest.is_empty() {
            if self.open.host.next == b {
                if self.state.counters.collections >= collections {
                    return Ok(pages.len() - rest.len());
                }
                self.make_room(memory)?;
                if self.has_ended() {
                    return Ok(pages.len() - rest.len());
                }
            }
            let room = (b - self.open.host.next) as usize;
            let count = room.min(rest.len());
            self.state.append(&mut self.open.host, rest, count);
            rest = &rest[count..];
        }
        Ok(pages.len())
    }
}

/// Words of live bits: one bit a ppn.
pub(crate) fn live_words(geometry: &Geometry) -> usize {
    ((geometry.blocks() as usize) << geometry.offset_bits()).div_ceil(64)
}

/// Bytes of map, reverse map and live bits.
pub(crate) fn table_bytes(geometry: &Geometry) -> u64 {
    Table::<u32>::bytes_for(geometry.logical_pages() as usize)
        + Table::<u32>::bytes_for(geometry.physical_pages() as usize)
        + Table::<u64>::bytes_for(live_words(geometry))
}

impl<P: VictimPolicy> Translation for PageMap<P> {
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.write_beside(pages, collections, &mut NotCached)
    }

    fn share_memory(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        _: &mut dyn Residency,
    ) -> Result<(), SpecError> {
        scheme.check_page_map()?;
        if !scheme.is_unaware() && (self.open.placed.is_some() || self.state.zombies.is_some()) {
            return Err(SpecError::new(
                "collections that leave pages to memory go neither with a placement nor with \
                 zombies",
                "give --placement none, and a victim policy that does not ask for hints",
            ));
        }
        let duplicates = Duplicates::default();
        self.sharing = (!scheme.is_unaware()).then_some(Sharing { scheme, costs, duplicates });
        Ok(())
    }

    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError> {
        match self.write_beside(&[page], u64::MAX, memory)? {
            1 => Ok(()),
            _ => Err(self.read_only()),
        }
    }

    fn follow_copies(&mut self) {
        self.state.copied.get_or_insert_default();
    }

    fn drain_copies(&mut self, pages: &mut Vec<u32>) {
        if let Some(copied) = &mut self.state.copied {
            pages.append(copied);
        }
    }

    fn duplicates(&self) -> Duplicates {
        self.sharing.as_ref().map_or(Duplicates::default(), |sharing| sharing.duplicates)
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.state.check_range(pages)?;
        if self.has_ended() {
            return Err(self.read_only());
        }
        self.state.discard(pages);
        Ok(())
    }

    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.state.check_range(pages)?;
        self.state.mark_zombies(pages);
        Ok(())
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.state.check_range(pages)?;
        self.state.revive_zombies(pages.iter().copied());
        Ok(())
    }

    fn power_loss(&mut self) {
        self.state.revive_zombies(0..self.state.geometry.logical_pages());
    }

    fn zombies(&self) -> Option<ZombieCounts> {
        self.state.zombies.as_ref().map(|zombies| zombies.counts)
    }

    fn wear(&self) -> Option<&Wear> {
        self.state.wear.as_ref()
    }

    fn levelled(&self) -> Option<Levelled> {
        self.state.leveller.as_ref().map(|leveller| leveller.levelled)
    }

    fn geometry(&self) -> &Geometry {
        &self.state.geometry
    }

    fn blocks(&self) -> &BlockTable {
        &self.state.blocks
    }

    fn counters(&self) -> Counters {
        // The engine counts pages written from memory as copies; they are the host's.
        let Counters { host_pages, copied_pages, .. } = self.state.counters;
        let flushed = self.duplicates().flushed;
        Counters {
            host_pages: host_pages + flushed,
            copied_pages: copied_pages - flushed,
            ..self.state.counters
        }
    }

    fn decisions(&self) -> u64 {
        self.state.decisions
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        let ppn = self.state.ppn_of(*self.state.map.get(page as usize)?);
        let bits = self.state.geometry.offset_bits();
        (ppn != UNMAPPED).then_some((ppn >> bits, ppn & ((1 << bits) - 1)))
    }

    fn audit(&self) -> Result<(), String> {
        crate::audit::audit(&self.state, &self.open)
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

impl<T: Tracker> State<T> {
    fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        let logical_pages = self.geometry.logical_pages();
        match pages.iter().copied().fold(0, u32::max) {
            page if page >= logical_pages => Err(FtlError::OutOfRange { page, logical_pages }),
            _ => Ok(()),
        }
    }

    /// Programs the first `count` of `pages` at `active`, which has room for them, and kills their
    /// old copies. The rest of `pages` is what comes next, to look ahead at. Every page is below
    /// the number of logical pages.
    ///
    /// Two passes, each with one table to wait for: first the map, then the live bits.
    fn append(&mut self, active: &mut Active, pages: &[u32], count: usize) {
        let first = self.program(active, &pages[..count]);
        self.advance(first, count);
        let map = &mut *self.map;
        let mut old = std::mem::take(&mut self.old);
        for (index, old) in old[..count].iter_mut().enumerate() {
            if let Some(&page) = pages.get(index + MAP_AHEAD) {
                prefetch(map, page as usize);
            }
            // SAFETY: `count` is at most the number of `pages`, and `write_until` has checked that
            // every one of them is inside the map.
            unsafe {
                let page = *pages.get_unchecked(index) as usize;
                *old = std::mem::replace(map.get_unchecked_mut(page), first + index as u32);
            }
        }
        self.replaced(&mut old[..count]);
        self.old = old;
        self.counters.host_pages += count as u64;
    }

    /// The pages that had these map entries, or [`UNMAPPED`], were replaced by those programmed
    /// last, each by one of them: they are dead, and the tracker hears of it.
    #[inline(always)]
    pub(crate) fn replaced(&mut self, old: &mut [u32]) {
        let zombies = self.bury_zombies(old);
        if let Some(kept) = &mut self.zombies {
            kept.counts.overwritten += zombies;
        }
        let lost = self.kill(old);
        if T::FOLLOWS_PAGES {
            self.tracker.pages_lost(&self.blocks, &old[..lost]);
        }
        if T::FOLLOWS_DEATHS {
            let since = self.blocks.clock() - old.len() as u64 + 1;
            self.tracker.pages_died(&self.blocks, old, since);
        }
    }

    pub(crate) fn is_live(&self, ppn: u32) -> bool {
        self.live[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1
    }

    /// Kills the pages at these ppns, leaving out [`UNMAPPED`], and returns how many that are. For
    /// a tracker that follows pages the first of them are replaced by the blocks that lost one.
    #[inline(always)]
    fn kill(&mut self, old: &mut [u32]) -> usize {
        let bits = self.geometry.offset_bits();
        let live = &mut *self.live;
        let counts = self.blocks.counts_mut();
        let mut lost = 0;
        for index in 0..old.len() {
            if let Some(&ahead) = old.get(index + LIVE_AHEAD) {
                prefetch(live, (ahead >> 6) as usize);
            }
            let ppn = old[index];
            if ppn != UNMAPPED {
                let block = ppn >> bits;
                // SAFETY: a mapped entry is a ppn of this drive (an invariant of the layer, checked
                // by the audit), so its live word and its block's count exist.
                unsafe {
                    *live.get_unchecked_mut((ppn >> 6) as usize) &= !(1 << (ppn & 63));
                    *counts.get_unchecked_mut(block as usize) -= 1;
                }
                if T::FOLLOWS_PAGES {
                    old[lost] = block;
                }
                lost += 1;
            }
        }
        lost
    }

    /// Records that `pages` are programmed at `active`, in order: reverse map, live bits, count.
    /// Returns the ppn of the first; the map is the caller's to update.
    #[inline]
    pub(crate) fn program(&mut self, active: &mut Active, pages: &[u32]) -> u32 {
        let block = active.block;
        let first = (block << self.geometry.offset_bits()) | active.next;
        let b = self.geometry.pages_per_block() as usize;
        let place = block as usize * b + active.next as usize;
        self.reverse[place..place + pages.len()].copy_from_slice(pages);
        set_bits(&mut self.live, first as usize, pages.len());
        self.blocks.counts_mut()[block as usize] += pages.len() as u16;
        self.blocks.program(block);
        active.next += pages.len() as u32;
        first
    }

    /// Lets the clock tick for the `count` pages just programmed from ppn `first` on.
    #[inline]
    pub(crate) fn advance(&mut self, first: u32, count: usize) {
        self.blocks.tick(count as u64);
        if T::FOLLOWS_PROGRAMS {
            self.tracker.pages_programmed(&self.blocks, first, count as u32);
        }
    }

    fn discard(&mut self, pages: &[u32]) {
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            let mut old = [std::mem::replace(&mut self.map[page as usize], UNMAPPED)];
            let zombies = self.bury_zombies(&mut old);
            if let Some(kept) = &mut self.zombies {
                kept.counts.trimmed += zombies;
            }
            let lost = self.kill(&mut old);
            if T::FOLLOWS_PAGES {
                self.tracker.pages_lost(&self.blocks, &old[..lost]);
            }
            if T::FOLLOWS_DEATHS {
                self.tracker.pages_died(&self.blocks, &old, self.blocks.clock());
            }
            self.counters.trimmed_pages += lost as u64;
        }
    }
}

/// Sets `count` bits from bit `first` on.
pub(crate) fn set_bits(words: &mut [u64], first: usize, count: usize) {
    for_words(first, count, |word, mask| words[word] |= mask);
}

/// Calls `f` with every word that holds some of the bits, and the mask of those it holds.
#[inline]
pub(crate) fn for_words(first: usize, count: usize, mut f: impl FnMut(usize, u64)) {
    let end = first + count;
    let mut bit = first;
    while bit < end {
        let word = bit / 64;
        let here = (64 - bit % 64).min(end - bit);
        f(word, (u64::MAX >> (64 - here)) << (bit % 64));
        bit += here;
    }
}
