//! Follows which blocks of a device a file system allocates to which file, and which blocks it
//! frees.
//!
//! | | ext4 | xfs |
//! |---|---|---|
//! | a file gets blocks | `ext4_allocate_blocks` | `xfs_iext_insert`, `xfs_bmap_post_update` |
//! | blocks are free | `ext4_free_blocks` | `xfs_free_extent` |
//! | an inode is reused | `ext4_allocate_inode`, when reused | `xfs_iunlink`, `xfs_iunlink_remove`, when freed |
//!
//! Times are those of the monotonic clock, in nanoseconds. A file is identified by the number of
//! its inode. The file system uses this number again after the file is removed.

mod superblock;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

pub use crate::page_cache::FileSystem;
use crate::tracing::{Decode, Device, FIELDS, Points, Rings, Wanted};
pub use crate::tracing::{FollowError, RING_BYTES};
use superblock::Superblock;

/// A change of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// From now on the inode number belongs to another file: on ext4 a new file was made, on xfs
    /// the old file is gone.
    Next {
        /// The number of the inode.
        inode: u64,
    },
    /// Blocks were allocated to an inode.
    Allocated {
        /// The number of the inode.
        inode: u64,
        /// The first block on the device.
        block: u64,
        /// The number of blocks.
        count: u64,
        /// `true` if the blocks hold the bytes of a file; `false` if they hold a directory, or
        /// metadata of a file's extents. On xfs it is also `true` for the blocks of a directory.
        is_data: bool,
    },
    /// Blocks were freed.
    Freed {
        /// The first block on the device.
        block: u64,
        /// The number of blocks.
        count: u64,
    },
    /// The number of events that were lost at this point.
    Lost(u64),
}

/// An event of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// A change of the file system.
    Change(Event),
    /// An inode of xfs has no name any more.
    Unlinked(u64),
    /// An inode of xfs leaves the list of inodes without a name. Some kernels report this twice.
    Freed(u64),
}

/// A function that turns the values of an event's fields into an event.
type Means = fn(&[u64; FIELDS], &Superblock) -> Option<Note>;

const DEVICE: &str = "dev";

/// The flag of an allocation of ext4 for the bytes of a regular file.
const DATA: u64 = 0x20;

const EXT4: [Wanted<Means>; 3] = [
    Wanted {
        name: "ext4/ext4_allocate_inode",
        filter: DEVICE,
        fields: &["ino"],
        means: |&[inode, ..], _| Some(Note::Change(Event::Next { inode })),
    },
    Wanted {
        name: "ext4/ext4_allocate_blocks",
        filter: DEVICE,
        fields: &["ino", "block", "len", "flags"],
        means: |&[inode, block, count, flags, ..], _| {
            Some(Note::Change(Event::Allocated { inode, block, count, is_data: flags & DATA != 0 }))
        },
    },
    Wanted {
        name: "ext4/ext4_free_blocks",
        filter: DEVICE,
        fields: &["block", "count"],
        means: |&[block, count, ..], _| Some(Note::Change(Event::Freed { block, count })),
    },
];

/// The flag of an xfs extent that belongs to the attribute fork.
const ATTRIBUTES: u64 = 1 << 8;

/// The fields of the extents of xfs.
const EXTENT: &[&str] = &["ino", "startblock", "blockcount", "bmap_state"];

/// Returns the event of an extent of xfs, or `None` if no blocks are allocated for it yet. If the
/// extent has grown, its first blocks belonged to this inode before.
fn extent(&[inode, start, count, state, _]: &[u64; FIELDS], of: &Superblock) -> Option<Note> {
    let block = of.block(start)?;
    Some(Note::Change(Event::Allocated { inode, block, count, is_data: state & ATTRIBUTES == 0 }))
}

const XFS: [Wanted<Means>; 5] = [
    Wanted { name: "xfs/xfs_iext_insert", filter: DEVICE, fields: EXTENT, means: extent },
    Wanted { name: "xfs/xfs_bmap_post_update", filter: DEVICE, fields: EXTENT, means: extent },
    Wanted {
        name: "xfs/xfs_free_extent",
        filter: DEVICE,
        fields: &["agno", "agbno", "len"],
        means: |&[group, block, count, ..], of| {
            Some(Note::Change(Event::Freed { block: of.block_of_group(group, block), count }))
        },
    },
    Wanted {
        name: "xfs/xfs_iunlink",
        filter: DEVICE,
        fields: &["agno", "agino"],
        means: |&[group, inode, ..], of| Some(Note::Unlinked(of.inode(group, inode))),
    },
    Wanted {
        name: "xfs/xfs_iunlink_remove",
        filter: DEVICE,
        fields: &["agno", "agino"],
        means: |&[group, inode, ..], of| Some(Note::Freed(of.inode(group, inode))),
    },
];

struct Events {
    points: Points<Means>,
    superblock: Superblock,
}

impl Decode for Events {
    type Event = Note;

    fn decode(&self, raw: &[u8]) -> Option<Note> {
        let (means, values) = self.points.read(raw)?;
        means(&values, &self.superblock)
    }

    fn lost(&self, events: u64) -> Note {
        Note::Change(Event::Lost(events))
    }
}

/// The number of bytes from the begin of the device that [`ExtentFollower::follow`] needs.
pub const HEAD: usize = 128;

/// Returns the tracepoints of a file system.
fn points(kind: FileSystem) -> Result<Points<Means>, FollowError> {
    match kind {
        FileSystem::Ext4 => Points::of(&EXT4),
        FileSystem::Xfs => Points::of(&XFS),
        FileSystem::Raw => Err(FollowError::FileSystem("no file system".into())),
    }
}

/// Returns the filter for the events of the device with this number.
fn of_device(number: u64) -> String {
    format!("dev == {number}")
}

/// Returns the number by which kernel events name the block device at `path`.
///
/// # Errors
/// No such file, or no block device.
pub fn number_of(path: &Path) -> Result<u64, FollowError> {
    Ok(Device::of(path)?.number())
}

/// Follows the allocations on one device.
pub struct ExtentFollower {
    events: Events,
    rings: Rings<Note>,
    bytes: u64,
    unlinked: Unlinked,
}

/// The inodes of an xfs that have no name but are not free yet.
#[derive(Debug, Default)]
struct Unlinked(HashSet<u64>);

impl Unlinked {
    /// Returns the change that the kernel's event means, if there is one.
    fn change(&mut self, note: Note) -> Option<Event> {
        match note {
            Note::Change(event) => Some(event),
            Note::Unlinked(inode) => {
                self.0.insert(inode);
                None
            }
            Note::Freed(inode) => self.0.remove(&inode).then_some(Event::Next { inode }),
        }
    }
}

impl ExtentFollower {
    /// Follows the file system on the block device at `device`. Each ring has `ring_bytes` bytes,
    /// rounded up to a power of two.
    ///
    /// # Errors
    /// [`FollowError`] if it is no block device, or the kernel does not report the events.
    pub fn open(device: &Path, kind: FileSystem, ring_bytes: usize) -> Result<Self, FollowError> {
        let number = Device::of(device)?.number();
        let superblock = match kind {
            FileSystem::Xfs => Superblock::read(device)?,
            FileSystem::Ext4 | FileSystem::Raw => Superblock::default(),
        };
        let events = Events { points: points(kind)?, superblock };
        let wanted = events.points.subscriptions(|_| of_device(number));
        let rings = Rings::open(&wanted, ring_bytes)?;
        Ok(Self { events, rings, bytes: 0, unlinked: Unlinked::default() })
    }

    /// Returns the first block of the journal of an xfs, and the number of its blocks. `None` for
    /// ext4, or if the journal is on another device.
    pub fn journal(&self) -> Option<(u64, u64)> {
        self.events.superblock.journal()
    }

    /// Returns a follower that gets no events until it [follows](Self::follow) a device.
    ///
    /// # Errors
    /// The errors of [`ExtentFollower::open`].
    pub fn prepare(kind: FileSystem, ring_bytes: usize) -> Result<Self, FollowError> {
        let events = Events { points: points(kind)?, superblock: Superblock::default() };
        let rings = Rings::prepare(&events.points.subscriptions(|_| String::new()), ring_bytes)?;
        Ok(Self { events, rings, bytes: 0, unlinked: Unlinked::default() })
    }

    /// Follows the file system on the block device that kernel events name by `number`. `head` has
    /// at least the first [`HEAD`] bytes of the device. A process that has dropped its privileges
    /// may call this.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn follow(&mut self, number: u64, head: &[u8]) -> Result<(), FollowError> {
        self.events.superblock = head.first_chunk().and_then(Superblock::parse).unwrap_or_default();
        let filters = self.events.points.subscriptions(|_| of_device(number));
        self.rings.narrow(&filters.into_iter().map(|filter| filter.filter).collect::<Vec<_>>())
    }

    /// Returns all events so far with their times, including the most recent ones. Earlier events
    /// of other CPUs may still be missing if they were not complete before this call.
    pub fn now(&mut self) -> Vec<(u64, Event)> {
        let notes = self.rings.drain_now(&self.events, &mut self.bytes);
        self.changes(notes)
    }

    fn changes(&mut self, notes: Vec<(u64, Note)>) -> Vec<(u64, Event)> {
        let change = |(time, note)| Some((time, self.unlinked.change(note)?));
        notes.into_iter().filter_map(change).collect()
    }

    /// Waits for `timeout`, or until a ring is half full or a signal comes, and returns the events
    /// so far with their times. Events of the last 200 µs are returned by the next call.
    ///
    /// # Errors
    /// [`FollowError::Io`] if waiting for the rings fails.
    pub fn poll(&mut self, timeout: Duration) -> Result<Vec<(u64, Event)>, FollowError> {
        self.rings.wait(timeout)?;
        let notes = self.rings.drain_timed(&self.events, &mut self.bytes);
        Ok(self.changes(notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_is_free_once_however_often_the_kernel_says_so() {
        let mut unlinked = Unlinked::default();
        let notes = [Note::Freed(7), Note::Unlinked(7), Note::Freed(7), Note::Freed(7)];
        let events: Vec<_> = notes.into_iter().map(|note| unlinked.change(note)).collect();
        assert_eq!(events, [None, None, Some(Event::Next { inode: 7 }), None]);
    }

    /// `EXT4_MB_HINT_DATA` of Linux is 0x20. Events for blocks of a directory, or of a file's
    /// extent tree, do not have this flag.
    #[test]
    fn only_the_bytes_of_a_regular_file_are_data_on_ext4() {
        let [_, allocated, _] = &EXT4;
        assert_eq!((allocated.name, allocated.fields[3]), ("ext4/ext4_allocate_blocks", "flags"));
        for (flags, is_data) in [(0, false), (0x20, true), (0xc01f, false), (0x4_2061, true)] {
            let (inode, block, count) = (12, 700, 3);
            let expected = Note::Change(Event::Allocated { inode, block, count, is_data });
            let note = (allocated.means)(&[inode, block, count, flags, 0], &Superblock::default());
            assert_eq!(note, Some(expected), "{flags:#x}");
        }
    }

    #[test]
    fn extents_of_xfs_are_blocks_of_the_device() {
        let of = Superblock::default();
        let blocks = |start, state| extent(&[131, start, 5, state, 0], &of);
        let data = |is_data| {
            Some(Note::Change(Event::Allocated { inode: 131, block: 0, count: 5, is_data }))
        };
        assert_eq!(blocks(0, 0), data(true));
        assert_eq!(blocks(0, ATTRIBUTES | 3), data(false));
        assert_eq!(blocks(u64::MAX, 0), None);
    }
}
