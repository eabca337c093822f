//! The followed tracepoints, and the meaning of their events.

use std::ops::Range;

use super::device::{FileSystem, Place};
use super::threads::{Map, Step, Work};
use crate::tracing::{Decode, FIELDS, FollowError, Format, Points, Subscription, Wanted};

const SECTOR: u64 = 512;

/// A change that an event of the kernel reports. Ranges are in bytes of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// Bytes became dirty in memory. The range lies beyond the device if they have no place yet.
    Dirtied(Range<u64>),
    /// A write or a discard of the bytes was handed to the device.
    Queued(Range<u64>),
    /// The device has completed a write or a discard of the bytes.
    Written(Range<u64>),
    /// The file system freed the bytes.
    Freed(Range<u64>),
    /// A thread begins to write to a file on xfs, in bytes of the file.
    Write { thread: u64, offset: u64, count: u64 },
    /// A thread begins the next part of a file on xfs.
    Step(Step),
    /// The extent of the part that a thread has begun.
    Map(Map),
    /// The number of events that were lost at this point.
    Lost(u64),
}

/// A function that turns the values of an event's fields into an event.
type Means = fn(&[u64; FIELDS], &Shape) -> Event;

/// The sizes of the file system and the values of the kernel's flags, which are needed to decode
/// events.
#[derive(Debug, Default)]
struct Shape {
    block_bytes: u64,
    group_blocks: u64,
    write: u64,
    fault: u64,
    zero: u64,
    /// The flags of parts that make no existing blocks dirty.
    other: u64,
    mapped: u64,
}

/// A filter that accepts writes and discards. Both make pages clean.
const NO_READ: &str = " && !(rwbs ~ \"R*\")";

const WRITES: [Wanted<Means>; 2] = [
    Wanted {
        name: "block/block_bio_queue",
        filter: NO_READ,
        fields: &["sector", "nr_sector"],
        means: |&[sector, sectors, ..], _| Event::Queued(scaled(sector, sectors, SECTOR)),
    },
    Wanted {
        name: "block/block_rq_complete",
        filter: NO_READ,
        fields: &["sector", "nr_sector"],
        means: |&[sector, sectors, ..], _| Event::Written(scaled(sector, sectors, SECTOR)),
    },
];

const DIRTIED: Wanted<Means> = Wanted {
    name: "block/block_dirty_buffer",
    filter: "",
    // The field `sector` counts blocks of `size` bytes.
    fields: &["sector", "size"],
    means: |&[block, size, ..], _| Event::Dirtied(scaled(block, 1, size)),
};

const RAW: [Wanted<Means>; 1] = [DIRTIED];

const EXT4: [Wanted<Means>; 2] = [
    DIRTIED,
    Wanted {
        name: "ext4/ext4_free_blocks",
        filter: "",
        fields: &["block", "count"],
        means: |&[block, count, ..], shape| Event::Freed(scaled(block, count, shape.block_bytes)),
    },
];

const ITER: &str = "iomap/iomap_iter";
const MAP: &str = "iomap/iomap_iter_dstmap";

const XFS: [Wanted<Means>; 4] = [
    Wanted {
        name: "xfs/xfs_file_buffered_write",
        filter: "",
        fields: &["common_pid", "offset", "count"],
        means: |&[thread, offset, count, ..], _| Event::Write { thread, offset, count },
    },
    Wanted {
        name: ITER,
        filter: "",
        // In kernels without the field `status`, `pos` is the position of the part before.
        fields: &["common_pid", "pos", "flags", "status"],
        means: |&[thread, position, flags, ..], shape| {
            Event::Step(Step { thread, position, work: shape.work(flags) })
        },
    },
    Wanted {
        name: MAP,
        filter: "",
        fields: &["common_pid", "addr", "offset", "length", "type"],
        means: |&[thread, address, offset, length, kind], shape| {
            let is_written = kind == shape.mapped;
            Event::Map(Map { thread, address, offset, length, is_written })
        },
    },
    Wanted {
        name: "xfs/xfs_free_extent",
        filter: "",
        fields: &["agno", "agbno", "len"],
        means: |&[group, block, count, ..], shape| {
            let block = group.saturating_mul(shape.group_blocks).saturating_add(block);
            Event::Freed(scaled(block, count, shape.block_bytes))
        },
    },
];

impl Shape {
    fn of(kind: FileSystem, place: &Place) -> Result<Self, FollowError> {
        let Place { block_bytes, group_blocks, .. } = *place;
        if kind != FileSystem::Xfs {
            return Ok(Self { block_bytes, group_blocks, ..Self::default() });
        }
        let (iter, map) = (Format::read(ITER)?, Format::read(MAP)?);
        let (write, fault, zero) =
            (iter.value("WRITE")?, iter.value("FAULT")?, iter.value("ZERO")?);
        let other = iter.value("DIRECT")? | iter.value("UNSHARE")? | iter.value("DAX")?;
        let mapped = map.value("MAPPED")?;
        Ok(Self { block_bytes, group_blocks, write, fault, zero, other, mapped })
    }

    fn work(&self, flags: u64) -> Work {
        let has = |flag| flags & flag != 0;
        match () {
            () if has(self.other) => Work::Other,
            () if has(self.write) && has(self.fault) => Work::Fault,
            () if has(self.write) => Work::Write,
            () if has(self.zero) => Work::Zero,
            () => Work::Other,
        }
    }
}

/// Returns the range in bytes of `count` units of `unit` bytes, from unit `first` on. If the file
/// system gave no place, the result lies beyond the end of every device.
fn scaled(first: u64, count: u64, unit: u64) -> Range<u64> {
    let end = first.saturating_add(count);
    first.saturating_mul(unit)..end.saturating_mul(unit)
}

/// The tracepoints of one file system, in the formats of this kernel.
#[derive(Debug)]
pub(super) struct Events {
    points: Points<Means>,
    shape: Shape,
}

impl Events {
    pub(super) fn new(kind: FileSystem, place: &Place) -> Result<Self, FollowError> {
        let own: &[Wanted<Means>] = match kind {
            FileSystem::Ext4 => &EXT4,
            FileSystem::Xfs => &XFS,
            FileSystem::Raw => &RAW,
        };
        let points = Points::of(own.iter().chain(&WRITES))?;
        Ok(Self { points, shape: Shape::of(kind, place)? })
    }

    /// Returns the subscriptions for the device with the kernel's number `device`.
    pub(super) fn subscriptions(&self, device: u64) -> Vec<Subscription> {
        self.points.subscriptions(|filter| format!("dev == {device}{filter}"))
    }
}

impl Decode for Events {
    type Event = Event;

    fn decode(&self, raw: &[u8]) -> Option<Event> {
        let (means, values) = self.points.read(raw)?;
        Some(means(&values, &self.shape))
    }

    fn lost(&self, events: u64) -> Event {
        Event::Lost(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_round_the_page_cache_makes_nothing_dirty() {
        let (write, zero, fault, other) = (1, 2, 8, 16);
        let shape = Shape { write, zero, fault, other, ..Shape::default() };
        assert_eq!(shape.work(write), Work::Write);
        assert_eq!(shape.work(write | fault), Work::Fault);
        assert_eq!(shape.work(zero), Work::Zero);
        for flags in [0, fault, write | other, write | fault | other] {
            assert_eq!(shape.work(flags), Work::Other, "{flags}");
        }
    }

    #[test]
    fn a_block_without_a_place_is_beyond_every_device() {
        // The block number that ext4 gives under delayed allocation: 2^64 - 2^16.
        let bytes = scaled(u64::MAX - 0xffff, 1, 4096);
        assert!(bytes.end > u64::from(u32::MAX) * 4096);
        assert_eq!(scaled(3, 2, 1024), 3072..5120);
    }
}
