//! Hints from running software on the pages that it will soon overwrite, for Python.

mod allocations;
mod page_cache;
mod postgres;
mod wal;
mod written;

pub(crate) use allocations::{AllocationFollower, trace_tag};
pub(crate) use page_cache::{PageCacheFollower, has_tracepoint};
pub(crate) use postgres::PostgresFollower;
pub(crate) use wal::WalDecoder;
pub(crate) use written::WriteFollower;
