//! References to memory by page, and the filter that leaves out references which have no effect on
//! a large enough memory. This module knows nothing of files.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::Request;
use super::address_map::PageRange;
use crate::Op;

/// A reference of a program to a page: a read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The number of the page: the address divided by the page size, rounded down.
    pub page: u64,
    pub write: bool,
}

impl Reference {
    /// Returns the references of an access to `range`, one for each page.
    pub fn of(request: &Request, range: PageRange) -> impl Iterator<Item = Self> {
        let write = request.op == Op::Write;
        (0..range.count).map(move |i| Self { page: range.first as u64 + i, write })
    }
}

const NONE: u32 = u32::MAX;

/// A filter that leaves out references which have no effect on an LRU memory of `depth` pages or
/// more. The misses of the memory, its evictions and the dirty pages among the evicted ones stay
/// the same, in the same order.
///
/// Of three references to a page, the middle one has no effect if fewer than `depth` other pages
/// are referenced between the other two. This is the algorithm SAD of Kaplan, Smaragdakis and
/// Wilson, "Trace reduction for virtual memory simulations", SIGMETRICS 1999.
///
/// Proof. Let an LRU memory of C >= `depth` pages reference x at s and next at t. Let y be a page
/// whose references between s and t were all left out. Then y has kept references f < s and l > t
/// with fewer than `depth` other pages between them. Hence there are fewer than `depth` pages
/// between s and t, and x is hit with and without y. In every other case, the pages between s and t
/// are the same. If s itself was left out, then t is a hit, also when counted from the kept
/// reference before s.
///
/// For the dirty bits, a write is kept if the last kept reference to its page is a read. Other
/// writes move to the next kept reference, which comes before any eviction. Consecutive references
/// to one page become one reference, or two if a write follows reads. With a depth of 0, the filter
/// does only this.
pub(crate) struct Filter {
    depth: u32,
    slots: FxHashMap<u64, u32>,
    pages: Vec<Page>,
    /// The list of recently referenced pages, without repetition: at most `depth` + 1 pages.
    newest: u32,
    oldest: u32,
    recent: u32,
    /// The references that are kept or still undecided, in order.
    queue: Queue,
    /// The number of references so far.
    time: u64,
    last: Option<(u32, Reference)>,
    emitted: Option<Reference>,
}

/// The state of one page.
struct Page {
    number: u64,
    /// The links in the list of recent pages. A page that is not in the list has itself as `newer`.
    newer: u32,
    older: u32,
    /// The time of the last reference, and the time of the last kept reference.
    last: u64,
    kept: u64,
    /// `true` if the last kept reference is a write.
    kept_write: bool,
    /// The queue entry of the last reference, if it is undecided.
    undecided: u32,
}

/// A doubly linked list whose entries are in one vector.
struct Queue {
    entries: Vec<Waiting>,
    free: Vec<u32>,
    first: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct Waiting {
    before: u32,
    after: u32,
    slot: u32,
    time: u64,
    write: bool,
    keep: bool,
}

impl Queue {
    fn push(&mut self, slot: u32, time: u64, write: bool, keep: bool) -> u32 {
        let waiting = Waiting { before: self.last, after: NONE, slot, time, write, keep };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = waiting;
                at
            }
            None => {
                self.entries.push(waiting);
                self.entries.len() as u32 - 1
            }
        };
        match self.last {
            NONE => self.first = at,
            last => self.entries[last as usize].after = at,
        }
        self.last = at;
        at
    }

    fn remove(&mut self, at: u32) -> Waiting {
        let removed = self.entries[at as usize];
        match removed.before {
            NONE => self.first = removed.after,
            before => self.entries[before as usize].after = removed.after,
        }
        match removed.after {
            NONE => self.last = removed.before,
            after => self.entries[after as usize].before = removed.before,
        }
        self.free.push(at);
        removed
    }
}

impl Filter {
    pub fn new(depth: u32) -> Self {
        Self {
            depth,
            slots: FxHashMap::default(),
            pages: Vec::new(),
            newest: NONE,
            oldest: NONE,
            recent: 0,
            queue: Queue { entries: Vec::new(), free: Vec::new(), first: NONE, last: NONE },
            time: 0,
            last: None,
            emitted: None,
        }
    }

    /// Adds the next reference. Calls `each` with the references that are now decided and kept, in
    /// order.
    #[inline]
    pub fn push<E>(
        &mut self,
        reference: Reference,
        each: &mut impl FnMut(Reference) -> Result<(), E>,
    ) -> Result<(), E> {
        let Reference { page, write } = reference;
        // Most references are to the same page as the previous one.
        let slot = match self.last {
            Some((_, last)) if last.page == page && (last.write || !write) => return Ok(()),
            Some((slot, last)) if last.page == page => slot,
            _ => self.slot(page),
        };
        self.last = Some((slot, reference));
        self.refer(slot, write);
        self.release(each)
    }

    /// Calls `each` with the remaining references, at the end.
    pub fn finish<E>(
        &mut self,
        each: &mut impl FnMut(Reference) -> Result<(), E>,
    ) -> Result<(), E> {
        while self.queue.first != NONE {
            let entry = self.queue.remove(self.queue.first);
            self.emit(entry, each)?;
        }
        Ok(())
    }

    fn slot(&mut self, number: u64) -> u32 {
        match self.slots.entry(number) {
            Entry::Occupied(slot) => *slot.get(),
            Entry::Vacant(slot) => {
                let new = self.pages.len() as u32;
                slot.insert(new);
                self.pages.push(Page {
                    number,
                    newer: new,
                    older: NONE,
                    last: 0,
                    kept: 0,
                    kept_write: false,
                    undecided: NONE,
                });
                new
            }
        }
    }

    /// Returns the time of the last reference to the oldest recent page, after which `depth` other
    /// pages were referenced; 0 if there are fewer recent pages.
    fn horizon(&self) -> u64 {
        if self.recent > self.depth { self.pages[self.oldest as usize].last } else { 0 }
    }

    fn refer(&mut self, slot: u32, write: bool) {
        self.time += 1;
        let now = self.time;
        self.make_newest(slot, now);
        let horizon = self.horizon();
        let page = &mut self.pages[slot as usize];
        // Before the first reference to a page, `kept` is 0, which is before any time.
        let first = page.kept == 0;
        let mut write = write;
        if page.undecided != NONE {
            let middle = page.undecided;
            page.undecided = NONE;
            if horizon > page.kept {
                let entry = &mut self.queue.entries[middle as usize];
                entry.keep = true;
                page.kept = entry.time;
                page.kept_write = entry.write;
            } else {
                write |= self.queue.remove(middle).write;
            }
        }
        let away = first || horizon > page.kept;
        if away || write && !page.kept_write {
            page.kept = now;
            page.kept_write = write;
            self.queue.push(slot, now, write, true);
        } else {
            page.undecided = self.queue.push(slot, now, write, false);
        }
    }

    /// Moves a page to the front of the list of recent pages.
    fn make_newest(&mut self, slot: u32, now: u64) {
        let Page { newer, older, .. } = self.pages[slot as usize];
        self.pages[slot as usize].last = now;
        if self.newest == slot {
            return;
        }
        if newer == slot {
            // The page enters the list. If the list then has too many pages, the oldest one leaves
            // it.
            self.recent += 1;
        } else {
            self.pages[newer as usize].older = older;
            match older {
                NONE => self.oldest = newer,
                older => self.pages[older as usize].newer = newer,
            }
        }
        let second = self.newest;
        self.pages[slot as usize].newer = NONE;
        self.pages[slot as usize].older = second;
        match second {
            NONE => self.oldest = slot,
            second => self.pages[second as usize].newer = slot,
        }
        self.newest = slot;
        if self.recent > self.depth + 1 {
            let leaves = self.oldest;
            let next = self.pages[leaves as usize].newer;
            self.pages[leaves as usize].newer = leaves;
            self.pages[next as usize].older = NONE;
            self.oldest = next;
            self.recent -= 1;
        }
    }

    /// Calls `each` with the decided references at the head of the queue.
    #[inline]
    fn release<E>(&mut self, each: &mut impl FnMut(Reference) -> Result<(), E>) -> Result<(), E> {
        let horizon = self.horizon();
        while self.queue.first != NONE {
            let first = self.queue.first;
            let entry = self.queue.entries[first as usize];
            if !entry.keep {
                // An undecided reference must be kept if its page left the recent ones after the
                // last kept reference.
                let page = &mut self.pages[entry.slot as usize];
                if horizon <= page.kept {
                    break;
                }
                page.kept = entry.time;
                page.kept_write = entry.write;
                page.undecided = NONE;
            }
            self.queue.remove(first);
            self.emit(entry, each)?;
        }
        Ok(())
    }

    #[inline]
    fn emit<E>(
        &mut self,
        entry: Waiting,
        each: &mut impl FnMut(Reference) -> Result<(), E>,
    ) -> Result<(), E> {
        let page = self.pages[entry.slot as usize].number;
        let reference = Reference { page, write: entry.write };
        match self.emitted {
            Some(last) if last.page == page && (last.write || !entry.write) => Ok(()),
            _ => {
                self.emitted = Some(reference);
                each(reference)
            }
        }
    }
}
