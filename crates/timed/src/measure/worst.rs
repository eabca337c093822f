//! The slowest request of each kind so far, and the work of its die from its arrival to its
//! completion.

use std::collections::VecDeque;

use flashgc_base::snapshot::Value;
use flashgc_workload::Op;

use crate::observer::{Cause, Completion, Held, Place, Span, Work};

/// The largest number of collections that are kept for a die. The oldest are dropped.
pub const MOST_COLLECTIONS: usize = 16;
/// The largest number of operations, of cells and bus, that are kept for a die if operations are
/// kept. The oldest are dropped.
pub const MOST_OPERATIONS: usize = 1024;
/// The kinds of requests of which the slowest is kept.
pub(crate) const KINDS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

/// Returns the index of an operation in [`KINDS`].
#[inline(always)]
pub(crate) fn kind_of(op: Op) -> Option<usize> {
    match op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        Op::Trim => Some(2),
        Op::Dirty | Op::Clean | Op::Flush => None,
    }
}

/// A slow request, with the work of its die meanwhile.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct Worst {
    /// The request, with the parts of its response time.
    pub request: Completion,
    /// The die of the request's last page, by its number in the drive; `None` if no die served that
    /// page.
    pub die: Option<u32>,
    /// The collections on that die from the request's arrival to its completion, in order: at most
    /// the latest [`MOST_COLLECTIONS`].
    pub collections: Vec<Held>,
    /// The operations of the die and of its bus in that time, in the order of their ends: at most
    /// the latest [`MOST_OPERATIONS`]. Empty if operations are not kept.
    pub operations: Vec<Span>,
    /// `true` if earlier operations were dropped.
    pub is_cut: bool,
}

impl Worst {
    /// Returns the collection that held the request: on its die, the collection that was under way
    /// for the longest part of the response time; the first of equals. `None` if the request did
    /// not wait for collections, or only for a collection of another die.
    pub fn held_by(&self) -> Option<&Held> {
        held_by(&self.request, self.collections.iter())
    }
}

/// Returns the collection, out of `collections`, that was under way for the longest part of a
/// request's response time. `None` if the request did not wait for collections.
fn held_by<'a>(
    request: &Completion,
    collections: impl DoubleEndedIterator<Item = &'a Held>,
) -> Option<&'a Held> {
    let overlap = |held: &&Held| held.overlap_ns(request.arrived_ns, request.completed_ns);
    let held = collections.rev().max_by_key(overlap)?;
    (request.blocked_ns > 0 && overlap(&held) > 0).then_some(held)
}

/// The latest collections and operations of a die.
#[derive(Clone, Debug, Default, PartialEq, Value)]
struct Log {
    collections: VecDeque<Held>,
    /// The page that the die's collection programmed last. The pieces of a suspended program count
    /// once.
    last_page: Option<u32>,
    operations: VecDeque<Span>,
    has_forgotten: bool,
}

/// The slowest request of each kind so far.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct WorstSoFar {
    planes_per_die: u32,
    keeps_operations: bool,
    dies: Vec<Log>,
    of_kinds: [Option<Worst>; KINDS.len()],
    /// The number of times that the slowest request of a kind was set or replaced.
    changes: u64,
}

impl WorstSoFar {
    /// Returns an empty record for a drive of `dies` dies of `planes_per_die` planes. It keeps the
    /// operations of dies if `keeps_operations`.
    pub fn new(dies: u32, planes_per_die: u32, keeps_operations: bool) -> Self {
        Self {
            planes_per_die,
            keeps_operations,
            dies: vec![Log::default(); dies as usize],
            of_kinds: Default::default(),
            changes: 0,
        }
    }

    /// Returns the slowest read, write and discard.
    pub fn of_kinds(&self) -> impl Iterator<Item = &Worst> {
        self.of_kinds.iter().flatten()
    }

    /// Returns the slowest request of each of [`KINDS`].
    pub(crate) fn each(&mut self) -> &mut [Option<Worst>; KINDS.len()] {
        &mut self.of_kinds
    }

    /// Changes the number of a collection of a die from `from` to `to`.
    pub(crate) fn renumber(&mut self, die: u32, from: u64, to: u64) {
        let kept = self.of_kinds.iter_mut().flatten().filter(|worst| worst.die == Some(die));
        let kept = kept.flat_map(|worst| &mut worst.collections);
        let all = self.dies[die as usize].collections.iter_mut().chain(kept);
        all.filter(|held| held.number == from).for_each(|held| held.number = to);
    }

    /// Returns the slowest request of all kinds.
    pub fn slowest(&self) -> Option<&Worst> {
        self.of_kinds().max_by_key(|worst| worst.request.response_ns())
    }

    /// Returns the number of the collection under way on a die.
    pub fn under_way(&self, die: u32) -> Option<u64> {
        let latest = self.dies[die as usize].collections.back();
        latest.filter(|held| held.ended_ns.is_none()).map(|held| held.number)
    }

    /// Returns the number of times that the slowest request of a kind was set or replaced.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the collection that held a request for the longest time, among those kept, and the
    /// number of its die.
    pub fn holder(&self, request: &Completion) -> Option<(Held, u32)> {
        let die = request.plane? / self.planes_per_die;
        let held = held_by(request, self.dies[die as usize].collections.iter())?;
        Some((*held, die))
    }

    /// Returns `true` if the other record has the same numbers of dies and planes.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.planes_per_die, self.dies.len()) == (other.planes_per_die, other.dies.len())
    }

    /// Notes a measured request that is done.
    #[inline(always)]
    pub fn completed(&mut self, request: &Completion) {
        let Some(kind) = kind_of(request.op) else { return };
        let is_slower = match &self.of_kinds[kind] {
            Some(worst) => request.response_ns() > worst.request.response_ns(),
            None => true,
        };
        if is_slower {
            self.keep(kind, request);
        }
    }

    #[cold]
    fn keep(&mut self, kind: usize, request: &Completion) {
        self.of_kinds[kind] = Some(self.about(request));
        self.changes += 1;
    }

    /// Returns a request that is done, with the work of its die since the request arrived.
    pub(crate) fn about(&self, request: &Completion) -> Worst {
        let die = request.plane.map(|plane| plane / self.planes_per_die);
        let from_ns = request.arrived_ns;
        let (mut collections, mut operations, mut is_cut) = (Vec::new(), Vec::new(), false);
        if let Some(die) = die {
            let log = &self.dies[die as usize];
            let meets = |held: &&Held| held.ended_ns.is_none_or(|ended| ended > from_ns);
            collections.extend(log.collections.iter().filter(meets));
            operations.extend(log.operations.iter().filter(|span| span.end_ns > from_ns));
            is_cut = log.has_forgotten && operations.len() == log.operations.len();
        }
        Worst { request: *request, die, collections, operations, is_cut }
    }

    /// Notes that a bus or a die has done some work.
    #[inline]
    pub fn worked(&mut self, span: &Span) {
        let log = &mut self.dies[span.die as usize];
        if matches!(span.cause, Cause::Collection(_))
            && (span.place, span.work) == (Place::Cells, Work::Program)
            && span.page != log.last_page
        {
            log.last_page = span.page;
            if let Some(held) = log.collections.back_mut() {
                held.programmed += 1;
            }
        }
        if self.keeps_operations {
            log.has_forgotten |= push(&mut log.operations, *span, MOST_OPERATIONS);
        }
    }

    /// Returns `true` if the operations of the die of each slowest request are kept.
    pub fn keeps_operations(&self) -> bool {
        self.keeps_operations
    }

    /// Notes that the collection of a die has programmed `pages` pages.
    pub fn copied(&mut self, die: u32, pages: u64) {
        if let Some(held) = self.dies[die as usize].collections.back_mut() {
            held.programmed += pages;
        }
    }

    /// Notes that a collection began on a die, or ended there.
    pub fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        let log = &mut self.dies[die as usize];
        if begins {
            log.last_page = None;
            let held = Held { number, began_ns: now, ended_ns: None, programmed: 0 };
            push(&mut log.collections, held, MOST_COLLECTIONS);
        } else if let Some(held) = log.collections.back_mut() {
            held.ended_ns = Some(now);
        }
    }
}

/// Adds an item, and drops the oldest if there are more than `most`. Returns `true` if one was
/// dropped.
fn push<T>(kept: &mut VecDeque<T>, item: T, most: usize) -> bool {
    let is_full = kept.len() == most;
    if is_full {
        kept.pop_front();
    }
    kept.push_back(item);
    is_full
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a collection's program of `page` on die 0, which ends at `end_ns`.
    fn program(page: u32, end_ns: u64) -> Span {
        Span {
            begin_ns: end_ns - 10,
            end_ns,
            place: Place::Cells,
            channel: 0,
            die: 0,
            plane: 0,
            work: Work::Program,
            page: Some(page),
            cause: Cause::Collection(0),
        }
    }

    fn read(arrived_ns: u64) -> Completion {
        Completion {
            number: 0,
            op: Op::Read,
            offset: 0,
            bytes: 4096,
            urgent: false,
            stream: None,
            arrived_ns,
            dispatched_ns: arrived_ns,
            completed_ns: 1_000_000,
            queue_ns: 0,
            blocked_ns: 1,
            bus_ns: 0,
            cell_ns: 0,
            plane: Some(0),
            met_collection: true,
        }
    }

    /// The first collection programs page 7 in two pieces; the second programs it once more.
    #[test]
    fn a_page_that_two_collections_program_counts_in_each() {
        let mut worst = WorstSoFar::new(1, 1, false);
        worst.collection(0, 0, 0, true);
        worst.worked(&program(7, 20));
        worst.worked(&program(7, 40));
        worst.collection(50, 0, 0, false);
        worst.collection(60, 0, 1, true);
        worst.worked(&program(7, 80));
        let held = [
            Held { number: 0, began_ns: 0, ended_ns: Some(50), programmed: 1 },
            Held { number: 1, began_ns: 60, ended_ns: None, programmed: 1 },
        ];
        assert_eq!(worst.about(&read(10)).collections, held);
        assert_eq!(worst.under_way(0), Some(1));
        // A request that arrived at the end of the first collection did not meet that collection.
        assert_eq!(worst.about(&read(50)).collections, held[1..]);
    }

    #[test]
    fn of_many_collections_and_operations_the_latest_are_kept() {
        let mut worst = WorstSoFar::new(1, 1, true);
        for number in 0..=MOST_COLLECTIONS as u64 {
            worst.collection(100 + number, 0, number, true);
        }
        for end in 0..MOST_OPERATIONS as u64 {
            worst.worked(&program(1, 100 + end));
        }
        let about = worst.about(&read(0));
        assert_eq!(about.collections.first().map(|held| held.number), Some(1));
        assert_eq!((about.collections.len(), about.is_cut), (MOST_COLLECTIONS, false));
        worst.worked(&program(1, 5000));
        let about = worst.about(&read(0));
        let ends = about.operations.first().zip(about.operations.last());
        assert_eq!(ends.map(|(first, last)| (first.end_ns, last.end_ns)), Some((101, 5000)));
        assert_eq!((about.operations.len(), about.is_cut), (MOST_OPERATIONS, true));
    }
}
