//! The host's memory in front of a drive: the page caches of a virtual memory system. They decide
//! which pages stay and which go out; they hold no data, know no drive and read no clock.
//!
//! Start reading at [`page_cache`].

pub mod page_cache;

pub use page_cache::{Evicted, PageCache, PageCacheSpec, page_caches};
