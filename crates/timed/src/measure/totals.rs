//! The counts of a timed drive.

use std::fmt;

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;

use serde::{Deserialize, Serialize};

use super::failures::FailureCounts;
use super::power::PowerCounts;

/// The counts of collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counts, Value)]
pub struct CollectionCounts {
    /// The victims picked.
    pub started: u64,
    /// The victims erased.
    #[counts(words = "")]
    pub ended: u64,
    /// The victims that gave way to the host at least once.
    pub preempted: u64,
    /// The page operations of the host served at preemption points.
    #[counts(words = "page operations served between their steps")]
    pub preemptions: u64,
    /// The reads served from the buffer of a page that was moved.
    #[counts(words = "reads merged")]
    pub merged_reads: u64,
    /// The writes programmed in place of a page that was moved.
    #[counts(words = "writes merged")]
    pub merged_writes: u64,
    /// The reads that overlapped with a read of a collection.
    #[counts(words = "reads pipelined")]
    pub pipelined_reads: u64,
    /// The writes that overlapped with a program of a collection.
    #[counts(words = "writes pipelined")]
    pub pipelined_writes: u64,
    /// The number of times that writes began to wait because their unit was below the hard threshold
    /// (state S2).
    #[counts(words = "times writes were held back")]
    pub entered_s2: u64,
    /// The number of times that an urgent write stopped preemption (state S3).
    #[counts(words = "times an urgent write stopped preemption")]
    pub entered_s3: u64,
    /// The writes that waited because no block was erased.
    #[counts(words = "writes starved")]
    pub starved: u64,
    /// The victims picked by idle dies.
    #[counts(words = "by idle dies")]
    pub idle: u64,
}

/// The counts of operations on several planes of a die that went together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Joined {
    /// The pages of the map that were programmed together with those of another plane.
    pub units: u64,
    /// The flash pages that collections read together with one of another plane.
    pub reads: u64,
    /// The blocks that were erased together with one of another plane.
    pub erases: u64,
}

/// The counts of an SLC region.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Counts, Value)]
pub struct SlcCounts {
    /// The pages that the host wrote into the region.
    #[counts(words = "pages written")]
    pub host_pages: u64,
    /// The pages that the host wrote to normal blocks.
    #[counts(words = "directly to normal blocks")]
    pub direct_pages: u64,
    /// The pages copied from the region to normal blocks; they are among the copied pages of the drive.
    #[counts(words = "pages folded")]
    pub folded_pages: u64,
    /// The blocks folded; they are among the collections.
    #[counts(words = "blocks folded")]
    pub folds: u64,
    /// The number of folds that idle dies began.
    #[counts(words = "by idle dies")]
    pub idle_folds: u64,
    /// The pages that the host read from the cells of the region.
    #[counts(words = "pages read")]
    pub reads: u64,
    /// The pages programmed in normal blocks: pages of the host, of folds and of other collections.
    /// Those of the region are the pages that the host wrote into it.
    #[counts(words = "")]
    pub normal_pages: u64,
    /// The erases of blocks in SLC mode.
    #[counts(words = "")]
    pub erases: u64,
    /// The erases of blocks in normal mode.
    #[counts(words = "")]
    pub normal_erases: u64,
}

/// Leaves out the counts that follow from others and from those of the drive, because results have a
/// digest of this text.
impl fmt::Debug for SlcCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlcCounts")
            .field("host_pages", &self.host_pages)
            .field("direct_pages", &self.direct_pages)
            .field("folded_pages", &self.folded_pages)
            .field("folds", &self.folds)
            .field("idle_folds", &self.idle_folds)
            .field("reads", &self.reads)
            .finish()
    }
}

/// The counts of a timed drive since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Value)]
pub struct Totals {
    /// The number of requests that arrived.
    pub arrived: u64,
    /// The number of requests completed.
    pub completed: u64,
    /// The number of pages read by the host, including pages without data.
    pub pages_read: u64,
    /// The number of pages written by the host, including those merged in the write cache.
    pub pages_written: u64,
    /// The number of pages written in part. Each needs a read and a program.
    pub pages_modified: u64,
    /// The number of reads and writes of the host that the write cache served, as their page was
    /// in it.
    pub cache_hits: u64,
    /// The number of programs suspended.
    pub suspended_programs: u64,
    /// The number of erases suspended.
    pub suspended_erases: u64,
    /// The counts of operations that went together with those on another plane.
    pub joined: Joined,
    /// The number of writes of the host that had to wait for a place in the write cache.
    pub cache_waits: u64,
    /// The number of pages in the write cache now.
    pub cached_pages: u64,
    /// The counts of collections.
    pub collections: CollectionCounts,
    /// The counts of the SLC region; `None` without one.
    pub slc: Option<SlcCounts>,
    /// The time for which each channel's bus was in use, in nanoseconds.
    pub bus_busy_ns: Vec<u64>,
    /// The time for which each die was in use, in nanoseconds: its cells worked, or it transferred
    /// data or waited for the bus or for power.
    pub die_busy_ns: Vec<u64>,
    /// The time for which collections held each die, in nanoseconds.
    pub die_collecting_ns: Vec<u64>,
    /// The counts of power; 0 if it suffices for all dies.
    pub power: PowerCounts,
    /// The counts of reads that fail; 0 if none can.
    pub failures: FailureCounts,
    /// The sum over all nanoseconds of the number of requests between arrival and completion.
    /// Divided by the time, it is L of Little's law.
    pub request_ns: u128,
    /// The time at which the last request arrived, in nanoseconds.
    pub last_arrival_ns: u64,
    /// The number of requests in the system just after the last arrival.
    pub at_last_arrival: u64,
}

impl Totals {
    /// Adds the counts of a part of the drive. Its buses and dies are put after those of earlier
    /// parts. Of the counts of requests, only `request_ns` is added.
    pub(crate) fn add_part(&mut self, part: &Self) {
        let Self {
            arrived: _,
            completed: _,
            pages_read,
            pages_written,
            pages_modified,
            cache_hits,
            suspended_programs,
            suspended_erases,
            joined,
            cache_waits,
            cached_pages,
            collections,
            slc,
            bus_busy_ns,
            die_busy_ns,
            die_collecting_ns,
            power,
            failures,
            request_ns,
            last_arrival_ns: _,
            at_last_arrival: _,
        } = part;
        debug_assert!(slc.is_none(), "parts of a drive have no SLC region");
        debug_assert!(*power == PowerCounts::default(), "parts of a drive have no limit of power");
        debug_assert!(*failures == FailureCounts::default(), "parts of a drive have no stripes");
        self.pages_read += pages_read;
        self.pages_written += pages_written;
        self.pages_modified += pages_modified;
        self.cache_hits += cache_hits;
        self.suspended_programs += suspended_programs;
        self.suspended_erases += suspended_erases;
        self.joined = self.joined.plus(joined);
        self.cache_waits += cache_waits;
        self.cached_pages += cached_pages;
        self.collections = self.collections.plus(collections);
        self.bus_busy_ns.extend(bus_busy_ns);
        self.die_busy_ns.extend(die_busy_ns);
        self.die_collecting_ns.extend(die_collecting_ns);
        self.request_ns += request_ns;
    }
}
