//! DFTL: a page map that lies on flash itself, with the entries in use in memory.
//!
//! The map is cut into translation pages of `per_page` entries, which are written to flash like
//! data. Memory holds where each of those is, and a cache of `entries` map entries. A command whose
//! entry is not cached reads a translation page; an entry that leaves the cache changed is written
//! back together with all cached entries of its translation page. A collection that moves a page
//! whose entry is not cached rewrites its translation page, once for all pages of it that were
//! moved.
//!
//! Victim policy and write frontier are those of the page map below, which sees translation pages as
//! pages behind the host's. They are counted as copies. The frontier must keep copies apart (double,
//! pool): mixed with translation pages, they would have to be moved with every collection.
//!
//! # Cost
//!
//! O(1) for a cached entry; a program and O(`per_page` / 64) for one that leaves changed, and O(1) for
//! each other changed entry of its translation page.
//!
//! # Source
//!
//! Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching
//! of page-level address mappings", ASPLOS 2009. Entries leave the cache least recently used first,
//! where the paper has a segmented list; translation pages share the page map's frontiers, where the
//! paper gives them blocks of their own.

use crate::blocks::{BlockId, BlockTable};
use crate::counters::{Counters, Levelled, MapTraffic, Merges, ZombieCounts};
use crate::error::FtlError;
use crate::fill::Fill;
use crate::frontier::Frontier;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::order::Order;
use crate::scheme::Duplicates;
use crate::store::Wear;
use crate::translation::{
    FollowsReads, MakePageMap, ReportsCopies, SharesMemory, TakesHints, Translation,
};
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::{Kind, Param, Params, SpecError, count};
use flashgc_base::state;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "entries",
        kind: Kind::Integer { min: 1, max: u32::MAX as u64 / 2 },
        default: Some("8192"),
        help: "map entries cached in memory, 8 bytes each",
    },
    Param {
        name: "per_page",
        kind: Kind::Integer { min: 1, max: 1 << 20 },
        default: Some("1024"),
        help: "map entries of a translation page: a page's bytes over 4",
    },
];

/// Place of a page without data; slot of a page whose entry is not cached.
const NONE: u32 = u32::MAX;

pub(crate) struct Dftl {
    inner: Box<dyn Translation>,
    /// What the host is promised; `inner` holds the translation pages behind it.
    geometry: Geometry,
    per_page: u32,
    cache: Cache,
    /// What the map on flash says of every page: physical page, or [`NONE`].
    stored: Vec<u32>,
    /// Pages that were moved and whose entries are not cached: the map on flash is wrong.
    moved: Vec<u32>,
    /// Copies as the page map below reports them.
    copies: Vec<u32>,
    traffic: MapTraffic,
}

/// The cached map entries, in the order of their last use.
struct Cache {
    /// Page to its slot, or [`NONE`].
    slots: Vec<u32>,
    /// Slot to its page.
    entries: Vec<u32>,
    /// A bit a page: its entry is cached and differs from the map on flash.
    changed: Vec<u64>,
    order: Order,
    capacity: u32,
}

impl State for Cache {
    state! {
        values: entries;
        tables: slots, changed;
        states: order;
        fixed: capacity;
        then: check;
    }
}

impl State for Dftl {
    state! {
        named: "dftl";
        values: moved, copies, traffic;
        tables: stored;
        states: inner, cache;
        fixed: geometry, per_page;
    }
}

impl Cache {
    /// Whether every slot and every page that it names is one.
    fn check(&self) -> Result<(), Fault> {
        let (slots, pages) = (self.entries.len(), self.slots.len());
        let is_slot = |&slot: &u32| slot == NONE || (slot as usize) < slots;
        let is_page = |&page: &u32| (page as usize) < pages;
        if slots <= self.capacity as usize
            && self.slots.iter().all(is_slot)
            && self.entries.iter().all(is_page)
        {
            return Ok(());
        }
        Err(Fault::new("a cached map entry names a page that there is not"))
    }

    fn slot(&self, page: u32) -> Option<u32> {
        Some(self.slots[page as usize]).filter(|&slot| slot != NONE)
    }

    fn is_changed(&self, page: u32) -> bool {
        self.changed[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// The entry of `page`, if it is cached, differs from the map on flash.
    fn change(&mut self, page: u32) -> bool {
        let cached = self.slot(page).is_some();
        self.changed[page as usize / 64] |= u64::from(cached) << (page % 64);
        cached
    }

    /// The first changed entry of pages `from` to `end`, which is then as the map on flash.
    fn take_changed(&mut self, from: u32, end: u32) -> Option<u32> {
        let mut wanted = !0 << (from % 64);
        for word in from / 64..end.div_ceil(64) {
            let bits = &mut self.changed[word as usize];
            let page = 64 * word + (*bits & wanted).trailing_zeros();
            if *bits & wanted != 0 {
                let inside = page < end;
                *bits &= !(u64::from(inside) << (page % 64));
                return inside.then_some(page);
            }
            wanted = !0;
        }
        None
    }

    /// Puts an entry behind all others, which are used earlier.
    fn touch(&mut self, slot: u32) {
        self.order.remove(slot);
        self.order.push(slot);
    }
}

/// Translation pages of a map of `geometry`'s logical pages, and a drive that holds them too.
fn inner_geometry(params: &Params, geometry: &Geometry) -> Result<(u32, Geometry), SpecError> {
    let pages = geometry.logical_pages();
    let map_pages = pages.div_ceil(params.integer("per_page") as u32);
    let both = u64::from(pages) + u64::from(map_pages);
    let inner = Geometry::new(geometry.blocks(), geometry.pages_per_block(), both);
    inner.map(|inner| (map_pages, inner)).map_err(|error| on_flash(map_pages, &error))
}

fn on_flash(map_pages: u32, error: &impl std::fmt::Display) -> SpecError {
    let map = count(map_pages.into(), "page");
    SpecError::new(format!("dftl has {map} of its map on flash beside the data: {error}"), "")
}

/// Whether DFTL can be made with this layout.
pub(crate) fn check(params: &Params, layout: &Layout) -> Result<(), SpecError> {
    if layout.frontier == Frontier::Single {
        return Err(SpecError::new(
            "dftl needs a frontier that keeps copies apart, found single: every block would be full \
             of pages whose moves change as much of the map on flash as they free",
            "give --frontier double or pool",
        ));
    }
    let (map_pages, inner) = inner_geometry(params, &layout.geometry)?;
    let with_map = Layout { geometry: inner, ..layout.clone() };
    with_map.check_spare().map_err(|error| on_flash(map_pages, &error))
}

/// DFTL over the page map that `make` makes.
pub(crate) fn dftl(
    params: &Params,
    layout: Layout,
    make: MakePageMap<'_>,
) -> Result<Box<dyn Translation>, FtlError> {
    check(params, &layout)?;
    let (_, inner) = inner_geometry(params, &layout.geometry)?;
    let pages = layout.geometry.logical_pages();
    let capacity = (params.integer("entries") as u32).min(pages);
    let mut layer = Dftl {
        inner: make(Layout { geometry: inner, ..layout.clone() })?,
        geometry: layout.geometry,
        per_page: params.integer("per_page") as u32,
        cache: Cache {
            slots: vec![NONE; pages as usize],
            entries: Vec::new(),
            changed: vec![0; pages.div_ceil(64) as usize],
            order: Order::new(capacity),
            capacity,
        },
        stored: vec![NONE; pages as usize],
        moved: Vec::new(),
        copies: Vec::new(),
        traffic: MapTraffic::default(),
    };
    if layout.fill != Fill::Empty {
        for page in 0..pages {
            layer.stored[page as usize] = layer.place(page);
        }
    }
    let Some(copies) = layer.inner.copies() else {
        return Err(SpecError::new("dftl needs a page map that reports its copies", "").into());
    };
    copies.follow();
    Ok(Box::new(layer))
}

impl Dftl {
    /// The physical page of `page`, or [`NONE`].
    fn place(&self, page: u32) -> u32 {
        let b = self.geometry.pages_per_block();
        self.inner.locate(page).map_or(NONE, |(block, offset)| block * b + offset)
    }

    /// The page of `inner` that holds a translation page.
    fn map_page(&self, number: u32) -> u32 {
        self.geometry.logical_pages() + number
    }

    /// Makes the entry of `page` cached. False at the end of the drive's life.
    fn look_up(&mut self, page: u32) -> Result<bool, FtlError> {
        if let Some(slot) = self.cache.slot(page) {
            self.traffic.hits += 1;
            self.cache.touch(slot);
            return Ok(true);
        }
        self.traffic.misses += 1;
        let slot = if self.cache.order.len() == self.cache.capacity {
            let Some(slot) = self.cache.order.iter().next() else { return Ok(false) };
            let old = self.cache.entries[slot as usize];
            if self.cache.is_changed(old) && !self.write_back(old / self.per_page)? {
                return Ok(false);
            }
            self.cache.slots[old as usize] = NONE;
            self.cache.order.remove(slot);
            slot
        } else {
            self.cache.entries.push(page);
            self.cache.entries.len() as u32 - 1
        };
        let number = self.map_page(page / self.per_page);
        self.traffic.reads += u64::from(self.inner.locate(number).is_some());
        self.cache.entries[slot as usize] = page;
        self.cache.slots[page as usize] = slot;
        self.cache.order.push(slot);
        Ok(true)
    }

    /// Hears of the pages that collections moved.
    fn note_copies(&mut self) {
        let mut copies = std::mem::take(&mut self.copies);
        copies.clear();
        if let Some(reported) = self.inner.copies() {
            reported.drain(&mut copies);
        }
        for &page in copies.iter().filter(|&&page| page < self.geometry.logical_pages()) {
            if !self.cache.change(page) {
                self.moved.push(page);
            }
        }
        self.copies = copies;
    }

    /// Programs a translation page with everything that is known of its pages. Collections come
    /// before the program, so that it knows of the moves they make. False at the end of the drive's
    /// life.
    fn write_back(&mut self, number: u32) -> Result<bool, FtlError> {
        let map_page = self.map_page(number);
        self.traffic.reads += u64::from(self.inner.locate(map_page).is_some());
        if self.inner.write_until(&[map_page], u64::MAX)? == 0 {
            return Ok(false);
        }
        self.traffic.writes += 1;
        self.note_copies();
        let mut from = number * self.per_page;
        let end = from.saturating_add(self.per_page).min(self.geometry.logical_pages());
        while let Some(page) = self.cache.take_changed(from, end) {
            self.stored[page as usize] = self.place(page);
            from = page + 1;
        }
        let mut moved = std::mem::take(&mut self.moved);
        moved.retain(|&page| {
            let here = page / self.per_page == number;
            if here {
                self.stored[page as usize] = self.place(page);
            }
            !here
        });
        self.moved = moved;
        Ok(true)
    }

    /// Brings the map on flash up to date with what collections moved. False at the end of the
    /// drive's life.
    fn settle(&mut self) -> Result<bool, FtlError> {
        let most = 4 * self.geometry.physical_pages();
        for _ in 0..most {
            self.note_copies();
            let Some(&page) = self.moved.first() else { return Ok(true) };
            if !self.write_back(page / self.per_page)? {
                return Ok(false);
            }
        }
        Err(FtlError::NoSpace(format!(
            "{most} translation pages in a row were written because collections moved pages"
        )))
    }

    fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        let logical_pages = self.geometry.logical_pages();
        match pages.iter().copied().max() {
            Some(page) if page >= logical_pages => {
                Err(FtlError::OutOfRange { page, logical_pages })
            }
            _ => Ok(()),
        }
    }

    /// Writes one page. False at the end of the drive's life.
    fn write_one(&mut self, page: u32) -> Result<bool, FtlError> {
        if self.has_ended() || !self.look_up(page)? {
            return Ok(false);
        }
        if self.inner.write_until(&[page], u64::MAX)? == 0 {
            return Ok(false);
        }
        self.cache.change(page);
        // The page is written, whatever becomes of the drive in bringing its map up to date.
        self.settle()?;
        Ok(true)
    }
}

impl Translation for Dftl {
    /// A write may take several collections: it is not begun where there have been enough.
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.check_range(pages)?;
        for (done, &page) in pages.iter().enumerate() {
            if self.inner.counters().collections >= collections || !self.write_one(page)? {
                return Ok(done);
            }
        }
        Ok(pages.len())
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        for &page in pages {
            if self.has_ended() || !self.look_up(page)? {
                return Err(self.read_only());
            }
            self.inner.trim(&[page])?;
            self.cache.change(page);
            self.settle()?;
        }
        Ok(())
    }

    fn hints(&mut self) -> Option<&mut dyn TakesHints> {
        None
    }

    fn reads(&mut self) -> Option<&mut dyn FollowsReads> {
        Some(self)
    }

    fn memory(&mut self) -> Option<&mut dyn SharesMemory> {
        None
    }

    fn copies(&mut self) -> Option<&mut dyn ReportsCopies> {
        None // they go to the map below
    }

    fn zombies(&self) -> Option<ZombieCounts> {
        None
    }

    fn levelled(&self) -> Option<Levelled> {
        self.inner.levelled()
    }

    fn merges(&self) -> Option<Merges> {
        None
    }

    fn duplicates(&self) -> Duplicates {
        Duplicates::default()
    }

    fn map_traffic(&self) -> Option<MapTraffic> {
        Some(self.traffic)
    }

    fn wear(&self) -> Option<&Wear> {
        self.inner.wear()
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn blocks(&self) -> &BlockTable {
        self.inner.blocks()
    }

    fn counters(&self) -> Counters {
        let Counters { host_pages, copied_pages, .. } = self.inner.counters();
        let writes = self.traffic.writes;
        Counters {
            host_pages: host_pages - writes,
            copied_pages: copied_pages + writes,
            ..self.inner.counters()
        }
    }

    fn decisions(&self) -> u64 {
        self.inner.decisions()
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        Some(page).filter(|&page| page < self.geometry.logical_pages())?;
        self.inner.locate(page)
    }

    /// What the map on flash says is true of every page whose entry is not cached and changed.
    fn audit(&self) -> Result<(), String> {
        self.inner.audit()?;
        for page in 0..self.geometry.logical_pages() {
            let entry = self.cache.slot(page).map(|slot| self.cache.entries[slot as usize]);
            if entry.is_some_and(|other| other != page) {
                return Err(format!("the entry of page {page} is another page's"));
            }
            let changed = self.cache.is_changed(page);
            if changed && entry.is_none() {
                return Err(format!("the entry of page {page} is changed and not cached"));
            }
            let (stored, place) = (self.stored[page as usize], self.place(page));
            if stored != place && !changed && !self.has_ended() {
                return Err(format!("the map on flash has page {page} at {stored}, not {place}"));
            }
        }
        let cached = self.cache.slots.iter().filter(|&&slot| slot != NONE).count() as u32;
        if cached != self.cache.order.len() || cached > self.cache.capacity {
            return Err(format!("{cached} entries cached, {} in order", self.cache.order.len()));
        }
        Ok(())
    }

    fn map_bytes(&self) -> u64 {
        let map_pages = self.geometry.logical_pages().div_ceil(self.per_page);
        8 * u64::from(self.cache.capacity) + 4 * u64::from(map_pages)
    }

    fn memory_bytes(&self) -> u64 {
        let pages = u64::from(self.geometry.logical_pages());
        self.inner.memory_bytes()
            + 8 * pages
            + 8 * pages.div_ceil(64)
            + 12 * u64::from(self.cache.capacity)
    }
}

impl FollowsReads for Dftl {
    fn read(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        for &page in pages {
            // A drive at the end of its life reads without its cache.
            if !self.has_ended() && self.look_up(page)? {
                self.settle()?;
            }
        }
        Ok(())
    }
}
