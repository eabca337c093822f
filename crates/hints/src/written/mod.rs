//! Counts the bytes that programs hand to a file system to write, whoever they are: daemons, asynchronous
//! I/O and the kernel's workers among them.
//!
//! # Source of the events
//! The tracepoints of the file system, for the device under it.
//!
//! | bytes | ext4 | xfs |
//! |---|---|---|
//! | written through the page cache | `ext4_da_write_end` and its kin: those copied | `xfs_file_buffered_write`: those asked for |
//! | written around it | `iomap_dio_complete` of a request whose first part writes: those written | the same |
//! | stored into a mapped page | `writeback_dirty_folio` without a write | `xfs_write_fault` |
//!
//! # Stored bytes
//! A processor stores into a mapped page without the kernel. The kernel sees the first store after the
//! page was clean, and neither the later ones nor their length. So stores are counted by the folios that
//! they make dirty. Their bytes have a bound: no folio is longer than 2 MiB, nor longer than its file, where that is no
//! longer than what calls have written of it.
//!
//! On ext4 a folio that becomes dirty belongs to the last call of its thread, if that wrote to these
//! bytes of the file, or truncated, zeroed or allocated in it. Otherwise it was stored to. A store into a
//! page that a call of the same program has just made dirty is not seen.
//!
//! # What is not counted
//! Metadata: names, sizes, directories. On xfs a write through the page cache that fails half-way counts as whole.

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
    /// The bytes written without the page cache (direct I/O); `None` if this kernel does not report them.
    pub direct_bytes: Option<u64>,
    /// The number of times that a store into a mapped page made a folio dirty.
    pub stores: u64,
    /// The most bytes of these folios: none is longer than what calls have written of its file, or than 2 MiB where
    /// the file was longer than that.
    pub stored_most: u64,
    /// The number of events that were read.
    pub events: u64,
    /// The number of events that the kernel dropped, because a ring was full.
    pub lost: u64,
}

/// CallFollower of the writes to one file system.
pub struct CallFollower {
    events: Events,
    rings: Rings<Event>,
    calls: Calls,
    counts: WriteCounts,
    bytes: u64,
}

impl CallFollower {
    /// Follows the file system `kind` on the block device at `device`. A ring has `ring_bytes`, rounded up
    /// to a power of two.
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
        // The kernel numbers the inode of a device as it numbers the device: that one has metadata.
        let calls = Calls::new(device.number());
        Ok(Self { events, rings, calls, counts, bytes: 0 })
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and takes the events so far.
    /// Events of the last 200 µs wait for the next call.
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
