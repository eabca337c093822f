//! The workload of a drive whose channels are simulated one by one: its next requests, cut into parts.

use flashgc_ftl::FtlError;
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::desk::MOST_ALONE;
use super::split::Split;
use crate::timed::front::Shape;

/// Channels go on alone while more requests are made: so many jobs, to be shared by several threads.
pub const REFILLS: usize = 4;
/// Requests of such a job.
const BATCH: usize = MOST_ALONE as usize / REFILLS;

/// A part of a request, and its channel.
pub type Part = (u32, TimedRequest);

/// A request that is to arrive.
pub struct Coming {
    pub request: TimedRequest,
    /// What its only channel gets of it, where it has one.
    pub only: Option<Part>,
    /// The parts of one that has several; of none where there is a fault in it.
    pub parts: Vec<Part>,
}

/// See the module's text.
pub struct Source {
    pub(super) stream: Box<dyn RequestStream>,
    pub(super) split: Split,
    pub(super) shape: Shape,
    pub(super) next: Vec<Coming>,
    pub(super) batch: Vec<TimedRequest>,
    pub(super) is_over: bool,
    pub(super) failed: Option<WorkloadError>,
}

impl Source {
    pub fn new(stream: Box<dyn RequestStream>, split: Split, shape: Shape) -> Self {
        Self {
            stream,
            split,
            shape,
            next: Vec::new(),
            batch: Vec::new(),
            is_over: false,
            failed: None,
        }
    }

    /// Gets more requests, where fewer than enough wait.
    pub fn refill(&mut self) {
        if self.is_over || self.failed.is_some() || self.next.len() >= MOST_ALONE as usize {
            return;
        }
        match self.stream.fill(&mut self.batch, BATCH) {
            Ok(()) => {
                self.is_over = self.batch.is_empty();
                let (split, shape) = (&self.split, &self.shape);
                let coming = |request: &TimedRequest| Coming::new(*request, split, shape);
                self.next.extend(self.batch.iter().map(coming));
            }
            Err(error) => self.failed = Some(error),
        }
    }
}

impl Coming {
    /// A flush has nothing to wait for; any channel will do. A hint has no parts: nothing heeds it.
    #[inline]
    pub fn new(request: TimedRequest, split: &Split, shape: &Shape) -> Self {
        if request.op == Op::Flush {
            return Self { request, only: Some((0, request)), parts: Vec::new() };
        }
        let first = shape.page_of(request.offset);
        let last = shape.page_of(request.end().max(request.offset + 1) - 1);
        let is_in_range = last < u64::from(shape.pages()) && !request.op.is_hint();
        let is_one = is_in_range && first == last;
        let parts = match is_in_range && !is_one {
            true => split.parts(&request, shape),
            false => Vec::new(),
        };
        Self { request, only: is_one.then(|| split.whole(&request, last as u32)), parts }
    }

    /// Whether a part is all of it.
    #[inline]
    pub fn is_of_one(&self) -> bool {
        self.only.is_some() || self.parts.len() == 1 && self.parts[0].1.bytes == self.request.bytes
    }

    /// Its parts.
    #[inline]
    pub fn parts(&self) -> &[Part] {
        self.only.as_ref().map_or(&self.parts[..], std::slice::from_ref)
    }

    /// Whether the drive has its pages.
    ///
    /// # Errors
    /// A page that it does not have.
    pub fn check(&self, shape: &Shape) -> Result<(), FtlError> {
        if self.parts().is_empty() {
            shape.pages_of(&self.request)?;
            debug_assert!(self.request.op.is_hint(), "it has parts");
        }
        Ok(())
    }
}
