//! Buffered writes of threads to files on xfs, turned into the bytes of the device that they make
//! dirty.
//!
//! A thread goes through a file in parts. Each part has two events: its first byte in the file,
//! then its extent on the device. The thread's next event shows how far it got. The end of a write
//! is known in advance. All bytes of a write count as dirty at once, since the kernel writes back a
//! long write while it goes on. Faults and zeroing are short, and count when they are done.

use std::collections::HashMap;
use std::ops::Range;

/// The most threads that are remembered. With one more, all are forgotten, and their current writes
/// are missed.
const MOST: usize = 1 << 16;

/// The reason why a thread goes through a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A write through the page cache.
    Write,
    /// A fault on a mapped page that is about to be written.
    Fault,
    /// Zeroes written around a new end of file.
    Zero,
    /// A read, a query, or an access that bypasses the page cache.
    Other,
}

/// The begin of a part, in bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) thread: u64,
    pub(super) position: u64,
    pub(super) work: Work,
}

/// An extent: `length` bytes of the file from `offset` on lie on the device from `address` on. If
/// they have no place, the address is 2^64 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) thread: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// `true` if the extent has data, `false` if it is unwritten and reads as zeroes.
    pub(super) is_written: bool,
}

#[derive(Debug, Default)]
struct Thread {
    /// The end of the current write, in bytes of the file.
    end: u64,
    /// The part whose extent is not known yet.
    step: Option<Step>,
    /// The part in progress: its first byte in the file, and its extent.
    part: Option<(u64, Map)>,
}

#[derive(Debug)]
pub(super) struct Threads {
    block_bytes: u64,
    threads: HashMap<u64, Thread>,
}

impl Threads {
    pub(super) fn new(block_bytes: u64) -> Self {
        Self { block_bytes, threads: HashMap::new() }
    }

    /// Notes that a thread begins to write `count` bytes from `offset` on.
    pub(super) fn writes(&mut self, thread: u64, offset: u64, count: u64) {
        if self.threads.len() == MOST {
            self.forget();
        }
        let end = offset.saturating_add(count);
        self.threads.insert(thread, Thread { end, ..Thread::default() });
    }

    /// Notes that a thread begins its next part, or ends. Returns the bytes of the device that the
    /// part before has made dirty.
    pub(super) fn steps(&mut self, step: Step) -> Option<Range<u64>> {
        if step.work == Work::Other && !self.threads.contains_key(&step.thread) {
            return None;
        }
        let thread = self.threads.entry(step.thread).or_default();
        let part = thread.part.take();
        thread.step = (step.work != Work::Other).then_some(step);
        if step.work == Work::Write && step.position >= thread.end {
            self.threads.remove(&step.thread);
        }
        let (from, map) = part?;
        self.place(from..step.position, &map)
    }

    /// Notes the extent of the part that a thread has begun. Returns the bytes of the device that
    /// become dirty at once.
    pub(super) fn maps(&mut self, map: Map) -> Option<Range<u64>> {
        let thread = self.threads.get_mut(&map.thread)?;
        let step = thread.step.take()?;
        match step.work {
            Work::Write => {
                let end = thread.end;
                return self.place(step.position..end, &map);
            }
            Work::Fault => thread.part = Some((step.position, map)),
            // In an unwritten extent, zeroes need no write.
            Work::Zero if map.is_written => thread.part = Some((step.position, map)),
            Work::Zero | Work::Other => {}
        }
        None
    }

    /// Returns the place on the device of a range of bytes of a file, in whole blocks and within
    /// the extent.
    fn place(&self, bytes: Range<u64>, map: &Map) -> Option<Range<u64>> {
        let block = self.block_bytes;
        let start = (bytes.start / block * block).max(map.offset);
        let end = bytes.end.div_ceil(block).saturating_mul(block);
        let end = end.min(map.offset.saturating_add(map.length));
        let on_device = |at: u64| map.address.saturating_add(at - map.offset);
        (start < end).then(|| on_device(start)..on_device(end))
    }

    /// Forgets the work of all threads, because events are missing.
    pub(super) fn forget(&mut self) {
        self.threads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1 << 10;

    fn step(position: u64, work: Work) -> Step {
        Step { thread: 7, position, work }
    }

    fn map(address: u64, offset: u64, length: u64) -> Map {
        Map { thread: 7, address, offset, length, is_written: true }
    }

    #[test]
    fn a_write_over_two_extents_is_dirty_in_both_before_it_is_done() {
        let mut threads = Threads::new(4 * K);
        threads.writes(7, 6 * K, 5 * K);
        assert_eq!(threads.steps(step(6 * K, Work::Write)), None);
        assert_eq!(threads.maps(map(100 * K, 0, 8 * K)), Some(104 * K..108 * K));
        assert_eq!(threads.steps(step(8 * K, Work::Write)), None);
        assert_eq!(threads.maps(map(40 * K, 8 * K, 80 * K)), Some(40 * K..44 * K));
        assert_eq!(threads.steps(step(11 * K, Work::Write)), None);
        assert!(threads.threads.is_empty(), "it is done");
    }

    #[test]
    fn a_read_makes_nothing_dirty_also_in_the_midst_of_a_write() {
        let mut threads = Threads::new(4 * K);
        assert_eq!(threads.steps(step(0, Work::Other)), None);
        assert_eq!(threads.maps(map(100 * K, 0, 8 * K)), None);
        threads.writes(7, 0, 8 * K);
        threads.steps(step(0, Work::Write));
        assert_eq!(threads.maps(map(100 * K, 0, 4 * K)), Some(100 * K..104 * K));
        threads.steps(step(0, Work::Other));
        assert_eq!(threads.maps(map(200 * K, 0, 8 * K)), None);
        threads.steps(step(4 * K, Work::Write));
        assert_eq!(threads.maps(map(300 * K, 4 * K, 8 * K)), Some(300 * K..304 * K));
    }

    #[test]
    fn a_fault_is_dirty_as_far_as_it_came() {
        let mut threads = Threads::new(4 * K);
        threads.steps(step(16 * K, Work::Fault));
        assert_eq!(threads.maps(map(100 * K, 0, 64 * K)), None);
        assert_eq!(threads.steps(step(24 * K, Work::Fault)), Some(116 * K..124 * K));
    }

    #[test]
    fn zeroes_are_written_over_data_alone() {
        let mut threads = Threads::new(4 * K);
        threads.steps(step(5 * K, Work::Zero));
        assert_eq!(threads.maps(map(100 * K, 0, 64 * K)), None);
        assert_eq!(threads.steps(step(8 * K, Work::Zero)), Some(104 * K..108 * K));
        assert_eq!(threads.maps(Map { is_written: false, ..map(100 * K, 0, 64 * K) }), None);
        assert_eq!(threads.steps(step(64 * K, Work::Zero)), None);
    }

    #[test]
    fn an_extent_without_a_place_is_beyond_every_device() {
        let mut threads = Threads::new(4 * K);
        threads.writes(7, 0, 4 * K);
        threads.steps(step(0, Work::Write));
        assert_eq!(threads.maps(map(u64::MAX, 0, 64 * K)), Some(u64::MAX..u64::MAX));
    }
}
