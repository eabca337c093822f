//! The write cache: writes are done when they are in it, and it sends them to their dies. Pages that
//! are written again while they wait there are programmed once. Writes of less than a page are put
//! together there; the missing part of the page is read before it is programmed.

use flashgc_base::snapshot::{State, Value};

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashMap;

use super::flushes::Flushes;
use crate::observer::Observer;
use crate::ops::{Kind, NONE, Ops, PageOp};
use crate::shared::Shared;

/// A set of bytes, as ranges that do not touch, in order. Nearly always it is one range.
#[derive(Clone, Debug, Default, Value)]
pub struct Cover {
    first: (u32, u32),
    /// The ranges behind the first.
    others: Vec<(u32, u32)>,
}

impl Cover {
    /// Returns a set of one range.
    pub fn of(bytes: &Range<u32>) -> Self {
        Self { first: (bytes.start, bytes.end), others: Vec::new() }
    }

    /// Returns the number of bytes in the set.
    pub fn len(&self) -> u32 {
        let all = self.others.iter().chain([&self.first]);
        all.map(|(begin, end)| end - begin).sum()
    }

    /// Returns `true` if all of `bytes` are in the set.
    pub fn contains(&self, bytes: &Range<u32>) -> bool {
        let mut all = self.others.iter().chain([&self.first]);
        all.any(|&(begin, end)| begin <= bytes.start && bytes.end <= end)
    }

    /// Adds `bytes`. Returns the number of those that were not in the set.
    pub fn add(&mut self, bytes: &Range<u32>) -> u32 {
        if self.contains(bytes) {
            return 0;
        }
        let before = self.len();
        let (mut begin, mut end) = (bytes.start, bytes.end);
        let (mut all, first) = (std::mem::take(&mut self.others), self.first);
        all.insert(0, first);
        all.retain(|&(from, to)| {
            let touches = from <= end && begin <= to;
            if touches {
                (begin, end) = (begin.min(from), end.max(to));
            }
            !touches
        });
        let at = all.partition_point(|&(from, _)| from < begin);
        all.insert(at, (begin, end));
        self.first = all.remove(0);
        self.others = all;
        self.len() - before
    }
}

/// A page in the cache.
#[derive(Value)]
struct Entry {
    /// The page operation that programs it.
    flush: u32,
    /// The number of the write whose data it holds.
    number: u64,
    /// `true` if it was written again while it was programmed: it needs another program.
    is_newer: bool,
    /// The bytes of the page that the host wrote: those of the newer data, if there are any.
    cover: Cover,
    /// `true` if it was discarded on its way: the TRIM follows the program on its die, and new data
    /// wait until the program is done.
    is_discarded: bool,
}

/// The effect of the cache on a page operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It goes to its die.
    Passes,
    /// It waits in the cache.
    Waits,
    /// It is done.
    Done,
    /// It is done, and its page goes to the die with this operation.
    Flushes(u32),
    /// It is done, and this operation on its way is to become a TRIM.
    Discards(u32),
}

/// Pages written by the host that are not yet programmed.
///
/// It knows which operations it has sent on their way, and from the operations themselves how far
/// they are; it knows no dies and no requests.
#[derive(State)]
pub struct WriteCache {
    /// The number of pages that fit.
    #[snapshot(skip)]
    capacity: usize,
    entries: HashMap<u32, Entry>,
    /// The operations that wait for a place, and reads of their pages, in order, each with its bytes.
    waiting: VecDeque<(u32, (u32, u32))>,
    /// The flush commands that wait for pages in the cache.
    flushes: Flushes,
    #[snapshot(skip)]
    page_bytes: u32,
    hits: u64,
    waits: u64,
}

impl WriteCache {
    /// Returns a cache of `pages` pages of `page_bytes`.
    pub fn new(pages: u32, page_bytes: u32) -> Self {
        let capacity = pages as usize;
        let entries = HashMap::with_capacity(capacity);
        let (waiting, flushes) = Default::default();
        Self { capacity, entries, waiting, flushes, page_bytes, hits: 0, waits: 0 }
    }

    /// Returns the number of reads and writes of the host that it took.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of writes that had to wait before they came into it.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Returns the number of pages in it.
    pub fn held(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Lets the flush command at `place` wait until the pages that are in the cache now are
    /// programmed. Returns `true` if there are any.
    pub fn begin_flush(&mut self, place: u32) -> bool {
        // Newer data of a page that is being programmed are programmed after it.
        let on = self.entries.values().map(|it| (it.flush, 1 + u32::from(it.is_newer)));
        self.flushes.wait(place, on)
    }

    /// Returns a flush command that waits for pages no longer.
    #[inline]
    pub fn next_flushed(&mut self) -> Option<u32> {
        self.flushes.next_over()
    }

    /// Takes a page operation that has just been dispatched, on these bytes of its page.
    pub fn take<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        op: u32,
        bytes: Range<u32>,
    ) -> Effect {
        let PageOp { kind, page, .. } = shared.ops[op];
        let follows = |&(other, _): &(u32, _)| kind != Kind::Read || shared.ops[other].page == page;
        let effect = match self.waiting.iter().any(follows) {
            true => Effect::Waits,
            false => self.serve(shared, op, &bytes),
        };
        if effect == Effect::Waits {
            self.waits += u64::from(shared.ops[op].writes());
            self.waiting.push_back((op, (bytes.start, bytes.end)));
        }
        effect
    }

    /// Takes the first of the waiting operations, if it waits no longer.
    pub fn take_waiting<O: Observer>(&mut self, shared: &mut Shared<O>) -> Option<(u32, Effect)> {
        let &(op, (begin, end)) = self.waiting.front()?;
        let effect = self.serve(shared, op, &(begin..end));
        if effect == Effect::Waits {
            return None;
        }
        self.waiting.pop_front();
        Some((op, effect))
    }

    /// Serves an operation as far as it can be at once; a write waits for a place.
    fn serve<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        op: u32,
        bytes: &Range<u32>,
    ) -> Effect {
        let PageOp { kind, page, .. } = shared.ops[op];
        let number = shared.ops.number(op);
        let writes = shared.ops[op].writes();
        let otherwise = if writes { Effect::Waits } else { Effect::Passes };
        let has_place = self.entries.len() < self.capacity;
        let entry = self.entries.get_mut(&page);
        match (kind, entry) {
            (_, Some(Entry { is_discarded: true, .. })) => otherwise,
            (Kind::Read, Some(entry)) if entry.cover.contains(bytes) => {
                shared.observer.read_cached(number, page);
                self.hits += 1;
                Effect::Done
            }
            (Kind::Read, Some(_)) => {
                // The rest of the page comes from the flash, and is put together with this part.
                shared.observer.read_cached(number, page);
                shared.ops[op].is_merged = true;
                Effect::Passes
            }
            (Kind::Write | Kind::Modify, Some(entry)) => {
                entry.write(shared, number, bytes);
                shared.observer.cached(number, page);
                self.hits += 1;
                Effect::Done
            }
            (Kind::Write | Kind::Modify, None) if has_place => {
                shared.observer.cached(number, page);
                let flush = self.flush(&mut shared.ops, page, number, Cover::of(bytes));
                Effect::Flushes(flush)
            }
            (Kind::Trim, Some(entry)) => {
                let PageOp { is_merged, is_programmed, .. } = shared.ops[entry.flush];
                if is_merged || is_programmed {
                    entry.is_discarded = true;
                    return Effect::Passes;
                }
                let flush = entry.flush;
                shared.commands.merged_bytes += u64::from(entry.cover.len());
                self.entries.remove(&page);
                Effect::Discards(flush)
            }
            _ => otherwise,
        }
    }

    /// Returns the operation that sends a page to its die, with the data of write `number`, of which
    /// the cache holds `cover`.
    fn flush(&mut self, ops: &mut Ops, page: u32, number: u64, cover: Cover) -> u32 {
        let missing = self.page_bytes - cover.len();
        let kind = if missing > 0 { Kind::Modify } else { Kind::Write };
        let flush = ops.add(PageOp { missing, ..PageOp::new(NONE, page, kind) }, u64::MAX);
        ops.holds_data_of(flush, number);
        let entry = Entry { flush, number, is_newer: false, cover, is_discarded: false };
        let before = self.entries.insert(page, entry);
        debug_assert!(before.is_none(), "a page is in the cache once");
        debug_assert!(self.entries.len() <= self.capacity);
        flush
    }

    /// Ends an operation of the cache. Its place is free, unless there are newer data. These go to
    /// the die with the operation that is returned.
    pub fn flushed<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) -> Option<u32> {
        let page = shared.ops[op].page;
        let mut next = None;
        if self.entries.get(&page).is_some_and(|entry| entry.flush == op)
            && let Some(Entry { number, is_newer, cover, is_discarded, .. }) =
                self.entries.remove(&page)
        {
            if is_newer && is_discarded {
                shared.commands.merged_bytes += u64::from(cover.len());
            } else if is_newer {
                next = Some(self.flush(&mut shared.ops, page, number, cover));
            }
        }
        self.flushes.programmed(op, next);
        shared.ops.remove(op);
        next
    }
}

impl Entry {
    /// Writes `bytes` of the page, as the host does with write `number`.
    fn write<O: Observer>(&mut self, shared: &mut Shared<O>, number: u64, bytes: &Range<u32>) {
        self.number = number;
        let is_programmed = shared.ops[self.flush].is_programmed;
        if is_programmed && !std::mem::replace(&mut self.is_newer, true) {
            self.cover = Cover::of(bytes);
            return;
        }
        let new = self.cover.add(bytes);
        shared.commands.merged_bytes += u64::from(bytes.end - bytes.start - new);
        if is_programmed {
            return;
        }
        shared.ops.holds_data_of(self.flush, number);
        let flush = &mut shared.ops[self.flush];
        flush.missing -= new;
        if flush.missing == 0 {
            flush.kind = Kind::Write; // nothing need be read
        }
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;
    use crate::observer::Silent;
    use crate::testing::shared;

    /// Takes the next operation of the host into the cache.
    fn take(
        cache: &mut WriteCache,
        shared: &mut Shared<Silent>,
        kind: Kind,
        page: u32,
    ) -> (u32, Effect) {
        let op = shared.ops.add(PageOp::new(0, page, kind), 0);
        (op, cache.take(shared, op, 0..4096))
    }

    #[test]
    fn what_waits_in_the_cache_is_programmed_once_and_what_is_programmed_again() {
        let (mut cache, mut shared) = (WriteCache::new(1, 4096), shared());
        let (first, effect) = take(&mut cache, &mut shared, Kind::Write, 5);
        let Effect::Flushes(flush) = effect else { panic!("{effect:?}") };
        assert_eq!(shared.ops.number(flush), shared.ops.number(first));
        // The entry takes newer data until it has its physical page.
        let (second, effect) = take(&mut cache, &mut shared, Kind::Write, 5);
        assert_eq!(effect, Effect::Done);
        assert_eq!(shared.ops.number(flush), shared.ops.number(second));
        shared.ops[flush].is_programmed = true;
        let (third, effect) = take(&mut cache, &mut shared, Kind::Write, 5);
        assert_eq!(effect, Effect::Done);
        assert_eq!(shared.ops.number(flush), shared.ops.number(second));
        // Another page waits for a place, and so do reads of it; other reads go to their dies.
        let (other, effect) = take(&mut cache, &mut shared, Kind::Write, 6);
        assert_eq!(effect, Effect::Waits);
        let (read, effect) = take(&mut cache, &mut shared, Kind::Read, 6);
        assert_eq!(effect, Effect::Waits);
        assert_eq!(take(&mut cache, &mut shared, Kind::Read, 7).1, Effect::Passes);
        let third_number = shared.ops.number(third);
        let next = cache.flushed(&mut shared, flush).expect("the third write is programmed");
        assert_eq!(shared.ops.number(next), third_number);
        assert_eq!(cache.take_waiting(&mut shared), None);
        assert_eq!(cache.flushed(&mut shared, next), None);
        let (op, effect) = cache.take_waiting(&mut shared).expect("there is a place");
        assert!(op == other && matches!(effect, Effect::Flushes(_)));
        assert_eq!(cache.take_waiting(&mut shared), Some((read, Effect::Done)));
        assert_eq!(cache.hits(), 3);
    }

    #[test]
    fn a_discard_takes_back_a_write_that_has_not_begun() {
        let (mut cache, mut shared) = (WriteCache::new(2, 4096), shared());
        let flush = |cache: &mut WriteCache, shared: &mut Shared<Silent>, page| match take(
            cache,
            shared,
            Kind::Write,
            page,
        )
        .1
        {
            Effect::Flushes(flush) => flush,
            effect => panic!("{effect:?}"),
        };
        let waits = flush(&mut cache, &mut shared, 5);
        let effect = take(&mut cache, &mut shared, Kind::Trim, 5).1;
        assert_eq!(effect, Effect::Discards(waits));
        // An entry that shares a move or is programmed is followed by the TRIM, and new data wait.
        let merged = flush(&mut cache, &mut shared, 6);
        shared.ops[merged].is_merged = true;
        assert_eq!(take(&mut cache, &mut shared, Kind::Trim, 6).1, Effect::Passes);
        assert_eq!(take(&mut cache, &mut shared, Kind::Read, 6).1, Effect::Passes);
        assert_eq!(take(&mut cache, &mut shared, Kind::Write, 6).1, Effect::Waits);
    }

    #[test]
    fn it_holds_the_bytes_that_a_table_of_bytes_holds() {
        let mut stream = Stream::new(1, "cover");
        for _ in 0..300 {
            let (mut cover, mut table) = (Cover::of(&(8..9)), [false; 32]);
            table[8] = true;
            for _ in 0..12 {
                let begin = stream.below(31);
                let end = begin + 1 + stream.below(32 - begin);
                let bytes = begin as usize..end as usize;
                assert_eq!(
                    cover.contains(&(begin..end)),
                    table[bytes.clone()].iter().all(|&is| is)
                );
                let new = table[bytes.clone()].iter().filter(|&&is| !is).count();
                assert_eq!(cover.add(&(begin..end)) as usize, new);
                table[bytes].fill(true);
                assert_eq!(cover.len() as usize, table.iter().filter(|&&is| is).count());
            }
        }
    }
}
