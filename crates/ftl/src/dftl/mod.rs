//! DFTL: a page map that lies on flash itself, with the entries in use in memory.
//!
//! The map is cut into translation pages of `per_page` entries, which are written to flash like
//! data. Memory holds the place of each translation page, and a cache of `entries` map entries. A
//! command whose entry is not cached reads a translation page, and `fetch` entries of that page come
//! into the cache together. When changed entries leave the cache, they are written back together with
//! all cached entries of their translation page. If a
//! collection moves a page whose entry is not cached, it rewrites the translation page, once for
//! all moved pages in it.
//!
//! The page map below has the victim policy and the write frontier. It sees translation pages as
//! pages after those of the host. They are counted as copies. The frontier must keep copies apart
//! (double, pool): mixed with translation pages, they would have to be moved with every collection.
//!
//! A hint of the host names a page, and the drive counts it in the block that holds the page. Only the
//! map says which block that is, so a hint uses the entry of its page as a read does. It changes no
//! entry: the marks are in memory, and a page that the host will write soon is data until then, which a
//! collection moves like any other. A drive whose policies have no use for hints looks nothing up.
//!
//! On a drive with a clock, a command waits for the translation pages that it needs to find its
//! entry. No command waits for those that a collection rewrites, but they keep the dies busy.
//!
//! # Cost
//!
//! O(1) for a cached entry; a program and O(`per_page` / 64) for one that leaves changed, and O(1) for
//! each other changed entry of its translation page.
//!
//! # Source
//!
//! Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching
//! of page-level address mappings", ASPLOS 2009. Here the least recently used entry leaves the
//! cache first; the paper has a segmented list, and brings one entry at a time as `fetch=1` does.
//! Drives with little memory for the map keep whole translation pages or parts of them
//! (`fetch=1024`): the pages of a sequential read then need one read of the map together. In the
//! paper translation pages have blocks of their own, as with `blocks=own`, which needs the pool
//! frontier. With `blocks=shared` they go where copies and host writes go.

mod at_once;
mod cache;

pub use at_once::Below;
pub use cache::{LookUp, MapCache};

use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::{FtlError, check_range};
use crate::frontier::Frontier;
use crate::geometry::{Geometry, GeometryError};
use crate::layer::{Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams};
use crate::layout::{Layout, PlaneId};
use crate::placement::PlacementSpec;
use crate::translation::{FollowsReads, MakePageMap, SharesMemory, Translation};
use crate::wear::Wear;
use flashgc_base::naming::{choice, subject};
use flashgc_base::refuse_if;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError, count};

pub(crate) const PARAMS: &[Param] = &[
    Param::integer("entries", (1, u32::MAX as u64 / 2), Some("8192"))
        .help("map entries cached in memory, 8 bytes each"),
    Param::integer("per_page", (1, 1 << 20), Some("1024"))
        .help("map entries of a translation page: a page's bytes over 4"),
    Param::integer("fetch", (1, 1 << 20), Some("1")).help(
        "map entries that come into memory and leave it together: a divisor of per_page and of entries",
    ),
    Param::word("blocks", &["shared", "own"], Some("shared"))
        .help("translation pages are among copies and host writes, or have blocks of their own"),
];

#[derive(State)]
#[snapshot(named = "dftl")]
pub(crate) struct Dftl {
    #[snapshot(state)]
    inner: Box<dyn Translation>,
    /// The shape that the host sees. In `inner` the translation pages follow the host's pages.
    #[snapshot(skip)]
    geometry: Geometry,
    #[snapshot(state)]
    cache: MapCache,
}

/// Returns `placement`, with blocks of their own for translation pages if `params` say so.
pub(crate) fn placement(params: &Params, placement: PlacementSpec) -> PlacementSpec {
    match params.text("blocks") {
        "own" => placement.with_map(params.integer("per_page") as u32),
        _ => placement,
    }
}

/// Translation pages of a map of `pages` pages.
pub(crate) fn map_pages(params: &Params, pages: u32) -> u32 {
    pages.div_ceil(params.integer("per_page") as u32)
}

/// The number of translation pages for `geometry`'s logical pages, and the shape of a drive that
/// holds both.
fn inner_geometry(params: &Params, geometry: &Geometry) -> Result<(u32, Geometry), SpecError> {
    let pages = geometry.logical_pages();
    let map_pages = map_pages(params, pages);
    let both = u64::from(pages) + u64::from(map_pages);
    let inner = Geometry::new(geometry.blocks(), geometry.pages_per_block(), both);
    inner.map(|inner| (map_pages, inner)).map_err(|error| on_flash(map_pages, &error))
}

fn on_flash(map_pages: u32, error: &GeometryError) -> SpecError {
    let map = count(map_pages.into(), "page");
    SpecError::new(format!("dftl has {map} of its map on flash beside the data: {}", error.0), "")
}

/// The most translation pages that may be written in a row because collections moved pages. With
/// more, the writes would never end.
pub fn most_in_a_row(geometry: &Geometry) -> u64 {
    4 * geometry.physical_pages()
}

/// The error of a drive that has written `most` translation pages in a row.
pub fn endless(most: u64) -> FtlError {
    FtlError::no_space(format!(
        "{most} translation pages in a row were written because collections moved pages, so collections fill what \
         they free; hint: {}, or {} with more entries in memory",
        choice("victim", "greedy"),
        choice("mapping", "dftl")
    ))
}

/// Checks that DFTL can be made with this layout.
pub(crate) fn check(params: &Params, layout: &Layout) -> Result<(), SpecError> {
    refuse_if!(
        layout.frontier == Frontier::Single,
        format!("{}, or {}", choice("frontier", "double"), choice("frontier", "pool")),
        "{} dftl needs a frontier that keeps copies apart, found {}: every block would be full of \
         pages whose moves change as much of the map on flash as they free",
        subject("mapping"),
        choice("frontier", "single")
    );
    let [per_page, entries, fetch] =
        ["per_page", "entries", "fetch"].map(|name| params.integer(name));
    for (whole, name) in [(per_page, "per_page"), (entries, "entries")] {
        refuse_if!(
            !whole.is_multiple_of(fetch),
            format!(
                "fetch={}",
                (1..=fetch)
                    .rev()
                    .find(|part| {
                        per_page.is_multiple_of(*part) && entries.is_multiple_of(*part)
                    })
                    .unwrap_or(1)
            ),
            "{} dftl: fetch={fetch}, expected a divisor of {name}={whole}",
            subject("mapping")
        );
    }
    let (map_pages, inner) = inner_geometry(params, &layout.geometry)?;
    let placement = placement(params, layout.placement.clone());
    let with_map = Layout { geometry: inner, placement, ..layout.clone() };
    with_map.check_spare().map_err(|error| on_flash(map_pages, &error))
}

/// The shape of a drive that holds the pages of `geometry` and their map.
pub(crate) fn with_map(params: &Params, geometry: &Geometry) -> Result<Geometry, SpecError> {
    inner_geometry(params, geometry).map(|(_, inner)| inner)
}

/// The map cache for `geometry`'s pages, whose places `place` gives.
pub(crate) fn cache(
    params: &Params,
    geometry: &Geometry,
    place: impl Fn(u32) -> Option<u32>,
) -> MapCache {
    let [per_page, fetch, entries] =
        ["per_page", "fetch", "entries"].map(|name| params.integer(name) as u32);
    MapCache::new(geometry.logical_pages(), (per_page, fetch), entries, place)
}

/// DFTL over the page map that `make` makes.
pub(crate) fn dftl(
    params: &Params,
    layout: Layout,
    make: MakePageMap<'_>,
) -> Result<Box<dyn Translation>, FtlError> {
    check(params, &layout)?;
    let geometry = layout.geometry;
    let placement = placement(params, layout.placement);
    let inner = Layout { geometry: with_map(params, &geometry)?, placement, ..layout };
    let mut inner = make(inner)?;
    let Some(moves) = inner.moves() else {
        return Err(SpecError::new("dftl needs a page map that reports its moves", "").into());
    };
    moves.follow();
    let cache = cache(params, &geometry, |page| place(&*inner, page));
    Ok(Box::new(Dftl { inner, geometry, cache }))
}

/// The physical page of `page`; `None` if it has no data.
fn place(inner: &dyn Translation, page: u32) -> Option<u32> {
    let b = inner.geometry().pages_per_block();
    inner.locate(page).map(|(block, offset)| block * b + offset)
}

impl Below for Box<dyn Translation> {
    fn layer(&mut self) -> &mut dyn Layer {
        &mut **self
    }

    fn place(&self, page: u32) -> Option<u32> {
        place(&**self, page)
    }

    fn write(&mut self, page: u32) -> Result<bool, FtlError> {
        Ok(self.write_until(&[page], u64::MAX)? == 1)
    }

    fn trim(&mut self, page: u32) -> Result<(), FtlError> {
        (**self).trim(&[page])
    }
}

impl Dftl {
    fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        check_range(&self.geometry, pages)
    }
}

impl Layer for Dftl {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn counters(&self) -> Counters {
        let Counters { host_pages, copied_pages, .. } = self.inner.counters();
        let writes = self.cache.traffic().writes;
        Counters {
            host_pages: host_pages - writes,
            copied_pages: copied_pages + writes,
            ..self.inner.counters()
        }
    }

    fn counts(&self) -> LayerCounts {
        self.inner.counts().with_map(self.cache.traffic())
    }

    fn wear(&self) -> Option<&Wear> {
        self.inner.wear()
    }

    fn decisions(&self) -> u64 {
        self.inner.decisions()
    }

    fn streams(&mut self) -> Option<&mut dyn TakesStreams> {
        self.inner.streams() // translation pages have none
    }

    fn hints(&mut self) -> Option<&mut dyn TakesHints> {
        if self.inner.hints().is_some() { Some(self) } else { None }
    }

    fn moves(&mut self) -> Option<&mut dyn ReportsMoves> {
        None // the cache takes the moves of the map below
    }

    /// Checks the inner map and the cache. At the end of the drive's life the map on flash may be
    /// behind.
    fn audit(&self) -> Result<(), String> {
        self.inner.audit()?;
        self.cache.audit(|page| place(&*self.inner, page), |_| self.has_ended())
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes() + self.cache.memory_bytes()
    }
}

impl Translation for Dftl {
    /// A write may take several collections, so no write begins once `collections` is reached.
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.check_range(pages)?;
        for (done, &page) in pages.iter().enumerate() {
            if self.inner.counters().collections >= collections
                || !self.cache.write_at_once(&mut self.inner, page)?
            {
                return Ok(done);
            }
        }
        Ok(pages.len())
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        for &page in pages {
            if !self.cache.trim_at_once(&mut self.inner, page)? {
                return Err(self.read_only());
            }
        }
        Ok(())
    }

    fn reads(&mut self) -> Option<&mut dyn FollowsReads> {
        Some(self)
    }

    fn memory(&mut self) -> Option<&mut dyn SharesMemory> {
        None
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn planes(&self) -> u32 {
        self.inner.planes()
    }

    fn blocks(&self, plane: PlaneId) -> &BlockTable {
        self.inner.blocks(plane)
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        Some(page).filter(|&page| page < self.geometry.logical_pages())?;
        self.inner.locate(page)
    }

    fn map_bytes(&self) -> u64 {
        self.cache.map_bytes()
    }
}

/// Hints are on pages of the host: nobody knows when a translation page will be written.
impl TakesHints for Dftl {
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        pages.iter().try_for_each(|&page| self.cache.hint_at_once(&mut self.inner, page, false))
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        pages.iter().try_for_each(|&page| self.cache.hint_at_once(&mut self.inner, page, true))
    }

    fn is_hinted(&mut self, page: u32) -> bool {
        self.inner.hints().is_some_and(|hints| hints.is_hinted(page))
    }

    fn power_loss(&mut self) {
        if let Some(hints) = self.inner.hints() {
            hints.power_loss();
        }
    }
}

impl FollowsReads for Dftl {
    fn read(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        for &page in pages {
            self.cache.read_at_once(&mut self.inner, page)?;
        }
        Ok(())
    }
}
