//! Superblocks that join the blocks of several dies.
//!
//! A plane of the map then stands for these dies. Its writes wait in one queue, and enter the page
//! buffer of the superblock that is being filled (`filling.rs`). A program that is full waits at its
//! die (`programs.rs`), and so does each step of a collection: many of its reads and programs are under way
//! at a time, on all dies (`moving.rs`). Here each die chooses among the jobs that wait at it.
//!
//! Data stay in the buffer until their program is over. Reads that find them there need no die.

mod failing;
mod filling;
mod moving;
mod programs;

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_ftl::Stepwise;
use hashbrown::HashMap;

use super::Scheduler;
use crate::config::{Rows, Scheduling, Settings};
use crate::flash::{Die, Job, Site};
use crate::observer::{Observer, Place};
use crate::ops::{Kind, NONE, PageOp};
use crate::shared::Shared;
use failing::Failing;
use moving::Relocation;
use programs::Program;

/// The erase of a die's block of a victim.
#[derive(Clone, Copy, Debug, Value)]
struct Erase {
    /// The place of the first unit of the victim in the map.
    first: u32,
    /// The number of the collection.
    collection: u64,
    /// The number of programs and erases of the drive that began to wait before.
    turn: u64,
}

/// The jobs that wait at a die, and those that it has begun.
#[derive(Clone, Debug, Default, Value)]
struct Line {
    /// Programs of data of the host, and of their parity.
    programs: VecDeque<Program>,
    /// Partial writes whose old data lie on the die, and are not read yet.
    changes: VecDeque<u32>,
    /// Programs of copies, and of their parity.
    copies: VecDeque<Program>,
    /// Flash pages that collections read, by the place of their first unit.
    reads: VecDeque<u32>,
    /// Erases that wait, or are under way, in order.
    erases: VecDeque<Erase>,
    /// The programs that the die has begun, in order.
    programming: VecDeque<Program>,
    /// The flash pages that the die has begun to read for a collection, in order.
    reading: VecDeque<u32>,
    /// The number of operations sent to dies when the last step of a collection began here, or when
    /// one came and none had waited.
    mark: u64,
    /// The collection whose begin on this die was reported to the observer, and whose end was not.
    told: Option<u64>,
}

impl Line {
    /// Returns `true` if a step of a collection waits.
    fn collects(&self) -> bool {
        !self.erases.is_empty() || !self.reads.is_empty() || !self.copies.is_empty()
    }

    /// Returns the next step of a collection, if one waits. Programs that waited before an erase go
    /// before it, and later ones after it. Pages are read before copies are programmed: these reads are
    /// short and have a bound, and the copies of all dies wait for the oldest page that is not read.
    fn next_step(&self) -> Option<Job> {
        let copies = self.copies.front().map(|program| program.turn);
        match self.erases.front() {
            Some(erase) if copies.is_none_or(|turn| turn > erase.turn) => Some(Job::Erase),
            Some(_) => Some(Job::CopyWrite),
            None if !self.reads.is_empty() => Some(Job::CopyRead),
            None => copies.map(|_| Job::CopyWrite),
        }
    }

    /// Notes that a step of a collection comes, after `sent` operations were sent to dies.
    fn awaits(&mut self, sent: u64) {
        if !self.collects() {
            self.mark = sent;
        }
    }

    /// Returns `true` if the first program of the host waited before the first erase.
    fn programs_before_erase(&self) -> bool {
        let erase = self.erases.front().map(|erase| erase.turn);
        let program = self.programs.front().map(|program| program.turn);
        erase.is_some_and(|erase| program.is_some_and(|program| program < erase))
    }
}

/// The writes of the host to superblocks of a plane of the map.
#[derive(Clone, Debug, Default, Value)]
struct Filling {
    /// The die whose program the host filled last.
    last: Option<u32>,
    /// The programs of data of the host that are full and not over.
    left: u32,
    /// The time since which the first write waits for a collection, in nanoseconds; `None` if it does
    /// not.
    blocked_since: Option<u64>,
    /// The nanoseconds for which first writes have waited for collections before.
    blocked_ns: u64,
    /// Reads whose data are in memory.
    at_hand: VecDeque<u32>,
}

impl Filling {
    /// Returns the nanoseconds for which first writes have waited for collections until `now`.
    fn blocked_until(&self, now: u64) -> u64 {
        self.blocked_ns + self.blocked_since.map_or(0, |since| now - since)
    }

    /// Notes that from `now` on the first write does not wait for a collection.
    fn is_free(&mut self, now: u64) {
        self.blocked_ns = self.blocked_until(now);
        self.blocked_since = None;
    }
}

/// The jobs of dies whose blocks are joined to superblocks.
#[derive(State)]
pub(super) struct Superblocks {
    #[snapshot(skip)]
    pub(super) rows: Rows,
    #[snapshot(skip)]
    units_per_program: u32,
    #[snapshot(table)]
    lines: Vec<Line>,
    /// The writes of the host to each plane of the map.
    #[snapshot(table)]
    filling: Vec<Filling>,
    /// The collection of each plane of the map.
    #[snapshot(table)]
    moving: Vec<Relocation>,
    /// Partial writes whose old data lie on flash, and whether these data are read.
    changes: HashMap<u32, bool>,
    /// The programs that are full and not over, by the place of their first unit. A place may have
    /// two, as its block may be written again while its old program waits.
    full: HashMap<u32, u32>,
    /// The number of programs and erases that have begun to wait.
    turns: u64,
    /// The time of the second pass of a word line, in nanoseconds; `None` if one pass programs it.
    #[snapshot(skip)]
    second_ns: Option<u64>,
    /// The reads that fail; `None` if none does.
    #[snapshot(state)]
    failing: Option<Failing>,
}

/// A job that the host needs of a die.
#[derive(Clone, Copy)]
enum Wanted {
    Read(u32),
    Change(u32),
    /// A page that is read to rebuild a failed read.
    Part,
    Program,
}

impl Superblocks {
    /// Returns the jobs of an idle drive; `None` if superblocks do not join dies.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let rows = Rows::new(&settings.hardware);
        let (dies, planes) = (settings.hardware.all_dies(), settings.hardware.all_planes());
        rows.are_wide().then(|| Self {
            rows,
            units_per_program: settings.hardware.units_per_program(),
            lines: vec![Line::default(); dies as usize],
            filling: vec![Filling::default(); planes as usize],
            moving: vec![Relocation::default(); planes as usize],
            changes: HashMap::new(),
            full: HashMap::new(),
            turns: 0,
            second_ns: settings.hardware.second_ns,
            failing: Failing::new(settings),
        })
    }

    /// Returns the lead of each die of the drive: the die with the queue of its writes.
    pub(super) fn leads(settings: &Settings) -> Vec<u32> {
        let rows = Rows::new(&settings.hardware);
        let lead = |die| rows.die(rows.plane_of(die), 0);
        match rows.are_wide() {
            true => (0..settings.hardware.all_dies()).map(lead).collect(),
            false => Vec::new(),
        }
    }

    /// Returns the die that has the unit at `ppn`.
    fn die_of(&self, map: &dyn Stepwise, ppn: u32) -> u32 {
        let (block, offset) = map.geometry().place_of(ppn);
        let member = self.rows.of(map.smaller(block)).member(offset);
        self.rows.die(map.plane_of(ppn), member)
    }

    /// Returns the page that was written last into the program that a die works on, at this place, and
    /// the number of its collection. `None` in place of the page if its job is no program of data; `None`
    /// in place of the number for a read.
    pub(super) fn about(&self, die: u32, job: Job, place: Place) -> (Option<u32>, Option<u64>) {
        let line = &self.lines[die as usize];
        let program = match place {
            Place::Cells => line.programming.front(),
            Place::Bus => line.programming.back(),
        };
        match (job, program) {
            (Job::Erase, _) => (None, line.erases.front().map(|erase| erase.collection)),
            (job, Some(program)) if job.programs() => (program.page, program.collection),
            _ => (None, None),
        }
    }

    /// Returns `true` if the program with the unit at `ppn` is full and not over.
    pub(super) fn holds(&self, map: &dyn Stepwise, ppn: u32) -> bool {
        self.full.contains_key(&(ppn - map.unit_in_program(ppn)))
    }

    /// Returns the number of the next program or erase that waits.
    fn take_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns - 1
    }

    /// Returns `true` if a collection is under way on a die.
    pub(super) fn collects(&self, die: u32) -> bool {
        let line = &self.lines[die as usize];
        line.told.is_some() || line.collects()
    }
}

impl Scheduler {
    fn superblocks(&mut self) -> &mut Superblocks {
        self.superblocks.as_mut().expect("superblocks join dies")
    }

    /// Returns the number by which the collector knows the dies that collect together with `die`.
    #[inline]
    pub(super) fn collector_of(&self, die: u32) -> u32 {
        self.superblocks.as_ref().map_or(die, |superblocks| superblocks.rows.plane_of(die))
    }

    /// Lets a page operation wait at its die, or with the writes of its plane.
    pub(super) fn accept_on_superblock<O: Observer>(&mut self, shared: &mut Shared<O>, op: u32) {
        let PageOp { page, kind, .. } = shared.ops[op];
        let plane = if kind == Kind::Flush { page } else { self.plane_of(shared, op) };
        let lead = self.superblocks().rows.die(plane, 0);
        let order = shared.ops.send();
        let now = shared.now();
        shared.ops[op].plane = plane;
        shared.ops[op].order = order;
        shared.ops[op].met_collection |=
            self.collector.is_under_way(plane) || self.superblocks().collects(lead);
        if kind == Kind::Flush {
            shared.ops[op].page = NONE; // no read of a page waits for it
        }
        if kind != Kind::Read {
            shared.ops[op].blocked_ns =
                self.superblocks().filling[plane as usize].blocked_until(now);
            self.waiting.push(&mut shared.ops, lead, op);
            if kind == Kind::Modify && !self.waiting.write_before(&shared.ops, lead, op) {
                self.read_old(shared, op);
            }
            self.ready.add(lead);
            return;
        }
        let on_flash = self.place_on_flash(shared, page);
        if on_flash.is_none() && !self.waiting.write_before(&shared.ops, lead, op) {
            shared.ops[op].blocked_ns = 0;
            self.superblocks().filling[plane as usize].at_hand.push_back(op);
            self.ready.add(lead);
            return;
        }
        let die = on_flash.map_or(lead, |ppn| self.superblocks().die_of(&*shared.map, ppn));
        shared.ops[op].blocked_ns = self.flash.die(die).held_until(now);
        self.waiting.push(&mut shared.ops, die, op);
        if self.suspends {
            self.suspend_for(shared, die, op);
        }
        self.ready.add(die);
    }

    /// Lets a die begin the next job that it can begin now, or a write of its plane enter the page
    /// buffer. Returns `true` if there was one.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn begin_on_superblock<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let plane = self.superblocks().rows.plane_of(die);
        if let Some(op) = self.superblocks().filling[plane as usize].at_hand.pop_front() {
            shared.reads(op);
            self.done = op;
            return Ok(true);
        }
        if self.fill(shared, plane)? {
            return Ok(true);
        }
        let Die { cells, bus, suspended, .. } = self.flash.die(die);
        let has_begun = match (cells.job, bus.job) {
            (Job::Idle, Job::Idle) if suspended.is_some() => self.while_suspended(shared, die)?,
            (Job::Idle, Job::Idle) => self.begin_job(shared, die, |_| true)?,
            _ if !self.cache_commands || suspended.is_some() => false,
            (Job::Idle, Job::Read(_) | Job::Rebuild(_))
                if !bus.command && !self.flash.has_commands() =>
            {
                let reads = |job| matches!(job, Some(Wanted::Read(_) | Wanted::Part));
                self.begin_job(shared, die, reads)?
            }
            (job, Job::Idle) if job.programs() => {
                let copies = self.next_step(die) == Some(Job::CopyWrite);
                self.begin_job(shared, die, |wanted| match wanted {
                    Some(wanted) => matches!(wanted, Wanted::Program),
                    None => copies,
                })?
            }
            _ => false,
        };
        Ok(has_begun || self.suspends && self.suspend_for_those_that_wait(shared, die))
    }

    /// Returns the next step of a collection on a die, if one waits.
    fn next_step(&mut self, die: u32) -> Option<Job> {
        self.superblocks().lines[die as usize].next_step()
    }

    /// Begins the next job of a die, if it is one that `may` go: a job of the host, or `None` for a step
    /// of a collection. Returns `true` if it has begun.
    fn begin_job<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        may: impl Fn(Option<Wanted>) -> bool,
    ) -> Result<bool, DriveError> {
        let wanted = self.next_of_host(shared, die);
        let line = &self.superblocks().lines[die as usize];
        let (collects, waits) = (line.collects(), line.programs_before_erase());
        let is_erase = self.next_step(die) == Some(Job::Erase);
        let job = match wanted {
            // A block is erased after its last program, and after its last page is read.
            _ if is_erase && waits => Some(Wanted::Program),
            _ if is_erase && self.rebuilds_before_erase(shared, die) => Some(Wanted::Part),
            Some((wanted, order)) if collects && !self.goes_first(shared, die, wanted, order) => {
                None
            }
            Some((wanted, _)) => Some(wanted),
            None if collects => None,
            None => return Ok(false),
        };
        if !may(job) {
            return Ok(false);
        }
        match job {
            Some(Wanted::Read(op)) => self.begin_read(shared, die, op),
            Some(Wanted::Part) => Ok(self.begin_part(shared, die)),
            Some(Wanted::Change(op)) => self.begin_change(shared, die, op),
            Some(Wanted::Program) => {
                let line = &mut self.superblocks().lines[die as usize];
                let program = line.programs.pop_front().expect("a program waits");
                let job = if program.op == NONE { Job::Program } else { Job::Write(program.op) };
                self.begin_program(shared, die, program, job);
                Ok(true)
            }
            None => self.begin_step(shared, die).map(|()| true),
        }
    }

    /// Returns the next job of a die for the host, with its order.
    fn next_of_host<O: Observer>(&mut self, shared: &Shared<O>, die: u32) -> Option<(Wanted, u64)> {
        let read = self.waiting.first_read(&shared.ops, die, u64::MAX);
        let Superblocks { lines, failing, .. } = self.superblocks();
        let line = &lines[die as usize];
        let order = |op: u32| shared.ops[op].order;
        let part = failing.as_ref().and_then(|failing| failing.next_on(die));
        let part = part.map(|op| (Wanted::Part, order(op)));
        let read = read.map(|op| (Wanted::Read(op), order(op)));
        let change = line.changes.front().map(|&op| (Wanted::Change(op), order(op)));
        let program = line.programs.front().map(|program| (Wanted::Program, program.order));
        match self.rule {
            Scheduling::ReadsFirst => part.or(read).or(change).or(program),
            Scheduling::Fifo => {
                [part, read, change, program].into_iter().flatten().min_by_key(|&(_, order)| order)
            }
        }
    }

    /// Returns `true` if a job of the host whose order is `order` goes before the steps of a collection
    /// that wait at `die`. A program waits for erases, as it may need the erased block. While a write
    /// waits for a block, only jobs go first that waited when the last step began here: so the collection
    /// makes progress.
    fn goes_first<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        die: u32,
        wanted: Wanted,
        order: u64,
    ) -> bool {
        let line = &self.superblocks().lines[die as usize];
        let waits = !line.erases.is_empty() && !line.programs_before_erase();
        if !self.collector.gives_way(die) || waits && matches!(wanted, Wanted::Program) {
            return false;
        }
        let head = self.waiting.oldest_write(die);
        if head == NONE || !shared.ops[head].writes() {
            return true;
        }
        let PageOp { page, plane, .. } = shared.ops[head];
        shared.map.host_room(page, plane).is_open
            || order < self.superblocks().lines[die as usize].mark
    }

    /// Serves a read that waits at a die. If its data have moved, it waits at their new die instead, or
    /// is done if they are in memory.
    pub(super) fn begin_read<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> Result<bool, DriveError> {
        let on_flash = self.place_on_flash(shared, shared.ops[op].page);
        let now_on = on_flash.map(|ppn| self.superblocks().die_of(&*shared.map, ppn));
        match now_on.filter(|&other| other != die) {
            None => self.start(shared, die, op),
            Some(other) => {
                self.waiting.pass_on(&mut shared.ops, op, die, other);
                shared.ops[op].blocked_ns = self.flash.die(other).held_until(shared.now());
                self.ready.add(other);
                Ok(true)
            }
        }
    }

    /// Begins a job that starts in the cells, at the place `ppn`.
    fn begin_at<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32, job: Job, ppn: u32) {
        let cells_ns = self.time_at(shared, job, ppn, None);
        self.flash.begin_in_cells(&mut shared.clock, &mut shared.ops, die, job, cells_ns);
    }

    /// Returns the time that the cells work on a job at the place `ppn`, in nanoseconds. `page` is the number
    /// of its flash page in the block, if the superblock there may have lost blocks since the job waits.
    fn time_at<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        job: Job,
        ppn: u32,
        page: Option<u32>,
    ) -> u64 {
        match self.flash.is_uniform() {
            true => self.flash.times().of(job),
            false => {
                let programs = job.programs();
                let site: Site =
                    self.sites.at(&*shared.map, (ppn, page), shared.clock.now(), programs);
                self.flash.times().of_page(job, &site)
            }
        }
    }

    /// Ends a job. Returns the first of the chain of page operations that are done with the job, or
    /// [`NONE`].
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn finish_on_superblock<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        job: Job,
    ) -> Result<u32, DriveError> {
        match job {
            Job::Read(op) => return Ok(self.page_has_come(shared, op)),
            Job::Rebuild(op) => return Ok(self.part_has_come(shared, die, op)),
            Job::Write(op) => {
                self.program_is_over(shared, die);
                return Ok(op);
            }
            Job::Program => self.program_is_over(shared, die),
            Job::ModifyRead(op) => self.old_is_read(shared, op),
            Job::CopyRead => self.page_is_read(shared, die)?,
            Job::CopyWrite => self.copies_are_programmed(shared, die)?,
            Job::Erase => self.block_is_erased(shared, die),
            Job::Suspend => self.is_suspended(shared, die),
            Job::Buffer(_) | Job::ModifyWrite(_) | Job::CopyAll | Job::Poll | Job::Idle => {
                debug_assert!(false, "{job:?} on a superblock");
            }
        }
        Ok(NONE)
    }
}
