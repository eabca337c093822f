//! The pages that requests lie on.

use std::ops::Range;

use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{FtlError, FtlErrorKind};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::ops::Kind;

/// The pages that the drive promises, and their size.
pub struct Shape {
    page_bytes: u32,
    logical_pages: u32,
}

impl Shape {
    pub fn new(page_bytes: u32, logical_pages: u32) -> Self {
        Self { page_bytes, logical_pages }
    }

    /// Returns this shape for a drive that promises `logical_pages`.
    pub fn with_pages(&self, logical_pages: u32) -> Self {
        Self { logical_pages, ..*self }
    }

    /// Returns the number of pages that the drive promises.
    pub fn pages(&self) -> u32 {
        self.logical_pages
    }

    /// Returns the pages that a request touches. A discard touches those that it covers, as parts
    /// of pages keep their data.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn pages_of(&self, request: &TimedRequest) -> Result<Range<u32>, FtlError> {
        let (begin, end) = (request.offset, request.end());
        let (first, last) = (self.page_of(begin), self.page_of(end.max(begin + 1) - 1));
        if last >= u64::from(self.logical_pages) {
            let page = u32::try_from(last).unwrap_or(u32::MAX);
            return Err(FtlErrorKind::OutOfRange { page, logical_pages: self.logical_pages }.into());
        }
        let (first, last) = (first as u32, last as u32);
        if request.op != Op::Trim {
            return Ok(first..last + 1);
        }
        let covers = |page| u32::from(self.covers(request, page));
        Ok(first + 1 - covers(first)..last + covers(last))
    }

    /// Returns the operation of a request on one of its pages.
    pub fn kind_of(&self, request: &TimedRequest, page: u32) -> Kind {
        match request.op {
            Op::Read => Kind::Read,
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => Kind::Trim,
            Op::Write if self.covers(request, page) => Kind::Write,
            Op::Write => Kind::Modify,
        }
    }

    /// Returns the request for `op` on a whole page.
    pub fn request_on(&self, op: Op, page: u32) -> TimedRequest {
        let offset = u64::from(page) * u64::from(self.page_bytes);
        TimedRequest {
            arrival_ns: 0,
            offset,
            bytes: self.page_bytes,
            op,
            urgent: false,
            stream: NO_STREAM,
            goes_on: false,
        }
    }

    /// Returns the page of a byte.
    #[inline]
    pub fn page_of(&self, byte: u64) -> u64 {
        if self.page_bytes.is_power_of_two() {
            return byte >> self.page_bytes.trailing_zeros();
        }
        byte / u64::from(self.page_bytes)
    }

    /// Returns the bytes of `page` that are in a request which touches it, counted from its first.
    pub fn bytes_in(&self, request: &TimedRequest, page: u32) -> Range<u32> {
        let bytes = u64::from(self.page_bytes);
        let first = u64::from(page) * bytes;
        let begin = request.offset.saturating_sub(first);
        let end = (request.end() - first).min(bytes);
        begin as u32..end as u32
    }

    /// Returns the number of bytes of a page beside `bytes`.
    pub fn missing(&self, bytes: &Range<u32>) -> u32 {
        self.page_bytes - (bytes.end - bytes.start)
    }

    /// Returns `true` if all of `page` is in a request.
    fn covers(&self, request: &TimedRequest, page: u32) -> bool {
        let bytes = u64::from(self.page_bytes);
        let first = u64::from(page) * bytes;
        first >= request.offset && first + bytes <= request.end()
    }
}
