//! The streams of the pages that a cache writes back.
//!
//! A page has the stream of the range of addresses that it is in. The range is looked up when the
//! page leaves the cache. Outside all ranges a page has the stream of the last write to it, as
//! Linux writes a page back with the hint that its inode has then.

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_workload::StreamRanges;

/// The origin of the streams of an application's writes.
#[derive(Clone, Default)]
pub(super) struct StreamOrigin {
    /// `true` if writes name their streams.
    pub(super) by_writes: bool,
    pub(super) by_ranges: Option<Arc<StreamRanges>>,
}

/// The streams with which pages leave a cache. See the module's text.
#[derive(State)]
pub(super) struct PageStreams {
    /// The stream of the last write to each page; empty if writes name no streams.
    #[snapshot(table)]
    last: Vec<StreamId>,
    #[snapshot(skip)]
    ranges: Option<Arc<StreamRanges>>,
    #[snapshot(skip)]
    page_size: u64,
}

impl PageStreams {
    pub(super) fn new(named: &StreamOrigin, page_size: u32, pages: u32) -> Self {
        let pages = if named.by_writes { pages as usize } else { 0 };
        let ranges = named.by_ranges.clone();
        Self { last: vec![NO_STREAM; pages], ranges, page_size: page_size.into() }
    }

    /// Returns `true` if pages may have streams.
    pub(super) fn are_named(&self) -> bool {
        !self.last.is_empty() || self.ranges.is_some()
    }

    /// Notes that the application writes `page` in `stream`.
    pub(super) fn note(&mut self, page: u32, stream: StreamId) {
        if let Some(last) = self.last.get_mut(page as usize) {
            *last = stream;
        }
    }

    /// Returns the stream of `page`, which leaves the cache now.
    pub(super) fn of(&self, page: u32) -> StreamId {
        self.by_address(u64::from(page) * self.page_size)
            .unwrap_or_else(|| self.last.get(page as usize).copied().unwrap_or(NO_STREAM))
    }

    /// Returns the stream that the ranges give to the page at `byte`; `None` outside all of them.
    pub(super) fn by_address(&self, byte: u64) -> Option<StreamId> {
        self.ranges.as_ref()?.of(byte / self.page_size * self.page_size)
    }
}
