//! The write cache: writes are done when they are in it, and it sends them to their dies. Pages
//! that are written again while they wait there are programmed once.

use flashgc_base::snapshot::{State, Value};
use flashgc_base::{state, value};

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::timed::measure::Observer;
use crate::timed::ops::{Kind, NONE, Ops, PageOp};
use crate::timed::shared::Shared;

/// A page in the cache.
struct Entry {
    /// The page operation that programs it.
    flush: u32,
    /// The write whose data it holds.
    number: u64,
    /// It was written again while it was programmed: it needs another program.
    is_newer: bool,
    /// It was discarded on its way: the TRIM follows the program on its die, and new data wait
    /// until the program is done.
    is_discarded: bool,
}

/// The effect of the cache on a page operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
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
pub struct WriteCache {
    /// Pages that fit.
    capacity: usize,
    entries: HashMap<u32, Entry>,
    /// Operations that wait for a place, and reads of their pages, in order.
    waiting: VecDeque<u32>,
    hits: u64,
}

impl Value for Entry {
    value!(flush, number, is_newer, is_discarded);
}

impl State for WriteCache {
    state! {
        values: entries, waiting, hits;
        fixed: capacity;
    }
}

impl WriteCache {
    pub fn new(pages: u32) -> Self {
        let capacity = pages as usize;
        let entries = HashMap::with_capacity(capacity);
        Self { capacity, entries, waiting: VecDeque::new(), hits: 0 }
    }

    /// Whether the drive has one.
    #[inline]
    pub fn exists(&self) -> bool {
        self.capacity > 0
    }

    /// Reads and writes of the host that it took.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Takes a page operation that has just been dispatched.
    pub fn take<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) -> Served {
        let PageOp { kind, page, .. } = shared.ops[op];
        let follows = |&other: &u32| kind != Kind::Read || shared.ops[other].page == page;
        let served = match self.waiting.iter().any(follows) {
            true => Served::Waits,
            false => self.serve(shared, op),
        };
        if served == Served::Waits {
            self.waiting.push_back(op);
        }
        served
    }

    /// Takes the first of those that wait, if it waits no longer.
    pub fn take_waiting<O: Observer>(&mut self, shared: &mut Shared<O>) -> Option<(u32, Served)> {
        let &op = self.waiting.front()?;
        let served = self.serve(shared, op);
        if served == Served::Waits {
            return None;
        }
        self.waiting.pop_front();
        Some((op, served))
    }

    /// Does what can be done at once; a write of a whole page waits for a place.
    fn serve<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) -> Served {
        let PageOp { kind, page, .. } = shared.ops[op];
        let number = shared.ops.number(op);
        let otherwise = if kind == Kind::Write { Served::Waits } else { Served::Passes };
        let has_place = self.entries.len() < self.capacity;
        let entry = self.entries.get_mut(&page);
        match (kind, entry) {
            (_, Some(Entry { is_discarded: true, .. })) => otherwise,
            (Kind::Read, Some(_)) => {
                shared.observer.read_cached(number, page);
                self.hits += 1;
                Served::Done
            }
            (Kind::Write | Kind::Modify, Some(entry)) => {
                entry.number = number;
                entry.is_newer = shared.ops[entry.flush].is_programmed;
                if !entry.is_newer {
                    shared.ops.holds_data_of(entry.flush, number);
                }
                shared.observer.cached(number, page);
                self.hits += 1;
                Served::Done
            }
            (Kind::Write, None) if has_place => {
                shared.observer.cached(number, page);
                Served::Flushes(self.flush(&mut shared.ops, page, number))
            }
            (Kind::Trim, Some(entry)) => {
                let PageOp { is_merged, is_programmed, .. } = shared.ops[entry.flush];
                if is_merged || is_programmed {
                    entry.is_discarded = true;
                    return Served::Passes;
                }
                let flush = entry.flush;
                self.entries.remove(&page);
                Served::Discards(flush)
            }
            (_, None) => otherwise,
        }
    }

    /// The operation that sends a page to its die, with the data of write `number`.
    fn flush(&mut self, ops: &mut Ops, page: u32, number: u64) -> u32 {
        let flush = ops.add(PageOp::new(NONE, page, Kind::Write), u64::MAX);
        ops.holds_data_of(flush, number);
        let entry = Entry { flush, number, is_newer: false, is_discarded: false };
        let before = self.entries.insert(page, entry);
        debug_assert!(before.is_none_or(|before| before.is_newer), "a page is in the cache once");
        debug_assert!(self.entries.len() <= self.capacity);
        flush
    }

    /// An operation of the cache is done: its place is free, unless there are newer data, which go to
    /// the die with the operation that is returned.
    pub fn flushed(&mut self, ops: &mut Ops, op: u32) -> Option<u32> {
        let page = ops[op].page;
        let mut next = None;
        if let Some(&Entry { flush, number, is_newer, is_discarded }) = self.entries.get(&page)
            && flush == op
        {
            if is_newer && !is_discarded {
                next = Some(self.flush(ops, page, number));
            } else {
                self.entries.remove(&page);
            }
        }
        ops.remove(op);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::measure::Silent;
    use crate::timed::testing::shared;

    /// The next operation of the host, in the cache.
    fn take(
        cache: &mut WriteCache,
        shared: &mut Shared<Silent>,
        kind: Kind,
        page: u32,
    ) -> (u32, Served) {
        let op = shared.ops.add(PageOp::new(0, page, kind), 0);
        (op, cache.take(shared, op))
    }

    #[test]
    fn what_waits_in_the_cache_is_programmed_once_and_what_is_programmed_again() {
        let (mut cache, mut shared) = (WriteCache::new(1), shared());
        let (first, served) = take(&mut cache, &mut shared, Kind::Write, 5);
        let Served::Flushes(flush) = served else { panic!("{served:?}") };
        assert_eq!(shared.ops.number(flush), shared.ops.number(first));
        // It takes newer data until it has its physical page.
        let (second, served) = take(&mut cache, &mut shared, Kind::Write, 5);
        assert_eq!(served, Served::Done);
        assert_eq!(shared.ops.number(flush), shared.ops.number(second));
        shared.ops[flush].is_programmed = true;
        let (third, served) = take(&mut cache, &mut shared, Kind::Write, 5);
        assert_eq!(served, Served::Done);
        assert_eq!(shared.ops.number(flush), shared.ops.number(second));
        // Another page waits for a place, and so do reads of it; other reads go to their dies.
        let (other, served) = take(&mut cache, &mut shared, Kind::Write, 6);
        assert_eq!(served, Served::Waits);
        let (read, served) = take(&mut cache, &mut shared, Kind::Read, 6);
        assert_eq!(served, Served::Waits);
        assert_eq!(take(&mut cache, &mut shared, Kind::Read, 7).1, Served::Passes);
        let third_number = shared.ops.number(third);
        let next = cache.flushed(&mut shared.ops, flush).expect("the third write is programmed");
        assert_eq!(shared.ops.number(next), third_number);
        assert_eq!(cache.take_waiting(&mut shared), None);
        assert_eq!(cache.flushed(&mut shared.ops, next), None);
        let (op, served) = cache.take_waiting(&mut shared).expect("there is a place");
        assert!(op == other && matches!(served, Served::Flushes(_)));
        assert_eq!(cache.take_waiting(&mut shared), Some((read, Served::Done)));
        assert_eq!(cache.hits(), 3);
    }

    #[test]
    fn a_discard_takes_back_a_write_that_has_not_begun() {
        let (mut cache, mut shared) = (WriteCache::new(2), shared());
        let flush = |cache: &mut WriteCache, shared: &mut Shared<Silent>, page| match take(
            cache,
            shared,
            Kind::Write,
            page,
        )
        .1
        {
            Served::Flushes(flush) => flush,
            served => panic!("{served:?}"),
        };
        let waits = flush(&mut cache, &mut shared, 5);
        let served = take(&mut cache, &mut shared, Kind::Trim, 5).1;
        assert_eq!(served, Served::Discards(waits));
        // One that shares a move or is programmed is followed by the TRIM, and new data wait.
        let merged = flush(&mut cache, &mut shared, 6);
        shared.ops[merged].is_merged = true;
        assert_eq!(take(&mut cache, &mut shared, Kind::Trim, 6).1, Served::Passes);
        assert_eq!(take(&mut cache, &mut shared, Kind::Read, 6).1, Served::Passes);
        assert_eq!(take(&mut cache, &mut shared, Kind::Write, 6).1, Served::Waits);
    }
}
