//! Requests that are pushed while a drive runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use flashgc_base::snapshot::State;
use flashgc_base::sync::lock;

use super::{RequestStream, TimedRequest};
use crate::WorkloadError;

/// A queue of requests. The thread that pushes requests shares it with the drive that takes them.
/// After the queue was empty, more requests may come.
#[derive(Clone, Debug, State)]
#[snapshot(refused = "requests that come while a drive runs are not saved")]
pub struct LiveRequests {
    pages: u32,
    has_streams: bool,
    queue: Arc<Mutex<VecDeque<TimedRequest>>>,
}

impl LiveRequests {
    /// Makes an empty queue of requests for a drive of `pages` logical pages.
    pub fn new(pages: u32) -> Self {
        Self { pages, has_streams: false, queue: Arc::default() }
    }

    /// Sets whether writes have streams.
    #[must_use]
    pub fn with_streams(self, has_streams: bool) -> Self {
        Self { has_streams, ..self }
    }

    /// Returns `true` if writes have streams.
    pub fn has_streams(&self) -> bool {
        self.has_streams
    }

    /// Returns the number of logical pages of the drive.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Adds a request. It may not arrive before earlier requests.
    pub fn push(&self, request: TimedRequest) {
        lock(&self.queue).push_back(request);
    }
}

impl RequestStream for LiveRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        let mut queue = lock(&self.queue);
        let count = limit.min(queue.len());
        batch.clear();
        batch.extend(queue.drain(..count));
        Ok(())
    }
}
