//! Requests whose generators give them sizes: any ranges of bytes, which may begin and end inside a
//! page.
//!
//! The generator draws the boundary where a request begins: boundary `n` is byte `n * align`. Then
//! its size is drawn. If the request would go beyond the end of the generator's part of the drive,
//! another size is drawn.

use std::ops::Range;

use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::{SpecError, count};
use flashgc_base::stream::{NO_STREAM, StreamId};

use super::commands::{Part, Source};
use super::sized::MAX_LEN;
use super::sizes::{SizeDraws, Sizes};
use crate::trace::{PagingOptions, Request};
use crate::{Batch, Op, Workload, WorkloadError};

/// The places where the requests of a generator may begin, and their sizes.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub sizes: Sizes,
    /// Requests begin at multiples of this number of bytes.
    pub align: u32,
    /// The bytes of the generator's part of the drive.
    pub bytes: Range<u64>,
    /// `true` if a request begins where the last one ended.
    pub follows: bool,
}

impl Extent {
    /// Returns the numbers of the boundaries at which a request of the smallest size fits. If a
    /// request follows the last one, the only number is 0, and it means nothing.
    ///
    /// It is an error if no request fits, or if there are more boundaries than can be drawn from.
    pub fn boundaries(&self) -> Result<Range<u32>, SpecError> {
        let (align, least) = (u64::from(self.align), u64::from(self.sizes.least()));
        let first = self.bytes.start.div_ceil(align);
        let last = self.bytes.end.checked_sub(least).map(|byte| byte / align);
        let Some(last) = last.filter(|&last| last >= first) else {
            return Err(SpecError::new(
                format!(
                    "no request of {} that begins at a multiple of {} fits in {}",
                    count(least, "byte"),
                    count(align, "byte"),
                    count(self.bytes.end - self.bytes.start, "byte")
                ),
                "a smaller size or align, set from and to further apart, or use a larger drive",
            ));
        };
        if self.follows {
            return Ok(0..1);
        }
        match u32::try_from(last + 1) {
            Ok(end) => Ok(first as u32..end),
            Err(_) => Err(SpecError::new(
                format!(
                    "{} where a request may begin are too many to draw from, expected at most 2^32 - 1",
                    count(last + 1, "place")
                ),
                "a larger align, or a smaller drive",
            )),
        }
    }
}

/// A generator with its sizes.
#[derive(State)]
struct Place {
    #[snapshot(state)]
    sizes: SizeDraws,
    #[snapshot(skip)]
    extent: Extent,
    /// The first byte after the last request.
    end: u64,
}

impl Place {
    /// Draws a request that begins at boundary number `boundary`, or behind the last request.
    fn request(&mut self, boundary: u32) -> (u64, u32) {
        let Extent { align, bytes, follows, sizes } = &self.extent;
        let align = u64::from(*align);
        let offset = match follows {
            false => u64::from(boundary) * align,
            true => {
                let next = self.end.next_multiple_of(align);
                let fits = next + u64::from(sizes.least()) <= bytes.end;
                if fits { next } else { bytes.start.next_multiple_of(align) }
            }
        };
        let size = self.sizes.next(bytes.end - offset);
        self.end = offset + u64::from(size);
        (offset, size)
    }
}

/// An endless sequence of requests with sizes. TRIMs that cover no whole page discard nothing and
/// are left out.
#[derive(State)]
#[snapshot(named = "requests with sizes")]
pub struct Extents {
    #[snapshot(state)]
    source: Source,
    #[snapshot(state)]
    places: Vec<Place>,
    #[snapshot(skip)]
    paging: PagingOptions,
}

impl Extents {
    /// Makes the requests of `parts`, each with its extent and the draws of its sizes. Pages have
    /// `page_size` bytes, a power of two.
    pub(super) fn new(
        parts: Vec<(Part, Extent, SizeDraws)>,
        choices: super::bulk::Bulk,
        page_size: u32,
    ) -> Self {
        let (mut sources, mut places) = (Vec::new(), Vec::new());
        for (part, extent, sizes) in parts {
            sources.push(part);
            let end = extent.bytes.start;
            places.push(Place { sizes, extent, end });
        }
        let paging = PagingOptions { page_size: page_size.into(), ..PagingOptions::default() };
        Self { source: Source::new(sources, choices), places, paging }
    }

    /// Makes the next request. It has no time.
    pub fn next_request(&mut self) -> Request {
        loop {
            let (part, boundary, op, stream) = self.source.one();
            let (offset, size) = self.places[part].request(boundary);
            let (offset, size) = (offset as i64, size.into());
            let request = Request { offset, size, op, stream, ..Request::default() };
            if op != Op::Trim || self.paging.pages(&request).count > 0 {
                return request;
            }
        }
    }
}

/// Requests with sizes as page commands. A page that a write covers in part is written short.
#[derive(State)]
#[snapshot(named = "requests cut into pages", then = check)]
pub(super) struct Cut {
    #[snapshot(state)]
    requests: Extents,
    /// The current request: its next page and its number of pages left.
    next: u32,
    left: u32,
    /// `true` if some of its pages were handed out.
    is_begun: bool,
    /// The bytes that the request leaves unchanged in its first and in its last page; in a single
    /// page all of them are in the first number.
    missing: (u32, u32),
    op: Op,
    stream: StreamId,
}

impl Cut {
    pub fn new(requests: Extents) -> Self {
        let (op, stream) = (Op::Write, NO_STREAM);
        Self { requests, next: 0, left: 0, is_begun: false, missing: (0, 0), op, stream }
    }

    fn check(&self) -> Result<(), Fault> {
        match self.next.checked_add(self.left) {
            Some(_) => Ok(()),
            None => Err(Fault::new("a request has pages that no drive has")),
        }
    }

    /// Makes the next request the current one.
    fn begin(&mut self) {
        let request = self.requests.next_request();
        let pages = self.requests.paging.pages(&request);
        let (before, after) = self.requests.paging.missing(&request);
        (self.next, self.left, self.is_begun) = (pages.first as u32, pages.count as u32, false);
        self.missing = if self.left == 1 { (before + after, 0) } else { (before, after) };
        (self.op, self.stream) = (request.op, request.stream);
    }

    /// Hands out pages of the current request, as many as `batch` has room for.
    fn go_on(&mut self, batch: &mut Batch, len: usize) {
        let first = batch.pages.len() as u32;
        let pages = self.left.min(len as u32 - first);
        batch.extend(self.op, self.stream, self.next..self.next + pages);
        let (before, after) = self.missing;
        if !self.is_begun && before > 0 {
            batch.short.push((first, before));
        }
        if pages == self.left && after > 0 {
            batch.short.push((first + pages - 1, after));
        }
        if batch.wants_joints {
            batch.joints.extend(first + u32::from(!self.is_begun)..first + pages);
        }
        (self.next, self.left, self.is_begun) = (self.next + pages, self.left - pages, true);
    }
}

impl Workload for Cut {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        let len = limit.min(MAX_LEN);
        while batch.pages.len() < len {
            if self.left == 0 {
                self.begin();
            }
            self.go_on(batch, len);
        }
        Ok(())
    }
}
