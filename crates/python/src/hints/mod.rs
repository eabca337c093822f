//! What living software will soon overwrite, from Python.

mod page_cache;

pub(crate) use page_cache::PageCacheFollower;
