//! A host on the clock of a drive: the application's commands and the drive's time in, commands for
//! the drive out. The drive alone knows their times. Before that clock starts the host has the
//! clock of requests, so that a drive can be brought into the state that it has behind this cache.

use flashgc_base::snapshot::State;
use flashgc_base::state;

use flashgc_workload::Op;

use super::hints::HintsSpec;
use super::outlet::Leaving;
use super::{HostCounts, Served};

/// A cache and its hints before a drive with a clock. See the module's text.
pub struct ClockedHost {
    served: Served,
    /// Time from one request to the next before the clock starts.
    gap_ns: u64,
    now_ns: u64,
    memory_ns: u64,
    hints: HintsSpec,
}

impl State for ClockedHost {
    state! {
        named: "host";
        values: now_ns;
        states: served;
        fixed: gap_ns, memory_ns, hints;
    }
}

impl ClockedHost {
    pub(super) fn new(served: Served, gap_ns: u64, memory_ns: u64, hints: &HintsSpec) -> Self {
        Self { served, gap_ns, now_ns: 0, memory_ns, hints: hints.clone() }
    }

    /// The application's command before the clock starts, on that of requests. What is dirty is not
    /// measured yet.
    pub fn request_before(&mut self, op: Op, page: u32) {
        self.served.request_after(self.gap_ns, op, page);
    }

    /// The clock starts at 0. For the cache time goes on: dirty pages stay so, and keep their age.
    pub fn start(&mut self) {
        self.served.cache.start_clock();
    }

    /// The time is `now_ns`, never less than before. Commands due by themselves may leave.
    pub fn advance(&mut self, now_ns: u64) {
        let ns = now_ns - self.now_ns;
        self.served.measure(ns);
        self.served.cache.advance(ns, &mut self.served.outlet);
        self.now_ns = now_ns;
    }

    /// When something comes due by itself; `None` if nothing does.
    pub fn next_look(&self) -> Option<u64> {
        Some(self.now_ns + self.served.cache.next_look()?)
    }

    /// The application's command: the commands that it waits for leave.
    pub fn request(&mut self, op: Op, page: u32) {
        self.served.request(op, page);
    }

    /// Lets one page leave that is written at leisure; whether there was one.
    pub fn flush_next(&mut self) -> bool {
        self.served.cache.flush_next(&mut self.served.outlet)
    }

    /// The next that leaves for the drive.
    pub fn next_leaving(&mut self) -> Option<Leaving> {
        self.served.outlet.next()
    }

    /// The counts so far.
    pub fn counts(&self) -> HostCounts {
        self.served.counts()
    }

    /// The time of memory for a request.
    pub fn memory_ns(&self) -> u64 {
        self.memory_ns
    }

    /// How the drive is told.
    pub fn hints(&self) -> &HintsSpec {
        &self.hints
    }
}
