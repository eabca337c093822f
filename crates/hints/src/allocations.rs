//! Follows which blocks of a device ext4 gives to which file, and which it takes back.
//!
//! Times are those of the monotonic clock, in nanoseconds. A file is known by the number of its inode, which the
//! file system uses again when the file is gone.

use std::path::Path;
use std::time::Duration;

use crate::tracing::{Decode, Device, FIELDS, Points, Rings, Wanted};
pub use crate::tracing::{FollowError, RING_BYTES};

/// A change of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A file, directory or other inode is made.
    Made {
        /// The number of the inode.
        inode: u64,
    },
    /// Blocks get an owner.
    Allocated {
        /// The number of the inode.
        inode: u64,
        /// The first block on the device.
        block: u64,
        /// The number of blocks.
        count: u64,
        /// `true` if they hold the bytes of a file, `false` if they hold a directory, or say where bytes lie.
        is_data: bool,
    },
    /// Blocks are free.
    Freed {
        /// The first block on the device.
        block: u64,
        /// The number of blocks.
        count: u64,
    },
    /// The number of events that were lost at this point.
    Lost(u64),
}

/// A function that turns the values of an event's fields into an event.
type Means = fn(&[u64; FIELDS]) -> Event;

const DEVICE: &str = "dev";

/// The flag of an allocation for the bytes of a regular file.
const DATA: u64 = 0x20;

const WANTED: [Wanted<Means>; 3] = [
    Wanted {
        name: "ext4/ext4_allocate_inode",
        filter: DEVICE,
        fields: &["ino"],
        means: |&[inode, ..]| Event::Made { inode },
    },
    Wanted {
        name: "ext4/ext4_allocate_blocks",
        filter: DEVICE,
        fields: &["ino", "block", "len", "flags"],
        means: |&[inode, block, count, flags, ..]| Event::Allocated {
            inode,
            block,
            count,
            is_data: flags & DATA != 0,
        },
    },
    Wanted {
        name: "ext4/ext4_free_blocks",
        filter: DEVICE,
        fields: &["block", "count"],
        means: |&[block, count, ..]| Event::Freed { block, count },
    },
];

struct Events(Points<Means>);

impl Decode for Events {
    type Event = Event;

    fn decode(&self, raw: &[u8]) -> Option<Event> {
        let (means, values) = self.0.read(raw)?;
        Some(means(&values))
    }

    fn lost(&self, events: u64) -> Event {
        Event::Lost(events)
    }
}

/// Returns the filter for the events of the device with this number.
fn of_device(number: u64) -> String {
    format!("dev == {number}")
}

/// Returns the number that the kernel has in events for the block device at `path`.
///
/// # Errors
/// No such file, or no block device.
pub fn number_of(path: &Path) -> Result<u64, FollowError> {
    Ok(Device::of(path)?.number())
}

/// Follower of the allocations on one device.
pub struct Follower {
    events: Events,
    rings: Rings<Event>,
    bytes: u64,
}

impl Follower {
    /// Follows the ext4 on the block device at `device`. A ring has `ring_bytes`, rounded up to a power of
    /// two.
    ///
    /// # Errors
    /// [`FollowError`] if it is no block device, or the kernel does not report the events.
    pub fn open(device: &Path, ring_bytes: usize) -> Result<Self, FollowError> {
        let number = Device::of(device)?.number();
        let events = Events(Points::of(&WANTED)?);
        let wanted = events.0.subscriptions(|_| of_device(number));
        let rings = Rings::open(&wanted, ring_bytes)?;
        Ok(Self { events, rings, bytes: 0 })
    }

    /// Returns a follower to which nothing comes until it [follows](Self::follow) a device.
    ///
    /// # Errors
    /// Those of [`Follower::open`].
    pub fn prepare(ring_bytes: usize) -> Result<Self, FollowError> {
        let events = Events(Points::of(&WANTED)?);
        let rings = Rings::prepare(&events.0.subscriptions(|_| String::new()), ring_bytes)?;
        Ok(Self { events, rings, bytes: 0 })
    }

    /// Follows the ext4 on the block device with this number, which the kernel has for it in events. A
    /// process that has given its rights away may do this.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn follow(&mut self, number: u64) -> Result<(), FollowError> {
        self.rings.narrow(&[(); WANTED.len()].map(|()| of_device(number)))
    }

    /// Returns all events so far with their times, the youngest among them. An event of another CPU with an
    /// earlier time may still be missing, but none that has ended before this call.
    pub fn now(&mut self) -> Vec<(u64, Event)> {
        self.rings.drain_now(&self.events, &mut self.bytes)
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and returns the events so far with
    /// their times. Those of the last 200 µs wait for the next call.
    ///
    /// # Errors
    /// [`FollowError::Io`] if waiting for the rings fails.
    pub fn poll(&mut self, timeout: Duration) -> Result<Vec<(u64, Event)>, FollowError> {
        self.rings.wait(timeout)?;
        Ok(self.rings.drain_timed(&self.events, &mut self.bytes))
    }
}
