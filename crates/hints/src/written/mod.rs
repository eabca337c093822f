//! Counts the bytes that all programs write to a file system, including daemons, asynchronous I/O
//! and the kernel's own threads.
//!
//! # Source of the events
//! The tracepoints of the file system, for the device under it.
//!
//! | bytes | ext4 | xfs |
//! |---|---|---|
//! | written through the page cache | `ext4_da_write_end` and similar ones: bytes copied | `xfs_file_buffered_write`: bytes requested |
//! | written by direct I/O | `iomap_dio_complete` of a request whose first part writes: bytes written | the same |
//! | stored into a mapped page | `writeback_dirty_folio` without a write | `xfs_write_fault` |
//!
//! # Stored bytes
//! A program stores into a mapped page without a call to the kernel. The kernel notices only the
//! first store into a clean page, not later ones, and not their length. So the folios that become
//! dirty by stores are counted. The number of stored bytes has an upper bound: a folio has at most
//! 2 MiB, and it is not longer than its file. The length of a file is known if calls have written
//! the file.
//!
//! On ext4 a dirty folio is attributed to the last call of the thread, if that call wrote these
//! bytes of the file, or truncated, zeroed or allocated in the file. Otherwise it counts as dirtied
//! by a store. A store into a page that a call has just made dirty is not noticed.
//!
//! # What is not counted
//! Metadata are not counted: names, sizes, directories. On xfs a write through the page cache that
//! fails half-way counts with its full length.

mod calls;
mod events;

use std::path::Path;
use std::time::Duration;

use calls::Calls;
use events::{Event, Events};

pub use crate::page_cache::FileSystem;
use crate::tracing::{Device, Rings};
pub use crate::tracing::{FollowError, RING_BYTES};

/// Counters since the follower was opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct WriteCounts {
    /// The bytes written through the page cache.
    pub cached_bytes: u64,
    /// The bytes written by direct I/O; `None` if this kernel does not report them.
    pub direct_bytes: Option<u64>,
    /// The number of times that a store into a mapped page made a folio dirty.
    pub stores: u64,
    /// An upper bound of the bytes in these folios: for each folio 2 MiB, or the known length of
    /// its file if the file is shorter.
    pub stored_most: u64,
    /// The number of events that were read.
    pub events: u64,
    /// The number of events that the kernel dropped, because a ring was full.
    pub lost: u64,
}

/// Follows the writes to one file system.
pub struct CallFollower {
    events: Events,
    rings: Rings<Event>,
    calls: Calls,
    counts: WriteCounts,
    bytes: u64,
}

impl CallFollower {
    /// Follows the file system `kind` on the block device at `device`. Each ring has `ring_bytes`
    /// bytes, rounded up to a power of two.
    ///
    /// # Errors
    /// [`FollowError`] if it is no block device, or the kernel does not report the events.
    pub fn open(device: &Path, kind: FileSystem, ring_bytes: usize) -> Result<Self, FollowError> {
        let device = Device::of(device)?;
        let events = Events::new(kind)?;
        let rings = Rings::open(&events.subscriptions(device), ring_bytes)?;
        let counts = WriteCounts {
            direct_bytes: events.tells_direct.then_some(0),
            ..WriteCounts::default()
        };
        // The inode of a block device has the same number as the device. Its pages are metadata.
        let calls = Calls::new(device.number());
        Ok(Self { events, rings, calls, counts, bytes: 0 })
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and counts the events
    /// so far. Events of the last 200 µs are counted by the next call.
    ///
    /// # Errors
    /// [`FollowError::Io`] if waiting for the rings fails.
    pub fn poll(&mut self, timeout: Duration) -> Result<(), FollowError> {
        self.rings.wait(timeout)?;
        for event in self.rings.drain(&self.events, &mut self.bytes) {
            self.take(event);
        }
        Ok(())
    }

    fn take(&mut self, event: Event) {
        self.counts.events += u64::from(!matches!(event, Event::Lost(_)));
        match event {
            Event::Lost(events) => {
                self.counts.lost += events;
                self.calls.forget();
            }
            Event::Written { thread, inode, offset, length, count } => {
                let before = self.calls.writes(thread, inode, offset, count);
                self.counts.cached_bytes += before;
                if count < length {
                    self.calls.is_short(thread, count);
                } else {
                    self.counts.cached_bytes += count;
                }
            }
            Event::DirectBegun { thread, inode, offset } => {
                self.calls.begins_direct(thread, inode, offset);
            }
            Event::Part { thread, flags } => {
                self.calls.takes_up(thread, self.events.writes(flags));
            }
            Event::DirectEnded { inode, end, moved } => {
                let count = self.calls.ends_direct(inode, end, moved);
                if let Some(bytes) = &mut self.counts.direct_bytes {
                    *bytes += count;
                }
            }
            Event::Changed { thread, inode } => self.calls.changes(thread, inode),
            Event::Dirtied { thread, inode, page } => {
                if self.calls.is_store(thread, inode, page) {
                    self.stored(inode, page);
                }
            }
            Event::Stored { inode } => self.stored(inode, 0),
        }
    }

    fn stored(&mut self, inode: u64, page: u64) {
        self.counts.stores += 1;
        self.counts.stored_most += self.calls.most_of(inode, page);
    }

    /// Returns the counters since [`CallFollower::open`].
    pub fn counts(&self) -> WriteCounts {
        let cached_bytes = self.counts.cached_bytes + self.calls.short();
        WriteCounts { cached_bytes, ..self.counts }
    }
}
