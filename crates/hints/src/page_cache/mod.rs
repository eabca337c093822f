//! Follows Linux's page cache: which pages of a block device will soon be overwritten, because a file
//! system on it has them dirty in memory.
//!
//! # What is known
//! The kernel's tracepoints name addresses on the device, so files and their extents are not looked up.
//!
//! | a page | ext4 | xfs |
//! |---|---|---|
//! | becomes dirty | `block_dirty_buffer`: data and metadata | `iomap_iter` and its map: data |
//! | is on its way to the drive, or discarded | `block_bio_queue` | the same |
//! | has reached the drive | `block_rq_complete` | the same |
//! | is freed: it will not be written | `ext4_free_blocks` | `xfs_free_extent` |
//!
//! A page counts as dirty while any of its sectors is. Sectors matter: of a page whose file system has
//! blocks of 1 KiB, a part may be written while another is dirty.
//!
//! # What has no address
//! Blocks that are allocated when they are written (delayed allocation: appends, holes, copies of
//! shared extents on xfs) have no place yet, hence no old copy. They are counted, and nothing is said of
//! them. Unwritten extents have a place, and are followed.
//!
//! # What is not seen
//! - Metadata of xfs: its buffers are no page cache. Metadata of ext4 from the commit of their
//!   transaction on, when they become dirty for the page cache.
//! - On ext4 mounted with `nodelalloc`: writes through `mmap` to blocks that have a place.
//! - Dirty pages that `fallocate` turns into zeroes without freeing them (`ZERO_RANGE`): they stay in the
//!   set until they are written, freed or discarded.
//! - A page that becomes dirty again in the microseconds between the moment when the kernel takes it for
//!   clean and the hand-over of its write: it is known when it is dirtied next.
//! - Events of a CPU that comes online later.
//! - A write to xfs that fails half-way (an unreadable buffer): all of it is taken for dirty.
//!
//! After lost events the set is not what the kernel has, so everything is forgotten, and what becomes
//! dirty from then on is known again.

mod device;
mod dirty;
mod events;
mod format;
mod rings;
mod threads;

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

pub use device::FileSystem;
use device::Place;
use dirty::Dirty;
use events::{Event, Events};
use rings::Rings;
use threads::Threads;

pub use crate::pages::{Changes, PAGE};
use crate::pages::{Run, runs};

/// Bytes of a ring, one a CPU: some 25000 events until they are read.
pub const RING_BYTES: usize = 2 << 20;

/// Why a device cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// A file system whose overwrites cannot be told.
    #[error(
        "found {0}, expected ext4 or xfs; hint: a file system that copies on write (btrfs, zfs, f2fs) \
         overwrites elsewhere, so it has nothing to hint"
    )]
    FileSystem(String),
    /// The device is not one that can be followed.
    #[error("{device}: found {found}, expected {expected}")]
    Device {
        /// The device, as it was named.
        device: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The kernel lacks a tracepoint or one of its fields.
    #[error("this kernel's tracepoint {name} has no {missing}; hint: {hint}")]
    Tracepoint {
        /// The tracepoint.
        name: &'static str,
        /// What of it is missing.
        missing: &'static str,
        /// What to try.
        hint: &'static str,
    },
    /// The kernel refused.
    #[error("{what}: {source}; hint: {hint}")]
    Io {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: std::io::Error,
        /// What to try.
        hint: &'static str,
    },
}

/// What was counted since the device is followed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel could not keep, because a ring was full.
    pub lost: u64,
    /// Bytes of the rings that were read.
    pub bytes: u64,
    /// Events of blocks without a place on the device.
    pub without_address: u64,
    /// Pages that are dirty now.
    pub dirty: u64,
    /// Pages reported as dirty.
    pub hinted: u64,
    /// Dirty pages that a write or a discard ended.
    pub ended: u64,
    /// Pages reported as cancelled.
    pub cancelled: u64,
}

/// Follows the dirty pages of one device.
pub struct Follower {
    events: Events,
    rings: Rings,
    threads: Threads,
    dirty: Dirty,
    counts: Counts,
}

impl Follower {
    /// Follows the block device at `device`, on which a file system is mounted. A ring has `ring_bytes`,
    /// rounded up to a power of two; [`RING_BYTES`] is usual.
    ///
    /// # Errors
    /// [`FollowError`] if the device is no whole device, holds another file system, or the kernel does
    /// not tell its events.
    pub fn open(device: &Path, kind: FileSystem, ring_bytes: usize) -> Result<Self, FollowError> {
        let place = Place::of(device, kind)?;
        let events = Events::new(kind, &place)?;
        let rings = Rings::open(&events.subscriptions(place.number), ring_bytes)?;
        let threads = Threads::new(place.block_bytes);
        Ok(Self {
            events,
            rings,
            threads,
            dirty: Dirty::new(place.pages),
            counts: Counts::default(),
        })
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and returns what changed.
    ///
    /// A page that was written and became dirty again within one poll is reported by the next: a hint
    /// of a moment before the poll would come too late for it.
    ///
    /// # Errors
    /// [`FollowError::Io`] if the kernel does not let the rings be waited for.
    pub fn poll(&mut self, timeout: Duration) -> Result<Changes, FollowError> {
        self.rings.wait(timeout)?;
        let (mut dirtied, mut cancelled) = (Vec::new(), Vec::new());
        for event in self.rings.drain(&self.events, &mut self.counts.bytes) {
            self.take(event, &mut dirtied);
        }
        self.dirty.changes(&mut dirtied, &mut cancelled);
        self.counts.hinted += dirtied.len() as u64;
        self.counts.cancelled += cancelled.len() as u64;
        let [dirtied, cancelled] = [dirtied, cancelled].map(in_runs);
        Ok(Changes { dirtied, cancelled })
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

    /// The pages that are dirty now.
    pub fn dirty(&self) -> Vec<Run> {
        in_runs(self.dirty.pages())
    }

    /// What was counted since [`Follower::open`].
    pub fn counts(&self) -> Counts {
        Counts { dirty: self.dirty.count(), ..self.counts }
    }
}

fn in_runs(pages: Vec<u32>) -> Vec<Run> {
    runs(pages.into_iter().map(u64::from))
}
