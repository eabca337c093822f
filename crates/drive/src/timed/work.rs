//! How jobs go through the cells of a die and the bus of its channel.

use super::die::{Job, Point, Stage};
use super::engine::TimedDrive;
use super::events::NEVER;
use super::observe::{Observer, Place};
use super::ops::{NONE, PageOp};
use crate::counting::DriveError;

impl<O: Observer> TimedDrive<O> {
    /// Begins a job that starts in the cells: a read, an erase.
    pub(super) fn begin_in_cells(&mut self, die: u32, job: Job) {
        match self.settings.hardware.command_ns {
            0 => self.begin_cells(die, job, self.cell_time(job)),
            length => self.ask_for_bus(die, job, length, true),
        }
    }

    /// Begins a job that starts on the bus: a program of `pages` pages.
    pub(super) fn begin_on_bus(
        &mut self,
        die: u32,
        job: Job,
        pages: u64,
    ) -> Result<(), DriveError> {
        let hardware = &self.settings.hardware;
        let skips = job == Job::CopyWrite && self.copies_back();
        let data = if skips { 0 } else { pages * hardware.transfer_ns };
        match hardware.command_ns + data {
            0 => return self.on_bus_done(die, job),
            length if job.programs() && self.programs_follow_transfers => {
                let end = self.take_bus(die, job, length, false);
                self.timers.set(self.cells_timer(die), end + self.cell_time(job));
            }
            length => self.ask_for_bus(die, job, length, false),
        }
        Ok(())
    }

    /// Whether copies stay in their die.
    fn copies_back(&self) -> bool {
        self.settings.collecting.copy_back
    }

    fn cell_time(&self, job: Job) -> u64 {
        let hardware = &self.settings.hardware;
        match job {
            Job::Erase => hardware.erase_ns,
            job if job.programs() => hardware.program_ns,
            _ => hardware.read_ns,
        }
    }

    /// Lets the cells of an idle die work for `length`.
    pub(super) fn begin_cells(&mut self, die: u32, job: Job, length: u64) {
        let now = self.now;
        let held = &mut self.dies[die as usize];
        debug_assert!(held.cells.is_idle());
        held.cells = Stage { job, begin: now, length, ..Stage::IDLE };
        held.suspends = 0;
        self.timers.set(self.cells_timer(die), now + length);
    }

    /// Stops the cells of a die before they are done. Returns the time that was left.
    pub(super) fn stop_cells(&mut self, die: u32) -> u64 {
        let timer = self.cells_timer(die);
        let left = self.timers.get(timer) - self.now;
        self.timers.set(timer, NEVER);
        self.dies[die as usize].cells.length -= left;
        if self.dies[die as usize].cells.length > 0 {
            self.worked_cells(die);
        }
        self.dies[die as usize].cells = Stage::IDLE;
        left
    }

    /// Puts a job on the bus, or in its queue.
    fn ask_for_bus(&mut self, die: u32, job: Job, length: u64, command: bool) {
        let end = self.take_bus(die, job, length, command);
        let channel = self.dies[die as usize].channel as usize;
        let ends = &mut self.buses[channel].ends;
        ends.push_back((die, end));
        if ends.len() == 1 {
            self.timers.set(channel, end);
        }
    }

    /// Gives a job its turn on the bus. Returns when its transfer ends.
    fn take_bus(&mut self, die: u32, job: Job, length: u64, command: bool) -> u64 {
        let now = self.now;
        let held = &mut self.dies[die as usize];
        debug_assert!(held.bus.is_idle());
        let begin = self.buses[held.channel as usize].take_turn(now, length);
        held.bus = Stage { job, begin, length, held: false, command };
        let end = begin + length;
        if let Some(op) = job.op() {
            self.ops[op].bus_ns += end - now;
        }
        end
    }

    /// The transfer on a channel is over.
    pub(super) fn transfer_done(&mut self, channel: u32) -> Result<(), DriveError> {
        let ends = &mut self.buses[channel as usize].ends;
        let (die, _) = ends.pop_front().expect("a transfer is under way");
        if let Some(&(_, end)) = ends.front() {
            self.timers.set(channel as usize, end);
        }
        let stage = self.leave_bus(die);
        if stage.command {
            self.begin_cells(die, stage.job, self.cell_time(stage.job));
        } else {
            self.on_bus_done(die, stage.job)?;
        }
        self.bus_freed(die)?;
        self.admit_and_schedule(die)
    }

    /// The transfer of a die is over. Returns it.
    fn leave_bus(&mut self, die: u32) -> Stage {
        let stage = std::mem::replace(&mut self.dies[die as usize].bus, Stage::IDLE);
        self.worked(die, &stage, Place::Bus);
        stage
    }

    /// A job has its data over the bus; its die's side of the bus is idle.
    fn on_bus_done(&mut self, die: u32, job: Job) -> Result<(), DriveError> {
        match job {
            Job::Read(op) | Job::Buffer(op) => {
                self.complete_all(die, op);
                Ok(())
            }
            Job::ModifyRead(op) => {
                let PageOp { page, plane, .. } = self.ops[op];
                if !self.layer.can_write(page, plane) {
                    // While it was read, its place was taken or it aged into another class.
                    self.put_back(die, op);
                    return Ok(());
                }
                self.write(op)?;
                self.begin_on_bus(die, Job::ModifyWrite(op), 1)
            }
            Job::CopyRead => {
                self.page_read_out(die);
                Ok(())
            }
            Job::Write(_) | Job::ModifyWrite(_) | Job::CopyWrite => {
                if self.dies[die as usize].cells.is_idle() {
                    self.begin_cells(die, job, self.cell_time(job));
                } else {
                    let now = self.now;
                    self.dies[die as usize].bus =
                        Stage { job, begin: now, held: true, ..Stage::IDLE };
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The die's side of the bus is idle: what the cells have read may go out.
    fn bus_freed(&mut self, die: u32) -> Result<(), DriveError> {
        let held = &mut self.dies[die as usize];
        if held.cells.held && held.bus.is_idle() {
            let job = held.cells.job;
            held.cells = Stage::IDLE;
            self.read_out(die, job)?;
        }
        Ok(())
    }

    /// The cells are done.
    pub(super) fn cells_done(&mut self, die: u32) -> Result<(), DriveError> {
        if self.dies[die as usize].cells.is_idle() {
            let Stage { job, begin, length, .. } = self.leave_bus(die);
            let begin = begin + length;
            let length = self.now - begin;
            self.dies[die as usize].cells = Stage { job, begin, length, ..Stage::IDLE };
        }
        let stage = self.dies[die as usize].cells;
        if let Some(op) = stage.job.op() {
            self.ops[op].cell_ns += stage.length;
        }
        self.worked_cells(die);
        let held = &mut self.dies[die as usize];
        match stage.job {
            Job::Read(_) | Job::ModifyRead(_) | Job::CopyRead if !held.bus.is_idle() => {
                held.cells.held = true;
                return self.schedule(die);
            }
            _ => held.cells = Stage::IDLE,
        }
        match stage.job {
            Job::Read(_) | Job::ModifyRead(_) | Job::CopyRead => self.read_out(die, stage.job)?,
            Job::Write(op) | Job::ModifyWrite(op) => self.complete_all(die, op),
            Job::CopyWrite => self.page_moved(die),
            Job::Erase => self.erased(die)?,
            Job::Suspend => self.let_go(die),
            Job::Poll | Job::Buffer(_) | Job::Idle => {}
        }
        // What came over the bus meanwhile is programmed.
        let held = &mut self.dies[die as usize];
        if held.bus.held && held.cells.is_idle() {
            let job = held.bus.job;
            held.bus = Stage::IDLE;
            self.begin_cells(die, job, self.cell_time(job));
        }
        self.admit_and_schedule(die)
    }

    /// What completions let in comes before the die decides what is next.
    fn admit_and_schedule(&mut self, die: u32) -> Result<(), DriveError> {
        if self.host.is_due {
            self.admit()?;
        }
        self.schedule(die)
    }

    /// Takes what the cells have read over the bus.
    fn read_out(&mut self, die: u32, job: Job) -> Result<(), DriveError> {
        let pages = match job {
            Job::Read(op) => self.chain(op).count() as u64,
            Job::CopyRead if self.copies_back() => 0,
            _ => 1,
        };
        match pages * self.settings.hardware.transfer_ns {
            0 => self.on_bus_done(die, job),
            length => {
                self.ask_for_bus(die, job, length, false);
                Ok(())
            }
        }
    }

    /// Page operations that go together.
    pub(super) fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |op: u32| Some(op).filter(|&op| op != NONE);
        std::iter::successors(Some(first), move |&op| present(self.ops[op].next))
    }

    /// Completes page operations that went together. Their times are those of the first.
    fn complete_all(&mut self, die: u32, first: u32) {
        let (bus_ns, cell_ns) = (self.ops[first].bus_ns, self.ops[first].cell_ns);
        let mut op = first;
        while op != NONE {
            let next = self.ops[op].next;
            self.ops[op].bus_ns = bus_ns;
            self.ops[op].cell_ns = cell_ns;
            self.complete(die, op);
            op = next;
        }
    }

    /// Whether a collection of this die is at `point`.
    pub(super) fn is_at(&self, die: u32, point: Point) -> bool {
        let collection = self.dies[die as usize].collection.as_ref();
        collection.is_some_and(|collection| collection.point == point)
    }
}
