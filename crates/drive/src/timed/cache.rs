//! The write cache: writes are done when they are in it, and it sends them to their dies. Pages
//! that are written again while they wait there are programmed once.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::engine::TimedDrive;
use super::observe::{Observer, Source};
use super::ops::{Kind, NONE, PageOp};

/// A page in the cache.
struct Entry {
    /// The page operation that programs it.
    flush: u32,
    /// The write whose data it holds.
    number: u64,
    /// It is being programmed: what is written now needs another program.
    is_programming: bool,
    is_newer: bool,
    /// It was discarded on its way: the TRIM follows the program on its die, and new data wait
    /// until the program is done.
    is_discarded: bool,
}

/// Pages written by the host that are not yet programmed.
pub(super) struct WriteCache {
    /// Pages that fit.
    pub(super) capacity: usize,
    entries: HashMap<u32, Entry>,
    /// Operations that wait for a place, and reads of their pages, in order.
    waiting: VecDeque<u32>,
}

impl WriteCache {
    pub(super) fn new(pages: u32) -> Self {
        let capacity = pages as usize;
        Self { capacity, entries: HashMap::with_capacity(capacity), waiting: VecDeque::new() }
    }
}

impl<O: Observer> TimedDrive<O> {
    /// Lets the cache deal with a page operation that has just been dispatched; whether it did.
    pub(super) fn through_cache(&mut self, op: u32) -> bool {
        let PageOp { kind, page, .. } = self.ops[op];
        let waiting = &self.cache.waiting;
        let follows = |&other: &u32| kind != Kind::Read || self.ops[other].page == page;
        if waiting.iter().any(follows) {
            self.cache.waiting.push_back(op);
            return true;
        }
        self.serve_from_cache(op) || self.wait_for_place(op)
    }

    /// A write of a whole page waits for a place; whether `op` is one.
    fn wait_for_place(&mut self, op: u32) -> bool {
        let waits = self.ops[op].kind == Kind::Write;
        if waits {
            self.cache.waiting.push_back(op);
        }
        waits
    }

    /// Does what the cache can do at once; whether that was all.
    fn serve_from_cache(&mut self, op: u32) -> bool {
        let PageOp { kind, page, number, .. } = self.ops[op];
        let has_place = self.cache.entries.len() < self.cache.capacity;
        let entry = self.cache.entries.get_mut(&page);
        match (kind, entry) {
            (_, Some(Entry { is_discarded: true, .. })) => return false,
            (Kind::Read, Some(_)) => {
                self.observer.read_cached(number, page);
                self.totals.cache_hits += 1;
            }
            (Kind::Write | Kind::Modify, Some(entry)) => {
                entry.number = number;
                entry.is_newer = entry.is_programming;
                self.observer.cached(number, page);
                self.totals.cache_hits += 1;
            }
            (Kind::Write, None) if has_place => {
                self.observer.cached(number, page);
                self.flush(page, number);
            }
            (Kind::Trim, Some(entry)) => {
                let flush = entry.flush;
                if entry.is_programming || self.is_merged(flush) {
                    self.cache.entries.entry(page).and_modify(|entry| entry.is_discarded = true);
                    return false;
                }
                self.cache.entries.remove(&page);
                self.discard(flush);
            }
            (_, None) => return false,
        }
        self.finish(op);
        true
    }

    /// Sends the page to its die, with the data of write `number`.
    fn flush(&mut self, page: u32, number: u64) {
        let flush = self.ops.add(PageOp::new(NONE, page, Kind::Write));
        let entry =
            Entry { flush, number, is_programming: false, is_newer: false, is_discarded: false };
        self.cache.entries.insert(page, entry);
        self.send_to_die(flush);
    }

    /// Whose data a write programs now.
    pub(super) fn source_of(&mut self, op: u32) -> Source {
        let PageOp { request, page, number, .. } = self.ops[op];
        match self.cache.entries.get_mut(&page) {
            Some(entry) if request == NONE && entry.flush == op => {
                entry.is_programming = true;
                Source::Host(entry.number)
            }
            _ => Source::Host(number),
        }
    }

    /// An operation of the cache is done: its place is free, unless there are newer data.
    pub(super) fn flushed(&mut self, op: u32) {
        let page = self.ops[op].page;
        if let Some(&Entry { flush, number, is_newer, is_discarded, .. }) =
            self.cache.entries.get(&page)
            && flush == op
        {
            if is_newer && !is_discarded {
                self.flush(page, number);
            } else {
                self.cache.entries.remove(&page);
            }
        }
        self.ops.remove(op);
        while let Some(&next) = self.cache.waiting.front() {
            if !self.serve_from_cache(next) {
                if self.ops[next].kind == Kind::Write {
                    break;
                }
                self.send_to_die(next);
            }
            self.cache.waiting.pop_front();
        }
    }
}
