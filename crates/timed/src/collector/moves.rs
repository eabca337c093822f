//! The steps of a collection: it reads and programs the valid pages of its victim one by one, and
//! then erases the victim. Between two steps there is a preemption point, A or B. Operations of the
//! host on the page that is being copied may share the page's buffer.

use flashgc_base::snapshot::Value;
use flashgc_drive::error::DriveError;
use flashgc_ftl::Stepwise;
use flashgc_ftl::stepwise::Move;

use super::Collector;
use crate::config::Preemption;
use crate::flash::Job;
use crate::observer::{Observer, Source};
use crate::ops::{DieQueues, Kind, NONE, Ops, PageOp, Queue};
use crate::shared::Shared;

/// The progress of a collection within the copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Point {
    /// Before the read of a page or the erase: preemption point B.
    B,
    Reading,
    /// Between the read and the program of a page: preemption point A.
    A,
    Writing,
    Erasing,
}

/// A collection under way.
#[derive(Clone, Debug, Value)]
pub struct Collection {
    pub number: u64,
    /// The plane of the victim; the first one if the collection works on several.
    pub plane: u32,
    /// The number of planes of the die on which the collection works.
    pub planes: u32,
    pub point: Point,
    pub moving: Option<Move>,
    /// The physical place that the present job works on: a unit of the flash page, or for an erase
    /// the first unit of the block.
    pub site: u32,
    /// The reads of the host that share the read of the page.
    pub merged_reads: Queue,
    /// A write of the host that is programmed instead of the copy, or [`NONE`].
    pub merged_write: u32,
    /// `true` if the queue has been checked at the present preemption point.
    pub polled: bool,
    /// `true` if the time for the search of the victim is over.
    pub searched: bool,
    /// `true` if the collection has been preempted.
    pub gave_way: bool,
    /// The number of page operations that had been sent to dies when this point was reached.
    pub mark: u64,
    /// `true` if its victim is an SLC block.
    pub folds: bool,
    /// `true` if its erase gives the pool a block; `false` if the victim is set aside for SLC mode.
    pub gives_block: bool,
    /// `true` if the collection began because its die was idle.
    pub idle: bool,
    /// `true` if the host must wait until the erase, as an urgent write needs a block (state S3).
    pub urgent: bool,
    /// The number of pages that the collection has programmed.
    pub copied: u32,
    /// The number of writes of the host served since the collection began; 0 without write pacing
    /// and a pace of folds.
    pub let_through: u32,
}

impl Collection {
    pub fn new(number: u64, plane: u32, mark: u64) -> Self {
        Self {
            number,
            plane,
            planes: 1,
            point: Point::B,
            moving: None,
            site: 0,
            merged_reads: Queue::EMPTY,
            merged_write: NONE,
            polled: false,
            searched: false,
            gave_way: false,
            mark,
            folds: false,
            gives_block: true,
            idle: false,
            urgent: false,
            copied: 0,
            let_through: 0,
        }
    }

    /// Notes that a preemption point is reached.
    pub fn reach(&mut self, point: Point, mark: u64) {
        self.point = point;
        self.polled = false;
        self.mark = mark;
    }
}

/// The next step of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The die begins this job.
    Job(Job),
    /// The page needs no read, as it was read together with the page before.
    AtHand,
    /// The page has entered the page buffer and does not fill a flash page yet.
    Gathered,
    /// The page is no longer valid and need not be programmed.
    Nothing,
}

/// Gives `moving`, a page of the victim of `plane`, its new place. A write of the host that shares the
/// copy (`merged`, or [`NONE`]) gets the same place. Returns `None` if the page is no longer valid.
///
/// # Errors
/// The errors of the map.
#[inline(always)]
pub(super) fn place<O: Observer>(
    shared: &mut Shared<O>,
    plane: u32,
    moving: Move,
    merged: u32,
) -> Result<Option<u32>, DriveError> {
    if merged != NONE {
        debug_assert!(shared.ops[merged].page == moving.page);
        let ppn = shared.map.merge(plane)?;
        shared.has_its_page(merged, ppn)?;
        shared.notes_write(merged, ppn);
        return Ok(Some(ppn));
    }
    let ppn = shared.map.copy(plane)?;
    if let Some(ppn) = ppn {
        shared.observer.programmed(moving.page, ppn, Source::Copy(moving.from));
    }
    Ok(ppn)
}

impl Collector {
    /// Returns the nanoseconds that a collection must wait at a preemption point: at first for the
    /// search of its victim, then for a check of the queue. `None` if it need not wait.
    #[inline(always)]
    pub fn pause(&mut self, die: u32) -> Option<u64> {
        let waits = self.rules.search_ns > 0 || self.rules.poll_ns > 0;
        if waits { self.pause_of(die) } else { None }
    }

    #[inline(never)]
    fn pause_of(&mut self, die: u32) -> Option<u64> {
        let (search_ns, poll_ns) = (self.rules.search_ns, self.rules.poll_ns);
        let gives_way = self.gives_way(die);
        let collection = self.collection(die);
        if search_ns > 0 && !std::mem::replace(&mut collection.searched, true) {
            return Some(search_ns);
        }
        let polls = gives_way && poll_ns > 0 && !std::mem::replace(&mut collection.polled, true);
        polls.then_some(poll_ns)
    }

    /// Returns `true` if operations of the host may go first at preemption points of the collection
    /// of `die`.
    pub fn gives_way(&self, die: u32) -> bool {
        self.rules.preemption != Preemption::None || self.is_paced_fold(die)
    }

    /// Returns `true` if operations of the host may overlap with those of the collection of `die`:
    /// the settings allow it, and the search for the victim is over.
    pub fn pipelines(&self, die: u32) -> bool {
        let pipelines = matches!(self.rules.preemption, Preemption::Semi { pipeline: true, .. });
        let searched = |collection: &Collection| collection.searched || self.rules.search_ns == 0;
        pipelines && self.on(die).is_some_and(searched)
    }

    /// Counts that an operation of the host goes before the next step of the collection of a die.
    #[inline]
    pub fn give_way(&mut self, die: u32) {
        let collection = self.under_way[die as usize].as_mut().expect("a collection is under way");
        self.counts.preemptions += 1;
        self.counts.preempted += u64::from(!std::mem::replace(&mut collection.gave_way, true));
    }

    /// Counts a page that the collection of `plane`, a plane of superblocks over several dies, has
    /// programmed.
    pub fn count_copy(&mut self, plane: u32) {
        self.collection(plane).copied += 1;
    }

    /// Notes that the collection of `plane`, a plane of superblocks over several dies, is about to end.
    pub fn erases(&mut self, plane: u32) {
        self.collection(plane).point = Point::Erasing;
    }

    /// Counts a read of the collection that begins while data of a host's read go over the bus.
    pub fn count_pipelined_read(&mut self) {
        self.counts.pipelined_reads += 1;
    }

    /// Counts a write of the host that overlaps with one of the collection.
    pub fn count_pipelined_write(&mut self) {
        self.counts.pipelined_writes += 1;
    }

    /// Returns `true` if the victim of a die has a page that is still valid.
    pub fn victim_has_pages(&self, map: &dyn Stepwise, die: u32) -> bool {
        let valid = |plane, block| map.blocks(plane).live(block % self.blocks_per_plane);
        let has_pages = |plane| map.victim(plane).is_some_and(|block| valid(plane, block) > 0);
        let plane = self.on(die).map(|collection| collection.plane);
        plane.is_some_and(has_pages) || self.members(die).any(|(plane, _)| has_pages(plane))
    }

    /// Begins to copy all pages of the victim of a die as one job. Returns the number of pages; 0
    /// if the collection is not at point B or the victim has no valid page.
    pub fn copies_all(&mut self, map: &dyn Stepwise, die: u32) -> u32 {
        let blocks_per_plane = self.blocks_per_plane;
        let collection = self.collection(die);
        if collection.point != Point::B || collection.planes > 1 {
            return 0;
        }
        let plane = collection.plane;
        let valid = |block| map.blocks(plane).live(block % blocks_per_plane);
        let pages = map.victim(plane).map_or(0, valid);
        if pages > 0 {
            collection.point = Point::Reading;
        }
        pages
    }

    /// Ends the job that copies all pages of the victim of a die: point B is reached. Returns the
    /// victim's plane.
    pub fn pages_are_moved(&mut self, ops: &Ops, die: u32) -> u32 {
        let collection = self.collection(die);
        collection.reach(Point::B, ops.sent());
        collection.plane
    }

    /// Returns the next step of the collection of a die.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn go_on<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Step, DriveError> {
        let collection = self.collection(die);
        if collection.planes > 1 {
            return self.go_on_together(shared, die);
        }
        if collection.point == Point::A {
            return self.program_moving(shared, die);
        }
        debug_assert!(collection.point == Point::B);
        let next = shared.map.next_move(collection.plane);
        collection.moving = next;
        let Some(next) = next else {
            if !shared.map.buffer().is_protected
                && let Some(first) = shared.map.program_copies(collection.plane)
            {
                collection.site = first;
                collection.point = Point::Writing;
                return Ok(Step::Job(Job::CopyWrite));
            }
            let victim = shared.map.victim(collection.plane);
            collection.site = victim.map_or(0, |block| shared.map.geometry().ppn(block, 0));
            collection.point = Point::Erasing;
            return Ok(Step::Job(Job::Erase));
        };
        shared.map.prefetch(next.page);
        (collection.point, collection.site) = (Point::Reading, next.from);
        Ok(if next.is_at_hand { Step::AtHand } else { Step::Job(Job::CopyRead) })
    }

    /// Returns the units of the flash pages that the read of a collection brings.
    #[inline]
    pub fn units_to_read(&self, map: &dyn Stepwise, die: u32) -> u32 {
        self.on(die).map_or(0, |collection| map.units_to_read(collection.site))
    }

    /// Gives the page in the buffer its new place. A write that shares the copy gets the same
    /// place. Returns the program as the next step, if the page fills a flash page.
    fn program_moving<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Step, DriveError> {
        let collection = self.collection(die);
        let (plane, merged, folds) = (collection.plane, collection.merged_write, collection.folds);
        let moving = collection.moving.expect("a page is in the buffer");
        let Some(ppn) = place(shared, plane, moving, merged)? else {
            // The host has overwritten or discarded the page since it was read.
            self.collection(die).reach(Point::B, shared.ops.sent());
            return Ok(Step::Nothing);
        };
        if folds
            && merged == NONE
            && let Some(counts) = &mut shared.slc
        {
            counts.folded_pages += 1;
        }
        let collection = self.collection(die);
        (collection.point, collection.site) = (Point::Writing, ppn);
        collection.copied += 1;
        Ok(if shared.fills_its_program(ppn) { Step::Job(Job::CopyWrite) } else { Step::Gathered })
    }

    /// Notes that the page is read: point A is reached. The reads of the host that shared this read
    /// are done: returns the first of their chain, or [`NONE`]. `held_ns` is the time for which
    /// collections have held the die, in nanoseconds.
    pub fn page_is_read(&mut self, ops: &mut Ops, die: u32, held_ns: u64) -> u32 {
        let collection = self.collection(die);
        debug_assert!(collection.point == Point::Reading);
        collection.reach(Point::A, ops.sent());
        let first = std::mem::replace(&mut collection.merged_reads, Queue::EMPTY).head;
        let mut op = first;
        while op != NONE {
            ops[op].blocked_ns = held_ns - ops[op].blocked_ns;
            op = ops[op].next;
        }
        first
    }

    /// Notes that a page is programmed: point B is reached. Returns the write of the host that
    /// shared the program and is done, or [`NONE`]. `held_ns` is the time for which collections
    /// have held the die, in nanoseconds.
    pub fn page_is_moved(&mut self, ops: &mut Ops, die: u32, held_ns: u64) -> u32 {
        let collection = self.collection(die);
        debug_assert!(collection.point == Point::Writing);
        collection.reach(Point::B, ops.sent());
        let merged = std::mem::replace(&mut collection.merged_write, NONE);
        if merged != NONE {
            ops[merged].blocked_ns = held_ns - ops[merged].blocked_ns;
        }
        merged
    }

    /// Returns `true` if a page operation of the host may share the copy of its page that `die`
    /// makes now. A write may not if a program is already on the die (`programs`).
    pub fn can_join(
        &self,
        ops: &Ops,
        waiting: &mut DieQueues,
        die: u32,
        op: u32,
        programs: bool,
    ) -> bool {
        let PageOp { page, kind, .. } = ops[op];
        let Some(collection) = self.on(die) else { return false };
        let in_buffer = match kind {
            Kind::Read => collection.point == Point::Reading,
            Kind::Write => {
                !collection.urgent
                    && !programs
                    && matches!(collection.point, Point::Reading | Point::A)
                    && !self.units.is_in_s2(collection.plane)
            }
            Kind::Modify | Kind::Trim | Kind::Flush | Kind::Hint | Kind::Tell | Kind::Clean => {
                false
            }
        };
        in_buffer
            && collection.moving.is_some_and(|moving| moving.page == page)
            && collection.merged_write == NONE
            && !waiting.read_before(ops, die, op)
            && !waiting.write_before(ops, die, op)
    }

    /// Lets a page operation of the host share the copy of its page.
    pub fn join<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, op: u32) {
        let PageOp { kind, .. } = shared.ops[op];
        if kind == Kind::Read {
            self.counts.merged_reads += 1;
            shared.reads(op);
            self.collection(die).merged_reads.push(&mut shared.ops, op);
        } else {
            debug_assert!(kind == Kind::Write);
            self.counts.merged_writes += 1;
            shared.ops[op].is_merged = true;
            self.collection(die).merged_write = op;
        }
    }
}
