//! Follows Linux's page cache. It finds the pages of a block device that will soon be overwritten,
//! because the page cache has newer, dirty data for them.
//!
//! # Source of the events
//! The kernel's tracepoints name addresses on the device, so no files or extents need be looked up.
//!
//! | a page | ext4 | xfs |
//! |---|---|---|
//! | becomes dirty | `block_dirty_buffer`: data and metadata | `iomap_iter` and its map: data |
//! | is handed to the drive to write or discard | `block_bio_queue` | the same |
//! | has reached the drive | `block_rq_complete` | the same |
//! | is freed: it will not be written | `ext4_free_blocks` | `xfs_free_extent` |
//!
//! Programs can also write to the device file of a device without a file system. Its events are
//! those of ext4 without the last one.
//!
//! A page counts as dirty while any of its sectors is dirty. Sectors matter if blocks of the file
//! system are smaller than a page: then one part of a page may be written while another part is
//! dirty.
//!
//! # Blocks without an address
//! With delayed allocation (appends, holes, copies of shared extents on xfs), dirty pages have no
//! place on the device yet, and so no old copy there. They are counted but not reported. Unwritten
//! extents have a place, and are followed.
//!
//! # Pages that are missed
//! - Metadata of xfs, whose buffers are not in the page cache. Metadata of ext4 until the commit of
//!   their transaction, since they become dirty in the page cache only then.
//! - On ext4 mounted with `nodelalloc`: writes through `mmap` to blocks that have a place.
//! - Dirty pages that `fallocate` turns into zeroes without freeing them (`ZERO_RANGE`): they stay
//!   in the set until they are written, freed or discarded.
//! - A page that becomes dirty again in the microseconds between the moment at which the kernel
//!   marks it clean and the moment at which its write is handed to the drive. It is noticed the
//!   next time it becomes dirty.
//! - Events of a CPU that comes online later.
//! - A write to xfs that fails half-way (an unreadable buffer): all its pages count as dirty.
//!
//! After lost events the set may differ from the kernel's. So it is emptied, and only pages that
//! become dirty later are known.

mod device;
mod dirty;
mod events;
mod threads;

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

pub use device::FileSystem;
use device::Place;
use dirty::Dirty;
use events::{Event, Events};
use threads::Threads;

pub use crate::pages::{Changes, PAGE};
use crate::pages::{Run, runs};
use crate::tracing::Rings;
pub use crate::tracing::{FollowError, RING_BYTES};

/// Counters since the follower was opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DirtyCounts {
    /// The number of events that were read.
    pub events: u64,
    /// The number of events that the kernel dropped, because a ring was full.
    pub lost: u64,
    /// The bytes that were read from the rings.
    pub bytes: u64,
    /// The number of events for blocks without a place on the device.
    pub without_address: u64,
    /// The number of pages that are dirty now.
    pub dirty: u64,
    /// The number of pages reported as dirty. A page counts each time that it is reported.
    pub hinted: u64,
    /// The number of dirty pages that a write or a discard made clean.
    pub ended: u64,
    /// The number of pages reported as cancelled.
    pub cancelled: u64,
}

/// Follows the dirty pages of one device.
pub struct DirtyFollower {
    events: Events,
    rings: Rings<Event>,
    known: Known,
}

/// The dirty pages according to the events so far, and the counters.
struct Known {
    threads: Threads,
    dirty: Dirty,
    counts: DirtyCounts,
}

impl DirtyFollower {
    /// Follows the block device at `device`, on which a file system is mounted. Each ring has
    /// `ring_bytes` bytes, rounded up to a power of two; [`RING_BYTES`] is usual.
    ///
    /// # Errors
    /// [`FollowError`] if the device is not a whole block device, holds another file system, or the
    /// kernel does not report its events.
    pub fn open(device: &Path, kind: FileSystem, ring_bytes: usize) -> Result<Self, FollowError> {
        let place = Place::of(device, kind)?;
        let events = Events::new(kind, &place)?;
        let rings = Rings::open(&events.subscriptions(place.number), ring_bytes)?;
        Ok(Self { events, rings, known: Known::new(place.pages, place.block_bytes) })
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and returns what
    /// changed.
    ///
    /// If a page was written and became dirty again since the last poll, it is reported by the next
    /// poll, not by this one. The moment of this poll's hints lies before the write, so the drive
    /// would take such a hint as late.
    ///
    /// # Errors
    /// [`FollowError::Io`] if waiting for the rings fails.
    pub fn poll(&mut self, timeout: Duration) -> Result<Changes, FollowError> {
        self.rings.wait(timeout)?;
        let events = self.rings.drain(&self.events, &mut self.known.counts.bytes);
        Ok(self.known.changes(events))
    }

    /// Returns the runs of pages that are dirty now.
    pub fn dirty(&self) -> Vec<Run> {
        in_runs(self.known.dirty.pages())
    }

    /// Returns the counters since [`DirtyFollower::open`].
    pub fn counts(&self) -> DirtyCounts {
        DirtyCounts { dirty: self.known.dirty.count(), ..self.known.counts }
    }
}

impl Known {
    fn new(pages: u32, block_bytes: u64) -> Self {
        Self {
            threads: Threads::new(block_bytes),
            dirty: Dirty::new(pages),
            counts: DirtyCounts::default(),
        }
    }

    /// Processes the events of one poll, and returns the pages to report.
    fn changes(&mut self, events: Vec<Event>) -> Changes {
        let (mut dirtied, mut cancelled) = (Vec::new(), Vec::new());
        for event in events {
            self.take(event, &mut dirtied);
        }
        self.dirty.changes(&mut dirtied, &mut cancelled);
        self.counts.hinted += dirtied.len() as u64;
        self.counts.cancelled += cancelled.len() as u64;
        let [dirtied, cancelled] = [dirtied, cancelled].map(in_runs);
        Changes { dirtied, cancelled }
    }

    fn take(&mut self, event: Event, dirtied: &mut Vec<u32>) {
        self.counts.events += u64::from(!matches!(event, Event::Lost(_)));
        match event {
            Event::Lost(events) => {
                self.counts.lost += events;
                self.dirty.forget(dirtied);
                self.threads.forget();
            }
            Event::Dirtied(bytes) => self.dirtied(bytes),
            Event::Queued(bytes) => self.counts.ended += self.dirty.queued(bytes),
            Event::Written(bytes) => self.dirty.written(bytes),
            Event::Freed(bytes) => self.dirty.freed(bytes),
            Event::Write { thread, offset, count } => self.threads.writes(thread, offset, count),
            Event::Step(step) => {
                if let Some(bytes) = self.threads.steps(step) {
                    self.dirtied(bytes);
                }
            }
            Event::Map(map) => {
                if let Some(bytes) = self.threads.maps(map) {
                    self.dirtied(bytes);
                }
            }
        }
    }

    fn dirtied(&mut self, bytes: Range<u64>) {
        self.counts.without_address += u64::from(!self.dirty.dirtied(bytes));
    }
}

fn in_runs(pages: Vec<u32>) -> Vec<Run> {
    runs(pages.into_iter().map(u64::from))
}

#[cfg(test)]
mod tests {
    use super::threads::{Map, Step, Work};
    use super::*;

    fn page(number: u64) -> Range<u64> {
        number * PAGE..(number + 1) * PAGE
    }

    #[test]
    fn each_event_of_a_poll_changes_what_is_known_and_is_counted_once() {
        let mut known = Known::new(8, PAGE);
        // The last page has no place on the device.
        let four = [page(1), page(2), page(5), page(100)].map(Event::Dirtied);
        let changes = known.changes(four.into());
        assert_eq!(changes.dirtied, in_runs(vec![1, 2, 5]));
        assert_eq!(changes.cancelled, []);
        // Page 1 is written, page 5 freed.
        let events = vec![Event::Queued(page(1)), Event::Written(page(1)), Event::Freed(page(5))];
        let changes = known.changes(events);
        assert_eq!((changes.dirtied, changes.cancelled), (vec![], in_runs(vec![5])));
        assert_eq!(known.dirty.pages(), [2]);
        let expected = DirtyCounts {
            events: 7,
            without_address: 1,
            hinted: 3,
            ended: 1,
            cancelled: 1,
            ..DirtyCounts::default()
        };
        assert_eq!(known.counts, expected);
    }

    #[test]
    fn pages_of_a_write_to_xfs_are_known_once_its_extent_is() {
        let mut known = Known::new(8, PAGE);
        let step = Step { thread: 9, position: 0, work: Work::Write };
        let map =
            Map { thread: 9, address: 3 * PAGE, offset: 0, length: 8 * PAGE, is_written: true };
        let write = Event::Write { thread: 9, offset: 0, count: 2 * PAGE };
        let changes = known.changes(vec![write, Event::Step(step), Event::Map(map)]);
        assert_eq!(changes.dirtied, in_runs(vec![3, 4]));
        // A fault makes a page dirty when the next step arrives: here only page 6 of the device.
        let fault = |position| Event::Step(Step { thread: 9, position, work: Work::Fault });
        let changes = known.changes(vec![fault(3 * PAGE), Event::Map(map), fault(4 * PAGE)]);
        assert_eq!(changes.dirtied, in_runs(vec![6]));
    }

    #[test]
    fn lost_events_make_everything_unknown_and_are_no_events() {
        let mut known = Known::new(8, PAGE);
        let write = Event::Write { thread: 9, offset: 0, count: PAGE };
        known.changes(vec![Event::Dirtied(page(1)), write]);
        let step = Step { thread: 9, position: 0, work: Work::Write };
        let map = Map { thread: 9, address: 0, offset: 0, length: PAGE, is_written: true };
        let changes = known.changes(vec![Event::Lost(5), Event::Step(step), Event::Map(map)]);
        assert_eq!(changes.dirtied, [], "the write is forgotten too");
        assert_eq!((known.counts.events, known.counts.lost, known.dirty.count()), (4, 5, 0));
    }
}
