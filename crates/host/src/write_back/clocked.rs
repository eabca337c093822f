//! A host on the clock of a drive. It takes the application's commands and the drive's time, and
//! returns commands for the drive. Only the drive knows when its commands are executed.
//!
//! During the warm-up the drive's clock does not run yet. The host then counts a fixed time for
//! each request, so that the warm-up brings the drive into the state that it has behind this cache.

use flashgc_base::snapshot::State;
use flashgc_base::stream::StreamId;

use flashgc_workload::Op;

use super::hints::HintsSpec;
use super::outlet::Leaving;
use super::{CachedHost, HostCounts, HostWaits};

/// A cache and its hints in front of a drive with a clock. See the module's text.
#[derive(State)]
#[snapshot(named = "host")]
pub struct ClockedHost {
    #[snapshot(state)]
    served: CachedHost,
    /// The time from one request to the next before the drive's clock starts, in nanoseconds.
    #[snapshot(skip)]
    gap_ns: u64,
    now_ns: u64,
    #[snapshot(skip)]
    memory_ns: u64,
    #[snapshot(skip)]
    hints: HintsSpec,
}

impl ClockedHost {
    pub(super) fn new(served: CachedHost, gap_ns: u64, memory_ns: u64, hints: &HintsSpec) -> Self {
        Self { served, gap_ns, now_ns: 0, memory_ns, hints: hints.clone() }
    }

    /// Takes a command of the application, with its stream, before the drive's clock starts. Each
    /// command takes the same time. Dirty pages are not measured yet.
    pub fn request_before(&mut self, op: Op, page: u32, stream: StreamId) {
        self.served.request_after(self.gap_ns, op, page, stream);
    }

    /// Writes all dirty pages to the drive, if the cache is to start clean. Call it before
    /// [`ClockedHost::start`].
    pub fn rest(&mut self) {
        self.served.cache.rest(&mut self.served.outlet);
    }

    /// Starts the drive's clock at 0. The cache's own time goes on: dirty pages stay dirty and keep
    /// their age.
    pub fn start(&mut self) {
        self.served.cache.start_clock();
    }

    /// Sets the time to `now_ns`, which must not be less than before. Writes that the cache does at
    /// fixed times may leave for the drive.
    pub fn advance(&mut self, now_ns: u64) {
        let ns = now_ns - self.now_ns;
        self.served.measure(ns);
        self.served.cache.advance(ns, &mut self.served.outlet);
        self.now_ns = now_ns;
    }

    /// Returns the time of the next round in which the cache may write dirty pages, in nanoseconds,
    /// or `None` if it has no rounds.
    pub fn next_look(&self) -> Option<u64> {
        Some(self.now_ns + self.served.cache.next_look()?)
    }

    /// Takes a command of the application, with its stream. The commands of the cache that it waits
    /// for leave for the drive.
    pub fn request(&mut self, op: Op, page: u32, stream: StreamId) {
        self.served.request(op, page, stream);
    }

    /// Sends to the drive one page that is due in the background. Returns `true` if there was such
    /// a page.
    pub fn flush_next(&mut self) -> bool {
        self.served.cache.flush_next(&mut self.served.outlet)
    }

    /// Takes the next item that leaves for the drive.
    pub fn next_leaving(&mut self) -> Option<Leaving> {
        self.served.outlet.next()
    }

    /// Returns the stream of a request of the application that begins at `byte` and names `stream`.
    pub fn stream_at(&self, byte: u64, stream: StreamId) -> StreamId {
        self.served.outlet.streams.by_address(byte).unwrap_or(stream)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> HostCounts {
        self.served.counts()
    }

    /// Takes the clean page that was evicted for the last request, if the cache waits for writes.
    /// Such a request waits until every write of that page is done.
    pub fn take_room(&mut self) -> Option<u32> {
        self.served.outlet.made_room.take()
    }

    /// Returns `true` if an update of a page waits for a write of that page that is under way.
    pub fn waits_for_writes(&self) -> bool {
        self.served.cache.waits_for_writes()
    }

    /// Returns the waits so far. The drive adds to them, as only it knows when a command is done.
    pub fn waits(&mut self) -> &mut HostWaits {
        &mut self.served.counts.waits
    }

    /// Returns the time that memory takes for a request, in nanoseconds.
    pub fn memory_ns(&self) -> u64 {
        self.memory_ns
    }

    /// Returns the way of hinting.
    pub fn hints(&self) -> &HintsSpec {
        &self.hints
    }
}
