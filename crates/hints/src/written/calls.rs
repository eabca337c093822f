//! Remembers the last call of each thread, to explain which folios become dirty by it.

use std::collections::HashMap;

use crate::pages::PAGE;

/// The most pages of a folio in the page cache.
const FOLIO: u64 = 512;

/// The last call of a thread on a file.
#[derive(Debug, Clone, Copy)]
struct Call {
    inode: u64,
    /// The first and the last page that the call may make dirty.
    pages: (u64, u64),
    /// The first byte that the call wrote.
    offset: u64,
    /// The bytes of a short copy. The kernel either keeps these bytes or copies them again.
    short: u64,
}

#[derive(Debug)]
pub(super) struct Calls {
    /// The inode of the device itself, whose pages are metadata.
    device: u64,
    last: HashMap<u64, Call>,
    /// The file and the offset of the direct I/O that each thread has begun. An entry is removed at
    /// the first part of the request.
    begun: HashMap<u64, (u64, u64)>,
    /// The known length of each file in bytes: the end of the last byte that a call wrote. If a
    /// call may have made the file longer without writing, the known length is at least the size of
    /// the longest folio.
    ends: HashMap<u64, u64>,
    /// The direct I/O requests under way, by file and offset; `true` if the request writes.
    direct: HashMap<(u64, u64), bool>,
}

impl Calls {
    pub(super) fn new(device: u64) -> Self {
        let (last, begun) = (HashMap::new(), HashMap::new());
        Self { device, last, begun, ends: HashMap::new(), direct: HashMap::new() }
    }

    /// Notes that a thread wrote `count` bytes of a file. If the thread's copy before was short and
    /// this write continues behind it, the kernel has kept the bytes of that copy. Returns their
    /// number then, otherwise 0.
    pub(super) fn writes(&mut self, thread: u64, inode: u64, offset: u64, count: u64) -> u64 {
        let last = offset.saturating_add(count.max(1) - 1) / PAGE;
        let call = Call { inode, pages: (offset / PAGE, last), offset, short: 0 };
        let before = self.last.insert(thread, call);
        let end = self.ends.entry(inode).or_default();
        *end = (*end).max(offset.saturating_add(count));
        let is_anew = |call: &Call| call.inode == inode && call.offset == offset;
        before.filter(|call| !is_anew(call)).map_or(0, |call| call.short)
    }

    /// Notes that the last copy of a thread was short, with only `count` bytes.
    pub(super) fn is_short(&mut self, thread: u64, count: u64) {
        if let Some(call) = self.last.get_mut(&thread) {
            call.short = count;
        }
    }

    /// Returns the bytes of short copies that no other call has followed yet.
    pub(super) fn short(&self) -> u64 {
        self.last.values().map(|call| call.short).sum()
    }

    /// Returns the most bytes that a folio of the file at `page` can have: the known length of the
    /// file, or the size of the longest folio if that is less. If the page lies behind the known
    /// length, it is the size of the longest folio.
    pub(super) fn most_of(&self, inode: u64, page: u64) -> u64 {
        let end = self.ends.get(&inode).map_or(0, |end| end.next_multiple_of(PAGE));
        if page * PAGE < end { end.min(FOLIO * PAGE) } else { FOLIO * PAGE }
    }

    /// Notes that a thread truncates, zeroes or allocates in a file.
    pub(super) fn changes(&mut self, thread: u64, inode: u64) {
        let short = self.last.get(&thread).map_or(0, |call| call.short);
        self.last.insert(thread, Call { inode, pages: (0, u64::MAX), offset: u64::MAX, short });
        let end = self.ends.entry(inode).or_default();
        *end = (*end).max(FOLIO * PAGE);
    }

    /// Notes that a thread begins direct I/O on a file, from `offset` on.
    pub(super) fn begins_direct(&mut self, thread: u64, inode: u64, offset: u64) {
        self.begun.insert(thread, (inode, offset));
    }

    /// Notes that a thread begins a part of its direct I/O request. `writes` is true if the part
    /// writes.
    pub(super) fn takes_up(&mut self, thread: u64, writes: bool) {
        if let Some(place) = self.begun.remove(&thread) {
            self.direct.insert(place, writes);
        }
    }

    /// Notes the end of a direct I/O request that has moved `moved` bytes, up to the position
    /// `end`. Returns the number of bytes written. A request that the kernel began twice ends only
    /// once.
    pub(super) fn ends_direct(&mut self, inode: u64, end: u64, moved: u64) -> u64 {
        let writes = self.direct.remove(&(inode, end.wrapping_sub(moved)));
        if writes == Some(true) { moved } else { 0 }
    }

    /// Returns `true` if a store, and not a call, has made the folio from `page` on dirty. A call
    /// makes a folio dirty only once.
    pub(super) fn is_store(&mut self, thread: u64, inode: u64, page: u64) -> bool {
        if inode == self.device {
            return false;
        }
        let Some(call) = self.last.get_mut(&thread) else { return true };
        let (first, last) = call.pages;
        let explains = call.inode == inode && page <= last && page.saturating_add(FOLIO) > first;
        if explains {
            // A call makes folios dirty in order, so this one does not count again.
            call.pages.0 = page.saturating_add(FOLIO);
        }
        !explains
    }

    /// Forgets all calls after lost events. If a thread has no known call, its folios count as
    /// dirtied by stores.
    pub(super) fn forget(&mut self) {
        self.last.clear();
        self.begun.clear();
        self.direct.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folio_belongs_to_the_call_that_wrote_its_bytes() {
        let mut calls = Calls::new(99);
        calls.writes(1, 12, 3 * PAGE, PAGE);
        assert!(calls.is_store(1, 12, 4), "behind what was written");
        // A large folio begins before the page that was written.
        assert!(!calls.is_store(1, 12, 0));
        assert!(calls.is_store(1, 12, 0), "it became clean, and the call is over");
        calls.writes(1, 12, 3 * PAGE, PAGE);
        assert!(!calls.is_store(1, 12, 3));
        assert!(calls.is_store(1, 13, 3), "another file");
        assert!(calls.is_store(2, 12, 3), "another thread");
        assert!(!calls.is_store(2, 99, 3), "metadata");
        calls.writes(1, 12, 10_000 * PAGE, PAGE + 1);
        assert!(!calls.is_store(1, 12, 10_001));
        assert!(calls.is_store(1, 12, 10_000 - FOLIO), "no folio is that long");
    }

    #[test]
    fn a_request_around_the_cache_writes_if_its_first_part_does() {
        let mut calls = Calls::new(99);
        calls.begins_direct(1, 12, 8192);
        calls.takes_up(2, true);
        calls.takes_up(1, true);
        calls.takes_up(1, false);
        // The request ends in another thread, and has written less than requested.
        assert_eq!(calls.ends_direct(12, 12_288, 4096), 4096);
        assert_eq!(calls.ends_direct(12, 12_288, 4096), 0, "it ends once");
        calls.begins_direct(1, 12, 0);
        calls.takes_up(1, false);
        assert_eq!(calls.ends_direct(12, 4096, 4096), 0, "a read");
    }

    #[test]
    fn a_request_that_had_to_be_begun_again_counts_once() {
        let mut calls = Calls::new(99);
        for thread in [1, 2] {
            calls.begins_direct(thread, 12, 0);
            calls.takes_up(thread, true);
        }
        assert_eq!(calls.ends_direct(12, 4096, 4096), 4096);
        assert_eq!(calls.ends_direct(12, 4096, 4096), 0);
    }

    #[test]
    fn a_copy_that_was_cut_short_counts_if_the_next_one_goes_on_behind_it() {
        let mut calls = Calls::new(99);
        assert_eq!(calls.writes(1, 12, 0, 1000), 0);
        calls.is_short(1, 1000);
        assert_eq!(calls.short(), 1000);
        assert_eq!(calls.writes(1, 12, 0, 900), 0, "the same bytes anew");
        calls.is_short(1, 900);
        assert_eq!(calls.writes(2, 12, 900, 100), 0, "another thread");
        assert_eq!(calls.writes(1, 12, 900, 100), 900);
        assert_eq!(calls.short(), 0);
    }

    #[test]
    fn a_folio_is_no_longer_than_its_file() {
        let mut calls = Calls::new(99);
        assert_eq!(calls.most_of(12, 0), FOLIO * PAGE, "no call has written to it");
        calls.writes(1, 12, 2 * PAGE, 1);
        assert_eq!(calls.most_of(12, 0), 3 * PAGE);
        assert_eq!(calls.most_of(12, 3), FOLIO * PAGE, "the file is longer than what was written");
        calls.writes(1, 12, FOLIO * PAGE, 9 * PAGE);
        assert_eq!(calls.most_of(12, 0), FOLIO * PAGE);
        calls.writes(1, 13, 0, PAGE);
        assert_eq!(calls.most_of(13, 0), PAGE);
        calls.changes(1, 13);
        assert_eq!(calls.most_of(13, 0), FOLIO * PAGE, "it may be longer now");
    }

    #[test]
    fn a_truncation_explains_every_folio_of_its_file() {
        let mut calls = Calls::new(99);
        calls.changes(1, 12);
        assert!(!calls.is_store(1, 12, 7));
        calls.forget();
        assert!(calls.is_store(1, 12, 7));
    }
}
