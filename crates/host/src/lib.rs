//! The host's memory in front of a drive: the page caches of a virtual memory system, and caches
//! that write back and may tell the drive their dirty pages. They decide which pages stay and which
//! go out. They hold no data, know no drive and read only the clock that they are given.
//!
//! Start reading at [`page_cache`] and at [`write_back`].

pub mod page_cache;
pub mod write_back;

pub use page_cache::{Evicted, PageCache, PageCacheSpec, page_caches};
pub use write_back::{
    ClockedHost, HintCounts, Hints, HintsSpec, Host, HostCounts, HostPages, HostSpec, HostWaits,
    HostWatch, Leaving, hint_ways, write_back_caches,
};
