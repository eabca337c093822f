//! The streams of pages: which stream each page's data belong to, and what every stream costs.
//!
//! They are kept if the workload has streams, whether the placement uses them or not.

use flashgc_base::snapshot::{Fault, State};
use flashgc_base::stream::{MOST_STREAMS, NO_STREAM, StreamId, named};

use crate::counters::{StreamCounts, StreamTotals};
use flashgc_base::table::bytes_of;

/// The most pages whose streams are noted in one call.
const MOST_AT_ONCE: usize = 256;

/// The stream of every page's data and of its next write, and the counts of every stream.
#[derive(State)]
#[snapshot(then = check)]
pub(crate) struct Streams {
    #[snapshot(table)]
    of: Vec<StreamId>,
    #[snapshot(table)]
    next: Vec<StreamId>,
    totals: StreamTotals,
}

impl Streams {
    /// The streams of a drive with `pages` logical pages. Its first contents have no stream.
    pub(crate) fn new(pages: u32) -> Self {
        let none = vec![NO_STREAM; pages as usize];
        Self { of: none.clone(), next: none, totals: StreamTotals::default() }
    }

    /// Bytes that the streams of `pages` logical pages take.
    pub(crate) fn bytes(pages: u32) -> u64 {
        2 * bytes_of::<StreamId>(pages as usize) + bytes_of::<StreamCounts>(MOST_STREAMS + 1)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.totals.streams.len() == MOST_STREAMS + 1 {
            return Ok(());
        }
        Err(Fault::new("the counts of streams are not one a stream"))
    }

    /// The stream of the next write of `page`.
    #[inline]
    pub(crate) fn next(&self, page: u32) -> Option<StreamId> {
        named(self.next[page as usize])
    }

    /// The host has written `page`: the stream of that write becomes the stream of its data.
    #[inline]
    pub(crate) fn wrote(&mut self, page: u32) {
        let stream = self.next[page as usize];
        self.of[page as usize] = stream;
        self.totals.streams[usize::from(stream)].host_pages += 1;
    }

    /// Collections have copied `pages`.
    #[inline]
    pub(crate) fn copied(&mut self, pages: &[u32]) {
        for &page in pages {
            let stream = self.of[page as usize];
            self.totals.streams[usize::from(stream)].copied_pages += 1;
        }
    }

    /// A block with `valid` valid pages was picked.
    pub(crate) fn collected(&mut self, valid: u32) {
        self.totals.moved_blocks += u64::from(valid > 0);
    }

    /// `pages` were written to a reclaim group that the host has not named.
    pub(crate) fn left_group(&mut self, pages: u64) {
        self.totals.outside_group += pages;
    }

    pub(crate) fn totals(&self) -> &StreamTotals {
        &self.totals
    }

    /// Notes the stream of the next write of each page, as
    /// [`TakesStreams::name`](crate::TakesStreams::name) describes.
    pub(crate) fn name(&mut self, pages: &[u32], streams: &[StreamId]) -> usize {
        if streams.is_empty() {
            pages.iter().for_each(|&page| self.next[page as usize] = NO_STREAM);
            return pages.len();
        }
        // Each page is searched for among those before it, because a page may come twice.
        let pages = &pages[..pages.len().min(MOST_AT_ONCE)];
        for (index, (&page, &stream)) in pages.iter().zip(streams).enumerate() {
            let next = &mut self.next[page as usize];
            if *next != stream {
                if pages[..index].contains(&page) {
                    return index;
                }
                *next = stream;
            }
        }
        pages.len()
    }

    /// The stream of the data of `page`.
    pub(crate) fn of(&self, page: u32) -> StreamId {
        self.of.get(page as usize).copied().unwrap_or(NO_STREAM)
    }

    /// Sets the stream of the data that each page has now.
    pub(crate) fn hold(&mut self, stream_of: &dyn Fn(u32) -> StreamId) {
        (0..).zip(&mut self.of).for_each(|(page, stream)| *stream = stream_of(page));
    }
}
