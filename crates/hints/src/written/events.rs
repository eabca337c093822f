//! The followed tracepoints, and the meaning of their events.

use crate::page_cache::FileSystem;
use crate::tracing::{Decode, Device, FIELDS, FollowError, Format, Points, Subscription, Wanted};

/// An event about bytes that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A thread copied `count` bytes of the requested `length` into the page cache. If `count` is
    /// less than `length`, the thread may have to copy these bytes again.
    Written { thread: u64, inode: u64, offset: u64, length: u64, count: u64 },
    /// A thread begins direct I/O.
    DirectBegun { thread: u64, inode: u64, offset: u64 },
    /// A direct I/O request has ended. `end` is the position in the file behind the bytes that it
    /// moved.
    DirectEnded { inode: u64, end: u64, moved: u64 },
    /// A thread begins a part of a direct I/O request.
    Part { thread: u64, flags: u64 },
    /// A thread truncates, zeroes or allocates in a file.
    Changed { thread: u64, inode: u64 },
    /// A thread made a folio dirty. The folio begins at this page of the file.
    Dirtied { thread: u64, inode: u64, page: u64 },
    /// A program stored into a clean mapped page of a file.
    Stored { inode: u64 },
    /// The number of events that were lost at this point.
    Lost(u64),
}

/// A function that turns the values of an event's fields into an event.
type Means = fn(&[u64; FIELDS]) -> Option<Event>;

const fn wanted(
    name: &'static str,
    fields: &'static [&'static str],
    means: Means,
) -> Wanted<Means> {
    Wanted { name, filter: DEVICE, fields, means }
}

/// The kind of filter that compares the number of the device.
const DEVICE: &str = "dev";
/// The kind of filter that compares the name of the device's queue.
const QUEUE: &str = "name";
/// The kind of filter that compares the number of the device and accepts only direct I/O.
const AROUND: &str = "direct";

fn written(&[thread, inode, offset, length, count]: &[u64; FIELDS]) -> Option<Event> {
    Some(Event::Written { thread, inode, offset, length, count })
}

fn changed(&[thread, inode, ..]: &[u64; FIELDS]) -> Option<Event> {
    Some(Event::Changed { thread, inode })
}

const COPIED: &[&str] = &["common_pid", "ino", "pos", "len", "copied"];

const EXT4: [Wanted<Means>; 3] = [
    // Writes with delayed allocation, and without it.
    wanted("ext4/ext4_da_write_end", COPIED, written),
    wanted("ext4/ext4_write_end", COPIED, written),
    Wanted {
        name: "writeback/writeback_dirty_folio",
        filter: QUEUE,
        fields: &["common_pid", "ino", "index"],
        means: |&[thread, inode, page, ..]| Some(Event::Dirtied { thread, inode, page }),
    },
];

const CHANGE: &[&str] = &["common_pid", "ino"];

/// Tracepoints that not every kernel has.
const EXT4_MORE: [Wanted<Means>; 6] = [
    wanted("ext4/ext4_journalled_write_end", COPIED, written),
    wanted("ext4/ext4_truncate_enter", CHANGE, changed),
    wanted("ext4/ext4_punch_hole", CHANGE, changed),
    wanted("ext4/ext4_zero_range", CHANGE, changed),
    wanted("ext4/ext4_fallocate_enter", CHANGE, changed),
    wanted("ext4/ext4_insert_range", CHANGE, changed),
];

const XFS: [Wanted<Means>; 1] = [wanted(
    "xfs/xfs_file_buffered_write",
    &["common_pid", "ino", "offset", "count"],
    |&[thread, inode, offset, count, ..]| {
        Some(Event::Written { thread, inode, offset, length: count, count })
    },
)];

/// The event has the first name since Linux 6.13. Earlier it has the second name, and a flag for
/// writes.
const XFS_FAULT: [Wanted<Means>; 2] = [
    wanted("xfs/xfs_write_fault", &["ino"], |&[inode, ..]| Some(Event::Stored { inode })),
    wanted("xfs/xfs_filemap_fault", &["ino", "write_fault"], |&[inode, is_write, ..]| {
        (is_write != 0).then_some(Event::Stored { inode })
    }),
];

const PART: &str = "iomap/iomap_iter";

/// Direct I/O requests, since Linux 6.6. The event of a request does not say if it writes; the
/// event of its first part does.
const DIRECT: [Wanted<Means>; 3] = [
    wanted(
        "iomap/iomap_dio_rw_begin",
        &["common_pid", "ino", "pos"],
        |&[thread, inode, offset, ..]| Some(Event::DirectBegun { thread, inode, offset }),
    ),
    wanted("iomap/iomap_dio_complete", &["ino", "pos", "ret"], |&[inode, end, moved, ..]| {
        // A negative number is an error, so no bytes were moved.
        let moved = i64::from_ne_bytes(moved.to_ne_bytes()).max(0).unsigned_abs();
        Some(Event::DirectEnded { inode, end, moved })
    }),
    Wanted {
        name: PART,
        filter: AROUND,
        fields: &["common_pid", "flags"],
        means: |&[thread, flags, ..]| Some(Event::Part { thread, flags }),
    },
];

#[derive(Debug)]
pub(super) struct Events {
    points: Points<Means>,
    /// `true` if this kernel reports direct I/O.
    pub(super) tells_direct: bool,
    /// The flag of a part that writes.
    write: u64,
    /// The flag of direct I/O.
    direct: u64,
}

impl Events {
    pub(super) fn new(kind: FileSystem) -> Result<Self, FollowError> {
        let mut points = match kind {
            FileSystem::Ext4 => Points::of(&EXT4)?,
            FileSystem::Xfs => Points::of(&XFS)?,
            FileSystem::Raw => return Err(FollowError::FileSystem("no file system".into())),
        };
        match kind {
            FileSystem::Xfs => {
                let [now, before] = &XFS_FAULT;
                let _ = points.add(now) || points.add(before);
            }
            _ => EXT4_MORE.iter().for_each(|more| {
                points.add(more);
            }),
        }
        let flag = |word| Format::read(PART).and_then(|format| format.value(word)).unwrap_or(0);
        let (write, direct) = (flag("WRITE"), flag("DIRECT"));
        let has_flags = write != 0 && direct != 0;
        let tells_direct = has_flags && DIRECT.iter().all(|wanted| points.add(wanted));
        Ok(Self { points, tells_direct, write, direct })
    }

    /// Returns the subscriptions for `device`.
    pub(super) fn subscriptions(&self, device: Device) -> Vec<Subscription> {
        let (Device { major, minor }, number) = (device, device.number());
        self.points.subscriptions(|filter| match filter {
            QUEUE => format!("name == \"{major}:{minor}\""),
            AROUND => format!("dev == {number} && flags & {}", self.direct),
            _ => format!("dev == {number}"),
        })
    }

    /// Returns `true` if a part with these flags writes.
    pub(super) fn writes(&self, flags: u64) -> bool {
        flags & self.write != 0
    }
}

impl Decode for Events {
    type Event = Event;

    fn decode(&self, raw: &[u8]) -> Option<Event> {
        let (means, values) = self.points.read(raw)?;
        means(&values)
    }

    fn lost(&self, events: u64) -> Event {
        Event::Lost(events)
    }
}
