//! The questions of a collection to the host's memory, for systems in which both share a processor:
//! which pages are cached there, whether they are dirty, and how likely each is to be written
//! again. This module holds no cache: the host implements it.

use crate::snapshot::Value;

/// The part of a page cache that a page is in, by how it was used last (3-region LRU).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Value)]
pub enum Region {
    /// The page was touched once, when it came into the cache.
    Initial,
    /// The page was touched again, not long ago.
    Mru,
    /// The page is among the next to be evicted.
    Lru,
}

impl Region {
    /// Every region, in the order of their discriminants.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Mru, Self::Lru];
}

/// The state of a cached page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cached {
    /// `true` if memory has data that flash does not have, so that eviction must write them. A
    /// clean page always has a current copy on flash.
    pub dirty: bool,
    /// The region of the cache that the page is in.
    pub region: Region,
}

/// The host's memory as a collection sees and changes it.
pub trait Residency {
    /// The state of `page`; `None` if it is not cached.
    fn lookup(&self, page: u32) -> Option<Cached>;

    /// Makes `page`, which is cached, dirty or clean. Its place in the cache stays, and it does not
    /// count as an access of the host.
    fn set_dirty(&mut self, page: u32, dirty: bool);

    /// The chance, 0 to 1, that the host writes a page that is now in `region` before the cache
    /// evicts it. It may change at any time, and [`Residency::drain_changes`] does not report that.
    fn update_probability(&self, region: Region) -> f64;

    /// Begins to note which pages change. Before this call [`Residency::drain_changes`] finds
    /// nothing and costs nothing.
    fn follow_changes(&mut self);

    /// Appends to `pages` each page whose [`Residency::lookup`] may have changed since the last
    /// call, and forgets these pages. The first call reports the changes since
    /// [`Residency::follow_changes`]. Changes by the host and by collections count alike. Each page
    /// comes once, in an order that depends on the history of the cache alone.
    fn drain_changes(&mut self, pages: &mut Vec<u32>);
}

/// No memory at all: every page is on flash alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotCached;

impl Residency for NotCached {
    fn lookup(&self, _: u32) -> Option<Cached> {
        None
    }

    fn set_dirty(&mut self, page: u32, _: bool) {
        debug_assert!(false, "page {page} is not cached");
    }

    fn update_probability(&self, _: Region) -> f64 {
        0.0
    }

    fn follow_changes(&mut self) {}

    fn drain_changes(&mut self, _: &mut Vec<u32>) {}
}
