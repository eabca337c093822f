//! Hints of living software on what it will soon overwrite, from Python.

mod page_cache;
mod postgres;
mod wal;

pub(crate) use page_cache::PageCacheFollower;
pub(crate) use postgres::PostgresFollower;
pub(crate) use wal::WalDecoder;
