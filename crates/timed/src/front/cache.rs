//! The write cache. A write is done when it is in the cache, which then sends it to its die. If the
//! host writes a page again before its program begins, the page is programmed once. The cache also
//! merges writes of less than a page; the missing part of a page is read before its program.

use flashgc_base::snapshot::{State, Value};

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashMap;

use super::flushes::Flushes;
use crate::observer::Observer;
use crate::ops::{Kind, NONE, Ops, PageOp};
use crate::shared::Shared;

/// A set of bytes, as ranges in ascending order. The ranges do not touch each other. Nearly always
/// there is one range.
#[derive(Clone, Debug, Default, Value)]
pub struct Cover {
    first: (u32, u32),
    /// The ranges after the first.
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

    /// Adds `bytes` to the set. Returns the number of bytes that were not in it before.
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
    /// The page operation that programs the page.
    flush: u32,
    /// The number of the write whose data the entry holds.
    number: u64,
    /// `true` if the host wrote the page again during its program: the page needs another program.
    is_newer: bool,
    /// The bytes of the page that the host wrote; if `is_newer`, only those of the newer data.
    cover: Cover,
    /// `true` if the host discarded the page when its program could no longer be cancelled. The die
    /// serves the TRIM after the program, and new data wait until the program is done.
    is_discarded: bool,
}

/// The cache's answer to a page operation of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The operation goes to its die.
    Passes,
    /// The operation waits for a place in the cache.
    Waits,
    /// The operation is done.
    Done,
    /// The operation is done. Its page goes to the die with the operation of this number.
    Flushes(u32),
    /// The operation is done. The operation of this number, which was to program the page, becomes
    /// a TRIM.
    Discards(u32),
}

/// Pages written by the host that are not yet programmed.
///
/// The cache knows the operations that it has sent, and their progress. It does not know dies and
/// requests.
#[derive(State)]
pub struct WriteCache {
    /// The number of pages that fit.
    #[snapshot(skip)]
    capacity: usize,
    entries: HashMap<u32, Entry>,
    /// The writes that wait for a place in the cache, and the reads of their pages, in order. Each
    /// has its range of bytes within the page.
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

    /// Returns the number of reads and writes of the host that the cache served, as their page was
    /// in it.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of writes that had to wait for a place in the cache.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Returns the number of pages in the cache.
    pub fn held(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Lets the flush command at `place` wait until the pages that are in the cache now are
    /// programmed. Returns `true` if there are any.
    pub fn begin_flush(&mut self, place: u32) -> bool {
        // If a page has newer data, two programs are awaited: the one under way and that of these
        // data.
        let on = self.entries.values().map(|it| (it.flush, 1 + u32::from(it.is_newer)));
        self.flushes.wait(place, on)
    }

    /// Takes a flush command that need not wait for the cache any more, or returns `None`.
    #[inline]
    pub fn next_flushed(&mut self) -> Option<u32> {
        self.flushes.next_over()
    }

    /// Takes a page operation that has just been dispatched. `bytes` is its range within the page.
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

    /// Takes the first of the waiting operations, if it need not wait any more.
    pub fn take_waiting<O: Observer>(&mut self, shared: &mut Shared<O>) -> Option<(u32, Effect)> {
        let &(op, (begin, end)) = self.waiting.front()?;
        let effect = self.serve(shared, op, &(begin..end));
        if effect == Effect::Waits {
            return None;
        }
        self.waiting.pop_front();
        Some((op, effect))
    }

    /// Serves an operation, or says that it waits or goes to its die.
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
                // The flash has the rest of the page; the drive merges it with this part.
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

    /// Puts a page into the cache: the bytes `cover`, with the data of write `number`. Returns the
    /// operation that programs the page.
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

    /// Ends an operation of the cache, whose page is programmed. If the page has newer data,
    /// returns the operation that programs these. Otherwise the page leaves the cache.
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
    /// Takes write `number` of the host, which writes `bytes` of the page.
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
            flush.kind = Kind::Write; // nothing is missing, so nothing is read
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
        // A write of another page waits for a place, as do reads of that page. Other reads pass.
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
        // If an entry is merged with a copy or is being programmed, the TRIM follows, and new data
        // wait.
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
