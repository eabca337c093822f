//! The second passes of word lines that are programmed twice, on dies whose blocks are on their own.
//!
//! A program that is full is a first pass. Second passes follow it on its die: that of the word line
//! below and, at the end of a block, its own. Each moves all pages of its word line over the bus again.
//! The write that filled the program is done when the last of these passes is over. The die begins no
//! other program, erase or step of a collection before that. Where reads go first, they also go between
//! two passes, unless a collection is under way. The data of a word line stay in the page buffer until
//! its second pass is over.

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_ftl::Stepwise;

use super::Scheduler;
use super::serve::Allowed;
use crate::clock::NEVER;
use crate::config::{Scheduling, Settings};
use crate::flash::{Die, Job};
use crate::observer::Observer;
use crate::shared::{Shared, in_slc};

/// The second passes of all dies.
#[derive(State)]
pub(super) struct Passes {
    /// The time that the cells work on a second pass, in nanoseconds.
    #[snapshot(skip)]
    second_ns: u64,
    #[snapshot(table)]
    dies: Vec<Due>,
    /// The places of the first units of the programs that the next job makes; none between two jobs.
    #[snapshot(skip)]
    full: Vec<u32>,
}

/// A pass that waits.
#[derive(Clone, Copy, Debug, Value)]
struct Pass {
    /// The job that it belongs to.
    job: Job,
    /// The units of its programs: one program for each plane that takes part.
    units: u32,
    /// `false` for a first pass, which a flush makes after others.
    is_second: bool,
}

/// The second passes of a die.
#[derive(Clone, Debug, Default, Value)]
struct Due {
    /// The passes that have not begun, in order.
    waiting: VecDeque<Pass>,
    /// The jobs that are not over, each with a program that stays in the page buffer for it, by the
    /// place of its first unit.
    held: Vec<(Job, u32)>,
}

impl Passes {
    /// Returns the passes of idle dies; `None` if one pass programs a word line, or if superblocks join
    /// dies.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let second_ns = settings.hardware.second_ns?;
        (settings.hardware.members.dies == 1).then(|| Self {
            second_ns,
            dies: vec![Due::default(); settings.hardware.all_dies() as usize],
            full: Vec::new(),
        })
    }

    /// Notes that the program with the unit at `ppn` is full, and that the next job makes its first pass.
    pub(super) fn is_full(&mut self, ppn: u32) {
        self.full.push(ppn);
    }

    /// Returns `true` if a second pass waits at a die.
    pub(super) fn wait_at(&self, die: u32) -> bool {
        !self.dies[die as usize].waiting.is_empty()
    }

    /// Returns `true` if a program stays in the page buffer for its second pass on `die`. `first` is the
    /// place of its first unit.
    pub(super) fn holds(&self, die: u32, first: u32) -> bool {
        self.dies[die as usize].held.iter().any(|&(_, held)| held == first)
    }
}

/// Returns the programs whose second passes follow the first pass of the program with the unit at
/// `ppn`, by the places of their first units.
fn second_passes(map: &dyn Stepwise, ppn: u32) -> [Option<u32>; 2] {
    if in_slc(map, ppn) {
        return [None; 2];
    }
    let (geometry, units) = (map.geometry(), map.buffer().units_per_program());
    let first = ppn - map.unit_in_program(ppn);
    let offset = geometry.place_of(first).1;
    let below = (offset > 0).then(|| first - units);
    [below, Some(first).filter(|_| offset + units == geometry.pages_per_block())]
}

impl Scheduler {
    /// Lets the second passes wait that follow the programs of `job`, which begins on a die now.
    #[inline(always)]
    pub(super) fn follow_with_passes<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        die: u32,
        job: Job,
    ) {
        if self.passes.is_some() {
            self.let_passes_wait(shared, die, job);
        }
    }

    #[inline(never)]
    fn let_passes_wait<O: Observer>(&mut self, shared: &Shared<O>, die: u32, job: Job) {
        let Some(Passes { dies, full, .. }) = &mut self.passes else { return };
        let Due { waiting, held } = &mut dies[die as usize];
        let seconds: Vec<_> = full.drain(..).map(|ppn| second_passes(&*shared.map, ppn)).collect();
        // A word line below, or the word line itself if it has none below, goes first on every plane.
        let mut rounds = [0, 0];
        for programs in seconds {
            for (round, first) in rounds.iter_mut().zip(programs.into_iter().flatten()) {
                *round += 1;
                held.push((job, first));
            }
        }
        for count in rounds.into_iter().filter(|&count| count > 0) {
            let units = count * self.units_per_program;
            waiting.push_back(Pass { job, units, is_second: true });
        }
    }

    /// Programs the data of the host that wait in the page buffer for the flush `op`, program by program,
    /// each followed by its second passes. Returns `true` if there are such data.
    pub(super) fn flush_in_passes<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        op: u32,
    ) -> bool {
        let plane = shared.ops[op].plane;
        let programs: Vec<u32> =
            std::iter::from_fn(|| shared.map.program_host_data(plane)).collect();
        let Some(&next) = programs.first() else { return false };
        if !self.flash.is_uniform() {
            programs.iter().rev().for_each(|&first| self.sites.flushes(op, first));
        }
        let job = Job::Write(op);
        let units = shared.units_of_program(next);
        let cells_ns = self.cell_time(shared, die, job);
        for first in programs {
            let Some(Passes { dies, full, .. }) = &mut self.passes else { return false };
            let Due { waiting, held } = &mut dies[die as usize];
            held.push((job, first));
            if first != next {
                let units = shared.units_of_program(first);
                waiting.push_back(Pass { job, units, is_second: false });
            }
            full.push(first);
            self.follow_with_passes(shared, die, job);
        }
        let Shared { clock, ops, .. } = shared;
        self.flash.begin_on_bus(clock, ops, die, job, units.into(), cells_ns);
        true
    }

    /// Returns `true` if the data at `ppn` stay in the page buffer for a second pass that is not over.
    pub(super) fn holds_for_pass<O: Observer>(&self, shared: &Shared<O>, ppn: u32) -> bool {
        self.passes.as_ref().is_some_and(|passes| {
            let die = shared.map.plane_of(ppn) / self.planes_per_die;
            passes.holds(die, ppn - shared.map.unit_in_program(ppn))
        })
    }

    /// Begins the second pass that waits at a die, or a read that goes before it. Returns `true` if the
    /// die has begun a job, and `None` if no second pass keeps it from other jobs.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn begin_pass<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Option<bool>, DriveError> {
        if !self.passes.as_ref().is_some_and(|passes| passes.wait_at(die)) {
            return Ok(None);
        }
        let Die { cells, bus, suspended, .. } = self.flash.die(die);
        if suspended.is_some_and(|suspended| suspended.job.programs()) {
            return Ok(None); // reads go, and then the pass before goes on
        }
        let is_idle = cells.is_idle() && bus.is_idle();
        let overlaps = self.cache_commands && cells.job.programs() && bus.is_idle();
        if !is_idle && !overlaps {
            return Ok(Some(false));
        }
        let reads_go = is_idle
            && suspended.is_none()
            && self.rule == Scheduling::ReadsFirst
            && !self.collector.is_under_way(die)
            && !self.collector.holds(die);
        if reads_go
            && let Some(read) =
                self.next_for(shared, die, Allowed { writes: false, ..Allowed::ALL })
        {
            return self.start(shared, die, read).map(Some);
        }
        let Some(Passes { second_ns, dies, .. }) = &mut self.passes else { return Ok(None) };
        let (next, second_ns) = (dies[die as usize].waiting.pop_front(), *second_ns);
        let Some(Pass { job, units, is_second }) = next else { return Ok(None) };
        let cells_ns = if is_second { second_ns } else { self.cell_time(shared, die, job) };
        let in_cells = self.flash.die(die).cells;
        let Shared { clock, ops, .. } = shared;
        let before = job.op().map(|op| (op, ops[op].bus_ns));
        self.flash.begin_on_bus(clock, ops, die, job, units.into(), cells_ns);
        // While the cells work on the pass before, the time of the write is that of the cells. It is not
        // known if they wait for power; the transfer then is no time of the bus.
        if let Some((op, bus_ns)) = before
            && in_cells.job == job
        {
            let left = if in_cells.waits_for_power() { NEVER } else { in_cells.left(clock.now()) };
            ops[op].bus_ns = bus_ns.max(ops[op].bus_ns.saturating_sub(left));
        }
        Ok(Some(true))
    }

    /// Notes that a pass of `job` is over. Returns `true` if another one follows, and the job is not over.
    pub(super) fn has_passes_left(&mut self, die: u32, job: Job) -> bool {
        let Some(passes) = &mut self.passes else { return false };
        let Due { waiting, held } = &mut passes.dies[die as usize];
        let is_left = job.programs()
            && (self.flash.die(die).bus.job == job || waiting.iter().any(|pass| pass.job == job));
        if !is_left {
            held.retain(|&(its, _)| its != job);
        }
        is_left
    }
}
