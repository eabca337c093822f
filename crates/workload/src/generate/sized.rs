//! Requests that differ in size from a page: smaller ones, of which several fit on a page, and
//! larger ones of several pages.
//!
//! The generator draws *slots* with the size of a request instead of pages. Requests with the size
//! of a page need none of this.

use std::ops::Range;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::{SpecError, count};
use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::{Batch, Op, Workload, WorkloadError};

/// The largest number of commands in a batch, for any limit.
pub(super) const MAX_LEN: usize = 1 << 19;

/// The relation of a generator's request size to the page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// A request has the size of a page.
    Page,
    /// The number of requests that fit on a page.
    Part(u32),
    /// The number of pages in a request.
    Pages(u32),
}

impl Fit {
    /// Compares the two sizes in bytes. It is an error if a request is neither a divisor nor a
    /// multiple of a page.
    pub fn new(page_size: u32, request_size: u32) -> Result<Self, SpecError> {
        match (page_size, request_size) {
            (page, request) if page == request => Ok(Self::Page),
            (page, request) if request > 0 && page % request == 0 => Ok(Self::Part(page / request)),
            (page, request) if page > 0 && request > 0 && request % page == 0 => {
                Ok(Self::Pages(request / page))
            }
            _ => Err(SpecError::new(
                format!(
                    "{}: found {request_size} bytes, expected a divisor or a multiple of the page of \
                     {page_size} bytes",
                    subject("request_size")
                ),
                format!("{} is one page", choice("request_size", format!("{page_size}B"))),
            )),
        }
    }

    /// Returns the number of requests that fit side by side on `logical_pages` pages. Pages after
    /// the last whole request are never addressed.
    ///
    /// It is an error if there are none, or more than a generator can draw from.
    pub fn slots(self, logical_pages: u32) -> Result<u32, SpecError> {
        let pages = || count(logical_pages.into(), "page");
        match self {
            Self::Page => Ok(logical_pages),
            Self::Part(parts) => logical_pages.checked_mul(parts).ok_or_else(|| {
                SpecError::new(
                    format!(
                        "{parts} requests a page on {} are too many to draw from, expected at most \
                         2^32 - 1",
                        pages()
                    ),
                    format!("a larger {}, or fewer {}", option("request_size"), option("blocks")),
                )
            }),
            Self::Pages(size) if size > logical_pages && logical_pages > 0 => Err(SpecError::new(
                format!("found requests of {size} pages on a drive of {}", pages()),
                format!("a smaller {}, or more {}", option("request_size"), option("blocks")),
            )),
            Self::Pages(size) => Ok(logical_pages / size),
        }
    }

    /// Returns the slots that lie completely on `pages`. [`slots`](Self::slots) must accept
    /// `pages.end` pages.
    pub fn places(self, pages: Range<u32>) -> Range<u32> {
        match self {
            Self::Page => pages,
            Self::Part(parts) => pages.start * parts..pages.end * parts,
            Self::Pages(size) => pages.start.div_ceil(size)..pages.end / size,
        }
    }
}

/// Requests that are parts of pages. The TRIM of a part of a page discards nothing and is left out.
#[derive(State)]
#[snapshot(named = "parts of pages")]
pub(super) struct Parts {
    #[snapshot(state)]
    slots: Box<dyn Workload>,
    /// The number of requests on a page.
    #[snapshot(skip)]
    parts: u32,
    /// The bytes of a page that a write leaves unchanged.
    #[snapshot(skip)]
    missing: u32,
}

impl Parts {
    /// Makes requests from the commands of `slots`. At least one command must not be a TRIM.
    pub fn new(slots: Box<dyn Workload>, parts: u32, request_size: u32) -> Self {
        Self { slots, parts, missing: (parts - 1) * request_size }
    }
}

impl Workload for Parts {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        while batch.pages.is_empty() && limit > 0 {
            self.slots.fill(batch, limit)?;
            if batch.pages.is_empty() {
                break;
            }
            leave_out_trims(batch);
        }
        batch.pages.iter_mut().for_each(|slot| *slot /= self.parts);
        let missing = self.missing;
        if batch.ops.is_empty() {
            batch.short.extend((0..batch.pages.len() as u32).map(|command| (command, missing)));
        } else {
            let writes = (0..).zip(&batch.ops).filter(|(_, op)| **op == Op::Write);
            batch.short.extend(writes.map(|(command, _)| (command, missing)));
        }
        Ok(())
    }
}

/// Leaves out the TRIMs of a generator's batch, which has neither hints nor flushes.
pub(crate) fn leave_out_trims(batch: &mut Batch) {
    if !batch.ops.contains(&Op::Trim) {
        return;
    }
    let mut ops = batch.ops.iter();
    batch.pages.retain(|_| ops.next() != Some(&Op::Trim));
    let mut ops = batch.ops.iter();
    batch.streams.retain(|_| ops.next() != Some(&Op::Trim));
    batch.ops.retain(|&op| op != Op::Trim);
}

/// Requests of several pages each. The pages of a request follow each other.
#[derive(State)]
#[snapshot(named = "requests of several pages", then = check)]
pub(super) struct Several {
    #[snapshot(state)]
    slots: Box<dyn Workload>,
    /// The number of pages of a request.
    #[snapshot(skip)]
    size: u32,
    /// The current request: its next page, its number of pages left, their operation and their
    /// stream.
    next: u32,
    left: u32,
    op: Op,
    stream: StreamId,
    #[snapshot(skip)]
    drawn: Batch,
}

impl Several {
    pub fn new(slots: Box<dyn Workload>, size: u32) -> Self {
        Self {
            slots,
            size,
            next: 0,
            left: 0,
            op: Op::Write,
            stream: NO_STREAM,
            drawn: Batch::default(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.left < self.size && self.next.checked_add(self.left).is_some() {
            return Ok(());
        }
        Err(Fault::new("more pages are left of a request than it has"))
    }

    /// Hands out pages of the current request, as many as `batch` has room for.
    fn go_on(&mut self, batch: &mut Batch, len: usize) {
        let pages = self.left.min((len - batch.pages.len()) as u32);
        if batch.wants_joints {
            let (first, is_begun) = (batch.pages.len() as u32, self.left < self.size);
            batch.joints.extend(first + u32::from(!is_begun)..first + pages);
        }
        batch.extend(self.op, self.stream, self.next..self.next + pages);
        self.next += pages;
        self.left -= pages;
    }
}

impl Workload for Several {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        let len = limit.min(MAX_LEN);
        self.go_on(batch, len);
        let requests = (len - batch.pages.len()).div_ceil(self.size as usize);
        let mut drawn = std::mem::take(&mut self.drawn);
        self.slots.fill(&mut drawn, requests)?;
        for (request, &slot) in drawn.pages.iter().enumerate() {
            (self.op, self.stream) = (drawn.op(request), drawn.stream(request));
            (self.next, self.left) = (slot * self.size, self.size);
            self.go_on(batch, len);
        }
        self.drawn = drawn;
        Ok(())
    }
}
