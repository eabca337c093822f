//! Reads of the host that fail, and are rebuilt from the other dies of their stripe.
//!
//! A read fails when its data are at the controller. Then the other dies of the stripe read the same page
//! of their blocks, and the units that the read needs cross the buses. The read is over when all of them
//! are there. At each die, such a page goes in the place that the failed read has in the order of the
//! host's operations, and before an erase of its block. If it fails too, the data are lost.
//!
//! If a stripe has several planes of each die, each die reads its pages of the stripe together: also the
//! die of the failed read, without the page that failed.
//!
//! A page that is not on flash yet lies in the memory of the drive, and so does the parity of a stripe
//! until it is programmed. These need no die. A page that has moved while it was read is in memory, too.

use std::collections::VecDeque;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use hashbrown::HashMap;

use super::{Scheduler, Superblocks};
use crate::config::{ReadFailures, Settings};
use crate::flash::Job;
use crate::measure::FailureCounts;
use crate::observer::Observer;
use crate::ops::{Kind, NONE};
use crate::shared::Shared;

/// A page that waits to be read at a die, to rebuild a failed read; with several planes, one of each.
#[derive(Clone, Copy, Debug, Value)]
struct Part {
    /// The failed read: the first of its chain.
    op: u32,
    /// The place of a unit of the page.
    ppn: u32,
    /// The number of the page in its block.
    page: u32,
    /// The planes whose pages are read together.
    planes: u32,
    /// The nanoseconds for which collections had held the die when the page began to wait.
    held_ns: u64,
}

/// A page that a die reads, to rebuild a failed read.
#[derive(Clone, Copy, Debug, Value)]
struct Begun {
    began_ns: u64,
    cell_ns: u64,
    /// The planes whose pages are read together.
    planes: u32,
    /// The nanoseconds for which it waited for collections.
    blocked_ns: u64,
}

/// The pages of a die that are to be read, and are read, to rebuild failed reads.
#[derive(Clone, Debug, Default, Value)]
struct Parts {
    waiting: VecDeque<Part>,
    reading: VecDeque<Begun>,
}

/// A read that has failed and is not rebuilt yet.
#[derive(Clone, Copy, Debug, Value)]
struct Failed {
    /// The number of pages of other dies that have not come.
    left: u32,
    is_lost: bool,
}

/// The reads that fail.
#[derive(State)]
pub(super) struct Failing {
    #[snapshot(skip)]
    chance: f64,
    draws: Stream,
    /// The failed reads that are not rebuilt yet, by the first operation of their chain.
    failed: HashMap<u32, Failed>,
    #[snapshot(table)]
    parts: Vec<Parts>,
    counts: FailureCounts,
}

impl Failing {
    /// Returns the reads that fail on an idle drive; `None` if none fails.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let ReadFailures { chance, seed } = settings.details.failures?;
        Some(Self {
            chance,
            draws: Stream::new(seed, "read failures"),
            failed: HashMap::new(),
            parts: vec![Parts::default(); settings.hardware.all_dies() as usize],
            counts: FailureCounts::default(),
        })
    }

    /// Returns the failed read whose page is read next on a die; `None` if no page waits there.
    pub(super) fn next_on(&self, die: u32) -> Option<u32> {
        self.parts[die as usize].waiting.front().map(|part| part.op)
    }

    fn fails(&mut self) -> bool {
        self.draws.unit() < self.chance
    }
}

/// The reads of one flash page, out of those that a die did together.
struct OfPage {
    /// The place of the first unit of the page.
    first: u32,
    /// The place of the unit of the first of these reads.
    ppn: u32,
    fails: bool,
    ops: Vec<u32>,
}

impl Scheduler {
    fn failing(&mut self) -> &mut Failing {
        self.superblocks().failing.as_mut().expect("reads can fail")
    }

    /// Returns the counts of reads that failed.
    pub fn failures(&self) -> FailureCounts {
        let failing = self.superblocks.as_ref().and_then(|them| them.failing.as_ref());
        failing.map_or_else(FailureCounts::default, |failing| failing.counts)
    }

    /// Ends the read `op` of a die, and of those that were served with it. Returns the first of them that
    /// are done, or [`NONE`] if all have to be rebuilt.
    pub(super) fn page_has_come<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) -> u32 {
        shared.ops.share_times(op);
        match self.superblocks().failing {
            Some(_) => self.draw_failures(shared, op),
            None => op,
        }
    }

    /// Draws which of the flash pages have failed that were read for the chain `first`, and lets other
    /// dies read to rebuild them. Returns the first of the reads that are done, or [`NONE`].
    #[inline(never)]
    fn draw_failures<O: Observer>(&mut self, shared: &mut Shared<O>, first: u32) -> u32 {
        let units_per_flash_page = self.units_per_page / shared.map.buffer().planes;
        let (mut done, mut pages) = (Vec::new(), Vec::<OfPage>::new());
        let chain: Vec<u32> = shared.ops.chain(first).collect();
        for op in chain {
            let Some(ppn) = self.place_on_flash(shared, shared.ops[op].page) else {
                done.push(op);
                continue;
            };
            let first = ppn - shared.map.unit_in_page(ppn) % units_per_flash_page;
            match pages.iter_mut().find(|page| page.first == first) {
                Some(page) => page.ops.push(op),
                None => {
                    let failing = self.failing();
                    failing.counts.reads += 1;
                    let fails = failing.fails();
                    failing.counts.failed += u64::from(fails);
                    pages.push(OfPage { first, ppn, fails, ops: vec![op] });
                }
            }
        }
        for OfPage { ppn, fails, ops, .. } in pages {
            let others = if fails { self.others_of_stripe(shared, ppn) } else { Vec::new() };
            if others.is_empty() {
                done.extend(ops);
                continue;
            }
            link(shared, &ops);
            self.rebuild(shared, ops[0], ppn, others);
        }
        link(shared, &done);
        done.first().copied().unwrap_or(NONE)
    }

    /// Returns the pages on flash that rebuild that of the unit at `ppn`: for each die the place of a unit of
    /// its page, and the planes that are read together.
    fn others_of_stripe<O: Observer>(&self, shared: &Shared<O>, ppn: u32) -> Vec<(u32, u32, u32)> {
        let Some(superblocks) = &self.superblocks else { return Vec::new() };
        let Superblocks { rows, lines, .. } = superblocks;
        let plane = shared.map.plane_of(ppn);
        let (block, offset) = shared.map.geometry().place_of(ppn);
        let places = rows.of(shared.map.smaller(block));
        let in_superblock = |offset_of_other: u32| ppn - offset + offset_of_other;
        let is_on_flash =
            |ppn: u32| !self.is_buffered(shared, ppn) && !shared.map.is_unwritten(ppn);
        let own = places.member(offset);
        let mut others: Vec<(u32, u32, u32)> = places
            .others_of_stripe(offset)
            .map(|(member, page)| {
                let planes = rows.planes_of_stripe() - u32::from(member == own);
                (rows.die(plane, member), in_superblock(page), planes)
            })
            .filter(|&(_, place, _)| is_on_flash(place))
            .collect();
        let last = places.last_of_stripe(offset);
        if let Some(member) = places.parity_after(last)
            && is_on_flash(in_superblock(last))
        {
            let die = rows.die(plane, member);
            let line = &lines[die as usize];
            let mut left = line.programs.iter().chain(&line.copies).chain(&line.programming);
            let first = in_superblock(last);
            if !left.any(|program| program.is_parity && program.first == first) {
                others.push((die, ppn, 1));
            }
        }
        others
    }

    /// Lets other dies read the pages that rebuild the failed read `op`, of the unit at `ppn`.
    fn rebuild<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        op: u32,
        ppn: u32,
        others: Vec<(u32, u32, u32)>,
    ) {
        let now = shared.now();
        let (block, offset) = shared.map.geometry().place_of(ppn);
        // The pages of a stripe have one number in their blocks.
        let page = self.superblocks().rows.of(shared.map.smaller(block)).page(offset);
        let left = others.len() as u32;
        debug_assert!(
            others.iter().all(|&(die, ppn, _)| !self.erases_block_of(shared, die, ppn)),
            "a block that is erased has no data, so none of its pages was read"
        );
        self.failing().failed.insert(op, Failed { left, is_lost: false });
        for (die, ppn, planes) in others {
            let held_ns = self.flash.die(die).held_until(now);
            let part = Part { op, ppn, page, planes, held_ns };
            self.failing().parts[die as usize].waiting.push_back(part);
            self.ready.add(die);
        }
    }

    /// Returns `true` if a die erases the block with the unit at `ppn`, or is to erase it.
    fn erases_block_of<O: Observer>(&self, shared: &Shared<O>, die: u32, ppn: u32) -> bool {
        let block = |ppn| shared.map.geometry().place_of(ppn).0;
        let line = self.superblocks.as_ref().map(|superblocks| &superblocks.lines[die as usize]);
        line.is_some_and(|line| line.erases.iter().any(|it| block(it.first) == block(ppn)))
    }

    /// Returns `true` if a page of the block that a die erases next waits to be read for a rebuild.
    pub(super) fn rebuilds_before_erase<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        die: u32,
    ) -> bool {
        let Superblocks { failing: Some(failing), lines, .. } = self.superblocks() else {
            return false;
        };
        let block = |ppn| shared.map.geometry().place_of(ppn).0;
        let erased = lines[die as usize].erases.front().map(|erase| block(erase.first));
        failing.parts[die as usize].waiting.iter().any(|part| Some(block(part.ppn)) == erased)
    }

    /// Begins to read the page of a die that waits first to rebuild a read. Always returns `true`.
    pub(super) fn begin_part<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> bool {
        let part = self.failing().parts[die as usize].waiting.pop_front().expect("a page waits");
        let blocked_ns = self.flash.die(die).held_until(shared.now()) - part.held_ns;
        let job = Job::Rebuild(part.op);
        let cell_ns = self.time_at(shared, job, part.ppn, Some(part.page));
        let units = part.planes * shared.ops.chain(part.op).count() as u32;
        self.flash.set_copy_units(die, units);
        let failing = self.failing();
        failing.counts.others_read += u64::from(part.planes);
        let begun = Begun { began_ns: shared.now(), cell_ns, planes: part.planes, blocked_ns };
        failing.parts[die as usize].reading.push_back(begun);
        self.flash.begin_in_cells(&mut shared.clock, &mut shared.ops, die, job, cell_ns);
        true
    }

    /// Notes that a page with which `op` is rebuilt has come from a die. The times of the page that comes
    /// last count for the read. Returns the first of the operations that are done, or [`NONE`].
    pub(super) fn part_has_come<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> u32 {
        debug_assert!(shared.ops[op].kind == Kind::Read);
        let failing = self.failing();
        let begun = failing.parts[die as usize].reading.pop_front().expect("a page is read");
        let fails = (0..begun.planes).filter(|_| failing.fails()).count() > 0;
        let failed = failing.failed.get_mut(&op).expect("the read has failed");
        failed.left -= 1;
        failed.is_lost |= fails;
        if failed.left > 0 {
            return NONE;
        }
        failing.counts.lost += u64::from(failed.is_lost);
        failing.failed.remove(&op);
        let Begun { began_ns, cell_ns, blocked_ns, .. } = begun;
        let chain: Vec<u32> = shared.ops.chain(op).collect();
        let bus_ns = shared.now() - began_ns - cell_ns;
        for op in chain {
            shared.ops[op].cell_ns += cell_ns;
            shared.ops[op].bus_ns += bus_ns;
            shared.ops[op].blocked_ns += blocked_ns;
        }
        op
    }

    /// Returns the first read that may go next on a die, among those whose order is below `before`: one that
    /// the die helps to rebuild, or one that waits there.
    pub(in super::super) fn first_on_superblock<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        die: u32,
        before: u64,
    ) -> Option<u32> {
        let failing = self.superblocks().failing.as_ref();
        let rebuilt = failing.and_then(|failing| failing.next_on(die));
        let rebuilt = rebuilt.filter(|&op| shared.ops[op].order < before);
        rebuilt.or_else(|| self.waiting.first_read(&shared.ops, die, before))
    }

    /// Serves the read that [goes next](Self::first_on_superblock) on a die.
    ///
    /// # Errors
    /// The errors of the map.
    pub(in super::super) fn begin_first_read<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        let failing = self.superblocks().failing.as_ref();
        match failing.and_then(|failing| failing.next_on(die)) == Some(op) {
            true => Ok(self.begin_part(shared, die)),
            false => self.begin_read(shared, die, op),
        }
    }
}

/// Makes a chain of operations, in their order.
fn link<O: Observer>(shared: &mut Shared<O>, ops: &[u32]) {
    for (place, &op) in ops.iter().enumerate() {
        shared.ops[op].next = ops.get(place + 1).copied().unwrap_or(NONE);
    }
}
